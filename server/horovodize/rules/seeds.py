"""D3 seeds and orders: ranks that draw at random must draw differently, ranks that share rows must go by one order.

What it does   Reports a fixed seed where each rank draws its batches at random from all of the data: with the same seed all of
               them draw the same ones, and size() ranks learn what one would. Where each rank takes its part of rows that it
               has shuffled without a seed, it gives all of them rank 0's order; where that would send the rows themselves, it
               reports that the parts overlap.
Why            The ranks' batches have to differ for their average to be worth more than one of them. A seed is right where the
               data is divided first (D1, D2), and wrong where only the steps are (G4):
               `np.random.seed(7 + hvd.rank())` just before the loop is the remedy.
Before         order = np.random.permutation(len(x))
               for i in range(0, len(x), 32):
                   step(x[order[i : i + 32]])
After          order = hvd.broadcast_object(np.random.permutation(len(x)))
Leaves alone   Seeds of programs whose data is divided. No seed is changed: data and weights may be made from the same one.
Asks           Never.
Source         Beyond the seed (horovod#223, 1252).
"""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.rules.guards import from_root
from horovodize.rules.rule import Rule
from horovodize.rules.shares import begins, feeding
from horovodize.source import Edit
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.steady import Steady
from horovodize.summary.syntax import argument, position

_SEEDS = {
    "numpy.random.seed": ("numpy.random.",),
    "random.seed": ("random.",),
    "tensorflow.random.set_seed": ("tensorflow.random.",),
    "tensorflow.keras.utils.set_random_seed": ("numpy.random.", "random.", "tensorflow.random."),
}
_SHUFFLES = (
    "numpy.random.shuffle",
    "numpy.random.permutation",
    "random.shuffle",
    "sklearn.utils.shuffle",
)
_MAKERS = (
    "numpy.random.RandomState",
    "numpy.random.default_rng",
    "random.Random",
    "tensorflow.random.Generator.from_seed",
)

_SHARED = "Every rank takes its part of the same order; in orders of their own the parts would overlap and leave rows out."


def apply(draft: Draft) -> None:
    if not begins(draft, "D3"):
        return
    for driver in feeding(draft).drivers:
        if driver.kind is Kind.RANGE and not driver.indexed and not feeding(draft).next_calls(driver):
            _report(draft, driver)
        elif driver.indexed or driver.kind not in (Kind.RANGE, Kind.DATASET):
            _report_shuffles(draft, driver)


def _report(draft: Draft, driver: Driver) -> None:
    drawing = [n for s in driver.loop.body for n in ast.walk(s) if isinstance(n, ast.Call)]
    drawing += [
        n
        for c in list(drawing)
        for f in [draft.values.callee(c)]
        if f is not None
        for n in ast.walk(f)
        if isinstance(n, ast.Call)
    ]
    for call in draft.syntax.calls:
        name = draft.names.of(call.func) or ""
        if (name in _MAKERS and call.args and _drawn_from(draft, call, drawing)) or any(
            (draft.names.of(d.func) or "").startswith(prefix)
            for prefix in _SEEDS.get(name, ())
            for d in drawing
        ):
            draft.note(
                "D3",
                call,
                f"with this seed every rank draws the same batches in the loop of line {driver.loop.lineno}; "
                "seed each rank differently just before that loop",
            )


def _report_shuffles(draft: Draft, driver: Driver) -> None:
    """Rows that each rank shuffles for itself and then takes its part of: the parts overlap."""
    if draft.module.calls_of(*_SEEDS):
        return
    for call in draft.module.calls_of(*_SHUFFLES):
        same = draft.syntax.function(call) is draft.syntax.function(driver.loop)
        seeded = argument(call, "random_state") is not None
        if same and not seeded and position(call) < position(driver.loop) and not _share_order(draft, call):
            draft.note(
                "D3",
                call,
                f"each rank shuffles for itself here and takes its part in the loop of line {driver.loop.lineno}: in an epoch "
                "some rows are seen twice and some not at all; seed NumPy with the same number on all ranks",
            )


def _share_order(draft: Draft, call: ast.Call) -> bool:
    """Gives all ranks rank 0's order, where it is one of numbers of rows; whether it is."""
    if draft.drive.in_traced(call) or not Steady(draft.module, draft.drive).reached_alike(call):
        return False
    of = argument(call, "x", 0)
    statement = draft.syntax.statement(call)
    in_place = isinstance(statement, ast.Expr) and statement.value is call
    if of is None or not _numbers_rows(draft, of, in_place):
        return False
    if not in_place:
        edits = list(Edit.around(draft.module.span(call), f"{from_root(draft)}(", ")"))
    elif isinstance(of, (ast.Name, ast.Attribute)) and draft.can_insert(statement):
        name = draft.module.text(of)
        edits = [draft.after(statement, [f"{name} = {from_root(draft)}({name})"])]
    else:
        return False
    draft.change("D3", call, "Go through the rows in rank 0's order on all ranks", _SHARED, edits)
    return True


def _numbers_rows(draft: Draft, e: ast.expr, in_place: bool) -> bool:
    """Whether a value is a list or array of numbers from 0, or (where an order is made anew) how many there are."""
    for origin in draft.values.origins(e):
        node = origin.node
        while (
            isinstance(node, ast.Call)
            and node.args
            and draft.names.last(node.func) in ("list", "array", "asarray")
        ):
            node = node.args[0]
        numbers = isinstance(node, ast.Call) and draft.names.last(node.func) in ("arange", "range")
        count = not in_place and (
            isinstance(node, (ast.Constant, ast.BinOp, ast.Attribute, ast.Subscript))
            or (isinstance(node, ast.Call) and draft.names.last(node.func) in ("len", "int"))
        )
        if origin.path or not (numbers or count):
            return False
    return True


def _drawn_from(draft: Draft, maker: ast.Call, drawing: list[ast.Call]) -> bool:
    return any(
        isinstance(d.func, ast.Attribute) and maker in draft.values.calls(d.func.value) for d in drawing
    )


RULE = Rule("D3", "report seeds that make all ranks draw the same", apply, __doc__ or "")
