"""Modules that are written beside distributed scripts, as they are. Nothing of Horovodize imports them."""

from __future__ import annotations

from pathlib import Path

KERAS_3 = "horovod_keras3.py"
ELASTIC = "horovod_elastic.py"


def text_of(name: str) -> str:
    """The text of such a module, by its file name."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
