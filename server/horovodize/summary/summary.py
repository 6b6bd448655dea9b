"""The summary of a module: its training loops, their kinds and places, and what each name is (seed, section 3).

Errata to the seed that are fixed here: `import a.b.c` binds `a`; `id_r = id_c()` looks `id_c` up; bodies of `for`, `with`,
`try`, `else`, `finally`, handlers and `match` count like any other statement (a loop under a condition is restriction T5, so
it must at least be seen); calls propagate through functions, methods and `if __name__ == "__main__"`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property

from horovodize import catalogue
from horovodize.python.module import Module
from horovodize.source import Document, Problem, Span
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive
from horovodize.summary.estimators import TRAIN_AND_EVALUATE
from horovodize.summary.lattice import LoopKind, join
from horovodize.summary.roles import RoleAt, find_roles
from horovodize.summary.sites import Sites

_TENSORFLOW = re.compile(r"\b(tensorflow|keras|tf_keras|horovod\.torch|horovod import torch)\b")
_DISTRIBUTE = re.compile(r"distribut|dtensor|replica_device_setter|SyncReplicasOptimizer|ClusterSpec")
_DISTRIBUTING = ("replica_device_setter", "SyncReplicasOptimizer", "ClusterSpec")
_COPYING = "multi_gpu_model"  # copies within one process: HVD202 says of it what to do


@dataclass(frozen=True)
class TrainingLoop:
    """One place that trains.

    kind      KERAS, GRADIENT_TAPE, SESSION, MONITORED_SESSION or ESTIMATOR
    span      the header of the innermost loop around it, or the fit call
    site      the call that trains
    function  "" at module level, "train", "Trainer.train"
    model, optimizer   as they stand in the text, where known
    """

    kind: LoopKind
    span: Span
    site: Span
    function: str
    model: str | None
    optimizer: str | None
    node: ast.Call

    def describe(self) -> str:
        """The loop in a sentence."""
        where = f" in `{self.function}`" if self.function else ""
        parts = [f"{self.kind.label} training loop{where}"]
        if self.model:
            parts.append(f"model `{self.model}`")
        if self.optimizer:
            parts.append(f"optimizer `{self.optimizer}`")
        return ", ".join(parts)


class ModuleSummary:
    """What is known of one document. Everything beyond the loop's kind is made when it is first asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @property
    def problem(self) -> Problem | None:
        """Why there is nothing to know: the document does not parse."""
        return self.document.problem

    @cached_property
    def module(self) -> Module | None:
        """The module read; None when it does not parse or does not mention TensorFlow, nor Horovod's module for PyTorch (a
        glance at the text)."""
        if not _TENSORFLOW.search(self.document.text) or self.document.tree is None:
            return None
        return self._read()

    def _read(self) -> Module:
        return Module.of(self.document)

    @cached_property
    def sites(self) -> Sites | None:
        return Sites(self.module) if self.module is not None else None

    @cached_property
    def drive(self) -> Drive | None:
        return Drive(self.module, self.sites) if self.module is not None and self.sites is not None else None

    @cached_property
    def loops(self) -> tuple[TrainingLoop, ...]:
        """The places that train, in the order of the text."""
        module, sites = self.module, self.sites
        if module is None or sites is None or not module.tensorflow_imports:
            return ()
        found = [self._loop(LoopKind.KERAS, f.call, f.model, None) for f in sites.fits]
        outside = [u for u in sites.updates if u.step_of is None]
        if sites.tapes or any(u.method == "minimize" for u in outside):
            for u in outside:
                model = u.variables[0] if u.variables else None
                found.append(self._loop(LoopKind.GRADIENT_TAPE, u.call, model, u.optimizer))
        minimizes = sites.graph_minimizes
        if not sites.tapes:  # in a graph, apply_gradients needs no tape
            minimizes = minimizes + [u.call for u in outside if u.method == "apply_gradients"]
        if sites.monitored and minimizes:
            found += self._runs(LoopKind.MONITORED_SESSION, sites.monitored)
        elif sites.sessions and minimizes and not self._only_in_model_fn(minimizes):
            found += self._runs(LoopKind.SESSION, sites.sessions)
        found += [self._loop(LoopKind.ESTIMATOR, c, None, None) for c in self._estimator_trainings()]
        return tuple(sorted(found, key=lambda loop: loop.site))

    def _loop(
        self, kind: LoopKind, call: ast.Call, model: ast.expr | None, optimizer: ast.expr | None
    ) -> TrainingLoop:
        module, drive = self.module, self.drive
        assert module is not None
        assert drive is not None
        span = module.span(call)
        if kind in (LoopKind.GRADIENT_TAPE, LoopKind.SESSION, LoopKind.MONITORED_SESSION):
            loop = next((f.loops[0] for f in min(drive.ways(call), key=len) if f.loops), None)
            if loop is not None:
                last = loop.test if isinstance(loop, ast.While) else loop.iter
                span = Span(module.span(loop).start, module.span(last).end)
        function = module.syntax.function(call)
        owner = module.syntax.method_class(function)
        name = f"{owner.name}.{function.name}" if owner and function else function.name if function else ""
        texts = [module.text(e) if e is not None else None for e in (model, optimizer)]
        return TrainingLoop(kind, span, module.span(call), name, texts[0], texts[1], call)

    def _runs(self, kind: LoopKind, sessions: list[ast.Call]) -> list[TrainingLoop]:
        """The places that run a train op; where none is seen, those that open a session."""
        assert self.sites is not None
        runs = [run.call for run in self.sites.graph.trainings]
        return [self._loop(kind, call, None, None) for call in runs or sessions]

    def _only_in_model_fn(self, minimizes: list[ast.Call]) -> bool:
        """Whether every train op is made in an Estimator's `model_fn`: then the session around is not what trains."""
        assert self.module is not None
        syntax = self.module.syntax
        functions = [syntax.function(c) for c in minimizes]
        return all(
            f is not None
            and any(
                isinstance(n, ast.Call) and self.module.names.last(n.func) == "EstimatorSpec" for n in walk(f)
            )
            for f in functions
        )

    def _estimator_trainings(self) -> list[ast.Call]:
        module, sites = self.module, self.sites
        assert module is not None
        assert sites is not None
        made = sites.estimators
        if not made:
            return []
        found = [c for c in made if module.names.last(c.func) == TRAIN_AND_EVALUATE]
        found += sites.method_calls("train")
        found += [c for c in sites.method_calls("fit") if sites.fits_keras(c) is None]
        return found

    @cached_property
    def already(self) -> LoopKind | None:
        """HOROVOD or OTHER_FRAMEWORK where the module distributes its training already."""
        module = self.module
        if module is None:
            return None
        if module.imports("horovod", "horovod_keras3"):
            return LoopKind.HOROVOD
        if _DISTRIBUTE.search(self.document.text):
            for node in module.syntax.nodes:
                if isinstance(node, (ast.Name, ast.Attribute)):
                    full = module.names.of(node) or ""
                    if catalogue.is_distribution(full) and full.rpartition(".")[2] != _COPYING:
                        return LoopKind.OTHER_FRAMEWORK
                elif isinstance(node, ast.Call) and module.names.last(node.func) in _DISTRIBUTING:
                    return LoopKind.OTHER_FRAMEWORK
        return None

    @cached_property
    def kinds(self) -> frozenset[LoopKind]:
        """The kinds of loop in the module, not joined."""
        return frozenset(loop.kind for loop in self.loops)

    @cached_property
    def loop(self) -> LoopKind:
        """The join of all loops of the module."""
        if not self.loops:
            return LoopKind.NONE
        return join([*self.kinds, *([self.already] if self.already else [])])

    @cached_property
    def roles(self) -> tuple[RoleAt, ...]:
        return tuple(find_roles(self.module)) if self.module is not None else ()


def summarize(document: Document) -> ModuleSummary:
    """The summary of a document. Never raises; a document that does not parse has no loops and a `problem`."""
    return ModuleSummary(document)
