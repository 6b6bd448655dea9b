"""Runs in an interpreter that has TensorFlow, for ``test_against_tensorflow.py``: says what names really stand for.

Standard input: a list of dotted names. Standard output: ``spelled`` (each of them → a number that stands for the
object, null if there is none), ``public`` (the same for every public name of TensorFlow and Keras), ``strings`` (what
Keras makes of ``optimizers.get``), ``bases`` (class name → which of the catalogue's roots it derives from).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from typing import Any


def resolve(path: str) -> Any:
    """What a dotted name stands for: the longest beginning that can be imported, then attributes."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        try:
            for part in parts[end:]:
                found = getattr(found, part)
        except AttributeError:
            continue
        return found
    return None


def number(value: Any) -> int | None:
    return id(value) if inspect.isclass(value) or inspect.isfunction(value) or callable(value) else None


def main(generator: str) -> None:
    specification = importlib.util.spec_from_file_location("generate", generator)
    assert specification is not None
    assert specification.loader is not None
    generate = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(generate)
    spelled = json.load(sys.stdin)
    tf = importlib.import_module("tensorflow")
    roots = {
        "tensorflow": tf,
        "tensorflow.keras": tf.keras,
        "tensorflow.compat.v1": tf.compat.v1,
        "tensorflow.compat.v1.keras": tf.compat.v1.keras,
        "tensorflow.compat.v2": tf,
        "keras": importlib.import_module("keras"),
    }
    public = {name: value for prefix, root in roots.items() for name, value in generate.walk(root, prefix)}
    strings = {}
    for text in (
        "adam",
        "Adam",
        "SGD",
        "rmsprop",
        "RMSprop",
        "adagrad",
        "adadelta",
        "adamax",
        "nadam",
        "ftrl",
    ):
        strings[text] = id(type(tf.keras.optimizers.get(text)))
    rates = {}
    for name, value in public.items():
        if name.startswith("tensorflow.keras.optimizers.") and inspect.isclass(value):
            try:
                rates[name] = float(value().learning_rate)
            except (TypeError, NotImplementedError, AttributeError):
                rates[name] = None
    keras = tf.keras
    families = {
        "tensorflow.keras.optimizers.Optimizer": keras.optimizers.Optimizer,
        "tensorflow.keras.optimizers.schedules.LearningRateSchedule": keras.optimizers.schedules.LearningRateSchedule,
        "tensorflow.keras.callbacks.Callback": keras.callbacks.Callback,
        "tensorflow.keras.layers.Layer": keras.layers.Layer,
        "tensorflow.keras.Model": keras.Model,
        "tensorflow.data.Dataset": tf.data.Dataset,
        "tensorflow.compat.v1.train.Optimizer": tf.compat.v1.train.Optimizer,
        "tensorflow.compat.v1.train.SessionRunHook": tf.compat.v1.train.SessionRunHook,
    }
    bases = {
        name: [family for family, root in families.items() if issubclass(value, root)]
        for name, value in public.items()
        if inspect.isclass(value)
    }
    json.dump(
        {
            "version": tf.__version__,
            "spelled": {path: number(resolve(path)) for path in spelled},
            "public": {name: number(value) for name, value in public.items()},
            "strings": strings,
            "rates": rates,
            "bases": bases,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(sys.argv[1])
