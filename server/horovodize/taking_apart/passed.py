"""What `fit(*data, **settings)` is given, written out: `fit(data[0], data[1], epochs=settings["epochs"])`.

Rules change rows, steps and callbacks where they are passed. Only where it is seen what that is: a name of a tuple of two or
three parts, or of a dictionary whose keys are all constants. What can't be seen stays, and is asked about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import position
from horovodize.python.unpacking import named
from horovodize.source import Edit
from horovodize.summary import ModuleSummary
from horovodize.summary.lattice import LoopKind

_MOST_KEYS = 10
_DATA_SETS = "tensorflow.keras.datasets."  # `train, test = mnist.load_data()`: rows and targets


def written_out(summary: ModuleSummary) -> list[Edit]:
    module = summary.module
    assert module is not None
    fits = dict.fromkeys(loop.node for loop in summary.loops if loop.kind is LoopKind.KERAS)
    edits = [
        Edit(module.span(part), text)
        for call in fits
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
        for part, text in _parts(module, call)
    ]
    return sorted(edits, key=lambda e: e.span)


def _parts(module: Module, call: ast.Call) -> Iterator[tuple[ast.AST, str]]:
    """The parts of a call to be written out, and as what."""
    match call.args:
        case [ast.Starred(value=ast.Name(id=name) as given) as starred]:
            count = _count(module, given)
            if count:
                yield starred, ", ".join(f"{name}[{i}]" for i in range(count))
    unpacked = [k for k in call.keywords if k.arg is None]
    if len(unpacked) == 1 and isinstance(unpacked[0].value, ast.Name):
        keys = _keys(module, call, unpacked[0].value)
        others = {k.arg for k in call.keywords}
        if 0 < len(keys) <= _MOST_KEYS and not others & set(keys):
            name = unpacked[0].value.id
            yield unpacked[0], ", ".join(f'{key}={name}["{key}"]' for key in keys)


def _count(module: Module, e: ast.Name) -> int:
    """How many parts a name of a tuple has, if all that it may be have as many; else 0."""
    found = set[int]()
    if any(b.kind == "augment" for b in module.scopes.reaching(e)):
        return 0
    for origin in module.values.origins(e):
        node = origin.node
        if isinstance(node, ast.Tuple) and not origin.path:
            found.add(0 if any(isinstance(p, ast.Starred) for p in node.elts) else len(node.elts))
        elif isinstance(node, ast.Call) and len(origin.path) == 1:
            found.add(2 if (module.names.of(node.func) or "").startswith(_DATA_SETS) else 0)
        else:
            return 0
    return found.pop() if found in ({2}, {3}) else 0


def _keys(module: Module, call: ast.Call, name: ast.Name) -> list[str]:
    """The keys of a dictionary that is made once and then only set items of (`settings["callbacks"] = …`), in the block that
    makes it; none where that can't be seen."""
    bound = module.scopes.reaching(name)
    if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or bound[0].value is None:
        return []
    alone = ast.Call(func=call.func, args=[], keywords=[ast.keyword(arg=None, value=bound[0].value)])
    keys = list(named(module, alone))
    if len(keys) != _length(bound[0].value):
        return []
    made = bound[0].statement
    if not isinstance(made, ast.stmt):
        return []
    block = module.syntax.block(made)
    for node in module.syntax.every(ast.Subscript):
        if isinstance(node.ctx, ast.Load) or not _is(node.value, name.id):
            continue
        statement = module.syntax.statement(node)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str) or isinstance(node.ctx, ast.Del) or statement not in block:
            return []
        if not position(made) < position(statement) < position(call):
            return []
        keys += [key] if key not in keys else []
    seen = all(_is_plain(module, use) for use in module.syntax.every(ast.Name) if use.id == name.id)
    return keys if seen and all(k.isidentifier() for k in keys) else []


def _is_plain(module: Module, use: ast.Name) -> bool:
    """Whether a use of a dictionary's name changes nothing in it, nor in a list of callbacks that it holds."""
    parent = module.syntax.parent[use]
    if isinstance(parent, ast.Subscript) and parent.value is use:
        stored = not isinstance(parent.ctx, ast.Load)
        return stored or (isinstance(parent.slice, ast.Constant) and parent.slice.value != "callbacks")
    return not isinstance(use.ctx, ast.Load) or (isinstance(parent, ast.keyword) and parent.arg is None)


def _length(table: ast.expr) -> int:
    match table:
        case ast.Dict(keys=keys):
            return len(keys)
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return len(keywords)
    return -1


def _is(e: ast.expr, name: str) -> bool:
    return isinstance(e, ast.Name) and e.id == name
