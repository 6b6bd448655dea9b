"""Sets of texts, which come out in another order in each process: numbers by that order (HVD333), and shares of it (HVD319).

A set of whole numbers has the same order everywhere; of what isn't known to be texts nothing is said."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.ties import COUNTER, has_ties

_LISTING = (
    "glob.glob", "glob.iglob", "os.listdir", "tensorflow.io.gfile.glob", "tensorflow.io.gfile.listdir",
)  # fmt: skip
_LINES = ("split", "splitlines", "readlines")
_TEXTS = ("strip", "rstrip", "lstrip", "lower", "upper", "replace", "join", "format", "decode", "as_posix")
_SETS = ("set", "frozenset")
_KEEPING = ("list", "tuple", "iter")  # the order
_DEPTH = 8


def numbered(context: Context) -> Iterator[ast.expr]:
    """Sets of texts whose elements are numbered in their order, and the numbers kept."""
    for call in context.module.calls_written.get("enumerate", "zip", ".index"):
        if context.is_builtin(call.func, "enumerate") and call.args and _is_kept(context, call):
            counted = call.args[0]
        elif context.is_builtin(call.func, "zip") and len(call.args) == 2 and _makes_table(context, call):
            counted = next((e for e in call.args if is_unordered(context, e)), call.args[0])
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "index" and len(call.args) == 1:
            counted = call.func.value
        else:
            continue
        if is_unordered(context, counted):
            yield counted


def is_unordered(context: Context, e: ast.expr, depth: int = 0) -> bool:
    """Whether something surely comes in the order of a set of texts."""
    if depth > _DEPTH:
        return False
    match e:
        case ast.Set():
            return len({ast.unparse(x) for x in e.elts}) > 1 and all(_is_text(context, x) for x in e.elts)
        case ast.SetComp():
            return _is_text(context, e.elt) or _are_taken(context, e, depth + 1)
        case ast.Call(args=[inner]) if context.is_builtin(e.func, *_SETS):
            return _gives_texts(context, inner, depth + 1)
        case ast.Call(args=[inner]) if context.is_builtin(e.func, *_KEEPING):
            return is_unordered(context, inner, depth + 1)
        case ast.Call(args=[inner]) if context.is_builtin(e.func, "sorted") and has_ties(context, e):
            return is_unordered(context, inner, depth + 1)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return is_unordered(context, inner, depth + 1)
        case ast.Name():
            made = _made(context, e)
            return made is not None and (
                is_unordered(context, made, depth + 1) or _is_filled_with_texts(context, e, made, depth + 1)
            )
    return False


def _is_filled_with_texts(context: Context, name: ast.Name, made: ast.expr, depth: int) -> bool:
    """Whether a set is made empty, and then only texts are put into it: `words.update(line.split())`."""
    if not isinstance(made, ast.Call) or not context.is_builtin(made.func, *_SETS) or made.args:
        return False
    put = [
        call
        for word in ("update", "add")
        for n in context.module.loads.get(word)
        if isinstance(n, ast.Attribute) and context.text(n.value) == name.id
        if isinstance(call := context.syntax.parent.get(n), ast.Call) and len(call.args) == 1
        if context.syntax.function(call) is context.syntax.function(name)
    ]
    return bool(put) and all(
        _gives_texts(context, c.args[0], depth)
        if context.names.last(c.func) == "update"
        else _is_text(context, c.args[0])
        for c in put
    )


def _made(context: Context, name: ast.Name) -> ast.expr | None:
    """What a name stands for, if that is one thing, and nothing puts it into another order in its place."""
    origins = context.values.origins(name)
    if len(origins) != 1 or origins[0].path or origins[0].node is name:
        return None
    sorts = (n for n in context.module.loads.get("sort") if isinstance(n, ast.Attribute))
    if any(context.text(n.value) == name.id for n in sorts):
        return None
    made = origins[0].node
    return made if isinstance(made, ast.expr) else None


def gives_texts(context: Context, e: ast.expr) -> bool:
    """Whether what is gone through is surely several texts."""
    return _gives_texts(context, e, 0)


def _gives_texts(context: Context, e: ast.expr, depth: int) -> bool:
    """Whether what is gone through is surely several texts, or a text's characters."""
    if depth > _DEPTH:
        return False
    match e:
        case ast.List() | ast.Tuple() | ast.Set():
            return len({ast.unparse(x) for x in e.elts}) > 1 and all(_is_text(context, x) for x in e.elts)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return _is_text(context, e.elt) or _are_taken(context, e, depth + 1)
        case ast.Call(args=[inner]) if context.is_builtin(e.func, *_SETS, *_KEEPING, "sorted"):
            return _gives_texts(context, inner, depth + 1)
        case ast.Call() if context.names.of(e.func) in _LISTING:
            return True
        case ast.Call(args=[inner]) if context.names.of(e.func) == COUNTER:
            return _gives_texts(context, inner, depth + 1)
        case ast.Call(func=ast.Attribute(value=inner, attr="keys" | "elements"), args=[]):
            return _gives_texts(context, inner, depth + 1)
        case ast.Call(func=ast.Attribute(value=held, attr=method)) if context.names.of(e.func) is None:
            if method == "split" and all(_is_text(context, a) for a in e.args) and not e.keywords:
                return True  # what splits rows, `folds.split(x)`, is given some
            if method in _LINES:
                return not _is_binary(context, held)
            return method == "read" and _is_read_as_text(context, held)
        case ast.Name():
            made = _made(context, e)
            return made is not None and _gives_texts(context, made, depth + 1)
    return False


def _are_taken(context: Context, e: ast.ListComp | ast.SetComp | ast.GeneratorExp, depth: int) -> bool:
    """Whether a comprehension gives texts as it finds them: `word for line in lines for word in line.split()`."""
    return isinstance(e.elt, ast.Name) and any(
        isinstance(part.target, ast.Name)
        and part.target.id == e.elt.id
        and _gives_texts(context, part.iter, depth)
        for part in e.generators
    )


def is_text(context: Context, e: ast.expr) -> bool:
    """Whether something is surely a text."""
    return _is_text(context, e)


def _is_text(context: Context, e: ast.expr) -> bool:
    match e:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="split" | "rsplit" | "partition"))):
            return not isinstance(e.slice, ast.Slice)
        case ast.Call() if context.is_builtin(e.func, "str"):
            return True
        case ast.Attribute(attr="name" | "stem" | "suffix"):
            made = (n for n in ast.walk(e.value) if isinstance(n, ast.Call))
            return any((context.names.of(c.func) or "").startswith("pathlib.") for c in made)
        case ast.Call(func=ast.Attribute(attr=method)):
            name = context.names.of(e.func)
            return name.startswith("os.path.") if name else method in _TEXTS
    return False


def _is_binary(context: Context, e: ast.expr) -> bool:
    """Whether lines may be read of a file that isn't opened as text, or an array be split."""
    if isinstance(e, ast.Constant):
        return not isinstance(e.value, str)
    made = context.values.calls(e)
    reads = [
        c for c in made if isinstance(c.func, ast.Attribute) and c.func.attr in ("read", "strip", "lower")
    ]
    opened = [c for c in made if context.is_builtin(c.func, "open")]
    if len(reads) + len(opened) != len(made) or not made:
        return True
    return not all(_is_opened_as_text(c) for c in opened)


def _is_read_as_text(context: Context, file: ast.expr) -> bool:
    made = context.values.calls(file)
    return bool(made) and all(context.is_builtin(c.func, "open") and _is_opened_as_text(c) for c in made)


def _is_opened_as_text(call: ast.Call) -> bool:
    mode = next(
        (k.value for k in call.keywords if k.arg == "mode"), call.args[1] if len(call.args) > 1 else None
    )
    return mode is None or (isinstance(mode, ast.Constant) and "b" not in str(mode.value))


def _is_kept(context: Context, counting: ast.Call) -> bool:
    """Whether the numbers of an `enumerate` go into a table: `{name: i for i, name in enumerate(names)}`."""
    parent = context.syntax.parent.get(counting)
    if _makes_table(context, counting):
        return True
    if isinstance(parent, ast.comprehension):
        around = context.syntax.parent.get(parent)
        return isinstance(around, ast.DictComp) or (
            isinstance(around, (ast.GeneratorExp, ast.ListComp)) and _makes_table(context, around)
        )
    if isinstance(parent, ast.For) and parent.iter is counting and isinstance(parent.target, ast.Tuple):
        numbers = {n.id for n in ast.walk(parent.target.elts[0]) if isinstance(n, ast.Name)}
        return any(
            isinstance(s, ast.Assign)
            and isinstance(s.targets[0], ast.Subscript)
            and isinstance(s.value, ast.Name)
            and s.value.id in numbers
            for s in parent.body
        )
    return False


def _makes_table(context: Context, pairs: ast.expr) -> bool:
    around = context.syntax.parent.get(pairs)
    return isinstance(around, ast.Call) and context.is_builtin(around.func, "dict") and pairs in around.args
