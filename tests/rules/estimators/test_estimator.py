"""E1: an Estimator's directory, configuration, hooks, steps, optimizers and input."""

from __future__ import annotations

import pytest

from horovodize.rules.resuming.restored_iterations import STORED

from ..pairs import changes, check, doubts, only, plan_of, refused, untouched

WAIT = "    waiting.run(hvd.allreduce(tf.random_uniform([]), name='saved'))"

MODEL = (
    "import tensorflow as tf\n"
    "def model_fn(features, labels, mode):\n"
    "    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features['x'], 1))\n"
    "    op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())\n"
    "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)\n"
)
CANNED = "import tensorflow.compat.v1 as tf\n"
MADE = "e = tf.estimator.Estimator(model_fn)\n"
B = "hvd.BroadcastGlobalVariablesHook(0)"
RUN = f"e.train(f, hooks=[{B}])\n"
CONFIG = "tf.estimator.RunConfig(session_config=config)"
ROOT = "if hvd.rank() == 0 else None"


# ---------------------------------------------------------------------- construction


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.estimator.Estimator(model_fn)", f"tf.estimator.Estimator(model_fn, config={CONFIG})"),
        ("tf.estimator.Estimator(model_fn, 'd')", f"tf.estimator.Estimator(model_fn, 'd' {ROOT}, config={CONFIG})"),
        ("tf.estimator.Estimator(model_fn, model_dir=args.d, params={})",
         f"tf.estimator.Estimator(model_fn, model_dir=args.d {ROOT}, params={{}}, config={CONFIG})"),
        ("tf.estimator.Estimator(model_fn, None, None)", f"tf.estimator.Estimator(model_fn, None, {CONFIG})"),
        ("tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig())",
         f"tf.estimator.Estimator(model_fn, config={CONFIG})"),
        ("tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig('d', 3))",
         f"tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig('d' {ROOT}, 3, session_config=config))"),
        ("tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig(session_config=tf.ConfigProto()))",
         "tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig(session_config=tf.ConfigProto("
         "gpu_options=tf.GPUOptions(visible_device_list=str(hvd.local_rank())))))"),
        ("tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig().replace(model_dir='d'))",
         f"tf.estimator.Estimator(model_fn, config={CONFIG}.replace(model_dir='d' {ROOT}))"),
        ("tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig('d').replace(session_config=tf.ConfigProto()))",
         f"tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig('d' {ROOT}).replace(session_config=tf.ConfigProto("
         "gpu_options=tf.GPUOptions(visible_device_list=str(hvd.local_rank())))))"),
        ("tf.estimator.Estimator(model_fn, config=args.config.replace(model_dir='d'))",
         f"tf.estimator.Estimator(model_fn, config=args.config.replace(model_dir='d' {ROOT}).replace(session_config=config))"),
        ("tf.estimator.Estimator(model_fn, config=args.config)",
         "tf.estimator.Estimator(model_fn, config=args.config.replace(session_config=config))"),
    ],
)  # fmt: skip
def test_an_estimator_has_its_own_directory_and_gpu(before: str, after: str) -> None:
    plan = plan_of(MODEL + f"e = {before}\ne.train(f)\n")
    assert only(plan, "E1", "S3") == MODEL + f"e = {after}\n{RUN}"


def test_a_config_of_another_file_is_asked_about() -> None:
    plan = plan_of(
        MODEL + "from m import config\ne = tf.estimator.Estimator(model_fn, config=config)\ne.train(f)\n"
    )
    assert ["can't be seen" in doubt for doubt in doubts(plan, "S3")] == [True]
    assert "config=config.replace(session_config=hvd_config)" in plan.text


def test_tensorflow_2_makes_its_config_by_the_compatible_name() -> None:
    model = MODEL.replace("tf.train", "tf.compat.v1.train").replace("tf.l", "tf.compat.v1.l")
    text = plan_of(model + MADE + "e.train(f)\n").text
    assert "\nconfig = tf.compat.v1.ConfigProto()\n" in text
    text = plan_of(MODEL + MADE + "e.train(f)\n").text
    assert "\nconfig = tf.ConfigProto(gpu_options=tf.GPUOptions(" in text


def test_an_estimator_that_only_predicts_is_left_alone() -> None:
    other = "other = tf.estimator.Estimator(model_fn, 'd')\nother.predict(f)\n"
    text = plan_of(MODEL + MADE + "e.train(f)\n" + other).text
    assert text.endswith(other)


def test_a_function_of_another_module_is_no_estimator() -> None:
    text = plan_of("import trainer\n" + MODEL + "trainer.train(3)\n" + MADE + "e.train(f)\n").text
    assert "trainer.train(3)\n" in text


def test_a_trainer_of_ones_own_is_no_estimator() -> None:
    own = "class Trainer:\n    def train(self, x):\n        self.x = x\nTrainer().train(3)\n"
    text = plan_of(MODEL + own + MADE + "e.train(f)\n").text
    assert "Trainer().train(3)\n" in text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("class Mine(tf.estimator.Estimator):\n    pass\ne = Mine(model_fn)\ne.train(f)\n", "derived from Estimator"),
        ("from m import other\ne = tf.estimator.Estimator(other)\ne.train(f)\n", "not in this file"),
        ("e = tf.estimator.Estimator(model_fn, *rest)\ne.train(f)\n", "give `model_dir=…`"),
        ("def other(x):\n    return make(x)\ne = tf.estimator.Estimator(other)\ne.train(f)\n", "calls no `minimize`"),
        ("def other(features, labels, mode):\n    model_fn(features, labels, mode)\n"
         "    return tf.estimator.EstimatorSpec(mode, train_op=apply(loss))\n"
         "e = tf.estimator.Estimator(other)\ne.train(f)\n", "can't be followed"),
        ("e = tf.estimator.Estimator(model_fn)\ne.train(f, *rest)\n", "may pass hooks"),
        ("from m import e\ne.train(input_fn=f)\n", "this Estimator is made in another"),
        ("from m import e\ne.train(f)\n", "is trained in another file"),
        ("e = tf.estimator.Estimator(model_fn, config=a if b else c)\ne.train(f)\n", "give it a name"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(source: str, said: str) -> None:
    refused(MODEL + source, "HVD006", said)


def test_a_keras_optimizer_in_a_graph_is_refused() -> None:
    model = MODEL.replace("tf.train.AdamOptimizer", "tf.keras.optimizers.Adam")
    refused(model + MADE + "e.train(f)\n", "HVD006", "Keras optimizer")


@pytest.mark.parametrize(
    "function",
    [
        "functools.partial(model_fn, params=p)",
        "lambda features, labels, mode: model_fn(features, labels, mode)",
        "make()",
        "C().model_fn",
    ],
)
def test_model_functions_are_followed(function: str) -> None:
    plan_of(
        "import functools\n"
        + MODEL
        + "def make():\n    def inner(f, l, mode):\n        return model_fn(f, l, mode)\n"
        "    return inner\nclass C:\n    def model_fn(self, f, l, mode):\n        return model_fn(f, l, mode)\n"
        f"e = tf.estimator.Estimator({function})\ne.train(f)\n"
    )


@pytest.mark.parametrize(
    "assigned",
    [
        "train_op=op",
        "train_op=tf.group(op, other)",
        "train_op=op if mode == 'train' else None",
        "train_op=None",
    ],
)
def test_a_train_op_that_is_seen_is_accepted(assigned: str) -> None:
    plan_of(MODEL.replace("train_op=op", assigned) + MADE + "e.train(f)\n")


# ---------------------------------------------------------------------- training


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("e.train(f)", f"e.train(f, hooks=[{B}])"),
        ("e.train(input_fn=f, hooks=None)", f"e.train(input_fn=f, hooks=[{B}])"),
        ("e.train(f, [h])", f"e.train(f, [{B}, h])"),
        ("e.train(f, steps=1000)", f"e.train(f, steps=1000 // hvd.size(), hooks=[{B}])"),
        ("e.train(f, [h], 50)", f"e.train(f, [{B}, h], max(1, 50 // hvd.size()))"),
        ("e.train(f, max_steps=n)", f"e.train(f, max_steps=max(1, n // hvd.size()), hooks=[{B}])"),
        ("e.train(f, steps=None)", f"e.train(f, steps=None, hooks=[{B}])"),
        ("for _ in range(5):\n    e.train(f, steps=900)\n    e.evaluate(g)",
         f"for _ in range(5):\n    e.train(f, steps=900 // hvd.size(), hooks=[{B}])\n    e.evaluate(g)"),
        ("e.train(f, hooks=[tf.train.LoggingTensorHook(['a'], 9)])",
         f"e.train(f, hooks=[{B}, *([tf.train.LoggingTensorHook(['a'], 9)] if hvd.rank() == 0 else [])])"),
    ],
)  # fmt: skip
def test_training_broadcasts_first_and_takes_its_share(before: str, after: str) -> None:
    made = f"e = tf.estimator.Estimator(model_fn, config={CONFIG})\n"
    plan = plan_of(MODEL + MADE + before + "\n")
    assert only(plan, "E1", "S3") == MODEL + made + after + "\n"


def test_steps_are_whole_when_data_is_not_split() -> None:
    source = MODEL + MADE + "e.train(tf.estimator.inputs.numpy_input_fn(x, y), steps=900)\n"
    text = only(plan_of(source, split_data=False), "E1")
    assert text == source.replace("steps=900", f"steps=900, hooks=[{B}]")


@pytest.mark.parametrize(
    ("made", "steps", "told"),
    [
        ("model_fn, 'd'", "max_steps=900", True),
        ("model_fn, config=tf.estimator.RunConfig('d')", "max_steps=900", True),
        ("model_fn", "max_steps=900", False),
        ("model_fn, 'd'", "steps=900", False),
    ],
)
def test_max_steps_of_a_finished_run_are_told(made: str, steps: str, told: bool) -> None:
    plan = plan_of(MODEL + f"e = tf.estimator.Estimator({made})\ne.train(f, {steps})\n")
    assert any("`max_steps` already" in n.message for n in plan.notes) is told


def test_writing_hooks_of_a_spec_stay_on_rank_0() -> None:
    hooks = "train_op=op, training_hooks=[tf.train.NanTensorHook(loss), {}], evaluation_hooks=[{}])"
    hook = "tf.train.SummarySaverHook(9, output_dir='d')"
    model = MODEL.replace("train_op=op)", hooks.format(hook, hook))
    kept = f"*([{hook}] if hvd.rank() == 0 else [])"
    assert hooks.format(kept, kept) in plan_of(model + MADE + "e.train(f)\n").text


def test_evaluation_runs_on_every_rank_and_exports_on_one() -> None:
    plan = plan_of(MODEL + MADE + "e.train(f)\nprint(e.evaluate(g))\ne.export_saved_model('d', r)\n")
    assert plan.text.endswith(
        "evaluation = e.evaluate(g)\nif hvd.rank() == 0:\n    print(evaluation)\n    e.export_saved_model('d', r)\n"
    )


@pytest.mark.parametrize(
    ("directory", "reads", "waits"),
    [
        ("args.d", "p = tf.train.latest_checkpoint(args.d)", True),
        ("'d'", "p = tf.train.load_variable('d', 'w')", True),
        ("args.d", "p = tf.train.latest_checkpoint(args.other)", False),
        ("args.d", "p = e.latest_checkpoint()", False),
        ("None", "p = tf.train.latest_checkpoint('d')", False),
    ],
)
def test_ranks_wait_for_the_checkpoint_that_rank_0_saves(directory: str, reads: str, waits: bool) -> None:
    plan = plan_of(MODEL + f"e = tf.estimator.Estimator(model_fn, {directory})\ne.train(f)\n{reads}\n")
    assert plan.text.endswith((f"{WAIT}\n" if waits else f"hooks=[{B}])\n") + reads + "\n")


# ---------------------------------------------------------------------- training that evaluates

BOTH = "tf.estimator.train_and_evaluate(e, a, tf.estimator.EvalSpec(g))\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.estimator.TrainSpec(f)", f"tf.estimator.TrainSpec(f, hooks=[{B}])"),
        ("tf.estimator.TrainSpec(f, 100)", f"tf.estimator.TrainSpec(f, 100 // hvd.size(), hooks=[{B}])"),
        ("tf.estimator.TrainSpec(f, 100, [mine])", f"tf.estimator.TrainSpec(f, 100 // hvd.size(), [{B}, mine])"),
        ("tf.estimator.TrainSpec(input_fn=f, max_steps=n)",
         f"tf.estimator.TrainSpec(input_fn=f, max_steps=max(1, n // hvd.size()), hooks=[{B}])"),
    ],
)  # fmt: skip
def test_what_is_trained_and_evaluated_is_said_by_its_spec(before: str, after: str) -> None:
    plan = plan_of(MODEL + MADE + f"a = {before}\n" + BOTH)
    assert only(plan, "E1") == MODEL + MADE + f"a = {after}\n" + BOTH


def test_a_spec_that_is_trained_twice_is_divided_once() -> None:
    spec = "a = tf.estimator.TrainSpec(f, max_steps=100)\n"
    plan = plan_of(MODEL + MADE + spec + BOTH + BOTH)
    assert plan.text.count("100 // hvd.size()") == plan.text.count(B) == 1


def test_a_function_may_make_the_spec() -> None:
    made = "def spec(n):\n    return tf.estimator.TrainSpec(f, max_steps=n)\n"
    plan = plan_of(MODEL + MADE + made + BOTH.replace(" a,", " spec(500),"))
    assert f"TrainSpec(f, max_steps=n // hvd.size(), hooks=[{B}])" in plan.text


def test_what_an_evaluation_gets_is_not_divided() -> None:
    rows = "def rows():\n    return tf.data.Dataset.range(99).batch(3)\n"
    spec = "a = tf.estimator.TrainSpec(rows, 100)\n"
    text = plan_of(MODEL + rows + rows.replace("rows", "g") + MADE + spec + BOTH).text
    assert text.count("shard(hvd.size(), hvd.rank())") == 1
    assert "def g():\n    return tf.data.Dataset.range(99).batch(3)\n" in text


def test_steps_of_a_configuration_that_is_replaced_are_divided() -> None:
    config = "c = tf.estimator.RunConfig()\nc = c.replace(save_checkpoints_steps=100)\n"
    rows = "def f():\n    return tf.data.Dataset.range(99).repeat().batch(3)\n"
    plan = plan_of(MODEL + rows + config + MADE.replace(")", ", config=c)") + "e.train(f, steps=1000)\n")
    assert "c.replace(save_checkpoints_steps=max(1, 100 // hvd.size()))" in plan.text


# ---------------------------------------------------------------------- canned Estimators


@pytest.mark.parametrize(
    ("before", "made"),
    [
        ("DNNClassifier([8], c", "optimizer={}AdagradOptimizer(0.05"),
        ("DNNRegressor([8], c, optimizer='Adam'", "optimizer={}AdamOptimizer(0.05"),
        ("LinearClassifier(c", "optimizer={}FtrlOptimizer(0.2"),
        ("LinearRegressor(c, optimizer='SGD'", "optimizer={}GradientDescentOptimizer(0.2"),
        ("DNNLinearCombinedClassifier(linear_feature_columns=c, dnn_optimizer='RMSProp'",
         "dnn_optimizer={}RMSPropOptimizer(0.001"),
        ("DNNLinearCombinedRegressor(linear_feature_columns=c", "linear_optimizer={}FtrlOptimizer(0.005"),
        ("DNNLinearCombinedRegressor(linear_feature_columns=c", "dnn_optimizer={}AdagradOptimizer(0.001"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "head", ["import tensorflow.compat.v1 as tf\n", "import tensorflow as tf\ntf.logging.info('a')\n"]
)
def test_an_optimizer_that_an_estimator_makes_by_itself_is_written_out(
    head: str, before: str, made: str
) -> None:
    plan = plan_of(f"{head}e = tf.estimator.{before})\ne.train(f)\n")
    assert made.format("hvd.DistributedOptimizer(tf.train.") + " * hvd.size()))" in plan.text


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow as tf\ne = tf.estimator.DNNClassifier([8], c)\n",  # TensorFlow 2's takes one of Keras
        "import tensorflow.compat.v1 as tf\ne = tf.estimator.DNNClassifier([8], c, optimizer='Nadam')\n",
        "import tensorflow.compat.v1 as tf\ne = tf.estimator.DNNClassifier([8], c, **options)\n",
    ],
)
def test_an_optimizer_of_which_nothing_is_known_is_not_written_out(source: str) -> None:
    refused(source + "e.train(f)\n", "HVD202", "can't be wrapped")


ADAM = "tf.train.AdamOptimizer(0.1)"
SCALED = "hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"e = tf.estimator.DNNClassifier([8], c, optimizer={ADAM})",
         f"e = tf.estimator.DNNClassifier([8], c, optimizer={SCALED})"),
        (f"e = tf.estimator.LinearRegressor(c, optimizer=lambda: {ADAM})",
         f"e = tf.estimator.LinearRegressor(c, optimizer=lambda: {SCALED})"),
        (f"e = tf.estimator.DNNLinearCombinedClassifier(linear_optimizer={ADAM}, dnn_optimizer={ADAM})",
         f"e = tf.estimator.DNNLinearCombinedClassifier(linear_optimizer={SCALED}, dnn_optimizer={SCALED})"),
        (f"o = {ADAM}\ne = tf.estimator.DNNRegressor([8], c, optimizer=o)",
         f"o = {SCALED}\n"
         "e = tf.estimator.DNNRegressor([8], c, optimizer=o)"),
    ],
)  # fmt: skip
def test_the_optimizer_of_a_canned_estimator_is_wrapped(before: str, after: str) -> None:
    head = CANNED + "def f():\n    return tf.data.Dataset.range(9)\n"
    plan = plan_of(head + before + "\ne.train(f)\n")
    done = only(plan, "E1", "C5")
    assert done == head + after + f"\n{RUN}"


def test_the_directory_of_a_canned_estimator_is_rank_0s() -> None:
    made = f"e = tf.estimator.DNNClassifier([8], c, 'd', optimizer={ADAM})\n"
    assert f"DNNClassifier([8], c, 'd' {ROOT}, optimizer=" in plan_of(CANNED + made + "e.train(f)\n").text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import tensorflow as t\ne = t.estimator.DNNClassifier([8], c)\ne.train(f)\n", "default optimizer"),
        ("import tensorflow as t\ne = t.estimator.DNNClassifier([8], c, optimizer='Adam')\ne.train(f)\n", "can't be wrapped"),
        ("e = tf.estimator.DNNClassifier([8], c, optimizer=tf.keras.optimizers.Adam())\ne.train(f)\n", "can't be wrapped"),
        (f"import tensorflow as t\ne = t.estimator.DNNLinearCombinedRegressor(dnn_optimizer={ADAM})\ne.train(f)\n",
         "`linear_optimizer="),
        ("e = tf.estimator.BoostedTreesClassifier(c, 3)\ne.train(f)\n", "takes no optimizer"),
        ("e = tf.estimator.BaselineClassifier()\ne.train(f)\n", "takes no optimizer"),
        ("e = tf.keras.estimator.model_to_estimator(m, config=tf.estimator.RunConfig())\ne.train(f)\n", "Keras model"),
        (f"e = tf.estimator.DNNClassifier([8], c, optimizer={ADAM})\ntf.estimator.train_and_evaluate(e, a, b)\n",
         "`TrainSpec` is made"),
        (f"e = tf.estimator.DNNClassifier([8], c, optimizer={ADAM})\na = tf.estimator.TrainSpec(f, max_steps=9)\n"
         "tf.estimator.train_and_evaluate(e, a._replace(max_steps=8), b)\n", "`TrainSpec` is made"),
        (f"e = tf.estimator.DNNClassifier([8], c, optimizer={ADAM})\na = tf.estimator.TrainSpec(f, **options)\n"
         "tf.estimator.train_and_evaluate(e, a, b)\n", "`TrainSpec` is made"),
        ("e = tf.contrib.learn.DNNClassifier([8], c)\ne.fit(x, y)\n", "tf.contrib.learn"),
        (f"import os\nos.environ['TF_CONFIG'] = '1'\ne = tf.estimator.DNNClassifier([8], c, optimizer={ADAM})\ne.train(f)\n",
         "names servers"),
        (f"e = tf.estimator.DNNClassifier([8], c, optimizer={ADAM})\ne.train(f)\nm = tf.keras.Sequential([])\n"
         "m.compile('sgd')\nm.fit(x, y)\n", "files of their own"),
    ],
)  # fmt: skip
def test_estimators_that_cannot_be_distributed_are_refused(source: str, said: str) -> None:
    refused(CANNED + source, "HVD202", said)


# ---------------------------------------------------------------------- input


FILLED = "ds = ds.concatenate(ds.repeat().take(hvd.rank())).shard(hvd.size(), hvd.rank())"


def shares(source: str, **options: bool) -> list[str]:
    """The lines after the head that divide something."""
    text = plan_of(MODEL + MADE + source, **options).text
    return [line.strip() for line in text[text.index("e = tf.est") :].splitlines() if "shard" in line]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("i = tf.estimator.inputs.numpy_input_fn({'x': a}, b, shuffle=True)\n",
         ["i = tf.estimator.inputs.numpy_input_fn({'x': shard(a)}, shard(b), shuffle=True)"]),
        ("i = tf.estimator.inputs.numpy_input_fn(x=dict(a=a), y=None)\n",
         ["i = tf.estimator.inputs.numpy_input_fn(x={key: shard(part) for key, part in dict(a=a).items()}, y=None)"]),
        ("i = tf.compat.v1.estimator.inputs.pandas_input_fn(x=frame, y=labels)\n",
         ["i = tf.compat.v1.estimator.inputs.pandas_input_fn(x=shard(frame), y=shard(labels))"]),
        ("def i():\n    ds = tf.data.Dataset.from_tensor_slices(a)\n    return ds.shuffle(9).batch(3)\n",
         [FILLED]),
        ("i = lambda: tf.data.TFRecordDataset(files).map(parse).batch(3)\n",
         ["i = lambda: shard_records(tf.data.TFRecordDataset(files)).map(parse).batch(3)"]),
        ("def i():\n    ds = tf.data.Dataset.range(9).batch(3)\n    return ds.make_one_shot_iterator().get_next()\n",
         ["ds = shard_records(tf.data.Dataset.range(9)).batch(3)"]),
        ("def i():\n    ds = tf.data.Dataset.range(9).filter(g)\n    it = tf.compat.v1.data.make_one_shot_iterator(ds)\n"
         "    return it.get_next()\n",
         [FILLED]),
    ],
)  # fmt: skip
def test_every_rank_trains_on_its_own_part(before: str, after: list[str]) -> None:
    assert shares(before + "e.train(i)\n") == after
    assert shares(before + "e.train(i)\n", split_data=False) == []


def test_what_is_evaluated_stays_whole() -> None:
    both = (
        "def {0}():\n    ds = tf.data.Dataset.range(9)\n    return ds.make_one_shot_iterator().get_next()\n"
    )
    source = both.format("one") + both.format("other") + "e.train(one)\ne.evaluate(other)\n"
    assert shares(source) == [FILLED]
    plan = plan_of(MODEL + MADE + source)
    assert plan.text.index(FILLED) < plan.text.index("def other")


def test_a_function_for_training_and_evaluation_divides_for_the_call_that_trains() -> None:
    source = (
        "def i(training):\n    ds = tf.data.Dataset.from_tensor_slices(a)\n"
        "    return ds.shuffle(9).batch(3) if training else ds.batch(3)\n"
        "e.train(lambda: i(True))\ne.evaluate(lambda: i(False))\n"
    )
    assert shares(source) == [f"e.train(lambda: i(True, share=shard_records), hooks=[{B}])"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "i = tf.estimator.inputs.numpy_input_fn(a, b)\ne.train(i)\ne.evaluate(i)\n",
            "every rank trains on all of it",
        ),
        ("e.train(tf.compat.v1.estimator.inputs.pandas_input_fn(f, f.pop('y')))\n", "changed while"),
        ("from m import i\ne.train(i)\n", "can't be seen what this input function gives"),
    ],
)
def test_what_is_not_divided_is_told(source: str, said: str) -> None:
    plan = plan_of(MODEL + MADE + source)
    assert [said in n.message for n in plan.notes if n.rule == "E1"] == [True]
    assert "shard" not in plan.text


@pytest.mark.parametrize(
    "source",
    [
        "i = tf.estimator.inputs.numpy_input_fn(a, b)\ne.train(i, steps=9)\ne.evaluate(i)\n",
        "def i():\n    return read(), labels()\ne.train(i, steps=9)\n",
        "def make(rows, training):\n    def i():\n        ds = tf.data.Dataset.from_tensor_slices(rows)\n"
        "        return ds.shuffle(9, seed=1).batch(3) if training else ds.batch(3)\n    return i\n"
        "i = make(a, True)\ne.train(i, steps=9)\ne.evaluate(i)\ne.evaluate(make(b, False))\n",
    ],
)
def test_steps_that_are_divided_and_may_see_the_same_batches_on_all_ranks_are_asked_about(
    source: str,
) -> None:
    """It was a note, while the rate had grown for batches of size() ranks."""
    asked = [
        change.doubt
        for change in plan_of(MODEL + MADE + source).changes
        if change.rule == "E1" and change.doubt
    ]
    assert len(asked) == 1
    assert "every rank gets the same batches" in asked[0]


def test_arrays_that_may_be_a_dict_are_asked_about() -> None:
    plan = plan_of(MODEL + MADE + "from m import a, b\ne.train(tf.estimator.inputs.numpy_input_fn(a, b))\n")
    assert ["dict of several" in doubt for doubt in doubts(plan, "E1")] == [True]


def test_a_session_that_looks_at_data_is_not_training() -> None:
    look = (
        "with tf.Session() as s:\n    s.run(tf.data.Dataset.range(9).make_one_shot_iterator().get_next())\n"
    )
    assert shares(look + "e.train(f)\n") == []
    plan = plan_of(MODEL + look + MADE + "e.train(f)\n")
    assert changes(plan, "D1") == []


def test_keras_programs_have_no_estimators() -> None:
    untouched(
        "E1",
        "import tensorflow as tf\nm = tf.keras.Sequential([])\nm.compile('sgd')\nm.fit(x, y)\nm.train(f)\n",
    )


def test_hooks_of_an_estimator_are_checked_with_it() -> None:
    check(
        "M3",
        MODEL + MADE,
        "h = tf.train.StopAtStepHook(last_step=900)",
        "h = tf.train.StopAtStepHook(last_step=900 // hvd.size())",
        "e.train(f, hooks=[h])\n",
    )


def warmed(train_op: str, **options: bool) -> str:
    """The distributed text of a `model_fn` whose rate warms up by the global step."""
    return plan_of(
        "import tensorflow.compat.v1 as tf\n"
        "def model_fn(features, labels, mode):\n"
        "    loss = tf.losses.mean_squared_error(labels, features)\n"
        "    step = tf.train.get_global_step()\n"
        "    rate = 0.1 * tf.minimum(1.0, tf.cast(step, tf.float32) / 500.0)\n"
        "    opt = tf.train.AdamOptimizer(rate)\n"
        f"    op = {train_op}\n"
        "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)\n"
        "def f():\n"
        "    return tf.data.TFRecordDataset(['a']).map(parse).repeat().batch(64)\n"
        "e = tf.estimator.Estimator(model_fn)\n"
        "e.train(f, steps=3000)\n",
        **options,
    ).text


def test_a_rate_by_the_global_step_is_left_where_data_is_not_split() -> None:
    assert "tf.cast(step, tf.float32) / 500.0" in warmed("opt.minimize(loss, step)", split_data=False)


@pytest.mark.parametrize(
    "train_op",
    [
        "opt.minimize(loss, global_step=step)",
        "opt.minimize(loss, step)",
        "opt.apply_gradients(opt.compute_gradients(loss), step)",
    ],
)
def test_a_rate_by_the_global_step_of_an_estimator_goes_by_all_ranks_steps(train_op: str) -> None:
    assert "tf.cast(step, tf.float32) * hvd.size() / 500.0" in warmed(train_op)


# ---------------------------------------------------------------------- rounds of training that end early

ROUNDS = (
    MODEL
    + MADE
    + "best = 9\nfor k in range(4):\n    e.train(f, steps=40)\n    found = e.evaluate(g)\n{}    best = found['loss']\n"
)


@pytest.mark.parametrize(
    "left",
    [
        "    if found['loss'] > best:\n        break\n",
        "    if found['loss'] > best:\n        print('worse')\n        break\n",
        "    if best < found['loss']:\n        exit()\n",
    ],
)
def test_rounds_end_by_the_mean_of_what_the_ranks_measure(left: str) -> None:
    """Each rank evaluates from a directory of its own, with averages of its own in batch norm: the others waited."""
    text = plan_of(ROUNDS.format(left)).text
    assert "mean_over_ranks(found['loss'])" in text.split("e.evaluate(g)")[1].split(":")[0]
    assert "best = mean_over_ranks(found['loss'])" in text


@pytest.mark.parametrize(
    "body",
    [
        "    if k > 2:\n        break\n",
        "    if found['loss'] > best:\n        e.export_saved_model('m', r)\n",
    ],
)
def test_rounds_that_all_ranks_take_alike_are_left(body: str) -> None:
    assert "mean_over_ranks" not in plan_of(ROUNDS.format(body)).text


# ---------------------------------------------------------------------- iterators of functions that input functions call

CALLED = """\
def read(folder, training):
    d = tf.data.TFRecordDataset(folder).batch(32)
    a, b = d.make_one_shot_iterator().get_next()
    return a, b
"""
LAMBDA = "e.train(lambda: read('d', True))\n"


def test_what_a_called_function_takes_from_its_iterator_is_divided() -> None:
    plan = plan_of(MODEL + CALLED + MADE + LAMBDA)
    assert "shard_records(tf.data.TFRecordDataset(folder))" in plan.text
    assert not [n for n in plan.notes if "can't be seen what" in n.message]


@pytest.mark.parametrize("ended", ["return a, b", "return {'x': a}, b", "return a"])
def test_what_evaluations_take_from_it_too_is_divided_for_the_training(ended: str) -> None:
    called = CALLED.replace("return a, b", ended)
    plan = plan_of(MODEL + called + MADE + LAMBDA + "e.evaluate(lambda: read('t', False))\n")
    assert "def read(folder, training, share=lambda dataset: dataset):" in plan.text
    assert "d = share(tf.data.TFRecordDataset(folder)).batch(32)" in plan.text
    assert "e.train(lambda: read('d', True, share=shard_records), " in plan.text
    assert "e.evaluate(lambda: read('t', False))" in plan.text
    assert "0.1 * hvd.size()" in plan.text
    assert not [n for n in plan.notes if "input function" in n.message]


BUILT = """\
def make(folder, training):
    def read(params):
        d = tf.data.TFRecordDataset(folder)
        if training:
            d = d.repeat().shuffle(9)
        return d.map(parse).batch(params['batch'])
    return read
"""


@pytest.mark.parametrize(
    ("trained", "told"),
    [
        ("e.train(make('d', True), steps=9)\n", "e.train(make('d', True, share=shard_records), "),
        ("i = make('d', True)\ne.train(i, steps=9)\n", "i = make('d', True, share=shard_records)"),
        (
            "i = make('d', True)\ne.train(input_fn=i, max_steps=9)\n",
            "i = make('d', True, share=shard_records)",
        ),
    ],
)
def test_input_functions_that_one_function_makes_for_training_and_evaluation_are_divided_for_the_training(
    trained: str, told: str
) -> None:
    plan = plan_of(MODEL + BUILT + MADE + trained + "v = make('v', False)\ne.evaluate(v)\n")
    assert told in plan.text
    assert "def make(folder, training, share=lambda dataset: dataset):" in plan.text
    assert "d = share(tf.data.TFRecordDataset(folder))" in plan.text
    assert "v = make('v', False)" in plan.text
    assert not [c for c in plan.changes if c.rule == "E1" and c.doubt]


PARTIAL = """\
def read(folder, training=False):
    d = tf.data.TFRecordDataset(folder)
    return d.map(parse).batch(9)
"""


def test_a_function_that_is_given_in_part_is_divided_for_the_training() -> None:
    source = "from functools import partial\ni = partial(read, 'd', True)\ne.train(i)\ne.evaluate(partial(read, 'v'))\n"
    plan = plan_of(MODEL + PARTIAL + MADE + source)
    assert "i = partial(read, 'd', True, share=shard_records)" in plan.text
    assert "e.evaluate(partial(read, 'v'))" in plan.text
    assert "return d.map(parse)" in plan.text


@pytest.mark.parametrize(
    "used",
    [
        "i = make('d', True)\ne.train(i, steps=9)\ne.evaluate(i)\n",  # evaluations get what it makes, too
        "i = make('d', True)\ne.train(i, steps=9)\nother(i)\ne.evaluate(make('v', False))\n",
        "i = make(*both)\ne.train(i, steps=9)\ne.evaluate(make('v', False))\n",
        "i = make('d', True) if quick else make('e', True)\ne.train(i, steps=9)\ne.evaluate(make('v', False))\n",
    ],
)
def test_input_functions_of_which_others_get_something_stay_whole(used: str) -> None:
    plan = plan_of(MODEL + BUILT + MADE + used)
    assert BUILT in plan.text
    assert [c for c in plan.changes if c.rule == "E1" and "not divided" in c.doubt]


def test_what_a_training_and_an_evaluation_call_by_one_function_stays_whole() -> None:
    both = "read2 = lambda: read('d', True)\ne.train(read2)\ne.evaluate(read2)\ne.evaluate(lambda: read('t', False))\n"
    plan = plan_of(MODEL + CALLED + MADE + both)
    assert CALLED in plan.text
    assert [n for n in plan.notes if "not divided" in n.message]


# ---------------------------------------------------------------------- what another script's Estimator runs

UNSEEN_OP = (
    "def other_fn(features, labels, mode):\n"
    "    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features['x'], 1))\n"
    "    op = tf.contrib.gan.gan_train_ops(loss)\n"
    "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(*list(op)))\n"
)


def test_a_model_function_that_no_estimator_here_gets_is_left_alone() -> None:
    """A module has one for each of several scripts."""
    text = plan_of(MODEL + UNSEEN_OP + MADE + "e.train(f)\n").text
    assert "hvd.DistributedOptimizer(" in text
    assert UNSEEN_OP in text


@pytest.mark.parametrize(
    "made",
    [
        "e = tf.estimator.Estimator(other_fn)\n",
        "e = tf.estimator.Estimator(model_fn if flag else other_fn)\n",
        "e = tf.estimator.Estimator(lambda features, labels, mode: other_fn(features, labels, mode))\n",
        "e = tf.estimator.Estimator(functions[name])\n",  # it can't be seen which
        "def model(features, labels, mode):\n    if mode == 'train':\n        return other_fn(features, labels, mode)\n"
        "    return model_fn(features, labels, mode)\ne = tf.estimator.Estimator(model)\n",
        "e = tf.estimator.Estimator(model_fn)\nother = tf.estimator.Estimator(other_fn)\nother.train(g)\n",
    ],
)
def test_one_that_may_run_is_looked_at(made: str) -> None:
    refused(MODEL + UNSEEN_OP + made + "e.train(f)\n", "HVD006")


READ = (
    "def read(path):\n    ds = tf.data.TFRecordDataset(path).map(parse).batch(8).repeat()\n"
    "    return ds.make_one_shot_iterator().get_next()\n"
)
FED = "def {name}():\n    x, y = read('{path}')\n    return {{'x': x}}, {{'y': y}}\n"


def test_what_an_input_function_takes_by_another_one_is_divided() -> None:
    source = MODEL + READ + FED.format(name="f", path="train") + MADE + "e.train(f)\n"
    text = plan_of(source).text
    assert "tf.data.TFRecordDataset(path).shard(hvd.size(), hvd.rank()).map(parse)" in text
    assert "AdamOptimizer(0.1 * hvd.size())" in text


@pytest.mark.parametrize("used", ["e.evaluate({name})\n", "print({name}())\n", "x, y = read('rows')\n"])
def test_what_an_evaluation_takes_by_it_too_stays_whole(used: str) -> None:
    both = FED.format(name="f", path="train") + FED.format(name="g", path="test")
    plan = plan_of(MODEL + READ + both + MADE + "e.train(f)\n" + used.format(name="g"))
    assert ".shard(" not in plan.text
    assert "AdamOptimizer(0.1)" in plan.text
    assert any("it can't be seen what this input function gives" in n.message for n in plan.notes)


COUNTING = """\
import tensorflow.compat.v1 as tf
def model_fn(features, labels, mode):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1))
    op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)
def rows():
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)
est = tf.estimator.Estimator(model_fn, model_dir="m")
"""


@pytest.mark.parametrize(
    ("rounds", "divided"),
    [
        (
            "n = 0\nwhile n < 900:\n    est.train(rows, steps=30)\n    n = est.get_variable_value('global_step')\n",
            "while n < max(1, 900 // hvd.size()):",
        ),
        (
            "for _ in range(9):\n    est.train(rows, steps=30)\n"
            "    if est.get_variable_value(tf.GraphKeys.GLOBAL_STEP) >= 900:\n        break\n",
            ">= max(1, 900 // hvd.size())",
        ),
        (
            "for _ in range(9):\n    est.train(rows, steps=30)\n    found = est.evaluate(held, steps=2)\n"
            "    if found['global_step'] >= 900:\n        break\n",
            ">= max(1, 900 // hvd.size())",
        ),
    ],
)
def test_what_an_estimator_has_counted_is_a_ranks_steps(rounds: str, divided: str) -> None:
    """Compared with those of one process, size() times as many rounds were trained."""
    plan = plan_of(COUNTING + rounds)
    assert divided in plan.text
    assert any(n.message == STORED for n in plan.notes)
    assert not doubts(plan, "E1")


@pytest.mark.parametrize(
    "left",
    [
        "found['loss'] >= 900",
        "found['steps'] >= 900",
        "other.evaluate(rows)['global_step'] >= 900",
        "est.get_variable_value('beta') >= 900",
    ],
)
def test_other_numbers_of_an_estimator_are_left(left: str) -> None:
    measured = "for _ in range(9):\n    est.train(rows, steps=30)\n    found = est.evaluate(held, steps=2)\n"
    rounds = f"{measured}    if {left}:\n        break\n"
    plan = plan_of(f"import other\n{COUNTING}{rounds}")
    assert "900 // hvd.size()" not in plan.text


@pytest.mark.parametrize(
    ("start", "asked"),
    [
        ("n = est.get_variable_value('global_step')", True),
        ("found = tf.train.latest_checkpoint('m')\nn = int(found.split('-')[-1]) if found else 0", True),
        ("n = int(est.latest_checkpoint().split('-')[-1])", True),
        ("n = int(settings['first'])", False),
        ("n = est.get_variable_value('beta')", False),
    ],
)
def test_steps_of_an_earlier_run_are_asked_about(start: str, asked: bool) -> None:
    plan = plan_of(f"{COUNTING}{start}\nfor _ in range(n // 30, 9):\n    est.train(rows, steps=30)\n")
    assert bool(doubts(plan, "E1")) is asked


def test_a_schedule_of_a_run_that_goes_on_counts_a_ranks_steps() -> None:
    decayed = COUNTING.replace(
        "(0.1)", "(tf.train.exponential_decay(0.1, tf.train.get_global_step(), 100, 0.9))"
    )
    training = "est.train(rows, steps=300)\n"
    assert any("goes by the global step" in n.message for n in plan_of(decayed + training).notes)
    assert not any("goes by the global step" in n.message for n in plan_of(COUNTING + training).notes)
    elsewhere = decayed.replace(', model_dir="m"', "")
    assert not any("goes by the global step" in n.message for n in plan_of(elsewhere + training).notes)
