"""Optimizers at work: which ones step, how often, with which rate, on which variables and models. (Those in graphs that
sessions run are looked at in `sessions`.)

A step is seen when `apply_gradients` (Keras 3: `apply`) runs eagerly, or when a `tf.function` in which it was traced is
called.
What holds after a step is looked at when the same optimizer's next step begins: whatever a script does between two
steps (a broadcast, say) belongs to the first of them. An eager step begins where its tape does, since a forward pass
changes batch-norm statistics already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.framework import ops

from horovodize_hooks import kinds
from horovodize_hooks.copies import Copies
from horovodize_hooks.kinds import Layer, Metric, Model, Optimizer, OptimizerV2, held, plain
from horovodize_hooks.values import instances, numbers, scalar

EARLY = 3  # after so many first steps the variables are looked at
EVERY = 0  # and after each so many later ones; 0: not


@dataclass
class Watched:
    """One optimizer that has stepped.

    early holds its variables and its models' after each of the first steps.
    later holds what is trained, and the optimizer's, after each so many of the later ones.
    at_tape holds the same as of the beginning of the first eager tape since, where it is wanted: by later ones, weights may
    have been moved that are set back before the next step (MAML).
    copies are averages of its variables, as they follow them in these steps.
    trace holds, for each step seen: the optimizer's step count before it, the rate it uses, and how many broadcasts
    and averages had run by then."""

    optimizer: Any
    trained: list[Any]
    started_at: int
    first_rate: float
    owners: list[Any] = field(default_factory=list)
    early: list[dict[str, Any]] = field(default_factory=list)
    later: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, float]] = field(default_factory=list)
    copies: Copies = field(default_factory=Copies)
    eager_steps: int = 0
    at_tape: dict[str, Any] | None = None


class Steps:
    """Watches every optimizer of the process.

    collectives   returns how many broadcasts and averages have run so far"""

    def __init__(self, collectives: Callable[[], tuple[int, int]]) -> None:
        self._collectives = collectives
        self._watched: list[Watched] = []
        self._applying: set[int] = set()
        self._calls: list[Any] = []
        self._tapes = 0
        self._trainers: dict[Any, list[Watched]] = {}
        self._in_losses: dict[int, Any] = {}

    def install(self) -> None:
        for cls in kinds.BY_PAIRS:
            cls.apply_gradients = self._around_pairs(cls.apply_gradients)
        for cls in kinds.BY_LISTS:
            cls.apply = self._around_lists(cls.apply)
        tf.GradientTape.__enter__ = self._around_enter(tf.GradientTape.__enter__)
        tf.GradientTape.__exit__ = self._around_exit(tf.GradientTape.__exit__)
        polymorphic_function.Function.__call__ = self._around_call(polymorphic_function.Function.__call__)

    def report(self) -> list[dict[str, Any]]:
        """What was seen of each optimizer, in the order of their first steps. To be called once, at the end."""
        found = []
        for watched in self._watched:
            self._look(watched)
            found.append(
                {
                    "class": type(watched.optimizer).__name__,
                    "steps": self._count(watched) - watched.started_at,
                    "started_at": watched.started_at,
                    "first_rate": watched.first_rate,
                    "trace": watched.trace,
                    "schedule": _schedule(watched.optimizer) is not None,
                    "early": watched.early,
                    "later": watched.later,
                    "follow": watched.copies.parts,
                    "at_end": self._snapshot(watched),
                }
            )
        return found

    def _around_pairs(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            if id(optimizer) in self._applying or not ops.executing_eagerly_outside_functions():
                return original(optimizer, grads_and_vars, *args, **kwargs)
            pairs = list(grads_and_vars)
            with self._stepping(optimizer, pairs):
                return original(optimizer, pairs, *args, **kwargs)

        return apply_gradients

    def _around_lists(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            if self._applying or not ops.executing_eagerly_outside_functions():
                return original(optimizer, grads, trainable_variables)
            gradients = list(grads)
            variables = None if trainable_variables is None else list(trainable_variables)
            known = optimizer._trainable_variables if variables is None else variables
            with self._stepping(optimizer, list(zip(gradients, known, strict=False))):
                return original(optimizer, gradients, variables)

        return apply

    @contextmanager
    def _stepping(self, optimizer: Any, pairs: list[tuple[Any, Any]]) -> Iterator[None]:
        self._applying.add(id(optimizer))
        try:
            self._before_step(optimizer, [plain(v) for gradient, v in pairs if gradient is not None])
            yield
        finally:
            self._applying.discard(id(optimizer))

    def _around_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not tf.executing_eagerly():
                return original(function, *args, **kwargs)
            if not self._calls:
                for watched in self._trainers.get(function, ()):
                    self._look(watched)
            self._calls.append(function)
            try:
                return original(function, *args, **kwargs)
            finally:
                self._calls.pop()

        return __call__

    def _around_enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(tape: Any) -> Any:
            if tf.executing_eagerly():
                for watched in self._watched if not self._tapes else ():
                    if watched.at_tape is None and self._wants_look(watched):
                        watched.at_tape = self._snapshot(watched)
                self._tapes += 1
            return original(tape)

        return __enter__

    def _around_exit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(tape: Any, *args: Any) -> Any:
            if tf.executing_eagerly():
                self._tapes -= 1
            self._in_losses |= {id(v): v for v in map(plain, tape.watched_variables())}
            return original(tape, *args)

        return __exit__

    def _before_step(self, optimizer: Any, variables: list[Any]) -> None:
        watched = next((w for w in self._watched if w.optimizer is optimizer), None)
        with tf.init_scope():  # traced or not, the values are wanted now
            if watched is None:
                watched = Watched(optimizer, list(variables), _iterations(optimizer) or 0, rate(optimizer))
                self._watched.append(watched)
                self._trace(watched)
        known = {id(variable) for variable in watched.trained}
        watched.trained += [variable for variable in variables if id(variable) not in known]
        if tf.executing_eagerly():
            self._look(watched)
            watched.eager_steps += 1
        elif self._calls:
            trained_here = self._trainers.setdefault(self._calls[0], [])
            if watched not in trained_here:
                trained_here.append(watched)

    def _look(self, watched: Watched) -> None:
        if watched.trace[-1]["iteration"] != self._count(watched):
            self._trace(watched)
        if self._wants_look(watched):
            watched.early.append(watched.at_tape or self._snapshot(watched))
            watched.copies.note(watched.trained, _optimizer_variables(watched.optimizer))
        watched.at_tape = None
        step = self._count(watched) - watched.started_at
        if (
            EVERY
            and step > EARLY
            and step % EVERY == 0
            and step not in [late["step"] for late in watched.later]
        ):
            watched.later.append(
                {
                    "step": step,
                    "trained": numbers(watched.trained),
                    "optimizer": numbers(_optimizer_variables(watched.optimizer)),
                }
            )

    def _wants_look(self, watched: Watched) -> bool:
        return len(watched.early) < min(EARLY, self._count(watched) - watched.started_at)

    def _trace(self, watched: Watched) -> None:
        broadcasts, averages = self._collectives()
        watched.trace.append(
            {
                "iteration": self._count(watched),
                "rate": rate(watched.optimizer),
                "broadcasts": broadcasts,
                "averages": averages,
            }
        )

    def _count(self, watched: Watched) -> int:
        counted = _iterations(watched.optimizer)
        return watched.eager_steps if counted is None else counted

    def _snapshot(self, watched: Watched) -> dict[str, Any]:
        watched.owners = watched.owners or _owners(watched.trained)
        trained = {id(variable) for variable in watched.trained}
        not_the_model = {id(v) for metric in instances(Metric) for v in held(metric)}
        # What a model holds beside the variables that are trained: batch-norm statistics, frozen layers.
        others = {
            id(variable): variable
            for owner in watched.owners
            for variable in held(owner)
            if id(variable) not in trained and id(variable) not in not_the_model
        }
        # What losses depend on beside, and no optimizer has trained yet: a network that is frozen, or trained later.
        known = {id(v) for one in self._watched for v in one.trained} | trained | others.keys()
        looked_at = [v for key, v in self._in_losses.items() if key not in known]
        return {
            "trained": numbers(watched.trained),
            "others": numbers(others.values()),
            "looked_at": numbers(looked_at),
            "optimizer": numbers(_optimizer_variables(watched.optimizer)),
        }


def rate(optimizer: Any) -> float:
    """The learning rate that the optimizer's next step uses. Must run eagerly."""
    schedule = _schedule(optimizer)
    if schedule is not None:
        return scalar(schedule(tf.cast(_iterations(optimizer) or 0, tf.int64)))
    if isinstance(optimizer, Optimizer):
        return scalar(optimizer.learning_rate)
    if isinstance(optimizer, OptimizerV2):
        if "learning_rate" not in optimizer._hyper:
            return float("nan")
        value = scalar(optimizer._get_hyper("learning_rate"))
        return value / (1.0 + optimizer._initial_decay * (_iterations(optimizer) or 0))
    value = getattr(optimizer, "_learning_rate", getattr(optimizer, "_lr", None))
    return float("nan") if value is None else scalar(value() if callable(value) else value)


def _schedule(optimizer: Any) -> Any:
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if isinstance(optimizer, Optimizer):
        value = optimizer._learning_rate
    elif isinstance(optimizer, OptimizerV2):
        value = optimizer._hyper.get("learning_rate")
    else:
        return None
    return value if isinstance(value, tf.keras.optimizers.schedules.LearningRateSchedule) else None


def _iterations(optimizer: Any) -> int | None:
    """Steps taken, from the optimizer's own variable; none if it keeps none (TF1's optimizers)."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    variable = getattr(optimizer, "_iterations", None)
    if variable is None:
        return 0 if isinstance(optimizer, OptimizerV2) else None
    return int(variable.numpy())


def _optimizer_variables(optimizer: Any) -> list[Any]:
    if isinstance(optimizer, OptimizerV2):
        return list(optimizer.weights)
    if kinds.KERAS_3 and isinstance(optimizer, Optimizer):  # `variables` of Horovod's own wrapper fails there
        inner = getattr(optimizer, "inner_optimizer", None)
        return [plain(v) for one in (optimizer, inner) if one is not None for v in one._variables]
    found = optimizer.variables
    return [plain(variable) for variable in (found() if callable(found) else found)]


def _owners(variables: list[Any]) -> list[Any]:
    """For each variable the smallest model that holds it: a Keras model, else a module of another kind."""
    modules = instances((tf.Module, Layer))
    models = [m for m in modules if isinstance(m, Model)]
    others = [m for m in modules if not isinstance(m, Layer) and not isinstance(m, Model)]
    layers = [m for m in modules if isinstance(m, Layer) and not isinstance(m, (Model, Metric))]
    found: dict[int, Any] = {}
    for candidates in (models, others, layers):
        by_size = sorted(((m, {id(v) for v in held(m)}) for m in candidates), key=lambda pair: len(pair[1]))
        left = []
        for variable in variables:
            owner = next((m for m, ids in by_size if id(variable) in ids), None)
            if owner is None:
                left.append(variable)
            else:
                found.setdefault(id(owner), owner)
        variables = left
    return list(found.values())
