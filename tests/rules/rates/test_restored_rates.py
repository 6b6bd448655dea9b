"""C5, G2: rates that checkpoints keep with their optimizers, multiplied by the number of ranks of the run that saved them."""

from __future__ import annotations

import pytest

from horovodize.rules.rates.restored_rates import SAID, SCHEDULE_SAID

from ..pairs import MODEL, STEP, TF, plan_of

MADE = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
SENT = "hvd.broadcast_variables([*model.variables, *opt.variables(), opt.learning_rate], root_rank=0)"
UNSENT = "hvd.broadcast_variables([*model.variables, *opt.variables()], root_rank=0)"


def by_tape(
    rate: str = "0.01",
    kept: str = "model=model, opt=opt",
    restore: str = "ck.restore(last)",
    turn: str = "",
    after: str = "",
) -> tuple[str, bool]:
    """The text that comes of steps with a tape, and whether it is said that the rate is of as many ranks."""
    steps = "".join(f"    {line}\n" for line in [*turn.splitlines(), *STEP.splitlines()])
    loop = f"for x in tf.data.Dataset.from_tensor_slices(a).batch(4):\n{steps}"
    start = f"{MADE}opt = tf.keras.optimizers.SGD({rate})\nck = tf.train.Checkpoint({kept})\n"
    plan = plan_of(
        f"{TF}from warm import Warmup\nlast = tf.train.latest_checkpoint('ck')\n{start}{restore}\n{loop}{after}"
    )
    return plan.text, any(n.message == SAID for n in plan.notes)


@pytest.mark.parametrize(
    "restore",
    [
        "ck.restore(last)",
        "if last:\n    ck.restore(last)",
        "manager = tf.train.CheckpointManager(ck, 'ck', 3)\nmanager.restore_or_initialize()",
    ],
)
@pytest.mark.parametrize("rate", ["0.01", "", "settings.rate", "learning_rate=0.1 / 2"])
def test_all_ranks_get_rank_0s_and_it_is_said_of_how_many_it_is(rate: str, restore: str) -> None:
    text, said = by_tape(rate, restore=restore)
    assert SENT in text
    assert said


@pytest.mark.parametrize(
    "changed",
    [
        {"restore": "pass"},
        {"kept": "model=model"},
        {"rate": "tf.keras.optimizers.schedules.CosineDecay(0.1, 100)"},
        {"rate": "Warmup(0.1)"},
    ],
)
def test_rates_that_are_not_kept_or_are_schedules_are_left(changed: dict[str, str]) -> None:
    text, said = by_tape(**changed)
    assert UNSENT in text
    assert not said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"turn": "opt.learning_rate = 0.1"}, False),
        ({"turn": "opt.learning_rate.assign(0.1)"}, False),
        ({"restore": "ck.restore(last)\nopt.learning_rate = 0.1"}, False),
        ({"restore": "opt.learning_rate = 0.1\nck.restore(last)"}, True),  # restored over it
        ({"turn": "if x[0] > 1:\n    opt.learning_rate = 0.1"}, True),
        ({"turn": "opt.learning_rate = opt.learning_rate * 0.99"}, True),  # made of the restored one
        ({"restore": "pass", "after": "ck.restore(last)\n"}, False),  # nothing is trained any more
    ],
)
def test_it_is_not_said_of_a_rate_that_is_set_again(changed: dict[str, str], said: bool) -> None:
    assert by_tape(**changed)[1] is said


def test_it_is_not_said_of_a_rate_that_a_function_sets_for_each_epoch() -> None:
    set_by = "def adjust(optimizer):\n    optimizer.learning_rate = 0.1\nck.restore(last)"
    assert not by_tape(restore=set_by, turn="adjust(opt)")[1]


LOADED = "if found:\n    model.load_weights(found)\n"
AGREED = "model.optimizer.learning_rate = hvd.broadcast_object(float(model.optimizer.learning_rate))\n"


def by_fit(
    compiled: str = "o.SGD(0.1)", before: str = LOADED, fit: str = "model.fit(x, y)\n"
) -> tuple[str, bool]:
    made = f"{MODEL}model.compile({compiled}, 'mse')\nfound = tf.train.latest_checkpoint('ck')\n{before}"
    plan = plan_of(f"{made}{fit}")
    return plan.text, any(n.message == SAID for n in plan.notes)


@pytest.mark.parametrize(
    "before",
    [
        LOADED,
        "tf.train.Checkpoint(model=model).restore(found)\n",
        "model.load_weights('weights')\n",
    ],
)
@pytest.mark.parametrize("compiled", ["o.SGD(0.1)", "'adam'", "o.Adam()"])
def test_a_fitted_model_goes_on_with_rank_0s(before: str, compiled: str) -> None:
    text, said = by_fit(compiled, before)
    assert f"{AGREED}model.fit(" in text
    assert said


@pytest.mark.parametrize("step", ["model.fit(x, y)", "model.train_on_batch(x[:4], y[:4])"])
def test_before_a_loop_of_fits_they_agree_once(step: str) -> None:
    text, _ = by_fit(fit=f"for epoch in range(9):\n    {step}\n")
    assert f"{AGREED}for epoch" in text


def test_a_model_that_each_turn_makes_agrees_in_each() -> None:
    again = (
        "for fold in range(9):\n    model = tf.keras.Sequential([])\n    model.compile(o.SGD(0.1), 'mse')\n"
    )
    text, _ = by_fit(before="", fit=f"{again}    model.load_weights(found)\n    model.fit(x, y)\n")
    assert f"    {AGREED}    model.fit(" in text


@pytest.mark.parametrize(
    "changed",
    [
        {"before": ""},
        {"before": "model.load_weights('weights.h5')\n"},  # without the optimizer
        {"before": "other = tf.keras.Sequential([])\nother.load_weights(found)\n"},
        {"compiled": "o.SGD(o.schedules.CosineDecay(0.1, 100))"},
        {"before": "", "fit": "model.fit(x, y)\nmodel.load_weights(found)\nmodel.evaluate(x, y)\n"},
    ],
)
def test_a_fitted_model_whose_rate_comes_from_no_file_is_left(changed: dict[str, str]) -> None:
    text, said = by_fit(**changed)
    assert "learning_rate))" not in text
    assert not said


def test_it_is_not_said_where_a_callback_sets_the_rate_of_each_epoch() -> None:
    scheduled = "model.fit(x, y, callbacks=[tf.keras.callbacks.LearningRateScheduler({})])\n"
    assert not by_fit(fit=scheduled.format("lambda epoch: 0.1 * 0.9 ** epoch"))[1]
    assert by_fit(fit=scheduled.format("lambda epoch, rate: rate * 0.9"))[1]


def test_optimizers_that_are_none_of_keras_have_no_such_rate() -> None:
    old = "tf.compat.v1.train.AdamOptimizer(0.01)"
    start = f"{MADE}opt = {old}\nck = tf.train.Checkpoint(model=model, opt=opt)\nck.restore('ck/1')\n"
    steps = "".join(f"    {line}\n" for line in STEP.splitlines())
    text = plan_of(f"{TF}{start}for x in tf.data.Dataset.from_tensor_slices(a).batch(4):\n{steps}").text
    assert "opt.learning_rate" not in text


def test_a_session_of_keras_sends_all_its_variables() -> None:
    old = "import keras\nimport tensorflow as tf\nkeras.backend.set_session(tf.Session())\n"
    old += "model = keras.models.Sequential([])\n"
    plan = plan_of(
        f"{old}model.compile(keras.optimizers.SGD(0.1), 'mse')\nmodel.load_weights(found)\nmodel.fit(x, y)\n"
    )
    assert "learning_rate))" not in plan.text
    assert not any(n.message == SAID for n in plan.notes)


TRAINER = (
    TF
    + """
class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.opt = tf.keras.optimizers.SGD(0.1)
        self.ck = tf.train.Checkpoint(model=self.model, opt=self.opt)
        self.ck.restore(tf.train.latest_checkpoint("ck"))
    def run(self):
        for step, x in enumerate(tf.data.Dataset.from_tensor_slices(a).batch(4)):
            {}
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(self.model(x))
            v = self.model.trainable_variables
            self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
"""
)
SET = "self.opt.learning_rate.assign(0.1 * 0.99 ** step)"


@pytest.mark.parametrize(
    ("turn", "start", "said"),
    [
        ("pass", "Trainer().run()\n", True),
        ("pass", "trainer = Trainer()\ntrainer.run()\n", True),
        ("pass", "def main():\n    Trainer().run()\nif __name__ == '__main__':\n    main()\n", True),
        (SET, "Trainer().run()\n", False),
        (SET, "if __name__ == '__main__':\n    Trainer().run()\n", False),
        (f"if step > 5:\n                {SET}", "if __name__ == '__main__':\n    Trainer().run()\n", True),
    ],
)
def test_it_is_said_of_trainers_that_do_not_set_it_again(turn: str, start: str, said: bool) -> None:
    """Where the trainer is made in the call that runs it, it was not said; and under the main guard, always."""
    plan = plan_of(TRAINER.format(turn) + start)
    assert any(n.message == SAID for n in plan.notes) is said


KEPT_SCHEDULE = """\
import os
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
if os.path.exists("state.keras"):
    model = tf.keras.models.load_model("state.keras")
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(6)])
    model.compile(tf.keras.optimizers.Nadam({rate}), loss="mse")
{again}model.fit(x, x, epochs=5)
model.save("state.keras")
"""
_COSINE = "tf.keras.optimizers.schedules.CosineDecay(0.004, 200)"


@pytest.mark.parametrize(
    ("rate", "read", "said"), [(_COSINE, "state", True), ("0.004", "state", False), (_COSINE, "other", True)]
)
def test_a_schedule_comes_with_a_whole_model(rate: str, read: str, said: bool) -> None:
    """Its rates and steps are scaled for the ranks of the run that saved it, and no word was said."""
    source = KEPT_SCHEDULE.format(rate=rate, again="").replace('load_model("state', f'load_model("{read}')
    assert any(n.message == SCHEDULE_SAID for n in plan_of(source).notes) is said
