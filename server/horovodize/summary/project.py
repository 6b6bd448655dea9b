"""A script with the modules of its project that it imports, read as one.

Imports are resolved as Python does when the script is run: relative ones from their package, absolute ones from the script's
folder, then from the folders above it up to the project's. Only files that a loader gives are read: an editor's open buffers,
or the disk.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterator

from horovodize.source import Document
from horovodize.source.project import ProjectDocument
from horovodize.summary.module import Module
from horovodize.summary.reachable import prune
from horovodize.summary.summary import ModuleSummary

# A file by its path ("/" between folders), or None where there is none.
Loader = Callable[[str], Document | None]
_MOST = 60  # modules; a script that imports more of its project is read by itself
_FOLDERS_ABOVE = 4


class ProjectSummary(ModuleSummary):
    """What is known of a script together with the modules that it imports."""

    document: ProjectDocument

    def __init__(self, document: ProjectDocument, targets: dict[int, dict[str, int]]) -> None:
        super().__init__(document)
        trees = document.trees
        self._targets = {trees[i]: {path: trees[j] for path, j in to.items()} for i, to in targets.items()}

    def _read(self) -> Module:
        trees = self.document.trees
        prune(trees[:-1], trees[-1])
        return Module(self.document, trees[:-1], self._targets)


def summarize_project(script: Document, load: Loader) -> ProjectSummary | None:
    """The summary of a script with what it imports of its project; None where it imports nothing of it (or too much)."""
    if script.tree is None:
        return None
    members: dict[str, Document] = {}
    targets: dict[str, dict[str, str]] = {}
    order: list[str] = []
    start = _normal(script.path)

    def visit(path: str, document: Document) -> bool:
        if path in targets:
            return True
        targets[path] = {}
        members[path] = document
        if document.tree is None:
            return True
        for dotted in _imports(document.tree):
            found = _resolve(dotted, path, start, load)
            if found is not None:
                targets[path][dotted] = found[0]
                if len(members) > _MOST or not visit(*found):
                    return False
        order.append(path)
        return True

    if not visit(start, script) or len(order) < 2:
        return None
    index = {path: i for i, path in enumerate(order)}
    document = ProjectDocument([members[path] for path in order])
    return ProjectSummary(
        document,
        {index[a]: {d: index[b] for d, b in to.items() if b in index} for a, to in targets.items() if a in index},
    )


def _imports(tree: ast.Module) -> Iterator[str]:
    """The modules that a module may import, by the dotted path as it is written: of `from nets import model` also
    "nets.model"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                for end in range(1, alias.name.count(".") + 1):
                    yield ".".join(alias.name.split(".")[:end])
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            for alias in node.names:
                if alias.name != "*":
                    yield f"{base}{alias.name}" if base.endswith(".") else f"{base}.{alias.name}"


def _resolve(dotted: str, importing: str, script: str, load: Loader) -> tuple[str, Document] | None:
    """The file that an import of a module leads to."""
    level = len(dotted) - len(dotted.lstrip("."))
    parts = [p for p in dotted[level:].split(".") if p]
    if level:
        folder = posixpath.dirname(importing)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return _load(folder, parts, load)
    folder = posixpath.dirname(script)
    for _ in range(_FOLDERS_ABOVE):
        found = _load(folder, parts, load)
        if found is not None or posixpath.dirname(folder) == folder:
            return found
        folder = posixpath.dirname(folder)
    return None


def _load(folder: str, parts: list[str], load: Loader) -> tuple[str, Document] | None:
    base = posixpath.join(folder, *parts)
    for path in ([f"{base}.py"] if parts else []) + [f"{base}/__init__.py"]:
        document = load(path)
        if document is not None:
            return path, document
    return None


def _normal(path: str) -> str:
    return path.replace("\\", "/")
