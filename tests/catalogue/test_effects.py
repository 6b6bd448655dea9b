"""Calls that write, show, download or distribute."""

from __future__ import annotations

import pytest

from horovodize.catalogue import (
    canonical,
    cls,
    download_path_parameter,
    downloads,
    function,
    is_distribution,
    pretrained,
    writer_methods,
    writes_files,
    writes_summaries,
)
from horovodize.catalogue import effect_tables as tables
from horovodize.catalogue.data import load


@pytest.mark.parametrize(
    "name",
    [
        "tensorflow.saved_model.save",
        "tensorflow.keras.models.save_model",
        "keras.saving.save_model",
        "keras.utils.vis_utils.plot_model",
        "tensorflow.keras.preprocessing.image.save_img",
        "tensorflow.io.write_file",
        "tensorflow.write_file",
        "tensorflow.io.gfile.makedirs",
        "tensorflow.gfile.MakeDirs",
        "tensorflow.io.gfile.rmtree",
        "tensorflow.summary.create_file_writer",
        "tensorflow.summary.FileWriter",
        "tensorflow.python_io.TFRecordWriter",
        "numpy.save",
        "numpy.savez_compressed",
        "matplotlib.pyplot.savefig",
        "matplotlib.pyplot.show",
        "pickle.dump",
        "json.dump",
        "joblib.dump",
        "os.makedirs",
        "shutil.rmtree",
        "cv2.imwrite",
        "imageio.mimsave",
        "onnx.save",
    ],
)
def test_writes(name: str) -> None:
    assert writes_files(name)


@pytest.mark.parametrize(
    "name",
    [
        "tensorflow.saved_model.load",
        "tensorflow.keras.models.load_model",
        "tensorflow.io.read_file",
        "tensorflow.io.gfile.exists",
        "tensorflow.summary.scalar",
        "numpy.load",
        "pickle.dumps",
        "json.dumps",
        "os.path.join",
        "os.listdir",
        "matplotlib.pyplot.plot",
        "cv2.imread",
        "mine.save",
        "save",
        "",
    ],
)
def test_does_not_write(name: str) -> None:
    assert not writes_files(name)


def test_methods_that_write() -> None:
    assert {"save_weights", "savefig", "to_csv"} <= set(writer_methods)
    assert {"save_pretrained", "save_to_preset", "save_lora_weights", "write_out"} <= set(writer_methods)
    # Of too many things to be told by the name alone.
    assert not {"save", "write", "fit", "append", "summary"} & set(writer_methods)


def test_summaries() -> None:
    assert writes_summaries("tensorflow.summary.scalar")
    assert not writes_summaries("tensorflow.compat.v1.summary.scalar")  # makes a graph operation
    assert not writes_summaries("tensorflow.summary.create_file_writer")


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("keras.datasets.mnist.load_data", "path"),
        ("tensorflow.keras.datasets.cifar10.load_data", None),
        ("tensorflow.keras.datasets.imdb.load_data", "path"),
        ("keras.utils.data_utils.get_file", "cache_dir"),
        ("tensorflow_datasets.load", "data_dir"),
        ("urllib.request.urlretrieve", "filename"),
        ("tensorflow.examples.tutorials.mnist.input_data.read_data_sets", "train_dir"),
    ],
)
def test_downloads(name: str, parameter: str | None) -> None:
    assert downloads(name)
    assert download_path_parameter(name) == parameter


@pytest.mark.parametrize(
    "name",
    [
        "keras.datasets.mnist",
        "keras.utils.to_categorical",
        "keras.applications.vgg16.preprocess_input",
        "keras.applications.imagenet_utils.decode_predictions",
        "urllib.request.urlopen",
        "mine.load_data",
        "",
    ],
)
def test_does_not_download(name: str) -> None:
    assert not downloads(name)
    assert download_path_parameter(name) is None


def test_pretrained_models_download_their_weights() -> None:
    assert pretrained("keras.applications.vgg16.VGG16")
    assert pretrained("tensorflow.keras.applications.ResNet50")
    assert downloads("tensorflow.keras.applications.ResNet50")
    assert not pretrained("tensorflow.keras.applications.vgg16")
    assert not pretrained("mine.ResNet50")
    for name in load().functions:
        if pretrained(name):
            found = function(name)
            assert found is not None
            assert found.defaults["weights"] == "imagenet", name


def test_other_ways_of_distributing() -> None:
    assert is_distribution("tensorflow.distribute.MirroredStrategy")
    assert is_distribution("tensorflow.compat.v1.distribute.experimental.ParameterServerStrategy")
    assert is_distribution("tensorflow.contrib.distribute.MirroredStrategy")
    assert is_distribution("keras.utils.multi_gpu_model")
    assert is_distribution("tensorflow.train.replica_device_setter")
    assert is_distribution("keras.distribution.ModelParallel")
    assert not is_distribution("keras.distribution.list_devices")
    assert not is_distribution("tensorflow.distributions.Normal")
    assert not is_distribution("horovod.tensorflow.DistributedOptimizer")
    assert not is_distribution("")


# Names of releases before or after 2.15.
GONE = {
    "tensorflow.keras.experimental.export_saved_model",
    "tensorflow.keras.datasets.california_housing.load_data",
    "tensorflow.keras.utils.multi_gpu_model",
    "tensorflow.examples.tutorials.mnist.input_data.read_data_sets",
}


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in (*tables.WRITERS, *tables.DOWNLOADS)
        if name.startswith("tensorflow.") and not name.startswith("tensorflow.contrib.") and name not in GONE
    ),
)
def test_tables_hold_canonical_names_that_exist(name: str) -> None:
    assert canonical(name) == name
    family = name.rpartition(".")[2]
    assert function(name) or cls(name) or family == "get_word_index", name


def test_parameters_in_the_table_of_downloads_exist() -> None:
    for name, parameter in tables.DOWNLOADS.items():
        found = function(name)
        if found is not None and parameter is not None:
            assert parameter in found.parameters, name
