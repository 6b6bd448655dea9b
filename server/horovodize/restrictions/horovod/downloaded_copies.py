"""Files that each rank downloads for itself under a name of its own: they have other names, and the same rows."""

from __future__ import annotations

import ast

from horovodize.interleaving.actions import Deed
from horovodize.interleaving.deeds import Deeds
from horovodize.python.syntax import FUNCTIONS
from horovodize.restrictions.context import Context

_OF_DATA_SETS = "tensorflow.keras.datasets."


def names_a_copy(context: Context, node: ast.AST) -> bool:
    """Whether something stands in the name alone under which a call keeps what it downloads: `load_data(f"mnist-{rank}.npz")`,
    `maybe_download("text8-%d.zip" % rank, size)`."""
    for around in context.syntax.ancestors(node):
        if isinstance(around, ast.Call):
            if (context.names.of(around.func) or "").startswith(_OF_DATA_SETS):
                return True
            return _downloads_to(context, around, node)
        if isinstance(around, ast.stmt):
            return False
    return False


def _downloads_to(context: Context, call: ast.Call, node: ast.AST) -> bool:
    deeds, inside = Deeds(context.facts), context.syntax.inside
    paths = [t.path for t in deeds.of(call) if t.deed is Deed.FETCH]
    if any(isinstance(path, ast.expr) and inside(node, path) for path in paths):
        return True
    function = context.values.callee(call)
    if not isinstance(function, FUNCTIONS):
        return False
    kept = {
        path.id
        for inner in ast.walk(function)
        if isinstance(inner, ast.Call)
        for path in (t.path for t in deeds.of(inner) if t.deed is Deed.FETCH)
        if isinstance(path, ast.Name) and not _is_elsewhere(inner, path)
    }
    given = (context.values.graph.given(call, function, name) for name in kept)
    return any(e is not None and (e is node or inside(node, e)) for e in given)


def _is_elsewhere(call: ast.Call, path: ast.Name) -> bool:
    """Whether the name says what is downloaded, too: `urlretrieve(url + filename, filename)`."""
    given = (*call.args, *(k.value for k in call.keywords))
    return any(
        isinstance(n, ast.Name) and n.id == path.id for e in given if e is not path for n in ast.walk(e)
    )
