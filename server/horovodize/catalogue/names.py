"""One spelling for every spelling of the same object.

``tf.keras.optimizers.Adam`` has some twenty dotted names over TensorFlow's and Keras' releases. The rules here bring
the beginning of a path into one form; the tables (``data.py``) settle what has several public names below that.
"""

from __future__ import annotations

from functools import lru_cache

from .data import ROOT, V1, Data, load

KERAS = ROOT + "keras"
# Packages that are Keras under another name.
_KERAS_PACKAGES = {"keras": (), "tf_keras": (), "keras_core": (), "keras_preprocessing": ("preprocessing",)}
# Parts that only say which build of Keras a name is taken from.
_KERAS_WRAPPINGS = {"api", "_v1", "_v2", "src", "_tf_keras", "_impl", "keras", "python"}
# Modules of TensorFlow 2 that are Keras' under a shorter name.
_KERAS_SHORT = {"optimizers", "losses", "metrics", "initializers"}
# Where Keras' private modules keep what is public elsewhere.
_FAMILIES = {
    "optimizer_v1": "optimizers", "optimizer_v2": "optimizers", "optimizer_experimental": "optimizers",
    "callbacks_v1": "callbacks",
}  # fmt: skip


@lru_cache(maxsize=8192)
def canonical(path: str) -> str:
    """The one name under which the catalogue knows ``path``, a dotted name as an import would spell it.

    Attributes of a known name follow it (``keras.models.Model.fit`` → ``tensorflow.keras.Model.fit``). A path of
    TensorFlow or Keras that is not known gets its beginning in the usual form, any other path comes back as it is.

    What TensorFlow 2 still has stays ``tensorflow.…``, also when spelled through ``compat.v1``; what only TensorFlow 1
    has becomes ``tensorflow.compat.v1.…``, also when spelled ``tensorflow.…``.
    """
    parts = path.split(".")
    package = parts[0]
    if package in _KERAS_PACKAGES:
        return _in_keras([*_KERAS_PACKAGES[package], *parts[1:]])
    if package in ("tensorflow", "tensorflow_core"):
        return _in_tensorflow(parts[1:])
    if package == "tensorflow_estimator" and len(parts) > 1:
        return _defined_at(".".join(parts), load())
    return path


def _in_tensorflow(parts: list[str]) -> str:
    old = False
    while parts:
        if parts[0] == "_api" and parts[1:2] in (["v1"], ["v2"]):
            old, parts = parts[1] == "v1", parts[2:]
        elif parts[0] == "compat" and parts[1:2] in (["v1"], ["v2"]):
            old, parts = parts[1] == "v1", parts[2:]
        elif parts[0] in ("v1", "v2") and len(parts) > 1:  # tensorflow._api.v2.v2, as tracebacks have it
            parts = parts[1:]
        else:
            break
    if not parts:
        return V1[:-1] if old else ROOT[:-1]
    if parts[0] == "keras":
        return _in_keras(parts[1:])
    if parts[:2] in (["python", "keras"], ["contrib", "keras"]):
        return _in_keras(parts[2:])
    data = load()
    if parts[0] == "python":
        return _defined_at(ROOT + ".".join(parts), data)
    if parts[0] == "contrib":
        return _aliased(ROOT + ".".join(parts), data)
    return _by_release(parts, old, data)


def _by_release(parts: list[str], old: bool, data: Data) -> str:
    """Settles whether a public name is TensorFlow 1's or 2's. ``old``: it was spelled with ``compat.v1``."""
    plain = ".".join(parts)
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if name in data.v1_only or (old and name in data.v1_differs):
            return _aliased(V1 + plain, data)
    if old and plain in data.v1_modules:
        return V1 + plain
    if parts[0] in _KERAS_SHORT:
        return _in_keras(parts)
    return _aliased(ROOT + plain, data)


def _aliased(path: str, data: Data) -> str:
    """Replaces the longest beginning that has another canonical name."""
    end = len(path)
    while end > 0:
        name = path[:end]
        if name in data.aliases:
            return data.aliases[name] + path[end:]
        if name in data.classes:
            return path
        end = path.rfind(".", 0, end)
    return path


def _in_keras(parts: list[str]) -> str:
    while len(parts) > 1 and parts[0] in _KERAS_WRAPPINGS:
        parts = parts[1:]
    if parts and parts[0] in _KERAS_WRAPPINGS:
        parts = []
    if not parts:
        return KERAS
    data = load()
    path = ".".join([KERAS, *parts])
    found = _aliased(path, data)
    if found != path or len(parts) < 2 or path in data.functions:
        return found
    return _public_keras(parts, data) or path


def _public_keras(parts: list[str], data: Data) -> str | None:
    """The public name of a thing spelled by the private module of some release (``layers.core.Dense``)."""
    for at, part in enumerate(parts):
        if part[:1].isupper():
            break
    else:
        at = len(parts) - 1
    modules, name, rest = parts[:at], parts[at], parts[at + 1 :]
    family = _FAMILIES.get(modules[0], modules[0]) if modules else ""
    if family == "legacy" and len(modules) > 1:
        family = modules[1]
    families = data.keras_families
    known = [families.get("", {})]
    if family in families:
        suffix = next((part for part in ("legacy", "experimental") if part in modules), "")
        known = [families.get(f"{family}.{suffix}", {}), families[family], *known] if suffix else [families[family], *known]
    else:
        known += [families[other] for other in ("models", "layers", "utils") if other in families]
    for spelled in (name, name.removesuffix("V1").removesuffix("V2")):
        for names in known:
            if spelled in names:
                return ".".join([names[spelled], *rest])
    return None


def _defined_at(path: str, data: Data) -> str:
    """The public name of a class spelled by the private module that defines it."""
    for at, part in enumerate(path.split(".")):
        if part[:1].isupper():
            parts = path.split(".")
            home = ".".join(parts[: at + 1])
            public = data.homes.get(home) or _class_by_last_part(part)
            return ".".join([public, *parts[at + 1 :]]) if public else path
    return path


@lru_cache(maxsize=1024)
def _class_by_last_part(last: str) -> str | None:
    """The catalogued class outside Keras that is called ``last``, when only one is."""
    found = [
        name
        for name in load().classes
        if name.startswith(ROOT) and not name.startswith((KERAS, ROOT + "contrib.")) and name.endswith("." + last)
    ]
    return found[0] if len(found) == 1 else None
