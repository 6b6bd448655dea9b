"""Runs of Weights & Biases, which only rank 0 tracks: part of C6.

`wandb.init(mode=None if hvd.rank() == 0 else "disabled")`. Only a tracked run is told what a sweep sets, or an earlier run that
goes on: where the program reads the configuration, the others get rank 0's."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import CORE, ON_ROOT, Draft

INIT = "wandb.init"
_CONFIG = "wandb.config"
_WHAT, _WHY = "Report from rank 0 only", "Every rank runs this; only one may write the file."
_SHARED = "Take rank 0's configuration on all ranks"
_WHY_SHARED = (
    "Only rank 0's run is tracked: what a sweep sets, or a run that goes on, the others are not told."
)
_ASKED = (
    "what a sweep sets, or a run that goes on, only rank 0 is told: send `dict(wandb.config)` from rank 0 to the others by "
    "`hvd.broadcast_object` (of `horovod.tensorflow`), and put it in with `wandb.config.update(…, allow_val_change=True)`"
)


def silence(draft: Draft, call: ast.Call) -> None:
    """Leaves a run that starts to rank 0, where its own mode isn't chosen."""
    if argument(call, "mode") is not None or any(k.arg is None for k in call.keywords):
        return
    edit = draft.add_argument(call, f"mode=None if {ON_ROOT} else {draft.quoted('disabled')}")
    draft.change("C6", call, _WHAT, _WHY, [edit])
    if _is_configuration_read(draft):
        _share(draft, call)


def _is_configuration_read(draft: Draft) -> bool:
    """Whether something is taken from a run's configuration: `wandb.config.lr`, `run.config["lr"]`, `config = wandb.config`."""
    for n in draft.syntax.every(ast.Attribute):
        if not isinstance(n.ctx, ast.Load) or n.attr != "config" or _is_changed(draft, n):
            continue
        if draft.names.of(n) == _CONFIG or any(
            draft.names.of(c.func) == INIT for c in draft.values.calls(n.value)
        ):
            return True
    return False


def _is_changed(draft: Draft, config: ast.Attribute) -> bool:
    """`wandb.config.update(args)`, `wandb.config.lr = 0.1`: nothing is read there."""
    parent = draft.syntax.parent[config]
    if isinstance(parent, ast.Attribute):
        return parent.attr == "update" or isinstance(parent.ctx, ast.Store)
    return isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)


def _share(draft: Draft, call: ast.Call) -> None:
    statement = draft.syntax.statement(call)
    first = statement.body[0] if isinstance(statement, ast.With) else None
    place = first or statement
    if (
        not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.With))
        or not isinstance(call.func, ast.Attribute)
        or not draft.can_insert(place)
        or not draft.uniform.reached_alike(statement)
    ):
        draft.ask("C6", call, _SHARED, _WHY_SHARED, _ASKED)
        return
    config = f"{draft.module.text(call.func.value)}.config"
    line = f"{config}.update({CORE}.broadcast_object(dict({config})), allow_val_change=True)"
    lines = draft.lines_of(line, comment="rank 0's, also in a sweep")
    edit = draft.before(place, lines) if first is not None else draft.after(place, lines)
    draft.change("C6", call, _SHARED, _WHY_SHARED, [edit])


__all__ = ["INIT", "silence"]
