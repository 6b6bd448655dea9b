"""The rates that runs of a session are fed: `session.run(train, {rate: 0.01})`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.horovod.horovod_use import rates_of
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.sites import Sites

_ASSIGNING = ("tensorflow.compat.v1.assign", "tensorflow.assign")


class FedRates:
    """Those of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites

    @cached_property
    def all(self) -> list[tuple[ast.Call, ast.expr, ast.Call]]:
        """The runs, the rates that each is fed, and the placeholders that take these."""
        found = list[tuple[ast.Call, ast.expr, ast.Call]]()
        taken = self._placeholders if self.sites.builds_graph else set()
        for run in self.sites.graph.all_runs if taken else ():
            given = argument(run, "feed_dict", 1)
            for key, value in self._items(run, given) if given is not None else ():
                found += [(run, value, made) for made in taken & set(self.module.values.calls(key))]
        return found

    def _items(self, run: ast.Call, given: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
        """The keys and values of what a run is fed: written out, or put in by `feed[rate] = 0.01` and `feed.update({…})`."""
        for o in self.module.values.origins(given):
            if isinstance(o.node, ast.Dict) and not o.path:
                yield from _written(o.node)
        if not isinstance(given, (ast.Name, ast.Attribute)):
            return
        text, syntax = ast.unparse(given), self.module.syntax
        for s in syntax.every(ast.Assign):
            if isinstance(s, ast.Assign) and syntax.function(s) is syntax.function(run):
                for target in s.targets:
                    if isinstance(target, ast.Subscript) and ast.unparse(target.value) == text:
                        yield target.slice, s.value
        for method in self.module.loads.get("update"):
            call = syntax.parent.get(method)
            if (
                isinstance(method, ast.Attribute)
                and isinstance(call, ast.Call)
                and call.func is method
                and ast.unparse(method.value) == text
                and syntax.function(call) is syntax.function(run)
            ):
                yield from (item for e in call.args if isinstance(e, ast.Dict) for item in _written(e))

    def of(self, run: ast.Call) -> list[ast.expr]:
        """The rates that a run is fed."""
        return [value for fed, value, _ in self.all if fed is run]

    def given_for(self, rate: ast.expr) -> list[ast.expr]:
        """What is fed for the rate of an optimizer, if that is a placeholder, or a variable that is set to one."""
        made = set(self._behind(rate))
        return [value for _, value, placeholder in self.all if placeholder in made]

    @cached_property
    def _placeholders(self) -> set[ast.Call]:
        rates = (r for c in self.module.optimizers for r in rates_of(c))
        return {c for rate in rates for c in self._behind(rate)}

    def _behind(self, rate: ast.expr) -> Iterator[ast.Call]:
        made = self.module.values.calls(rate)
        yield from filter(self._is_placeholder, made)
        variables = {c for c in made if self.module.names.last(c.func) in ("Variable", "get_variable")}
        for call in self.module.syntax.calls if variables else ():
            target, value = self._assigned(call)
            if target is not None and value is not None and variables & set(self.module.values.calls(target)):
                yield from filter(self._is_placeholder, self.module.values.calls(value))

    def _assigned(self, call: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
        """What a call assigns to, and what."""
        if self.module.names.of(call.func) in _ASSIGNING:
            return argument(call, "ref", 0), argument(call, "value", 1)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "assign" and len(call.args) == 1:
            return call.func.value, call.args[0]
        return None, None

    def _is_placeholder(self, call: ast.Call) -> bool:
        return self.module.names.last(call.func).startswith("placeholder")


def _written(given: ast.Dict) -> Iterator[tuple[ast.expr, ast.expr]]:
    return ((key, value) for key, value in zip(given.keys, given.values, strict=True) if key is not None)
