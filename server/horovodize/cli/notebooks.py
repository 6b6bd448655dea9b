"""What distributing makes: a file like the one that came in, or a notebook's script."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.plan import Reason, Refusal
from horovodize.source import Place, Span
from horovodize.source.notebook import NotebookFile
from horovodize.source.script import NoScript, as_script

if TYPE_CHECKING:
    from horovodize.cli.inputs import Input
    from horovodize.source import Document, Edit


@dataclass(frozen=True)
class Made:
    """The bytes of a result.

    script     it is a script made of a notebook; `beside` is where `--write` puts it
    left_out   the commands that it does without and that may matter, with their places in the notebook"""

    data: bytes
    script: bool = False
    beside: Path | None = None
    left_out: tuple[tuple[Place, str], ...] = ()

    def text(self, document: Document) -> str:
        return self.data[len(document.encoded.bom) :].decode(document.encoded.encoding)


def made_script(
    source: Input, document: NotebookFile, edits: Sequence[Edit], output: str | None
) -> Made | Refusal:
    """The script of a notebook, for a file `output` (None: beside the notebook, under its name)."""
    beside = source.file.with_suffix(".py") if source.file is not None else None
    name = output if output not in (None, "-") else (beside.name if beside is not None else "train.py")
    heading = [
        f"Made of {Path(document.path).name} by Horovodize. To run it on two processes:",
        "",
        f"    {run_command(str(name))}",
        "",
        "A script has no magics and no shell lines: those of the notebook are comments.",
    ]
    try:
        script = as_script(document, edits, heading)
    except NoScript as e:
        return Refusal(document, [Reason("HVD006", str(e), Span(e.offset, e.offset))])
    left_out = tuple((one.place, one.text) for one in script.left_out)
    return Made(script.text.encode(), True, beside, left_out)


def run_command(path: str) -> str:
    return f"horovodrun -np 2 python {shlex.quote(path)}"
