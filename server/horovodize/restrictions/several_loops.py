"""HVD203 several-loops: each model must be trained by one kind of loop.

## What it protects
`fit` averages in the optimizer, a GradientTape loop in the tape, and each broadcasts in its own way. A model that both train
has an optimizer wrapped for the one and not for the other, and is broadcast by whichever comes first.

## When it is reported
Where a model that is fitted (`fit`, `train_on_batch`) is also trained by a GradientTape loop. Two kinds of loop on two models
are no violation, nor is a Keras model's own `train_step`.

Modes that exclude each other (`if args.eager: … else: model.fit(…)`) are no violation where each makes an optimizer of its
own, or compiles with one that was made before both, by its name: only one of them runs. It has to be certain that the decision
is taken once; in a loop, another turn may go the other way.

Where a run comes either to a GradientTape loop or to a session (`if tf.executing_eagerly(): …`), only one of them can be
distributed.

Strict mode reports a file with several kinds of loop.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
model.compile(optimizer, "mse")
model.fit(x, y)
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD203
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
for epoch in range(10):
    if epoch < 5:
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
        model.fit(x, y)
    else:
        optimizer = tf.keras.optimizers.SGD(0.1)
        for x, y in batches:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD203
```

```python
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
model.compile(optimizer, "mse")
if "--eager" in sys.argv:
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD203
else:
    model.fit(x, y)
```

```python
import tensorflow as tf

if tf.executing_eagerly():
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD203
else:
    train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss_of(inputs))
    with tf.compat.v1.Session() as session:
        for _ in range(1000):
            session.run(train)
```

## Near misses
```python
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if "--eager" in sys.argv:
    optimizer = tf.keras.optimizers.SGD(0.1)
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
else:
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit(x, y)
```

```python
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
if "--eager" in sys.argv:
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
else:
    model.compile(optimizer, "mse")
    model.fit(x, y)
```

```python
import tensorflow as tf

encoder = tf.keras.Sequential([tf.keras.layers.Dense(1)])
encoder.compile("sgd", "mse")
encoder.fit(x, y)
head = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((head(encoder(x)) - y) ** 2)
    gradients = tape.gradient(loss, head.trainable_variables)
    optimizer.apply_gradients(zip(gradients, head.trainable_variables))
```

## Source
Seed 3.1, restriction 3.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.rates.optimizers import Arrival
from horovodize.python.binding import Binding
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind
from horovodize.summary.site_kinds import Compile, Fit, Update


def find(context: Context) -> Iterator[Violation]:
    if not context.trains or len({loop.kind for loop in context.loops}) < 2:
        return
    yield from _sessions_or_tapes(context)
    fitted = defaultdict[ast.AST, list[Fit]](list)
    for fit in context.sites.fits:
        for holder in _holders(context, fit.model, fit.call):
            fitted[holder].append(fit)
    loops = {loop.node for loop in context.loops if loop.kind is LoopKind.GRADIENT_TAPE}
    for update in context.sites.updates:
        if update.call not in loops:
            continue
        models = {h for v in update.variables for m in _models(v) for h in _holders(context, m, update.call)}
        fits = [fit for h in models for fit in fitted.get(h, ())]
        together = [f for f in fits if not context.facts.exclusive.apart(f.call, update.call)]
        sharing = [
            f
            for f in fits
            if not _has_own_optimizer(context, f, update) and not _is_handed(context, f, update)
        ]
        if together:
            yield RESTRICTION.at(
                context,
                update.call,
                "this model is trained by a GradientTape loop and by `fit`; train it in one way, or in a file for each",
                related=[context.related(together[0].call, "trained by Keras here")],
            )
        elif sharing:
            yield RESTRICTION.at(
                context,
                update.call,
                "this GradientTape loop and `fit` may share an optimizer, and each needs another kind; make one in each branch",
                related=[context.related(sharing[0].call, "trained by Keras here")],
            )
        elif context.strict:
            yield RESTRICTION.at(
                context,
                update.call,
                "this file has training loops of several kinds, which are distributed in different ways; put each "
                "into a file of its own",
                severity=Severity.INFORMATION,
            )


def _sessions_or_tapes(context: Context) -> Iterator[Violation]:
    """A loop of a session and one of a tape of which a run comes to one: `if tf.executing_eagerly(): …` and `else`."""
    taped = {loop.node for loop in context.loops if loop.kind is LoopKind.GRADIENT_TAPE}
    for update in (u for u in context.sites.updates if u.call in taped):
        for run in (loop.node for loop in context.loops if loop.kind is LoopKind.SESSION):
            if context.facts.exclusive.apart(run, update.call):
                yield RESTRICTION.at(
                    context,
                    update.call,
                    "this file trains by a GradientTape or by a session, which are distributed in different ways; keep the one "
                    "that you use, or put each into a file of its own",
                    related=[context.related(run, "trained by a session here")],
                )
                break


def _has_own_optimizer(context: Context, fit: Fit, update: Update) -> bool:
    """Whether what fits a model and what updates it by a tape surely are different optimizers."""
    if update.optimizer is None:
        return True
    fitted = _holders(context, fit.model, fit.call)
    compiles = [c for c in context.sites.compiles if _holders(context, c.model, c.call) & fitted]
    of_fit = [a for c in compiles for o in c.optimizers for a in context.facts.optimizers.arrivals(o)]
    of_update = context.facts.optimizers.arrivals(update.optimizer)
    known = all(_is_made(context, a) for a in (*of_fit, *of_update)) and not any(map(_is_spread, compiles))
    return bool(compiles) and known and not {a.node for a in of_fit} & {a.node for a in of_update}


def _is_handed(context: Context, fit: Fit, update: Update) -> bool:
    """Whether what fits a model and what updates it by a tape get an optimizer that is made once, by its name, and no run comes
    to both: it is wrapped where the model is compiled."""
    assert update.optimizer is not None
    fitted = _holders(context, fit.model, fit.call)
    compiles = [c for c in context.sites.compiles if _holders(context, c.model, c.call) & fitted]
    of_update = context.facts.optimizers.arrivals(update.optimizer)
    return (
        bool(compiles)
        and all(context.facts.exclusive.apart(c.call, update.call) and not _is_spread(c) for c in compiles)
        and all(isinstance(o, ast.Name) for c in compiles for o in c.optimizers)
        and all(isinstance(a.node, ast.Call) and _is_made(context, a) for a in of_update)
        and all(
            _is_made(context, a)
            for c in compiles
            for o in c.optimizers
            for a in context.facts.optimizers.arrivals(o)
        )
    )


def _is_spread(compiled: Compile) -> bool:
    """Whether an optimizer may be among arguments that are not seen: `compile(**how)`."""
    given = compiled.call
    return any(k.arg is None for k in given.keywords) or any(isinstance(a, ast.Starred) for a in given.args)


def _is_made(context: Context, arrival: Arrival) -> bool:
    """Whether it is seen what makes an optimizer: a call, or Keras by its name."""
    if isinstance(arrival.node, ast.Call):
        return not arrival.part and context.module.is_optimizer(arrival.node)
    return isinstance(arrival.node, ast.Constant) and isinstance(arrival.node.value, str)


def _models(variables: ast.expr) -> Iterator[ast.expr]:
    """The models whose variables an expression names."""
    for node in ast.walk(variables):
        if isinstance(node, ast.Attribute) and node.attr in OF_MODEL:
            yield node.value


def _holders(context: Context, expression: ast.expr, site: ast.Call) -> set[ast.AST]:
    """What tells a model from others: the places where it comes into this module's names, calls not looked into (a function
    that is called twice makes two models). `site` is the call that trains it."""
    found: set[ast.AST] = set()
    todo, seen = [expression], set[ast.AST]()
    while todo:
        e = todo.pop()
        if e in seen:
            continue
        seen.add(e)
        bindings = []
        if isinstance(e, ast.Name):
            bindings = _bindings(context, e, site)
        elif isinstance(e, ast.Attribute):
            bindings = context.values.attribute_bindings(e)
        for b in bindings:
            if b.kind == "parameter":
                passed = context.values.passed(b)
                todo += passed
                if not passed:
                    found.add(b.anchor)
            elif b.kind == "assign" and b.value is not None and not b.path:
                todo.append(b.value)
            else:
                found.add(b.anchor)
        if isinstance(e, ast.IfExp):
            todo += [e.body, e.orelse]
        elif not bindings:
            found.add(e)
    return found


def _bindings(context: Context, name: ast.Name, site: ast.Call) -> list[Binding]:
    """The bindings of a name at a site. A global that a function reads is what it was when the module ran the function."""
    module = context.module.tree
    if context.syntax.function(name) is None or context.scopes.lookup(name.id, name) is not module:
        return context.scopes.reaching(name)
    found: dict[Binding, None] = {}
    for way in context.ways(site):
        outermost = way[-1].node
        if way[-1].function is not None or not isinstance(outermost, ast.expr):
            return context.scopes.reaching(name)
        for b in reversed(context.scopes.names[module][name.id]):
            if getattr(b.statement, "lineno", 0) < outermost.lineno:
                found[b] = None
                if context.scopes.dominates(b, outermost):
                    break
    return list(found) or context.scopes.reaching(name)


RESTRICTION = Restriction(
    "HVD203",
    "several-loops",
    "each model must be trained by one kind of loop",
    Severity.WARNING,
    __doc__ or "",
    find,
    blocks=True,
)
