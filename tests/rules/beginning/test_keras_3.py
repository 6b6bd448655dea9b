"""Keras 3: the module that Horovod's names come from, XLA, and the guard where it is not known which Keras trains."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import STEP, TF, plan_of, refused

MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
COMPILE = "model.compile('adam', 'mse')\n"
FIT = "model.fit(x, y)\n"
KERAS = TF + MODEL + COMPILE + FIT
TAPE = (
    TF
    + MODEL
    + "opt = tf.keras.optimizers.SGD(0.1)\nfor x in data:\n    "
    + STEP.replace("\n", "\n    ").rstrip()
    + "\n"
)
BY_HAND = (
    TF
    + "w = tf.Variable(1.0)\nopt = tf.optimizers.SGD(0.1)\nfor x in data:\n    opt.minimize(lambda: w * x, [w])\n"
)
SESSION = (
    "import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\nt = tf.placeholder(tf.float32, [None])\n"
    "loss = tf.reduce_mean(tf.square(tf.get_variable('w', [1]) - t))\n"
    "train = tf.train.AdamOptimizer(0.1).minimize(loss)\nwith tf.Session() as s:\n"
    "    s.run(tf.global_variables_initializer())\n"
    "    for i in range(9):\n        s.run(train, {t: batch(i)})\n"
)
HAND, OPTIMIZER = "w.assign_sub(0.1 * g)", "opt.apply_gradients([(g, w)])"
OWN_WEIGHT = (
    TF + "losses = []\nSET = 0\nw = tf.Variable(1.0)\nfor x in data:\n    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean((w - x) ** 2)\n    g = tape.gradient(loss, w)\n    w.assign_sub(0.1 * g)\n"
    "    losses.append(loss)\n"
)
LEGACY = "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n"
STOP = "'Keras 3 would average nothing here"


def plan(source: str, tensorflow: str) -> Plan:
    result = distribute(summarize(Document(source)), Options(comments=False, tensorflow=tensorflow))
    assert isinstance(result, Plan), result
    compile(result.text, "distributed", "exec", dont_inherit=True)
    return result


def text(source: str, tensorflow: str = "2.17") -> str:
    return plan(source, tensorflow).text


# ---------------------------------------------------------------------- where it is not known


def test_fit_stops_under_keras_3_before_anything_else_is_done() -> None:
    lines = plan_of(KERAS).text.splitlines()
    at = lines.index("hvd.init()")
    assert lines[at + 1].startswith("assert not hasattr(tf.keras, 'ops'), " + STOP)


def test_where_no_callback_would_fail_an_error_is_raised_that_is_never_left_out() -> None:
    """`python -O` leaves assertions out."""
    by_hand = plan_of(KERAS.replace(FIT, "model.train_on_batch(x, y)\n")).text
    assert f"hvd.init()\nif hasattr(tf.keras, 'ops'):\n    raise RuntimeError({STOP}" in by_hand


@pytest.mark.parametrize("source", [TAPE, BY_HAND, SESSION], ids=["tape", "minimize", "session"])
def test_what_stops_by_itself_or_works_has_no_guard(source: str) -> None:
    assert STOP not in plan_of(source).text


@pytest.mark.parametrize("version", ["2.15", "2.4.1", "1.15"])
def test_where_keras_2_is_known_there_is_no_guard(version: str) -> None:
    made = plan(KERAS, version)
    assert STOP not in made.text
    assert "import horovod.tensorflow.keras as hvd\n" in made.text
    assert not made.beside


def test_tensorflow_1_has_no_guard() -> None:
    assert STOP not in plan_of(KERAS + "session = tf.Session()\n").text


def test_what_can_only_run_on_tensorflow_1_is_given_its_api_under_any_setting() -> None:
    assert "horovod_keras3" not in text(KERAS + "session = tf.Session()\n")


def test_the_guard_asks_the_keras_that_the_script_imports() -> None:
    program = "from keras.models import Sequential\nmodel = Sequential([])\n" + COMPILE + FIT
    assert "assert not hasattr(keras, 'ops'), " in plan_of("import keras\n" + program).text


def test_of_a_keras_that_is_imported_in_parts_it_asks_tensorflows_without_another_import() -> None:
    made = plan_of("from keras.models import Sequential\nmodel = Sequential([])\n" + COMPILE + FIT).text
    assert "assert not hasattr(tf.keras, 'ops'), " in made
    assert "\nimport keras\n" not in made


# ---------------------------------------------------------------------- where Keras 3 is known


def test_horovods_names_come_from_our_module() -> None:
    made = plan(KERAS, "2.17")
    assert "import horovod_keras3 as hvd\n" in made.text
    assert "import horovod.tensorflow" not in made.text
    assert STOP not in made.text
    assert made.beside == ("horovod_keras3.py",)


def test_from_the_package_it_needs_no_file_and_the_script_is_the_same() -> None:
    options = Options(comments=False, tensorflow="2.17", runtime="package")
    made = distribute(summarize(Document(KERAS)), options)
    assert isinstance(made, Plan)
    assert made.text == text(KERAS)
    assert made.beside == ()


@pytest.mark.parametrize(
    ("compiled", "after"),
    [
        ("model.compile('adam', 'mse')",
         "model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())), 'mse', "
         "jit_compile=False)"),
        ("model.compile(loss='mse')",
         "model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.RMSprop(learning_rate=0.001 * hvd.size())), "
         "loss='mse', jit_compile=False)"),
        ("model.compile(tf.keras.optimizers.SGD(0.1), jit_compile=True)",
         "model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), jit_compile=False)"),
        ("model.compile(tf.keras.optimizers.SGD(0.1), jit_compile=False)",
         "model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), jit_compile=False)"),
        ("model.compile(tf.keras.optimizers.SGD(0.1), **more)",  # `more` may say it, too: the callback sees to it
         "model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), **more)"),
    ],
)  # fmt: skip
def test_optimizers_are_wrapped_and_xla_is_off(compiled: str, after: str) -> None:
    assert after in text(f"{TF}{MODEL}{compiled}\n{FIT}").splitlines()


def test_a_loss_scaling_optimizer_is_wrapped_outside() -> None:
    made = text(f"{TF}{MODEL}opt = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))\n"
                f"model.compile(opt, 'mse')\n{FIT}")  # fmt: skip
    assert (
        "hvd.DistributedOptimizer(tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())))\n"
        in made
    )


def test_the_package_keras_gives_its_own_optimizers() -> None:
    made = text("from keras.models import Sequential\nmodel = Sequential([])\n" + COMPILE + FIT)
    assert "hvd.DistributedOptimizer(keras.optimizers.Adam(learning_rate=0.001 * hvd.size()))" in made
    assert "\nimport keras\n" in made


def test_a_users_own_compile_keeps_its_parameters() -> None:
    own = (
        "class Gan(tf.keras.Model):\n    def compile(self, d_opt):\n        super().compile()\n        self.d_opt = d_opt\n"
        "    def train_step(self, data):\n        with tf.GradientTape() as tape:\n            loss = self(data)\n"
        "        g = tape.gradient(loss, self.trainable_variables)\n"
        "        self.d_opt.apply_gradients(zip(g, self.trainable_variables))\n        return {}\n"
        "gan = Gan()\ngan.compile(d_opt=tf.keras.optimizers.Adam(0.1))\ngan.fit(x)\n"
    )
    assert "gan.compile(d_opt=tf.keras.optimizers.Adam(0.1 * hvd.size()))\n" in text(TF + own)


def test_loops_around_a_tape_ask_for_variables_as_keras_3_has_them() -> None:
    made = text(TAPE)
    assert "import horovod_keras3 as hvd\n" in made
    assert "hvd.broadcast_variables([*model.variables, *opt.variables], root_rank=0)" in made
    assert "opt.variables()" in plan_of(TAPE).text


def test_apply_of_keras_3_is_a_step_as_apply_gradients_is() -> None:
    old, new = "opt.apply_gradients(zip(", "opt.apply("
    pairs, apart = "), model.trainable_variables))", "), model.trainable_variables)"
    assert text(TAPE.replace(old, new).replace(pairs, apart)) == text(TAPE).replace(old, new).replace(
        pairs, apart
    )


def test_other_things_that_are_applied_are_no_steps() -> None:
    clipped = TAPE.replace(
        "zip(tape.gradient(loss, model.trainable_variables)", "zip(clip.apply(tape.gradient(loss, [w])[0])"
    )
    assert text(clipped).count("*opt.variables], root_rank=0)") == 1
    more = "rows = frame.apply(clean)\ntable.apply(lambda row: row, axis=1)\nmodel.apply(x, model.trainable_variables)\n"
    assert text(TAPE + more) == text(TAPE) + more


def test_an_apply_of_an_optimizers_class_is_a_step_as_well() -> None:
    made = TAPE.replace("opt = tf.keras.optimizers.SGD(0.1)", "opt = Own(0.1)")
    assert made != TAPE
    own = "class Own(tf.keras.optimizers.SGD):\n    def apply(self, grads, variables=None):\n"
    made = made.replace("opt = Own", own + "        return super().apply(grads, variables)\n\n\nopt = Own")
    old, pairs = "opt.apply_gradients(zip(", "), model.trainable_variables))"
    made = made.replace(old, "opt.apply(").replace(pairs, "), model.trainable_variables)")
    assert "*opt.variables], root_rank=0)" in text(made)


def test_train_on_batch_does_so_too() -> None:
    made = text(TF + MODEL + COMPILE + "for x, y in data:\n    model.train_on_batch(x, y)\n")
    assert "hvd.broadcast_variables([*model.variables, *model.optimizer.variables], root_rank=0)" in made
    assert "jit_compile=False" in made


@pytest.mark.parametrize("optimizer", ["tf.optimizers.SGD(0.1)", "{'sgd': tf.optimizers.SGD}[name](0.1)"])
def test_keras_by_its_short_names_is_keras(optimizer: str) -> None:
    made = plan(OWN_WEIGHT.replace(HAND, OPTIMIZER).replace("SET = 0", f"opt = {optimizer}"), "2.17")
    assert "import horovod_keras3 as hvd\n" in made.text
    assert "hvd.broadcast_variables(" in made.text


@pytest.mark.parametrize("source", [SESSION, OWN_WEIGHT], ids=["a session", "no Keras"])
def test_without_keras_horovod_is_horovods(source: str) -> None:
    made = plan(source, "2.17")
    assert "import horovod.tensorflow as hvd\n" in made.text
    assert not made.beside


def test_a_script_that_has_our_module_is_distributed_already() -> None:
    made = text(KERAS)
    again = distribute(summarize(Document(made)), Options(tensorflow="2.17"))
    assert type(again).__name__ == "Unchanged"


# ---------------------------------------------------------------------- what can't be


@pytest.mark.parametrize(
    "fitted", ["model.fit_generator(data, 9)\n", "model.fit(x)\nmodel.optimizer.minimize(lambda: w, [w])\n"]
)
def test_what_keras_3_does_not_have_is_refused(fitted: str) -> None:
    result = distribute(summarize(Document(TF + MODEL + COMPILE + fitted)), Options(tensorflow="2.17"))
    assert isinstance(result, Refusal)
    assert {r.code for r in result.reasons} == {"HVD902"}
    plan_of(TF + MODEL + COMPILE + "model.fit_generator(data, 9)\n")


def test_legacy_keras_is_given_its_own_backend() -> None:
    made = text(LEGACY + KERAS)
    assert "import horovod.tensorflow.keras as hvd\n" in made
    assert (
        f"\nassert not hasattr(tf.keras, 'ops'), {STOP}" in made
    )  # the variable may have been set too late, or overridden
    assert "\nhvd.callbacks.K = tf.keras.backend\n" in made


def test_the_package_tf_keras_alone_is_refused() -> None:
    refused(KERAS.replace(TF, "import tf_keras\n").replace("tf.", "tf_"), "HVD902", "another than `tf_keras`")


# ---------------------------------------------------------------------- default rates


@pytest.mark.parametrize("made", ["'lion'", "tf.keras.optimizers.Lion()"])
@pytest.mark.parametrize(
    ("tensorflow", "rate"), [("2.15", "0.0001"), ("2.17", "0.001"), ("", "0.0001")]
)  # of unknown versions: it stops under Keras 3
def test_a_rate_that_nobody_gives_is_that_of_the_keras_that_trains(
    made: str, tensorflow: str, rate: str
) -> None:
    source = KERAS.replace("'adam'", made)
    assert f"Lion(learning_rate={rate} * hvd.size())" in text(source, tensorflow)
    assert tensorflow or STOP in text(source, tensorflow)


def test_legacy_keras_has_its_own_default_rate() -> None:
    made = text(LEGACY + KERAS.replace("'adam'", "'lion'"))
    assert "Lion(learning_rate=0.0001 * hvd.size())" in made


def test_an_optimizer_that_only_keras_3_has_is_given_its_own_rate() -> None:
    made = text(KERAS.replace("'adam'", "tf.keras.optimizers.ScheduleFreeAdamW()"))
    assert "ScheduleFreeAdamW(learning_rate=0.0025 * hvd.size())" in made


SEQUENCE = TF + (
    "class Rows(tf.keras.utils.Sequence):\n"
    "    def __len__(self):\n        return 9\n"
    "    def __getitem__(self, i):\n        return x[i], y[i]\n"
    "{}" + MODEL + COMPILE + "model.fit(Rows(workers=4))\n"
)
BEGINS = "    def on_epoch_begin(self):\n        self.order = 0\n"


def test_a_share_of_a_sequence_reads_with_as_many_workers_and_hears_of_epochs() -> None:
    workers = "super().__init__(sequence.workers, sequence.use_multiprocessing, sequence.max_queue_size)"
    begun = "    def on_epoch_begin(self):\n        self.sequence.on_epoch_begin()\n"
    assert workers in text(SEQUENCE.format(""))
    assert begun not in text(SEQUENCE.format(""))
    assert workers in text(SEQUENCE.format(BEGINS))
    assert begun in text(SEQUENCE.format(BEGINS))
    assert begun not in text(SEQUENCE.format(BEGINS), "2.15")


def test_a_model_that_comes_compiled_and_is_compiled_again_later_averages_from_the_first_fit_on() -> None:
    source = (
        "import keras\nimport keras_nlp\nmodel = keras_nlp.models.BertClassifier.from_preset('tiny', num_classes=3)\n"
        "model.fit(x, y)\nmodel.compile(keras.optimizers.Adam(5e-5), 'mse')\nmodel.fit(x, y)\n"
    )
    plan = distribute(summarize(Document(source)), Options(tensorflow="2.17"))
    assert isinstance(plan, Plan)
    wrapped = plan.text.index("model.optimizer = hvd.DistributedOptimizer(model.optimizer)")
    assert (
        wrapped < plan.text.index("model.fit(") < plan.text.index("model.compile(hvd.DistributedOptimizer(")
    )
    assert plan.text.count("hvd.DistributedOptimizer(") == 2
    assert any("compiled in another file" in c.doubt for c in plan.changes)


ENDLESS = """\
import keras
import tensorflow as tf
AT_ONCE = 40
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse", steps_per_execution={at_once})
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8), epochs=2{steps})
"""


@pytest.mark.parametrize("at_once", ["40", "AT_ONCE"])
def test_as_many_steps_are_taken_at_once_as_a_ranks_epoch_has(at_once: str) -> None:
    """Of 40 steps at once and 20 in an epoch of one of two ranks, Keras 3 takes 40."""
    source = ENDLESS.format(at_once=at_once, steps=", steps_per_epoch=40")
    text = plan_of(source, tensorflow="2.21").text
    assert f"steps_per_execution=max(1, {at_once} // hvd.size())" in text or (
        "AT_ONCE = max(1, 40 // hvd.size())" in text
    )


@pytest.mark.parametrize(
    ("at_once", "steps", "tensorflow"),
    [
        ("40", "", "2.21"),
        ("1", ", steps_per_epoch=40", "2.21"),
        ('"auto"', ", steps_per_epoch=40", "2.21"),
        ("40", ", steps_per_epoch=40", "2.15"),
    ],
)
def test_steps_at_once_that_can_stay_do(at_once: str, steps: str, tensorflow: str) -> None:
    text = plan_of(ENDLESS.format(at_once=at_once, steps=steps), tensorflow=tensorflow).text
    assert f"steps_per_execution={at_once}" in text


COUNTING = """\
class Counts(keras.callbacks.Callback):
    n = 0
    def {hook}(self, batch, logs=None):
        {line}
        if self.n % 10 == 0:
            self.model.save_weights("a.weights.h5")
"""


@pytest.mark.parametrize(
    ("hook", "line", "at_once", "asked"),
    [
        ("on_train_batch_end", "self.n += 1", "40", True),
        ("on_train_batch_begin", "self.n += 1", "40", True),
        ("on_train_batch_end", "self.n += 1", "1", False),
        ("on_epoch_end", "self.n += 1", "40", False),
        ("on_train_batch_end", "self.n = batch", "40", False),
    ],
)
def test_calls_that_are_counted_beside_steps_at_once_are_asked_about(
    hook: str, line: str, at_once: str, asked: bool
) -> None:
    """A callback is called as often as before: what went by its own count came twice as often on two ranks."""
    source = ENDLESS.format(at_once=at_once, steps=", steps_per_epoch=40, callbacks=[Counts()]")
    source = source.replace("AT_ONCE = 40\n", COUNTING.format(hook=hook, line=line))
    doubts = [c.doubt or "" for c in plan_of(source, tensorflow="2.21").to_confirm]
    assert any("calls this once for `steps_per_execution`" in d for d in doubts) is asked
