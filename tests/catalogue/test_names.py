"""Spellings and what they become: mostly of releases that are not installed anywhere here."""

from __future__ import annotations

import pytest

from horovodize.catalogue import canonical

KERAS = "tensorflow.keras."
V1 = "tensorflow.compat.v1."


@pytest.mark.parametrize(
    "spelled",
    [
        "tensorflow.keras.optimizers.Adam",
        "tensorflow.keras.optimizers.experimental.Adam",
        "tensorflow.optimizers.Adam",
        "tensorflow.compat.v1.keras.optimizers.Adam",
        "tensorflow.compat.v2.keras.optimizers.Adam",
        "tensorflow.compat.v2.optimizers.Adam",
        "tensorflow._api.v2.v2.keras.optimizers.Adam",
        "tensorflow_core.keras.optimizers.Adam",
        "tensorflow_core.python.keras.optimizers.Adam",
        "tensorflow_core._api.v2.keras.optimizers.Adam",
        "tensorflow.contrib.keras.optimizers.Adam",
        "tensorflow.contrib.keras.api.keras.optimizers.Adam",
        "tensorflow.contrib.keras.python.keras.optimizers.Adam",
        "tensorflow.python.keras.optimizers.Adam",
        "tensorflow.python.keras._impl.keras.optimizers.Adam",
        "tensorflow.python.keras.api._v1.keras.optimizers.Adam",
        "tensorflow.python.keras.optimizer_v2.adam.Adam",
        "keras.optimizers.Adam",
        "keras.optimizers.adam.Adam",
        "keras.optimizers.adam_v2.Adam",
        "keras.optimizer_v2.adam.Adam",
        "keras.optimizers.optimizer_v2.adam.Adam",
        "keras.optimizers.optimizer_experimental.adam.Adam",
        "keras.src.optimizers.adam.Adam",
        "keras.api.optimizers.Adam",
        "keras.api._v2.keras.optimizers.Adam",
        "keras._tf_keras.keras.optimizers.Adam",
        "keras_core.optimizers.Adam",
        "tf_keras.optimizers.Adam",
        "tf_keras.src.optimizers.adam.Adam",
    ],
)
def test_every_home_of_adam(spelled: str) -> None:
    assert canonical(spelled) == KERAS + "optimizers.Adam"


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("keras.models.Model", "Model"),
        ("keras.engine.training.Model", "Model"),
        ("keras.engine.Model", "Model"),
        ("tensorflow.python.keras.engine.training_v1.Model", "Model"),
        ("keras.models.Sequential", "Sequential"),
        ("keras.engine.sequential.Sequential", "Sequential"),
        ("keras.engine.functional.Functional", "Functional"),
        ("keras.src.models.functional.Functional", "Functional"),
        ("keras.layers.Input", "Input"),
        ("keras.engine.input_layer.Input", "Input"),
        ("keras.layers.core.Dense", "layers.Dense"),
        ("keras.layers.core.dense.Dense", "layers.Dense"),
        ("keras.layers.convolutional.Conv2D", "layers.Conv2D"),
        ("keras.layers.convolutional.Convolution2D", "layers.Conv2D"),
        ("keras.layers.normalization.BatchNormalization", "layers.BatchNormalization"),
        ("keras.layers.normalization.batch_normalization_v1.BatchNormalization", "layers.BatchNormalization"),
        ("tensorflow.python.keras.layers.normalization.BatchNormalizationV1", "layers.BatchNormalization"),
        ("keras.engine.topology.Layer", "layers.Layer"),
        ("keras.layers.merge.add", "layers.add"),
        ("keras.callbacks.callbacks.ModelCheckpoint", "callbacks.ModelCheckpoint"),
        ("keras.callbacks.tensorboard_v1.TensorBoard", "callbacks.TensorBoard"),
        ("tensorflow.python.keras.callbacks_v1.TensorBoard", "callbacks.TensorBoard"),
        ("keras.utils.np_utils.to_categorical", "utils.to_categorical"),
        ("keras.utils.data_utils.Sequence", "utils.Sequence"),
        ("keras.utils.data_utils.get_file", "utils.get_file"),
        ("keras.utils.vis_utils.plot_model", "utils.plot_model"),
        ("keras.preprocessing.image_dataset_from_directory", "utils.image_dataset_from_directory"),
        ("keras.preprocessing.image.ImageDataGenerator", "preprocessing.image.ImageDataGenerator"),
        ("keras_preprocessing.image.ImageDataGenerator", "preprocessing.image.ImageDataGenerator"),
        ("keras.src.legacy.preprocessing.image.ImageDataGenerator", "preprocessing.image.ImageDataGenerator"),
        ("keras.backend.tensorflow_backend.set_session", "backend.set_session"),
        ("keras.applications.vgg16.VGG16", "applications.VGG16"),
        ("keras.saving.load_model", "models.load_model"),
        ("keras.experimental.CosineDecay", "optimizers.schedules.CosineDecay"),
        (
            "keras.optimizer_v2.learning_rate_schedule.ExponentialDecay",
            "optimizers.schedules.ExponentialDecay",
        ),
        (
            "keras.src.optimizers.schedules.learning_rate_schedule.CosineDecay",
            "optimizers.schedules.CosineDecay",
        ),
        ("keras.optimizers.legacy.SGD", "optimizers.legacy.SGD"),
        ("keras.src.optimizers.legacy.gradient_descent.SGD", "optimizers.legacy.SGD"),
        ("keras.src.optimizers.legacy.optimizer_v2.OptimizerV2", "optimizers.legacy.Optimizer"),
        ("tensorflow.python.keras.optimizer_v2.optimizer_v2.OptimizerV2", "optimizers.Optimizer"),
        ("keras.mixed_precision.experimental.LossScaleOptimizer", "mixed_precision.LossScaleOptimizer"),
        ("keras.datasets.mnist.load_data", "datasets.mnist.load_data"),
    ],
)
def test_homes_in_older_and_newer_keras(spelled: str, name: str) -> None:
    assert canonical(spelled) == KERAS + name


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("tensorflow.train.AdamOptimizer", V1 + "train.AdamOptimizer"),
        ("tensorflow.compat.v1.train.AdamOptimizer", V1 + "train.AdamOptimizer"),
        ("tensorflow.python.training.adam.AdamOptimizer", V1 + "train.AdamOptimizer"),
        ("tensorflow.Session", V1 + "Session"),
        ("tensorflow._api.v1.compat.v1.Session", V1 + "Session"),
        ("tensorflow.python.client.session.Session", V1 + "Session"),
        ("tensorflow.initialize_all_variables", V1 + "initialize_all_variables"),
        ("tensorflow.layers.batch_normalization", V1 + "layers.batch_normalization"),
        ("tensorflow.train.SummaryWriter", V1 + "summary.FileWriter"),
        ("tensorflow.estimator.StopAtStepHook", V1 + "train.StopAtStepHook"),
        ("tensorflow.train.StopAtStepHook", V1 + "train.StopAtStepHook"),
        ("tensorflow.train.piecewise_constant_decay", V1 + "train.piecewise_constant"),
        ("tensorflow.python.framework.ops.disable_eager_execution", V1 + "disable_eager_execution"),
        ("tensorflow.contrib.framework.get_or_create_global_step", V1 + "train.get_or_create_global_step"),
        ("tensorflow.losses.sparse_softmax_cross_entropy", V1 + "losses.sparse_softmax_cross_entropy"),
        ("tensorflow.compat.v1.summary.scalar", V1 + "summary.scalar"),
        ("tensorflow.train.Checkpoint", "tensorflow.train.Checkpoint"),
        ("tensorflow.compat.v1.train.Checkpoint", "tensorflow.train.Checkpoint"),
        ("tensorflow.data.Dataset", "tensorflow.data.Dataset"),
        ("tensorflow.compat.v1.data.Dataset", "tensorflow.data.Dataset"),
        ("tensorflow.contrib.data.Dataset", "tensorflow.data.Dataset"),
        ("tensorflow.python.data.ops.dataset_ops.DatasetV2", "tensorflow.data.Dataset"),
        ("tensorflow.compat.v1.GradientTape", "tensorflow.GradientTape"),
        ("tensorflow.contrib.eager.GradientTape", "tensorflow.GradientTape"),
        ("tensorflow.python.eager.backprop.GradientTape", "tensorflow.GradientTape"),
        ("tensorflow.summary.scalar", "tensorflow.summary.scalar"),
        ("tensorflow.python_io.TFRecordWriter", "tensorflow.io.TFRecordWriter"),
        ("tensorflow.config.experimental.list_physical_devices", "tensorflow.config.list_physical_devices"),
        ("tensorflow.data.experimental.AUTOTUNE", "tensorflow.data.AUTOTUNE"),
        ("tensorflow.losses.MeanSquaredError", KERAS + "losses.MeanSquaredError"),
    ],
)
def test_tensorflow_1_and_2(spelled: str, name: str) -> None:
    assert canonical(spelled) == name


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("keras.models.Model.fit", KERAS + "Model.fit"),
        ("keras.engine.training.Model.fit", KERAS + "Model.fit"),
        (
            "tensorflow.compat.v1.data.Dataset.from_tensor_slices",
            "tensorflow.data.Dataset.from_tensor_slices",
        ),
        ("tensorflow.train.AdamOptimizer.minimize", V1 + "train.AdamOptimizer.minimize"),
        ("tensorflow.python.data.ops.dataset_ops.DatasetV2.map", "tensorflow.data.Dataset.map"),
    ],
)
def test_attributes_follow(spelled: str, name: str) -> None:
    assert canonical(spelled) == name


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("keras", "tensorflow.keras"),
        ("tf_keras", "tensorflow.keras"),
        ("tensorflow.python.keras", "tensorflow.keras"),
        ("tensorflow", "tensorflow"),
        ("tensorflow.compat.v2", "tensorflow"),
        ("tensorflow.compat.v1", "tensorflow.compat.v1"),
        ("tensorflow.compat.v1.train", "tensorflow.compat.v1.train"),
        ("keras.callbacks", KERAS + "callbacks"),
        ("tensorflow.optimizers", KERAS + "optimizers"),
        # Modules that are called like what they define.
        ("keras.layers.merge", KERAS + "layers.merge"),
        ("keras.optimizers.adam", KERAS + "optimizers.adam"),
        ("keras.callbacks.callbacks", KERAS + "callbacks.callbacks"),
    ],
)
def test_modules(spelled: str, name: str) -> None:
    assert canonical(spelled) == name


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        # The beginning is put right, the rest is not known and stays.
        ("keras.optimizers.Frobnicate", KERAS + "optimizers.Frobnicate"),
        ("keras.optimizers.Model", KERAS + "optimizers.Model"),
        ("keras.initializers.initializers_v2.Identity", KERAS + "initializers.initializers_v2.Identity"),
        ("tensorflow.compat.v2.frobnicate", "tensorflow.frobnicate"),
        ("tensorflow.contrib.slim.conv2d", "tensorflow.contrib.slim.conv2d"),
        ("tensorflow.python.client.device_lib.list_local_devices",) * 2,
        ("tensorflow.python.saved_model.save.save",) * 2,
        # Not TensorFlow at all, however alike.
        ("horovod.tensorflow.keras.callbacks.MetricAverageCallback",) * 2,
        ("tensorflow_datasets.load",) * 2,
        ("tensorflow_hub.KerasLayer",) * 2,
        ("keras_tuner.Hyperband",) * 2,
        ("kerastuner.engine.training.Model",) * 2,
        ("mine.keras.optimizers.Adam",) * 2,
        ("Adam", "Adam"),
        ("", ""),
        (".", "."),
    ],
)
def test_near_misses(spelled: str, name: str) -> None:
    assert canonical(spelled) == name


def test_our_module_for_keras_3_has_horovod_s_names() -> None:
    assert canonical("horovod_keras3.callbacks.MetricAverageCallback") == (
        "horovod.tensorflow.keras.callbacks.MetricAverageCallback"
    )
    assert canonical("horovod_keras3.broadcast_object") == "horovod.tensorflow.keras.broadcast_object"
