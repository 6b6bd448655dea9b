"""How many rows tables have that are written out, `pd.DataFrame({"a": [1, 2]})`, and the parts of a split by scikit-learn."""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import ceil, floor

from horovodize.python.module import Module
from horovodize.python.syntax import argument, says_none
from horovodize.python.values import Origin

_SPLIT = "sklearn.model_selection.train_test_split"
_FRAME = "pandas.DataFrame"
_TEST = 0.25  # what scikit-learn keeps for testing


def of_split(
    module: Module,
    origin: Origin,
    rows: Callable[[ast.expr], tuple[int | None, ...] | None],
    number: Callable[[ast.expr], float | None],
) -> tuple[int | None, ...] | None:
    """The shape of a part of `train_test_split(x, y, test_size=0.2)`; None of anything else."""
    made = origin.node
    if not isinstance(made, ast.Call) or module.names.of(made.func) != _SPLIT or len(origin.path) != 1:
        return None
    place = origin.path[0]
    if not isinstance(place, int) or not 0 <= place < 2 * len(made.args):
        return None
    whole = rows(made.args[place // 2])
    if not whole or whole[0] is None:
        return None
    sizes = [argument(made, name) for name in ("test_size", "train_size")]
    given = [None if e is None or says_none(e) else number(e) for e in sizes]
    if any(e is not None and not says_none(e) and n is None for e, n in zip(sizes, given, strict=True)):
        return None
    train, test = _sizes(whole[0], given[0], given[1])
    return (test if place % 2 else train, *whole[1:])


def _sizes(rows: int, test: float | None, train: float | None) -> tuple[int, int]:
    """(rows to train on, rows to test with), as scikit-learn counts them."""
    if test is None and train is None:
        test = _TEST
    tested = None if test is None else ceil(test * rows) if isinstance(test, float) else test
    trained = None if train is None else floor(train * rows) if isinstance(train, float) else train
    if trained is None:
        return rows - (tested or 0), tested or 0
    return trained, rows - trained if tested is None else tested


def of_frame(
    module: Module, call: ast.Call, rows: Callable[[ast.expr], tuple[int | None, ...] | None]
) -> tuple[int | None, ...] | None:
    """The shape of a table that is made of columns which are written out."""
    data = argument(call, "data", 0)
    made = [o.node for o in module.values.origins(data)] if data is not None else []
    columns = made[0] if len(made) == 1 else None
    if module.names.of(call.func) != _FRAME or not isinstance(columns, ast.Dict) or argument(call, "index"):
        return None
    lengths = {shape[0] if (shape := rows(v)) else None for v in columns.values}
    count = lengths.pop() if len(lengths) == 1 else None
    return (count, len(columns.values)) if count is not None else None


def columns(shape: tuple[int | None, ...], index: ast.expr) -> tuple[int | None, ...] | None:
    """The shape of `frame["a"]`, `frame[["a", "b"]]`; None where no columns are chosen by name."""
    if isinstance(index, ast.Constant) and isinstance(index.value, str):
        return shape[:1]
    if isinstance(index, ast.List) and all(
        isinstance(n, ast.Constant) and isinstance(n.value, str) for n in index.elts
    ):
        return (*shape[:1], len(index.elts))
    return None


__all__ = ["columns", "of_frame", "of_split"]
