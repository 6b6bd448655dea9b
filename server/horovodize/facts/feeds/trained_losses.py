"""Which losses a place trains, and in which runs of which functions they are computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.contexts import Context, context_of
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument
from horovodize.summary.begun_anew import begun_anew, models_of
from horovodize.summary.call_paths import Drive
from horovodize.summary.site_kinds import Update
from horovodize.summary.sites import Sites


class TrainedLosses:
    """The losses that one module trains."""

    def __init__(self, module: Module, sites: Sites, drive: Drive) -> None:
        self.module, self.sites, self.drive = module, sites, drive
        self.sessions = frozenset[ast.AST](sites.sessions)

    def of(self, site: ast.Call) -> list[tuple[ast.expr, Context]]:
        """The losses of a place that trains by hand or runs a session, each in a context."""
        update = self.sites.update_of(site)
        return list(self.of_update(update) if update is not None else self.of_run(site))

    def of_update(self, update: Update) -> Iterator[tuple[ast.expr, Context]]:
        """The losses of an update, each in a context."""
        without = self.made_in(update.optimizer) | models_of(self.module, self.sites, update.call)
        for gradient in update.gradients:
            target = argument(gradient, "target", 0)
            if target is not None:
                for context in self.contexts(gradient, without):
                    yield target, context
        loss = argument(update.call, "loss", 0) if update.method == "minimize" else None
        if loss is None:
            return
        for context in self.contexts(update.call, without):
            functions = [o.node for o in self.module.values.origins(loss) if isinstance(o.node, CALLABLES)]
            for function in functions:
                inner = context.calling(function, None)
                for returned in self.module.values.returned(function):
                    yield returned, inner
            if not functions:
                yield loss, context

    def of_run(self, site: ast.Call) -> Iterator[tuple[ast.expr, Context]]:
        """The losses of what a session's run trains, each in a context."""
        graph, names = self.sites.graph, self.module.names
        ops = list(graph.operations(graph.fetches(site)))
        made = [n for n in ops if n in graph.train_ops] or list(graph.train_ops)
        for op in made:
            if not isinstance(op, ast.Call):
                continue
            sources = (
                [op]
                if self.sites.loss_of(op) is not None
                else [
                    n
                    for n in self.module.values.depends([op], 800)
                    if isinstance(n, ast.Call) and names.last(n.func) in ("compute_gradients", "gradients")
                ]
            )
            for source in sources:
                first = "ys" if names.last(source.func) == "gradients" else "loss"
                loss = self.sites.loss_of(source) or argument(source, first, 0)
                if loss is not None:
                    for context in self.contexts(source, frozenset()):
                        yield loss, context

    def contexts(self, site: ast.AST, made: frozenset[ast.AST]) -> list[Context]:
        """The runs of functions in which a place trains what the calls of `made` make."""
        own = self.sites.own_steps
        return [
            context_of(way, begun_anew(self.module.syntax, way, made), own) for way in self.drive.ways(site)
        ]

    def made_in(self, optimizer: ast.expr | None) -> frozenset[ast.AST]:
        """The calls that make an optimizer, or a model."""
        return frozenset(self.module.values.calls(optimizer)) if optimizer is not None else frozenset()
