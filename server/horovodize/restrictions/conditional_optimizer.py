"""HVD107 conditional-optimizer: whichever way the program takes, it must train with an optimizer, and all ranks with the same.

## What it protects
An optimizer is wrapped in every branch that makes one. A branch in which something else takes its place trains undistributed,
and a branch that some ranks take and others don't gives ranks optimizers that differ: their models drift apart.

## When it is reported
Where an optimizer is made in one branch and in another (of an `if`, a conditional expression, `or`, `try` or `match`) what
trains can't be followed or is no optimizer; and where the branch depends on files, clocks, random numbers or the host, which
ranks may see differently; as an information where distributing makes all ranks choose alike (rule G4): all but files and
exceptions. A choice by command line or constants between optimizers, or Keras names, is no violation: each is
wrapped. Strict mode reports every optimizer that is made conditionally.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
from my_optimizers import build_optimizer

if args.simple:
    optimizer = tf.keras.optimizers.SGD(0.1)
else:
    optimizer = build_optimizer(args)  # HVD107
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=optimizer, loss="mse")
model.fit(x, y)
```

```python
import os
import tensorflow as tf

if os.path.exists("warm.h5"):
    optimizer = tf.keras.optimizers.SGD(0.1)  # HVD107
else:
    optimizer = tf.keras.optimizers.Adam(0.001)  # HVD107
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=optimizer, loss="mse")
model.fit(x, y)
```

## Near misses
```python
import tensorflow as tf

if args.optimizer == "adam":
    optimizer = tf.keras.optimizers.Adam(args.rate)
else:
    optimizer = tf.keras.optimizers.SGD(args.rate, momentum=0.9 if args.momentum else 0.0)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=optimizer or "adam", loss="mse")
model.fit(x, y)
```

## Source
Seed 2.1, restriction 7. Lifted for branches that all make optimizers: the seed wraps after one assignment, here each is wrapped
where it is made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.sources import Source
from horovodize.restrictions.context import Context
from horovodize.restrictions.flow import Arrival, optimizer_arrivals
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_REMEDY = "choose by something that is the same on every rank"


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    seen: set[ast.AST] = set()
    for arrivals in optimizer_arrivals(context):
        followed = [a for a in arrivals if a.followed and a.source != "none"]
        for arrival in arrivals:
            if arrival.node in seen or not context.is_conditional(arrival.node):
                continue
            seen.add(arrival.node)
            if not arrival.followed and arrival.source != "dynamic":
                yield from _unlike(context, arrival, followed)
            elif arrival.source in ("made", "string"):
                yield from _differing(context, arrival, several=len(arrivals) > 1)


def _unlike(context: Context, arrival: Arrival, followed: list[Arrival]) -> Iterator[Violation]:
    """A branch in which no optimizer is seen."""
    if not followed and arrival.source != "other":
        return  # HVD105
    what = "is no optimizer" if arrival.source == "other" else "can't be followed to an optimizer"
    yield RESTRICTION.at(
        context,
        arrival.node,
        f"`{context.text(arrival.node)}` {what}, while another branch makes one; make it in this file in each",
        related=[context.related(a.node, "the optimizer of another branch") for a in followed[:4]],
    )


def _differing(context: Context, arrival: Arrival, several: bool) -> Iterator[Violation]:
    """A branch that ranks may not take alike."""
    for condition, _ in context.syntax.conditions(arrival.node):
        reason = context.facts.uniform.varies(condition.test)
        if reason is not None and several:
            agreed = reason.kind not in (Source.FILES, Source.FAILURE)
            remedy = "distributing makes all choose alike" if agreed else _REMEDY
            yield RESTRICTION.at(
                context,
                arrival.node,
                f"ranks may choose different optimizers here: {reason.why}; {remedy}",
                severity=Severity.INFORMATION if agreed else Severity.WARNING,
                related=[context.related(reason.where, "the choice")],
            )
            return
    if context.strict:
        yield RESTRICTION.at(
            context,
            arrival.node,
            "this optimizer is made under a condition, and ranks that decide differently would train different "
            "models; make it once, unconditionally",
            severity=Severity.INFORMATION,
        )


RESTRICTION = Restriction(
    "HVD107",
    "conditional-optimizer",
    "whichever way the program takes, it must train with an optimizer, and all ranks with the same",
    Severity.WARNING,
    __doc__ or "",
    find,
)
