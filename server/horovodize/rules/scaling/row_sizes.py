"""What a program makes for one number of rows, which a rank's share of them no longer has: part of strong scaling.

A placeholder of that size is left open, if nothing else goes by its size.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.feeds.over_rows import Over
from horovodize.facts.feeds.steps import Step
from horovodize.python.syntax import argument, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit


def made_for_one_number(draft: Draft, step: Step) -> ast.Call | None:
    """What can't take a part of the rows of a step; None where all can."""
    if step.fixed:
        return step.fixed[0]
    opened = {placeholder for placeholder, _ in to_open(draft, step)}
    fed = _fed_with(draft, step)
    others = (c for c in draft.syntax.calls if draft.names.last(c.func) != "placeholder" or not fed)
    return next((c for c in (*fed, *others) if c not in opened and _is_fixed(draft, c)), None)


def _fed_with(draft: Draft, step: Step) -> dict[ast.Call, list[ast.expr]]:
    """The placeholders that are fed beside a step's rows, each with what it is fed; none where that can't be seen."""
    found: dict[ast.Call, list[ast.expr]] = {}
    for rows in step.rows:
        fed = draft.syntax.parent.get(rows)
        if isinstance(fed, ast.Dict):
            for key, value in zip(fed.keys, fed.values, strict=True):
                for placeholder in draft.values.calls(key) if key is not None else ():
                    found.setdefault(placeholder, []).append(value)
    return found


def sparse(draft: Draft, step: Step) -> ast.Call | None:
    """A sparse placeholder that is fed beside a step's rows: what it is fed has no rows that could be taken out."""
    return next((c for c in _fed_with(draft, step) if draft.names.last(c.func) == "sparse_placeholder"), None)


def to_open(draft: Draft, step: Step) -> Iterator[tuple[ast.Call, Edit]]:
    """The placeholders of one size that a step's rows are fed to, and what leaves their number of rows open: `[100, 1]` →
    `[None, 1]`, `x.shape` → `[None, *x.shape[1:]]`. Not those whose size the program reads again."""
    if step.over not in (Over.MEAN, Over.SUM):
        return
    read = {
        c
        for n in draft.syntax.every(ast.Attribute)
        if n.attr in ("shape", "get_shape")
        for c in draft.values.calls(n.value)
    }
    for call, values in _fed_with(draft, step).items():
        shape = argument(call, "shape", 1)
        if shape is None or call in read or not _is_fixed(draft, call) or not set(values) & set(step.rows):
            continue
        if isinstance(shape, (ast.List, ast.Tuple)):
            if not _is_built_in(draft, shape.elts[0]):
                yield call, Edit(draft.module.span(shape.elts[0]), "None")
        elif isinstance(shape, ast.Attribute) and shape.attr == "shape":
            yield call, Edit(draft.module.span(shape), f"[None, *{draft.module.text(shape)}[1:]]")


def _is_built_in(draft: Draft, size: ast.expr) -> bool:
    """Whether a number of rows is also a part of the graph: `tf.reshape(x, [100, 28])`."""
    if not isinstance(size, (ast.Constant, ast.Name)):
        return True
    return any(
        ast.dump(n) == ast.dump(size) and draft.names.last(call.func) != "placeholder"
        for call in draft.syntax.calls
        if (draft.names.of(call.func) or "").startswith("tensorflow.")
        for a in arguments(call)
        for n in ast.walk(a)
        if isinstance(n, type(size))
        and draft.syntax.parent.get(n) is not None
        and _nearest_call(draft, n) is call
    )


def _nearest_call(draft: Draft, n: ast.AST) -> ast.AST | None:
    return next((a for a in draft.syntax.ancestors(n) if isinstance(a, ast.Call)), None)


def _is_fixed(draft: Draft, call: ast.Call) -> bool:
    """A placeholder of one size, a state for one number of rows."""
    last = draft.names.last(call.func)
    if last == "placeholder":
        given, shape = argument(call, "shape", 1), draft.facts.steps.placeholders.shape(call)
        if given is not None and shape is None:  # `x.shape`: that of all rows
            return any(isinstance(o.node, ast.Attribute) for o in draft.values.origins(given))
        return (
            shape is not None
            and bool(shape)
            and not (isinstance(shape[0], ast.Constant) and shape[0].value is None)
        )
    if last == "zero_state":
        size = argument(call, "batch_size", 0)
        return size is not None and not any(
            isinstance(n, ast.Call) and draft.names.last(n.func) == "shape"
            for n in draft.values.depends([size], 60)
        )
    return False


__all__ = ["made_for_one_number", "sparse", "to_open"]
