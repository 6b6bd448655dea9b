"""Data sets of rows that Hugging Face's `datasets` hold, `rows.to_tf_dataset(…)`, `model.prepare_tf_dataset(rows)`: part of D1.

What it does   Every rank selects its rows before they are made a data set: the others' are neither read nor collated. As
               many on each rank, so that none takes a step more. What shuffles or splits the rows before, unseeded, does so
               alike on all ranks.
Before         train = rows.to_tf_dataset(batch_size=8, shuffle=True)
After          train = rows.select(range(hvd.rank(), len(rows) // hvd.size() * hvd.size(), hvd.size())).to_tf_dataset(…)
Leaves alone   Rows that are no name or item: what comes out is divided, batch by batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.python.syntax import argument, has_unpacking
from horovodize.rules.drafting.decisions import Agreed, How, Shared
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.numbers.shares import SEED
from horovodize.source import Edit
from horovodize.summary.dataset_methods import OF_ROWS

_WHAT, _WHY = (
    "Give every rank its own rows",
    "Divided before they are read, no rank prepares the others' rows.",
)
_SEED = "Shuffle alike on all ranks"
_WHY_SEED = (
    "Every rank takes its part of the same order; unseeded, the parts would overlap and leave rows out."
)
_ORDERING = ("shuffle", "train_test_split")
_PACKAGES = ("datasets", "transformers")
_LIMIT = 400  # nodes that rows are made of


def divide(draft: Draft, place: ast.expr) -> bool:
    """Divides the rows of a data set where it is made; whether it could."""
    rows = _rows(draft, place)
    if rows is None or not _is_plain(rows) or not draft.decide(place, Shared("D1")):
        return False
    draft.divided = True
    text, end = draft.module.text(rows), draft.module.span(rows).end
    share = f".select(range({RANK}, len({text}) // {SIZE} * {SIZE}, {SIZE}))"
    edits = [Edit.insert(end, share, draft.module.span(rows))]
    draft.change("D1", rows, _WHAT, _WHY, draft.decided(Decision.SHARED, edits))
    for call in _unseeded(draft, rows):
        if draft.decide(call, Agreed("D1", How.SEED)):
            edits = [draft.add_argument(call, f"seed={SEED}")]
            draft.change("D1", call, _SEED, _WHY_SEED, edits)
    return True


def _rows(draft: Draft, place: ast.expr) -> ast.expr | None:
    """What a call makes a data set of, where a program uses these packages; methods of other packages are called so, too."""
    if not isinstance(place, ast.Call) or not isinstance(place.func, ast.Attribute):
        return None
    if place.func.attr not in OF_ROWS or not any(map(draft.module.scopes.imports_package, _PACKAGES)):
        return None
    if draft.values.callee(place) is not None:
        return None
    return place.func.value if place.func.attr == OF_ROWS[0] else argument(place, "dataset", 0)


def _is_plain(e: ast.expr) -> bool:
    """Whether an expression may be written twice: `rows`, `self.rows`, `parts["train"]`."""
    if isinstance(e, ast.Subscript):
        return isinstance(e.slice, ast.Constant) and _is_plain(e.value)
    return isinstance(e, ast.Name) or (isinstance(e, ast.Attribute) and _is_plain(e.value))


def _unseeded(draft: Draft, rows: ast.expr) -> Iterator[ast.Call]:
    """What shuffles the rows, or splits others off, by NumPy's state, which nothing seeds."""
    if draft.uniform.draws.is_seeded("numpy.random."):
        return
    for n in draft.values.depends([rows], _LIMIT):
        if (
            not isinstance(n, ast.Call)
            or not isinstance(n.func, ast.Attribute)
            or n.func.attr not in _ORDERING
        ):
            continue
        stays = argument(n, "shuffle")
        is_ordered = isinstance(stays, ast.Constant) and not stays.value
        if (
            draft.names.of(n.func) is None
            and argument(n, "seed") is None
            and not (is_ordered or has_unpacking(n))
        ):
            yield n


__all__ = ["divide"]
