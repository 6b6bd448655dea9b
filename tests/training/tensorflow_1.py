"""TensorFlow 1 for scripts that were written for it: their `import tensorflow` finds `tensorflow.compat.v1`.

Only the script's own import statements are answered so, through the builtins that it runs with. Horovod and Keras go on
seeing the real module. `tensorflow.contrib`, which TensorFlow 2 has not, is not there;
`tensorflow.examples.tutorials.mnist` is, with data made up by `mnist.py`."""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from typing import Any

EXAMPLES = "tensorflow.examples.tutorials.mnist.input_data"


class TensorFlow1(types.ModuleType):
    """Stands for `tensorflow` in a script."""

    def __getattr__(self, name: str) -> Any:
        if name == "contrib":
            raise AttributeError("module 'tensorflow' has no attribute 'contrib'")
        return getattr(importlib.import_module("tensorflow.compat.v1"), name)


def install(seed: int) -> dict[str, Any]:
    """Turns TensorFlow 1's behaviour on: graphs, reference variables. Returns the builtins for the script.

    seed: of the default graph"""
    import keras
    import tensorflow as tf

    if keras.__version__.startswith("2."):
        # Horovod's Keras callbacks ask for what was there in TensorFlow 1.
        keras.backend.get_session = tf.compat.v1.keras.backend.get_session
    tf.compat.v1.disable_v2_behavior()
    tf.compat.v1.reset_default_graph()
    tf.compat.v1.set_random_seed(seed)
    top = TensorFlow1("tensorflow")
    top.__path__ = []
    top.__dict__["examples"] = _examples()
    original = builtins.__import__

    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        first, *rest = name.split(".")
        if level or first != "tensorflow":
            return original(name, globals, locals, fromlist, level)
        found: Any = top
        for number, part in enumerate(rest):
            try:
                found = getattr(found, part)
            except AttributeError:
                if rest[0] == "contrib":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name) from None
                found = importlib.import_module(".".join(["tensorflow", *rest[: number + 1]]))
        for part in fromlist or ():
            if not hasattr(found, part) and part != "*" and rest:
                importlib.import_module(f"{name}.{part}")
        return found if fromlist else top

    return {**vars(builtins), "__import__": __import__}


def _examples() -> types.ModuleType:
    """`tensorflow.examples`, down to the module that reads MNIST."""
    import mnist

    below: types.ModuleType = mnist
    path = EXAMPLES.split(".")
    sys.modules[EXAMPLES] = mnist
    for depth in range(len(path) - 1, 1, -1):
        module = types.ModuleType(".".join(path[:depth]))
        setattr(module, path[depth], below)
        sys.modules[module.__name__] = module
        below = module
    return below
