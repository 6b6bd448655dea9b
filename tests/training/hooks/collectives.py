"""Horovod's collectives as they run, in order: allreduce, broadcast, allgather, …

Hooked where all of Horovod's own functions end: the operations of its compiled library. In a traced function the note
is an operation of the graph, so that what counts is the run, not the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

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
    """The collectives that have run: `log` holds ("allreduce", "float32[3,1]") and so on."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []

    def install(self) -> None:
        """Imports Horovod (which starts nothing) and hooks it."""
        from horovod.tensorflow import mpi_ops

        for kind in KINDS:
            name = f"horovod_{kind}"
            setattr(mpi_ops.MPI_LIB, name, self._around(kind, getattr(mpi_ops.MPI_LIB, name)))

    def counts(self) -> tuple[int, int]:
        """Broadcasts and allreduces so far."""
        kinds = [kind for kind, _ in self.log]
        return sum("broadcast" in kind for kind in kinds), sum("allreduce" in kind for kind in kinds)

    def _around(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            entry = (kind, _describe(args[0]) if args else "")
            if tf.executing_eagerly():
                self.log.append(entry)
            else:
                tf.numpy_function(lambda: self.log.append(entry), [], [])
            return result

        return operation


def _describe(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ";".join(_describe(item) for item in value)
    tensor = tf.convert_to_tensor(value) if not hasattr(value, "dtype") else value
    shape = (
        ",".join("?" if size is None else str(size) for size in tensor.shape)
        if tensor.shape.rank is not None
        else "?"
    )
    return f"{tensor.dtype.name}[{shape}]"
