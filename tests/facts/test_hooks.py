"""What `fit` calls as methods of callbacks."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts.counting.hooks import Hooks
from horovodize.python.module import Module
from horovodize.source import Document

HEAD = "import tensorflow as tf\n"


def names(source: str) -> list[str]:
    """As which methods a program's own functions are called, in the order of the text."""
    document = Document(HEAD + source)
    return [hook.name for hook in Hooks(Module.of(document)).all if isinstance(hook.function, ast.AST)]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("tf.keras.callbacks.Callback()", ["on_epoch_end"]),
        ("tf.keras.callbacks.ModelCheckpoint('w.h5')", ["on_epoch_end"]),
        # near misses: what is no callback
        ("tf.keras.optimizers.Adam()", []),
        ("object()", []),
    ],
)
def test_a_function_in_the_place_of_a_method(made: str, found: list[str]) -> None:
    source = f"def save(epoch, logs):\n    pass\nkept = {made}\nkept.on_epoch_end = save\n"
    assert names(source) == found


def test_another_attribute_is_no_hook() -> None:
    assert not names("kept = tf.keras.callbacks.Callback()\nkept.saves = lambda epoch: None\n")
