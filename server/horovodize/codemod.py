"""`python -m libcst.tool codemod horovodize.codemod.DistributeWithHorovod FOLDER`: the engine as a codemod of LibCST.

The edits are those of `horovodize distribute`, from the file's own text. A codemod sees one file at a time: what would have to
change together with other files is skipped. Nothing else imports this module."""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import libcst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from horovodize.cli.config import add_option_flags
from horovodize.configuration import ConfigurationError, nearest_settings
from horovodize.distribute_project import distribute_script
from horovodize.files import read_regular
from horovodize.options import SETTINGS, Options
from horovodize.plan import Plan, Refusal
from horovodize.source import Document, Span
from horovodize.source.project import ProjectDocument
from horovodize.summary import summarize
from horovodize.workspace.on_disk import ProjectOnDisk
from horovodize.world.surroundings import surroundings

_LARGEST = 20_000_000  # bytes of a file that may import another


class DistributeWithHorovod(CodemodCommand):
    """Distributes training scripts; every other file is skipped, with the reason."""

    DESCRIPTION = "Turn single-process TensorFlow training scripts into ones that train with Horovod."

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """The flags of `horovodize distribute`; unset, `[tool.horovodize]` decides."""
        add_option_flags(
            arg_parser, "split_data", "rate", "batch", "output", "runtime", "comments", "strict", "tensorflow"
        )

    def __init__(self, context: CodemodContext, python: str | None = None, **flags: Any) -> None:
        super().__init__(context)
        self._python = python
        named = {"output" if name == "rank_output" else name: value for name, value in flags.items()}
        self._flags = {name: v for name, v in named.items() if name in SETTINGS and v is not None}

    def transform_module_impl(self, tree: libcst.Module) -> libcst.Module:
        """The distributed module. Raises SkipFile where there is nothing to do, and with the reasons where it is refused."""
        path = Path(os.path.abspath(self.context.filename or "module.py"))
        document = Document(tree.code, str(path))
        if not summarize(document).loops:
            raise SkipFile("it has no training loop")
        importer = next(_importers(path), None) if self.context.filename else None
        if importer is not None:
            raise SkipFile(f"{importer} imports it: horovodize distribute {importer} changes them together")
        outcome = distribute_script(document, ProjectOnDisk(path).load, self._options(path.parent), str(path))
        if isinstance(outcome, Refusal):
            raise SkipFile(
                "; ".join(f"{_place(document, r.span)}{r.code} {r.message}" for r in outcome.reasons)
            )
        if not isinstance(outcome, Plan):
            raise SkipFile(outcome.message)
        if isinstance(outcome.document, ProjectDocument) or outcome.beside:
            raise SkipFile(
                "other files have to change with it: horovodize distribute --write changes them all"
            )
        for change in outcome.to_confirm:
            self.warn(f"{_place(document, change.span)}{change.rule} to confirm: {change.doubt}")
        for note in outcome.notes:
            self.warn(f"{_place(document, note.span)}{note.rule} note: {note.message}")
        return libcst.parse_module(outcome.text, tree.config_for_parsing)

    def _options(self, folder: Path) -> Options:
        """What holds for a file. Raises SkipFile for settings that can't be read: not to distribute by others."""
        try:
            found = nearest_settings(folder, {})
        except ConfigurationError as e:
            raise SkipFile(str(e)) from e
        options = replace(Options(**found.options), **self._flags)
        if options.tensorflow:
            return options
        python = self._python or found.python or os.environ.get("VIRTUAL_ENV", "")
        return replace(options, around=surroundings(folder, python))


def _place(document: Document, span: Span) -> str:
    return f"line {document.text.count(chr(10), 0, span.start) + 1}: "


def _importers(path: Path) -> Iterator[Path]:
    """Files around a module, in its folder, those below and the one above, that may import it; by the last part of its name."""
    for file in sorted({*path.parent.rglob("*.py"), *path.parent.parent.glob("*.py")} - {path}):
        data = read_regular(file, _LARGEST) or b""
        if path.stem.encode() not in data:
            continue
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(alias.name for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            if any(name.rpartition(".")[2] == path.stem for name in names):
                yield file
                break
