"""What a run of a session is fed: which placeholder gets what, and what that is within a turn."""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.facts.differences.contexts import Context, home, passed
from horovodize.facts.feeds.loop_changes import LoopChanges
from horovodize.facts.feeds.placeholders import Placeholders
from horovodize.facts.feeds.trained_losses import TrainedLosses
from horovodize.facts.feeds.turn_parts import Part
from horovodize.facts.feeds.turns import Turns
from horovodize.python.syntax import FUNCTIONS, argument, arguments
from horovodize.summary.feeding import Feeding


class FeedValues:
    """What the runs of one module are fed. new_turns: makes a reader of turns that has read nothing yet."""

    def __init__(
        self, feeding: Feeding, losses: TrainedLosses, changes: LoopChanges, new_turns: Callable[[], Turns]
    ) -> None:
        self.module, self.sites, self.feeding = feeding.module, feeding.sites, feeding
        self.placeholders = Placeholders(feeding.module)
        self._losses, self._changes, self._new_turns = losses, changes, new_turns

    def given(self, site: ast.Call) -> ast.expr | None:
        """The feed dictionary of `session.run(op, feed_dict)`, or of `op.run(feed_dict)`."""
        graph = self.sites.graph
        alone = (
            graph._prepared(site) is None
            and isinstance(site.func, ast.Attribute)
            and graph._runs_itself(site)
        )
        return argument(site, "feed_dict", 0 if alone else 1)

    def read(self, fed: ast.expr, context: Context, turns: Turns, by_key: dict[ast.AST, Part]) -> None:
        """What a feed dictionary gives to which placeholders."""
        dicts = [o.node for o in self.module.values.origins(fed)]
        if not all(isinstance(d, ast.Dict) for d in dicts):
            if self._is_made_of_the_same(fed, context):
                self._note_unknown(fed, turns)
                return
            part = turns.read(fed, context)
            if part <= Part.ROWS:
                turns.unseen[fed] = None
            return
        made_by = self._made_by(fed, context)
        for d in dicts:
            assert isinstance(d, ast.Dict)
            place = made_by.get(d) or context.elsewhere(d, self.module.syntax)
            for key, value in zip(d.keys, d.values, strict=True):
                if key is None:
                    continue
                if self.placeholders.is_single(key):
                    by_key.update(dict.fromkeys(self.module.values.calls(key), Part.NUMBER))
                    continue
                part = turns.read(value, place)
                if part is Part.TURN and not self._is_plain(value):
                    turns.moving[value] = None
                elif part is Part.NUMBER and (value in turns.vague or not self._is_plain(value)):
                    if self.placeholders.takes_several(key) and self._changes.may_change(value, place):
                        turns.unseen[value] = None
                    elif self.placeholders.takes_several(key) and turns.fixed.is_made(value):
                        part = Part.ROWS
                        turns.rows[value] = None
                        turns.vague.pop(value, None)
                        turns.read_as.append(part)
                    elif self.placeholders.takes_several(key):
                        self._note_unknown(value, turns)
                    else:
                        turns.vague[value] = None
                for made in self.module.values.calls(key):
                    by_key[made] = max(part, by_key.get(made, Part.NUMBER))

    def _note_unknown(self, fed: ast.expr, turns: Turns) -> None:
        """Notes what is fed and is the same in every turn, and may be all rows: then what the graph draws beside is no data."""
        turns.vague[fed] = None
        turns.read_as.append(Part.ROWS)

    def _made_by(self, fed: ast.expr, context: Context, depth: int = 2) -> dict[ast.AST, Context]:
        """The dictionaries that a function of the program gives for a feed, `feed_dict(x[i : i + n])`, each in the run of that
        one call: its parameters are what this turn passes, not whatever is passed anywhere."""
        bindings = self.module.scopes.reaching(fed) if isinstance(fed, ast.Name) else []
        calls = [fed, *(b.value for b in bindings)]
        found: dict[ast.AST, Context] = {}
        for b in (
            bindings if isinstance(fed, ast.Name) and depth else []
        ):  # `model.train(feed_dict(x[i : i + n]))`
            place = (
                home(self.module, b, fed, context)
                if isinstance(fed, ast.Name) and b.kind == "parameter"
                else None
            )
            given = passed(self.module, b, place) if place is not None else None
            if given is not None and place is not None and place.outer is not None:
                found |= self._made_by(given, place.outer, depth - 1)
        for call in calls:
            callee = self.module.values.callee(call) if isinstance(call, ast.Call) else None
            if not isinstance(call, ast.Call) or not isinstance(callee, FUNCTIONS) or not depth:
                continue
            at = context.elsewhere(call, self.module.syntax)
            if at.is_running(callee):
                continue
            inner = at.calling(callee, call)
            for returned in self.module.values.returned(callee):
                found |= dict.fromkeys((o.node for o in self.module.values.origins(returned)), inner)
                found |= self._made_by(returned, inner, depth - 1)
        return found

    def _is_made_of_the_same(self, fed: ast.expr, context: Context) -> bool:
        """Whether a function makes what is fed of what is the same in every turn: `construct_feed_dict(features, labels)`."""
        bindings = self.module.scopes.reaching(fed) if isinstance(fed, ast.Name) else []
        calls: list[ast.expr] = [b.value for b in bindings if isinstance(b.value, ast.Call)] or [fed]
        for call in calls:
            if not isinstance(call, ast.Call) or not call.args:
                return False
            turns = self._new_turns()
            parts = [turns.read(a, context) for a in arguments(call)]
            if turns.moving or turns.drawn or any(part > Part.ROWS for part in parts):
                return False
        return True

    def _is_plain(self, value: ast.expr) -> bool:
        """Whether a number is fed: written out, or counted."""
        counted = (ast.Constant, ast.BinOp, ast.Call)
        made = [o.node for o in self.module.values.origins(value)]
        return all(isinstance(n, counted) or self.feeding.kinds.is_range(value) for n in made) and not any(
            (self.module.names.of(n.func) or "").startswith("numpy") for n in made if isinstance(n, ast.Call)
        )

    def of(self, site: ast.Call) -> list[tuple[ast.expr, ast.expr, Part]] | None:
        """What a session's step is fed: (placeholder, value, what that is in a turn); None where it can't be seen."""
        fed = self.given(site)
        if fed is None or self.sites.graph._prepared(site) is not None:
            return None
        dicts = [o.node for o in self.module.values.origins(fed)]
        found: list[tuple[ast.expr, ast.expr, Part]] = []
        for d in dicts:
            if not isinstance(d, ast.Dict) or None in d.keys:
                return None
            for key, value in zip(d.keys, d.values, strict=True):
                assert key is not None
                if self.placeholders.is_single(key):
                    continue
                parts = []
                for context in self._losses.contexts(site, self._losses.sessions):
                    place = self._made_by(fed, context).get(d) or context.elsewhere(d, self.module.syntax)
                    parts.append(self._new_turns().read(value, place))
                found.append((key, value, max(parts, default=Part.UNSEEN)))
        return found
