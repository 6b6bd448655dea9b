"""K3: weights that a callback takes from the model before its first step."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of, refused

CALLBACK = """\
class Average(tf.keras.callbacks.{base}):
    def __init__(self):
        self.kept = {{}}
    def {begun}(self, *given):
        {takes}
    def on_epoch_end(self, epoch, logs=None):
        {sets}
model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
model.compile("sgd", "mse")
model.fit(x, y, callbacks=[Average()])
"""
OTHER = "self.kept.set_weights(self.model.get_weights())"
ALL, BACK = "self.kept = self.model.get_weights()", "self.model.set_weights(self.kept)"
SENT = "hvd.broadcast_variables(self.model.variables, root_rank=0)"
EACH = "for w in self.model.trainable_weights:\n            {}"


def become(begun: str, takes: str, sets: str, base: str = "Callback") -> tuple[str, list[str]]:
    """The text that a program becomes, and what is asked."""
    plan = plan_of(TF + CALLBACK.format(begun=begun, takes=takes, sets=sets, base=base))
    return plan.text, [c.doubt for c in plan.changes if not c.sure and "Take rank 0's weights" in c.what]


@pytest.mark.parametrize(
    ("begun", "takes", "sets"),
    [
        ("on_train_begin", ALL, "print(self.kept)"),  # only looked at
        ("on_train_begin", "self.kept = len(self.model.layers)", BACK),
        ("on_train_batch_end", ALL, BACK),  # after the broadcast
        ("on_epoch_end", ALL, BACK),
        ("on_train_begin", "weights = self.model.get_weights()", BACK),
        ("on_train_begin", OTHER, "self.kept.evaluate(x, y)"),  # rank 0's has rank 0's weights already
    ],
)
def test_what_is_not_taken_before_the_first_step_or_not_set_back_stays(
    begun: str, takes: str, sets: str
) -> None:
    text, asked = become(begun, takes, sets)
    assert "hvd.broadcast_variables(" not in text
    assert asked == []


def test_a_callback_that_runs_on_rank_0_alone_sends_nothing() -> None:
    text, _ = become("on_train_begin", ALL, "print(self.kept)", base="ModelCheckpoint")
    assert "hvd.broadcast_variables(" not in text


def test_weights_that_a_callback_on_rank_0_alone_sets_back_would_part_from_the_others() -> None:
    source = TF + CALLBACK.format(begun="on_train_begin", takes=ALL, sets=BACK, base="ModelCheckpoint")
    refused(source, "HVD006", "HVD333")


@pytest.mark.parametrize(
    ("begun", "takes", "sets"),
    [
        ("on_train_begin", ALL, BACK),
        ("on_train_begin", OTHER, "self.model.set_weights(self.kept.get_weights())"),
        ("set_model", "self.model = given[0]\n        " + ALL, BACK),
        ("on_train_batch_begin", f"if not self.kept:\n            {ALL}", BACK),
        (
            "on_train_begin",
            EACH.format("self.kept[w.name] = w.numpy()"),
            EACH.format("w.assign(self.kept[w.name])"),
        ),
    ],
)
def test_what_is_taken_before_the_first_step_is_rank_0s(begun: str, takes: str, sets: str) -> None:
    text, asked = become(begun, takes, sets)
    first = next(line for line in takes.splitlines() if "self.model." in line)
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() == first.strip())
    assert lines[at - 1].strip() == SENT
    assert asked == []


@pytest.mark.parametrize(
    ("begun", "takes"),
    [
        ("on_epoch_begin", ALL),  # again and again
        ("on_train_batch_begin", f"if not self.kept: {ALL}"),  # no place for it
        ("on_train_begin", "if random.random() < 0.5:\n            " + ALL),
        ("on_train_begin", "self.kept = model.get_weights()"),
    ],
)
def test_where_it_cannot_be_sent_it_is_asked(begun: str, takes: str) -> None:
    text, asked = become(begun, takes, BACK)
    assert SENT not in text
    assert [("random and each rank's own" in doubt) for doubt in asked] == [True]
