"""What the batches of a data set are made of, and whether that is the same on every rank (HVD320)."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from horovodize.facts.differences.answers import Uniform
from horovodize.python.syntax import FUNCTIONS, argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.rows_of_graphs import (
    is_held_alike,
)

_SEEDS = (
    "tensorflow.random.set_seed",
    "tensorflow.keras.utils.set_random_seed",
    "tensorflow.compat.v1.set_random_seed",
    "tensorflow.compat.v1.random.set_random_seed",
)
_LISTING = ("glob.", "os.path.", "json.", "argparse.", "pathlib.")
_OF_LIBRARIES = (
    "tensorflow.", "numpy.", "tensorflow_datasets.", "pickle.load", "h5py.File", "pandas.read_", "scipy.io.loadmat",
    "csv.reader", "gzip.open", "cv2.imread", "PIL.Image.open",
)  # fmt: skip
_DRAWN = re.compile(r"rand|shard|sample|normal|uniform|permut|choice|generator|augment|dropout", re.I)
_ALIKE = ("size", "local_size", "broadcast_object", "broadcast", "allreduce", "allgather_object")
_LIMIT = 300


def made_of(context: Context, data: ast.expr) -> Iterator[ast.AST]:
    """What contributes to data; where a property gives some of it, also what that returns."""
    todo, seen = [data], set[ast.AST]()
    while todo and len(seen) < _LIMIT:
        for node in context.values.depends([todo.pop()], _LIMIT):
            if node not in seen and not _is_path_of_data_set(context, node):
                seen.add(node)
                yield node
                todo += _given_by_property(context, node)


def _is_path_of_data_set(context: Context, node: ast.AST) -> bool:
    """Whether something says no more than where one of Keras' data sets lies: it has the same rows on each rank."""
    return any(
        isinstance(a, ast.Call) and (context.names.of(a.func) or "").startswith("tensorflow.keras.datasets.")
        for a in itertools.takewhile(
            lambda a: isinstance(a, ast.expr | ast.keyword), context.syntax.ancestors(node)
        )
        if node is not getattr(a, "func", None)
    )


def _given_by_property(context: Context, node: ast.AST) -> list[ast.expr]:
    """What the property returns that an attribute asks for, if all of it is seen."""
    if not isinstance(node, ast.Attribute) or context.values.attribute_bindings(node):
        return []
    given = [o.node for o in context.values.origins(node) if not o.path and o.node is not node]
    return [e for e in given if isinstance(e, ast.expr)]


def gone_through(context: Context, data: ast.expr) -> ast.expr:
    """What a loop takes its batches from: `rows` of `enumerate(rows)`."""
    inner = data
    while isinstance(inner, ast.Call) and context.is_builtin(inner.func, "enumerate", "iter") and inner.args:
        inner = inner.args[0]
    return inner


def is_same(context: Context, node: ast.AST) -> bool:
    """Whether a part of the data is surely the same on every rank, apart from how it is shuffled."""
    if isinstance(node, ast.Attribute) and node.attr == "from_generator":
        return True  # what it is given is among the parts
    if (given := _given_generator(context, node)) is not None:
        return given
    if isinstance(node, (ast.Name, ast.Attribute)):
        if _DRAWN.search(node.id if isinstance(node, ast.Name) else node.attr):
            return False
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            bindings = context.scopes.reaching(node)
            if any(isinstance(context.values.callee(c), ast.ClassDef) for c in context.values.calls(node)):
                return _is_of_seen_attribute(context, node) or _is_alike_object(context, node)
            return context.holds_seen_attribute(node) or all(
                b.kind != "parameter"
                or isinstance(b.statement, ast.Lambda)
                or context.values.passed(b)
                or is_held_alike(context, b)
                for b in bindings
            )
    if not isinstance(node, ast.Call):
        return True
    name = context.names.of(node.func) or ""
    if name:
        known = name.startswith(_OF_LIBRARIES) or context.facts.horovod.is_call(node, *_ALIKE)
        return known or (name.startswith(_LISTING) and isinstance(context.facts.uniform.of(node), Uniform))
    if isinstance(node.func, ast.Attribute):  # of a dataset, or an array
        return context.values.callee(node) is None
    if isinstance(context.values.callee(node), FUNCTIONS):
        return True  # what it returns is among the parts
    if isinstance(
        context.values.callee(node), ast.ClassDef
    ):  # `Data().rows`, or `data = Data()`: its name is asked, too
        around = context.syntax.parent[node]
        is_handed = isinstance(around, ast.Call) and isinstance(context.values.callee(around), FUNCTIONS)
        return _is_of_seen_attribute(context, node) or isinstance(around, ast.Assign) or is_handed
    return context.is_builtin(
        node.func, "enumerate", "zip", "len", "range", "int", "float", "list", "tuple", "sorted", "open"
    )


def _is_alike_object(context: Context, name: ast.Name) -> bool:
    """Whether of an object of the script's own something is asked that is the same on every rank, as of a dataclass; or it is
    handed to a function of the script, where that is asked of it."""
    whole = context.syntax.parent.get(name)
    if isinstance(whole, ast.Call) and name in whole.args:
        return isinstance(context.values.callee(whole), FUNCTIONS)
    return isinstance(whole, ast.Attribute) and isinstance(context.facts.uniform.of(whole), Uniform)


def _given_generator(context: Context, node: ast.AST) -> bool | None:
    """Whether the functions that `from_generator` is given by a name yield the same on every rank; None for other names."""
    call = context.syntax.parent.get(node)
    if not isinstance(node, ast.Name) or not isinstance(call, ast.Call):
        return None
    if context.names.last(call.func) != "from_generator" or argument(call, "generator", 0) is not node:
        return None
    uniform, found = context.facts.uniform, [o.node for o in context.values.origins(node)]
    if not found or not all(isinstance(f, FUNCTIONS) for f in found):
        return False
    gives = [n for f in found for n in ast.walk(f) if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Return))]
    return all(isinstance(n, ast.Yield) for n in gives) and all(
        isinstance(uniform.reach(n), Uniform)
        and n.value is not None
        and isinstance(uniform.of(n.value), Uniform)
        for n in gives
        if isinstance(n, ast.Yield)
    )


def _is_of_seen_attribute(context: Context, e: ast.expr) -> bool:
    """Whether nothing is taken of an object but an attribute that the file sets, or a property: what that is is among the
    parts."""
    whole = context.syntax.parent[e]
    if not isinstance(whole, ast.Attribute):
        return False
    return bool(context.values.attribute_bindings(whole) or _given_by_property(context, whole))


def shuffles(context: Context, nodes: list[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and context.names.last(node.func) in ("shuffle", "list_files"):
            yield node


def is_seeded_shuffle(call: ast.Call, seeded: bool) -> bool:
    """Whether a shuffle gives the same order on all ranks."""
    fixed = isinstance(argument(call, "seed", 2 if _is_listing(call) else 1), ast.Constant)
    return seeded or fixed or (_is_listing(call) and is_false(argument(call, "shuffle", 1)))


def _is_listing(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "list_files"


def is_false(e: ast.expr | None) -> bool:
    return isinstance(e, ast.Constant) and e.value is False


def is_seeded(context: Context) -> bool:
    """Whether a constant seeds TensorFlow, on every rank."""
    return any(
        call.args
        and isinstance(call.args[0], ast.Constant)
        and context.facts.rank_tests.deciding(call) is None
        for call in context.module.calls_of(*_SEEDS)
    )


def is_seeded_by_numpy(context: Context) -> bool:
    """Whether a constant seeds NumPy, by which Keras shuffles arrays in the sessions of TensorFlow 1."""
    return bool(context.sites.sessions) and any(
        call.args
        and isinstance(call.args[0], ast.Constant)
        and context.facts.rank_tests.deciding(call) is None
        for call in context.module.calls_of("numpy.random.seed")
    )
