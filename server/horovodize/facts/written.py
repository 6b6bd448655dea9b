"""Which files the program writes itself: on several ranks, what is read back there may be another one's, or not yet there."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize import catalogue
from horovodize.summary.module import Module
from horovodize.summary.syntax import argument

_SAVERS = (
    "save",
    "save_weights",
    "save_model",
    "to_csv",
    "to_json",
    "to_pickle",
    "write_text",
    "write_bytes",
    "tofile",
    "export",
)
_KEEPERS = (
    "ModelCheckpoint",
    "CheckpointManager",
    "BackupAndRestore",
    "CSVLogger",
    "FileWriter",
    "MonitoredTrainingSession",
)
_LIMIT = 80


class Written:
    """The paths that one module writes to."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def holds(self, path: ast.AST) -> bool:
        """Whether a path that is read may be one that the program writes."""
        text, strings = self._words([path])
        return bool(text & self._all[0] or strings & self._all[1])

    @cached_property
    def _all(self) -> tuple[set[str], set[str]]:
        return self._words(self._paths())

    def _paths(self) -> list[ast.AST]:
        found: list[ast.AST] = []
        for call in self.module.syntax.calls:
            name, last = self.module.names.of(call.func), self.module.names.last(call.func)
            given = [*call.args, *(k.value for k in call.keywords if k.arg)]
            if last == "open":
                mode = argument(call, "mode", 1)
                if isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+"):
                    found += call.args[:1]
            elif last in ("dump",):
                continue  # into an open file
            elif last in _SAVERS or last in _KEEPERS or (name is not None and catalogue.writes_files(name)):
                found += given[:2]
        return found

    def _words(self, paths: list[ast.AST]) -> tuple[set[str], set[str]]:
        """How paths are written, and the strings that they are made of."""
        text = {ast.unparse(p) for p in paths if isinstance(p, (ast.Name, ast.Attribute, ast.Call))}
        strings = {
            n.value
            for p in paths
            for n in self.module.values.depends([p], _LIMIT)
            if isinstance(n, ast.Constant)
            and isinstance(n.value, str)
            and sum(c.isalnum() for c in n.value) > 2
        }
        return text, strings
