"""Training in graphs that sessions run, as TensorFlow 1 did it: which runs are steps, with which rate, on which examples.

`Session.run` is where sessions of every kind end, monitored ones and those of estimators too; Keras calls
`_make_callable_from_options`. Nothing is added to a graph. Values are read in runs of their own, of what changes
nothing (variables, rates that follow from variables and feeds); what a step itself yields (a batch, the name of a
checkpoint) is fetched with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.client import session as session_module
from tensorflow.python.framework import ops
from tensorflow.python.util import nest

from horovodize_hooks.collectives import Collectives
from horovodize_hooks.examples import Rows
from horovodize_hooks.files import Files
from horovodize_hooks.graphs import Feeds, Rate, Reach, rate_of, reach
from horovodize_hooks.kinds import LEGACY_OPTIMIZERS, OptimizerV2, V1Optimizer, run_config
from horovodize_hooks.values import of_arrays

EARLY = 3  # after so many first steps the variables are looked at
EVERY = 0  # and after each so many later ones; 0: not
STOPPING = (
    "signal_early_stopping/"  # an Estimator's flag that the hook of its chief sets, to end the other workers
)
BaseSession = session_module.BaseSession


@dataclass
class Update:
    """An `apply_gradients` in a graph: the operation that makes the step, what it trains, with which rate, and what it
    minimizes, where the optimizer was told."""

    optimizer: Any
    operation: Any
    trained: list[Any]
    rate: Rate | None
    loss: Any = None

    def own(self) -> list[Any]:
        """The optimizer's variables: slots and counters."""
        if isinstance(self.optimizer, OptimizerV2):
            return list(self.optimizer.weights)
        return [v for v in self.optimizer.variables() if v.graph is self.operation.graph]


@dataclass
class Training:
    """An update as one session runs it. Fields as those of `steps.Watched`; at_start: before its first step."""

    session: Any
    update: Update
    others: list[Any]
    at_start: dict[str, Any] | None
    early: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, float]] = field(default_factory=list)
    at_end: dict[str, Any] | None = None
    losses: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    later: list[dict[str, Any]] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        rate = self.update.rate
        return {
            "class": type(self.update.optimizer).__name__,
            "steps": len(self.trace),
            "started_at": 0,
            "first_rate": self.trace[0]["rate"],
            "trace": self.trace,
            "schedule": rate is not None and rate.schedule,
            "at_start": self.at_start,
            "early": self.early,
            "later": self.later,
            "at_end": self.at_end,
        }


class Sessions:
    """Watches every session of the process.

    collectives, files  where to note what a run does beside
    seed                of graphs and estimators for which a script sets none; none: they have none
    after               called with the number of losses so far, of one optimizer, each time one more is noted
    examples            what was fed to steps, or came from a pipeline in their graph"""

    def __init__(
        self,
        collectives: Collectives,
        files: Files,
        seed: int | None,
        after: Callable[[int], None] = lambda steps: None,
    ) -> None:
        self._after = after
        self.examples = Rows()
        self._collectives = collectives
        self._files = files
        self._seed = seed
        self._updates: dict[Any, list[Update]] = {}
        self._minimized: dict[int, tuple[Any, Any]] = {}  # by the optimizer's identity: itself, the loss
        self._trainings: list[Training] = []
        self._reaches: dict[Any, Reach] = {}
        self._here = threading.local()  # whether this thread is inside a run already

    def install(self) -> None:
        for cls in (V1Optimizer, *LEGACY_OPTIMIZERS):
            cls.apply_gradients = self._around_apply(cls.apply_gradients)
        V1Optimizer.compute_gradients = self._around_compute(V1Optimizer.compute_gradients)
        self._run = BaseSession.run
        BaseSession.run = self._around_run(BaseSession.run)
        BaseSession.close = self._around_close(BaseSession.close)
        BaseSession._make_callable_from_options = self._around_make_callable(
            BaseSession._make_callable_from_options
        )
        ops.Graph.__init__ = self._around_graph(ops.Graph.__init__)
        if (config := run_config()) is not None:
            config.__init__ = self._around_config(config.__init__)

    def report(self) -> list[dict[str, Any]]:
        """What was seen of each optimizer in each session, in the order of their first steps. To be called at the end."""
        for training in self._trainings:
            self._finish(training)
        return [training.report() for training in self._trainings if training.trace]

    def losses(self) -> list[list[float]]:
        """What was minimized, step by step, in the order of `report`."""
        return [training.losses for training in self._trainings if training.losses]

    def times(self) -> list[list[float]]:
        """When each of these losses was noted, in seconds."""
        return [training.times for training in self._trainings if training.losses]

    # --- what is hooked

    def _around_compute(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compute_gradients(optimizer: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
            if tf.is_tensor(loss) and not tf.executing_eagerly():
                self._minimized[id(optimizer)] = optimizer, loss
            return original(optimizer, loss, *args, **kwargs)

        return compute_gradients

    def _around_graph(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(graph: Any, *args: Any, **kwargs: Any) -> None:
            original(graph, *args, **kwargs)
            graph._seed = self._seed  # until the script sets its own

        return __init__

    def _around_config(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(
            config: Any, model_dir: Any = None, tf_random_seed: Any = self._seed, **kwargs: Any
        ) -> None:
            original(config, model_dir, tf_random_seed, **kwargs)  # its own default is 1 on every rank

        return __init__

    def _around_apply(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            if ops.executing_eagerly_outside_functions():
                return original(optimizer, grads_and_vars, *args, **kwargs)
            pairs = list(grads_and_vars)
            graph = ops.get_default_graph()
            before = len(graph.get_operations())
            result = original(optimizer, pairs, *args, **kwargs)
            made = graph.get_operations()[before:]
            trained = [variable for gradient, variable in pairs if gradient is not None]
            operation = getattr(result, "op", result)
            self._updates.setdefault(graph, []).append(
                Update(optimizer, operation, trained, rate_of(optimizer, made), self._loss(optimizer, graph))
            )
            return result

        return apply_gradients

    def _around_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(
            session: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
        ) -> Any:
            if getattr(self._here, "inside", False):
                return original(session, fetches, feed_dict, options, run_metadata)
            with self._inside():
                try:
                    found, feeds = self._reached(session, fetches, feed_dict)
                except (TypeError, ValueError, KeyError, RuntimeError):
                    original(session, fetches, feed_dict, options, run_metadata)  # it will say so itself
                    raise
                steps = self._makes_steps(session, found)
                sources = len(found.sources) if steps else 0
                losses = [update.loss for update in steps if update.loss is not None]
                more = [*found.sources[:sources], *losses, *found.prefixes, *found.files]
                if found.prefixes or found.files:
                    self._files.delay()
                with self._step(session, found, feeds) as got:
                    if not more:
                        return original(session, fetches, feed_dict, options, run_metadata)
                    result, extra = original(session, [fetches, more], feed_dict, options, run_metadata)
                    got.extend(extra[:sources])
                self._note_losses(session, steps, extra[sources : sources + len(losses)])
                self._note_files(found, extra[sources + len(losses) :])
                return result

        return run

    def _around_make_callable(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _make_callable_from_options(session: Any, options: Any) -> Any:
            made = original(session, options)
            graph = session.graph
            starts = [graph.as_graph_element(name) for name in [*options.fetch, *options.target]]
            given = [graph.as_graph_element(name) for name in options.feed]
            found = reach([getattr(start, "op", start) for start in starts], given)

            def call(*values: Any, **kwargs: Any) -> Any:
                feeds = list(zip(given, values, strict=False))
                with self._inside(), self._step(session, found, feeds):
                    return made(*values, **kwargs)

            return call

        return _make_callable_from_options

    def _around_close(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def close(session: Any) -> Any:
            for training in self._trainings:
                if training.session is session:
                    self._finish(training)
            return original(session)

        return close

    def _loss(self, optimizer: Any, graph: Any) -> Any:
        _, loss = self._minimized.get(id(optimizer), (None, None))
        return loss if loss is not None and loss.graph is graph else None

    # --- what a run is

    @contextmanager
    def _inside(self) -> Iterator[None]:
        before = getattr(self._here, "inside", False)
        self._here.inside = True
        try:
            yield
        finally:
            self._here.inside = before

    def _reached(self, session: Any, fetches: Any, feed_dict: Any) -> tuple[Reach, Feeds]:
        graph = session.graph
        feeds = [
            (graph.as_graph_element(tensor, allow_operation=False), value)
            for feed, given in nest.flatten_dict_items(feed_dict or {}).items()
            for tensor, value in self._fed(feed, given)
        ]
        handler = session_module._FetchHandler(graph, fetches, {})
        starts = [*handler.targets(), *(tensor.op for tensor in handler.fetches())]
        key = (graph, frozenset(o.name for o in starts), frozenset(tensor.name for tensor, _ in feeds))
        if key not in self._reaches:
            self._reaches[key] = reach(starts, [tensor for tensor, _ in feeds])
        return self._reaches[key], feeds

    def _fed(self, feed: Any, value: Any) -> Feeds:
        """What is fed, as tensors: sparse ones are fed as several."""
        kinds = session_module._REGISTERED_EXPANSIONS  # the last fits everything
        as_tensors = next(as_tensors for kind, _, as_tensors, _ in kinds if isinstance(feed, kind))
        return list(as_tensors(feed, value))

    def _makes_steps(self, session: Any, found: Reach) -> list[Update]:
        updates = self._updates.get(session.graph, ())
        return [update for update in updates if update.operation.name in found.operations]

    @contextmanager
    def _step(self, session: Any, found: Reach, feeds: Feeds) -> Iterator[list[Any]]:
        """Around a run. Gives a list to put into what the step got from a pipeline. A run that fails was no step."""
        steps = [self._training(session, update) for update in self._makes_steps(session, found)]
        broadcasts, averages = self._collectives.counts() if steps else (0, 0)
        points = []
        for training in steps:
            self._look(training)
            rate = training.update.rate
            points.append(
                {
                    "iteration": len(training.trace),
                    "rate": self._value(session, rate, feeds) if rate else float("nan"),
                    "broadcasts": broadcasts,
                    "averages": averages,
                }
            )
        batch: list[Any] = []
        yield batch
        for kind, what in found.collectives:
            self._collectives.add(kind, what)
        self._collectives.sums += found.sums
        for training, point in zip(steps, points, strict=True):
            training.trace.append(point)
        if steps:
            self._note_examples(steps, feeds, batch)

    def _note_examples(self, steps: list[Training], feeds: Feeds, batch: list[Any]) -> None:
        rates = {t.name for s in steps if s.update.rate for t, _ in s.update.rate.fed_by(feeds)}
        given = [np.asarray(value) for tensor, value in feeds if tensor.name not in rates]
        arrays = [np.asarray(value) for value in batch] + [array for array in given if array.ndim]
        # A feed without arrays is one example, unless the data come from elsewhere: then it is a switch.
        arrays = arrays or given
        if arrays:
            lengths = [len(array) if array.ndim else 0 for array in arrays]
            usual = max(lengths, key=lengths.count)  # recurrent states and the like have other first axes
            self.examples.note(*[a for a, length in zip(arrays, lengths, strict=True) if length == usual])

    def _note_losses(self, session: Any, steps: list[Update], losses: list[Any]) -> None:
        told = [update for update in steps if update.loss is not None]
        for update, loss in zip(told, losses, strict=True):
            training = self._training(session, update)
            training.losses.append(float(np.mean(loss)))
            training.times.append(time.monotonic())
            self._after(len(training.losses))

    def _note_files(self, found: Reach, names: list[Any]) -> None:
        for where, part in (
            (self._files.prefixes, names[: len(found.prefixes)]),
            (self._files.files, names[len(found.prefixes) :]),
        ):
            for name in part:
                self._files.note(where, name.decode() if isinstance(name, bytes) else str(name))

    # --- what holds before and after a step

    def _training(self, session: Any, update: Update) -> Training:
        for training in self._trainings:
            if training.session is session and training.update is update:
                return training
        updates = self._updates[session.graph]
        known = {v.name for u in updates for v in [*u.trained, *u.own()]}
        held = session.graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)
        others = [v for v in held if v.name not in known and not v.name.startswith(STOPPING)]
        training = Training(session, update, others, None)
        first = not any(other.session is session for other in self._trainings)
        # Keras broadcasts after the first batch; and what other optimizers of the session did is seen at their steps.
        if isinstance(update.optimizer, V1Optimizer):
            training.at_start = self._snapshot(training, others=first)
        self._trainings.append(training)
        return training

    def _look(self, training: Training) -> None:
        if len(training.early) < min(EARLY, len(training.trace)):
            training.early.append(self._snapshot(training))
        step = len(training.trace)
        if (
            EVERY
            and step > EARLY
            and step % EVERY == 0
            and step not in [late["step"] for late in training.later]
        ):
            training.later.append({"step": step, **self._snapshot(training, others=False)})

    def _finish(self, training: Training) -> None:
        if training.at_end is None:
            with self._inside():
                self._look(training)
                training.at_end = self._snapshot(training)

    def _snapshot(self, training: Training, others: bool = True) -> dict[str, Any]:
        parts = {
            "trained": training.update.trained,
            "others": training.others if others else [],
            "optimizer": training.update.own(),
        }
        return {name: self._numbers(training.session, variables) for name, variables in parts.items()}

    def _numbers(self, session: Any, variables: list[Any]) -> list[dict[str, Any]]:
        try:
            arrays = self._run(session, variables) if variables else []
        except tf.errors.FailedPreconditionError:  # some have no value yet
            arrays = [self._or_nothing(session, variable) for variable in variables]
        return of_arrays((v.name, np.asarray(array)) for v, array in zip(variables, arrays, strict=True))

    def _or_nothing(self, session: Any, variable: Any) -> Any:
        try:
            return self._run(session, variable)
        except tf.errors.FailedPreconditionError:
            return np.zeros(0)

    def _value(self, session: Any, rate: Rate, feeds: Feeds) -> float:
        return rate.value(lambda tensor, given: self._run(session, tensor, dict(given)), feeds)
