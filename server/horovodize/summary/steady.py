"""Whether every rank comes to a place equally often, so that a collective may stand there.

A condition on an epoch number or an option is the same on all ranks. One on a loss, on the clock or on what is on the disk
need not be: a collective behind it can stall the job.
"""

from __future__ import annotations

import ast

from horovodize.summary.drive import Drive
from horovodize.summary.module import Module
from horovodize.summary.syntax import CALLABLES, FUNCTIONS, LOOPS
from horovodize.summary.values import Origin

_PURE = {"int", "float", "str", "bool", "len", "abs", "round", "min", "max", "isinstance", "hasattr", "getattr", "range",
         "enumerate", "zip", "callable", "divmod", "sum", "any", "all"}  # fmt: skip
_PURE_METHODS = {"numpy", "read_value", "lower", "upper", "startswith", "endswith", "strip", "value"}
_PURE_NAMES = {
    "os.environ.get",
    "os.getenv",
    "tensorflow.Variable",
    "tensorflow.equal",
    "tensorflow.math.equal",
    "tensorflow.cast",
}
_OPTIONS = {"parse_args", "parse_known_args", "ArgumentParser", "Namespace", "get_args"}
_LOCAL_NAMES = ("logs", "loss", "val_loss", "acc", "accuracy")


class Steady:
    """Which places of a module all ranks reach alike."""

    def __init__(self, module: Module, drive: Drive) -> None:
        self.module, self.drive = module, drive

    def reached_alike(self, node: ast.AST) -> bool:
        """Whether all ranks run a node equally often, as far as this module can tell."""
        return all(self._in_function(frame.node) for way in self.drive.ways(node) for frame in way)

    def _in_function(self, node: ast.AST) -> bool:
        """The same, from the start of the function around the node."""
        syntax = self.module.syntax
        child = node
        for a in syntax.ancestors(node):
            if isinstance(child, ast.stmt) and not isinstance(a, CALLABLES) and self._left_before(child):
                return False
            field = syntax.field[child]
            if isinstance(a, CALLABLES):
                return not isinstance(a, ast.Lambda) and (field != "body" or not self._left_before(child))
            if (
                isinstance(a, (ast.If, ast.IfExp))
                and field in ("body", "orelse")
                and not self.same_value(a.test)
            ):
                return False
            if isinstance(a, ast.While) and field == "body" and not self.same_value(a.test):
                return False
            if isinstance(a, (ast.ExceptHandler, ast.BoolOp, ast.comprehension, ast.match_case)):
                return False
            child = a
        return True

    def _left_before(self, statement: ast.AST) -> bool:
        """Whether some rank may have left the block before a statement: a `return` under a condition of its own."""
        syntax = self.module.syntax
        if not isinstance(statement, ast.stmt) or statement not in syntax.parent:
            return False
        block = (
            syntax.block(statement)
            if isinstance(getattr(syntax.parent[statement], syntax.field[statement]), list)
            else []
        )
        for earlier in block:
            if earlier is statement:
                return False
            if isinstance(earlier, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.Try)):
                for n in ast.walk(earlier):
                    if isinstance(n, (ast.Return, ast.Break, ast.Continue)) and self._leaves(n, earlier):
                        return True
        return False

    def _leaves(self, exit_: ast.AST, around: ast.stmt) -> bool:
        """Whether a `return`, `break` or `continue` leaves the block of `around` on some ranks and not on others."""
        syntax, unsteady = self.module.syntax, False
        child = exit_
        for a in syntax.ancestors(exit_):
            if isinstance(a, CALLABLES):
                return False
            if isinstance(a, LOOPS) and isinstance(exit_, (ast.Break, ast.Continue)):
                return False
            if isinstance(a, ast.If) and syntax.field[child] in ("body", "orelse"):
                unsteady |= not self.same_value(a.test)
            unsteady |= isinstance(a, ast.ExceptHandler)
            if a is around:
                break
            child = a
        return unsteady

    # ------------------------------------------------------------------ values

    def same_value(self, e: ast.AST, depth: int = 0) -> bool:
        """Whether an expression is made of constants, options and counters only."""
        if depth > 6:
            return False
        match e:
            case ast.Constant() | ast.arg():
                return not (isinstance(e, ast.arg) and e.arg in _LOCAL_NAMES)
            case ast.Name():
                if e.id in _LOCAL_NAMES:
                    return False
                return all(self._same_origin(o, e, depth) for o in self.module.values.origins(e))
            case ast.Attribute():
                if self.module.names.of(e) is not None:
                    return True
                if e.attr in ("history", "latest_checkpoint", *_LOCAL_NAMES):
                    return False
                return all(self._same_origin(o, e, depth) for o in self.module.values.origins(e))
            case ast.Call():
                return self._same_call(e, depth)
            case ast.Lambda():
                return True
            case ast.expr():
                return all(
                    self.same_value(c, depth) for c in ast.iter_child_nodes(e)
                    if not isinstance(c, (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop))
                )  # fmt: skip
            case _:
                return isinstance(
                    e, (*FUNCTIONS, ast.ClassDef, ast.alias, ast.keyword, ast.FormattedValue, ast.Slice)
                )

    def _same_origin(self, origin: Origin, e: ast.expr, depth: int) -> bool:
        node = origin.node
        if node is e:
            return True  # a builtin, an option's attribute: nothing more is known
        if isinstance(node, ast.Call) and origin.path:
            return self._is_pure(node)  # a counter of range or enumerate
        if isinstance(node, ast.Attribute):
            return node.attr not in ("history", "latest_checkpoint", *_LOCAL_NAMES)
        return self.same_value(node, depth + 1)

    def _same_call(self, call: ast.Call, depth: int) -> bool:
        arguments = [*call.args, *(k.value for k in call.keywords)]
        if self.module.names.last(call.func) in _OPTIONS:
            return True
        if self._is_pure(call):
            return all(self.same_value(a, depth + 1) for a in arguments)
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in _PURE_METHODS
            and self.module.names.of(call.func) is None
        ):
            return self.same_value(call.func.value, depth + 1)
        return False

    def _is_pure(self, call: ast.Call) -> bool:
        if (
            isinstance(call.func, ast.Name)
            and call.func.id in _PURE
            and not self.module.scopes.reaching(call.func)
        ):
            return True
        return (self.module.names.of(call.func) or "") in _PURE_NAMES
