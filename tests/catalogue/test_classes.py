"""Bases, parameters and methods."""

from __future__ import annotations

import pytest

from horovodize.catalogue import cls, function, is_a, method

KERAS = "tensorflow.keras."
V1 = "tensorflow.compat.v1."


@pytest.mark.parametrize(
    ("name", "ancestor"),
    [
        (KERAS + "optimizers.Adam", KERAS + "optimizers.Optimizer"),
        (KERAS + "callbacks.experimental.BackupAndRestore", KERAS + "callbacks.BackupAndRestore"),
        (KERAS + "optimizers.legacy.Adam", KERAS + "optimizers.Optimizer"),
        (KERAS + "optimizers.Optimizer", KERAS + "optimizers.Optimizer"),
        (KERAS + "mixed_precision.LossScaleOptimizer", KERAS + "optimizers.Optimizer"),
        ("tensorflow_addons.optimizers.LAMB", KERAS + "optimizers.Optimizer"),
        (KERAS + "optimizers.schedules.CosineDecay", KERAS + "optimizers.schedules.LearningRateSchedule"),
        (KERAS + "Sequential", KERAS + "Model"),
        (KERAS + "Functional", KERAS + "Model"),
        (KERAS + "Sequential", KERAS + "layers.Layer"),
        (KERAS + "layers.Dense", KERAS + "layers.Layer"),
        (KERAS + "callbacks.EarlyStopping", KERAS + "callbacks.Callback"),
        (KERAS + "utils.PyDataset", KERAS + "utils.Sequence"),
        (KERAS + "preprocessing.image.DirectoryIterator", KERAS + "utils.Sequence"),
        ("horovod.keras.callbacks.MetricAverageCallback", KERAS + "callbacks.Callback"),
        ("tensorflow.data.TFRecordDataset", "tensorflow.data.Dataset"),
        (V1 + "train.AdamOptimizer", V1 + "train.Optimizer"),
        (V1 + "train.SyncReplicasOptimizer", V1 + "train.Optimizer"),
        (V1 + "train.StopAtStepHook", V1 + "train.SessionRunHook"),
        ("tensorflow.estimator.DNNClassifier", "tensorflow.estimator.Estimator"),
        # In the spellings of scripts.
        ("keras.models.Sequential", "tensorflow.keras.models.Model"),
        ("tensorflow.train.GradientDescentOptimizer", "tensorflow.train.Optimizer"),
    ],
)
def test_is_a(name: str, ancestor: str) -> None:
    assert is_a(name, ancestor)


@pytest.mark.parametrize(
    ("name", "ancestor"),
    [
        (KERAS + "optimizers.Optimizer", KERAS + "optimizers.Adam"),
        (KERAS + "optimizers.Adam", V1 + "train.Optimizer"),
        (V1 + "train.AdamOptimizer", KERAS + "optimizers.Optimizer"),
        (KERAS + "optimizers.schedules.CosineDecay", KERAS + "optimizers.Optimizer"),
        (KERAS + "layers.Dense", KERAS + "Model"),
        ("mine.Adam", KERAS + "optimizers.Optimizer"),
        ("mine.Adam", "mine.Adam"),
        (KERAS + "optimizers.Adam", "mine.Optimizer"),
        ("", ""),
    ],
)
def test_is_not_a(name: str, ancestor: str) -> None:
    assert not is_a(name, ancestor)


def test_a_class() -> None:
    adam = cls("keras.optimizers.Adam")
    assert adam is not None
    assert adam.name == KERAS + "optimizers.Adam"
    assert adam.bases == (KERAS + "optimizers.Optimizer",)
    assert adam.parameters[:2] == ("learning_rate", "beta_1")
    assert "kwargs" not in adam.parameters
    assert adam.defaults["learning_rate"] == 0.001
    assert adam.defaults["amsgrad"] is False
    assert adam.defaults["weight_decay"] is None
    assert adam.position("learning_rate") == 0
    assert adam.position("lr") is None


def test_ancestors_are_transitive_and_nearest_first() -> None:
    sequential = cls(KERAS + "Sequential")
    assert sequential is not None
    assert sequential.bases == (KERAS + "Model",)
    assert sequential.ancestors[:2] == (KERAS + "Model", KERAS + "layers.Layer")


def test_required_parameters_have_no_default() -> None:
    momentum = cls(V1 + "train.MomentumOptimizer")
    assert momentum is not None
    assert momentum.parameters[:2] == ("learning_rate", "momentum")
    assert "learning_rate" not in momentum.defaults


def test_protocol_buffers_take_their_fields_by_keyword() -> None:
    config = cls("tensorflow.ConfigProto")
    assert config is not None
    assert {"gpu_options", "allow_soft_placement"} <= set(config.parameters)
    assert config.position("gpu_options") is None


def test_session_and_batch_normalization() -> None:
    session = cls("tensorflow.Session")
    normalization = cls("keras.layers.BatchNormalization")
    assert session is not None
    assert session.parameters == ("target", "graph", "config")
    assert normalization is not None
    assert "momentum" in normalization.parameters


@pytest.mark.parametrize(
    "name", ["mine.Adam", KERAS + "optimizers.Frobnicate", KERAS + "optimizers", "", "."]
)
def test_unknown_classes(name: str) -> None:
    assert cls(name) is None
    assert method(name, "fit") is None


def test_fit() -> None:
    fit = method("keras.Sequential", "fit")
    assert fit is not None
    assert fit.name == KERAS + "Model.fit"
    assert fit.parameters[:6] == ("x", "y", "batch_size", "epochs", "verbose", "callbacks")
    assert fit.position("callbacks") == 5
    assert fit.position("steps_per_epoch") == 12
    assert fit.defaults["epochs"] == 1


def test_fit_generator_has_the_order_of_2_0() -> None:
    fit = method(KERAS + "Model", "fit_generator")
    assert fit is not None
    assert fit.parameters == (
        "generator",
        "steps_per_epoch",
        "epochs",
        "verbose",
        "callbacks",
        "validation_data",
        "validation_steps",
        "validation_freq",
        "class_weight",
        "max_queue_size",
        "workers",
        "use_multiprocessing",
        "shuffle",
        "initial_epoch",
    )


@pytest.mark.parametrize(
    ("class_name", "name", "parameters"),
    [
        (KERAS + "Model", "compile", ("optimizer", "loss", "metrics")),
        (KERAS + "Model", "evaluate", ("x", "y", "batch_size", "verbose")),
        (KERAS + "Model", "predict", ("x", "batch_size", "verbose")),
        (KERAS + "Model", "train_on_batch", ("x", "y")),
        (KERAS + "Model", "train_step", ("data",)),
        ("tensorflow.data.TFRecordDataset", "take", ("count",)),
        ("tensorflow.data.Dataset", "shard", ("num_shards", "index")),
        ("tensorflow.data.Dataset", "batch", ("batch_size", "drop_remainder")),
        ("tensorflow.data.Dataset", "shuffle", ("buffer_size", "seed")),
        ("tensorflow.data.Dataset", "from_tensor_slices", ("tensors",)),
        ("tensorflow.data.Dataset", "make_one_shot_iterator", ()),
        (KERAS + "optimizers.Adam", "apply_gradients", ("grads_and_vars",)),
        (KERAS + "optimizers.Adam", "minimize", ("loss", "var_list")),
        (KERAS + "optimizers.legacy.SGD", "minimize", ("loss", "var_list")),
        (V1 + "train.AdamOptimizer", "minimize", ("loss", "global_step")),
        ("tensorflow.GradientTape", "gradient", ("target", "sources")),
        ("tensorflow.train.CheckpointManager", "save", ("checkpoint_number",)),
        (V1 + "train.Saver", "save", ("sess", "save_path")),
        (V1 + "Session", "run", ("fetches", "feed_dict")),
        (V1 + "InteractiveSession", "run", ("fetches", "feed_dict")),
        ("tensorflow.estimator.DNNClassifier", "train", ("input_fn", "hooks", "steps")),
        (KERAS + "preprocessing.image.ImageDataGenerator", "flow_from_directory", ("directory",)),
    ],
)
def test_methods(class_name: str, name: str, parameters: tuple[str, ...]) -> None:
    found = method(class_name, name)
    assert found is not None
    assert found.parameters[: len(parameters)] == parameters


def test_methods_that_are_not() -> None:
    assert method(KERAS + "Model", "frobnicate") is None
    assert method(KERAS + "optimizers.Adam", "fit") is None
    assert method("tensorflow.data.Dataset", "fit") is None


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("tensorflow.function", ("func", "input_signature")),
        ("tensorflow.saved_model.save", ("obj", "export_dir")),
        ("keras.models.load_model", ("filepath",)),
        ("tensorflow.train.exponential_decay", ("learning_rate", "global_step", "decay_steps", "decay_rate")),
        (
            "tensorflow.train.MonitoredTrainingSession",
            ("master", "is_chief", "checkpoint_dir", "scaffold", "hooks"),
        ),
        ("keras.datasets.mnist.load_data", ("path",)),
        ("tensorflow.summary.create_file_writer", ("logdir",)),
        ("keras.utils.image_dataset_from_directory", ("directory",)),
        # Written as "the same as another" in the data.
        ("keras.applications.resnet.ResNet152", ("include_top", "weights")),
    ],
)
def test_functions(name: str, parameters: tuple[str, ...]) -> None:
    found = function(name)
    assert found is not None
    assert found.parameters[: len(parameters)] == parameters


@pytest.mark.parametrize("name", ["mine.load_model", "tensorflow.frobnicate", KERAS + "Model", ""])
def test_unknown_functions(name: str) -> None:
    assert function(name) is None


def test_keyword_only_parameters_have_no_position() -> None:
    load = function("tensorflow_datasets.load")
    assert load is not None
    assert load.position("name") == 0
    assert load.position("split") is None
    assert "split" in load.parameters
