"""Data made up for scripts that download theirs: small, learnable, the same in every process and with every seed.

Runs where TensorFlow is, in the probe, before the script: `--before made_up.py`. What is asked of `keras.datasets`,
`tensorflow_datasets`, `input_data` and `get_file` is answered without a network. Modules that only draw pictures are
stand-ins that do nothing; further packages are looked for in the folder HOROVODIZE_TRIALS_PACKAGES."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS, TEST_ROWS, COLOUR_ROWS, WORDS = 768, 128, 256, 400
PICTURES = ("matplotlib", "mpl_toolkits", "seaborn", "imageio", "IPython", "cv2", "pyplot", "plotly")


def install() -> None:
    """Puts made-up data in the place of what would be downloaded."""
    import mnist
    import tensorflow as tf

    sys.path.append(os.environ.get("HOROVODIZE_TRIALS_PACKAGES", ""))
    mnist.TRAIN, mnist.TEST = 2 * ROWS + 64, TEST_ROWS
    sys.meta_path.append(_Pictures())
    import keras.datasets

    made: dict[str, Callable[..., Any]] = {
        "mnist": lambda path="": _pictures((28, 28), 10, ROWS, flat_labels=True),
        "fashion_mnist": lambda: _pictures((28, 28), 10, ROWS, flat_labels=True),
        "cifar10": lambda: _pictures((32, 32, 3), 10, COLOUR_ROWS),
        "cifar100": lambda label_mode="fine": _pictures((32, 32, 3), 100, COLOUR_ROWS),
        "imdb": _reviews(2),
        "reuters": _reviews(46),
        "boston_housing": _houses,
    }
    for datasets in (tf.keras.datasets, keras.datasets):
        for name, load in made.items():
            module = getattr(datasets, name)
            module.load_data = load
            if hasattr(module, "get_word_index"):
                module.get_word_index = _word_index
    _replace_everywhere("get_file", tf.keras.utils.get_file, _file)
    _replace_everywhere("plot_model", tf.keras.utils.plot_model, lambda *_, **__: None)
    sys.modules["tensorflow_datasets"] = _tensorflow_datasets()


def _pictures(shape: tuple[int, ...], classes: int, rows: int, flat_labels: bool = False) -> Any:
    """A pattern a class, and noise. Bytes, as the real ones are."""
    random = np.random.RandomState(28)
    patterns = random.uniform(size=(classes, *shape)) < 0.15
    parts = []
    for count in (rows, TEST_ROWS):
        labels = random.randint(0, classes, size=count)
        pictures = 200 * patterns[labels] + random.uniform(0, 55, size=(count, *shape))
        parts.append(
            (pictures.astype("uint8"), labels.astype("uint8").reshape(-1 if flat_labels else (-1, 1)))
        )
    if flat_labels:
        return tuple(parts)
    return tuple((pictures, labels.reshape(-1, 1)) for pictures, labels in parts)


def _reviews(classes: int) -> Callable[..., Any]:
    """Texts as numbers of words; the class shows in which words are frequent."""

    def load_data(
        path: str = "", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None, **_: Any
    ) -> Any:
        random = np.random.RandomState(46)
        top = min(num_words or WORDS, WORDS)
        parts = []
        for count in (COLOUR_ROWS, TEST_ROWS):
            labels = random.randint(0, classes, size=count)
            texts = np.empty(count, dtype=object)
            for row, label in enumerate(labels):
                words = random.randint(4, top, size=random.randint(10, 40))
                texts[row] = [1, *np.where(random.uniform(size=len(words)) < 0.4, 4 + label, words).tolist()]
            parts.append((texts, labels.astype("int64")))
        return tuple(parts)

    return load_data


def _word_index(path: str = "") -> dict[str, int]:
    return {f"word{number}": number for number in range(1, WORDS)}


def _houses(path: str = "", test_split: float = 0.2, seed: int = 113) -> Any:
    random = np.random.RandomState(13)
    rows = random.normal(size=(500, 13))
    prices = rows @ random.normal(size=13) + 22 + 0.3 * random.normal(size=500)
    cut = int(500 * (1 - test_split))
    return (rows[:cut], prices[:cut]), (rows[cut:], prices[cut:])


# --------------------------------------------------------------------------- files


def _file(fname: str | None = None, origin: str = "", *args: Any, **kwargs: Any) -> str:
    """A path to a file of the kind that would be downloaded: text, tables."""
    import tempfile

    name = os.path.basename(fname or origin)
    folder = tempfile.mkdtemp()  # of this process: ranks download for themselves
    path = os.path.join(folder, name)
    random = np.random.RandomState(7)
    if name.endswith((".txt", ".text")):
        words = [
            "".join(random.choice(list("abcdeghilmnorstu"), size=random.randint(2, 7))) for _ in range(60)
        ]
        text = "\n".join(" ".join(random.choice(words, size=8)) for _ in range(600))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif name.endswith((".npz",)):
        (x_train, y_train), (x_test, y_test) = _pictures((28, 28), 10, ROWS, flat_labels=True)
        np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    elif "auto-mpg" in name:
        with open(path, "w", encoding="utf-8") as file:
            for _ in range(392):
                row = [
                    random.randint(3, 9),
                    *random.uniform(50, 300, size=3).round(1),
                    round(random.uniform(8, 25), 1),
                ]
                fuel = 60 - 0.05 * row[1] - 2 * row[0]
                file.write(
                    f'{fuel:.1f} {" ".join(map(str, row))} {random.randint(70, 83)} {random.randint(1, 4)}\t"car"\n'
                )
    elif "iris" in name:
        with open(path, "w", encoding="utf-8") as file:
            rows = 120 if "train" in name else 30
            file.write(f"{rows},4,setosa,versicolor,virginica\n")
            for _ in range(rows):
                kind = random.randint(3)
                file.write(",".join(f"{v:.1f}" for v in random.normal(2 * kind, 0.5, size=4)) + f",{kind}\n")
    else:
        raise OSError(f"nothing is made up for {name}")
    return path


def _replace_everywhere(name: str, original: Any, new: Any) -> None:
    """In every module that holds a function under its name."""
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is original:
            setattr(module, name, new)
    import tensorflow as tf

    setattr(tf.keras.utils, name, new)
    sys.modules["keras.utils"].__dict__.update({name: new}) if "keras.utils" in sys.modules else None


# --------------------------------------------------------------------------- modules


def _tensorflow_datasets() -> types.ModuleType:
    """`tensorflow_datasets` with `load` for pictures in classes."""
    import tensorflow as tf

    module: Any = types.ModuleType("tensorflow_datasets")

    class Info:
        splits: dict[str, Any]
        features: dict[str, Any]

    def load(
        name: str, split: Any = None, as_supervised: bool = False, with_info: bool = False, **_: Any
    ) -> Any:
        shape = (32, 32, 3) if "cifar" in name else (28, 28, 1) if "mnist" in name else (64, 64, 3)
        classes = 2 if "cats" in name else 10
        parts = _pictures(shape, classes, ROWS if "mnist" in name else COLOUR_ROWS, flat_labels=True)
        made = {}
        for key, (pictures, labels) in zip(("train", "test"), parts, strict=True):
            row: Any = (pictures, labels.astype("int64"))
            made[key] = tf.data.Dataset.from_tensor_slices(
                row if as_supervised else {"image": row[0], "label": row[1]}
            )
        info = Info()
        info.splits = {
            key: types.SimpleNamespace(num_examples=len(part[0]))
            for key, part in zip(("train", "test"), parts, strict=True)
        }
        info.features = {
            "label": types.SimpleNamespace(num_classes=classes),
            "image": types.SimpleNamespace(shape=shape),
        }

        def one(wanted: Any) -> Any:
            return made["train" if "train" in str(wanted) else "test"]

        found = (
            made
            if split is None
            else [one(s) for s in split]
            if isinstance(split, (list, tuple))
            else one(split)
        )
        return (found, info) if with_info else found

    module.load = load
    module.disable_progress_bar = lambda: None
    module.as_numpy = lambda dataset: dataset.as_numpy_iterator()
    module.__spec__ = importlib.machinery.ModuleSpec("tensorflow_datasets", None)
    return module


class _Nothing(types.ModuleType):
    """Stands for a module that draws: every name in it can be called, indexed, unpacked and gone through, and does nothing."""

    __path__: Any = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Quiet()


class _Quiet:
    def __call__(self, *args: Any, **kwargs: Any) -> _Quiet:
        return self

    def __getattr__(self, name: str) -> _Quiet:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> _Quiet:
        if isinstance(key, int) and key > 64:
            raise IndexError
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Any:
        return iter((self, self))

    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *args: object) -> None:
        pass


class _Pictures(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".", maxsplit=1)[0] in PICTURES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Nothing(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass
