"""Where a helper is defined in a project: once, in the first of the files that use it; the others import it from there.

A file that can't import it gets one of its own: where the two would import each other, or no path surely leads there.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.import_block import uses_at_import
from horovodize.source.project import ProjectDocument


@dataclass(frozen=True)
class Elsewhere:
    """A helper that another file defines: the module that it is imported from (`.data`), and the import of that module in the
    file after which this may stand; None: among the first imports."""

    path: str
    after: ast.stmt | None
    with_all: bool = False  # what the file imports takes the helper along: `from data import *`


def places(draft: Draft, users: Mapping[str, Sequence[ast.Module]]) -> dict[ast.Module, dict[str, Elsewhere]]:
    """For each file the helpers that it imports. `users`: the files that use each helper, imported ones first."""
    found: dict[ast.Module, dict[str, Elsewhere]] = {}
    for name, trees in users.items():
        for tree in trees[1:]:
            place = _place(draft, tree, trees[0])
            if place is not None:
                found.setdefault(tree, {})[name] = place
    return found


def _place(draft: Draft, importing: ast.Module, owner: ast.Module) -> Elsewhere | None:
    """How a file imports from another one; None where it shouldn't."""
    targets = draft.module.scopes.links.targets
    if importing in _reached(draft, owner):
        return None
    for path, statement in _at_once(importing):
        if targets.get(importing, {}).get(path) is owner and draft.can_insert(statement):
            if _takes_all(statement) and not _says_what_it_has(owner):
                return Elsewhere(path, statement, with_all=True)
            return Elsewhere(path, statement)
    beside = _folder(draft, owner) == _folder(draft, draft.module.tree)
    if not beside or importing is draft.module.tree or uses_at_import(draft, owner, set()):
        return None
    for tree in targets:  # a module beside the script has the same name for all
        for path, _ in _at_once(tree):
            if "." not in path and targets[tree].get(path) is owner:
                return Elsewhere(path, None)
    return None


def _takes_all(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names)


def _says_what_it_has(tree: ast.Module) -> bool:
    """Whether a file has an `__all__`."""
    return any(isinstance(n, ast.Name) and n.id == "__all__" for n in ast.walk(tree))


def _folder(draft: Draft, tree: ast.Module) -> str:
    assert isinstance(draft.document, ProjectDocument)
    index = draft.document.member_at(draft.module.span(tree.body[0]).start)
    return posixpath.dirname(draft.document.members[index].path.replace("\\", "/"))


def _reached(draft: Draft, start: ast.Module) -> set[ast.Module]:
    """The files that a file imports, and those that they import."""
    targets = draft.module.scopes.links.targets
    found, todo = set[ast.Module](), [start]
    while todo:
        for tree in targets.get(todo.pop(), {}).values():
            if tree not in found:
                found.add(tree)
                todo.append(tree)
    return found


def _at_once(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The modules that a file imports whenever it is run, as it writes them, and where."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield alias.name, statement
        elif isinstance(statement, ast.ImportFrom):
            base = "." * statement.level + (statement.module or "")
            inside = base if base.endswith(".") else f"{base}."
            yield base, statement
            for alias in statement.names:
                yield f"{inside}{alias.name}", statement
