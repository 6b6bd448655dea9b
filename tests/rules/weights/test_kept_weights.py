"""G2: weights that are kept as numbers before the first step, and trained with later, are rank 0's on every rank."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, apart, plan_of

STEP = """\
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x){more})
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


"""
EPOCHS = "for epoch in range(3):\n    for x in data:\n        step(x)\n"
SENT = "hvd.broadcast_variables(model.variables, root_rank=0)\n"


def program(kept: str, loop: str, more: str = "") -> str:
    head = MODEL + "opt = o.SGD(0.1)\ndata = tf.data.Dataset.range(64).batch(4)\n"
    return head + STEP.format(more=more) + kept + loop


SLOW = EPOCHS + "        for i, v in enumerate(model.trainable_variables):\n"
SLOW += "            slow[i] = slow[i] + 0.5 * (v - slow[i])\n            v.assign(slow[i])\n"
PAIRS = EPOCHS + "        for s, v in zip(slow, model.trainable_variables):\n"
PAIRS += "            s.assign(0.5 * s + 0.5 * v)\n            v.assign(s)\n"
FOLDS = "for fold in range(3):\n    model.set_weights(start)\n    for x in data:\n        step(x)\n"
DICT = (
    EPOCHS
    + "        for v in model.trainable_variables:\n            v.assign(0.5 * v + 0.5 * slow[v.name])\n"
)


@pytest.mark.parametrize(
    ("kept", "source"),
    [
        # Lookahead; the same by names
        (kept, program(kept, loop))
        for kept, loop in [
            ("slow = [tf.identity(v) for v in model.trainable_variables]\n", SLOW),
            ("slow = [v.numpy() for v in model.weights]\n", SLOW),
            ("slow = [tf.Variable(v) for v in model.trainable_variables]\n", SLOW),
            ("slow = {v.name: v.numpy() for v in model.trainable_variables}\n", DICT),
            # a run that begins again
            ("start = model.get_weights()\n", FOLDS),
            ("def kept(m):\n    return m.get_weights()\n\n\nstart = kept(model)\n", FOLDS),
        ]
    ]
    # a penalty
    + [
        (kept, program(kept, EPOCHS, " + tf.reduce_sum(model.trainable_variables[0] - anchor[0])"))
        for kept in ["anchor = [v.numpy() for v in model.trainable_variables]\n"]
    ],
)
def test_what_is_kept_begins_alike(kept: str, source: str) -> None:
    sets = kept.strip().rsplit("\n", 1)[-1]
    assert SENT + sets in plan_of(source).text


@pytest.mark.parametrize(
    ("kept", "loop"),
    [
        # what is mixed with the model in pairs is broadcast with it
        ("slow = [tf.Variable(v) for v in model.trainable_variables]\n", PAIRS),
        # nothing trains with it
        ("start = model.get_weights()\n", EPOCHS),
        ("start = model.get_weights()\n", EPOCHS + "print(sum(a.sum() for a in start))\n"),
        # the model's own variables, and what has their shape only
        ("slow = model.trainable_variables\n", SLOW),
        ("slow = [tf.zeros_like(v) for v in model.trainable_variables]\n", SLOW),
        # of another model, which isn't trained
        ("other = tf.keras.models.load_model('m.h5')\nslow = [v.numpy() for v in other.weights]\n", SLOW),
    ],
)
def test_nothing_is_sent_for_what_is_alike(kept: str, loop: str) -> None:
    assert SENT + kept.splitlines(keepends=True)[-1] not in plan_of(program(kept, loop)).text
    assert apart(plan_of(program(kept, loop)).text).count("broadcast_variables(model.variables") == 1


def test_a_place_that_not_all_ranks_reach_is_asked_about() -> None:
    kept = "start = None\nif np.random.rand() < 0.5: start = model.get_weights()\n"
    plan = plan_of("import numpy as np\n" + program(kept, FOLDS))
    assert any("this keeps weights from before the first step" in c.doubt for c in plan.changes)


OBJECT = """\
class Slow:
    def __init__(self, variables):
        self.fast = list(variables)
        self.slow = [{copied} for v in {listed}]

    def move(self):
        for i, v in enumerate(self.fast):
            self.slow[i] = self.slow[i] + 0.5 * (v - self.slow[i])
            v.assign(self.slow[i])


"""
MOVES = "for x in data:\n    step(x)\n    slow.move()\n"


@pytest.mark.parametrize("copied", ["v.numpy()", "tf.identity(v)", "np.array(v)"])
@pytest.mark.parametrize("listed", ["variables", "self.fast"])
@pytest.mark.parametrize(
    "made", ["slow = Slow(model.trainable_variables)\n", "slow = Slow(variables=model.weights)\n"]
)
def test_weights_that_an_object_is_handed_and_keeps(copied: str, listed: str, made: str) -> None:
    kept = OBJECT.format(copied=copied, listed=listed) + made
    assert SENT + made in apart(plan_of(program(kept, MOVES)).text)


@pytest.mark.parametrize(
    ("copied", "made"),
    [
        # near misses: their shapes alone; the variables of a model that no step trains; no copies
        ("np.zeros(v.shape)", "slow = Slow(model.trainable_variables)\n"),
        ("v", "slow = Slow(model.trainable_variables)\n"),
        ("v.numpy()", "slow = Slow(other.trainable_variables)\n"),
    ],
)
def test_what_an_object_is_handed_and_does_not_keep(copied: str, made: str) -> None:
    kept = OBJECT.format(copied=copied, listed="variables") + made
    assert SENT + made not in apart(plan_of(program(kept, MOVES)).text)


TRAINED = STEP.format(more="")
CLOSURE = """\
def lookahead(m):
    slow = [tf.Variable(v) for v in m.trainable_variables]

    def move():
        for s, v in zip(slow, m.trainable_variables):
            s.assign_add(0.5 * (v - s))
            v.assign(s)
    return move


move = lookahead(model)
"""
DEFAULT = """\
{decorator}def move({star}slow=[tf.Variable(v) for v in model.trainable_variables]):
    for s, v in zip(slow, model.trainable_variables):
        s.assign_add(0.5 * (v - s))
        v.assign(s)


"""
FIELDS = """\
class Slow:
    def __init__(self, m):
        self.m, self.slow = m, m.get_weights()

    def __call__(self):
        new = []
        for s, w in zip(self.slow, self.m.get_weights()):
            new.append(s + 0.5 * (w - s))
        self.slow = new
        self.m.set_weights(new)


move = Slow(model)
"""
MOVED = "for x in data:\n    step(x)\n    move()\n"


@pytest.mark.parametrize(
    ("kept", "sets"),
    [
        (CLOSURE, "hvd.broadcast_variables(m.variables, root_rank=0)\n    slow ="),
        (FIELDS, "hvd.broadcast_variables(m.variables, root_rank=0)\n        self.m, self.slow ="),
        (DEFAULT.format(decorator="", star=""), SENT + "def move("),
        (DEFAULT.format(decorator="", star="*, "), SENT + "def move("),
        (DEFAULT.format(decorator="@tf.function\n", star=""), SENT + "@tf.function\ndef move("),
    ],
)
def test_copies_that_have_no_name_where_the_model_is_broadcast(kept: str, sets: str) -> None:
    assert sets in apart(plan_of(program(kept, MOVED)).text)


@pytest.mark.parametrize(
    "kept",
    [
        # near misses: nothing is set to them; no weights
        CLOSURE.replace("v.assign(s)", "pass").replace("s.assign_add(0.5 * (v - s))", "print(s)"),
        FIELDS.replace("m, m.get_weights()", "m, [0.0] * 2"),
    ],
)
def test_what_is_kept_in_a_closure_and_not_trained_with(kept: str) -> None:
    assert "hvd.broadcast_variables(m.variables, root_rank=0)" not in plan_of(program(kept, MOVED)).text
