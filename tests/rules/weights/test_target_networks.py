"""G2: what a program keeps beside the model, and brings up to date from it, is broadcast with the model."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import MODEL, TF, apart, changes, plan_of

TARGET = "target = tf.keras.models.clone_model(model)\n"
LATE = "target.set_weights(model.get_weights())\n"
COPIED = TARGET + LATE
STEP = """\
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - {looked_at})
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
{more}
"""
LOOP = "for x in data:\n    step(x)\n"
BLEND = "for a, v in zip({slow}, model.variables):\n    a.assign(0.9 * a + 0.1 * v)\n"


def program(before: str, looked_at: str = "x", more: str = "", after: str = "", loop: str = LOOP) -> str:
    step = STEP.format(looked_at=looked_at, more=textwrap.indent(more, "    "))
    return MODEL + "opt = o.SGD(0.1)\n" + before + step + loop + after


def copies(source: str) -> list[str]:
    """What is broadcast beside the model and the optimizer."""
    (change,) = changes(plan_of(source), "G2")
    lines = [line.strip() for edit in change.edits for line in apart(f"{edit.new_text}\n").splitlines()]  # type: ignore[union-attr]
    sent = [line.split("(")[1].split(",")[0] for line in lines if "broadcast_variables" in line]
    sent += [
        name for line in lines if line.startswith("for variables in (") for name in line[18:-2].split(", ")
    ]
    sent = [name for name in sent if name != "variables"]
    return [name for name in sent if not name.startswith(("model.", "opt.", "trainer.model", "trainer.opt"))]


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "source",
    [
        # what is counted beside each of its variables is made from each rank's own data
        program(
            "sums = [tf.Variable(tf.zeros_like(v)) for v in model.variables]\n",
            more="for s, v in zip(sums, model.variables):\n    s.assign_add(loss * tf.ones_like(s))\n",
        ),
        # the trained model itself
        program(
            "", more="for v, b in zip(model.variables, best):\n    v.assign(tf.clip_by_value(v, b, 1.0))\n"
        ),
        program("", after="model.set_weights(model.get_weights())\n"),
        # not a copy of what is trained, and no part of the loss
        program(TARGET + "target.set_weights(np.load('weights.npy'))\n", after="print(target(x))\n"),
        # nothing in the training looks at it
        program(COPIED),
        program(TARGET, after=LATE),
        # what is only looked at between the epochs: it need not have variables yet
        program(
            TARGET,
            loop="for e in range(9):\n" + textwrap.indent(LOOP + LATE + "print(target(x))\n", "    "),
        ),
        # made anew in each turn, or afterwards
        program(
            "", loop="for x in data:\n    step(x)\n" + textwrap.indent(COPIED + "print(target(x))\n", "    ")
        ),
        program("", after=COPIED + "for x in data:\n    print(target(x))\n"),
    ],
)
def test_what_is_no_copy_is_left_alone(source: str) -> None:
    assert copies(source) == []


# ---------------------------------------------------------------------- copies


def test_a_model_that_training_looks_at() -> None:
    assert copies(program(COPIED, "target(x)")) == ["target.variables"]


def test_a_model_that_is_made_equal_now_and_then() -> None:
    loop = "for i, x in enumerate(data):\n    step(x)\n    if i % 10 == 0:\n        " + LATE
    assert copies(program(TARGET, "target(x)", loop=loop)) == ["target.variables"]


@pytest.mark.parametrize(
    ("before", "slow", "sent"),
    [
        ("averages = [tf.Variable(v) for v in model.variables]\n", "averages", "averages"),
        (TARGET, "target.variables", "target.variables"),
        (TARGET, "target.trainable_weights", "target.variables"),
    ],
)
def test_what_is_blended_in_the_step(before: str, slow: str, sent: str) -> None:
    assert copies(program(before, more=BLEND.format(slow=slow))) == [sent]


def test_what_a_function_blends() -> None:
    blend = "def blend(slow, fast):\n    for a, b in zip(slow, fast):\n        a.assign(0.1 * b + 0.9 * a)\n"
    loop = LOOP + "    blend(target.weights, model.weights)\n"
    assert copies(program(TARGET + blend, loop=loop)) == ["target.variables"]


KEEPER = """\
class Slow:
    def __init__(self, variables):
        self.fast = {fast}
        self.slow = [tf.Variable(v) for v in variables]

    def move(self):
        for s, f in zip(self.slow, self.fast):
            s.assign({mixed})
            f.assign(s)


slow = Slow(model.trainable_variables)
"""


@pytest.mark.parametrize(
    ("fast", "mixed", "sent"),
    [
        ("variables", "s + 0.5 * (f - s)", True),
        ("list(variables)", "0.5 * s + 0.5 * f", True),
        ("model.trainable_variables + model.weights", "0.5 * s + 0.5 * f", True),
        # near misses: nothing but the shape of the weights; what isn't the model's
        ("variables", "tf.zeros_like(f)", False),
        ("[tf.Variable(0.0)]", "0.5 * s + 0.5 * f", False),
    ],
)
def test_what_an_object_blends_that_was_handed_variables(fast: str, mixed: str, sent: bool) -> None:
    """The slow weights of Lookahead: the ranks' models would part with the first of its moves."""
    loop = LOOP + "    slow.move()\n"
    text = plan_of(program(KEEPER.format(fast=fast, mixed=mixed), loop=loop)).text
    assert ("*opt.variables(), *slow.slow], root_rank=0)" in text) is sent


def test_an_agent_that_keeps_both() -> None:
    source = """\
    import tensorflow as tf


    class Trainer:
        def __init__(self):
            self.model = self.make()
            self.slow = self.make()
            self.opt = tf.keras.optimizers.SGD(0.1)
            self.follow()

        def make(self):
            return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])

        def follow(self):
            self.slow.set_weights(self.model.get_weights())

        def step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x) - self.slow(x))
            variables = self.model.trainable_variables
            self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))


    trainer = Trainer()
    for x in tf.data.Dataset.from_tensor_slices(tf.ones((64, 2))).batch(8):
        trainer.step(x)
    """
    assert copies(textwrap.dedent(source)) == ["trainer.slow.variables"]


# ---------------------------------------------------------------------- what no step trains

RANDOM = "target = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))])\n"
DENSE = "tf.keras.layers.Dense(3)"


@pytest.mark.parametrize(
    "source",
    [
        # looked at, not in the loss
        program(RANDOM, more="print(target(x))\n"),
        program(RANDOM, after="print(target(x))\n"),
        program(RANDOM, loop=LOOP + "    print(target(x))\n"),
        # no network: losses, metrics, functions, layers without weights
        program("mse = tf.keras.losses.MeanSquaredError()\n", "mse(x, x)"),
        program("mean = tf.keras.metrics.Mean()\n", "mean(x)"),
        program("def half(x):\n    return x / 2\n", "half(x)"),
        program("flip = tf.keras.layers.RandomFlip()\n", "flip(x)"),
        program(
            "vary = tf.keras.Sequential([tf.keras.layers.RandomFlip(), tf.keras.layers.RandomRotation(0.1)])\n",
            "vary(x)",
        ),
        program("drop = tf.keras.layers.Dropout(0.5)\n", "drop(x)"),
        # prepares the data
        program(f"layer = {DENSE}\ndata = data.map(lambda x: layer(x))\n", "x"),
        # the trained model by another name, its parts
        program("same = model\n", "same(x)"),
        program("", "model.layers[0](x)"),
        program("inner = model.get_layer('inner')\n", "inner(x)"),
        # need not have been called in the first step
        program(RANDOM, "(target(x) if late else x)"),
        # a state that each rank brings up to date
        program("seen = tf.Variable(0.0)\n", "seen", more="seen.assign_add(1.0)\n"),
        # no variable
        program("matrix = tf.constant([[1.0]])\n", "x @ matrix"),
    ],
)
def test_what_has_no_weights_or_is_not_in_the_loss_is_left_alone(source: str) -> None:
    assert copies(source) == []


@pytest.mark.parametrize(
    ("before", "looked_at", "sent"),
    [
        (RANDOM, "target(x)", "target.variables"),
        (RANDOM, "tf.stop_gradient(target(x, training=False))", "target.variables"),
        (f"layer = {DENSE}\n", "layer(x)", "layer.variables"),
        # which weights were set is not told by their name; what is the same stays the same
        (TARGET + "target.set_weights(np.load('weights.npy'))\n", "target(x)", "target.variables"),
        (RANDOM + "def bonus(x):\n    return target(x)\n", "bonus(x)", "target.variables"),
        ("w = tf.Variable(tf.random.normal([4, 3]))\n", "x @ w", "[w]"),
        ("ws = [tf.Variable(tf.random.normal([4, 3])) for _ in range(2)]\n", "x @ ws[0]", "ws"),
    ],
)
def test_what_a_loss_is_made_with(before: str, looked_at: str, sent: str) -> None:
    assert copies(program(before, looked_at)) == [sent]


def test_what_is_computed_before_the_tape() -> None:
    source = program(RANDOM, "goal").replace("    with tf", "    goal = target(x)\n    with tf", 1)
    assert copies(source) == ["target.variables"]


def test_two_networks_that_one_function_makes() -> None:
    source = """\
    import tensorflow as tf


    class Trainer:
        def __init__(self):
            self.model = self.make()
            self.goal = self.make()
            self.opt = tf.keras.optimizers.SGD(0.1)

        def make(self):
            return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])

        def step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x) - self.goal(x)) ** 2)
            variables = self.model.trainable_variables
            self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))


    trainer = Trainer()
    for x in tf.data.Dataset.from_tensor_slices(tf.ones((64, 2))).batch(8):
        trainer.step(x)
    """
    assert copies(textwrap.dedent(source)) == ["trainer.goal.variables"]


def test_layers_of_the_trained_model_are_its_own() -> None:
    source = """\
    import tensorflow as tf


    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = tf.keras.layers.Dense(4)
            self.second = tf.keras.layers.Dense(1)
            self.scale = tf.Variable(2.0)

        def call(self, x):
            return self.scale * self.second(self.first(x))


    model = Net()
    opt = tf.keras.optimizers.SGD(0.1)
    for x in tf.data.Dataset.from_tensor_slices(tf.ones((64, 2))).batch(8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    """
    assert copies(textwrap.dedent(source)) == []


def test_networks_that_another_step_trains_are_broadcast_once() -> None:
    make = "critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    source = MODEL + make + "opt = o.SGD(0.1)\nopt_c = o.SGD(0.1)\n"
    source += """\
for x in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(model(x)))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(model(x))) - tf.reduce_mean(critic(x))
    opt_c.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
"""
    assert [c for c in copies(source) if not c.startswith("opt_c")] == ["critic.variables"]


# ---------------------------------------------------------------------- what each rank sets by its own rows


def asked(source: str) -> int:
    """How many places are asked about that drift apart."""
    return sum("differs more and more" in c.doubt for c in plan_of(source).changes)


BOOK = "book = tf.Variable({begins})\n"
DRAWN = "tf.random.normal([4, 3])"


@pytest.mark.parametrize(
    ("begins", "more", "sent", "places"),
    [
        (DRAWN, "book.assign(0.9 * book + 0.1 * model(x))\n", ["[book]"], 1),
        ("tf.zeros([4, 3])", "book.assign(0.9 * book + 0.1 * model(x))\n", [], 1),
        (DRAWN, "book.assign(0.9 * book)\n", ["[book]"], 0),  # the same on all
        ("1.0", "book.assign(book * 0.99)\n", [], 0),
        ("tf.zeros([4, 3])", "if now:\n    book.assign(model(x))\n", [], 0),  # not with each step
    ],
)
def test_what_the_loss_is_made_with_and_a_step_sets(
    begins: str, more: str, sent: list[str], places: int
) -> None:
    source = program(BOOK.format(begins=begins), "x @ book", more=more)
    assert asked(source) == places
    plan = plan_of(source)
    assert [name for name in ("[book]",) if f"broadcast_variables({name}" in apart(plan.text)] == sent


def test_what_is_set_from_what_is_set() -> None:
    made = BOOK.format(begins=DRAWN) + "sums = tf.Variable(book)\n"
    more = "sums.assign_add(model(x))\nbook.assign(sums / 2)\n"
    assert asked(program(made, "x @ book", more=more)) == 2


def test_what_is_kept_but_not_in_the_loss() -> None:
    assert asked(program("seen = tf.Variable(0.0)\n", more="seen.assign_add(tf.reduce_sum(model(x)))\n")) == 0


def test_copies_that_objects_of_the_file_hold() -> None:
    source = """\
import numpy as np
import tensorflow as tf


class Value:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.opt = tf.keras.optimizers.SGD(0.1)

    def predict(self, x):
        return self.model.predict(x)

    def train(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        self.opt.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables))


class Agent:
    def __init__(self):
        self.value, self.target, self.shown = Value(), Value(), Value()
        self.update()

    def update(self):
        self.target.model.set_weights(self.value.model.get_weights())
        self.shown.model.set_weights(self.value.model.get_weights())

    def learn(self, data):
        for x in data:
            self.value.train(x, self.target.predict(x))
            self.update()
        self.shown.predict(x)


Agent().learn(tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(8))
"""
    text = plan_of(source).text
    assert "hvd.broadcast_variables(self.target.model.variables, root_rank=0)" in text
    assert "self.shown.model.variables" not in text


def test_a_name_of_a_comprehension_is_no_variable_at_the_loop() -> None:
    """`w` of `[w - g for w in weights]` is not the module's `w`."""
    source = (
        TF
        + "def train(weights, opt):\n"
        + "    for x in data:\n"
        + "        with tf.GradientTape() as tape:\n"
        + "            fast = [w - 0.1 * w for w in weights]\n"
        + "            loss = tf.reduce_mean(fast[0] * x)\n"
        + "        opt.apply_gradients(zip(tape.gradient(loss, weights), weights))\n"
        + "w = [tf.Variable(1.0), tf.Variable(2.0)]\n"
        + "train(w, tf.keras.optimizers.SGD(0.1))\n"
    )
    text = plan_of(source).text
    assert "broadcast_variables(weights, root_rank=0)" in text
    assert "[w]" not in text


# ---------------------------------------------------------------------- networks that are trained in turns

TWO = """\
import tensorflow as tf
L = tf.keras.layers
first, second = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.Adam(0.1)
{nets}
def critic_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean({critic_loss})
    first.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
def maker_step():
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(maker(tf.random.normal((8, 3)))))
    second.apply_gradients(zip(tape.gradient(loss, maker.trainable_variables), maker.trainable_variables))
"""
LOOKS = "critic(maker(tf.random.normal((8, 3)))) - critic(x)"
UNBUILT = "maker, critic = tf.keras.Sequential([L.Dense(4)]), tf.keras.Sequential([L.Dense(1)])\n"
SHAPED = UNBUILT.replace("Dense(4)", "Dense(4, input_shape=(3,))").replace(
    "Dense(1)", "Dense(1, input_shape=(4,))"
)
IN_TURNS = "for step in range(400):\n    for x in data.take(5):\n        critic_step(x)\n    maker_step()\n"
AFTER = "for x in warm:\n    critic_step(x)\nfor x in data:\n    critic_step(x)\n    maker_step()\n"
OF_CRITIC = "hvd.broadcast_variables(critic.variables, root_rank=0)\n"
OF_MAKER = "hvd.broadcast_variables(maker.variables, root_rank=0)\n"


def two(nets: str, loop: str, critic_loss: str = LOOKS) -> str:
    return apart(plan_of(TWO.format(nets=nets, critic_loss=critic_loss) + loop).text)


def test_a_network_that_another_is_trained_against_is_sent_before_its_own_turn() -> None:
    text = two(UNBUILT, IN_TURNS)
    inner = text[text.index("        critic_step(x)") : text.index("    maker_step()\n")]
    assert f"            {OF_MAKER}" in inner
    assert f"            {OF_CRITIC}" in inner


def test_networks_that_are_built_are_sent_before_the_first_loop_that_looks_at_them() -> None:
    assert f"{OF_CRITIC}{OF_MAKER}for x in" in two(SHAPED, AFTER)
    assert f"{OF_CRITIC}{OF_MAKER}for step in" in two(SHAPED, IN_TURNS)


def test_networks_with_batch_statistics_are_sent_before_the_loop_too() -> None:
    text = two(
        SHAPED.replace("Dense(4, input_shape=(3,))", "Dense(4, input_shape=(3,)), L.BatchNormalization()"),
        AFTER,
    )
    assert f"{OF_CRITIC}{OF_MAKER}first_batch = True\nfor x in" in text


@pytest.mark.parametrize(
    ("loop", "critic_loss"),
    [
        ("for x in data:\n    critic_step(x)\n    maker_step()\n", LOOKS),  # within one turn
        (IN_TURNS, "critic(x)"),  # it looks at no other
        (
            "for x in data:\n    critic_step(x)\nfor i in range(400):\n    maker_step()\n",
            "critic(x)",
        ),  # it was sent
    ],
)
def test_a_network_that_is_sent_in_time_is_sent_once(loop: str, critic_loss: str) -> None:
    text = two(UNBUILT, loop, critic_loss)
    assert text.count("maker.variables") == 1
    assert text.count("critic.variables") == 1


def test_a_network_whose_own_steps_nobody_takes_is_sent() -> None:
    text = two(UNBUILT, "for step in range(400):\n    for x in data:\n        maker_step()\n")
    assert OF_CRITIC in text[text.index("        maker_step()\n") :]


def test_a_network_that_may_not_have_had_its_turn_is_sent() -> None:
    loop = (
        "if flags.warm:\n    for x in data:\n        critic_step(x)\nfor i in range(400):\n    maker_step()\n"
    )
    assert two(UNBUILT, loop, "critic(x)").count(OF_CRITIC) == 2


def test_a_network_that_has_its_turn_only_now_and_then_is_sent_at_once() -> None:
    loop = "for i, x in enumerate(data):\n    critic_step(x)\n    if i % 5 == 4:\n        maker_step()\n"
    text = two(UNBUILT, loop)
    assert f"        {OF_MAKER}" in text[text.index("    critic_step(x)") : text.index("    if i % 5")]


PHASES = """\
import tensorflow as tf
base, head = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(3,))]), tf.keras.layers.Dense(1)
head.build((None, 4))
def run(variables, opt, steps):
    for x, y in tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4).take(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((head(base(x)) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""
HEAD_ALONE = "run(head.trainable_variables, tf.keras.optimizers.SGD(0.1), 60)\n"
ALL = "run(base.trainable_variables + head.trainable_variables, tf.keras.optimizers.SGD(0.02), 90)\n"
CHOSEN = "variables = {}\nrun(variables, tf.keras.optimizers.SGD(0.02), 90)\n"


@pytest.mark.parametrize(
    ("calls", "sent"),
    [
        (HEAD_ALONE + ALL, "*head.variables, *base.variables, *opt.variables()"),
        (ALL + HEAD_ALONE, "*base.variables, *head.variables, *opt.variables()"),
        (ALL, "*base.variables, *head.variables, *opt.variables()"),
        (
            CHOSEN.format(
                "head.trainable_variables if frozen else base.trainable_variables + head.trainable_variables"
            ),
            "*variables, *opt.variables(), *base.variables",
        ),
        (
            CHOSEN.format(
                "head.trainable_variables\nif late:\n    variables = head.trainable_variables + base.trainable_variables"
            ),
            "*head.variables, *base.variables, *opt.variables()",
        ),
        (
            CHOSEN.format("base.trainable_variables + head.trainable_variables"),
            "*base.variables, *head.variables, *opt.variables()",
        ),
        (
            CHOSEN.format("[v for v in head.trainable_variables if v.trainable]"),
            "*variables, *opt.variables(), *base.variables",
        ),
    ],
)
def test_what_a_function_trains_later_is_sent_before(calls: str, sent: str) -> None:
    """Each rank's head would learn from other random features, until the base is trained, too."""
    assert f"hvd.broadcast_variables([{sent}], root_rank=0)" in plan_of(PHASES + calls).text


LAZY = """\
class Average:
    def __init__(self, variables):
        self.fast = list(variables)
        self.slow = [tf.Variable(v) for v in variables]

    def move(self):
        for s, f in zip(self.slow, self.fast):
            s.assign(0.9 * s + 0.1 * f)


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.opt = tf.keras.optimizers.SGD(0.1)
        self.average = None

    def fit(self, data):
        for x in data:
{before}
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x) - x)
            variables = self.model.trainable_variables
            self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
{after}
            self.average.move()


Trainer().fit(tf.data.Dataset.from_tensor_slices(tf.ones((64, 2))).batch(8))
"""
MADE = "            if self.average is None:\n                self.average = Average(self.model.trainable_variables)"


@pytest.mark.parametrize(("before", "after", "sent"), [("", MADE, False), (MADE, "", True)])
def test_an_average_that_is_made_in_the_first_turn(before: str, after: str, sent: bool) -> None:
    """After the broadcast there is none yet that could be sent; made with rank 0's weights, it need not be."""
    text = plan_of("import tensorflow as tf\n" + LAZY.format(before=before, after=after)).text
    assert ("*self.average.slow" in text or "broadcast_variables(self.average.slow" in text) is sent
