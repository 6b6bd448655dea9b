"""Code that asks for Horovod before TensorFlow is imported: part of C1.

Rows may be read and divided at the top of a script or in the first cells of a notebook, and TensorFlow come in with the model:
Horovod has to begin before the first of them."""

from __future__ import annotations

import ast
import re

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import CORE, HVD, KERAS, Draft
from horovodize.rules.drafting.helper_text import mentions
from horovodize.source import Edit, Move


def asks(text: str) -> bool:
    """Whether a text uses Horovod."""
    return re.search(f"[{HVD}{CORE}{KERAS}]", text) is not None


def asks_or_calls(draft: Draft, edit: Edit | Move) -> bool:
    """Whether what an edit writes uses Horovod, itself or by a helper."""
    text = draft.new_text(edit)
    return asks(text) or any(mentions(text, name) for name in draft.helpers.values())


def first_before(draft: Draft, tree: ast.Module, imported: ast.stmt) -> ast.stmt | None:
    """The first statement of a file, before the one that imports TensorFlow, that runs code which asks for Horovod."""
    before = tree.body[: tree.body.index(imported)]
    if not before:
        return None
    start, end = draft.module.span(before[0]).start, draft.module.span(before[-1]).end
    places = [
        edit.span.start
        for change in draft.changes
        for edit in change.edits
        if start <= edit.span.start <= end and asks_or_calls(draft, edit)
    ]
    found = {next(s for s in before if at <= draft.module.span(s).end) for at in places}
    defined: set[ast.stmt] = {s for s in found if isinstance(s, (*FUNCTIONS, ast.ClassDef))}
    runs = (s for s in before if s in found - defined or (defined and _calls(draft, s, defined)))
    return next(runs, None)


def _calls(draft: Draft, statement: ast.stmt, defined: set[ast.stmt]) -> bool:
    """Whether running a statement runs one of some functions, or a method of some classes."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    todo, seen = [n for n in ast.walk(statement) if isinstance(n, ast.Call)], set[ast.AST]()
    while todo:
        for run in draft.values.graph.runs(todo.pop()):
            if any(draft.syntax.inside(run, d) for d in defined):
                return True
            if run not in seen:
                seen.add(run)
                todo += [n for n in ast.walk(run) if isinstance(n, ast.Call)]
    return False


__all__ = ["asks", "asks_or_calls", "first_before"]
