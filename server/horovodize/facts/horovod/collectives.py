"""What all ranks of a distributed script must do together: Horovod's own collectives, and the calls that train."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from horovodize.facts.counting.callback_items import CallbackItem, CallbackItems
from horovodize.facts.differences.known_calls import WORLD
from horovodize.facts.horovod.horovod_use import COLLECTIVES, TAPES, WRAPPERS, HorovodUse
from horovodize.facts.rates.optimizers import Optimizers
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.sites import Sites

_HANDED = ("BroadcastGlobalVariablesHook",)  # Keras' callbacks: HVD311
_OPERATIONS = ("_allreduce", "_allgather", "_broadcast")  # `hvd.mpi_ops._allreduce(x)`, which adds up
_AVERAGING = ("allreduce", "allreduce_", "grouped_allreduce", "_allreduce")
_OF_MPI = (  # of all processes
    "allreduce Allreduce allgather Allgather bcast Bcast barrier Barrier reduce Reduce gather Gather scatter Scatter".split()
)
_COMMITTING = ("commit", "check_host_updates")
_LIMIT = 400
_FAR = 2000  # nodes behind gradients that a script changes before it applies them
_TOGETHER = (
    "BroadcastGlobalVariablesCallback",
    "MetricAverageCallback",
)  # with which every `fit` waits for all


@dataclass(frozen=True, eq=False)
class Collective:
    """A call for which ranks wait for each other. `name` is what it is called: two of one name may meet."""

    call: ast.Call
    name: str
    trains: bool = False

    @property
    def words(self) -> str:
        """What it is, in a sentence."""
        return "training" if self.name == "training" else f"`{self.name}`"


def process_set(call: ast.Call, name: str) -> ast.expr | None:
    """The set of ranks that a collective is given; None where it is one of all ranks."""
    return argument(call, "process_set", 0 if name == "barrier" else None)


class Collectives:
    """The collectives of one module."""

    def __init__(
        self, module: Module, sites: Sites, use: HorovodUse, optimizers: Optimizers, callbacks: CallbackItems
    ) -> None:
        self.module, self.sites, self.use, self.optimizers = module, sites, use, optimizers
        self.callbacks = callbacks

    @cached_property
    def all(self) -> dict[ast.AST, Collective]:
        """All of them but `join`, by their calls."""
        return {c.call: c for c in self._found()}

    def _found(self) -> Iterator[Collective]:
        use, sites = self.use, self.sites
        for call in use.calls(*(COLLECTIVES - {"join"}), *_OPERATIONS, *_HANDED):
            yield Collective(call, self.module.names.last(call.func), trains=call in self._averaging)
        for call in self.module.calls_of(*(WORLD + name for name in _OF_MPI)) if use.starts else ():
            yield Collective(call, self.module.names.last(call.func))
        for call in use.calls(*TAPES):
            yield Collective(call, self.module.names.last(call.func), trains=True)
        yield from self._steps_of_torch()
        yield from self._commits()
        for fit in sites.fits:
            if self._is_compiled_wrapped(fit.model) or self._waits_by_callback(fit.call):
                yield Collective(fit.call, "training", trains=True)
        for training in sites.read_estimators.trainings if use.calls(*_HANDED) else ():
            hooks = training.hooks
            if hooks is not None and self._has_surely(self.callbacks.of_list(hooks), _HANDED):
                yield Collective(training.call, "training", trains=True)
        if not use.wrapped:
            return
        if sites.graph_minimizes and all(self.averages(call) for call in sites.graph_minimizes):
            for training in sites.read_estimators.trainings:
                yield Collective(training.call, "training", trains=True)
        if sites.builds_graph and all(self.averages(call) for call in sites.graph_minimizes):
            for run in sites.graph.trainings:
                if not sites.graph.surely_trains(run.call):
                    continue
                yield Collective(run.call, "training", trains=True)

    @cached_property
    def _states(self) -> dict[ast.AST | None, str]:
        """The functions under `@hvd.elastic.run`, and what they call the state that they are given."""
        elastic = [
            f
            for f in self.module.syntax.functions
            if any((self.module.names.of(d) or "").endswith("elastic.run") for d in f.decorator_list)
        ]
        return {f: f.args.args[0].arg for f in elastic if f.args.args}

    def is_elastic_state(self, name: ast.Name) -> bool:
        """Whether a name is the state that an elastic function is given, which is the same on all ranks."""
        return self._states.get(self.module.syntax.function(name)) == name.id

    def _commits(self) -> Iterator[Collective]:
        """`state.commit()` of elastic training: with it, ranks agree on which of them there are."""
        given = self._states
        for name in _COMMITTING if given else ():
            for node in self.module.loads.get(name):
                call, around = self.module.syntax.parent.get(node), self.module.syntax.function(node)
                if isinstance(call, ast.Call) and call.func is node and isinstance(node, ast.Attribute):
                    of = given.get(around)
                    if isinstance(node.value, ast.Name) and of == node.value.id:
                        yield Collective(call, name)

    def _steps_of_torch(self) -> Iterator[Collective]:
        """PyTorch's `optimizer.step()`, in which a wrapped optimizer waits for the gradients of all ranks."""
        if not self.use.of_torch or not self.use.wrapped:
            return
        for node in self.module.loads.get("step"):
            call = self.module.syntax.parent.get(node)
            if isinstance(node, ast.Attribute) and isinstance(call, ast.Call) and call.func is node:
                # Also `scaler.step(optimizer)`, which steps unless a gradient isn't finite: these are the same on all ranks.
                if any(map(self._is_wrapped_by_then, (node.value, *call.args[:1]))):
                    yield Collective(call, "training", trains=True)

    def _is_wrapped_by_then(self, optimizer: ast.expr) -> bool:
        """Whether an optimizer is surely wrapped where there are several ranks; it may also be what is wrapped then: one that
        a function finds under a name of the module, which was bound to that before, or that is wrapped under a test
        (`if args.distributed: optimizer = hvd.DistributedOptimizer(optimizer)`)."""
        arrivals = {a.node for a in self.optimizers.arrivals(optimizer)}
        wrappers = [a for a in arrivals if self.use.is_call(a, *WRAPPERS)]
        given = [e for w in wrappers if isinstance(w, ast.Call) and (e := self.use.inside(w)) is not None]
        return bool(wrappers) and arrivals <= {
            *wrappers,
            *(a.node for e in given for a in self.optimizers.arrivals(e)),
        }

    @cached_property
    def _averaging(self) -> set[ast.AST]:
        """The calls by which a script averages the gradients itself that an optimizer is given."""
        calls = set(self.use.calls(*_AVERAGING))
        given = [e for update in self.sites.updates for e in update.call.args[:1]] if calls else []
        return {n for e in given for n in self.module.values.depends([e], _LIMIT) if n in calls}

    def _is_compiled_wrapped(self, model: ast.expr) -> bool:
        """Whether a model is surely compiled with an optimizer that averages."""
        text, made = ast.unparse(model), set(self.module.values.calls(model))
        given = [
            e
            for c in self.sites.compiles
            if ast.unparse(c.model) == text or made & set(self.module.values.calls(c.model))
            for e in c.optimizers
        ]
        arrivals = [a.node for e in given for a in self.optimizers.arrivals(e)]
        return bool(arrivals) and all(self.use.is_call(node, *WRAPPERS) for node in arrivals)

    def _waits_by_callback(self, fit: ast.Call) -> bool:
        """Whether each rank that fits surely has a callback that waits for all, whatever the optimizer does."""
        return bool(self.use.calls(*_TOGETHER)) and self._has_surely(self.callbacks.of(fit), _TOGETHER)

    def _has_surely(self, items: list[CallbackItem], names: tuple[str, ...]) -> bool:
        """Whether one of these is there on each rank, and surely one of Horovod's so named."""
        return any(
            item.by is None
            and not item.unsure
            and item.made
            and all(self.use.is_call(made, *names) for made in item.made)
            for item in items
        )

    def averages(self, minimize: ast.Call) -> bool:
        """Whether what makes a train op surely averages."""
        optimizer = self.sites.optimizer_of(minimize)
        wrapped = optimizer is not None and self._is_wrapped_by_then(optimizer)
        return wrapped or self._is_averaged_by_hand(minimize)

    def _is_averaged_by_hand(self, applied: ast.Call) -> bool:
        """Whether the gradients that a graph's optimizer applies were averaged by the script, also where they are put back:
        `pairs[i] = (hvd.allreduce(g), v)`."""
        pairs, calls = argument(applied, "grads_and_vars", 0), set(self.use.calls(*_AVERAGING))
        if self.module.names.last(applied.func) != "apply_gradients" or pairs is None or not calls:
            return False
        given = [pairs, *self._put_into(pairs)]
        return any(n in calls for n in self.module.values.depends(given, _FAR))

    def _put_into(self, held: ast.expr) -> list[ast.expr]:
        """What is put into a list by its place, in the function that reads it."""
        if not isinstance(held, ast.Name):
            return []
        lookup, function = self.module.scopes.lookup, self.module.syntax.function
        return [
            s.value
            for s in self.module.syntax.every(ast.Assign)
            if isinstance(s, ast.Assign) and function(s) is function(held)
            for t in s.targets
            if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id == held.id
            if lookup(held.id, t.value) is lookup(held.id, held)
        ]
