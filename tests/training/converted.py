"""Has AutoGraph convert Horovod's own functions before the fork: their conversion is half of what a short run of a
`tf.function` costs each rank, and comes to the same text each time. TensorFlow is not initialized by this."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def convert_ahead() -> None:
    from tensorflow.python.autograph.core.converter import ConversionOptions, ProgramContext
    from tensorflow.python.autograph.impl import api
    from tensorflow.python.eager import context

    def convert(functions: Iterator[Callable[..., Any]], *, requested: bool) -> None:
        options = ConversionOptions(recursive=True, user_requested=requested, optional_features=None)
        for function in functions:
            api._convert_actual(function, ProgramContext(options))

    convert(traced(), requested=True)
    convert(called(), requested=False)
    assert context.context()._context_handle is None, (
        "TensorFlow is initialized: its threads don't outlive a fork"
    )


def traced() -> Iterator[Callable[..., Any]]:
    """What Horovod gives to `tf.function`."""
    import horovod.tensorflow as hvd
    from horovod.tensorflow import functions

    averaging = hvd._make_allreduce_grads_fn(
        "", "", "", hvd.Compression.none, False, hvd.Average, 1.0, 0, None
    )
    for function in (averaging, functions._make_broadcast_group_fn()):
        yield function.python_function


def called() -> Iterator[Callable[..., Any]]:
    """What these call in their turn."""
    import horovod.tensorflow as hvd
    from horovod.common.basics import HorovodBasics
    from horovod.common.process_sets import ProcessSet
    from horovod.tensorflow import mpi_ops
    from horovod.tensorflow import util as horovod_util

    yield from (
        hvd._allreduce_cond,
        hvd.allreduce,
        hvd.broadcast,
        mpi_ops._allreduce,
        mpi_ops._normalize_name,
    )
    yield from (ProcessSet.included, ProcessSet.size, HorovodBasics.rank, HorovodBasics._process_set_size)
    yield from (
        HorovodBasics.rocm_built,
        horovod_util._executing_eagerly,
        mpi_ops.handle_average_backwards_compatibility,
    )
    yield from (hvd.Compression.none.compress, hvd.Compression.none.decompress)
