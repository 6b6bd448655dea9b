"""The places of TensorFlow 1 that train: sessions, Estimators, and the optimizers that build train ops into a graph."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from functools import cached_property

from horovodize.python.module import Module, is_optimizer_class
from horovodize.python.syntax import FUNCTIONS, argument, is_super
from horovodize.summary.graph import Graph

# Names that TensorFlow 1 does not have.
_ONLY_V2 = (
    "tensorflow.random.set_seed",
    "tensorflow.function",
    "tensorflow.GradientTape",
    "tensorflow.config.",
)
_ONLY_V1 = ("tensorflow.app.", "tensorflow.flags.", "tensorflow.logging.", "tensorflow.python_io.")


# Functions of slim that build a train op of the loss and the optimizer that they are given.
_CREATING = (
    "tensorflow.contrib.slim.learning.create_train_op",
    "tensorflow.contrib.training.create_train_op",
    "tf_slim.learning.create_train_op",
    "tf_slim.training.create_train_op",
)


class Tf1Sites(ABC):
    """TensorFlow 1's part of `Sites`."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def method_calls(self, *names: str) -> list[ast.Call]:
        """Calls of methods with these names, on whatever, in the order of the text."""
        return self.module.calls_written.get(*(f".{name}" for name in names))

    @property
    @abstractmethod
    def tapes(self) -> list[ast.Call]:
        """The gradient tapes that are made."""

    @property
    @abstractmethod
    def eager_updates(self) -> set[ast.Call]:
        """The calls of `apply_gradients` and `minimize` that train at once."""

    # ------------------------------------------------------------------ sessions, Estimators

    @cached_property
    def sessions(self) -> list[ast.Call]:
        names = ("Session", "InteractiveSession", "get_session")
        return [*(c for c in self.module.calls_called(*names) if self._is_known(c)), *self.supervised]

    @cached_property
    def supervised(self) -> list[ast.Call]:
        """The sessions that a `tf.train.Supervisor` opens, with their variables initialised or restored:
        `supervisor.managed_session()`."""
        opened = self.method_calls("managed_session", "prepare_or_wait_for_session", "PrepareSession")
        return [c for c in opened if self.module.values.callee(c) is None]

    @cached_property
    def supervisors(self) -> list[ast.Call]:
        """`tf.train.Supervisor(…)`"""
        return self.module.calls_of("tensorflow.compat.v1.train.Supervisor")

    def supervisors_of_step(self, e: ast.AST) -> list[ast.Call]:
        """The Supervisors of which an expression is the `global_step`: what it is given, or the graph's."""
        if not isinstance(e, ast.Attribute) or e.attr != "global_step" or not self.supervisors:
            return []
        return [c for c in self.module.values.calls(e.value) if c in self.supervisors]

    @cached_property
    def monitored(self) -> list[ast.Call]:
        names = ("MonitoredTrainingSession", "MonitoredSession", "SingularMonitoredSession")
        return [
            c
            for c in self.module.calls_called(*names)
            if self._is_known(c) or self.module.names.of(c.func) is None
        ]

    def _is_known(self, call: ast.Call) -> bool:
        return (self.module.names.of(call.func) or "").startswith("tensorflow.")

    @cached_property
    def estimators(self) -> list[ast.Call]:
        """Constructions and trainings of `tf.estimator`, `tf.contrib.learn` and `tf.contrib.tpu`."""
        known = ("tensorflow.estimator.", "tensorflow.compat.v1.estimator.")
        names = [
            n
            for n in self.module.calls
            if n.startswith(known) or "contrib.learn" in n or n.endswith(".TPUEstimator")
        ]
        return self.module.calls_of(*names)

    # ------------------------------------------------------------------ graphs

    @cached_property
    def created_train_ops(self) -> list[ast.Call]:
        """`slim.learning.create_train_op(loss, optimizer)`, which calls the optimizer's `compute_gradients` and
        `apply_gradients`, counts the graph's global step, and gives the loss."""
        return self.module.calls_of(*_CREATING)

    def optimizer_of(self, train_op: ast.Call) -> ast.expr | None:
        """The optimizer that a train op is built by."""
        if train_op in self.created_train_ops:
            return argument(train_op, "optimizer", 1)
        return train_op.func.value if isinstance(train_op.func, ast.Attribute) else None

    def loss_of(self, train_op: ast.Call) -> ast.expr | None:
        """The loss that a train op is given; None of one of gradients."""
        created = train_op in self.created_train_ops
        is_minimize = isinstance(train_op.func, ast.Attribute) and train_op.func.attr == "minimize"
        loss = argument(train_op, "total_loss" if created else "loss", 0)
        return loss if created or is_minimize else None

    @cached_property
    def graph_minimizes(self) -> list[ast.Call]:
        """`minimize`, `apply_gradients` and what is given an optimizer, where they build the train op of a TF1 graph."""
        eager = self.eager_updates
        found = []
        for call in self.method_calls("minimize", "apply_gradients"):
            if call in eager or (self.module.names.of(call.func) or "").startswith("scipy"):
                continue
            if self.is_handed_on(call):
                continue
            if self.module.values.callee(call) is None:  # a method of this module's: what it does counts
                found.append(call)
        return [*found, *self.created_train_ops]

    def is_handed_on(self, call: ast.Call) -> bool:
        """Whether a method of an optimizer of this module's own hands a step on to the same method of the class that it is made
        of, as after clipping: `super().apply_gradients(clipped)`. What trains is the call of its own method."""
        m = self.module
        method, cls = m.syntax.function(call), m.syntax.owner(call)
        if cls is None or not isinstance(call.func, ast.Attribute) or not isinstance(method, FUNCTIONS):
            return False
        handed_on = is_super(call.func.value) and method.name == call.func.attr
        return handed_on and is_optimizer_class(m.values.ancestors(cls))

    @cached_property
    def builds_graph(self) -> bool:
        """Whether the module trains through a TF1 graph: a session or an Estimator runs what `minimize` and
        `apply_gradients` only build. (With a tape in the file they train at once.)"""
        if self.tapes or not (self.sessions or self.monitored or self.estimators):
            return False
        building = [*self.method_calls("minimize", "apply_gradients"), *self.created_train_ops]
        if not building and not (self.monitored or self.estimators):
            return False  # sessions that Keras trains in, or that only infer
        return not self.module.calls_of("tensorflow.compat.v1.enable_eager_execution")

    @cached_property
    def graph(self) -> Graph:
        """The module's train ops and what its sessions run."""
        train_ops = self.graph_minimizes if self.builds_graph else []
        return Graph(self.module, train_ops, [*self.sessions, *self.monitored], self.supervised)

    @cached_property
    def any_v1(self) -> ast.expr:
        """Some use of TensorFlow 1's names in a module that has one."""
        opened = [*self.supervisors, *(c for c in self.sessions if c not in self.supervised)]
        calls = [*opened, *self.monitored, *self.estimators, *self.graph_minimizes]
        return calls[0].func if calls else self.v1_uses[0]

    @cached_property
    def v1_uses(self) -> list[ast.expr]:
        """The uses of names that only TensorFlow 1 has under that spelling (`tf.Session`; not `tf.compat.v1.Session`)."""
        if self.module.which(_is_of_both, ast.Attribute):
            return []
        return [*self.module.which(_is_of_v1, ast.Attribute)]

    @cached_property
    def is_tf1(self) -> bool:
        """Whether the module is written for TensorFlow 1, and can only run there."""
        return bool(self.v1_uses)

    @cached_property
    def graph_optimizers(self) -> list[ast.expr]:
        """The optimizers that build train ops, as expressions at the place that does."""
        if not self.builds_graph:
            return []
        calls = sorted(
            [*self.graph_minimizes, *self.method_calls("compute_gradients")],
            key=lambda c: (c.lineno, c.col_offset),
        )
        return [e for c in calls if (e := self.optimizer_of(c)) is not None]


def _is_of_both(module: Module, name: ast.Attribute) -> bool:
    """Whether a name is one that scripts use that are made for both versions."""
    written = module.names.written(name) or ""
    return written.startswith(("tensorflow.compat.", *_ONLY_V2)) or written == "tensorflow.__version__"


def _is_of_v1(module: Module, name: ast.Attribute) -> bool:
    written = module.names.written(name) or ""
    old = (module.names.of(name) or "").startswith(("tensorflow.compat.v1.", "tensorflow.contrib."))
    return (old and written.startswith("tensorflow.")) or written.startswith(_ONLY_V1)
