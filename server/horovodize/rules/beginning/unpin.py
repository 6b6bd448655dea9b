"""C3 unpin: the program's own choice of GPUs goes.

What it does   Deletes `os.environ["CUDA_VISIBLE_DEVICES"] = …` and calls of `set_visible_devices`. Where a notebook says
               `%env CUDA_VISIBLE_DEVICES=…`, that is told: commands of notebooks are left alone.
Why            Horovod pins each process by its local rank (C2); a fixed list of devices puts all processes on the same one.
Before         os.environ["CUDA_VISIBLE_DEVICES"] = "0"
After          (nothing)
Asks           Where the value hides all GPUs ("-1", "", []): then the program was meant for the CPU, and this changes it.
Source         Seed 2.3.1, assignment to `os.environ`, `set_visible_devices`. Errata: a body left empty gets `pass`.
"""

from __future__ import annotations

import ast

from horovodize.plan import Note
from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.source import Edit, Span

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_CALLS = ("tensorflow.config.set_visible_devices", "tensorflow.config.experimental.set_visible_devices")


def apply(draft: Draft) -> None:
    for span in draft.document.commands:
        command = draft.document.original(span)
        if _VARIABLE in command and command.startswith(("%env", "%set_env")):
            draft.notes.append(
                Note("C3", f"take `{command}` out: it gives every process the same GPUs", span)
            )
    for node in draft.syntax.every(ast.Assign, ast.Expr):
        value = _pinned_value(draft, node)
        if value is None:
            continue
        hidden = isinstance(value, ast.Constant) and str(value.value) in ("-1", "")
        hidden |= isinstance(value, (ast.List, ast.Tuple)) and not value.elts
        draft.change(
            "C3",
            node,
            "Remove the program's own choice of GPUs",
            "Each process gets the GPU of its local rank; a fixed list would put all of them on the same one.",
            [_delete(draft, node)],
            doubt="the program hid all GPUs here: distributed, it will use them" if hidden else "",
        )


def _pinned_value(draft: Draft, node: ast.AST) -> ast.expr | None:
    """What the devices are set to, if this statement sets them."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if (
            isinstance(target, ast.Subscript)
            and isinstance(target.slice, ast.Constant)
            and target.slice.value == _VARIABLE
        ) and draft.names.of(target.value) == "os.environ":
            return node.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = draft.names.of(node.value.func)
        if name in _CALLS:
            device = argument(node.value, "device_type", 1)
            if device is None or (isinstance(device, ast.Constant) and device.value == "GPU"):
                return argument(node.value, "devices", 0)
    return None


def _delete(draft: Draft, statement: ast.stmt) -> Edit:
    block = draft.syntax.block(statement)
    index = draft.document.lines
    alone = len(block) == 1 and not isinstance(draft.syntax.parent[statement], ast.Module)
    if alone or not draft.can_insert(statement):  # other statements share its line
        return Edit(draft.module.span(statement), "pass")
    first, last = draft.first_line(statement) - 1, (statement.end_lineno or statement.lineno) - 1
    return Edit(Span(index.starts[first], index.span(last).end), "")


RULE = Rule("C3", "remove the program's own choice of GPUs", apply, __doc__ or "")
