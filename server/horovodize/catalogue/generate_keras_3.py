"""Writes which public names of Keras 2 are not in Keras 3, from both:

    PYTHON-WITH-TENSORFLOW-2.15 generate_keras_3.py names | PYTHON-WITH-THE-NEWEST generate_keras_3.py > keras_3.json

Stands alone, as `generate.py` does. `gone` has two lists, by module, since Keras 3 is not the same under its two names:
``keras`` (the package) lacks most of the functions of `keras.backend`, ``tensorflow.keras`` lacks losses as functions.
``optimizers`` are the defaults of optimizers' parameters that are others than in Keras 2: [Keras 2's, Keras 3's]."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
warnings.simplefilter("ignore")

ROOTS = ("keras", "tensorflow.keras")
PRIVATE = {"src", "api", "google", "protobuf"}
# What a class is made with without being asked for it: of no meaning for training.
NO_DEFAULTS = {"name", "jit_compile", "kwargs", "args", "self"}


def walk(module: Any, prefix: str, above: tuple[int, ...] = ()) -> Iterator[str]:
    """Every public name below an API module, modules too."""
    if id(module) in above:
        return
    for name in sorted(set(dir(module))):
        if name.startswith("_") or name in PRIVATE:
            continue
        value = getattr(module, name, None)
        if not inspect.ismodule(value):
            yield f"{prefix}.{name}"
        elif value.__name__.startswith("keras."):
            yield f"{prefix}.{name}"
            yield from walk(value, f"{prefix}.{name}", (*above, id(module)))


def has(name: str) -> bool:
    """Whether a name can be reached, by attributes or imported."""
    first, *rest = name.split(".")
    path, value = first, importlib.import_module(first)
    for part in rest:
        path += "." + part
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ImportError:
                return False
    return True


def defaults() -> dict[str, dict[str, Any]]:
    """Of each optimizer, what its parameters are without being given."""
    optimizers = importlib.import_module("keras").optimizers
    found = {}
    for name in sorted(dir(optimizers)):
        value = getattr(optimizers, name)
        if inspect.isclass(value) and name[:1].isupper() and name not in ("Optimizer", "LossScaleOptimizer"):
            parameters = inspect.signature(value).parameters.values()
            found[name] = {
                p.name: p.default
                for p in parameters
                if p.name not in NO_DEFAULTS and isinstance(p.default, (bool, int, float, str, type(None)))
            }
    return found


def names() -> dict[str, Any]:
    """What Keras 2 has."""
    modules = {root: importlib.import_module(root.partition(".")[0]) for root in ROOTS}
    modules["tensorflow.keras"] = modules["tensorflow.keras"].keras
    found = {root: sorted(set(walk(module, root))) for root, module in modules.items()}
    return {"names": found, "defaults": defaults()}


def by_module(names: list[str]) -> dict[str, str]:
    grouped: dict[str, list[str]] = {}
    for name in sorted(names):
        module, _, last = name.rpartition(".")
        grouped.setdefault(module, []).append(last)
    return {module: " ".join(lasts) for module, lasts in grouped.items()}


def gone(names: list[str]) -> list[str]:
    """Those that are not there; of a module that is not there, only the module."""
    missing = {name for name in names if not has(name)}
    return sorted(name for name in missing if name.rpartition(".")[0] not in missing)


def collect(old: dict[str, Any]) -> dict[str, Any]:
    new = defaults()
    differs = {
        name: {p: [value, new[name][p]] for p, value in of_old.items() if new[name].get(p, value) != value}
        for name, of_old in old["defaults"].items()
        if name in new
    }
    return {
        "tensorflow": importlib.import_module("tensorflow").__version__,
        "keras": importlib.import_module("keras").__version__,
        "gone": {root: by_module(gone(old["names"][root])) for root in ROOTS},
        "optimizers": {name: found for name, found in differs.items() if found},
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        json.dump(names(), sys.stdout)
    else:
        sys.stdout.write(json.dumps(collect(json.load(sys.stdin)), indent=1) + "\n")
