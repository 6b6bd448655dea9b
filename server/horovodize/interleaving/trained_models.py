"""Which expressions stand for a model that is trained, under whatever name, key or place it is held.

def resume(net):
    net.load_weights("best.h5")  # `net` is the `model` that is trained below

resume(model)"""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.python.syntax import COMPREHENSIONS, argument

_VARIABLES = ("trainable_variables", "trainable_weights")
_ALL_VARIABLES = ("variables", "weights")


class TrainedModels:
    """The models that one script trains."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    def are(self, e: ast.expr) -> bool:
        """Whether an expression is one of them: written like it, or surely the same object."""
        return ast.unparse(e) in self.texts or self._is_made_as_one(e)

    @cached_property
    def texts(self) -> set[str]:
        """How they are written where they are trained."""
        return {ast.unparse(e) for e in self._trained}

    @cached_property
    def _trained(self) -> list[ast.expr]:
        found = [f.model for f in self.facts.sites.fits]
        for name in _VARIABLES:
            found += [n.value for n in self.module.loads.get(name) if isinstance(n, ast.Attribute)]
        # `tape.gradient(loss, model.variables)`: all of them, where none is left out of training.
        for asked in self.module.loads.get("gradient"):
            call = self.module.syntax.parent.get(asked)
            of = argument(call, "sources", 1) if isinstance(call, ast.Call) and call.func is asked else None
            if isinstance(of, ast.Attribute) and of.attr in _ALL_VARIABLES:
                found.append(of.value)
        return found

    def _is_made_as_one(self, e: ast.expr) -> bool:
        """Whether all that an expression may be was made by calls that make what is trained, and each of them once: what a
        function makes with each call is another model."""
        made = self._made(e)
        return bool(made) and made <= self._once

    @cached_property
    def _once(self) -> set[ast.AST]:
        """What makes those that are trained, each no more than once."""
        return {call for e in self._trained for call in self._made(e) if self._is_run_once(call)}

    def _made(self, e: ast.expr) -> set[ast.AST]:
        """The calls that make what an expression may be; none where something else may be it."""
        values = self._values_of_loop(e)
        if values:
            parts = [self._made(value) for value in values]
            return set().union(*parts) if all(parts) else set()
        found = self.module.values.origins(e)
        return {o.node for o in found} if all(o.call is not None for o in found) else set()

    def _values_of_loop(self, e: ast.expr) -> list[ast.expr]:
        """What a loop goes through under a name, if that is the values of a dictionary that is written out:
        `for net in nets.values():`, `for name, net in nets.items():`."""
        bound = self.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
        if len(bound) != 1 or bound[0].kind != "item":
            return []
        match bound[0].value, bound[0].path:
            case ast.Call(func=ast.Attribute(value=table, attr="values"), args=[]), ():
                pass
            case ast.Call(func=ast.Attribute(value=table, attr="items"), args=[]), (1,):
                pass
            case _:
                return []
        made = [o.node for o in self.module.values.origins(table) if not o.path]
        return made[0].values if len(made) == 1 and isinstance(made[0], ast.Dict) else []

    def _is_run_once(self, call: ast.AST) -> bool:
        if any(isinstance(a, (ast.Lambda, *COMPREHENSIONS)) for a in self.module.syntax.ancestors(call)):
            return False
        ways = self.facts.drive.ways(call)
        return len(ways) == 1 and not any(frame.loops for frame in ways[0])
