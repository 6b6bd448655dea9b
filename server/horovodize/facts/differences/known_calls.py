"""What is known of the functions and methods of libraries: tables, and what they say of a name."""

from __future__ import annotations

import sys

from horovodize.facts.differences.sources import AGREEING

# What the functions of these packages give depends on what they are given, and on nothing else.
KNOWN = frozenset(sys.stdlib_module_names) | set(
    "tensorflow numpy pandas sklearn scipy keras tf_keras yaml absl click fire hydra omegaconf matplotlib PIL cv2 h5py tqdm "
    "six horovod tensorflow_datasets tensorflow_addons tensorflow_hub tensorflow_probability gin ml_collections easydict munch "
    "attr attrs dotenv joblib imageio skimage nltk transformers datasets simplejson toml past future typer pydantic seaborn "
    "librosa imblearn __future__".split()
)
# Arguments that say how much is printed meanwhile, or done side by side.
MEANWHILE = {"verbose", "num_parallel_calls", "n_jobs", "workers", "use_multiprocessing", "max_queue_size"}
# Give what they are given first; the rest is printed.
PRINTING = ("tensorflow.Print", "tensorflow.compat.v1.Print")
# Methods that give as many elements as there are, whatever they are told.
AS_MANY = ("prefetch", "cache", "shuffle")
ITERATING = {"list", "tuple", "iter", "next", "reversed", "map", "filter", "enumerate", "zip"}
ORDERLESS = {"sorted", "set", "frozenset", "min", "max", "sum", "any", "all", "dict"}
READING = (
    "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "tensorflow.io.gfile.GFile", "io.open", "h5py.File",
    "tensorflow.io.read_file", "tensorflow.compat.v1.gfile.Open", "joblib.load", "scipy.io.loadmat",
    "tensorflow.keras.models.load_model",
)  # fmt: skip
LISTING = {"listdir", "scandir", "glob", "iglob", "walk", "Glob", "ListDirectory", "Walk"}
STEPS = (
    "tensorflow.compat.v1.train.get_global_step", "tensorflow.compat.v1.train.get_or_create_global_step",
    "tensorflow.compat.v1.train.create_global_step", "tensorflow.compat.v1.train.global_step",
)  # fmt: skip
COMPUTES = {
    "tensorflow.keras.Model",
    "tensorflow.keras.layers.Layer",
    "tensorflow.keras.metrics.Metric",
    "tensorflow.keras.losses.Loss",
}
LAYERS = "tensorflow.keras.layers."
LOSSES = "tensorflow.keras.losses."  # the catalogue does not have each of these classes
SETTINGS = (
    "config",
    "cfg",
    "conf",
    "args",
    "arguments",
    "flags",
    "options",
    "opts",
    "params",
    "hparams",
    "settings",
    "parser",
    "opt",
)
# Methods that give what they are called on in another form.
PURE = set(
    "numpy item get lower upper strip lstrip rstrip split rsplit format join replace startswith endswith keys values items "
    "copy astype reshape sum mean min max all any tolist read_value value index count as_list total_seconds group groups "
    "match search read readline readlines flatten dot round std transpose argmax argmin isdigit title capitalize zfill "
    "encode decode pop popleft findall partition rpartition to_dict as_dict as_posix is_integer bit_length get_shape "
    "difference union intersection joinpath with_name with_suffix with_stem relative_to".split()
)

COUNTING = (
    "tensorflow.data.experimental.cardinality",
    "numpy.shape",
    "numpy.size",
    "tensorflow.shape",
    "tensorflow.size",
)
# What puts arrays of a list together: it has the elements of all of them.
JOINING = (
    "numpy.concatenate",
    "numpy.hstack",
    "numpy.row_stack",
    "numpy.vstack",
    "tensorflow.concat",
)
ASK_FOR_TYPES = ("tensorflow.is_tensor", "numpy.isscalar", "tensorflow.keras.backend.is_keras_tensor")


WORLD = "mpi4py.MPI.COMM_WORLD."
_AGREEING_OF_MPI = (
    "allreduce",
    "allgather",
    "bcast",
)  # of objects; those of arrays, `Allreduce`, give nothing


def is_known(name: str) -> bool:
    """Whether a dotted name is of a package whose functions give what their arguments say, and nothing else."""
    return name.split(".", maxsplit=1)[0] in KNOWN


def is_agreed(name: str | None) -> bool:
    """Whether a function gives all ranks the same, whatever each of them gives it."""
    if name is None:
        return False
    if name.startswith(WORLD):
        return name.removeprefix(WORLD) in _AGREEING_OF_MPI
    return name.startswith("horovod.") and name.rsplit(".", 1)[-1] in AGREEING
