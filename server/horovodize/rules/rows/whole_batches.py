"""Steps that are written for batches of one size: part of D1.

`tf.reshape(x, (BATCH, 28, 28))`, `eps = tf.random.uniform([BATCH, 1])` and `eps * x`, `ones = tf.ones((BATCH, 1))` as targets
of the rows, a signature or a placeholder of `[BATCH, 4]`: alone, all rows fill whole batches, or the last one would fail. A
rank's share of them may leave a smaller one, which is left out: `batch(BATCH, drop_remainder=True)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS, argument, arguments
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.source.nodes import walk

_SHAPED = ("reshape", "ensure_shape", "set_shape", "TensorSpec", "placeholder")
_MADE = ("zeros", "ones", "normal", "uniform", "truncated_normal", "random_normal", "random_uniform", "fill")
_ON_BATCH = ("train_on_batch", "test_on_batch")
_LOSSES = ("tensorflow.keras.losses.", "keras.losses.")
_WHAT = "Leave out a last batch that is smaller"
_WHY = "The steps are made for whole batches. All rows may fill them, and a rank's share of the rows may not."


def keep_whole(draft: Draft, feed: ast.expr) -> None:
    """Runs after a pipeline is divided by rows."""
    trail = [e for e in feeding(draft).pipelines.trail(feed) if isinstance(e, ast.Call)]
    batching = [c for c in trail if draft.names.last(c.func) in ("batch", "padded_batch")]
    if len(batching) != 1 or not _is_divided_before(draft, batching[0]):
        return
    size = argument(batching[0], "batch_size", 0)
    if size is None or argument(batching[0], "drop_remainder", 1) is not None:
        return
    if any(_needs_whole(draft, call, size) for call in draft.syntax.calls) and draft.once(
        "whole", batching[0]
    ):
        edits = [draft.add_argument(batching[0], "drop_remainder=True")]
        draft.change("D1", batching[0], _WHAT, _WHY, edits)


def _is_divided_before(draft: Draft, batching: ast.Call) -> bool:
    """Whether rows are divided, rather than what batches are made of them."""
    whole = batching.func.value if isinstance(batching.func, ast.Attribute) else None
    before = feeding(draft).pipelines.trail(whole) if whole is not None else []
    return any(draft.was(e, Shared) for e in before)


def _needs_whole(draft: Draft, call: ast.Call, size: ast.expr) -> bool:
    """Whether something has a shape that begins with the size of a batch, and is made of one, or computed with one."""
    last = draft.names.last(call.func)
    if last not in (*_SHAPED, *_MADE) or _is_of_one_row(draft, call):
        return False
    shapes = [
        a for a in (*call.args, *(k.value for k in call.keywords)) if isinstance(a, (ast.Tuple, ast.List))
    ]
    if not any(a.elts and _is_same(draft, a.elts[0], size) for a in shapes):
        return False
    if isinstance(size, ast.Constant) and last in _MADE:
        return False  # a number that may be any other, too
    return last in _SHAPED or any(
        True for _ in (*_computed_with(draft, call), *_set_beside(draft, call, size))
    )


def _is_same(draft: Draft, e: ast.expr, size: ast.expr) -> bool:
    known = feeding(draft).kinds.constant
    return ast.unparse(e) == ast.unparse(size) or (
        isinstance(e, (ast.Name, ast.Attribute)) and known(e) is not None and known(e) == known(size)
    )


def _is_of_one_row(draft: Draft, call: ast.Call) -> bool:
    """Whether a function that `Dataset.map` is given stands around a call: before batches are made it gets one row."""
    if draft.names.last(call.func) != "reshape":
        return False
    around = next((a for a in draft.syntax.ancestors(call) if isinstance(a, (*FUNCTIONS, ast.Lambda))), None)
    for mapping in draft.sites.method_calls("map"):
        given = argument(mapping, "map_func", 0)
        if given is around or (
            given is not None and any(o.node is around for o in draft.values.origins(given))
        ):
            return around is not None
    return False


def _computed_with(draft: Draft, call: ast.Call) -> Iterator[ast.BinOp]:
    """Where what a call makes, by itself or by its name, is added to something that has a name, or multiplied by it."""
    statement = draft.syntax.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is call else []
    names = {t.id for t in targets if isinstance(t, ast.Name)}
    function = draft.syntax.function(call)
    for n in walk(function) if function is not None else draft.syntax.nodes:
        if not isinstance(n, ast.BinOp):
            continue
        for side, other in ((n.left, n.right), (n.right, n.left)):
            is_it = any(e is call or (isinstance(e, ast.Name) and e.id in names) for e in _terms(side))
            if is_it and any(isinstance(o, ast.Name) and o.id not in names for o in ast.walk(other)):
                yield n


def _set_beside(draft: Draft, call: ast.Call, size: ast.expr) -> Iterator[ast.Call]:
    """Where what a call makes is given to a loss, or to `train_on_batch`, beside something of another size: `ones` of
    `model.train_on_batch(rows, ones)`, of `loss_of(ones, model(rows))`."""
    made = {
        call,
        *(n for n in draft.module.loads.get(_name_of(draft, call)) if call in draft.values.calls(n)),
    }
    for taking in draft.syntax.calls:
        if draft.names.last(taking.func) not in _ON_BATCH and not _is_loss(draft, taking):
            continue
        given = arguments(taking)
        others = [e for e in given if e not in made and not isinstance(e, ast.Constant)]
        if len(others) < len(given) and not all(_has_size(draft, e, size) for e in others):
            yield taking


def _name_of(draft: Draft, call: ast.Call) -> str:
    """The name, or the attribute, that what a call makes is given."""
    statement = draft.syntax.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    return draft.names.last(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""


def _is_loss(draft: Draft, call: ast.Call) -> bool:
    name = draft.names.of(call.func) or ""
    made = (draft.names.of(c.func) or "" for c in draft.values.calls(call.func))
    return any(n.startswith(_LOSSES) for n in (name, *made)) or name.endswith("cross_entropy_with_logits")


def _has_size(draft: Draft, e: ast.expr, size: ast.expr) -> bool:
    """Whether something is made of the size of a batch, too, whatever the rows are: noise, its labels."""
    made = draft.values.calls(e)
    shapes = [a for c in made for a in arguments(c) if isinstance(a, (ast.Tuple, ast.List)) and a.elts]
    return bool(made) and any(_is_same(draft, a.elts[0], size) for a in shapes)


def _terms(e: ast.expr) -> Iterator[ast.expr]:
    """What an expression adds and multiplies."""
    yield e
    if isinstance(e, ast.BinOp):
        yield from _terms(e.left)
        yield from _terms(e.right)
