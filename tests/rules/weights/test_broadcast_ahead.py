"""A model that is built before its loop begins with rank 0's variables by one line before that loop; others do after their
first step."""

from __future__ import annotations

import pytest

from ..pairs import apart, plan_of, refused

HEAD = "import tensorflow as tf\nL = tf.keras.layers\nopt = tf.keras.optimizers.Adam(0.1)\n"
DEFINED = """
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
SHAPED = "model = tf.keras.Sequential([L.Dense(2, input_shape=(3,))])\n"
UNBUILT = "model = tf.keras.Sequential([L.Dense(2)])\n"
LOOP = "for epoch in range(5):\n    for x in data:\n        step(x)\n"
SENT = "hvd.broadcast_variables(model.variables, root_rank=0)\n"
NET = "class Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n        {made}\n"


@pytest.mark.parametrize(
    "made",
    [
        SHAPED,
        "model = tf.keras.Sequential([L.InputLayer((3,)), L.Dense(2)])\n",
        "model = tf.keras.Sequential()\nmodel.add(L.Dense(2, input_dim=3))\nmodel.add(L.Dense(2))\n",
        "a = tf.keras.Input((3,))\nmodel = tf.keras.Model(a, L.Dense(2)(a))\n",
        "a = tf.keras.Input((3,))\nmodel = tf.keras.Model(inputs=a, outputs=L.Dense(2)(a))\n",
        "def make():\n    return tf.keras.Sequential([L.Dense(2, input_shape=(3,))])\nmodel = make()\n",
        "model = tf.keras.applications.VGG16(weights=None)\n",
        UNBUILT + "model.build((None, 3))\n",
        NET.format(made="self.d = L.Dense(2)") + "model = Net()\nmodel.build(input_shape=(None, 3))\n",
        NET.format(made="self.w = self.add_weight('w', (3, 2))") + "model = Net()\n",
        "first = tf.keras.Sequential([L.Dense(2, input_shape=(3,))])\nmodel = tf.keras.models.clone_model(first)\n",
    ],
)
def test_what_is_built_is_sent_before_the_loop(made: str) -> None:
    plan = plan_of(HEAD + made + DEFINED + LOOP)
    assert SENT + "for epoch in" in plan.text
    assert "first_batch" not in plan.text
    assert "opt.variables()" not in plan.text


@pytest.mark.parametrize(
    "made",
    [
        UNBUILT,
        "model = tf.keras.Sequential()\nmodel.add(L.Dense(2))\n",
        "model = tf.keras.Sequential([L.Embedding(input_dim=9, output_dim=3)])\n",  # its `input_dim` is no shape
        "model = tf.keras.models.clone_model(tf.keras.Sequential([L.Dense(2)]))\n",
        NET.format(made="self.d = L.Dense(2)") + "model = Net()\n",
        NET.format(made="self.w, self.d = self.add_weight('w', (3, 2)), L.Dense(2)") + "model = Net()\n",
        NET.format(made="pass")
        + "    def build(self, shape):\n        self.w = self.add_weight('w', (3, 2))\nmodel = Net()\n",
        NET.format(made="pass")
        + "    def build(self, shape):\n        pass\nmodel = Net()\nmodel.build((1, 3))\n",
        UNBUILT + "if flag:\n    model.build((None, 3))\n",
        UNBUILT + "other = tf.keras.Sequential([L.Dense(2)])\nother.build((None, 3))\n",
        "from nets import model\n",
        "a = tf.keras.Input((3,))\nmodel = tf.keras.Model(a, L.Dense(2)(a)) if flag else load()\n",
        SHAPED
        + "model.add(L.BatchNormalization())\n",  # its statistics are other ones after each rank's first step
        SHAPED
        + "tf.train.Checkpoint(opt=opt).restore('run')\n",  # the optimizer gets its slots in the first step
        SHAPED + "opt = restored()\n",
        "import tensorflow_addons as tfa\n"  # its weights are set by the first rows
        "model = tf.keras.Sequential([tfa.layers.WeightNormalization(L.Dense(2), input_shape=(3,))])\n",
    ],
)
def test_what_may_not_be_there_waits_for_the_first_step(made: str) -> None:
    text = apart(plan_of(HEAD + made + DEFINED + LOOP).text)
    assert "            hvd.broadcast_variables(model.variables, root_rank=0)\n" in text
    assert "        if first_batch:\n" in text


def test_a_model_that_each_turn_makes_begins_alike_in_each_turn() -> None:
    loop = "for fold in range(5):\n    model = make()\n    for x in data:\n        step(x)\n"
    made = "def make():\n    return tf.keras.Sequential([L.Dense(2, input_shape=(3,))])\n"
    text = plan_of(HEAD + made + DEFINED + loop).text
    assert f"    {SENT}    for x in" in text


def test_the_loop_of_the_caller_is_the_one_to_come_before() -> None:
    trains = "def train(epoch, model):\n    for x in data:\n        step(x, model)\n"
    main = f"def main():\n    {SHAPED}    for epoch in range(5):\n        train(epoch, model)\nmain()\n"
    text = plan_of(HEAD + DEFINED.replace("step(x)", "step(x, model)") + trains + main).text
    assert f"    {SENT}    for epoch in range(5):\n        train(epoch, model)\n" in text
    assert "global" not in text


def test_an_attribute_that_the_loop_sets_up_waits() -> None:
    cls = """
class Trainer:
    def setup(self):
        self.model = tf.keras.Sequential([L.Dense(2, input_shape=(3,))])
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x))
        opt.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables))
    def train(self):
        for n, x in enumerate(data):
            if n == 0:
                self.setup()
            self.step(x)
Trainer().train()
"""
    text = plan_of(HEAD + cls).text
    assert "if self.first_batch:" in text or "if first_batch:" in text
    begun = cls.replace("def setup(self)", "def __init__(self)").replace(
        "            if n == 0:\n                self.setup()\n", ""
    )
    text = plan_of(HEAD + begun).text
    assert "        hvd.broadcast_variables(self.model.variables, root_rank=0)\n        for n, x in" in text


@pytest.mark.parametrize(
    ("made", "ahead"),
    [
        ("w, b = tf.Variable(1.0), tf.Variable(0.0)\nheld = [w, b]\n", True),
        ("held = [tf.Variable(1.0) for _ in range(3)]\n", True),
        ("w = tf.Variable(1.0)\nheld = [w]\nheld.append(tf.Variable(2.0))\n", True),
        (UNBUILT + "held = [tf.Variable(1.0)]\nheld.extend(model.trainable_variables)\n", False),
        (UNBUILT + "held = [tf.Variable(1.0)]\nheld += model.trainable_variables\n", False),
        ("held = []\n", False),
    ],
)
def test_variables_are_sent_before_the_loop_where_all_are_there(made: str, ahead: bool) -> None:
    step = DEFINED.replace("model.trainable_variables", "held").replace("model(x)", "run(x)")
    assert ("first_batch" not in plan_of(HEAD + made + step + LOOP).text) is ahead


def test_steps_of_two_models_wait_together_where_one_has_to() -> None:
    made = SHAPED + "other = tf.keras.Sequential([L.Dense(2)])\n"
    loop = LOOP + "        step_other(x)\n"
    text = plan_of(
        HEAD + made + DEFINED + DEFINED.replace("model", "other").replace("step", "step_other") + loop
    ).text
    text = apart(text)
    assert "hvd.broadcast_variables(other.variables, root_rank=0)" in text
    assert (
        "        if first_batch:\n            hvd.broadcast_variables(model.variables, root_rank=0)\n" in text
    )


TRACED = (
    "\n@tf.function\ndef epoch(data):\n    for x in data:\n        with tf.GradientTape() as tape:\n"
    "            loss = tf.reduce_mean(model(x))\n        variables = model.trainable_variables\n"
    "        opt.apply_gradients(zip(tape.gradient(loss, variables), variables))\n"
)
EPOCHS = "model.load_weights('w.h5')\nfor n in range(5):\n    epoch(data)\n"


def test_a_traced_loop_is_preceded_where_the_model_is_built() -> None:
    """There, weights from a file are no hindrance: the step count isn't asked."""
    text = plan_of(HEAD + SHAPED + TRACED + EPOCHS).text
    assert SENT + "for n in range(5):\n" in text
    assert "iterations" not in text
    refused(HEAD + UNBUILT + TRACED + EPOCHS, "HVD006", "step count")
