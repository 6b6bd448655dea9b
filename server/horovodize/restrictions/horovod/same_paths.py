"""Which paths are surely the same on every rank (HVD314)."""

from __future__ import annotations

import ast
import re

from horovodize.facts.differences import command_line
from horovodize.python.syntax import argument, says_none
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.written_out import is_written_key

_TEXT = ("format", "join", "joinpath", "as_posix", "resolve", "absolute", "expanduser", "with_name", "with_suffix",
         "strip", "rstrip", "lower", "replace", "parse_args", "parse_known_args", "add_argument",
         "add_mutually_exclusive_group", "add_argument_group", "item", "numpy")  # fmt: skip
_SAFE = ("os.path.", "os.getcwd", "argparse.", "pathlib.", "tensorflow.compat.v1.app.flags.", "absl.flags.",
         "tensorflow.flags.", "tensorflow.compat.v1.flags.", "tqdm.")  # fmt: skip
# Variables of the environment that differ between processes, or hosts.
_OF_PROCESS = re.compile(
    r"RANK|PROC|LOCAL|NODE|HOST|TASK|WORKER|INDEX|ID$|TE?MP|SCRATCH|CUDA|GPU", re.IGNORECASE
)
# Files of settings that are read are the same for all ranks.
_READERS = ("json", "yaml", "toml", "tomli", "tomllib")
_READING = (
    "json.load", "json.loads", "yaml.load", "yaml.safe_load", "yaml.full_load", "toml.load", "tomli.load", "tomllib.load",
)  # fmt: skip
_AGREED = ("broadcast_object", "broadcast")  # rank 0's value, whatever it is made of
_PLAIN = ("open", "str", "int", "float", "format", "len", "range", "enumerate", "round")


def is_same(context: Context, path: ast.expr) -> bool:
    """Whether a path is surely the same on every rank: made of constants, the script's own arguments and
    the number of ranks only."""
    if any(says_none(o.node) for o in context.values.origins(path)):
        return False
    nodes = list(context.values.depends([path], 300, rows_of_numbers=False))
    if len(nodes) >= 300:
        return False
    # The fields of an elastic state and what rank 0 sends are the same on all ranks, whatever they are made of.
    states = [n for n in nodes if isinstance(n, ast.Name) and context.facts.collectives.is_elastic_state(n)]
    sent = [
        e
        for n in nodes
        if isinstance(n, ast.Call) and context.facts.horovod.is_call(n, *_AGREED)
        for e in n.args
    ]
    keys = [n for n in nodes if isinstance(n, ast.Name) and is_written_key(context, n)]
    known = [*states, *sent, *keys]
    alike = set(context.values.depends(known, 300)) if known else set()
    for node in nodes:
        if node in alike:
            continue
        if isinstance(node, ast.Call) and not _is_text(context, node):
            return False
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for binding in context.scopes.reaching(node):
                if binding.kind == "parameter" and not context.values.passed(binding):
                    hook = context.facts.hooks.of(binding.statement)
                    numbered = hook is not None and hook.number == binding.name  # of an epoch, or a step
                    if not (
                        numbered or context.holds_seen_attribute(node) or _is_object_of_seen(context, node)
                    ):
                        return False
                if (
                    binding.kind == "import"
                    and not binding.imported.startswith(
                        ("os", "argparse", "pathlib", "absl", "tqdm", "horovod")
                    )
                    and not _is_in_flags(context, node)
                    and not _is_of_member(context, node, binding.imported)
                ):
                    return False
        if isinstance(node, ast.Attribute) and node.attr in ("argv", "pid"):
            return False
        if isinstance(node, ast.Attribute) and node.attr == "environ" and not _is_of_job(context, node):
            return False
    return True


def _is_object_of_seen(context: Context, node: ast.Name) -> bool:
    """Whether a name is there for a method alone that is seen: `self.name_of(epoch)`."""
    method = context.syntax.parent.get(node)
    call = context.syntax.parent.get(method) if isinstance(method, ast.Attribute) else None
    return isinstance(call, ast.Call) and call.func is method and context.values.callee(call) is not None


def _is_in_flags(context: Context, name: ast.Name) -> bool:
    """Whether a name is the beginning of `tf.flags.FLAGS`, or of a module that this is asked of by another name."""
    full = context.names.of(name) or ""
    around: ast.AST = name
    while isinstance(parent := context.syntax.parent.get(around), ast.Attribute):
        around = parent
        full = context.names.of(parent) or ""
        if command_line.is_flags(context.module, parent):
            return True
    return full in ("tensorflow", "tensorflow.compat.v1") or full.endswith(".flags")


def _is_of_member(context: Context, name: ast.Name, imported: str) -> bool:
    """Whether what a name of a module of the project stands for, or an attribute of it that is read here, is seen."""
    if imported.split(".", maxsplit=1)[0] not in context.facts.horovod.members:
        return imported in _READERS
    read: ast.expr = name
    while isinstance(parent := context.syntax.parent.get(read), ast.Attribute):
        read = parent
    call = context.syntax.parent.get(read)
    if isinstance(call, ast.Call) and call.func is read:
        return context.values.callee(call) is not None
    return any(o.node is not read and not o.path for o in context.values.origins(read))


def _is_of_job(context: Context, read: ast.AST) -> bool:
    """Whether a variable of the environment is asked for, and none that a launcher sets for each process, or a host for itself:
    `os.environ["OUTPUT"]`, `os.getenv("OUTPUT")`."""
    around = context.syntax.parent.get(read)
    if isinstance(around, ast.Attribute) and around.attr == "get":
        read, around = around, context.syntax.parent.get(around)
    key: ast.AST | None = None
    if isinstance(around, ast.Subscript) and around.value is read:
        key = around.slice
    elif isinstance(around, ast.Call) and around.func is read:
        key = argument(around, "key", 0)
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and not _OF_PROCESS.search(key.value)


def _is_text(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    if name in ("os.getenv", "os.environ.get"):
        return _is_of_job(context, call.func)
    if context.values.callee(call) is not None:
        return True
    if name:
        known = name.startswith(_SAFE) or name in _READING
        return known or context.facts.horovod.is_call(call, "size", "local_size", *_AGREED)
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _TEXT
    return context.is_builtin(call.func, *_PLAIN)
