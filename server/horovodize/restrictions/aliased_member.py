"""HVD103 aliased-member: members of TensorFlow must be named where they are used.

## What it protects
Which class makes the optimizer decides its default rate, which parameter is the rate, and whether it is an optimizer at all. A
class that is taken from a dict, an attribute or `getattr` is only known at run time.

## When it is reported
Where the optimizer that trains is made by a class that can't be named: taken by a computed key from a list or from a dict that
is not written out, from an attribute or a parameter, by `getattr(tf.keras.optimizers, name)`. Plain aliases
(`Adam = tf.keras.optimizers.Adam`, `from tensorflow.keras.optimizers import Adam as A`, `K = tf.keras`) are followed and no
violation, and neither are aliases of layers, losses and the like, which distributing leaves alone. Strict mode reports every
assignment of a TensorFlow member.

## Quick fix
`getattr` of a constant name becomes the attribute; in strict mode, an alias that is assigned once is dropped: its uses become
the full name.

## Example that breaks it
```python
import tensorflow as tf

optimizer = getattr(tf.keras.optimizers, args.optimizer)(args.rate)  # HVD103
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=optimizer, loss="mse")
model.fit(x, y)
```

```python
import tensorflow as tf

classes = dict(adam=tf.keras.optimizers.Adam, sgd=tf.keras.optimizers.SGD)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=classes[args.optimizer](0.01), loss="mse")  # HVD103
model.fit(x, y)
```

## Near misses
```python
import tensorflow as tf

Adam = tf.keras.optimizers.Adam
layers = tf.keras.layers
activation = getattr(tf.nn, args.activation)
model = tf.keras.Sequential([layers.Dense(1, activation=activation)])
model.compile(optimizer=Adam(0.01), loss="mse")
model.fit(x, y)
```

```python
import tensorflow as tf

classes = {"adam": tf.keras.optimizers.Adam, "sgd": tf.keras.optimizers.SGD}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=classes[args.optimizer](0.01), loss="mse")
model.fit(x, y)
```

## Source
Seed 2.1, restriction 3. Lifted for aliases that name a member: names are resolved through assignments; and for
dicts of classes that are written out: all of them are optimizers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.restrictions.context import Context
from horovodize.restrictions.flow import class_references, optimizer_arrivals
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit, Span


def find(context: Context) -> Iterator[Violation]:
    if context.trains:
        seen: set[ast.AST] = set()
        for arrivals in optimizer_arrivals(context):
            for arrival in arrivals:
                if arrival.source == "dynamic" and arrival.node not in seen:
                    seen.add(arrival.node)
                    yield _taken_at_run_time(context, arrival.node)
    if context.strict:
        yield from _every_alias(context)


def _taken_at_run_time(context: Context, call: ast.AST) -> Violation:
    assert isinstance(call, ast.Call)
    references = class_references(context, call.func)
    return RESTRICTION.at(
        context,
        call.func,
        f"`{context.text(call.func)}`: which optimizer class this is, is known at run time only; name the class where the "
        "optimizer is made",
        related=[
            context.related(r, "taken from here")
            for r in references[:6]
            if not context.syntax.inside(r, call.func)
        ],
        fixes=[_plain_attribute(context, call.func)],
    )


def _plain_attribute(context: Context, function: ast.expr) -> Fix | None:
    """`getattr(tf.keras.optimizers, "Adam")` → `tf.keras.optimizers.Adam`"""
    match function:
        case ast.Call(
            func=ast.Name(id="getattr"),
            args=[ast.Name() | ast.Attribute() as owner, ast.Constant(value=str(name))],
        ):
            if not name.isidentifier():
                return None
            text = f"{context.module.text(owner)}.{name}"
            return Fix(f"Name the class: `{text}`", (Edit(context.module.span(function), text),))
    return None


# ---------------------------------------------------------------------- strict


def _every_alias(context: Context) -> Iterator[Violation]:
    for names in context.scopes.names.values():
        for bindings in names.values():
            for b in bindings:
                if b.kind == "assign" and not b.path and isinstance(b.value, ast.Attribute):
                    member = context.names.of(b.value) or ""
                    if member.startswith("tensorflow."):
                        yield RESTRICTION.at(
                            context,
                            b.anchor,
                            f"`{b.name}` is an alias of `{context.text(b.value)}`; use the full name",
                            severity=Severity.INFORMATION,
                            fixes=[_without_alias(context, b, len(bindings))],
                        )


def _without_alias(context: Context, b: Binding, bindings: int) -> Fix | None:
    """Replaces the uses of an alias that is assigned once, and removes the assignment."""
    statement = b.statement
    if (
        bindings != 1
        or not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(b.anchor, ast.Name)
        or b.value is None
        or len(context.syntax.block(statement)) == 1
        or not context.document.starts_line(statement)
    ):
        return None
    scope = context.scopes.scope(b.anchor)
    text = context.module.text(b.value)
    root = text.split(".")[0].strip()
    meant = context.scopes.lookup(root, b.anchor)
    edits = []
    for node in context.syntax.nodes:
        if isinstance(node, ast.Name) and node.id == b.name and node is not b.anchor:
            if context.scopes.lookup(b.name, node) is not scope:
                continue
            if not isinstance(node.ctx, ast.Load) or context.scopes.lookup(root, node) is not meant:
                return None
            edits.append(Edit(context.module.span(node), text))
    line = whole_lines(context, statement)
    return (
        Fix(f"Use `{' '.join(text.split())}` instead of the alias", (Edit(line, ""), *edits))
        if line
        else None
    )


def whole_lines(context: Context, statement: ast.stmt) -> Span | None:
    """The lines of a statement, if nothing else stands on them but white space."""
    span, lines, text = context.module.span(statement), context.document.lines, context.document.text
    first, last = lines.span(lines.line_of(span.start)), lines.span(lines.line_of(span.end))
    if text[first.start : span.start].strip() or text[span.end : last.end].strip():
        return None
    return Span(first.start, last.end)


RESTRICTION = Restriction(
    "HVD103",
    "aliased-member",
    "members of TensorFlow must be named where they are used",
    Severity.WARNING,
    __doc__ or "",
    find,
)
