"""Writes the catalogue's data from a real TensorFlow: ``python generate.py > data.json``.

Stands alone (only TensorFlow 2.15 is imported), so that it can be run by its path inside an environment that
has TensorFlow but not Horovodize. What to look for is in ``wanted.json``. The output is the same on every run: names
are sorted, one entry a line.

What is written, all by public dotted names without the leading ``tensorflow.``:

``aliases``       canonical name → the other public spellings that the fixed rewriting of prefixes (``names.py``) leaves
``v1_only``       names of ``tensorflow.compat.v1`` that TensorFlow 2 does not have, by module
``v1_differs``    names both have, that are called differently in each, by module
``keras_names``   Keras' public names, by module
``homes``         private names of classes that do not end like the public one (``DatasetV2``)
``classes``       bases, parameters and methods
``functions``     parameters
``strings``       what ``compile(optimizer="…")`` understands

Parameters are written as in a ``lambda``; ``...`` stands for a default that is not a number, string, bool or None,
and ``=name`` for the parameters of a function before it in the same module.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
warnings.simplefilter("ignore")

V1 = "tensorflow.compat.v1"
API_MODULES = ("tensorflow._api", "keras.api", "tensorflow_estimator", "tensorboard.summary")
SKIPPED_MODULES = {"compat", "raw_ops", "python", "core", "numpy", "mock", "__internal__"}


def listed(by_module: dict[str, str]) -> set[str]:
    """``{"a.b": "c d"}`` as ``{"a.b.c", "a.b.d"}``."""
    return {f"{module}.{last}" for module, lasts in by_module.items() for last in lasts.split()}


# Pairs of TensorFlow 1 and 2 classes that are one thing to a training script, though not one object.
SAME_FOR_US = ("keras.", "data.", "train.", "estimator.", "distribute.", "Variable", "DeviceSpec", "lookup.")

# Which classes and functions the catalogue holds: those below ``class_roots``, those in the modules, those by name.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "wanted.json"), encoding="utf-8") as _file:
    WANTED = {kind: listed(modules) for kind, modules in json.load(_file).items()}

# Names outside these are never asked for: how a program computes is its own affair.
NEEDED = ("data.", "train.", "summary.", "random.", "config.", "distribute.", "estimator.", "io.gfile.")
UNNEEDED_KERAS = {
    "losses",
    "metrics",
    "initializers",
    "activations",
    "regularizers",
    "constraints",
    "dtensor",
}
# Keras' layers are known by their bases only: what they take and do is of no use to us.
WITH_METHODS = {"tensorflow.keras.layers.Layer", "tensorflow.keras.Model", "tensorflow.keras.Sequential"}
WITHOUT_METHODS = {"tensorflow.Graph", "tensorflow.train.Coordinator"}
DROPPED_METHODS = {"get_config", "from_config"}
# Classes whose TensorFlow 1 namesake can do more.
MERGED_METHODS = {"tensorflow.data.Dataset", "tensorflow.Variable"}
# Modules of TensorFlow 2 that are Keras' under a shorter name.
KERAS_SHORT = (
    "tensorflow.optimizers.",
    "tensorflow.losses.",
    "tensorflow.metrics.",
    "tensorflow.initializers.",
)


def walk(module: Any, prefix: str, above: frozenset[int] = frozenset()) -> Iterator[tuple[str, Any]]:
    """Every public name under an API module, with what it stands for; modules themselves are not listed."""
    if id(module) in above:
        return
    for name in sorted(set(dir(module))):
        if name.startswith("_") or name in SKIPPED_MODULES:
            continue
        value = getattr(module, name, None)
        if not inspect.ismodule(value):
            yield f"{prefix}.{name}", value
        elif value.__name__.startswith(API_MODULES):
            yield from walk(value, f"{prefix}.{name}", above | {id(module)})


def literal(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    return repr(value) if type(value) in (bool, int, float, str, type(None)) else "..."


def parameters(thing: Any, *, drop_first: bool) -> str:
    """A callable's parameters as they stand in a lambda, stars and defaults included."""
    if drop_first and hasattr(thing, "DESCRIPTOR"):  # a protocol buffer: its fields are its keywords
        return ", ".join(["*", *(f"{field.name}=..." for field in thing.DESCRIPTOR.fields)])
    try:
        found = list(
            inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters.values()
        )
    except (TypeError, ValueError):
        return "*args, **kwargs"
    if drop_first and found and found[0].kind in (found[0].POSITIONAL_ONLY, found[0].POSITIONAL_OR_KEYWORD):
        found = found[1:]
    written, starred = [], False
    for one in found:
        if one.kind is one.VAR_POSITIONAL:
            starred = True
        elif one.kind is one.KEYWORD_ONLY and not starred:
            written.append("*")
            starred = True
        stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        # Every model of keras.applications has a default name of its own, and no other difference.
        plain = "..." if one.name == "model_name" else literal(one.default)
        default = "" if one.default is one.empty else f"={plain}"
        written.append(f"{stars}{one.name}{default}")
    return ", ".join(written)


def by_module(names: Iterable[str]) -> dict[str, str]:
    """``a.b.c`` and ``a.b.d`` as ``{"a.b": "c d"}``: half the size of a list."""
    grouped: dict[str, list[str]] = {}
    for name in sorted(names):
        module, _, last = name.rpartition(".")
        grouped.setdefault(module, []).append(last)
    return {module: " ".join(lasts) for module, lasts in grouped.items()}


def rank(name: str) -> tuple[Any, ...]:
    """Orders the spellings of one object; the least is the canonical one."""
    parts = name.split(".")
    return (
        not name.startswith("tensorflow.keras."),
        "experimental" in parts,
        "preprocessing" in parts or "saving" in parts,
        parts[1] == "estimator" and parts[-1].endswith(("Hook", "Scaffold", "Creator")),
        parts[-1].startswith("experimental_"),
        "metrics" in parts,
        name.startswith(V1) and not name.startswith(f"{V1}.train."),
        len(parts),
        len(name),
        name,
    )


class Names:
    """Which public names there are, what each stands for, and which of its names is the canonical one."""

    def __init__(self, v2: dict[str, Any], v1: dict[str, Any]) -> None:
        self.v2, self.v1 = v2, v1
        self.v1_only: set[str] = set()
        self.v1_differs: set[str] = set()
        self.folded: dict[str, str] = {}  # a spelling → what the rules of names.py make of it
        for name in v2:
            short = name.startswith(KERAS_SHORT)
            self.folded[name] = "tensorflow.keras." + name.removeprefix("tensorflow.") if short else name
        for name, value in v1.items():
            plain = name.removeprefix(V1 + ".")
            modern = "tensorflow." + plain
            if plain.startswith("keras."):
                self.folded[name] = modern
            elif modern not in v2:
                self.v1_only.add(plain)
                self.folded[name] = name
            elif v2[modern] is not value and not self._alike(plain, v2[modern], value):
                self.v1_differs.add(plain)
                self.folded[name] = name
            else:
                self.folded[name] = self.folded[modern]
        self.canonical, self.spellings = self._choose()

    @staticmethod
    def _alike(plain: str, modern: Any, old: Any) -> bool:
        if inspect.isclass(modern) or inspect.isclass(old) or plain.startswith("data."):
            return plain.startswith(SAME_FOR_US)
        if callable(modern) and callable(old):
            return parameters(modern, drop_first=False) == parameters(old, drop_first=False)
        return True

    def _choose(self) -> tuple[dict[str, str], dict[str, set[str]]]:
        parent = {name: name for name in self.folded.values()}

        def root(name: str) -> str:
            while parent[name] != name:
                name = parent[name]
            return name

        first: dict[int, str] = {}
        for name, value in [*self.v2.items(), *self.v1.items()]:
            # Constants are compared by value in a program, never by identity.
            folded = self.folded[name]
            in_keras = folded.startswith("tensorflow.keras.")
            if name in self.v1 and (value is not self.v2.get(folded, value)):
                continue  # stands under its TensorFlow 2 name for something else: must not drag its own aliases along
            if inspect.isclass(value) or inspect.isfunction(value) or (callable(value) and in_keras):
                one = root(first.setdefault(id(value), folded))
                parent[root(folded)] = one
        groups: dict[str, set[str]] = {}
        for name in parent:
            groups.setdefault(root(name), set()).add(name)
        canonical, spellings = {}, {}
        for group in groups.values():
            best = min(group, key=rank)
            spellings[best] = group - {best}
            canonical.update(dict.fromkeys(group, best))
        return canonical, spellings

    def of(self, name: str) -> str:
        return self.canonical[self.folded[name]]


def objects(names: Names) -> dict[str, Any]:
    """Canonical name → the object, TensorFlow 2's where both have one."""
    found: dict[str, Any] = {}
    for name, value in [*names.v2.items(), *names.v1.items()]:
        found.setdefault(names.of(name), value)
    return {name: value for name, value in found.items() if callable(value)}


def without_root(value: Any) -> Any:
    """Drops ``tensorflow.`` from names: every one of them starts with it."""
    if isinstance(value, str):
        return " ".join(word.removeprefix("tensorflow.") for word in value.split(" "))
    if isinstance(value, list):
        return [without_root(one) for one in value]
    return {without_root(key): one for key, one in value.items()}


def unneeded(name: str) -> bool:
    """A Keras name of a family that no rule looks at."""
    return name.startswith("tensorflow.keras.") and name.split(".")[2] in UNNEEDED_KERAS


def wanted_alias(name: str, kept: set[str]) -> bool:
    plain = name.removeprefix(V1 + ".").removeprefix("tensorflow.")
    return name in kept or plain.startswith(NEEDED) or (plain.startswith("keras.") and not unneeded(name))


def wanted_class(name: str, value: type, roots: tuple[type, ...]) -> bool:
    if name in WANTED["classes"] or (issubclass(value, roots) and not unneeded(name)):
        return True
    return name.rpartition(".")[0] in WANTED["class_modules"] and not hasattr(value, "DESCRIPTOR")


def wanted_function(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if module in WANTED["function_modules"]:
        return not name.endswith(("serialize", "preprocess_input", "decode_predictions"))
    return name in WANTED["functions"] or (
        name.startswith("tensorflow.keras.datasets.") and last == "load_data"
    )


def bases(value: type, own: str, known: dict[type, str]) -> list[str]:
    """The nearest catalogued classes above the class ``own``, through private ones and namesakes in between."""
    found: list[str] = []
    for base in value.__bases__:
        for name in bases(base, own, known) if known.get(base) in (None, own) else [known[base]]:
            if name not in found:
                found.append(name)
    return found


def methods(value: type, above: set[type]) -> dict[str, str]:
    """Public methods that a class does not merely inherit from a catalogued one."""
    found: dict[str, str] = {}
    inherited = {base for parent in above for base in parent.__mro__}
    for owner in value.__mro__:
        if owner in inherited or owner is object or hasattr(owner, "DESCRIPTOR"):
            continue
        for name, raw in vars(owner).items():
            if name.startswith("_") or name in found or name in DROPPED_METHODS or isinstance(raw, property):
                continue
            if isinstance(raw, staticmethod):
                found[name] = parameters(raw.__func__, drop_first=False)
            elif isinstance(raw, classmethod):
                found[name] = parameters(raw.__func__, drop_first=True)
            elif callable(raw) and not inspect.isclass(raw):
                found[name] = parameters(raw, drop_first=True)
    return found


def describe(names: Names, everything: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    roots = tuple(everything[name] for name in sorted(WANTED["class_roots"]))
    classes = {n: v for n, v in everything.items() if inspect.isclass(v) and wanted_class(n, v, roots)}
    known: dict[type, str] = {value: name for name, value in classes.items()}
    for name, value in names.v1.items():  # a folded TensorFlow 1 class is its TensorFlow 2 namesake
        if inspect.isclass(value) and names.of(name) in classes:
            known.setdefault(value, names.of(name))
    layer = everything["tensorflow.keras.layers.Layer"]
    described: dict[str, Any] = {}
    for name, value in sorted(classes.items()):
        entry: dict[str, Any] = {"bases": without_root(bases(value, name, known))}
        above = {base for base in value.__mro__[1:] if known.get(base) not in (None, name)}
        if name in WITH_METHODS or not issubclass(value, layer) or name.endswith("Normalization"):
            entry["init"] = parameters(value, drop_first=True)
        if (name in WITH_METHODS or not issubclass(value, layer)) and name not in WITHOUT_METHODS:
            entry["methods"] = methods(value, above)
        if name in MERGED_METHODS:
            old = names.v1[f"{V1}.{name.removeprefix('tensorflow.')}"]
            entry["methods"] |= {k: v for k, v in methods(old, {value}).items() if k not in entry["methods"]}
        described[name] = {key: entry[key] for key in ("bases", "init", "methods") if entry.get(key)}
    functions: dict[str, str] = {}
    written: dict[tuple[str, str], str] = {}
    for name, value in sorted(everything.items()):
        if not inspect.isclass(value) and wanted_function(name):
            module, _, last = name.rpartition(".")
            signature = parameters(value, drop_first=False)
            same = written.setdefault((module, signature), last)
            functions[name] = signature if same == last or len(same) >= len(signature) else "=" + same
    return described, functions


def optimizer_strings(tf: Any, everything: dict[str, Any]) -> dict[str, str]:
    known = {value: name for name, value in everything.items() if inspect.isclass(value)}
    found: dict[str, str] = {}
    for name, value in sorted(everything.items()):
        if (
            name.startswith("tensorflow.keras.optimizers.")
            and inspect.isclass(value)
            and name.count(".") == 3
        ):
            try:
                made = tf.keras.optimizers.get(value.__name__.lower())
            except (TypeError, ValueError):
                continue
            found[value.__name__.lower()] = known[type(made)]
    return found


def homes(names: Names, classes: dict[str, Any]) -> dict[str, str]:
    """Private classes that scripts import under another name than the public one (``DatasetV2``)."""
    found: dict[str, str] = {}
    for name, value in [*names.v2.items(), *names.v1.items()]:
        home, own = getattr(value, "__module__", ""), getattr(value, "__name__", "")
        public = names.of(name)
        if public in classes and own != public.rpartition(".")[2] and home.startswith("tensorflow.python."):
            found[f"{home}.{own}"] = public
    return dict(sorted(found.items()))


def collect() -> dict[str, Any]:
    """The whole of ``data.json``."""
    tf = importlib.import_module("tensorflow")
    v2 = dict(walk(tf, "tensorflow"))
    v2.update(walk(tf.keras, "tensorflow.keras"))
    v1 = dict(walk(tf.compat.v1, V1))
    v1.update(walk(tf.compat.v1.keras, f"{V1}.keras"))
    names = Names(v2, v1)
    everything = objects(names)
    classes, functions = describe(names, everything)
    kept = set(classes) | set(functions)
    aliases = {
        name: " ".join(sorted(others))
        for name, others in sorted(names.spellings.items())
        if others and name in everything and wanted_alias(name, kept)
    }
    keras_names = {
        name.removeprefix("tensorflow.keras.")
        for name in names.folded.values()
        if name.startswith("tensorflow.keras.") and not unneeded(name)
        if not name.startswith("tensorflow.keras.backend.") or name in functions
    }
    return {
        "tensorflow": tf.__version__,
        "keras": importlib.import_module("keras").__version__,
        "aliases": without_root({name: without_root(others) for name, others in aliases.items()}),
        "v1_only": by_module(names.v1_only),
        "v1_differs": by_module(names.v1_differs),
        "keras_names": by_module(keras_names),
        "homes": {name: without_root(public) for name, public in homes(names, classes).items()},
        "classes": without_root(classes),
        "functions": without_root(functions),
        "strings": {text: without_root(name) for text, name in optimizer_strings(tf, everything).items()},
    }


def write(data: dict[str, Any]) -> str:
    """JSON with one entry a line, so that a new TensorFlow shows as a readable diff."""
    lines: list[str] = []
    for key, value in data.items():
        if isinstance(value, dict):
            rows = (f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in value.items())
            lines.append(f"{json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.stdout.write(write(collect()))
