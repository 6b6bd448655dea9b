"""The PATH… of a subcommand: files, folders, standard input."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from horovodize.cli.runner import CommandError
from horovodize.files.walk import walk
from horovodize.source import Document

if TYPE_CHECKING:
    from horovodize.cli.output import Console

STANDARD_INPUT = "-"
NOTEBOOK = ".ipynb"


def add_path_arguments(parser: argparse.ArgumentParser) -> None:
    shell_completed(
        parser.add_argument(
            "paths",
            metavar="PATH",
            nargs="+",
            help="a script, a notebook, a folder (walked, respecting .gitignore), or - for standard input",
        ),
        "FILE",
    )
    parser.add_argument(
        "--stdin-filename",
        metavar="NAME",
        help="what standard input is called in messages, and whose settings it gets",
    )
    files = parser.add_argument_group("files and settings")
    shell_completed(
        files.add_argument(
            "--config",
            metavar="FILE",
            help="take the settings of all files from [tool.horovodize] in FILE; paths in it count from the current folder "
            "(default: the nearest pyproject.toml that has the table)",
        ),
        "FILE",
    )
    files.add_argument(
        "--exclude",
        metavar="PATTERNS",
        action="extend",
        type=patterns,
        help="leave out files of folders: patterns as in a .gitignore in the current folder, separated by commas; instead of "
        "those of the settings",
    )
    files.add_argument(
        "--force-exclude",
        action="store_true",
        help="leave them out also where they are named (for pre-commit)",
    )


def add_output_file(parser: argparse.ArgumentParser) -> None:
    shell_completed(
        parser.add_argument(
            "-o", "--output-file", metavar="FILE", help="write to FILE instead of standard output"
        ),
        "FILE",
    )


def shell_completed(action: argparse.Action, kind: str) -> None:
    """Says what a shell completes an argument with: "FILE" or "DIRECTORY"."""
    action.complete = kind  # type: ignore[attr-defined]


def patterns(text: str) -> tuple[str, ...]:
    """The argument of `--exclude`, which can be given several times."""
    return tuple(pattern.strip() for pattern in text.split(",") if pattern.strip())


@dataclass(frozen=True)
class Input:
    """One thing to work on.

    path   as messages call it
    file   None for standard input
    named  the user named it; otherwise it was found in a folder
    """

    path: str
    file: Path | None
    named: bool

    @property
    def home(self) -> Path:
        """The folder in which the search for its settings starts."""
        if self.file is not None:
            return self.file.absolute().parent
        return Path(self.path).absolute().parent

    @property
    def is_notebook(self) -> bool:
        return self.path.endswith(NOTEBOOK)

    def read(self) -> bytes:
        """Its bytes. Raises CommandError."""
        if self.file is None:
            return sys.stdin.buffer.read()
        try:
            return self.file.read_bytes()
        except OSError as e:
            raise CommandError(f"{self.path}: cannot be read: {e.strerror or e}") from e

    def document(self) -> Document:
        """Raises CommandError and UndecodableSource; OtherLanguage for a notebook that is not Python's."""
        if self.is_notebook:
            from horovodize.source.notebook import NotebookFile

            return NotebookFile.from_bytes(self.read(), self.path)
        return Document.from_bytes(self.read(), self.path)


def find_inputs(paths: Sequence[str], stdin_filename: str | None = None) -> tuple[list[Input], list[str]]:
    """What the paths stand for, each file once, and a message for each path that does not exist."""
    inputs: list[Input] = []
    missing: list[str] = []
    seen: set[str] = set()
    for path in paths:
        try:
            for found in _expand(path, stdin_filename):
                key = os.path.realpath(found.file) if found.file else STANDARD_INPUT
                if key not in seen:
                    seen.add(key)
                    inputs.append(found)
        except CommandError as e:
            missing.append(str(e))
    return inputs, missing


def _expand(path: str, stdin_filename: str | None) -> Iterator[Input]:
    if path == STANDARD_INPUT:
        yield Input(stdin_filename or "<stdin>", None, named=True)
    elif os.path.isdir(path):
        for file in walk(Path(path)):
            yield Input(str(file), file, named=False)
    elif os.path.exists(path):
        yield Input(path, Path(path), named=True)
    else:
        raise CommandError(f"{path}: no such file or folder")


def is_single(paths: Sequence[str]) -> bool:
    """Whether the user named one thing that is no folder."""
    return len(paths) == 1 and not os.path.isdir(paths[0])


def print_reports(console: Console, paths: Sequence[str], reports: Sequence[dict[str, Any]]) -> None:
    """As JSON: of one file the report itself (nothing when there is none, for the file could not be read), else a list."""
    if not is_single(paths):
        console.json(reports)
    elif reports:
        console.json(reports[0])
