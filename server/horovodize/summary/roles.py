"""The seed's σ: what each name of a module is: the optimizer, the model, the dataset, the tape …"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass

from horovodize import catalogue
from horovodize.python.module import OPTIMIZERS, Module
from horovodize.python.syntax import argument
from horovodize.source import Span
from horovodize.summary.sites import MODEL, TAPE

_ROLES = (
    *((base, "optimizer") for base in OPTIMIZERS),
    (MODEL, "model"),
    (TAPE, "tape"),
    ("tensorflow.data.Dataset", "dataset"),
    ("tensorflow.keras.optimizers.schedules.LearningRateSchedule", "schedule"),
    ("tensorflow.keras.callbacks.Callback", "callback"),
    ("tensorflow.train.Checkpoint", "checkpoint"),
    ("tensorflow.train.CheckpointManager", "checkpoint"),
    ("tensorflow.compat.v1.train.Saver", "checkpoint"),
    ("tensorflow.compat.v1.Session", "session"),
    ("tensorflow.compat.v1.InteractiveSession", "session"),
)


@dataclass(frozen=True)
class RoleAt:
    """A value that plays a role.

    role    "optimizer", "model", "dataset", "tape", "schedule", "callback", "checkpoint", "session", "tensorflow"
    name    what it is called in the text; "" when it is used where it is made
    span    where it is made
    uses    the names that mean it
    detail  what is known of it, in words
    """

    role: str
    name: str
    span: Span
    uses: tuple[Span, ...]
    detail: str


def find_roles(module: Module) -> Iterator[RoleAt]:
    """Every value that plays a role, in the order of the text."""
    roles = {call: role for call in module.syntax.calls if (role := role_of(module, call)) is not None}
    uses = _uses(module, roles)
    for statement in module.tensorflow_imports[:1]:
        yield RoleAt("tensorflow", module.tensorflow_name() or "", module.span(statement), (), "TensorFlow")
    for call, role in roles.items():
        name = _target(module, call)
        yield RoleAt(role, name, module.span(call), tuple(uses.get(call, ())), _detail(module, call))


def role_of(module: Module, call: ast.Call) -> str | None:
    """The role of what a call makes."""
    made = module.values.made_by(call)
    for base, role in _ROLES:
        if base in made:
            return role
    name = module.names.of(call.func) or ""
    if name.startswith(("tensorflow.data.", "tensorflow_datasets.load")) and not name.endswith("Options"):
        return "dataset"
    return "optimizer" if module.is_optimizer(call) else None


def _uses(module: Module, calls: Container[ast.AST]) -> dict[ast.AST, list[Span]]:
    """For each of some calls, where names are that are bound to what it makes, directly."""
    found: dict[ast.AST, list[Span]] = {}
    names: set[str] = set()
    for scope_names in module.scopes.names.values():
        for bindings in scope_names.values():
            for b in bindings:
                if (
                    b.kind in ("assign", "with")
                    and isinstance(b.value, ast.Call)
                    and b.value in calls
                    and isinstance(b.anchor, ast.Name)
                ):
                    found.setdefault(b.value, []).append(module.span(b.anchor))
                    names.add(b.name)
    elsewhere = bool(module.scopes.links.targets)  # other modules may import them under any name
    for node in module.syntax.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (elsewhere or node.id in names):
            for b in module.scopes.reaching(node):
                if b.kind in ("assign", "with") and b.value in found:
                    found[b.value].append(module.span(node))
    return found


def _target(module: Module, call: ast.Call) -> str:
    parent = module.syntax.parent.get(call)
    if isinstance(parent, ast.Assign):
        return ast.unparse(parent.targets[0])
    if isinstance(parent, ast.withitem) and parent.optional_vars is not None:
        return ast.unparse(parent.optional_vars)
    return ""


def _detail(module: Module, call: ast.Call) -> str:
    name = module.names.of(call.func) or ast.unparse(call.func)
    rate = argument(call, "learning_rate") or argument(call, "lr")
    if module.is_optimizer(call):
        if rate is None and call.args:
            rate = call.args[0]
        default = catalogue.default_rate(name)
        if rate is not None:
            return f"{name}, learning rate {ast.unparse(rate)}"
        if default is not None:
            return f"{name}, its default learning rate {default}"
    return name
