"""What a counter of steps may be, and what is known of one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum

from horovodize.summary.feeding import Driver

ITERATIONS = ("iterations", "_iterations")  # of an optimizer of Keras
GLOBAL_STEPS = tuple(
    f"tensorflow.compat.v1.train.{name}"
    for name in ("get_global_step", "get_or_create_global_step", "create_global_step")
)


class CounterKind(Enum):
    """What a counter is."""

    TURN = "the number of a loop's turn"
    NUMBER = "a number that the program adds to"
    VARIABLE = "a variable that the program adds to"
    ITERATIONS = "what an optimizer counts"
    GLOBAL_STEP = "the global step of a graph"
    BATCH = "the number of a batch that a callback is told"


@dataclass(frozen=True, eq=False)
class Counter:
    """Something that counts steps.

    kind      what it is
    drivers   the loops whose steps it counts
    fitted    whether it counts the steps of `fit`
    advances  where it is counted on: `step += 1`, `step.assign_add(1)`, the `step + 1` that a function gives back for the
              `step` that it was handed; nothing where TensorFlow or a loop does
    starts    the values that it is given otherwise
    stored    whether it goes on from what an earlier run has counted: it is kept with a checkpoint or in a file, or begins at a
              number of steps that were taken before
    rows      whether it goes on by the rows of a batch, whose number isn't written out: `seen += len(batch)`
    made      where the variable is made that it is; of a turn's number the `range` or `enumerate` that gives it"""

    kind: CounterKind
    drivers: frozenset[Driver]
    fitted: bool = False
    advances: tuple[ast.AST, ...] = ()
    starts: tuple[ast.expr, ...] = ()
    stored: bool = False
    made: ast.Call | None = None
    rows: bool = False

    def goes_with(self, other: Counter | None) -> bool:
        """Whether another is this one, or a variable that takes its place and is counted on by the same calls: of a name that
        is bound again, `ckpt = tf.train.Checkpoint(step=tf.Variable(1))`."""
        if other is None or other is self or self.made is None or other.made is None:
            return other is self
        return bool(self.advances) and _as_counted(self) == _as_counted(other)


def _as_counted(c: Counter) -> tuple[object, ...]:
    return c.kind, c.drivers, c.fitted, c.advances, c.stored, c.rows


def is_stored_to(n: ast.expr) -> bool:
    """Whether an expression is set, rather than read."""
    return isinstance(getattr(n, "ctx", None), (ast.Store, ast.Del))
