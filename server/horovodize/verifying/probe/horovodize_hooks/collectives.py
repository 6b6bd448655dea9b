"""Horovod's collectives as they run, in order: allreduce, broadcast, allgather, …

Hooked where all of Horovod's own functions end: the operations of its compiled library. In a traced function the note
is an operation of the graph, so that what counts is the run, not the trace. In a graph that a session runs it is left
to `sessions`, which sees what each run reaches: a note there would be an operation that nobody asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

KINDS = (
    "allreduce",
    "grouped_allreduce",
    "allgather",
    "grouped_allgather",
    "broadcast",
    "broadcast_inplace",
    "broadcast_inplace_resource",
    "alltoall",
    "reducescatter",
    "grouped_reducescatter",
    "join",
)


class Collectives:
    """The collectives that have run: `log` holds ("allreduce", "float32[3,1]") and so on.

    before  called with the kind of each, before it runs or is traced"""

    def __init__(self, before: Callable[[str], None] = lambda kind: None) -> None:
        self._before = before
        self.log: list[tuple[str, str]] = []
        self.sums = 0  # allreduces whose result is the sum, not the mean
        self._broadcasts = self._averages = 0

    def install(self) -> None:
        """Imports Horovod (which starts nothing) and hooks it."""
        from horovod.tensorflow import mpi_ops

        for kind in KINDS:
            name = f"horovod_{kind}"
            setattr(mpi_ops.MPI_LIB, name, self._around(kind, getattr(mpi_ops.MPI_LIB, name)))

    def counts(self) -> tuple[int, int]:
        """Broadcasts of variables so far, and what may be averages: allreduces, and allgathers of gradients that are sparse."""
        return self._broadcasts, self._averages

    def add(self, kind: str, what: str, adds: bool = False) -> None:
        """Notes a collective that has run."""
        self.sums += adds
        self.log.append((kind, what))
        self._broadcasts += "broadcast" in kind and "float" in what  # objects are sent as bytes: uint8[…]
        self._averages += "allreduce" in kind or "allgather" in kind

    def _around(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            self._before(kind)
            result = original(*args, **kwargs)
            what = describe(args[0]) if args else ""
            factors = (float(kwargs.get(f"{side}_factor", 1)) for side in ("prescale", "postscale"))
            adds = "allreduce" in kind and sums(kwargs.get("reduce_op"), *factors)
            if tf.executing_eagerly():
                self.add(kind, what, adds)
            elif ops.executing_eagerly_outside_functions():
                tf.numpy_function(lambda: self.add(kind, what, adds), [], [])
            return result

        return operation


def sums(operation: Any, *factors: float) -> bool:
    """Whether an allreduce adds up without dividing before or after."""
    from horovod.tensorflow import Sum

    return bool(operation == Sum and all(factor == 1 for factor in factors))


def describe(value: Any) -> str:
    """A tensor's type and shape, or those of several."""
    if isinstance(value, (list, tuple)):
        return ";".join(describe(item) for item in value)
    tensor = tf.convert_to_tensor(value) if not hasattr(value, "dtype") else value
    shape = (
        ",".join("?" if size is None else str(size) for size in tensor.shape)
        if tensor.shape.rank is not None
        else "?"
    )
    return f"{tensor.dtype.name}[{shape}]"
