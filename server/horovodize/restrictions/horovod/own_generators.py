"""Orders and folds that an object draws, which no seed makes alike on the ranks (a part of HVD319).

np.random.default_rng().permutation(len(rows))
KFold(5, shuffle=True).split(rows)"""

from __future__ import annotations

import ast

from horovodize.python.random_generators import makers
from horovodize.python.syntax import argument, arguments
from horovodize.restrictions.context import Context

_BIT_GENERATORS = tuple(
    f"numpy.random.{name}" for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
)
_ORDERS = ("permutation", "permuted", "sample")
_FOLDS = "sklearn.model_selection."
_ASKED_TO = ("KFold", "StratifiedKFold", "StratifiedGroupKFold")  # shuffle with `shuffle=True`
_ALWAYS = (
    "ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "RepeatedKFold", "RepeatedStratifiedKFold",
)  # fmt: skip


def orders_by_itself(context: Context, call: ast.Call) -> bool:
    """Whether a call asks a generator without a seed for an order: `np.random.RandomState().permutation(n)`."""
    return _is_named(call, *_ORDERS) and _draws_its_own(context, call)


def shuffles_by_itself(context: Context, call: ast.Call) -> bool:
    """Whether a call has such a generator shuffle in place: `random.Random().shuffle(rows)`."""
    return _is_named(call, "shuffle") and _draws_its_own(context, call)


def folds(context: Context, call: ast.Call) -> ast.Call | None:
    """What makes the folds that a call goes through, where they are drawn, and nothing gives their draw a seed of its own."""
    if not _is_named(call, "split") or not isinstance(call.func, ast.Attribute):
        return None
    made = context.values.calls(call.func.value)
    return made[0] if len(made) == 1 and _are_drawn(context, made[0]) else None


def _are_drawn(context: Context, made: ast.Call) -> bool:
    name = context.names.of(made.func) or ""
    if not name.startswith(_FOLDS) or argument(made, "random_state") is not None:
        return False
    shuffle = argument(made, "shuffle")
    asked = isinstance(shuffle, ast.Constant) and shuffle.value is True
    return name.removeprefix(_FOLDS) in _ALWAYS or (asked and name.removeprefix(_FOLDS) in _ASKED_TO)


def _is_named(call: ast.Call, *names: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in names


def _draws_its_own(context: Context, call: ast.Call) -> bool:
    made = makers(context.module, call)
    assert isinstance(call.func, ast.Attribute)
    alone = len(made) == len(context.values.origins(call.func.value))
    return bool(made) and alone and all(_has_own_seed(context, m) for m in made)


def _has_own_seed(context: Context, maker: ast.Call) -> bool:
    """Whether a generator surely begins otherwise on each rank: without a seed, or with one by the rank."""
    given = arguments(maker)
    if not given or (len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value is None):
        return True
    inner = context.values.calls(given[0])
    if len(given) == len(inner) == 1 and context.names.of(inner[0].func) in _BIT_GENERATORS:
        return _has_own_seed(context, inner[0])
    return any(context.facts.horovod.depends_on(e, "rank", "local_rank", limit=60) for e in given)


__all__ = ["folds", "orders_by_itself", "shuffles_by_itself"]
