"""HVD201 split-loop: a training loop must be defined in only one file, or in files that are read together.

## What it protects
Where a step is broadcast, and how many of its turns each rank takes, is settled in the loop that takes it. A step whose loop is
somewhere else can't be distributed by itself: only together with the script that takes it.

## When it is reported
On a step in a `@tf.function` that nothing in this file calls, when no script that calls it is known. In a workspace, and on
the command line, a script is read together with the modules of its project that it imports: then a loop may be in as many of
them as it likes, and nothing is reported. Strict mode reports, as printed, every GradientTape loop that is in several files,
and every step that no loop of this file takes.

## Quick fix
None. Open the folder that the script is in, or distribute the script that takes the step.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD201
```

## Near misses
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for x, y in batches:
    train_step(x, y)
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train(dataset):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Source
Seed 3.1, restriction 1. Lifted where the files can be read together.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source.project import ProjectDocument
from horovodize.summary import LoopKind
from horovodize.summary.call_paths import Frame


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    for loop in context.loops:
        if loop.kind is not LoopKind.GRADIENT_TAPE:
            continue
        ways = context.ways(loop.node)
        split = context.strict and any(_in_several_files(context, way) for way in ways)
        untaken = all(_is_untaken(context, way) for way in ways)
        if untaken and any(_is_refused(context, way) for way in ways):
            yield RESTRICTION.at(
                context,
                loop.node,
                "nothing in this file calls the traced function that takes this step: its training loop is in another file; "
                "distribute the script that calls it",
            )
        elif split or (context.strict and untaken):
            where = "is in several files" if split else "is in another file"
            yield RESTRICTION.at(
                context, loop.node, f"the training loop of this step {where}", severity=Severity.INFORMATION
            )


def _is_untaken(context: Context, way: tuple[Frame, ...]) -> bool:
    """Whether a way down to a step begins in a function that nothing names, and has no loop."""
    function = way[-1].function
    return (
        function is not None and not any(frame.loops for frame in way) and not context.loads({function.name})
    )


def _is_refused(context: Context, way: tuple[Frame, ...]) -> bool:
    """Whether nothing can be put behind a step: all that leads to it runs under tracing, and it is not left over beside what
    this file runs."""
    return context.drive.runs_traced(way) == len(way) - 1 and not any(
        other[-1].function is None for site in context.training_sites for other in context.ways(site)
    )


def _in_several_files(context: Context, way: tuple[Frame, ...]) -> bool:
    """Whether what leads to a step is in other files than the step."""
    whole = context.document
    if not isinstance(whole, ProjectDocument):
        return False
    nodes = [node for frame in way for node in (frame.node, *frame.loops)]
    return len({whole.member_at(context.module.span(node).start) for node in nodes}) > 1


RESTRICTION = Restriction(
    "HVD201",
    "split-loop",
    "a training loop must be defined in only one file, or in files that are read together",
    Severity.WARNING,
    __doc__ or "",
    find,
)
