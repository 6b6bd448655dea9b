"""Which calls write, show, download or distribute. Tables only; ``effects.py`` answers from them.

TensorFlow's names are canonical ones (``names.py``), the rest as imported by their usual full names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_TF = "tensorflow."
_V1 = "tensorflow.compat.v1."
_KERAS = "tensorflow.keras."


def _under(prefix: str, names: str) -> frozenset[str]:
    return frozenset(f"{prefix}{name}" for name in names.split())


WRITERS: frozenset[str] = frozenset().union(
    # TensorFlow: models, records, graphs, file system, event files (a writer makes its file when it is made).
    _under(_TF, "saved_model.save io.write_file io.write_graph io.TFRecordWriter"),
    _under(_TF + "io.gfile.", "copy makedirs mkdir remove rename rmtree"),
    _under(_TF, "data.experimental.save data.experimental.TFRecordWriter summary.create_file_writer"),
    _under(_TF, "summary.trace_export summary.graph profiler.experimental.start profiler.experimental.stop"),
    _under(_TF, "debugging.experimental.enable_dump_debug_info"),
    _under(_V1 + "gfile.", "Copy DeleteRecursively MakeDirs MkDir Remove Rename"),
    _under(_V1, "saved_model.simple_save saved_model.Builder summary.FileWriter summary.FileWriterCache"),
    _under(_V1 + "train.", "export_meta_graph remove_checkpoint update_checkpoint_state"),
    _under(_KERAS, "models.save_model utils.plot_model utils.save_img experimental.export_saved_model"),
    _under(_TF + "contrib.", "saved_model.save_keras_model summary.create_summary_file_writer"),
    # NumPy and SciPy: arrays to disk.
    _under("numpy.", "save savez savez_compressed savetxt"),
    _under("scipy.", "io.savemat io.wavfile.write misc.imsave misc.toimage sparse.save_npz"),
    # Figures: to disk, or a window that every rank would open and wait for.
    _under("matplotlib.pyplot.", "savefig show imsave"),
    _under("pylab.", "savefig show imsave"),
    _under("matplotlib.", "image.imsave"),
    _under("plotly.", "offline.plot io.write_image io.write_html"),
    # Objects to an open file. Their ``dumps`` write nothing.
    _under("", "pickle.dump _pickle.dump cPickle.dump cloudpickle.dump dill.dump json.dump joblib.dump"),
    _under("", "marshal.dump sklearn.externals.joblib.dump h5py.File pandas.ExcelWriter pandas.to_pickle"),
    # The file system.
    _under("os.", "makedirs mkdir remove rename renames replace rmdir removedirs unlink symlink link"),
    _under("shutil.", "rmtree copy copy2 copyfile copytree move make_archive"),
    _under("distutils.dir_util.", "mkpath copy_tree remove_tree"),
    # Images, sound, video.
    _under("cv2.", "imwrite imshow VideoWriter"),
    _under("imageio.", "imwrite imsave mimsave mimwrite get_writer v2.imwrite v2.mimsave v3.imwrite"),
    _under("skimage.io.", "imsave imshow show"),
    _under("", "PIL.Image.Image.save soundfile.write tifffile.imwrite tifffile.imsave"),
    _under("", "librosa.output.write_wav"),
    _under("torchvision.utils.", "save_image"),
    _under("", "nibabel.save skvideo.io.vwrite SimpleITK.WriteImage pydicom.dcmwrite"),
    # Tables and arrays of other libraries.
    _under("", "pyarrow.parquet.write_table pyarrow.feather.write_feather"),
    _under("zarr.", "save save_array save_group"),
    # Models of other libraries.
    _under("", "onnx.save onnx.save_model torch.save tensorflowjs.converters.save_keras_model"),
    _under("", "keras_hub.upload_preset keras_nlp.upload_preset huggingface_hub.upload_folder huggingface_hub.upload_file"),
    # Reports to a file or a service.
    _under("logging.", "FileHandler handlers.RotatingFileHandler handlers.TimedRotatingFileHandler"),
    _under("", "tensorboardX.SummaryWriter torch.utils.tensorboard.SummaryWriter"),
    _under("wandb.", "init log save finish watch"),
    _under("mlflow.", "start_run log_metric log_metrics log_param log_params log_artifact log_model"),
    _under("mlflow.", "set_experiment autolog tensorflow.autolog keras.autolog end_run"),
)  # fmt: skip

# Of a method called on something that is not known. Left out for being other things as often: ``save``,
# ``write``, ``dump``, ``export``, ``close``, ``show``, ``open``.
WRITER_METHODS: Mapping[str, str] = MappingProxyType(
    {
        "save_weights": "a Keras model's weights",
        "save_model": "a model (XGBoost, Keras wrappers)",
        "save_pretrained": "a Hugging Face model",
        "push_to_hub": "a Hugging Face model",
        "save_vocabulary": "a Hugging Face tokenizer",
        "to_json_file": "a Hugging Face configuration",
        "save_to_disk": "a Hugging Face dataset",
        "save_to_preset": "a KerasHub model",
        "save_lora_weights": "a KerasHub model's LoRA weights",
        "write_out": "a Keras ExportArchive",
        "save_spec": "a model's specification",
        "savefig": "a Matplotlib figure",
        "print_figure": "a canvas of Matplotlib",
        "print_png": "a canvas of Matplotlib",
        "write_videofile": "a MoviePy clip",
        "write_gif": "a MoviePy clip",
        "add_summary": "a TensorFlow 1 FileWriter",
        "add_graph": "a TensorFlow 1 FileWriter",
        "summary_computed": "a TensorFlow 1 Supervisor",
        "add_scalar": "a TensorBoard SummaryWriter",
        "add_histogram": "a TensorBoard SummaryWriter",
        "add_image": "a TensorBoard SummaryWriter",
        "export_savedmodel": "a TensorFlow 1 Estimator",
        "export_saved_model": "an Estimator",
        "imsave": "an image",
        "imwrite": "an image",
        "to_csv": "a pandas table",
        "to_excel": "a pandas table",
        "to_hdf": "a pandas table",
        "to_parquet": "a pandas table",
        "to_pickle": "a pandas table",
        "to_feather": "a pandas table",
        "to_stata": "a pandas table",
        "write_csv": "a Polars table",
        "write_parquet": "a Polars table",
        "tofile": "an array",
        "write_image": "a Plotly figure",
        "write_html": "a Plotly figure",
        "write_text": "a pathlib path",
        "write_bytes": "a pathlib path",
        "writelines": "an open file",
        "writerow": "a csv writer",
        "writerows": "a csv writer",
        "mkdir": "a pathlib path",
        "unlink": "a pathlib path",
        "rmdir": "a pathlib path",
        "touch": "a pathlib path",
    }
)

# What writes where it is given a path, and gives text or a model otherwise: the parameter, and its place (None: none).
WRITERS_TO: Mapping[str, tuple[str, int | None]] = MappingProxyType(
    dict.fromkeys(
        ("tf2onnx.convert.from_keras", "tf2onnx.convert.from_function", "tf2onnx.convert.from_graph_def"),
        ("output_path", None),
    )
)
WRITER_METHODS_TO: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "to_json": ("path_or_buf", 0),
        "to_html": ("buf", 0),
        "to_latex": ("buf", 0),
        "to_markdown": ("buf", 0),
        "to_netcdf": ("path", 0),
    }
)

SUMMARIES: frozenset[str] = _under(
    _TF + "summary.",
    "audio histogram image scalar text tensor write experimental.write_raw_pb trace_export graph",
) | _under(_TF + "contrib.summary.", "audio histogram image scalar generic")

# A call → the parameter that says where the download goes, if it has one.
DOWNLOADS: Mapping[str, str | None] = MappingProxyType(
    {
        _KERAS + "datasets.boston_housing.load_data": "path",
        _KERAS + "datasets.california_housing.load_data": "path",
        _KERAS + "datasets.cifar10.load_data": None,
        _KERAS + "datasets.cifar100.load_data": None,
        _KERAS + "datasets.fashion_mnist.load_data": None,
        _KERAS + "datasets.imdb.load_data": "path",
        _KERAS + "datasets.imdb.get_word_index": "path",
        _KERAS + "datasets.mnist.load_data": "path",
        _KERAS + "datasets.reuters.load_data": "path",
        _KERAS + "datasets.reuters.get_word_index": "path",
        _KERAS + "utils.get_file": "cache_dir",
        _TF + "contrib.learn.datasets.load_dataset": None,
        _TF + "contrib.learn.datasets.mnist.load_mnist": "train_dir",
        _TF + "contrib.learn.datasets.mnist.read_data_sets": "train_dir",
        _TF + "contrib.learn.python.learn.datasets.mnist.read_data_sets": "train_dir",
        _TF + "examples.tutorials.mnist.input_data.read_data_sets": "train_dir",
        "tensorflow_datasets.load": "data_dir",
        "tensorflow_datasets.data_source": "data_dir",
        "tensorflow_hub.load": None,
        "tensorflow_hub.KerasLayer": None,
        "tensorflow_hub.Module": None,
        "datasets.load_dataset": "cache_dir",
        "sklearn.datasets.fetch_20newsgroups": "data_home",
        "sklearn.datasets.fetch_california_housing": "data_home",
        "sklearn.datasets.fetch_covtype": "data_home",
        "sklearn.datasets.fetch_lfw_people": "data_home",
        "sklearn.datasets.fetch_mldata": "data_home",
        "sklearn.datasets.fetch_olivetti_faces": "data_home",
        "sklearn.datasets.fetch_openml": "data_home",
        "urllib.request.urlretrieve": "filename",
        "urllib.urlretrieve": "filename",
        "six.moves.urllib.request.urlretrieve": "filename",
        "wget.download": "out",
        "gdown.download": "output",
        "nltk.download": "download_dir",
        "kagglehub.dataset_download": None,
    }
)

DISTRIBUTION_MODULES: tuple[str, ...] = (
    _TF + "distribute.",
    _TF + "contrib.distribute.",
    _TF + "experimental.dtensor.",
)
DISTRIBUTIONS: frozenset[str] = (
    _under(_V1 + "train.", "replica_device_setter SyncReplicasOptimizer")
    | _under("", f"{_KERAS}utils.multi_gpu_model {_TF}contrib.tpu.TPUDistributionStrategy {_TF}distribute")
    # Keras 3's own means; `list_devices` and `distribution` only look.
    | _under(_KERAS + "distribution.", "set_distribution DataParallel ModelParallel initialize")
)
