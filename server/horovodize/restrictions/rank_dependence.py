"""Conditions that may come out differently on different ranks: files, clocks, chance, and which host it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context

_FILES = "it depends on files, which another rank may be writing or not have"
_CLOCK = "it depends on the clock, which ranks read at different times"
_CHANCE = "it depends on random numbers, which differ between ranks"
_HOST = "it depends on the process or host"

_EXACT = {
    **dict.fromkeys(
        ("os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getmtime", "os.path.getsize", "os.listdir", "os.scandir",
         "os.access", "os.stat", "glob.glob", "tensorflow.io.gfile.exists", "tensorflow.io.gfile.isdir",
         "tensorflow.io.gfile.glob", "tensorflow.io.gfile.listdir", "tensorflow.compat.v1.gfile.Exists",
         "tensorflow.train.latest_checkpoint", "tensorflow.train.get_checkpoint_state",
         "tensorflow.compat.v1.train.checkpoint_exists"),
        _FILES,
    ),
    **dict.fromkeys(
        ("time.time", "time.monotonic", "time.perf_counter", "time.process_time", "time.clock", "timeit.default_timer",
         "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow", "datetime.now"),
        _CLOCK,
    ),
    **dict.fromkeys(("os.getpid", "socket.gethostname", "platform.node", "os.uname", "uuid.uuid4", "uuid.uuid1"), _HOST),
}  # fmt: skip
_PREFIXES = {
    "random.": ("random.seed", _CHANCE),
    "numpy.random.": ("numpy.random.seed", _CHANCE),
    "tensorflow.random.": ("tensorflow.random.set_seed", _CHANCE),
    "secrets.": ("", _CHANCE),
}
_PATH_METHODS = {"exists": _FILES, "is_file": _FILES, "is_dir": _FILES, "iterdir": _FILES}
_ATTRIBUTES = {"latest_checkpoint": _FILES, "checkpoints": _FILES}
_HOPS = 2


def why_it_differs(context: Context, test: ast.expr) -> tuple[ast.AST, str] | None:
    """The part of a condition by which it may differ between ranks, and why; None where nothing of the kind is seen."""
    for node in _followed(context, test, _HOPS):
        reason = _reason(context, node)
        if reason is not None:
            return node, reason
    return None


def _followed(context: Context, expression: ast.AST, hops: int) -> Iterator[ast.AST]:
    """The nodes of an expression, and of what the names in it were assigned in the same function. How much there is of
    something is the same on every rank, whatever it holds: `len(x)` and `x.shape` are not looked into."""
    sized = [n for n in ast.walk(expression) if _is_size(n)]
    within = {inner for n in sized for inner in ast.walk(n)}
    for node in ast.walk(expression):
        if node in within:
            continue
        yield node
        if hops and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for b in context.scopes.reaching(node):
                if (
                    b.kind == "assign"
                    and b.value is not None
                    and context.scopes.scope(b.value) is context.scopes.scope(node)
                ):
                    yield from _followed(context, b.value, hops - 1)


def _is_size(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim", "size")


def _reason(context: Context, node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if (
            node.attr in _ATTRIBUTES
            and "heckpoint" in node.attr
            and not isinstance(context.syntax.parent.get(node), ast.Call)
        ):
            return _ATTRIBUTES[node.attr]
    if not isinstance(node, ast.Call):
        return None
    name = context.names.of(node.func)
    if name in _EXACT:
        return _EXACT[name]
    for prefix, (seed, reason) in _PREFIXES.items():
        if name is not None and name.startswith(prefix):
            return None if seed and seed in context.seeds else reason
    if (
        name is None
        and isinstance(node.func, ast.Attribute)
        and not node.args
        and context.values.callee(node) is None
    ):
        return _PATH_METHODS.get(node.func.attr)
    return _HOST if context.is_builtin(node.func, "input") else None
