"""Modules of ours that distributed scripts import: written into the folder of a script, once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize import runtime
from horovodize.cli.write import write_atomically

if TYPE_CHECKING:
    from horovodize.cli.output import Console


def write_beside(script: Path, names: Sequence[str], console: Console) -> None:
    """Puts modules beside a script. One that is there already stays as it is, whatever it holds: it may have been changed.
    Raises CommandError."""
    for name in names:
        path, text = script.parent / name, runtime.text_of(name)
        if not path.exists():
            write_atomically(path, text.encode(), like=script if script.exists() else None)
            console.message(f"{path}: written; {script.name} imports it")
        elif path.read_bytes() != text.encode():
            console.warning(f"{path}: is there already and differs from this version's; left as it is")


def tell_beside(script: str, names: Sequence[str], console: Console) -> None:
    """Says which modules a script will need that are written with it only by `--write` and `--output`."""
    for name in names:
        console.warning(f"{script}: imports {name}, which --write and --output put beside it")
