"""D2 arrays: every rank trains on its own rows.

What it does   Takes this rank's share of the arrays that `fit` gets, its targets and its sample weights: every size()-th row,
               equally many on each rank, so that the ranks' k-th batches together are one batch of size() times the size. Of
               lists and dicts of arrays, each array, by a function `shard`. Arrays that an `ImageDataGenerator` flows are
               divided there.
Why            Otherwise every rank trains on everything: N ranks do N times the work of one.
Before         model.fit(x_train, y_train, batch_size=32, epochs=3)
After          share = slice(hvd.rank(), len(x_train) // hvd.size() * hvd.size(), hvd.size())
               model.fit(x_train[share], y_train[share], batch_size=32, epochs=3)
Leaves alone   `validation_data`, `evaluate` and `predict`: each rank validates on everything. Fewer rows than ranks. Rows
               for a stateful model, or one built for one batch size, and sparse ones: every rank trains on all of them, which
               is said.
Asks           Data that comes from elsewhere and might be a list of arrays.
Source         Beyond the seed, which divides no data (horovod#2623, 3675).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.facts.differences.answers import Varies
from horovodize.facts.feeds.steps import Feed
from horovodize.plan import Decision
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, argument, has_unpacking, position
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.numbers.shares import begins, feeding, is_none, select, wrap
from horovodize.rules.rows import few_rows
from horovodize.source import Edit
from horovodize.summary.feeding import FitFeed, Kind

_WHAT = "Give every rank its own rows"
_WHY = "Ranks that all train on everything do size() times the work; equally many rows on each keep them in step."
_KEPT = (
    "the model is stateful or made for one batch size, so its rows are not divided: every rank trains on all of them; "
    "give each rank its own whole batches"
)
_SPARSE = "rows of sparse tensors can't be selected, so these aren't divided: every rank trains on all; the rate stays"
_DRAWN = (
    "this draws noise for a whole batch, and the last batch of a rank's share may hold fewer rows: training then fails; draw "
    "for as many rows as there are, `tf.shape(x)[0]`"
)
_NOISE = ("random_normal", "random_uniform", "truncated_normal", "normal", "uniform")
_FILES = ("numpy.loadtxt", "numpy.genfromtxt", "numpy.load", "pandas.read_", "csv.")
_DOUBT_FLOW = (
    "this `flow` isn't Keras' own: check that it makes batches of the rows it is given; where it gives all of them in each "
    "step, don't scale the rate"
)
_KERAS = "tensorflow.keras."
_DOUBT = "it can't be seen whether this is one array (or a list of several, which `shard` would cut in two)"


def apply(draft: Draft) -> None:
    if not begins(draft, "D2"):
        return
    for fed in sorted(feeding(draft).fits, key=lambda fed: position(fed.fit.call)):
        known, steps, call = feeding(draft), draft.facts.steps, fed.fit.call
        if steps.of(call).feed is Feed.WHOLE or steps.game(call) is not None:
            continue  # the rows of each step are divided, or made by each rank for itself
        if known.bound_batches.is_stateful(fed.x) or known.bound_batches.has_fixed_batch(fed.x):
            if fed.kind is not Kind.DATASET:
                draft.note("D2", fed.x, _KEPT)
        elif fed.kind is not Kind.DATASET and draft.facts.undivided.is_sparse(fed):
            draft.note("D2", fed.x, _SPARSE)
        elif fed.y is not None or fed.kind in (Kind.ARRAY, Kind.ARRAYS, Kind.MAPPING):
            _divide_fit(draft, fed)
        elif fed.kind is Kind.SEQUENCE and not (
            draft.options.keeps_batch and draft.facts.batches.flow(fed) is None
        ):
            _divide_flow(draft, fed)


def _divide_fit(draft: Draft, fed: FitFeed) -> None:
    if fed.y is not None and not draft.options.keeps_batch and _may_be_few(draft, fed):
        draft.note("D2", fed.fit.call, few_rows.SAID)
    for drawn in _drawn_for_batches(draft, fed):
        draft.note("D2", drawn, _DRAWN)
    _divide_all(draft, fed.fit.call, (fed.x, fed.y, fed.weight))


def _divide_all(draft: Draft, call: ast.Call, given: Sequence[ast.expr | None], doubt: str = "") -> None:
    """Divides what a call is given: rows, their targets, their weights."""
    rows = [e for e in given if e is not None and not is_none(e)]
    counted = _counted_before(draft, call, rows)
    if counted is None:
        for data in rows:
            _divide(draft, data, doubt)
        return
    share = draft.same_name("share")
    taken = f"{share} = slice({RANK}, len({draft.module.text(counted)}) // {SIZE} * {SIZE}, {SIZE})"
    edits = list[Edit]()
    if not _is_taken(draft, counted, call):
        edits.append(
            draft.before(draft.syntax.statement(call), [taken], level=-1)
        )  # after what sets the rows
    for data in rows:
        edits += select(draft, data, share, "D2")
    draft.divided = True
    draft.change("D2", rows[0], _WHAT, _WHY, edits, doubt=doubt, decision=Decision.SHARED)


def _is_taken(draft: Draft, counted: ast.expr, call: ast.Call) -> bool:
    """Whether a `fit` before in the same block has had said which rows are a rank's own, of an array that is still the same.
    They come in the order of the text."""
    is_fit = any(fed.fit.call is call for fed in feeding(draft).fits)
    if (
        not is_fit
        or not isinstance(counted, ast.Name)
        or draft.sites.method_calls("append", "extend", "insert", "pop")
    ):
        return False
    set_by = sorted(
        position(b.anchor) for b in draft.module.scopes.reaching(counted) if isinstance(b.anchor, ast.expr)
    )
    block = draft.syntax.block(draft.syntax.statement(call))
    return not draft.once(f"share of {counted.id} {set_by}", block[0])


def _counted_before(draft: Draft, call: ast.Call, rows: Sequence[ast.expr]) -> ast.expr | None:
    """The array that tells how many rows there are, where one line before a call can say which of them are a rank's own: each
    of them is surely one array, and there are not too few of them."""
    statement = draft.syntax.statement(call)
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
        return None
    if not draft.can_insert(statement) or any(isinstance(n, ast.NamedExpr) for n in ast.walk(statement)):
        return None
    for a in draft.syntax.ancestors(call):
        if a is statement:
            break
        if isinstance(a, (*CALLABLES, *COMPREHENSIONS)):
            return None
    if any(draft.was(e, Shared) or not _is_one_array(draft, e) for e in rows):
        return None
    uniform = draft.uniform
    if any(isinstance(r, Varies) for e in rows for r in uniform.number_reasons(e)):
        return None  # a rank's own number of them says nothing of those that it takes of rank 0
    return next((e for e in rows if _is_name(e)), None)


def _is_name(e: ast.expr) -> bool:
    """`x`, `self.x`, `data[0]`: to be read once more, with nothing done by it."""
    if isinstance(e, ast.Subscript):
        return isinstance(e.slice, ast.Constant) and _is_name(e.value)
    return isinstance(e, ast.Name) or (isinstance(e, ast.Attribute) and _is_name(e.value))


def _is_one_array(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression surely stands for one array, or list of rows, of at least one row for each rank."""
    kinds = feeding(draft).kinds
    few = draft.facts.steps.shapes.rows(e)
    return (
        isinstance(e, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        and kinds.given_to_fit(e) not in (Kind.ARRAYS, Kind.MAPPING)
        and not (kinds.given_to_fit(e) is Kind.UNKNOWN and kinds.is_opaque(e))
        and (few is None or few >= few_rows.RANKS)
    )


def _drawn_for_batches(draft: Draft, fed: FitFeed) -> Iterator[ast.Call]:
    """The noise that a layer adds to as many rows as `fit` is told for a batch: `K.random_normal((batch_size, 2))`."""
    size = argument(fed.fit.call, "batch_size", 2)
    batch = feeding(draft).kinds.constant(size) if size is not None else None
    for call in draft.module.calls_called(*_NOISE) if batch is not None else ():
        name = draft.names.of(call.func) or ""
        if not name.startswith("tensorflow."):
            continue
        shape = argument(call, "shape", 0)
        if isinstance(shape, (ast.Tuple, ast.List)) and shape.elts and _is_in_a_layer(draft, call):
            if feeding(draft).kinds.constant(shape.elts[0]) == batch:
                yield call


def _is_in_a_layer(draft: Draft, call: ast.Call) -> bool:
    """Whether a call is made in a layer's `call`, or in what a `Lambda` is given."""
    function = draft.syntax.function(call)
    if function is None:
        return False
    if draft.syntax.method_class(function) is not None:
        return function.name == "call"
    layers = (c for c in draft.syntax.calls if draft.names.last(c.func) == "Lambda" and c.args)
    return any(o.node is function for c in layers for o in draft.values.origins(c.args[0]))


def _may_be_few(draft: Draft, fed: FitFeed) -> bool:
    """Whether a few ranks' batches may hold all rows: there are few of them, or a file of the user's own has them."""
    size = argument(fed.fit.call, "batch_size", 2)
    batch = feeding(draft).kinds.constant(size) if size is not None else 32
    counts = {draft.facts.steps.shapes.rows(e) for e in (fed.x, fed.y) if e is not None} - {None}
    if counts:
        return batch is not None and any(
            rows is not None and rows < batch * few_rows.RANKS for rows in counts
        )
    read = (
        draft.names.of(n.func) or "" for n in draft.values.depends([fed.x], 400) if isinstance(n, ast.Call)
    )
    return any(name.startswith(_FILES) for name in read)


def _divide(draft: Draft, data: ast.expr, doubt: str = "") -> None:
    kind = feeding(draft).kinds.given_to_fit(data)
    if isinstance(data, (ast.List, ast.Tuple)) and kind is Kind.ARRAYS:
        for element in data.elts:
            if not isinstance(element, ast.Starred):
                _divide(draft, element, doubt)
        return
    if isinstance(data, ast.Dict):
        for value in data.values:
            _divide(draft, value, doubt)
        return
    if draft.was(data, Shared):
        return
    span, shard = draft.module.span(data), draft.helper("shard")
    draft.divided = True
    if kind is Kind.ARRAYS:
        draft.decide(data, Shared("D2"))
        edits = Edit.around(span, f"[{shard}(part) for part in ", "]")
    elif kind is Kind.MAPPING:
        draft.decide(data, Shared("D2"))
        edits = Edit.around(span, f"{{key: {shard}(part) for key, part in ", ".items()}")
    else:
        edits = wrap(draft, data, "shard", "D2")
    unclear = kind is Kind.UNKNOWN and feeding(draft).kinds.is_opaque(data)
    draft.change("D2", data, _WHAT, _WHY, edits, doubt=doubt or (_DOUBT if unclear else ""))


def _divide_flow(draft: Draft, fed: FitFeed) -> None:
    """`datagen.flow(x, y)`: the arrays are divided where they start to flow."""
    for call in draft.values.calls(fed.x):
        if draft.names.last(call.func) != "flow" or has_unpacking(call):
            continue
        if fed.x is not call and not _only_here(draft, fed):
            continue
        _divide_flowing(draft, call, "" if _is_keras_flow(draft, call) else _DOUBT_FLOW)


def _divide_flowing(draft: Draft, call: ast.Call, doubt: str = "") -> None:
    targets = argument(call, "y", 1) or argument(call, "targets")
    _divide_all(draft, call, [argument(call, "x", 0), targets, argument(call, "sample_weight")], doubt)


def _is_keras_flow(draft: Draft, call: ast.Call) -> bool:
    """Whether a `flow` may be that of Keras' `ImageDataGenerator`; not where it's seen that another class has it."""
    made = draft.values.calls(call.func.value) if isinstance(call.func, ast.Attribute) else []
    return not made or any(_is_image_generator(draft, one) for one in made)


def _is_image_generator(draft: Draft, made: ast.Call) -> bool:
    own = draft.values.callee(made)
    name = draft.names.of(made.func) or ""
    if isinstance(own, ast.ClassDef):
        return any(base.startswith(_KERAS) for base in draft.values.ancestors(own))
    return not name or name.startswith(_KERAS) or name.endswith(".ImageDataGenerator")


def divide_validation_flow(draft: Draft, data: ast.expr) -> bool:
    """The same of what a `fit` validates on and nothing else takes: its arrays are divided, rather than its batches. Whether
    they are."""
    calls, pipelines = draft.values.calls(data), feeding(draft).pipelines
    if not calls or any(draft.names.last(c.func) != "flow" or has_unpacking(c) or not c.args for c in calls):
        return False
    bindings = pipelines.bindings(data) if isinstance(data, (ast.Name, ast.Attribute)) else []
    given = {argument(fed.fit.call, "validation_data") for fed in feeding(draft).fits}
    if data not in calls and (
        not bindings or any(u not in given for b in bindings for u in pipelines.uses(b))
    ):
        return False
    for call in calls:
        if not any(draft.was(e, Shared) for e in call.args) and draft.once("validation rows", call):
            _divide_flowing(draft, call)
    return True


def _only_here(draft: Draft, fed: FitFeed) -> bool:
    """Whether a generator goes only to this fit (and to `len`)."""
    pipelines = feeding(draft).pipelines
    if not isinstance(fed.x, (ast.Name, ast.Attribute)):
        return False
    feeds: set[ast.AST] = {f.x for f in feeding(draft).fits}
    return all(
        pipelines.only_trains(use, feeds) for b in pipelines.bindings(fed.x) for use in pipelines.uses(b)
    )


RULE = Rule("D2", "give every rank its own rows of arrays", apply, __doc__ or "")
