"""Which calls read, write, make or remove a file or folder, and which path they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import cast

from horovodize import catalogue
from horovodize.facts.facts import Facts
from horovodize.interleaving.actions import Deed, Touch
from horovodize.interleaving.commands import of_command
from horovodize.interleaving.databases import changed_database
from horovodize.python.buffers import is_buffer
from horovodize.python.opening import Opening
from horovodize.python.syntax import argument, has_unpacking
from horovodize.summary.sites import MODEL

_V1 = "tensorflow.compat.v1."


def _all(deed: Deed, names: str, at: int = 0, word: str = "") -> dict[str, tuple[Deed, str, int]]:
    return dict.fromkeys(names.split(), (deed, word, at))


# The deed, and the keyword and position of the path.
_FUNCTIONS: Mapping[str, tuple[Deed, str, int]] = {
    **_all(Deed.WRITE, "numpy.save numpy.savez numpy.savez_compressed", 0, "file"),
    **_all(Deed.WRITE, "numpy.savetxt", 0, "fname"),
    **_all(Deed.READ, "numpy.load", 0, "file"),
    **_all(Deed.READ, "numpy.loadtxt numpy.genfromtxt", 0, "fname"),
    **_all(Deed.READ, "pandas.read_csv pandas.read_pickle pandas.read_parquet pandas.read_json pandas.read_excel"),
    **_all(Deed.LOOK, "os.path.exists os.path.isfile os.path.isdir os.listdir os.path.getsize os.stat os.scandir", 0, "path"),
    **_all(Deed.LOOK, "tensorflow.io.gfile.exists tensorflow.io.gfile.listdir"),
    **_all(Deed.READ, "tensorflow.io.read_file"),
    **_all(Deed.READ, "tensorflow.data.TFRecordDataset tensorflow.data.TextLineDataset "
                      "tensorflow.data.experimental.CsvDataset", 0, "filenames"),
    **_all(Deed.READ, "tensorflow.keras.models.load_model", 0, "filepath"),
    **_all(Deed.READ, "tensorflow.train.load_checkpoint", 0, "checkpoint_dir"),
    **_all(Deed.READ, "joblib.load tensorflow.saved_model.load tensorflow.data.Dataset.load"),
    **_all(Deed.READ, "torch.load", 0, "f"),
    **_all(Deed.WRITE, "torch.save torch.jit.save", 1, "f"),
    **_all(Deed.WRITE, "joblib.dump tensorflow.saved_model.save", 1),
    **_all(Deed.WRITE, "tensorflow.keras.models.save_model", 1, "filepath"),
    **_all(Deed.WRITE, "tensorflow.contrib.saved_model.save_keras_model tensorflow.keras.experimental.export_saved_model", 1,
           "saved_model_path"),
    **_all(Deed.WRITE, "tensorflow.io.TFRecordWriter", 0, "path"),
    **_all(Deed.WRITE, "tensorflow.keras.utils.plot_model", 1, "to_file"),
    **_all(Deed.WRITE, "tensorflow.keras.utils.save_img", 0, "path"),
    **_all(Deed.WRITE, "tensorflow.io.write_file cv2.imwrite", 0, "filename"),
    **_all(Deed.WRITE, "matplotlib.pyplot.savefig matplotlib.pyplot.imsave pylab.savefig pylab.imsave", 0, "fname"),
    **_all(Deed.WRITE, "imageio.imwrite imageio.imsave imageio.mimsave imageio.mimwrite imageio.v2.imwrite "
                       "imageio.v2.mimsave imageio.v3.imwrite", 0, "uri"),
    **_all(Deed.WRITE, "skimage.io.imsave matplotlib.image.imsave", 0, "fname"),
    **_all(Deed.WRITE, "torchvision.utils.save_image", 1, "fp"),
    **_all(Deed.WRITE, "scipy.io.savemat scipy.io.wavfile.write", 0, "file_name"),
    **_all(Deed.MAKE, "os.mkdir os.makedirs", 0, "name"),
    **_all(Deed.ENSURE, f"tensorflow.io.gfile.makedirs {_V1}gfile.MakeDirs"),
    **_all(Deed.REMOVE, "os.remove os.unlink os.rmdir shutil.rmtree tensorflow.io.gfile.rmtree tensorflow.io.gfile.remove "
                        f"{_V1}gfile.DeleteRecursively", 0, "path"),
    **_all(Deed.READ, "tensorflow.keras.utils.image_dataset_from_directory torchvision.datasets.ImageFolder"),
    **_all(Deed.UNPACK, "shutil.unpack_archive", 1, "extract_dir"),
    **_all(Deed.FETCH, "tensorflow.keras.utils.get_file", 0, "fname"),
    **_all(Deed.FETCH, "urllib.request.urlretrieve six.moves.urllib.request.urlretrieve urllib.urlretrieve", 1, "filename"),
    **_all(Deed.FETCH, "wget.download", 1, "out"),
    **_all(Deed.FETCH, "gdown.download", 1, "output"),
}  # fmt: skip
_LOGS: Mapping[
    str, tuple[str, int | None, str]
] = {  # how the path is called, where it stands, and how the mode is called
    "logging.FileHandler": ("filename", 0, "mode"),
    "logging.basicConfig": ("filename", None, "filemode"),
}
_BOTH: Mapping[str, tuple[Deed, Deed]] = {  # from the first argument to the second
    "os.rename": (Deed.REMOVE, Deed.WRITE),
    "os.replace": (Deed.REMOVE, Deed.WRITE),
    "shutil.move": (Deed.REMOVE, Deed.WRITE),
    "shutil.copy": (Deed.READ, Deed.WRITE),
    "shutil.copyfile": (Deed.READ, Deed.WRITE),
    "shutil.copytree": (Deed.READ, Deed.WRITE),
    "tensorflow.io.gfile.copy": (Deed.READ, Deed.WRITE),
    "tensorflow.io.gfile.rename": (Deed.REMOVE, Deed.WRITE),
}
_MODEL_METHODS = {
    "save": Deed.WRITE,
    "save_weights": Deed.WRITE,
    "export": Deed.WRITE,
    "load_weights": Deed.READ,
}
_OF_MODELS_ALONE = ("save_weights", "load_weights")
_FRAME_METHODS = (
    "to_csv",
    "to_pickle",
    "to_parquet",
    "to_json",
    "to_excel",
    "savefig",
    "print_figure",
    "print_png",
)
_BY_CALLBACKS = {
    "tensorflow.keras.callbacks.CSVLogger": "filename",
    "tensorflow.keras.callbacks.ModelCheckpoint": "filepath",
}
_PATH_METHODS = ("write_text", "write_bytes")  # of the path itself
# Of paths of pathlib; what else has methods so called isn't one.
_OF_PATHS = {
    "mkdir": Deed.MAKE,
    "exists": Deed.LOOK,
    "is_file": Deed.LOOK,
    "is_dir": Deed.LOOK,
    "stat": Deed.LOOK,
    "iterdir": Deed.LOOK,
    "read_text": Deed.READ,
    "read_bytes": Deed.READ,
    "unlink": Deed.REMOVE,
    "rmdir": Deed.REMOVE,
}
_UNPACKING = ("extractall",)
_MADE_PICTURES = (
    "PIL.Image.",
    "tensorflow.keras.utils.array_to_img",
    "tensorflow.keras.preprocessing.image.array_to_img",
)
_ARCHIVES = ("tarfile.", "zipfile.")
_FROM_FOLDERS = ("flow_from_directory",)  # of generators of images
_PIPELINES = "tensorflow.data."
_GIVING_PATHS = ("joinpath", "resolve", "absolute", "expanduser", "with_name", "with_suffix")
_DATA = ("tensorflow.keras.datasets.", "tensorflow.examples.tutorials.mnist.")
_TFDS = "tensorflow_datasets."
_ONCE = ("os.remove", "os.unlink", "os.rmdir", "shutil.rmtree")  # what is gone can't be removed
_NOWHERE = ("os.devnull",)
_OF_FOLDERS = (
    "ImageFolder",
    "DatasetFolder",
    "FakeData",
    "VisionDataset",
)  # of torchvision, which download nothing
_DOWNLOADS = {"MNIST": 4, "FashionMNIST": 4, "KMNIST": 4, "CIFAR10": 4, "CIFAR100": 4, "SVHN": 4}
_LIMIT = 100  # nodes that a path is looked for in
_MANAGER = "tensorflow.train.CheckpointManager"
_LAST = ("tensorflow.train.latest_checkpoint", f"{_V1}train.latest_checkpoint")
_SAVER_METHODS = {"save": (Deed.WRITE, "save_path", 1), "restore": (Deed.READ, "save_path", 1)}


class Deeds:
    """What the calls of one script do to files."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module, self._opening = facts, facts.module, Opening(facts.module)
        self._models = {ast.unparse(f.model) for f in facts.sites.fits}

    def of(self, call: ast.Call) -> Iterator[Touch]:
        """What a call does itself, with paths that it names. Temporary files are nothing that another process comes to."""
        for touch in self._named(call):
            if isinstance(touch.path, str) or not self._is_own_or_none(touch.path):
                yield touch

    def temporary(self, call: ast.Call) -> Iterator[Touch]:
        """What a call does to temporary files."""
        for touch in self._named(call):
            if not isinstance(touch.path, str) and self._is_own_or_none(touch.path):
                yield touch

    def _is_own_or_none(self, path: ast.expr) -> bool:
        """Whether a path is a temporary one, a buffer in memory, or nowhere."""
        if is_buffer(self.module, path):
            return True
        for n in self.module.values.depends([path], _LIMIT):
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.startswith("/dev/"):
                return True
            name = (
                self.module.names.of(n.func if isinstance(n, ast.Call) else n)
                if isinstance(n, ast.expr)
                else None
            )
            if (name or "").startswith("tempfile.") or name in _NOWHERE:
                return True
        return False

    def _named(self, call: ast.Call) -> Iterator[Touch]:
        module = self.module
        name = module.names.of(call.func) or ""
        if name in _LOGS:
            yield from self._logged(call, name)
        elif self._opening.is_open(call):
            yield from self._opened(call)
        elif name in _BOTH and len(call.args) >= 2:
            for given, deed in zip(call.args, _BOTH[name], strict=False):
                yield Touch(call, deed, given)
        elif name in _FUNCTIONS:
            deed, word, at = _FUNCTIONS[name]
            path = argument(call, word, at)
            if path is not None:
                alone = (
                    deed is Deed.REMOVE and name in _ONCE and not self._may_fail(call) and not _ignores(call)
                )
                yield Touch(call, self._milder(call, deed), path, name.startswith("numpy."), alone)
        elif name.startswith(_DATA) and catalogue.downloads(name):
            yield Touch(call, Deed.FETCH, self._cache(call, name))
        elif name.startswith("torchvision.datasets."):
            yield from self._of_data_set(call)
        elif name == _TFDS + "load":
            # What rank 0 loads by itself, it loads for the others; what all load may be there.
            first = self.facts.rank_tests.deciding(call) is not None
            yield from self._prepared(call, Deed.FETCH if first else Deed.READ)
        elif isinstance(call.func, ast.Attribute) and not name and module.values.callee(call) is None:
            yield from self._of_method(call, call.func)
        else:
            yield from (Touch(call, deed, path) for deed, path in of_command(module.names, call))

    def _logged(self, call: ast.Call, name: str) -> Iterator[Touch]:
        """A file of messages that is begun again; lines that ranks append stand one after the other."""
        word, at, how = _LOGS[name]
        path, mode = argument(call, word, at), argument(call, how, 1 if at == 0 else None)
        if path is not None and isinstance(mode, ast.Constant) and str(mode.value).startswith("w"):
            yield Touch(call, Deed.WRITE, path, needs_folder=True)

    def _of_data_set(self, call: ast.Call) -> Iterator[Touch]:
        """A data set of torchvision downloads, or reads what is there."""
        root, asked = argument(call, "root", 0), self.download_asked(call)
        if root is not None and isinstance(asked, ast.Constant):
            yield Touch(call, Deed.FETCH if asked.value else Deed.READ, root)

    def _prepared(self, call: ast.Call, deed: Deed) -> Iterator[Touch]:
        """A data set of tensorflow_datasets, by its name or by the folder that it is kept in."""
        name, folder = argument(call, "name", 0), argument(call, "data_dir")
        if call.keywords and any(k.arg is None for k in call.keywords):
            return
        if folder is not None or name is not None:
            yield Touch(call, deed, folder if folder is not None else name or "")

    def kept_by_callback(self, made: ast.Call) -> Iterator[Touch]:
        """The file that a callback of Keras keeps while a `fit` runs, to its end: `CSVLogger("log.csv")`."""
        deed = _BY_CALLBACKS.get(self.module.names.of(made.func) or "")
        path = argument(made, deed, 0) if deed is not None else None
        if path is not None and not self._is_own_or_none(path):
            yield Touch(made, Deed.WRITE, path)

    def download_asked(self, call: ast.Call) -> ast.expr | None:
        """What decides whether a data set of torchvision is downloaded, if it is one that can be."""
        name = self.module.names.of(call.func) or ""
        if not name.startswith("torchvision.datasets.") or has_unpacking(call):
            return None
        if name.rsplit(".", 1)[-1] in _OF_FOLDERS:
            return None
        return argument(call, "download", _DOWNLOADS.get(name.rsplit(".", 1)[-1])) or ast.Constant(False)

    def fetched_or_read(self, call: ast.Call) -> tuple[ast.expr, Touch, Touch] | None:
        """Such a data set whose download something decides: that, the download, and what is read without it."""
        root, asked = argument(call, "root", 0), self.download_asked(call)
        if root is None or asked is None or isinstance(asked, ast.Constant) or self._is_own_or_none(root):
            return None
        return asked, Touch(call, Deed.FETCH, root), Touch(call, Deed.READ, root)

    def _cache(self, call: ast.Call, name: str) -> ast.expr | str:
        word = catalogue.download_path_parameter(name)
        path = argument(call, word, 0) if word is not None else None
        return path if path is not None else name.split(".")[-2]

    def _opened(self, call: ast.Call) -> Iterator[Touch]:
        path = self._opening.path(call)
        letters = self._opening.mode(call)
        if path is None or letters is None:
            return
        if "w" in letters or "x" in letters:
            yield Touch(call, Deed.WRITE, path, needs_folder=True)
        elif "a" not in letters:  # lines that ranks append stand one after the other
            yield Touch(call, Deed.READ, path)

    def _milder(self, call: ast.Call, deed: Deed) -> Deed:
        """The same, unless a folder may be there already."""
        words = {k.arg: k.value for k in call.keywords}
        there = words.get("exist_ok")
        if deed is Deed.MAKE and (isinstance(there, ast.Constant) and there.value or self._may_fail(call)):
            return Deed.ENSURE
        return deed

    def _may_fail(self, call: ast.Call) -> bool:
        """Whether a call stands in a `try` that goes on after an exception."""
        syntax, child = self.module.syntax, cast("ast.AST", call)
        for a in syntax.ancestors(call):
            if isinstance(a, ast.Try) and syntax.field[child] == "body" and a.handlers:
                return True
            if isinstance(a, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                return False
            child = a
        return False

    def _of_method(self, call: ast.Call, func: ast.Attribute) -> Iterator[Touch]:
        receiver, method = func.value, func.attr
        if method in _MODEL_METHODS and (
            self._is_model(call, receiver) or self._is_like_models(call, method)
        ):
            path = argument(call, "filepath", 0)
            if path is not None:
                yield Touch(call, _MODEL_METHODS[method], path)
        elif method in _SAVER_METHODS and f"{_V1}train.Saver" in self.module.values.class_names(receiver):
            deed, word, at = _SAVER_METHODS[method]
            path = argument(call, word, at)
            if path is not None:
                yield Touch(call, deed, path)
        elif (kept := self._checkpoints(call, receiver, method)) is not None:
            yield kept
        elif method == "save" and call.args and self._is_pipeline(receiver):
            yield Touch(call, Deed.WRITE, call.args[0])
        elif method in _FRAME_METHODS and call.args and not _appends(call):
            yield Touch(call, Deed.WRITE, call.args[0], needs_folder=True)
        elif method == "save" and call.args and self._is_picture(receiver):
            yield Touch(call, Deed.WRITE, call.args[0], needs_folder=True)
        elif method in _PATH_METHODS:
            yield Touch(call, Deed.WRITE, receiver, needs_folder=True)
        elif method in _UNPACKING and self._is_archive(receiver):
            folder = argument(call, "path", 0)
            yield Touch(call, Deed.UNPACK, folder if folder is not None else ".")
        elif method in _FROM_FOLDERS:
            folder = argument(call, "directory", 0)
            if folder is not None:
                yield Touch(call, Deed.READ, folder)
        elif method == "download_and_prepare":
            made = self.module.values.calls(receiver)
            if len(made) == 1 and self.module.names.of(made[0].func) == _TFDS + "builder":
                for touch in self._prepared(made[0], Deed.FETCH):
                    yield Touch(call, touch.deed, touch.path)
        elif (path := self.kept_in(call)) is not None:
            yield Touch(call, Deed.WRITE, path, needs_folder=True)
        elif (path := changed_database(self.facts, call)) is not None:
            yield Touch(call, Deed.WRITE, path, needs_folder=True)
        elif method in _OF_PATHS and self._is_path(receiver):
            deed = _OF_PATHS[method]
            alone = deed is Deed.REMOVE and not call.args and not call.keywords and not self._may_fail(call)
            yield Touch(call, self._milder(call, deed), receiver, alone=alone)

    def _checkpoints(self, call: ast.Call, receiver: ast.expr, method: str) -> Touch | None:
        """The folder of the checkpoints that a manager keeps: rank 0 saves one, `manager.save()`, and ranks read the last,
        `checkpoint.restore(manager.latest_checkpoint)`."""
        if method == "save" and self.facts.rank_tests.deciding(call) is not None:
            folder = self._folder_of(receiver)
            return Touch(call, Deed.WRITE, folder) if folder is not None else None
        given = argument(call, "save_path", 0) if method in ("restore", "read") else None
        for origin in self.module.values.origins(given) if given is not None else ():
            last = origin.node
            folder = None
            if isinstance(last, ast.Attribute) and last.attr == "latest_checkpoint":
                folder = self._folder_of(last.value)
            elif isinstance(last, ast.Call) and self.module.names.of(last.func) in _LAST:
                folder = argument(last, "checkpoint_dir", 0)
            if folder is not None:
                return Touch(call, Deed.READ, folder)
        return None

    def _folder_of(self, manager: ast.expr) -> ast.expr | None:
        """The folder of a `tf.train.CheckpointManager`."""
        made = [c for c in self.module.values.calls(manager) if self.module.names.of(c.func) == _MANAGER]
        return argument(made[0], "directory", 1) if len(made) == 1 else None

    def kept_in(self, call: ast.Call) -> ast.expr | None:
        """The file that a pipeline of `tf.data` keeps its rows in: `dataset.cache("rows")`. Without one they are in memory."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "cache":
            return None
        path = argument(call, "filename", 0)
        is_named = path is not None and not (isinstance(path, ast.Constant) and not path.value)
        return path if is_named and self._is_pipeline(call.func.value) else None

    def _is_pipeline(self, e: ast.expr, depth: int = 12) -> bool:
        """Whether something is a data set of `tf.data`, or what its methods make of one."""
        if any(name.startswith(_PIPELINES) for name in self.module.values.class_names(e)):
            return True
        made = self.module.values.calls(e) if depth else []
        return bool(made) and all(
            isinstance(c.func, ast.Attribute)
            and (
                (self.module.names.of(c.func) or "").startswith(_PIPELINES)
                or (not self.module.names.of(c.func) and self._is_pipeline(c.func.value, depth - 1))
            )
            for c in made
        )

    def _is_picture(self, e: ast.expr, depth: int = 6) -> bool:
        """Whether something is a picture of Pillow's, or made of one by its methods: `Image.fromarray(x).resize((64, 64))`."""
        made = self.module.values.calls(e) if depth else []
        return bool(made) and all(
            name.startswith(_MADE_PICTURES)
            or (not name and isinstance(c.func, ast.Attribute) and self._is_picture(c.func.value, depth - 1))
            for c in made
            for name in [self.module.names.of(c.func) or ""]
        )

    def _is_archive(self, e: ast.expr) -> bool:
        """Whether something is an archive that was opened: `tarfile.open("rows.tar")`."""
        made = self.module.values.calls(e)
        return bool(made) and all((self.module.names.of(c.func) or "").startswith(_ARCHIVES) for c in made)

    def _is_model(self, call: ast.Call, receiver: ast.expr) -> bool:
        if MODEL in self.module.values.class_names(receiver):
            return True
        text = ast.unparse(receiver)
        return text in self._models or (text == "self.model" and self.facts.hooks.around(call) is not None)

    def _is_like_models(self, call: ast.Call, method: str) -> bool:
        """Whether a call names what models of Keras alone do, of an object that another library makes. That may leave writing
        to rank 0 itself: only where the script does so, it surely writes."""
        if method not in _OF_MODELS_ALONE:
            return False
        return _MODEL_METHODS[method] is Deed.READ or self.facts.rank_tests.deciding(call) is not None

    def _is_path(self, e: ast.expr) -> bool:
        """Whether an expression is a path of pathlib: `Path("a") / "b"`."""
        origins = self.module.values.origins(e)
        return all(not o.path and isinstance(o.node, ast.expr) and self._makes_path(o.node) for o in origins)

    def _makes_path(self, e: ast.expr) -> bool:
        match e:
            case ast.Call() if (self.module.names.of(e.func) or "").startswith("pathlib."):
                return True
            case ast.Call(func=ast.Attribute(value=of, attr=name)):
                return name in _GIVING_PATHS and self._is_path(of)
            case ast.BinOp(op=ast.Div(), left=left):
                return self._is_path(left)
            case ast.Attribute(value=of, attr="parent"):
                return self._is_path(of)
        return False


def _ignores(call: ast.Call) -> bool:
    """`shutil.rmtree(path, ignore_errors=True)`; whatever else is given may do that, too."""
    return len(call.args) > 1 or any(
        k.arg in ("ignore_errors", "onerror", "onexc", None) for k in call.keywords
    )


def _appends(call: ast.Call) -> bool:
    """`to_csv(path, mode="a")`."""
    mode = argument(call, "mode")
    return mode is not None and not (isinstance(mode, ast.Constant) and mode.value == "w")
