"""Which rows come in an order that each rank draws for itself (HVD319)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import arguments, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.own_generators import folds, orders_by_itself, shuffles_by_itself

_IN_PLACE = ("random.shuffle", "numpy.random.shuffle")
_ORDERS = ("numpy.random.permutation", "random.sample", "sklearn.utils.shuffle")
_KEEPING = ("to_numpy", "reset_index", "tolist", "astype", "copy", "fillna", "dropna")  # the order
_SEEDS = ("set_seed", "set_random_seed", "set_global_seed", "set_global_seeds")
_DEPTH = 30
_NAMES = 4  # under which a list is looked for

_LISTING = ("os.listdir", "os.scandir", "glob.glob", "glob.iglob")
_OF_PATHS = ("glob", "rglob", "iterdir")


def drawn_order(context: Context, rows: ast.expr, depth: int = 0) -> ast.AST | None:
    """What puts rows into an order that each rank draws for itself: on their only way, or in their own place."""
    rows = _in_the_same_order(context, rows)
    if isinstance(rows, ast.Call) and context.is_builtin(rows.func, "set", "sorted"):
        while (
            isinstance(rows, ast.Call)
            and context.is_builtin(rows.func, "set", "sorted")
            and len(rows.args) == 1
        ):
            rows = rows.args[0]
        parts = [o.node for o in context.values.origins(rows)]  # each rank has split off others, in any order
        calls = (c for c in parts if isinstance(c, ast.Call))
        return next((c for c in calls if _splits(context, c) and _is_drawn(context, c)), None)
    origins = context.values.origins(rows)
    for origin in origins:
        made = origin.node
        chosen = made.slice if isinstance(made, ast.Subscript) else made
        if not isinstance(chosen, ast.expr) or isinstance(chosen, (ast.Slice, ast.Constant)):
            continue
        for draw in context.values.calls(chosen) or ([chosen] if isinstance(chosen, ast.Call) else []):
            if _draws_an_order(context, draw) and _is_drawn(context, draw):
                return draw
    if len(origins) == 1 and not origins[0].path and origins[0].node is not rows and depth < _DEPTH:
        made = origins[0].node  # also what a function gives: `return rows[:count].astype("float32")`
        if isinstance(made, ast.expr) and _in_the_same_order(context, made) is not made:
            return drawn_order(context, made, depth + 1)
    if not isinstance(rows, ast.Name):
        return None
    if (passed := _passed_in_order(context, rows, depth)) is not None:
        return passed
    for call in _in_place(context):
        given = call.args[0] if len(call.args) == 1 else None
        in_order = given is not None and position(call) < position(rows)
        if in_order and context.text(given or rows) == rows.id and _is_drawn(context, call):
            if context.syntax.function(call) is context.syntax.function(rows):
                return call
    return None


def _in_place(context: Context) -> list[ast.Call]:
    """What shuffles a list or an array in its own place."""
    methods = (context.syntax.parent.get(n) for n in context.module.loads.get("shuffle"))
    own = [c for c in methods if isinstance(c, ast.Call) and shuffles_by_itself(context, c)]
    return [*context.module.calls_of(*_IN_PLACE), *own]


def _passed_in_order(context: Context, rows: ast.Name, depth: int) -> ast.AST | None:
    """What puts rows into an order of the rank's own before all calls pass them: `random.shuffle(files)`, `mine(files)`."""
    bound = context.scopes.reaching(rows)
    if len(bound) != 1 or bound[0].kind != "parameter" or depth >= _DEPTH:
        return None
    found = [drawn_order(context, given, depth + 1) for given in context.values.passed(bound[0])]
    return found[0] if found and None not in found else None


def _in_the_same_order(context: Context, rows: ast.expr) -> ast.expr:
    """What rows are taken from, one after the other: `rows` of `rows[:n]`, `list(rows)`, `rows.iloc`, `rows.to_numpy()`."""
    while True:
        match rows:
            case ast.Subscript(slice=ast.Slice()):
                rows = rows.value
            case ast.Attribute(attr="iloc" | "values"):
                rows = rows.value
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if (
                method in _KEEPING and context.names.of(rows.func) is None
            ):
                rows = inner
            case ast.Call(func=ast.Attribute(attr="fit_transform" | "transform"), args=[inner]) if (
                context.values.callee(rows) is None
            ):  # scikit-learn's scalers
                rows = inner
            case ast.Call(args=[inner]) if context.is_builtin(rows.func, "list", "tuple"):
                rows = inner
            case ast.Call(args=[inner, _]) if context.names.of(rows.func) in (
                "numpy.array_split",
                "numpy.split",
            ):
                rows = inner
            case ast.Call(args=[inner]) if context.names.of(rows.func) in ("numpy.array", "numpy.asarray"):
                rows = inner
            case _:
                return rows


def listed_order(context: Context, rows: ast.expr) -> ast.Call | None:
    """The listing of a folder that rows are, in the order in which the file system gives it: nothing sorts it."""
    made = _in_the_same_order(context, rows)
    for _ in range(_NAMES):
        if isinstance(made, ast.ListComp) and len(made.generators) == 1:
            made = _in_the_same_order(context, made.generators[0].iter)
        origins = context.values.origins(made)
        if len(origins) != 1 or not isinstance(origins[0].node, ast.expr) or _is_sorted_later(context, made):
            return None
        if origins[0].path or origins[0].node is made:
            break
        made = _in_the_same_order(context, origins[0].node)
    if not isinstance(made, ast.Call):
        return None
    name = context.names.of(made.func) or ""
    of_path = isinstance(made.func, ast.Attribute) and made.func.attr in _OF_PATHS and not name
    return made if name in _LISTING or (of_path and _is_path(context, made)) else None


def _is_path(context: Context, call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    made = context.values.calls(call.func.value)
    return bool(made) and all((context.names.of(c.func) or "").startswith("pathlib.") for c in made)


def _is_sorted_later(context: Context, rows: ast.expr) -> bool:
    """Whether something sorts or shuffles a list in its own place: `files.sort()`, `random.shuffle(files)`."""
    text = context.text(rows)
    methods = (n for name in ("sort", "shuffle") for n in context.module.loads.get(name))
    for named in methods:
        call = context.syntax.parent.get(named)
        if isinstance(named, ast.Attribute) and context.text(named.value) == text:
            return True
        if isinstance(call, ast.Call) and any(context.text(e) == text for e in call.args):
            return True
    return False


def _draws_an_order(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "sample" and _is_given(call, "frac"):
        return context.values.callee(call) is None  # rows of a table of pandas
    return (
        name in _ORDERS
        or _splits(context, call)
        or orders_by_itself(context, call)
        or bool(folds(context, call))
    )


def _splits(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func)
    return name == "sklearn.model_selection.train_test_split" and not _is_given(call, "shuffle")


def draws_a_split(context: Context, call: ast.Call) -> bool:
    """Whether `train_test_split` draws for each rank other rows."""
    return _splits(context, call) and _is_drawn(context, call)


def _is_given(call: ast.Call, word: str) -> bool:
    return any(k.arg == word for k in call.keywords)


def _is_drawn(context: Context, call: ast.Call) -> bool:
    """Whether no seed makes it the same on every rank."""
    if _is_given(call, "random_state"):
        return False
    if orders_by_itself(context, call) or shuffles_by_itself(context, call):
        return True
    name = context.names.of(call.func) or ""
    of_random = name.startswith("random.")
    seeds = ("random.seed",) if of_random else ("numpy.random.seed",)
    given = [c for c in context.module.calls_of(*seeds) if not seeds_by_rank(context, c)]
    named = (n for word in _SEEDS for n in context.module.loads.get(word))
    return not given and all(_is_called_by_rank(context, n) for n in named)


def seeds_by_rank(context: Context, call: ast.Call) -> bool:
    """Whether a seed is another on each rank, or is none (`random.seed()`): what it makes is then surely apart."""
    given = arguments(call)
    if not given or (len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value is None):
        return True
    return any(context.facts.horovod.depends_on(e, "rank", "local_rank", limit=60) for e in given)


def _is_called_by_rank(context: Context, named: ast.expr) -> bool:
    call = context.syntax.parent.get(named)
    return isinstance(call, ast.Call) and call.func is named and seeds_by_rank(context, call)
