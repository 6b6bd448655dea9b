"""Exceptions that a handler around training swallows: where one rank alone runs into one, the others wait for it.

Not so of those that come to all ranks alike, or end their data, and of a class of the program's own that it raises in the loops
of the `try` alone, by which a loop is left; nor where the handler raises again, ends the program, or hands the exception to
TensorFlow 1's `Coordinator`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.python.module import Module
from horovodize.python.syntax import LOOPS
from horovodize.summary.call_paths import Frame

# Exceptions that come to all ranks alike, or end their data, or say what is installed.
_SHARED = {
    "KeyboardInterrupt", "StopIteration", "OutOfRangeError", "ImportError", "ModuleNotFoundError", "SystemExit",
    "GeneratorExit",
}  # fmt: skip
# Exceptions by which nobody ends a loop on purpose, unlike an IndexError or one of the program's own.
_FAILURES = {
    "Exception", "BaseException", "OSError", "IOError", "RuntimeError", "MemoryError", "OpError", "ResourceExhaustedError",
    "InternalError", "AbortedError", "UnknownError", "InvalidArgumentError",
}  # fmt: skip
_ENDS = ("sys.exit", "os._exit", "exit", "quit", "os.abort")


def around(module: Module, frame: Frame) -> Iterator[tuple[ast.ExceptHandler, ast.Try]]:
    """The handlers that may swallow what happens at a place of a way, of each `try` around it in its function."""
    child: ast.AST = frame.node
    for a in module.syntax.ancestors(frame.node):
        if a is frame.function:
            return
        if isinstance(a, ast.Try) and module.syntax.field[child] == "body":
            yield from ((h, a) for h in a.handlers if swallows(module, h, a))
        child = a


def may_end_the_run(
    module: Module, handler: ast.ExceptHandler, tried: ast.Try, frame: Frame, outside: Sequence[Frame]
) -> bool:
    """Whether the run may end where a handler is done: it catches failures, by which nobody ends a loop on purpose; no loop
    comes to the `try` again, so that training would go on after what was swallowed; and nothing but its last statement leaves
    the handler.

    outside: the frames around that of the `try`"""
    loops = module.syntax.loops(tried)
    again = any(frame.function is None or module.syntax.inside(loop, frame.function) for loop in loops)
    leaving = (
        n for s in handler.body for n in ast.walk(s) if isinstance(n, (ast.Return, ast.Break, ast.Continue))
    )
    if again or any(f.loops for f in outside):
        return False
    return _catches_failures(module, handler) and all(n is handler.body[-1] for n in leaving)


def is_shared(module: Module, handler: ast.ExceptHandler) -> bool:
    """Whether what a handler catches comes to all ranks alike."""
    kinds = (
        handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type else []
    )
    return bool(kinds) and all(module.names.last(kind) in _SHARED for kind in kinds)


def _catches_failures(module: Module, handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is None or module.names.last(kind) in _FAILURES for kind in kinds)


def swallows(module: Module, handler: ast.ExceptHandler, tried: ast.Try) -> bool:
    """Whether a handler swallows what one rank alone may run into."""
    if is_shared(module, handler) or _is_raised_in(module, handler, tried):
        return False
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise):
            return False
        if isinstance(node, ast.Call) and (ast.unparse(node.func) in _ENDS or _hands_on(handler, node)):
            return False
    return True


def _is_raised_in(module: Module, handler: ast.ExceptHandler, tried: ast.Try) -> bool:
    """Whether nothing but `raise` statements in loops of its `try` raises what a handler catches, a class of the program's own:
    that leaves a loop as `break` does, by tests that all ranks decide alike (G4)."""
    kind = handler.type
    if not isinstance(kind, ast.Name):
        return False
    bound = module.scopes.reaching(kind)
    if len(bound) != 1 or not isinstance(bound[0].statement, ast.ClassDef):
        return False
    if any(n.attr == kind.id for n in module.syntax.every(ast.Attribute)):
        return False  # another file may raise it
    raised = 0
    for read in module.loads.get(kind.id):
        parent = module.syntax.parent[read]
        made = parent if isinstance(parent, ast.Call) and parent.func is read else read
        place = module.syntax.parent[made]
        if isinstance(place, ast.ExceptHandler):
            continue
        if not isinstance(place, ast.Raise) or not _is_in_loop_of(module, place, tried):
            return False
        raised += 1
    return raised > 0


def _is_in_loop_of(module: Module, raised: ast.Raise, tried: ast.Try) -> bool:
    """Whether a statement stands in a loop of a `try`, in no handler, and comes up by nothing but `if`s and loops."""
    syntax, in_loop = module.syntax, False
    child: ast.AST = raised
    for a in syntax.ancestors(raised):
        if a is tried:
            return in_loop and syntax.field[child] == "body"
        if isinstance(a, LOOPS):
            in_loop = True
        elif not isinstance(a, (ast.If, ast.With)):
            return False
        child = a
    return False


def _hands_on(handler: ast.ExceptHandler, call: ast.Call) -> bool:
    """`coord.request_stop(e)`: the coordinator of TensorFlow 1's threads raises it again where they are joined."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "request_stop"
        and any(isinstance(a, ast.Name) and a.id == handler.name for a in call.args)
    )
