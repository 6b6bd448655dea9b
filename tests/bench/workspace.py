"""A folder of 10,000 files, as a company's repository may be: packages of helpers, and among them some that train. How long it
takes to index, from nothing and from the cache, and whether hovers are answered meanwhile."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.client import Client, cpu, memory
from tests.bench.places import hover_position
from tests.bench.scripts import training_script
from tests.bench.servers import OURS, client_capabilities

FILES = 10_000
WITH_TENSORFLOW = 1_000  # a third of them train, a third is models, a third only imports it
_PACKAGE = 50  # files
_PATIENCE = 300.0  # seconds
_PAUSE = 0.05  # seconds from one hover to the next

_HELPERS = '''\
"""Helpers number {i} of package {p}."""

import json
import logging
from pathlib import Path

from .{other} import step_{j} as earlier

logger = logging.getLogger(__name__)


class Record{i}:
    def __init__(self, name, values=(), parent=None):
        self.name, self.values, self.parent = name, list(values), parent

    def add(self, value):
        if value is None:
            raise ValueError("nothing to add")
        self.values.append(value)
        logger.debug("%s has %d", self.name, len(self.values))

    def total(self):
        return sum(self.values) + (self.parent.total() if self.parent else 0)


def step_{i}(path, encoding="utf-8", limit=None):
    """Reads step {i}."""
    found = []
    for number, line in enumerate(Path(path).read_text(encoding=encoding).splitlines()):
        if limit is not None and number > limit:
            break
        data = json.loads(line)
        found.append(Record{i}(data["name"], data.get("values", ())))
    return found or earlier(path)
'''

_MODEL = '''\
"""Models number {i}."""

import tensorflow as tf
from tensorflow import keras

from .module_{j} import step_{j}


class Network{i}(keras.Model):
    def __init__(self, units=64):
        super().__init__()
        self.hidden = [keras.layers.Dense(units, activation="relu") for _ in range({depth})]
        self.out = keras.layers.Dense(10)

    def call(self, x, training=False):
        for layer in self.hidden:
            x = layer(x)
        return self.out(x)


def make_{i}(units=64):
    model = Network{i}(units)
    model.steps = step_{j}
    return model


def loss_{i}(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
'''

_USES = '''\
"""Looks at what was trained, number {i}."""

import tensorflow as tf

from .module_{j} import step_{j}


def restore_{i}(path):
    model = tf.keras.models.load_model(path)
    return model, step_{j}(path)
'''


@dataclass
class Indexing:
    """Times in seconds, `cpu` that of the server's process alone; hovers in ms, memory in MiB: that of the server, and of the
    processes beside it that read files, and end when there was nothing to be read for a while."""

    seconds: float = 0.0
    cpu: float = 0.0
    hovers: list[float] = field(default_factory=list)
    memory: float = 0.0
    readers: float = 0.0


def generate(folder: Path, files: int = FILES, with_tensorflow: int = WITH_TENSORFLOW) -> None:
    """Writes the files: every so-manieth one is about TensorFlow."""
    every = files // with_tensorflow
    for number in range(files):
        package, place = divmod(number, _PACKAGE)
        inside = folder / f"team_{package // 20}" / f"package_{package}"
        if place == 0:
            inside.mkdir(parents=True)
            (inside / "__init__.py").write_text(f'"""Package {package}."""\n')
        other = number - 1 if place else number + 1
        names = {"i": number, "j": other, "p": package, "other": f"module_{other}", "depth": number % 7 + 1}
        if number % every:
            text = _HELPERS.format(**names)
        else:
            text = _about_tensorflow(number // every, names)
        (inside / f"module_{number}.py").write_text(text)


def _about_tensorflow(number: int, names: dict[str, object]) -> str:
    match number % 3:
        case 0:
            text = training_script(100 + number % 5 * 60)
            return text.replace(
                "an image classifier", f"image classifier {number}"
            )  # no two files are the same
        case 1:
            return _MODEL.format(**names)
        case _:
            return _USES.format(**names)


def index(folder: Path, cache: Path) -> Indexing:
    """Has our server index a folder, and asks for hovers in a script of 300 lines meanwhile."""
    found = Indexing()
    text = training_script(300)
    uri = (folder / "opened.py").as_uri()
    with Client(OURS.command, folder, cache) as client:
        client.initialize(client_capabilities(OURS))
        start = time.perf_counter()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        client.timed_diagnostics("textDocument/didOpen", {"textDocument": item}, uri, 1)
        there = {"textDocument": {"uri": uri}, "position": hover_position(text)}
        client.request("textDocument/hover", there)  # the first one after a start loads what it needs
        while not client.request("horovodize/workspaceSummary", {})["complete"]:
            found.hovers.append(client.timed("textDocument/hover", there)[0])
            time.sleep(_PAUSE)
            if time.perf_counter() - start > _PATIENCE:
                raise TimeoutError(f"not indexed in {_PATIENCE:.0f} s")
        found.seconds, found.cpu = time.perf_counter() - start, cpu(client.pid)
        found.memory = memory(client.pid, alone=True)
        found.readers = memory(client.pid) - found.memory
    return found


def generated() -> tuple[Indexing, Indexing]:
    """The generated folder, indexed from nothing and from the cache."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as cache:
        folder = Path(place).resolve()
        generate(folder)
        return index(folder, Path(cache)), index(folder, Path(cache))
