"""HVD313 on-some-ranks: what ranks do together must be reached by all of them.

## What it protects
A collective waits until every rank takes part. Under `if hvd.rank() == 0:` rank 0 waits forever, and the others wait for it
at their next collective. Training is made of collectives.

## When it is reported
On a collective, a wrapped tape, a `fit` of a model that is compiled with a wrapped optimizer, a train op of a wrapped
optimizer that a session runs, and Horovod's own callbacks and hooks, where a test of the rank decides whether they are
reached (an early `return` included), and those that answer otherwise do nothing of the kind; also on `hvd.join()` and on
process sets that are added: also the ranks that aren't in a set have to add it. A function that is passed on, kept in an
object or wrapped is taken for what that call runs, and a mode (`mode == "train"`, `self.training`) for what it passes. On
rows for validation that a test of the rank gives to some of them, where `MetricAverageCallback` averages the metrics.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    print(hvd.allreduce(tf.constant(1.0)))  # HVD313
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

def report(loss):
    if hvd.rank() != 0:
        return
    print(hvd.allreduce(loss))  # HVD313

hvd.init()
report(tf.constant(1.0))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


class Chief:
    def report(self, loss):
        print(hvd.allreduce(loss))  # HVD313


class Worker:
    def report(self, loss):
        print(loss)


role = Chief() if hvd.rank() == 0 else Worker()
role.report(tf.constant(1.0))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from project.models import compiled_model

hvd.init()
model = compiled_model(hvd.size())
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    model.fit(x, y, callbacks=callbacks)  # HVD313
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
model.fit(x, y, callbacks=callbacks, validation_data=(u, v) if hvd.rank() == 0 else None)  # HVD313
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init(process_sets="dynamic")
even = None
if hvd.rank() % 2 == 0:
    even = hvd.add_process_set([0, 2])  # HVD313
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init(process_sets="dynamic")
even, odd = hvd.add_process_set([0, 2]), hvd.add_process_set([1, 3])
mine = even if hvd.rank() % 2 == 0 else odd
if hvd.rank() % 2 == 0:
    print(hvd.allreduce(tf.constant(1.0), process_set=even))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    hvd.join()
else:
    print(hvd.allreduce(tf.constant(1.0)))
    hvd.join()
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(x, y, callbacks=callbacks, validation_data=(u, v) if hvd.rank() == 0 else None)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from project.models import compiled_model

hvd.init()
model = compiled_model(hvd.size())
if hvd.rank() == 0:
    model.fit(x, y)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
loss = hvd.allreduce(tf.constant(1.0))
if hvd.rank() == 0:
    print(loss)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    rows = hvd.broadcast_object(read(), root_rank=0)
else:
    rows = hvd.broadcast_object(None, root_rank=0)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() != 0:
    hvd.allreduce(tf.constant(0.0))
download()
if hvd.rank() == 0:
    hvd.allreduce(tf.constant(0.0))
```

```python
import time
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def mean(rows):
    return hvd.allreduce(tf.reduce_mean(rows))


def timed(function, rows):
    begun = time.time()
    return function(rows), time.time() - begun


print(timed(mean, mine))
if hvd.rank() == 0:
    print(timed(tf.reduce_max, mine))
```

## Source
Horovod's issues 600 and 403; its guide on the stall inspector.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.collectives import process_set
from horovodize.facts.horovod.rank_tests import RankTest
from horovodize.interleaving.around_blocks import ENTERS, LEAVES
from horovodize.python.syntax import argument, says_none
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_AVERAGES = "MetricAverageCallback"
_ALSO = ("join", "add_process_set", "remove_process_set")  # which exchange nothing, but wait as well


def find(context: Context) -> Iterator[Violation]:
    together = context.facts.collectives.all
    others = context.facts.horovod.calls(*_ALSO)
    everywhere: set[ast.AST] = {*together, *others}
    calls = [c.call for c in together.values()] + others
    found = {call: test for call in calls if (test := _test_of(context, call, everywhere)) is not None}
    yield from _validated_by_some(context)
    reported = set()
    for call, test in found.items():
        if test.test in reported or any(
            _answers(context, call, other) for other in found if other is not call
        ):
            continue
        reported.add(test.test)
        waits = together[call].words if call in together else f"`{context.names.last(call.func)}`"
        yield RESTRICTION.at(
            context,
            call,
            f"not all ranks come here, and {waits} waits for all of them: the job hangs; take it out of "
            "the test of the rank",
            related=[context.related(test.test, "ranks differ here")],
        )


def _validated_by_some(context: Context) -> Iterator[Violation]:
    """The fits that only some ranks give rows for validation, while a callback averages the metrics: they have more of them."""
    for fit in context.sites.fits:
        given = argument(fit.call, "validation_data")
        test = _giving(context, given) if given is not None else None
        items = context.facts.callback_items.of(fit.call) if test is not None else []
        averaged = any(
            name.rsplit(".", 1)[-1] == _AVERAGES and item.by is None
            for item in items
            for name in context.facts.callback_items.classes(item)
        )
        if test is not None and given is not None and averaged:
            yield RESTRICTION.at(
                context,
                given,
                f"only some ranks validate, and `{_AVERAGES}` waits for the metrics of all of them: the job hangs; let all "
                "ranks validate",
                related=[context.related(test, "ranks differ here"), context.related(fit.call, "the fit")],
            )


def _giving(context: Context, e: ast.expr) -> ast.expr | None:
    """The test of the rank by which something is given, or nothing."""
    if isinstance(e, ast.IfExp):
        alone = says_none(e.body) != says_none(e.orelse)
        return e.test if alone and context.facts.rank_tests.decides(e.test) else None
    bound = context.scopes.reaching(e) if isinstance(e, ast.Name) else ()
    values = [b.value for b in bound if b.kind == "assign" and not b.path and b.value is not None]
    if len(values) != len(bound):
        return None
    if len(values) == 1:
        return _giving(context, values[0]) if isinstance(values[0], (ast.IfExp, ast.Name)) else None
    if not any(map(says_none, values)) or all(map(says_none, values)):
        return None
    tests = [context.facts.rank_tests.deciding(v) for v in values if not says_none(v)]
    return tests[0].test if tests and all(t is not None for t in tests) and tests[0] is not None else None


def _test_of(context: Context, call: ast.Call, everywhere: set[ast.AST]) -> RankTest | None:
    """The test of the rank by which only some ranks come to a call, while the others do nothing of the kind."""
    if process_set(call, context.names.last(call.func)) is not None:
        return None
    for way in context.ways(call):
        test = context.facts.rank_tests.on_way(way)
        if test is None or (way[-1].function is not None and len(way) > 1):
            continue
        if test.other and isinstance(test.other[-1], ast.Raise):
            continue  # that ends the job, and keeps nobody waiting
        if not any(context.drive.reaches(arm, everywhere) for arm in test.other):
            return test
    return None


def _answers(context: Context, call: ast.Call, other: ast.Call) -> bool:
    """Whether the ranks left out of a call may be those of another like it: the others wait, until rank 0 has come as far."""
    alike = context.names.last(call.func) == context.names.last(other.func)
    tests = context.facts.rank_tests
    one, two = tests.deciding(call), tests.deciding(other)
    same = one is not None and two is not None and context.text(one.test) == context.text(two.test)
    return alike and not same and _runs_in(context, call) is _runs_in(context, other)


def _runs_in(context: Context, call: ast.Call) -> ast.AST | None:
    """The function around a call; of what a context manager runs before a block and after it, its class."""
    function = context.syntax.function(call)
    around = function is not None and function.name in (*ENTERS, *LEAVES)
    return context.syntax.owner(call) if around else function


RESTRICTION = Restriction(
    "HVD313",
    "on-some-ranks",
    "what ranks do together must be reached by all of them",
    Severity.WARNING,
    __doc__ or "",
    find,
)
