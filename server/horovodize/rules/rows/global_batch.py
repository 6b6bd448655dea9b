"""The setting `batch = "global"`, part of D1, D2, K4, G4, S5: all ranks together take the batches that one process took.

Rate, steps and whatever is counted in steps stay. Where data are divided before their batches are made, the batch's size is
divided, too; elsewhere each rank takes its rows of each batch. What can't be divided is refused, never scaled otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.feeds.batches import Batch
from horovodize.facts.feeds.over_rows import Over
from horovodize.plan import Decision
from horovodize.python.syntax import CALLABLES
from horovodize.rules.drafting.decisions import Amount, Divided, Shared, Unit
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import is_none, may_be_none
from horovodize.rules.rows.told_by_threads import listen_to_fit
from horovodize.rules.scaling import strong
from horovodize.source import Edit
from horovodize.summary.dataset_methods import METHODS
from horovodize.summary.feeding import Kind

_SIZE = "Divide the batch among the ranks"
_ROWS = "Divide the rows of each batch among the ranks"
_WHY = "All ranks together take the batches that one process took, so rate and steps stay."
_INSTEAD = 'with `batch = "global"` it would have to be divided; use `batch = "per-rank"` for this script'
_MEAN = "the rows of each batch are divided, rate and steps stay; right for a loss that is a mean over rows"
_RECURRENT = (
    "the rows of each batch are divided, rate and steps stay; right where each row is a sequence of its own, wrong where rows "
    "are the steps of one"
)
_ITEMS = "each item of this loop is taken for a batch, and each array in it for one with rows first"
_COUPLED = "the loss of this step joins the rows of a batch with each other"
_SUM_AND_MORE = (
    "the loss of this step is a sum over rows and something beside it, which would be added up on all ranks"
)
_NORMALIZED = (
    "batch normalization takes its statistics from a rank's rows of each batch, which are size() times fewer"
)
_STAYS = "the batch size is divided where batches are made, and stays what it is in line"
_SUMMED = "the loss of this step is a sum over rows, and batches of its dataset can only be divided where that may be uneven"
_UNDIVIDED = '`batch = "global"` divides batches among the ranks, and `split-data = false` keeps data whole: choose one'
_ESTIMATOR = f"the batches of an Estimator are made in its input functions, which are not divided: {_INSTEAD}"
_RECURRING = {"LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM2D", "dynamic_rnn", "static_rnn", "bidirectional_dynamic_rnn",
              "LSTMCell", "GRUCell", "BasicLSTMCell", "BasicRNNCell"}  # fmt: skip
_SHAPED = {"ones", "zeros", "full", "fill", "normal", "uniform", "truncated_normal", "random_normal", "random_uniform",
           "reshape", "TensorSpec", "randn", "rand", "standard_normal"}  # fmt: skip


def refuse_settings(draft: Draft) -> None:
    """Refuses a global batch where no batch can be divided."""
    if not draft.options.keeps_batch or not draft.once("global batch", draft.module.tree):
        return
    estimators = draft.sites.estimators
    if estimators:
        draft.refuse("HVD006", next(iter(estimators)), _ESTIMATOR)
    if not draft.options.split_data:
        draft.refuse("HVD006", draft.summary.loops[0].node, _UNDIVIDED)


def divide(draft: Draft, rule: str, sites: Iterable[ast.Call]) -> None:
    """Divides the batches of places that train; refuses what can't be divided."""
    for site in sites:
        if strong.scaling(draft, site) is strong.Scaling.GLOBAL and draft.once("global batch", site):
            _divide(draft, rule, site)


def _divide(draft: Draft, rule: str, site: ast.Call) -> None:
    batch = draft.facts.batches.of(site)
    hindrance = _hindrance(batch, site)
    if hindrance is not None:
        node, message = hindrance
        draft.refuse("HVD006", node, f"{message}; {_INSTEAD}")
        return
    if any(draft.names.last(c.func) in strong.NORMALIZING for c in draft.syntax.calls):
        draft.note(rule, site, _NORMALIZED)
    doubt = _doubt(draft, batch, site)
    if doubt and not _edited(draft, batch):
        draft.change(rule, site, _SIZE, _WHY, (), doubt, Decision.BATCH)
    for size in batch.sizes:
        _divide_size(draft, rule, size, doubt)
    for call in batch.default:
        if draft.once("batch size", call):
            edit = draft.add_argument(call, f"batch_size={draft.helper('share_batch')}(32)")
            draft.change(rule, call, _SIZE, _WHY, [edit], doubt, Decision.BATCH, "batch_size=32")
    _divide_rows(draft, rule, batch, doubt)


def _edited(draft: Draft, batch: Batch) -> bool:
    """Whether some change of the batch can ask its doubt."""
    places = (*batch.sizes, *batch.default, *batch.fed, *batch.parts, *batch.iterated)
    return not all(draft.was(place, Amount) for place in places)


def _hindrance(batch: Batch, site: ast.Call) -> tuple[ast.AST, str] | None:
    if batch.unseen is not None:
        return batch.unseen
    if batch.over is Over.COUPLED:
        return site, _COUPLED
    if batch.over is Over.SUM and batch.late:
        return site, _SUMMED
    return (site, _SUM_AND_MORE) if batch.over is Over.SUM_AND_MORE else None


def _doubt(draft: Draft, batch: Batch, site: ast.Call) -> str:
    if batch.over not in (Over.MEAN, Over.SUM):
        return _MEAN
    if batch.iterated and not any(f.fit.call is site for f in draft.facts.feeding.fits):
        return _ITEMS
    if (batch.fed or batch.parts) and any(draft.names.last(c.func) in _RECURRING for c in draft.syntax.calls):
        return _RECURRENT
    lines = sorted({n.lineno for size in batch.sizes for n in _other_uses(draft, size)})
    if lines:
        listed = ", ".join(str(line) for line in lines)
        return f"{_STAYS} {listed}: right unless a rank's rows are counted there"
    return ""


# ---------------------------------------------------------------------- edits


def _divide_size(draft: Draft, rule: str, size: ast.expr, doubt: str) -> None:
    if not draft.decide(size, Divided(rule, Unit.ROWS)):
        return
    span, helper = draft.module.span(size), draft.helper("share_batch")
    if is_none(size):
        edits: tuple[Edit, ...] = (Edit(span, f"{helper}(32)"),)
    else:
        edits = Edit.around(span, f"{helper}(", " or 32)" if may_be_none(draft, size) else ")")
    draft.change(rule, size, _SIZE, _WHY, edits, doubt, Decision.BATCH)


def _divide_rows(draft: Draft, rule: str, batch: Batch, doubt: str) -> None:
    share = "split_rows" if batch.over is Over.SUM else "share_rows"
    parts = "split_parts" if batch.over is Over.SUM else "share_parts"
    for e in (*batch.fed, *batch.parts, *batch.iterated):
        if not draft.decide(e, Shared(rule, Unit.ROWS)):
            continue
        span = draft.module.span(e)
        if e in batch.fed:
            edits = Edit.around(span, f"{draft.helper(share)}(", ")")
        elif e in batch.parts:
            edits = Edit.around(span, f"{draft.helper(parts)}(", ")")
        elif draft.facts.feeding.kinds.of(e) is Kind.SEQUENCE:
            listen_to_fit(draft)
            edits = Edit.around(span, f"{draft.helper('SharedSequence')}(", f", {draft.helper(parts)})")
        else:
            edits = Edit.around(span, f"({draft.helper(parts)}(batch) for batch in ", ")")
        draft.change(rule, e, _ROWS, _WHY, edits, doubt, Decision.BATCH)


# ---------------------------------------------------------------------- where else the size is used


def _other_uses(draft: Draft, size: ast.expr) -> Iterator[ast.expr]:
    """Where a batch size may be the number of rows of something else that a step uses: `tf.ones((BATCH_SIZE, 1))`."""
    if isinstance(size, ast.Constant):
        yield from _same_number(draft, size)
        return
    names = _names(draft, size)
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        if not isinstance(n.ctx, ast.Load) or (n.id if isinstance(n, ast.Name) else n.attr) not in names:
            continue
        if not isinstance(draft.syntax.parent.get(n), ast.Attribute) and not _is_harmless(draft, n):
            yield n


def _names(draft: Draft, size: ast.expr) -> set[str]:
    """The names by which a size is known: the one given, and those that it is passed on by."""
    todo, names = [size], set[str]()
    while todo:
        e = todo.pop()
        name = e.id if isinstance(e, ast.Name) else e.attr if isinstance(e, ast.Attribute) else ""
        if not name or name in names:
            continue
        names.add(name)
        if isinstance(e, ast.Name):
            for b in draft.module.scopes.reaching(e):
                todo += (
                    draft.values.passed(b)
                    if b.kind == "parameter"
                    else [b.value]
                    if b.value is not None
                    else []
                )
    return names


def _is_harmless(draft: Draft, n: ast.expr) -> bool:
    """Whether a use of a batch size counts batches, is shown, or hands it on."""
    child: ast.AST = n
    parent = draft.syntax.parent[child]
    while isinstance(parent, (ast.BinOp, ast.UnaryOp)) or (
        isinstance(parent, ast.Call)
        and draft.names.last(parent.func) in ("int", "float", "ceil", "floor", "max", "min")
    ):
        child, parent = parent, draft.syntax.parent[parent]
    if isinstance(
        parent, (ast.Slice, ast.FormattedValue, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
    ):
        return True
    if isinstance(parent, ast.keyword):
        known = ("batch_size", "steps_per_epoch", "validation_steps", "steps", "buffer_size")
        if parent.arg in known:
            return True
        parent = draft.syntax.parent[parent]
    if not isinstance(parent, ast.Call):
        return False
    last = draft.names.last(parent.func)
    passed_on = isinstance(draft.values.callee(parent), (*CALLABLES, ast.ClassDef))
    return passed_on or last in METHODS or last in ("range", "print", "trange", "split_rows", "next_batch")


def _same_number(draft: Draft, size: ast.Constant) -> Iterator[ast.expr]:
    """`tf.ones((32, 1))` beside batches of 32."""
    for call in draft.syntax.calls:
        if draft.names.last(call.func) not in _SHAPED:
            continue
        given = [*call.args, *(k.value for k in call.keywords if k.arg in ("shape", "size"))]
        firsts = [e.elts[0] if isinstance(e, (ast.Tuple, ast.List)) and e.elts else e for e in given]
        yield from (f for f in firsts if isinstance(f, ast.Constant) and f.value == size.value)
