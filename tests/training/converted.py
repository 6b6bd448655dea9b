"""Keeps what AutoGraph has made of a function in a file, for the next fork: TensorFlow's, Keras' and Horovod's own functions
are converted in every run, that is half of what a short one costs a rank, and comes to the same text each time.

Used by `warm`. TensorFlow is not initialized by this."""

from __future__ import annotations

import hashlib
import marshal
import os
import pickle
from pathlib import Path
from typing import Any


def keep_in(folder: Path) -> None:
    """Has AutoGraph look in `folder` before it converts a function, and leave there what it has made."""
    from tensorflow.python.autograph.impl import api

    convert = api.PyToTF.transform_function

    def transform_function(self: Any, function: Any, context: Any) -> Any:
        options = self.get_caching_key(context)
        if self._cache.has(function, options):
            return convert(self, function, context)
        kept = folder / _key(function, options)
        if kept.exists():
            self._cache[function][options] = _loaded(
                kept, function.__code__.co_freevars, self.get_extra_locals()
            )
            return convert(self, function, context)
        made = convert(self, function, context)
        _keep(self._cache[function][options], kept)
        return made

    api.PyToTF.transform_function = transform_function


def _key(function: Any, options: Any) -> str:
    """Tells functions of other files, lines or code apart, and what is to become of them."""
    return hashlib.sha256(marshal.dumps(function.__code__) + repr(options.as_tuple()).encode()).hexdigest()


def _keep(factory: Any, kept: Path) -> None:
    (outer,) = (name for name in vars(factory.module) if name.startswith("outer_factory"))
    text = Path(factory.module.__file__).read_text(encoding="utf-8")
    lines = {place.lineno: origin for place, origin in factory.source_map.items()}
    own = kept.with_suffix(f".{os.getpid()}")  # ranks convert at the same time
    own.write_bytes(pickle.dumps((factory._name, outer, text, lines)))
    own.rename(kept)


def _loaded(kept: Path, free: tuple[str, ...], more: dict[str, Any]) -> Any:
    from tensorflow.python.autograph.pyct import loader, origin_info, transpiler

    name, outer, text, lines = pickle.loads(kept.read_bytes())
    factory = transpiler._PythonFnFactory(name, free, more)
    factory.module, path = loader.load_source(text, delete_on_exit=True)
    factory._unbound_factory = getattr(factory.module, outer)()
    factory.source_map = {origin_info.LineLocation(path, line): origin for line, origin in lines.items()}
    return factory
