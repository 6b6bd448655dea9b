"""Which calls set weights to something that differs between ranks: a rank's own file, its draw, what it makes of its rows."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.facts import Facts
from horovodize.interleaving.changes import Changes
from horovodize.interleaving.fresh_weights import FreshWeights
from horovodize.interleaving.own_answers import OwnAnswers
from horovodize.interleaving.session_changes import SessionChanges

_ASSIGNED = ("assign", "assign_add", "assign_sub")
_BEHIND = 1500  # nodes that are looked at behind a value


class OwnWeights:
    """Those of one script."""

    def __init__(self, facts: Facts, changes: Changes, answers: OwnAnswers) -> None:
        self.facts, self.module = facts, facts.module
        self.changes, self.answers = changes, answers
        self._fresh, self._sessions = FreshWeights(facts), SessionChanges(facts)

    def of(self, call: ast.Call) -> ast.expr | None:
        """What of its own a rank sets weights to by a call; None where that isn't seen."""
        if (file := self.changes.own_file(call)) is not None:
            return file
        if call in self._sessions.of_weights or call in self._sessions.of_asked:
            return self._sessions.draw(call)
        # Of a callback it isn't seen what is sent after it, but for what it builds in later epochs.
        if self.facts.hooks.around(call) is None:
            own = next(
                filter(self.answers.is_drawn, call.args), None
            )  # `v.assign_add(tf.random.normal(v.shape))`
            own = own or next((e for e in call.args if self._is_of_own_rows(call, e)), None)
            if own is not None:
                return own
        return self._fresh.among(call.args) if self._fresh.may_come_after_sending(call) else None

    def _is_of_own_rows(self, call: ast.Call, e: ast.expr) -> bool:
        """Whether a value is surely made of the rows of one rank. Steps of a rank by its own gradients are another fault, or
        none, if they are undone or averaged later."""
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _ASSIGNED:
            return False
        # What a script makes as a variable of its own may be what it only logs: `self.last_loss.assign(loss)`.
        if self.module.values.calls(func.value):
            return False
        if not (self.answers.is_own_value(e) or self.answers.is_chosen_alone(e)):
            return False
        behind = self.module.values.depends([e], _BEHIND)
        return not self._are_set_later and not any(
            isinstance(n, ast.Attribute) and n.attr in ("gradient", "gradients") for n in behind
        )

    @cached_property
    def _are_set_later(self) -> bool:
        """Whether weights are set back, or averaged, anywhere."""
        setting = [n for name in _ASSIGNED for n in self.module.loads.get(name)]
        calls = [c for n in setting if isinstance(c := self.module.syntax.parent.get(n), ast.Call)]
        return bool(self.module.loads.get("set_weights")) or any(
            self.facts.horovod.depends_on(e, *AGREEING) for c in calls for e in c.args
        )
