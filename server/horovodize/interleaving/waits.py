"""Where ranks wait for each other: at a call itself, where gradients are asked for, or in the run of a session."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.facts.horovod.collectives import Collective
from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.python.syntax import Function

_AT_ONCE = "_object"  # what gives an object where it is called, and is no part of a graph
_FETCHED = 400  # nodes that are looked at behind what a session is to fetch


class Waits:
    """Those of one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    def is_at_once(self, call: ast.Call) -> bool:
        """Whether a collective is done where it is called: in a graph it is an operation, which sessions run."""
        name = self.facts.horovod.name_of(call)
        return not self.facts.sites.builds_graph or "keras" in name or name.endswith("_object")

    @cached_property
    def asking(self) -> dict[ast.expr, ast.Call]:
        """The wrapped tapes whose gradients `tape.gradient` asks for, by that."""
        found: dict[ast.expr, ast.Call] = {}
        for asked in self.module.loads.get("gradient"):
            if isinstance(asked, ast.Attribute):
                made = [
                    c for c in self.module.values.calls(asked.value) if self.facts.horovod.is_call(c, *TAPES)
                ]
                found.update({asked: made[0]} if len(made) == 1 else {})
        return found

    @cached_property
    def asked(self) -> set[ast.Call]:
        return set(self.asking.values())

    @cached_property
    def runs(self) -> dict[ast.Call, list[Collective]]:
        """The runs of a session, and the collectives among what they fetch."""
        if not self.facts.sites.builds_graph:
            return {}
        found = {}
        for run in self.facts.sites.graph.all_runs:
            if self.module.names.last(run.func) == "restore":  # of a saver: it is given the session
                continue
            fetched = list(self.module.values.depends([self.facts.sites.graph.fetches(run)], _FETCHED))
            behind = (c for n in fetched if (c := self.facts.collectives.all.get(n)) is not None)
            found[run] = [c for c in behind if not c.trains and not c.name.endswith(_AT_ONCE)]
        return found

    @cached_property
    def sometimes(self) -> dict[ast.Call, tuple[ast.expr, bool]]:
        """The runs of a session that train by a test alone, and how it is answered then: where the train op is put under it
        into what they fetch, `if train: fetches["op"] = train_op`, or is one side of a choice there."""
        sites, found = self.facts.sites, dict[ast.Call, tuple[ast.expr, bool]]()
        minimizes = sites.graph_minimizes
        if not sites.builds_graph or not self.facts.horovod.wrapped:
            return found
        if not all(self.facts.collectives.averages(call) for call in minimizes):
            return found
        for run in sites.graph.trainings:
            if run.call not in self.facts.collectives.all and (by := self._trained_by(run.call)) is not None:
                found[run.call] = by
        return found

    def _trained_by(self, run: ast.Call) -> tuple[ast.expr, bool] | None:
        graph, syntax = self.facts.sites.graph, self.module.syntax
        fetches = graph.fetches(run)
        around, function = {test for test, _ in syntax.conditions(run)}, syntax.function(run)
        added = [
            (test.test, arm == "body")
            for place in self._put_in(fetches, function)
            for test, arm in syntax.conditions(place)
            if test not in around
        ]
        chosen = [
            (n.test, graph.fetches_training(n.body))
            for o in self.module.values.origins(fetches)
            for n in ast.walk(o.node)
            if isinstance(n, ast.IfExp)
            and graph.fetches_training(n.body) != graph.fetches_training(n.orelse)
            and syntax.function(n) is function
        ]
        found = [*added, *chosen]
        return found[0] if len(found) == 1 else None

    def _put_in(self, fetches: ast.expr, function: Function | None) -> list[ast.AST]:
        """What puts a train op into what is fetched later: `fetches["op"] = train_op`, `fetches.append(train_op)`."""
        text, graph, syntax = ast.unparse(fetches), self.facts.sites.graph, self.module.syntax
        found: list[ast.AST] = []
        for s in syntax.every(ast.Assign):
            if isinstance(s, ast.Assign) and any(
                isinstance(t, ast.Subscript) and ast.unparse(t.value) == text for t in s.targets
            ):
                found += [s] if graph.fetches_training(s.value) else []
        for c in syntax.calls:
            if isinstance(c.func, ast.Attribute) and c.func.attr in ("append", "update") and len(c.args) == 1:
                if ast.unparse(c.func.value) == text and graph.fetches_training(c.args[0]):
                    found.append(c)
        return [place for place in found if syntax.function(place) is function]
