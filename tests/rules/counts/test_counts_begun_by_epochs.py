"""G5: counts that begin each epoch with the steps of those before it, `step = epoch * steps`, and go on by a rank's."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

TAPE = """\
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
opt = o.SGD(0.01)
def train(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
{before}
for epoch in range(10):
    step = {start}
    for a, b in ds:
        train(a, b)
        step += {by}
        {then}
"""
SAVE = "if step % 20 == 0:\n            model.save_weights('a.h5')"


def looped(start: str, then: str = SAVE, by: str = "1", before: str = "steps = 16") -> str:
    return plan_of(MODEL + TAPE.format(start=start, then=then, by=by, before=before)).text


@pytest.mark.parametrize("start", ["epoch * 16", "epoch * steps", "steps * epoch"])
def test_it_begins_with_the_steps_that_a_rank_has_taken(start: str) -> None:
    """It counted an epoch's steps as all ranks', and went on by a rank's: from the second epoch on, rates came too late."""
    text = looped(start)
    assert f"step = {start} // hvd.size()\n" in text
    assert "if step % max(1, 20 // hvd.size()) == 0" in text
    assert "0.99 ** (step * hvd.size())" in looped(start, "opt.learning_rate = 0.01 * 0.99 ** step")


def test_what_it_is_set_off_against_in_the_same_way() -> None:
    text = looped("epoch * steps", "print(step - epoch * steps)")
    assert "step - epoch * steps // hvd.size()" in text


def test_a_loop_that_ends_with_the_epochs_steps() -> None:
    """From the second epoch on no step was taken: it began beyond its end."""
    loop = (
        "rows = iter(ds.repeat())\nfor epoch in range(10):\n    step = epoch * 16\n    while step < (epoch + 1) * 16:\n"
        "        a, b = next(rows)\n        train(a, b)\n        step += 1\n"
    )
    whole = MODEL + TAPE.format(start="0", then="pass", by="1", before="pass")
    text = plan_of(whole[: whole.index("pass\nfor epoch")] + loop).text
    assert "step = epoch * 16 // hvd.size()\n    while step < max(1, (epoch + 1) * 16 // hvd.size()):" in text


CALLBACK = """\
model.compile(o.SGD(0.01), "mse")
class A(tf.keras.callbacks.Callback):
    def __init__(self, n=16):
        super().__init__()
        self.n = n
    def on_epoch_begin(self, epoch, logs=None):
        self.step = {}
    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.model.optimizer.learning_rate.assign(0.01 / self.step ** 0.5)
model.fit(x, y, epochs=3, batch_size=16, callbacks=[A()])
"""


@pytest.mark.parametrize("start", ["epoch * 16", "epoch * self.n", "self.n * epoch"])
def test_in_a_callback(start: str) -> None:
    text = plan_of(MODEL + CALLBACK.format(start)).text
    assert f"self.step = {start} // hvd.size()\n" in text
    assert "(self.step * hvd.size()) ** 0.5" in text


def test_what_fit_tells_is_a_ranks_already() -> None:
    text = plan_of(MODEL + CALLBACK.format("epoch * self.params['steps']")).text
    assert "self.step = epoch * self.params['steps']\n" in text


@pytest.mark.parametrize(
    "start",
    [
        "epoch * len(ds)",  # of what is divided
        "0",
        "1",
        "2 * 8",  # no epochs
        "int(opt.iterations)",
    ],
)
def test_other_beginnings_stay(start: str) -> None:
    assert f"    step = {start}\n" in looped(start)


def test_a_count_that_goes_on_by_rows_is_asked_about() -> None:
    plan = plan_of(
        MODEL
        + TAPE.format(
            start="epoch * 256", then="if step % 320 == 0:\n            print(step)", by="16", before=""
        )
    )
    assert any("begins each epoch with what all ranks have counted" in str(c.doubt) for c in plan.to_confirm)
    assert "step = epoch * 256\n" in plan.text
