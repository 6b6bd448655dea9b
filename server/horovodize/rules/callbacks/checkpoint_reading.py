"""Reading a checkpoint that a session's hooks or an Estimator have saved: the ranks wait for rank 0 first. Part of M4 and E1.

Only rank 0 saves, and it does so last thing in training. Another rank that looks for the checkpoint right after its own
training would find none, or an older one.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import end, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded, barrier

_WHAT = "Wait for rank 0's checkpoint"
_WHY = "Only rank 0 saves it; the others could come before it is complete."
_COMMENT = "Wait until rank 0 has saved it."
_EARLY = "rank 0 may still be saving what is read here: the ranks do not wait for it"
_READERS = {
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "NewCheckpointReader",
}


def wait_before_reading(draft: Draft, rule: str, directory: ast.expr, training: ast.AST) -> None:
    """Puts a wait before what reads a directory in the function where `training` saves into it, after that."""
    reading = [
        call
        for call in draft.syntax.calls
        if (draft.names.last(call.func) in _READERS or _restores(call)) and _follows(draft, call, training)
    ]
    named = ast.unparse(directory)
    for call in reading:
        if any(_is_of(argument, named) for argument in call.args):
            _wait(draft, rule, call)
            return  # once the ranks have waited, the files are there


def _restores(call: ast.Call) -> bool:
    """`saver.restore(session, path)`"""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "restore" and len(call.args) == 2


def _is_of(argument: ast.expr, directory: str) -> bool:
    """Whether a path is made from a directory."""
    return any(isinstance(n, ast.expr) and ast.unparse(n) == directory for n in ast.walk(argument))


def _follows(draft: Draft, call: ast.Call, training: ast.AST) -> bool:
    """Whether a call comes after a training, in the same function."""
    syntax = draft.syntax
    if syntax.function(call) is not syntax.function(training):
        return False
    return position(call) > end(syntax.statement(training))


def _wait(draft: Draft, rule: str, call: ast.Call) -> None:
    statement = draft.syntax.statement(call)
    if not draft.once("wait for the checkpoint", statement):
        return
    if not draft.can_insert(statement) or not Guarded(draft).collective(statement):
        draft.note(rule, call, _EARLY)
        return
    lines = draft.lines_of(*barrier(draft, "saved", statement), comment=_COMMENT)
    draft.change(rule, call, _WHAT, _WHY, [draft.before(statement, lines)])


__all__ = ["wait_before_reading"]
