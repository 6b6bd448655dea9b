"""How many elements a pipeline gives: whether that is known, without end, or comes out the same when it is read again."""

from __future__ import annotations

import ast

from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument, has_unpacking, says_none
from horovodize.source.nodes import walk
from horovodize.summary.dataset_methods import (
    COUNTED,
    DIRECTORY,
    EVEN,
    LOADING,
    METHODS,
    REPEATABLE,
    REPEATING,
)
from horovodize.summary.pipeline import Pipelines, flat
from horovodize.summary.wrapped_iterables import looked_through

# Sources of strings, and what keeps elements as they are.
_RECORDS = (".TFRecordDataset", ".TextLineDataset", ".FixedLengthRecordDataset")
_AS_THEY_ARE = ("shuffle", "prefetch", "cache", "with_options", "take", "skip", "filter")
_RANDOM = ("shuffle", "from_generator", "random")


def is_endless_after(p: Pipelines, place: ast.AST, feed: ast.expr) -> bool:
    """Whether a pipeline is repeated without end between a place and the feed, on every way between them: however uneven the
    ranks' shares, none of them runs out."""
    return _repeats(p, place, feed, frozenset())


def _repeats(p: Pipelines, place: ast.AST, e: ast.expr, seen: frozenset[ast.expr]) -> bool:
    if e is place or e in seen:
        return False
    seen |= {e}
    match e:
        case ast.IfExp():
            return _repeats(p, place, e.body, seen) and _repeats(p, place, e.orelse, seen)
        case ast.Name() | ast.Attribute():
            given = [p.given(b) for b in p.bindings(e)]
            return bool(given) and all(vs and all(_repeats(p, place, v, seen) for v in vs) for vs in given)
        case ast.Call() if looked_through(p.module, e):
            return _repeats(p, place, e.args[0], seen)
        case ast.Call(func=ast.Attribute() as step) if step.attr in METHODS and p.is_dataset(e):
            count = argument(e, "count", 0)
            if step.attr == "repeat" and (count is None or _is_constant(count, None)):
                return True
            return step.attr not in ("take_while", "reduce") and _repeats(p, place, step.value, seen)
        case ast.Call():
            callee = p.values.callee(e)
            returned = p.values.returned(callee) if isinstance(callee, FUNCTIONS) else []
            return bool(returned) and all(_repeats(p, place, r, seen) for r in returned)
    return False


def repeated_next(p: Pipelines, place: ast.expr) -> ast.Call | None:
    """The step that repeats a pipeline without end right after a place: `place.repeat()`, also of a name that stands for it and
    is read there alone."""
    holder = p.syntax.parent.get(place)
    if isinstance(holder, ast.Attribute):
        return _endless_repeat(p, holder)
    if not isinstance(holder, (ast.Assign, ast.AnnAssign)) or holder.value is not place:
        return None
    made = [
        b for scope in p.scopes.names.values() for bs in scope.values() for b in bs if b.statement is holder
    ]
    uses = p.uses(made[0]) if len(made) == 1 and isinstance(made[0].anchor, ast.Name) else []
    if len(uses) != 1 or len(p.bindings(uses[0])) != 1:  # type: ignore[arg-type]
        return None
    user = p.syntax.parent.get(uses[0])
    return _endless_repeat(p, user) if isinstance(user, ast.Attribute) else None


def _endless_repeat(p: Pipelines, step: ast.Attribute) -> ast.Call | None:
    call = p.syntax.parent.get(step)
    if step.attr != "repeat" or not isinstance(call, ast.Call) or call.func is not step:
        return None
    count = argument(call, "count", 0)
    return call if not has_unpacking(call) and (count is None or says_none(count)) else None


def knows_its_length(p: Pipelines, place: ast.expr) -> bool:
    """Whether a pipeline can tell how many elements it has without reading them."""
    for e in p.trail(place):
        if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Attribute):
            continue
        if (p.names.of(e.func) or "").startswith("tensorflow.data."):
            if e.func.attr not in COUNTED | {"zip"}:
                return False
        elif e.func.attr in METHODS and e.func.attr not in EVEN | {"take", "skip", "concatenate", "window"}:
            return False
        elif not all(knows_its_length(p, a) for a in e.args if p.is_dataset(a)):
            return False
    return True


def surely_knows_its_length(p: Pipelines, place: ast.expr) -> bool:
    """The same, where it is seen what all of it is made of: arrays, or ranges."""
    trail = p.trail(place)
    return (
        any(isinstance(e, ast.Call) and _makes(p, e) for e in trail)
        and all(_is_seen(p, e) for e in trail)
        and knows_its_length(p, place)
    )


def surely_ends(p: Pipelines, place: ast.expr) -> bool:
    """The same, where nothing repeats it without end: what is endless has no `len`."""
    return surely_knows_its_length(p, place) and not may_be_endless(p, place)


def may_be_endless(p: Pipelines, place: ast.expr) -> bool:
    """Whether a step of a pipeline may repeat it without end."""
    repeats = (c for c in p.trail(place) if isinstance(c, ast.Call) and p.names.last(c.func) == "repeat")
    return not all(_is_often(argument(c, "count", 0)) for c in repeats)


def _is_often(count: ast.expr | None) -> bool:
    return isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value >= 0


def is_endless(p: Pipelines, place: ast.expr) -> bool:
    """Whether a pipeline is repeated without end before a place, and nothing after that ends it."""
    trail = [e for e in p.trail(place) if isinstance(e, ast.Call)]
    repeats = [c for c in trail if p.names.last(c.func) == "repeat"]
    return (
        bool(repeats)
        and surely_knows_its_length(p, place)
        and _repeats(p, ast.Pass(), place, frozenset())
        and not any(p.names.last(c.func) in ("take", "zip") for c in trail)
    )


def _makes(p: Pipelines, call: ast.Call) -> bool:
    """Whether a call makes a dataset of which the source is known: TensorFlow's own, or Keras' of a folder's files, which it
    lists at once."""
    name = p.names.of(call.func) or ""
    return name.startswith("tensorflow.data.") or _reads_folder(name)


def _reads_folder(name: str) -> bool:
    return name.startswith("tensorflow.keras.") and name.rpartition(".")[2] in DIRECTORY


def _is_seen(p: Pipelines, e: ast.expr) -> bool:
    match e:
        case ast.Name() | ast.Attribute():
            bindings = p.bindings(e)
            return bool(bindings) and all(p.given(b) for b in bindings)
        case ast.Call() if not _makes(p, e) and not (
            isinstance(e.func, ast.Attribute) and e.func.attr in METHODS and p.is_dataset(e)
        ):
            return isinstance(p.values.callee(e), FUNCTIONS)
        case ast.Call():
            zipped = p.names.last(e.func) == "zip"
            return all(surely_knows_its_length(p, a) for a in flat(e.args) if zipped or p.is_dataset(a))
        case ast.IfExp():
            return True
    return False


def gives_the_same_again(p: Pipelines, place: ast.expr) -> bool:
    """Whether a pipeline up to a place gives the same elements in the same order whenever it is read: it reads files or arrays,
    and nothing in it is drawn, generated or not seen."""
    return all(_is_repeatable(p, e) for e in p.trail(place))


def gives_records(p: Pipelines, place: ast.expr) -> bool:
    """Whether a pipeline's elements are surely records or lines as files have them, strings of one shape, of which nobody knows
    how many there are."""
    e, seen = place, set[ast.expr]()
    while e not in seen:
        seen.add(e)
        if isinstance(e, ast.Name):
            given = [v for b in p.bindings(e) for v in p.given(b)]
            if len(given) != 1 or len(p.bindings(e)) != 1:
                return False
            e = given[0]
        elif isinstance(e, ast.Call) and _is_of_records(p, e.func):
            return True
        elif isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and p.is_dataset(e.func.value):
            if e.func.attr in ("interleave", "flat_map"):
                made = argument(e, "map_func", 0)
                called = made.body if isinstance(made, ast.Lambda) else None
                return _is_of_records(p, called.func if isinstance(called, ast.Call) else made)
            if e.func.attr not in _AS_THEY_ARE:
                return False
            e = e.func.value
        else:
            return False
    return False


def _is_of_records(p: Pipelines, made: ast.AST | None) -> bool:
    name = p.names.of(made) if isinstance(made, ast.expr) else None
    return (name or "").startswith("tensorflow.data.") and (name or "").endswith(_RECORDS)


def is_loaded_in_order(p: Pipelines, place: ast.expr) -> bool:
    """Whether a pipeline begins with what tensorflow_datasets loads: all of it, or one of its splits (`data["train"]`). That
    reads its files in the order of their names, unless it is told to shuffle them."""
    return any(_is_loaded(p, e) for e in p.trail(place))


def is_loaded_in_batches(p: Pipelines, place: ast.expr) -> bool:
    """Whether tensorflow_datasets makes the batches: `tfds.load("mnist", split="train", batch_size=32)`."""
    return any(_gives_batches(p, _whole(e)) for e in p.trail(place))


def _whole(e: ast.expr) -> ast.expr:
    """`data` of `data["train"]`"""
    return _whole(e.value) if isinstance(e, ast.Subscript) else e


def _gives_batches(p: Pipelines, e: ast.expr) -> bool:
    for origin in p.values.origins(e):
        made = origin.call if origin.call is not None else origin.node
        if isinstance(made, ast.Call) and p.names.of(made.func) == LOADING:
            size = argument(made, "batch_size", 3)
            if size is not None and not says_none(size):
                return True
    return False


def _is_loaded(p: Pipelines, e: ast.expr) -> bool:
    if isinstance(e, ast.Subscript):
        return _is_loaded(p, e.value)
    made = [o.call if o.call is not None else o.node for o in p.values.origins(e)]
    return bool(made) and all(isinstance(n, ast.Call) and _loads_in_order(p, n) for n in made)


def _loads_in_order(p: Pipelines, call: ast.Call) -> bool:
    if p.names.of(call.func) != LOADING or has_unpacking(call):
        return False
    shuffled, config = argument(call, "shuffle_files", 4), argument(call, "read_config", 8)
    return (shuffled is None or _is_constant(shuffled, False)) and (config is None or says_none(config))


def _is_repeatable(p: Pipelines, e: ast.expr) -> bool:
    match e:
        case ast.IfExp():
            return True
        case ast.Name() | ast.Attribute():
            return any(p.given(b) for b in p.bindings(e)) or _is_loaded(p, e)
        case ast.Subscript():
            return _is_loaded(p, e)
        case ast.Call() if _loads_in_order(p, e):
            return True
        case ast.Call() if (p.names.of(e.func) or "").startswith("tensorflow.data."):
            last = p.names.last(e.func)
            return last in REPEATABLE and (
                last != "list_files" or _is_constant(argument(e, "shuffle", 1), False)
            )
        case ast.Call(func=ast.Attribute() as step) if step.attr in METHODS and p.is_dataset(e):
            return step.attr in REPEATING and all(
                gives_the_same_again(p, a) if p.is_dataset(a) else _only_reads(p, a) for a in e.args
            )
        case ast.Call():
            return isinstance(p.values.callee(e), FUNCTIONS)
    return False


def _only_reads(p: Pipelines, given: ast.expr) -> bool:
    """Whether what a step is given (a function, a number) makes no dataset that is shuffled or generated."""
    bodies = [given, *(o.node for o in p.values.origins(given) if isinstance(o.node, CALLABLES))]
    used = (n for body in bodies for n in walk(body) if isinstance(n, (ast.Name, ast.Attribute)))
    return not any((n.id if isinstance(n, ast.Name) else n.attr) in _RANDOM for n in used)


def _is_constant(e: ast.expr | None, value: object) -> bool:
    return isinstance(e, ast.Constant) and e.value is value
