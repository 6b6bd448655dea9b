"""What changes the weights, the rate or the optimizer's state of a script of `horovod.torch`, other than its steps."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.facts.horovod.horovod_use import WRAPPERS

# What is called so, and given an optimizer, sets its rate.
_SCHEDULE = re.compile(r"lr|rate|sched|warm|anneal|decay|plateau|cosine|poly", re.I)
STATE = "optimizer's state"
_OF_MODELS = ("parameters", "named_parameters")
_SCHEDULES = "torch.optim.lr_scheduler."
_DRAWING = ("apply", "reset_parameters")
_ELASTIC = ("TorchState",)


class TorchChanges:
    """The changes of one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    @cached_property
    def _is_followed(self) -> bool:
        """Whether ranks change what they train by themselves: an elastic state sends all of it each time it begins."""
        return self.facts.horovod.of_torch and not self.facts.horovod.calls(*_ELASTIC)

    def of(self, call: ast.Call) -> str:
        """What a call changes on the rank that makes it: "weights", "rate", "optimizer's state", or nothing."""
        func = call.func
        if not self._is_followed:
            return ""
        if (self.module.names.of(func) or "").startswith("torch.nn.init."):
            return "weights" if any(map(self._is_in_model, call.args[:1])) else ""
        if not isinstance(func, ast.Attribute):
            return ""
        if func.attr == "load_state_dict":
            return (
                "weights"
                if self._is_in_model(func.value)
                else STATE
                if self._is_optimizer(func.value)
                else ""
            )
        if func.attr in _DRAWING and self._is_in_model(func.value):
            return "weights"
        return "rate" if func.attr == "step" and self._is_schedule(func.value) else ""

    def sets_rate(self, target: ast.expr) -> bool:
        """Whether something is the rate of an optimizer: `group["lr"]` of its `param_groups`."""
        match target:
            case ast.Subscript(value=group, slice=ast.Constant(value="lr")) if self._is_followed:
                return self._is_group(group)
        return False

    def _is_group(self, group: ast.expr) -> bool:
        if isinstance(group, ast.Name):
            loops = [b.statement for b in self.module.scopes.reaching(group)]
            return bool(loops) and all(
                isinstance(s, ast.For) and any(map(self._are_groups, ast.walk(s.iter))) for s in loops
            )
        return isinstance(group, ast.Subscript) and self._are_groups(group.value)

    def _are_groups(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute) and node.attr == "param_groups" and self._is_optimizer(node.value)
        )

    def _is_optimizer(self, e: ast.expr) -> bool:
        made = [a.node for a in self.facts.optimizers.arrivals(e)]
        return bool(made) and all(
            isinstance(c, ast.Call)
            and (self.facts.horovod.is_call(c, *WRAPPERS) or self._is_made_by(c, "torch.optim."))
            for c in made
        )

    def _is_schedule(self, e: ast.expr) -> bool:
        made = self.module.values.calls(e)
        return bool(made) and all(
            self._is_made_by(c, _SCHEDULES) or self._is_given_optimizer(c) for c in made
        )

    def _is_given_optimizer(self, call: ast.Call) -> bool:
        """Whether an object of an unknown class is made for an optimizer, and none itself: a schedule that steps its rate."""
        if any(self._is_made_by(call, package) for package in ("torch.", "horovod.")):
            return False
        is_called_so = bool(_SCHEDULE.search(self.module.names.last(call.func)))
        return is_called_so and bool(call.args) and self._is_optimizer(call.args[0])

    def _is_made_by(self, call: ast.Call, package: str) -> bool:
        return (self.module.names.of(call.func) or "").startswith(package)

    @cached_property
    def _models(self) -> set[str]:
        """How models that are trained are written: those whose parameters an optimizer is given, and those that are sent."""
        asked = [n for word in _OF_MODELS for n in self.module.loads.get(word)]
        for sent in self.facts.horovod.calls("broadcast_parameters"):
            asked += [n.func for n in ast.walk(sent) if isinstance(n, ast.Call) and n is not sent]
        return {
            ast.unparse(n.value)
            for n in asked
            if isinstance(n, ast.Attribute) and n.attr in (*_OF_MODELS, "state_dict")
        }

    def _is_in_model(self, e: ast.expr) -> bool:
        """Whether an expression is a model that is trained, or a part of one: `model.fc.weight`."""
        inner: ast.AST = e
        while True:
            if isinstance(inner, ast.expr) and ast.unparse(inner) in self._models:
                return True
            if not isinstance(inner, (ast.Attribute, ast.Subscript)):
                return False
            inner = inner.value
