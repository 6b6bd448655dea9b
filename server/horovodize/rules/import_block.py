"""The import block of a file: where TensorFlow comes in, and where the block ends."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.summary.syntax import FUNCTIONS


def import_statement(draft: Draft, tree: ast.Module) -> ast.stmt | None:
    """The top-level statement of a file that brings TensorFlow in first (a `try` around its import counts as one). Of a
    project's file that does not import TensorFlow itself, its first import."""
    imports: list[ast.stmt] = [
        s for s in draft.module.tensorflow_imports if draft.module.scopes.root(s) is tree
    ]
    if len(draft.syntax.trees) > 1:
        imports += [s for s in tree.body if isinstance(s, (ast.Import, ast.ImportFrom)) and not _is_future(s)]
    for statement in imports:
        top: ast.AST = statement
        inside_function = False
        for a in draft.syntax.ancestors(statement):
            inside_function |= isinstance(a, (*FUNCTIONS, ast.ClassDef)) or _is_main_guard(a)
            if not isinstance(a, ast.Module):
                top = a
        if not inside_function and isinstance(top, ast.stmt):
            return top
    return None


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _is_main_guard(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`"""
    return isinstance(node, ast.If) and "__name__" in {
        n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)
    }


def end_of_imports(draft: Draft, imported: ast.stmt) -> ast.stmt:
    """The last statement of the import block: imports go on after TensorFlow's until something is done."""
    body = draft.module.scopes.root(imported).body
    last = imported
    for statement in body[body.index(imported) + 1 :]:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement
        elif not _is_preamble(draft, statement):
            break
    return last


def _is_preamble(draft: Draft, statement: ast.stmt) -> bool:
    """What may stand between imports: settings of the process that do not touch TensorFlow."""
    if isinstance(statement, (ast.Try, ast.If)):
        inner = [s for s in ast.walk(statement) if isinstance(s, ast.stmt) and s is not statement]
        return all(isinstance(s, (ast.Import, ast.ImportFrom, ast.Pass, ast.Assign)) for s in inner)
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = draft.names.of(node.func) or ""
            if name.startswith(("tensorflow", "horovod")) or draft.values.callee(node) is not None:
                return False
    return True
