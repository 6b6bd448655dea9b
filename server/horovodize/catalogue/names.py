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
# Where what Keras' private modules define is public, if not under the same name.
_FAMILIES: dict[str, tuple[str, ...]] = {
    "optimizer_v1": ("optimizers",),
    "optimizer_v2": ("optimizers",),
    "optimizer_experimental": ("optimizers",),
    "callbacks_v1": ("callbacks",),
    "engine": ("", "models", "layers", "utils"),
    "models": ("", "models"),
    "saving": ("saving", "models"),
}
# Families whose names the catalogue does not hold; some of them are called like layers (``Identity``).
_OWN_NAMES = {"losses", "metrics", "initializers", "activations", "regularizers", "constraints"}


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
    if parts[:2] == ["matplotlib", "pylab"]:  # all of pyplot's, beside NumPy's
        return ".".join(["matplotlib.pyplot", *parts[2:]])
    if (
        package == "horovod_keras3"
    ):  # ours: what Horovod's module for Keras has, by the same names, for Keras 3
        return ".".join(["horovod.tensorflow.keras", *parts[1:]])
    return path


def _in_tensorflow(parts: list[str]) -> str:
    old = False
    while parts:
        if parts[:3] == ["_api", "v2", "v2"]:  # as tracebacks have it
            parts = parts[3:]
        elif parts[0] in ("_api", "compat") and parts[1:2] in (["v1"], ["v2"]):
            old, parts = parts[1] == "v1", parts[2:]
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
    """Gives the longest known beginning of ``path`` its canonical name."""
    return _settled(path, data) or path


def _settled(path: str, data: Data) -> str | None:
    """As :func:`_aliased`, but None if no beginning of ``path`` is known."""
    end = len(path)
    while end > 0:
        name = path[:end]
        if name in data.aliases:
            return data.aliases[name] + path[end:]
        if name in data.classes or name in data.functions:
            return path
        end = path.rfind(".", 0, end)
    return None


def _in_keras(parts: list[str]) -> str:
    while parts and parts[0] in _KERAS_WRAPPINGS:
        parts = parts[1:]
    path = ".".join([KERAS, *parts])
    if len(parts) < 2:
        return path if not parts else _aliased(path, load())
    data = load()
    return _settled(path, data) or _public_keras(parts, data) or path


def _public_keras(parts: list[str], data: Data) -> str | None:
    """The public name of a thing spelled by the private module of some release (``layers.core.Dense``)."""
    at = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    modules, name, rest = parts[:at], parts[at], parts[at + 1 :]
    if not modules or modules[0] in _OWN_NAMES:
        return None
    for spelled in dict.fromkeys((name, name.removesuffix("V1").removesuffix("V2"))):
        for names in _places(modules, data):
            if spelled in names:
                return ".".join([names[spelled], *rest])
        if len(modules) > 1 and spelled[:1].isupper():
            anywhere = {names[spelled] for names in data.keras_families.values() if spelled in names}
            if len(anywhere) == 1:
                return ".".join([anywhere.pop(), *rest])
    return None


def _places(modules: list[str], data: Data) -> list[dict[str, str]]:
    """Where to look for a name defined in a private Keras module, the likeliest place first."""
    family = modules[1] if modules[0] == "legacy" and len(modules) > 1 else modules[0]
    homes = _FAMILIES.get(family, (family,))
    suffixes = ["", ".experimental"]
    if "legacy" in modules:
        suffixes.insert(0, ".legacy")
    return [data.keras_families.get(home + suffix, {}) for home in homes for suffix in suffixes]


def _defined_at(path: str, data: Data) -> str:
    """The public name of what is spelled by the private module that defines it (``tensorflow.python.…``)."""
    parts = path.split(".")
    at = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    public = data.homes.get(".".join(parts[: at + 1])) or _by_last_part(parts[at])
    return ".".join([public, *parts[at + 1 :]]) if public else path


@lru_cache(maxsize=1024)
def _by_last_part(last: str) -> str | None:
    """What is called ``last`` in TensorFlow outside Keras and contrib, when only one thing is.

    Plain words (``save``, ``load``) name too many things in private modules to go by.
    """
    if not (last[:1].isupper() or "_" in last):
        return None
    data = load()
    found = {
        name
        for known in (data.classes, data.functions)
        for name in known
        if name.endswith("." + last)
        and name.startswith(ROOT)
        and not name.startswith((KERAS, ROOT + "contrib."))
    }
    found |= {V1 + name for name in data.v1_only if name == last}
    return found.pop() if len(found) == 1 else None
