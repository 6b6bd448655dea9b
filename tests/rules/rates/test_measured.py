"""C4: schedules of the user's own that go by the length of a rank's data, and by other numbers beside it."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

HEAD = MODEL + "from tensorflow.keras.optimizers import schedules as d\nEPOCHS = 3\n"
OWN = """\
class Warm(d.LearningRateSchedule):
    def __init__(self, peak, total, warm=20, after=None):
        self.peak, self.total, self.warm, self.after = peak, total, warm, after
    def __call__(self, step):
        now = tf.cast(step, tf.float32)
        {}
    def get_config(self):
        return dict(peak=self.peak, total=self.total, warm=self.warm)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
total = EPOCHS * len(ds)
model.compile(o.Adam(Warm({})))
model.fit(ds, epochs=EPOCHS)
"""
COUNTS = "step = step * hvd.size()\n        now = "
COSINE = "return self.peak * tf.cos((now - self.warm) / (self.total - self.warm))"
RISING = "return tf.where(now < self.warm, now / self.warm, 1 - now / self.total)"
BERT = "return self.after(step) if now < self.warm else self.peak * now / self.warm"


def text(body: str, given: str) -> str:
    return plan_of(HEAD + OWN.format(body, given)).text


@pytest.mark.parametrize("given", ["0.1, EPOCHS * len(ds)", "0.1, total, 50", "peak=0.1, total=total"])
def test_the_length_is_told_beside_a_number_of_steps(given: str) -> None:
    assert "/ (self.total * hvd.size() - self.warm)" in text(COSINE, given)
    assert "now < self.warm, now / self.warm, 1 - now / (self.total * hvd.size())" in text(RISING, given)
    assert COUNTS in text(COSINE, given)
    assert COUNTS in text(RISING, given)


@pytest.mark.parametrize("body", [COSINE, RISING])
def test_a_schedule_of_lengths_alone_is_left(body: str) -> None:
    left = text(body, "0.1, total, total // 10")
    assert COUNTS not in left
    assert "self.total * hvd.size()" not in left


def test_a_schedule_of_numbers_alone_is_told_the_steps() -> None:
    told = text(COSINE, "0.1, 900, 50")
    assert COUNTS in told
    assert "self.total * hvd.size()" not in told


def test_one_that_asks_another_one_made_by_lengths() -> None:
    decay = "d.PolynomialDecay(0.1, total)"
    left = plan_of(HEAD + OWN.format(BERT, f"0.1, total, total // 10, {decay}"))
    assert COUNTS not in left.text
    assert not any(c.doubt for c in left.changes)
    asked = plan_of(HEAD + OWN.format(BERT, f"0.1, total, 20, {decay}"))
    assert any("counts steps of one process" in c.doubt for c in asked.changes)


def test_a_length_of_the_module_is_told_too() -> None:
    body = "return self.peak * tf.cos((now - self.warm) / (total - self.warm))"
    assert "/ (total * hvd.size() - self.warm)" in text(body, "0.1, 0")


def test_where_lengths_cannot_be_followed_it_is_asked() -> None:
    plan = plan_of(HEAD + OWN.format("return self.peak / step", "0.1, total"))
    assert COUNTS not in plan.text
    assert any("counts steps of one process" in c.doubt for c in plan.changes)
