"""HVD302 gpu-by-rank: a process must take the GPU of its local rank.

## What it protects
`rank()` counts the processes of all machines. On the second machine of two with four GPUs it is 4 to 7, and there are no such
GPUs. `local_rank()` counts those of one machine.

## When it is reported
Where a GPU is chosen (`visible_device_list`, `set_visible_devices`, `CUDA_VISIBLE_DEVICES`) by `rank()`, unless that is taken
modulo something, looked up in a table of the script's own, `local_rank()` is used as well, or chooses it again after
that.

The same of `torch.cuda.set_device`, in scripts of `horovod.torch`.

## Quick fix
Use `local_rank()`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[hvd.rank()], "GPU")  # HVD302
```

```python
import torch
import horovod.torch as hvd

hvd.init()
torch.cuda.set_device(hvd.rank())  # HVD302
```

## Near misses
```python
import torch
import horovod.torch as hvd

hvd.init()
torch.cuda.set_device(hvd.local_rank())
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[hvd.rank() % len(gpus)], "GPU")
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
of_ranks = {0: 0, 1: 1, 2: 0, 3: 1}
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[of_ranks[hvd.rank()]], "GPU")
```

## Source
Horovod's guide for TensorFlow, step 2.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit, Span

SETTERS = (
    "tensorflow.config.set_visible_devices",
    "tensorflow.config.experimental.set_visible_devices",
)
_OF_TORCH = "torch.cuda.set_device"
_CHOICE = "CUDA_VISIBLE_DEVICES"


def find(context: Context) -> Iterator[Violation]:
    for chosen in choices(context):
        ranks = [n for n in context.values.depends([chosen], 200) if context.facts.horovod.is_call(n, "rank")]
        if (
            not ranks
            or context.facts.horovod.depends_on(chosen, "local_rank", limit=200)
            or _is_wrapped_around(chosen)
            or any(_is_looked_up(context, rank) for rank in ranks)
            or not any(_is_number(context, rank) for rank in ranks)
            or _is_chosen_again(context, chosen)
        ):
            continue
        yield RESTRICTION.at(
            context,
            chosen,
            "this takes a GPU by `rank()`, which counts the processes of all machines; from the second machine on there is no "
            "such GPU: use `local_rank()`",
            fixes=[_fix(context, chosen, ranks)],
        )


def choices(context: Context) -> Iterator[ast.expr]:
    """The expressions by which GPUs are chosen."""
    for binding in context.scopes.attributes.get("visible_device_list", ()):
        if binding.value is not None:
            yield binding.value
    for call in context.syntax.calls:
        for keyword in call.keywords:
            if keyword.arg == "visible_device_list":
                yield keyword.value
    for call in context.module.calls_of(*SETTERS, _OF_TORCH):
        given = argument(call, "devices", 0) or argument(call, "device")
        if given is not None:
            yield given
    for statement in context.assignments:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if target.slice.value == _CHOICE:
                yield statement.value


def _is_number(context: Context, rank: ast.AST) -> bool:
    """Whether the rank itself goes on: not the answer to a test of it, nor what something unseen makes of it."""
    child = rank
    for a in context.syntax.ancestors(rank):
        if isinstance(a, ast.stmt):
            return True
        if isinstance(a, ast.Compare) or (isinstance(a, ast.IfExp) and child is a.test):
            return False
        if isinstance(a, ast.Call) and child is not a.func and not _hands_on(context, a):
            return False
        child = a
    return True


def _hands_on(context: Context, call: ast.Call) -> bool:
    """Whether it is seen what a call makes of a number."""
    name = context.names.of(call.func) or ""
    return (
        context.is_builtin(call.func, "str", "int", "format", "repr", "max", "min", "abs")
        or (isinstance(call.func, ast.Attribute) and call.func.attr in ("format", "join"))
        or context.values.callee(call) is not None
        or name in (*SETTERS, _OF_TORCH, "torch.device")
        or name.rsplit(".", 1)[-1] in ("GPUOptions", "ConfigProto")
    )


def _is_chosen_again(context: Context, chosen: ast.expr) -> bool:
    """Whether the same is set after that, in the same function, by the local rank."""
    statement = context.syntax.parent.get(chosen)
    if not isinstance(statement, ast.Assign):
        return False
    target = context.text(statement.targets[0])
    return any(
        position(other) > position(statement)
        and context.text(other.targets[0]) == target
        and context.syntax.function(other) is context.syntax.function(statement)
        and context.facts.horovod.depends_on(other.value, "local_rank", limit=200)
        for other in context.syntax.every(ast.Assign)
    )


def _is_wrapped_around(chosen: ast.expr) -> bool:
    """Whether the number is taken modulo something. (`"%d" % rank` is not.)"""
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, (ast.Mod, ast.FloorDiv, ast.Sub))
        and not isinstance(n.left, (ast.Constant, ast.JoinedStr))
        for n in ast.walk(chosen)
    )


def _is_looked_up(context: Context, rank: ast.AST) -> bool:
    """Whether the rank is the key to a table of the script's own, or to one that it is given: that may know the machines."""
    child = rank
    for a in context.syntax.ancestors(rank):
        if isinstance(a, ast.Subscript) and child is a.slice:
            nodes = [o.node for o in context.values.origins(a.value)]
            return all(
                isinstance(n, (ast.Dict, ast.List, ast.Tuple, ast.Constant)) or not isinstance(n, ast.expr)
                for n in nodes
            )
        if isinstance(a, ast.stmt):
            return False
        child = a
    return False


def _fix(context: Context, chosen: ast.expr, ranks: list[ast.AST]) -> Fix | None:
    """The fix, where the only rank is asked for in the expression itself."""
    (call, *more) = ranks
    if more or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if not context.syntax.inside(call, chosen):
        return None
    end = context.module.span(call.func).end
    return Fix("Use `local_rank()`", (Edit(Span(end - len("rank"), end), "local_rank"),))


RESTRICTION = Restriction(
    "HVD302",
    "gpu-by-rank",
    "a process must take the GPU of its local rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
