"""What runs of a session give, and what hooks are told of them: computed from a rank's rows, but for counts of runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.facts.counting.graph_counts import GraphCounts
from horovodize.facts.differences.known_calls import STEPS, is_agreed
from horovodize.facts.differences.sources import Source
from horovodize.facts.files.kept import VARIABLES
from horovodize.facts.horovod.sent_variables import follows, sendings
from horovodize.python.syntax import argument

if TYPE_CHECKING:
    from horovodize.facts.differences.flow import Flow, Item, Step


class SessionResults:
    """The runs of one module's sessions."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.module = flow, flow.module
        self.names, self.values, self.syntax = flow.names, flow.values, flow.syntax

    @cached_property
    def runs(self) -> set[ast.AST]:
        return set(self.flow.sites.graph.all_runs) if self.flow.sites.builds_graph else set()

    @cached_property
    def _graph_counts(self) -> GraphCounts:
        return GraphCounts(self.module, self.flow.sites)

    def step(self, step: Step, call: ast.Call, item: Item) -> None:
        """What a session gives: computed from a rank's rows, but for counts of runs, and what is restored before training."""
        fetched = _part(list(call.args[:1]), item)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "eval":
            fetched = [call.func.value]
        made = self._made_of(fetched)
        names = {self.names.of(n.func) if isinstance(n, ast.Call) else None for n in made}
        if self._is_agreed(made) or (self.syntax.turned_with(call) and self._counts_runs(made)):
            return
        before_training = names and names <= {*STEPS, *VARIABLES} and not self.syntax.loops(call)
        flow = self.flow
        restores = bool(flow.sites.method_calls("restore") or flow.sites.supervised)
        restored = before_training and restores
        if restored and any(
            follows(self.syntax, flow.sites, flow.drive, block, block.index(s), call)
            for s in sendings(self.syntax, flow.sites)
            if (block := self.syntax.block(s))
        ):
            return
        step.varies(Source.FILES if restored else Source.ROWS, call)

    def told(self, step: Step, results: ast.Attribute, fetches: ast.expr | None, item: Item) -> None:
        """What a hook is told of each run of a session: computed from a rank's rows, but for counts of runs.

        fetches: what it asks for; None where that isn't seen"""
        made = self._made_of(_part([fetches] if fetches is not None else [], item))
        if not self._is_agreed(made) and not self._counts_runs(made):
            step.varies(Source.ROWS, results)

    def _made_of(self, fetched: Iterable[ast.expr]) -> list[ast.AST]:
        found = list[ast.AST]()
        for made in (o.node for f in fetched for o in self.values.origins(f)):
            supervisors = self.flow.sites.supervisors_of_step(made)
            steps = [argument(c, "global_step", 10) for c in supervisors]
            found += [o.node for e in steps if e is not None for o in self.values.origins(e)]
            found += self._graph_counts.global_step_variables if None in steps else ()
            found += [] if supervisors else [made]
        return found

    def _is_agreed(self, made: list[ast.AST]) -> bool:
        """Whether a run gives nothing but a graph's step, or what all ranks have agreed on."""
        names = {self.names.of(n.func) if isinstance(n, ast.Call) else None for n in made}
        return bool(names) and all(name in STEPS or is_agreed(name) for name in names)

    def _counts_runs(self, made: list[ast.AST]) -> bool:
        """Whether each run counts what it gives: all ranks take each step, and what they began with has been sent to them."""
        counts = self._graph_counts
        return bool(made) and all(n in counts.global_step_variables or counts.counts(n) for n in made)


def _part(fetched: list[ast.expr], item: Item) -> list[ast.expr]:
    """What is fetched, or the one of several that is asked for."""
    first = item.path[0] if item.path else None
    match fetched:
        case [ast.List(elts=several) | ast.Tuple(elts=several)] if isinstance(first, int) and first >= 0:
            return several[first : first + 1]
        case [ast.Dict(keys=keys, values=several)]:
            named = {k.value: v for k, v in zip(keys, several, strict=True) if isinstance(k, ast.Constant)}
            return [named[first]] if first in named else fetched
        case _:
            return fetched
