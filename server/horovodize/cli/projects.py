"""Writing several files of a project as one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.runner import CommandError
from horovodize.cli.write import write_atomically

if TYPE_CHECKING:
    from horovodize.plan import Plan
    from horovodize.workspace.on_disk import ProjectOnDisk


@dataclass(frozen=True)
class NewContent:
    """What a file shall hold, and what it held when it was read."""

    path: Path
    old: bytes
    new: bytes


def new_contents(plans: Sequence[Plan], project: ProjectOnDisk) -> list[NewContent]:
    """What the files shall hold. Raises UndecodableSource for characters that a file's encoding does not have."""
    return [
        NewContent(project.file(p.document), p.document.edited([]), p.document.edited(p.edits))
        for p in plans
        if p.edits
    ]


def write_together(contents: Sequence[NewContent]) -> None:
    """Writes all files or, as far as possible, none: half a project distributed would train wrongly. Raises CommandError."""
    for content in contents:
        with contextlib.suppress(OSError):
            if content.path.read_bytes() != content.old:
                raise CommandError(
                    f"{content.path}: was changed by someone else meanwhile; nothing was written"
                )
    written: list[NewContent] = []
    try:
        for content in contents:
            write_atomically(content.path, content.new, expected=content.old)
            written.append(content)
    except CommandError:
        for content in written:
            with contextlib.suppress(CommandError):
                write_atomically(content.path, content.old, expected=content.new)
        raise
