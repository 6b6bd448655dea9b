"""HVD205 conditional-loop: all ranks must enter the training loop, and leave it, together.

## What it protects
Every step waits for all ranks (an allreduce). A rank that passes the loop by, or leaves it early, stops the others for good.

## When it is reported
Where a training loop stands under a condition, or behind an early `return` or `exit()`, that may come out differently on
different ranks, however it comes by its value: files (`os.path.getmtime`, `latest_checkpoint`), the clock, random numbers
without a fixed seed, the host or process; in a `try` in a loop whose handler goes on as if nothing had happened, or in such a
handler; and, as an information, where a `try` around all of the training has such a handler of failures (distributing lets
the exception end the run on several ranks), or where a loop ends (`while`, `break`, `return`) by something that differs, as a
loss that each rank computes from its own batch: distributing makes all ranks leave together (rule G4). An `if` that asks
whether a file is there is an information, too: all ranks then do as rank 0 does, so that each host has to have a file that
rank 0 finds; so is one that compares a number which files tell (`if begin < epochs:`): all go by rank 0's. Conditions on
the command line, constants, `__name__`, epochs and steps are the same on every rank and no violation, nor are handlers of
`KeyboardInterrupt` and of the data's end, of a class of the program's own that it raises in the loops of the `try` alone, and
such as hand the exception to TensorFlow 1's `Coordinator`. Strict mode reports, as printed, every loop under an `if`.

## Quick fix
None.

## Example that breaks it
```python
import os
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
if os.path.getmtime("model.h5") > os.path.getmtime("data.csv"):
    model.load_weights("model.h5")
else:
    model.fit(x, y)  # HVD205
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for x, y in batches:
    loss = model.train_on_batch(x, y)
    if loss < 0.01:
        break  # HVD205
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for x, y in parts:
    try:
        model.fit(x, y)  # HVD205
    except Exception as error:
        print("training failed", error)
```

## Near misses
```python
import os
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
if not os.path.exists("logs"):
    os.makedirs("logs")
if __name__ == "__main__" and len(sys.argv) > 1:
    try:
        for epoch in range(10):
            model.fit(x, y)
            if epoch > 5:
                break
    except KeyboardInterrupt:
        print("stopped")
    except OSError:
        raise SystemExit(1)
    except Exception as error:
        coordinator.request_stop(error)
```

## Source
Seed 3.1, restriction 5. Lifted for conditions that are the same on every rank; added: loops that a rank may leave alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.facts.counting.ranges_around import ranges_around
from horovodize.facts.differences import swallowed
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.exits import ends_all, exits, tests
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import CALLABLES, LOOPS, Loop
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.call_paths import Frame

_LEFT_ALONE = "one rank may leave this loop while others go on and wait for it: "
_OF_ITS_BATCH = "the loss is that of its own batch"
_LEAVES_TOGETHER = "; distributing makes all ranks leave together"
_AS_PRINTED = "this training loop stands under a condition"
_FAILS = "where this fails on one rank, the others wait for it"
_LET_IT_END = "; let the exception end the run"
_ENDS_THE_RUN = "; distributing lets the exception end the run"
_BY_A_FILE = (
    "only ranks that find this file, or don't, train here, and wait for the others; distributing makes all ranks do as rank 0 "
    "does"
)
_BY_A_NUMBER = (
    "only ranks that find such a number in files train here, and wait for the others; distributing makes all ranks go by rank "
    "0's"
)
_AGREED = (
    Source.ROWS,
    Source.THREAD,
    Source.GAME,
)  # what training computes: ranks are made to decide together by it, or refused (G4)


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    places = {
        (place, message): because
        for loop in context.loops
        for way in context.ways(loop.node)
        for i, frame in enumerate(way)
        for place, message, because in (
            *_of_frame(context, loop.node, frame, innermost=i == 0),
            *_swallowed(context, loop.node, frame, way[i + 1 :]),
        )
    }
    for (place, message), because in places.items():
        told = message in (_AS_PRINTED, _BY_A_FILE, _BY_A_NUMBER, _FAILS + _ENDS_THE_RUN)
        told = told or message.startswith(_LEFT_ALONE)
        yield RESTRICTION.at(
            context,
            place,
            message,
            severity=Severity.INFORMATION if told else Severity.WARNING,
            related=[context.related(because, "because of this")],
        )


# A place, what is wrong there, and the place that is to blame.
Finding = tuple[ast.AST, str, ast.AST]


def _of_frame(context: Context, site: ast.Call, frame: Frame, innermost: bool) -> Iterator[Finding]:
    yield from _around(context, site, frame)
    if innermost or frame.loops:
        yield from _left_early(context, frame)


def _around(context: Context, site: ast.Call, frame: Frame) -> Iterator[Finding]:
    """What around a node of a way may keep some ranks from it: (place, message, what is to blame)."""
    child: ast.AST = frame.node
    for a in context.syntax.ancestors(frame.node):
        field = context.syntax.field[child]
        if isinstance(a, (*CALLABLES, ast.Module)):
            if isinstance(child, ast.stmt):
                yield from _left_before(context, child, site)
            return
        if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
            yield from _under(context, a.test, site, in_statement=isinstance(a, ast.If))
            if context.strict and isinstance(a, ast.If):
                yield site, _AS_PRINTED, a.test
        elif isinstance(a, ast.ExceptHandler) and not swallowed.is_shared(context.module, a):
            yield (
                site,
                "only ranks on which something failed train here, and wait for the others; train outside the handler",
                a,
            )
        if isinstance(child, ast.stmt) and isinstance(a, LOOPS) and field == "body":
            yield from _skipped(context, child, site, a)
        child = a


def _swallowed(context: Context, site: ast.Call, frame: Frame, outside: Sequence[Frame]) -> Iterator[Finding]:
    """Handlers that go on as if nothing had happened."""
    for handler, tried in swallowed.around(context.module, frame):
        ends = swallowed.may_end_the_run(context.module, handler, tried, frame, outside)
        yield site, _FAILS + (_ENDS_THE_RUN if ends else _LET_IT_END), handler


def _under(context: Context, test: ast.expr, site: ast.Call, in_statement: bool = True) -> Iterator[Finding]:
    differs = context.facts.uniform.varies(test)
    if differs is None:
        return
    if in_statement and context.facts.uniform.differs_by_a_file(test):
        yield site, _BY_A_FILE, differs.where
        return
    # All ranks agree on a number that is restored (G6).
    kept = context.facts.kept
    goes_on = context.facts.counters.stored_in(test) is not None or (
        differs.where in kept.numbers and any(kept.places(differs.where))
    )
    goes_on = goes_on or _is_read_by_all(context, differs.where)
    if any(isinstance(r, Varies) and r.kind in _AGREED for r in context.facts.uniform.reasons(test)):
        if any(context.syntax.inside(test, loop) for loop in context.syntax.loops(site)):
            return  # draws that training is given show in what it computes: by that, all ranks decide together
    if differs.kind is Source.FILES and not goes_on:
        ranges = ranges_around(context.facts.drive, context.facts.feeding, site)  # or the rule refuses
        differs = context.facts.uniform.where(ranges).varies(test)
        if differs is not None and in_statement and context.facts.uniform.goes_by_a_read_number(test):
            yield site, _BY_A_NUMBER, differs.where
            return
    if differs is not None and differs.kind not in _AGREED and not (goes_on and differs.kind is Source.FILES):
        yield (
            site,
            f"some ranks may never train here: {differs.why}; decide by something that is the same on every rank",
            differs.where,
        )


def _is_read_by_all(context: Context, where: ast.AST) -> bool:
    """Whether it is a session that gives a restored number, `step = session.run(step_variable)`, and all ranks come there."""
    known = context.facts.uniform
    return where in context.sites.graph.all_runs and known.reached_alike(where)


def _left_before(context: Context, statement: ast.stmt, site: ast.Call) -> Iterator[Finding]:
    """Guards before a statement of the same block that leave the function, or end the program."""
    yield from _guards(context, statement, site, ast.Return)


def _skipped(context: Context, statement: ast.stmt, site: ast.Call, loop: Loop) -> Iterator[Finding]:
    """Guards before a statement of a loop's body that go to the next turn. Those that leave the loop, all ranks leave by."""
    yield from _guards(context, statement, site, ast.Continue)


def _guards(
    context: Context, statement: ast.stmt, site: ast.Call, leaves: type[ast.stmt]
) -> Iterator[Finding]:
    block = context.syntax.block(statement)
    for earlier in block[: block.index(statement)]:
        if isinstance(earlier, ast.If) and (
            isinstance(earlier.body[-1], leaves) or ends_all(earlier.body[-1], context.names)
        ):
            yield from _under(context, earlier.test, site)


# ---------------------------------------------------------------------- leaving early


def _left_early(context: Context, frame: Frame) -> Iterator[Finding]:
    """Statements that leave a loop of a frame under a condition that each rank decides for itself, and tests of a `while`."""
    for loop in frame.loops:
        if isinstance(loop, ast.While):
            yield from _left_alone(context, loop.test, loop.test)
        for statement in exits(loop):
            for test in tests(context.syntax, statement, loop):
                found = list(_left_alone(context, statement, test))
                yield from found
                if found:
                    break


def _left_alone(context: Context, place: ast.AST, test: ast.expr) -> Iterator[Finding]:
    differs = context.facts.uniform.varies(test)
    if differs is not None:
        why = _OF_ITS_BATCH if differs.kind is Source.ROWS else differs.why
        yield place, _LEFT_ALONE + why + _LEAVES_TOGETHER, test


RESTRICTION = Restriction(
    "HVD205",
    "conditional-loop",
    "all ranks must enter the training loop, and leave it, together",
    Severity.WARNING,
    __doc__ or "",
    find,
    blocks=True,
)
