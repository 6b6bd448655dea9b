"""HVD301 horovod-not-initialized: Horovod must be initialised before it is used.

## What it protects
`rank()`, `size()` and every collective know the other processes only after `init()`. Before it they raise "Horovod has not
been initialized".

## When it is reported
On the first use of Horovod that comes before every `init()`, or that has none that runs in a script that shows all of itself:
imports of modules of its own project, or of packages that aren't known, may hide one. Also on a second `init()` that is given
something: the first has begun already, without it. A second one that is given nothing does nothing.

## Quick fix
Call `init()` after the import, where the script has none.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

rate = 0.01 * hvd.size()  # HVD301
hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

print(hvd.rank())  # HVD301
```

```python
import horovod.tensorflow as hvd

hvd.init()
pair = hvd.ProcessSet([0, 1])
hvd.init(process_sets=[pair])  # HVD301
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd
from setup import start

start()
print(hvd.rank())
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

def rate():
    return 0.01 * hvd.size()

hvd.init()
print(rate())
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

if hvd.is_initialized():
    print(hvd.rank())
```

## Source
Horovod's guide for TensorFlow, step 1; `horovod/common/basics.py` of Horovod 0.28.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import COLLECTIVES
from horovodize.python.syntax import LOOPS, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import horovod, stands_alone
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame

_NEEDS = ("rank", "size", "local_rank", "local_size", *sorted(COLLECTIVES))  # making a wrapper does not


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    starts = use.starts
    yield from _twice(context)
    first = {context.syntax.function(start): start.lineno for start in reversed(starts)}
    for call in use.calls(*_NEEDS):
        if call.lineno > first.get(context.syntax.function(call), call.lineno):
            continue  # it is initialised before, in the same function: the usual case, and cheap to see
        if _is_asked_first(context, call) or not use.runs(call):
            continue
        name = context.names.last(call.func)
        if not any(map(use.runs, starts)):
            if use.is_whole:
                yield RESTRICTION.at(
                    context,
                    call,
                    f"`{name}` is used, but nothing initialises Horovod: call `init()` first",
                    fixes=[_fix(context)],
                )
                return
        elif all(_is_before(context, call, start) for start in starts):
            yield RESTRICTION.at(
                context,
                call,
                f"`{name}` is used before Horovod is initialised: call `init()` first",
                related=[context.related(starts[0], "Horovod is initialised only here")],
            )
            return


def _twice(context: Context) -> Iterator[Violation]:
    """A later `init` of one block that is given something."""
    starts = [call for call in context.facts.horovod.calls("init") if not _is_asked_first(context, call)]
    if context.facts.horovod.calls("shutdown"):
        return
    for later in starts:
        block = context.syntax.block(context.syntax.statement(later))
        earlier = [
            s
            for s in starts
            if s is not later and context.syntax.statement(s) in block and position(s) < position(later)
        ]
        if earlier and (later.args or later.keywords):
            yield RESTRICTION.at(
                context,
                later,
                "Horovod is initialised already, and what this is given comes too late: give it to the first `init()`",
                related=[context.related(earlier[0], "initialised here")],
            )


def _fix(context: Context) -> Fix | None:
    """`hvd.init()`, after the import of Horovod and those that follow it."""
    name, body = horovod(context), context.syntax.tree.body
    imports = (ast.Import, ast.ImportFrom)
    at = [
        i
        for i, s in enumerate(body)
        if any(b.statement is s and b.name == name for b in context.scopes.imports)
    ]
    if name is None or not at:
        return None
    last = at[0]
    while last + 1 < len(body) and isinstance(body[last + 1], imports):
        last += 1
    if not stands_alone(context, body[last]):
        return None
    newline = context.document.newline
    return Fix(
        "Initialise Horovod",
        (Edit.insert(context.module.span(body[last]).end, f"{newline}{newline}{name}.init()"),),
    )


def _is_asked_first(context: Context, call: ast.Call) -> bool:
    """Whether a condition or a `try` is around a use: then it may be meant for another case."""
    asked = any(
        isinstance(a, (ast.Try, ast.BoolOp))
        or (isinstance(a, (ast.If, ast.IfExp)) and "init" in ast.unparse(a.test))
        for way in context.ways(call)
        for frame in way
        for a in context.syntax.ancestors(frame.node)
    )
    return asked


def _is_before(context: Context, use: ast.AST, start: ast.AST) -> bool:
    """Whether a use comes before an initialisation on all ways."""
    uses = [way for way in context.ways(use) if way[-1].function is None]
    starting = context.ways(start)
    if not uses or any(way[-1].function is not None for way in starting):
        return False
    return all(_way_before(context, a, b) for a in uses for b in starting)


def _way_before(context: Context, use: tuple[Frame, ...], start: tuple[Frame, ...]) -> bool:
    for a, b in zip(reversed(use), reversed(start), strict=False):
        if a.function is not b.function:
            return False
        if a.node is b.node:
            continue
        if any(loop in b.loops for loop in a.loops) or context.facts.exclusive.apart(a.node, b.node):
            return False
        one, other = context.syntax.statement(a.node), context.syntax.statement(b.node)
        if one is other or isinstance(one, LOOPS):
            return False
        return position(one) < position(other)
    return False


RESTRICTION = Restriction(
    "HVD301",
    "horovod-not-initialized",
    "Horovod must be initialised before it is used",
    Severity.WARNING,
    __doc__ or "",
    find,
)
