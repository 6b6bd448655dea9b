"""The scripts of `scripts.toml` and `keras_3.toml`, and their texts out of a mirror of their repositories.

keras = 3            once, above all: the scripts are for Keras 3, and are trained under it

[[script]]
repo, commit, path   where it is
sha1                 of the file as it is published
tf1 = true           `import tensorflow` is to give it TensorFlow 1
beside = ["a.py"]    further files that it imports or reads, paths from its folder; "../b.py as c/b.py" puts them elsewhere.
                     What is no Python lies in its working directory
setup = "a = 1"      put before the script: what it needs to run here, in words of ours
data = "a = 1"       run once in its working directory, before it: makes the files that it reads
epochs, steps        numbers that are given a name of that meaning, and ranges that are longer than steps, are cut to these
replace = [["old", "new"], …]   to make it fit for TensorFlow 2.15, or shorter; regular expressions, each found at least once
runs = 2             trained so often in one directory, each going on from the last
note = "…"           why a difference is right, or where it is known"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


_EPOCHS = re.compile(r"(\b\w*(?:epoch|EPOCH)\w*\s*=\s*)(\d+)\b(?![.*])")
_EPOCH_LOOP = re.compile(
    r"(\bfor (?:\w*epoch\w*|ep|e) in range\((?:[01],\s*)?)(\d+)(?=\s*(?:\+\s*1\s*)?\))", re.IGNORECASE
)
_STEPS = re.compile(r"(\b\w*(?:iter|ITER|steps|STEPS)\w*\s*=\s*)(\d+)\b(?![.*])")
_RANGE = re.compile(r"(\brange\((?:[01],\s*)?)(\d+)(?=\s*(?:\+\s*1\s*)?\))")

# The size of a data set that is made up here.
_MADE_UP_SIZES = ((r"reshape\((\(?)(60000|10000),", r"reshape(\1-1,"),)
# What the Keras of TensorFlow 2.15 has under another name.
_OF_TODAY = (
    *_MADE_UP_SIZES,
    (r"((?:SGD|Adam|RMSprop|Adagrad|Nadam)\(\s*)lr\s*=", r"\1learning_rate="),
    (
        r"keras\.layers\.(advanced_activations|convolutional|core|recurrent|embeddings|normalization|merge)\b",
        "keras.layers",
    ),
    (r"keras\.utils\.np_utils import to_categorical", "keras.utils import to_categorical"),
    (r"keras\.utils import np_utils", "keras import utils as np_utils"),
    (r"keras\.optimizers import (Adam|RMSprop|SGD)$", r"keras.optimizers.legacy import \1"),
)


@dataclass(frozen=True)
class Listed:
    repo: str
    commit: str
    path: str
    sha1: str = ""
    tf1: bool = False
    beside: list[str] = field(default_factory=list)
    setup: str = ""
    data: str = ""
    epochs: int = 3
    steps: int = 48
    replace: list[list[str]] = field(default_factory=list)
    runs: int = 1
    note: str = ""
    kind: str = ""
    keras: int = 2

    @property
    def game(self) -> bool:
        """Whether its losses are those of players against each other, and need not go down."""
        return "GAN" in self.kind

    @property
    def name(self) -> str:
        return f"{self.repo} {self.path}"

    def write(self, mirror: Path, folder: Path) -> Path:
        """The script, made fit to run, and what it imports, in a folder. Returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        published = self._read(mirror, self.path)
        if self.sha1 and hashlib.sha1(published).hexdigest() != self.sha1:
            raise ValueError(f"{self.name} is not the file that is listed")
        script = folder / (re.sub(r"\W+", "_", Path(self.path).stem) + ".py")
        text = self._fitted(published.decode("utf-8-sig").replace("\r\n", "\n"))
        for old, new in self.replace:
            text, times = re.subn(old, new, text, flags=re.MULTILINE)
            if not times:
                raise ValueError(f"{self.name}: {old!r} is not found")
        if self.tf1 and any(".py" in other for other in self.beside):  # all of a program name it alike
            text = text.replace("import tensorflow as tf", "import tensorflow.compat.v1 as tf")
        script.write_text((self.setup + "\n" if self.setup else "") + text, encoding="utf-8")
        for other in self.beside:
            path, _, name = other.partition(" as ")
            data = self._read(mirror, os.path.normpath(f"{Path(self.path).parent}/{path}"))
            if self.tf1 and path.endswith(".py"):
                data = data.replace(b"import tensorflow as tf", b"import tensorflow.compat.v1 as tf")
            target = folder / (name or (path if path.endswith(".py") else Path(path).name))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return script

    def _fitted(self, text: str) -> str:
        def cut(most: int) -> Callable[[re.Match[str]], str]:
            return lambda found: found[0] if int(found[2]) <= most else f"{found[1]}{most}"

        for old, new in _MADE_UP_SIZES if self.keras == 3 else _OF_TODAY:
            text = re.sub(old, new, text, flags=re.MULTILINE)
        text = _EPOCH_LOOP.sub(cut(self.epochs), _EPOCHS.sub(cut(self.epochs), text))
        return _RANGE.sub(cut(self.steps), _STEPS.sub(cut(self.steps), text))

    def _read(self, mirror: Path, path: str) -> bytes:
        place = mirror / self.repo.replace("/", "+") / "repo"
        git = place / ".git" if (place / ".git").is_dir() else place
        return subprocess.run(
            ["git", "--git-dir", str(git), "show", f"{self.commit}:{path}"], check=True, capture_output=True
        ).stdout


def read(path: Path) -> list[Listed]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Listed(**one, keras=table.get("keras", 2)) for one in table["script"]]
