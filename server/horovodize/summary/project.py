"""A script with the modules of its project that it imports, read as one.

Imports are resolved as Python does when the script is run: relative ones from their package, absolute ones from the script's
folder, from those that it adds to `sys.path`, then from the folders above it up to the project's. Only files that a loader
gives are read: an editor's open buffers, or the disk.
"""

from __future__ import annotations

import ast
import posixpath
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from horovodize.python.interface import Interface, may_train
from horovodize.python.module import Module
from horovodize.python.reachable import prune
from horovodize.python.search_path import added
from horovodize.source import Document
from horovodize.source.project import ProjectDocument
from horovodize.summary.lattice import LoopKind
from horovodize.summary.summary import ModuleSummary, TrainingLoop

# A file by its path ("/" between folders), or None where there is none.
Loader = Callable[[str], Document | None]
# What a file is to those that import it, as `Interface.of` tells it.
InterfaceOf = Callable[[Document], Interface | None]
_MOST = 60  # modules; a script that imports more of its project is read by itself
_FOLDERS_ABOVE = 4
_NEVER_OF_A_PROJECT = {
    "tensorflow",
    "keras",
    "tf_keras",
    "horovod",
    "horovod_keras3",
    "numpy",
}  # though their own folder be near


@dataclass(frozen=True)
class Project:
    """A script and what it imports of its project.

    members  the modules that parse, imported ones first, the script last
    targets  for the index of a member: what it may import, by the dotted path as it is written there, as indices
    unread   modules that are imported and do not parse
    trains   whether there may be a training loop in all of them together; where not, there is none
    """

    members: Sequence[Document]
    targets: Mapping[int, Mapping[str, int]]
    unread: Sequence[Document]
    trains: bool = True


class ProjectSummary(ModuleSummary):
    """What is known of a script together with the modules that it imports."""

    document: ProjectDocument

    def __init__(self, project: Project) -> None:
        super().__init__(ProjectDocument(project.members))
        self.project = project
        trees = self.document.trees
        self._targets = {
            trees[i]: {path: trees[j] for path, j in to.items()} for i, to in project.targets.items()
        }

    def with_members(self, members: Sequence[Document]) -> ProjectSummary:
        """The same project with other versions of its members, in their order."""
        return ProjectSummary(replace(self.project, members=members))

    def _read(self) -> Module:
        trees = self.document.trees
        left_out = prune(trees[:-1], trees[-1])
        module = Module(self.document, trees[:-1], self._targets)
        module.scopes.left_out = left_out
        return module

    def _runs(self, kind: LoopKind, sessions: list[ast.Call]) -> list[TrainingLoop]:
        """Nothing where no run of a train op is seen: all that the script runs is here. A script that only restores a model
        and samples from it builds its train op, too."""
        assert self.sites is not None
        return super()._runs(kind, sessions) if self.sites.graph.trainings else []


def read_project(
    script: Document, load: Loader, path: str | None = None, interface_of: InterfaceOf = Interface.of
) -> Project | None:
    """A script with what it imports of its project; None where that is too much, or the script does not parse. `path` is
    where the script is, if its document is called otherwise; `interface_of` may know files without parsing them."""
    if interface_of(script) is None:
        return None
    start = (path or script.path).replace("\\", "/")
    folders = [posixpath.dirname(start), *added(script, start)]
    members: dict[str, Document] = {}  # those that parse, in the order in which their imports end
    targets: dict[str, dict[str, str]] = {}
    interfaces: list[Interface] = []
    unread: list[Document] = []

    def visit(path: str, document: Document) -> bool:
        if path in targets:
            return True
        targets[path] = {}
        interface = interface_of(document)
        if interface is None:
            unread.append(document)
            return True
        interfaces.append(interface)
        for dotted in interface.imports:
            found = _resolve(dotted, path, folders, load)
            if found is not None:
                targets[path][dotted] = found[0]
                if len(targets) > _MOST or not visit(*found):
                    return False
        members[path] = document
        return True

    if not visit(start, script):
        return None
    index = {path: i for i, path in enumerate(members)}
    links = {
        index[a]: {dotted: index[b] for dotted, b in to.items() if b in index}
        for a, to in targets.items()
        if a in index
    }
    return Project(list(members.values()), links, unread, may_train(interfaces))


def summarize_project(script: Document, load: Loader) -> ProjectSummary | None:
    """The summary of a script with what it imports of its project; None where it imports nothing of it (or too much)."""
    project = read_project(script, load)
    return ProjectSummary(project) if project is not None and len(project.members) > 1 else None


def _resolve(
    dotted: str, importing: str, folders: Sequence[str], load: Loader
) -> tuple[str, Document] | None:
    """The file that an import of a module leads to. `folders`: that of the script, and those that it adds."""
    level = len(dotted) - len(dotted.lstrip("."))
    parts = [p for p in dotted[level:].split(".") if p]
    if level:
        folder = posixpath.dirname(importing)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return _load(folder, parts, load)
    if not parts or parts[0] in _NEVER_OF_A_PROJECT:
        return None
    for folder in folders if parts[0] not in sys.stdlib_module_names else folders[:1]:
        found = _load(folder, parts, load)
        if found is not None:
            return found
    folder = folders[0]
    for _ in range(_FOLDERS_ABOVE - 1 if parts[0] not in sys.stdlib_module_names else 0):
        if posixpath.dirname(folder) == folder:
            return None
        folder = posixpath.dirname(folder)
        found = _load(folder, parts, load)
        if found is not None:
            return found
    return None


def _load(folder: str, parts: list[str], load: Loader) -> tuple[str, Document] | None:
    base = posixpath.join(folder, *parts)
    for path in [f"{base}/__init__.py", *([f"{base}.py"] if parts else [])]:  # a package goes before a module
        document = load(path)
        if document is not None:
            return path, document
    return None
