"""Weights that each rank draws for itself, given to what is trained: those of a model that was just built, or what a session
draws again.

    model.set_weights(build().get_weights())"""

from __future__ import annotations

import ast

from horovodize.facts.facts import Facts
from horovodize.interleaving.graph_seeds import seeds_alike
from horovodize.python.syntax import FUNCTIONS

_BUILT = ("Sequential", "Model", "clone_model")
_GIVING = ("get_weights", "weights", "variables", "trainable_variables", "trainable_weights")
_LOADING = frozenset(
    "load_weights load_model set_weights restore from_pretrained broadcast_variables broadcast load fit assign".split()
)
_BEFORE_SENDING = ("on_train_begin", "__init__", "set_model")


class FreshWeights:
    """Those of one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    def among(self, given: list[ast.expr]) -> ast.expr | None:
        """What of the arguments of a call is, or holds, the weights of a model that was just built."""
        for e in given:
            for n in ast.walk(e):
                if isinstance(n, ast.Attribute) and n.attr in _GIVING and self._is_fresh(n.value):
                    return n.value
        return None

    def may_come_after_sending(self, call: ast.Call) -> bool:
        """Whether a method of a callback comes to a call after the weights were sent, with the first batch."""
        hook = self.facts.hooks.around(call)
        if hook is None:
            return True
        if hook.name in _BEFORE_SENDING or hook.is_of_batches:
            return False
        tests = [test.test for test, _ in self.module.syntax.conditions(call)]
        return any(self._asks_for_later(test, hook.number) for test in tests)

    def _asks_for_later(self, test: ast.expr, number: str | None) -> bool:
        """`epoch == 3`, `epoch > 2`, `epoch and …`: no test that the first epoch passes."""
        match test:
            case ast.Compare(
                left=ast.Name(id=name),
                ops=[ast.Eq() | ast.Gt() | ast.GtE()],
                comparators=[ast.Constant(value=int(at))],
            ):
                return name == number and (at > 0 or isinstance(test.ops[0], ast.Gt))
        return False

    def _is_fresh(self, e: ast.expr) -> bool:
        """Whether this is a model that is built for it alone, or a part of one, with no weights but first ones."""
        while isinstance(e, (ast.Attribute, ast.Subscript)):
            e = e.value
        if isinstance(e, ast.Name) and not self._is_read_alone(e):
            return False
        made = self.module.values.calls(e)
        return bool(made) and all(map(self._builds, made)) and not self._loads(e)

    def _is_read_alone(self, name: ast.Name) -> bool:
        """Whether a name is bound once, in the function and loop that read it, to a model whose weights nothing else sets."""
        syntax, bound = self.module.syntax, self.module.scopes.reaching(name)
        if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path:
            return False
        at = bound[0].statement
        if syntax.function(at) is not syntax.function(name) or list(syntax.loops(at)) != list(
            syntax.loops(name)
        ):
            return False
        uses = [n for n in self.module.loads.get(name.id) if isinstance(n, ast.Name)]
        return all(isinstance(p := syntax.parent.get(n), ast.Attribute) and p.attr in _GIVING for n in uses)

    def _builds(self, made: ast.Call) -> bool:
        draws, name = self.facts.uniform.draws, self.module.names.of(made.func) or ""
        if name.rsplit(".", 1)[-1] not in _BUILT or not name.startswith(("tensorflow.keras", "keras.")):
            return False
        return not draws.is_seeded("random.", made) and not seeds_alike(self.facts)

    def _loads(self, e: ast.expr) -> bool:
        """Whether a function that builds a model also gives it weights, or builds no model that draws any."""
        callee = self.module.values.callee(e) if isinstance(e, ast.Call) else None
        if not isinstance(callee, FUNCTIONS):
            return callee is not None
        return any(
            isinstance(n, ast.Attribute)
            and n.attr in _LOADING
            or (isinstance(n, ast.keyword) and n.arg in ("weights", "seed"))
            for n in ast.walk(callee)
        )
