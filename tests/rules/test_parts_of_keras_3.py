"""Parts that only Keras 3 has: its variables count as TensorFlow's do, its optimizers keep others, and count steps."""

from __future__ import annotations

import pytest

from .beginning.test_keras_3 import plan

DATA = (
    "import keras\nimport tensorflow as tf\n"
    "ds = tf.data.Dataset.from_tensor_slices(tf.ones((64, 4))).batch(4)\n"
    "model = keras.Sequential([keras.layers.Dense(1, name='head')])\n"
)
TURN = (
    "opt = keras.optimizers.Adam(0.01)\n{begins}\nfor epoch in range(9):\n    for x in ds:\n"
    "        with tf.GradientTape() as tape:\n            loss = keras.ops.mean(model(x))\n"
    "        opt.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)\n"
    "        {counts}\n        if {test}:\n            break\n"
)
FIT = "model.compile(optimizer={}, loss='mse')\nmodel.fit(ds, epochs=3, callbacks=[{}])\n"
MULTI = "keras.optimizers.MultiOptimizer({})"


def of_turn(begins: str, counts: str, test: str) -> str:
    return plan(DATA + TURN.format(begins=begins, counts=counts, test=test), "2.21").text


# ---------------------------------------------------------------------- variables


@pytest.mark.parametrize(
    "begins",
    ["step = keras.Variable(0)", "step = keras.Variable(initializer=0, dtype='int64', trainable=False)"],
)
@pytest.mark.parametrize("counts", ["step.assign_add(1)", "step.assign(step + 1)"])
def test_a_variable_of_keras_counts_steps(begins: str, counts: str) -> None:
    assert "if int(step) >= max(1, 80 // hvd.size()):" in of_turn(begins, counts, "int(step) >= 80")


@pytest.mark.parametrize(
    ("begins", "counts"),
    [("limit = keras.Variable(0)", "limit.assign(80)"), ("step = keras.Variable(0)", "step.assign(epoch)")],
)
def test_a_variable_that_counts_no_steps_stays(begins: str, counts: str) -> None:
    name = begins.split(" ", maxsplit=1)[0]
    assert f"if {name} >= 80:" in of_turn(begins, counts, f"{name} >= 80")


def test_a_rate_in_a_variable_of_keras_is_scaled_once() -> None:
    source = DATA + "rate = keras.Variable(0.1)\n" + FIT.format("keras.optimizers.SGD(rate)", "")
    made = plan(source, "2.21").text
    assert "rate = keras.Variable(0.1 * hvd.size())" in made
    assert "SGD(rate)" in made


@pytest.mark.parametrize(
    "reads", ["int(opt._iterations)", "opt.iterations.value", "keras.ops.convert_to_numpy(opt.iterations)"]
)
def test_what_an_optimizer_counts_is_read_in_any_way(reads: str) -> None:
    assert f"if {reads} >= max(1, 80 // hvd.size()):" in of_turn("", "", f"{reads} >= 80")


@pytest.mark.parametrize("reads", ["settings.iterations.value", "limit.value", "limit._iterations"])
def test_a_value_of_something_else_is_no_count(reads: str) -> None:
    assert "80 // hvd.size()" not in of_turn("from settings import limit, settings", "", f"{reads} >= 80")


ADDS = (
    "beta = {made}\nclass Add(keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
    "        if {test}:\n            beta.assign_add(0.02)\n"
)


@pytest.mark.parametrize("made", ["keras.Variable(0.0, trainable=False)", "tf.Variable(0.0)"])
@pytest.mark.parametrize(
    "test", ["beta < 1.0", "float(beta) < 1.0", "beta.numpy() < 1.0", "float(beta.value) < 1.0"]
)
def test_what_goes_on_until_it_is_there_goes_on_as_fast(made: str, test: str) -> None:
    source = DATA + ADDS.format(made=made, test=test) + FIT.format("'adam'", "Add()")
    assert "beta.assign_add(0.02 * hvd.size())" in plan(source, "2.21").text


@pytest.mark.parametrize("test", ["float(logs['loss']) < 1.0", "float(batch) == 3", "draw(beta) < 1.0"])
def test_what_goes_on_by_something_else_is_not_taken_for_it(test: str) -> None:
    source = DATA + ADDS.format(made="keras.Variable(0.0)", test=test) + FIT.format("'adam'", "Add()")
    assert "beta.assign_add(0.02 * hvd.size())" not in plan("from draws import draw\n" + source, "2.21").text


# ---------------------------------------------------------------------- what is built


NET = "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.d = keras.layers.Dense(1)\n"


@pytest.mark.parametrize(
    "made", [NET + "model = Net()\n", "from nets import Net\nmodel = Net()\n"], ids=["here", "elsewhere"]
)
def test_a_class_that_is_built_by_hand_is_sent_after_its_first_step(made: str) -> None:
    text = of_turn(f"{made}model.build((None, 4))", "", "False")
    assert "hvd.broadcast_variables([*model.variables, *opt.variables], root_rank=0)" in text
    assert "first_batch" in text


@pytest.mark.parametrize(
    "made",
    [
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.build((None, 4))",
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])",
        "i = keras.Input((4,))\nmodel = keras.Model(i, keras.layers.Dense(1)(i))",
    ],
)
def test_what_really_is_built_is_sent_before_the_loop(made: str) -> None:
    text = of_turn(made, "", "False")
    assert "hvd.broadcast_variables(model.variables, root_rank=0)\nfor epoch" in text
    assert "first_batch" not in text


# ---------------------------------------------------------------------- optimizers for some variables each


@pytest.mark.parametrize(
    ("before", "given"),
    [
        (
            "",
            "keras.optimizers.OptimizerMap(keras.optimizers.Adam(0.5), {'head/.*': keras.optimizers.SGD(0.25)})",
        ),
        (
            "kept = keras.optimizers.OptimizerMap(default_optimizer=keras.optimizers.Adam(0.5))\n"
            "kept['head/.*'] = keras.optimizers.SGD(0.25)\n",
            "kept",
        ),
        (
            "def pick(v):\n    if 'head' in v.path:\n        return keras.optimizers.SGD(0.25)\n"
            "    return keras.optimizers.Adam(0.5)\n",
            "pick",
        ),
        (
            "one, other = keras.optimizers.SGD(0.25), keras.optimizers.Adam(0.5)\n",
            "lambda v: one if 'head' in v.path else other",
        ),
    ],
)
def test_each_of_several_optimizers_has_its_rate_scaled_and_what_keeps_them_averages(
    before: str, given: str
) -> None:
    made = plan(DATA + before + FIT.format(MULTI.format(given), ""), "2.21")
    assert "Adam(0.5 * hvd.size())" in made.text
    assert "SGD(0.25 * hvd.size())" in made.text
    assert f"optimizer=hvd.DistributedOptimizer({MULTI.format('')[:-1]}" in made.text
    assert not made.to_confirm


def test_several_optimizers_within_one_that_scales_losses() -> None:
    several = MULTI.format("keras.optimizers.OptimizerMap(keras.optimizers.Adam(0.5))")
    made = plan(DATA + FIT.format(f"keras.optimizers.LossScaleOptimizer({several})", ""), "2.21").text
    assert "hvd.DistributedOptimizer(keras.optimizers.LossScaleOptimizer(" in made
    assert "Adam(0.5 * hvd.size())" in made


def test_pairs_of_the_add_ons_are_not_multiplied() -> None:
    pairs = "[(keras.optimizers.Adam(0.5), model.layers[0]), (keras.optimizers.SGD(0.25), model.layers[1:])]"
    source = "import tensorflow_addons as tfa\n" + DATA.replace(
        "import keras\n", "from tensorflow import keras\n"
    )
    made = plan(source + FIT.format(f"tfa.optimizers.MultiOptimizer({pairs})", ""), "2.15").text
    assert "[(keras.optimizers.Adam(0.5 * hvd.size()), model.layers[0])" in made
    assert "] * hvd.size()" not in made


@pytest.mark.parametrize(
    "given",
    ["made_elsewhere()", "keras.optimizers.OptimizerMap(keras.optimizers.Adam(0.5), made_elsewhere())"],
)
def test_optimizers_that_cannot_be_seen_are_asked_about(given: str) -> None:
    source = "from elsewhere import made_elsewhere\n" + DATA + FIT.format(MULTI.format(given), "")
    made = plan(source, "2.21")
    assert any("can't be seen" in (c.doubt or "") for c in made.to_confirm)
    assert "0.5 * hvd.size()" not in made.text


OWN = (
    "class Own(keras.optimizers.SGD):\n    def update_step(self, gradient, variable, learning_rate):\n"
    "        {first}\n        super().update_step(gradient, variable, {rate})\n"
)


@pytest.mark.parametrize(
    ("first", "rate", "asked"),
    [
        ("pass", "learning_rate * keras.ops.minimum(1.0, self.iterations / 100)", True),
        ("if self._iterations % 6 == 0:\n            return", "learning_rate", True),
        (
            "step = keras.ops.cast(self.iterations, 'float32')",
            "learning_rate / (1 - 0.9**step) / (step + 1)",
            True,
        ),
        ("step = keras.ops.cast(self.iterations + 1, 'float32')", "learning_rate / (1 - 0.9**step)", False),
        ("powers = keras.ops.power(0.9, self.iterations + 1)", "learning_rate / (1 - powers)", False),
        ("pass", "learning_rate * other.iterations", False),
    ],
)
def test_an_optimizer_of_ones_own_that_goes_by_its_count_is_asked_about(
    first: str, rate: str, asked: bool
) -> None:
    made = plan(DATA + OWN.format(first=first, rate=rate) + FIT.format("Own(0.1)", ""), "2.21")
    assert any("a count of a rank's steps" in (c.doubt or "") for c in made.to_confirm) == asked
    assert "Own(0.1 * hvd.size())" in made.text


OWN_STEP = (
    "class Net(keras.Model):\n    def train_step(self, data):\n        with tf.GradientTape() as tape:\n"
    "            loss = keras.ops.mean(self(data))\n        weights = self.trainable_weights\n"
    "        self.optimizer.apply(tape.gradient(loss, weights), weights)\n        return {'loss': loss}\nmodel = Net()\n"
)


@pytest.mark.parametrize(
    "named", ["get('adam')", "get({'class_name': 'adam', 'config': {}})", "deserialize(told())"]
)
def test_what_keras_makes_by_name_is_scaled_where_a_train_step_applies_it(named: str) -> None:
    made = plan(DATA + OWN_STEP + FIT.format(f"keras.optimizers.{named}", ""), "2.21")
    assert "optimizer.learning_rate = optimizer.learning_rate * hvd.size()" in made.text
    assert "hvd.DistributedOptimizer" not in made.text  # the tape averages
    assert any("can't be seen" in (c.doubt or "") for c in made.to_confirm)


# ---------------------------------------------------------------------- counted in steps


BY_LENGTH = (
    "class Down(keras.callbacks.Callback):\n    def __init__(self, total):\n        super().__init__()\n"
    "        self.total, self.step = total, 0\n    def on_train_batch_begin(self, batch, logs=None):\n"
    "        self.model.optimizer.learning_rate = 0.1 * (1 - self.step / self.total)\n        self.step += 1\n"
)


@pytest.mark.parametrize("length", ["len(ds)", "ds.cardinality().numpy()", "int(ds.cardinality())"])
def test_a_rank_s_steps_over_those_of_its_data_stay(length: str) -> None:
    text = plan(DATA + BY_LENGTH + FIT.format("'adam'", f"Down(3 * {length})"), "2.21").text
    assert "(1 - self.step / self.total) * hvd.size()" in text
    assert f"Down(3 * {length})" in text


def test_steps_that_an_optimizer_warms_up_in_are_divided() -> None:
    made = plan(
        DATA + FIT.format("keras.optimizers.ScheduleFreeAdamW(0.1, warmup_steps=40)", ""), "2.21"
    ).text
    assert "ScheduleFreeAdamW(0.1 * hvd.size(), warmup_steps=max(1, 40 // hvd.size()))" in made


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("save_freq=20", "save_freq=max(1, 20 // hvd.size())"),
        ("save_freq='epoch'", "save_freq='epoch'"),
        ("monitor='loss'", "monitor='loss'"),
    ],
)
def test_rank_0_alone_writes_checkpoints_of_orbax(given: str, becomes: str) -> None:
    made = plan(DATA + FIT.format("'adam'", f"keras.callbacks.OrbaxCheckpoint('kept', {given})"), "2.21").text
    assert f"*([keras.callbacks.OrbaxCheckpoint('kept', {becomes})] if hvd.rank() == 0 else [])" in made


# ---------------------------------------------------------------------- XLA

OWN_COMPILE = (
    "class Pair(keras.Model):\n    def compile(self, one, other, **more):\n        super().compile({given})\n"
    "        self.one, self.other = one, other\n    def train_step(self, data):\n"
    "        with tf.GradientTape() as tape:\n            loss = keras.ops.mean(self(data))\n"
    "        weights = self.trainable_weights\n        self.one.apply(tape.gradient(loss, weights), weights)\n"
    "        return {{'loss': loss}}\nmodel = Pair()\n"
    "model.compile(keras.optimizers.Adam(0.1), keras.optimizers.Adam(0.1))\n{trains}"
)
ON_BATCH = "for x in ds:\n    model.train_on_batch(x)\n"


@pytest.mark.parametrize(
    ("given", "becomes"),
    [("", "jit_compile=False"), ("run_eagerly=False", "run_eagerly=False, jit_compile=False")],
)
def test_a_compile_of_ones_own_turns_xla_off_where_steps_are_taken_by_hand(given: str, becomes: str) -> None:
    text = plan(DATA + OWN_COMPILE.format(given=given, trains=ON_BATCH), "2.21").text
    assert f"super().compile({becomes})" in text


@pytest.mark.parametrize(
    ("given", "trains"), [("**more", ON_BATCH), ("jit_compile=False", ON_BATCH), ("", "model.fit(ds)\n")]
)
def test_what_says_it_or_may_and_what_fit_trains_stays(given: str, trains: str) -> None:
    text = plan(DATA + OWN_COMPILE.format(given=given, trains=trains), "2.21").text
    assert f"super().compile({given})" in text


# ---------------------------------------------------------------------- data

SPLIT = (
    "train, rest = keras.utils.split_dataset({})\nmodel.compile('adam', 'mse')\n"
    "model.fit(train.prefetch(2), validation_data=rest)\n"
)


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("ds, left_size=0.8", "ds, left_size=0.8"),
        ("ds, 0.8, shuffle=True", "ds, 0.8, shuffle=True, seed=0 if hvd.size() > 1 else None"),
        ("ds, 0.8, None, True, 7", "ds, 0.8, None, True, 7"),
        ("x, left_size=0.5, shuffle=False", "x, left_size=0.5, shuffle=False"),
    ],
)
def test_a_part_of_a_data_set_that_keras_splits_is_divided(given: str, becomes: str) -> None:
    source = DATA + "x = tf.ones((64, 4))\n" + SPLIT.format(given)
    text = plan(source, "2.21").text
    assert f"split_dataset({becomes})" in text
    assert "model.fit(shard_stream(train).prefetch(2), validation_data=rest" in text


def test_what_is_split_comes_in_one_order_on_all_ranks() -> None:
    source = DATA.replace(".batch(4)", ".shuffle(64).batch(4)") + SPLIT.format("ds, left_size=0.8")
    assert ".shuffle(64, seed=0 if hvd.size() > 1 else None)" in plan(source, "2.21").text


# ---------------------------------------------------------------------- layers

LAYER = (
    "class Warm(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.heat = self.add_weight(shape=(), initializer={begins}, trainable=False)\n"
    "    def call(self, a, training=False):\n        if training:\n"
    "            self.heat.assign(keras.ops.maximum(0.5, self.heat * 0.999))\n        return a * self.heat\n"
    "model = keras.Sequential([Warm(), keras.layers.Dense(1)])\n"
)


@pytest.mark.parametrize(
    "begins", ["'ones'", "keras.initializers.Constant(2.0)", "keras.initializers.Ones()"]
)
def test_a_weight_of_a_layer_goes_as_fast_whatever_it_begins_with(begins: str) -> None:
    text = plan(DATA + LAYER.format(begins=begins) + FIT.format("'adam'", ""), "2.21").text
    assert "self.heat * 0.999 ** hvd.size()" in text


def test_a_weight_that_is_drawn_is_none_that_goes_by_steps() -> None:
    begins = "keras.initializers.RandomNormal()"
    text = plan(DATA + LAYER.format(begins=begins) + FIT.format("'adam'", ""), "2.21").text
    assert "self.heat * 0.999)" in text
