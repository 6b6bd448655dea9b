"""Games that a program plays without a method `step`: their state goes on by what the model decides.

    for move in range(50):
        action = int(tf.argmax(q(state[None])[0]))
        following = np.clip(state + effects[action], 0, 1)
        memory.append((state, action, following))
        state = following

What such a loop gathers is no data that could be divided: each turn goes on from the one before, by the weights it
finds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from horovodize.facts.differences.exits import exits, tests
from horovodize.python.module import Module
from horovodize.python.syntax import Loop, arguments, position
from horovodize.source.nodes import walk
from horovodize.summary.sites import Sites

_GATHERING = re.compile("(append(left)?|extend|add|push|store|remember|put|insert)(_[a-z_]+)?")
_PREDICTING = frozenset("predict predict_on_batch".split())
_FAR = 400  # nodes that a value depends on
_WHOLE = 2000  # nodes that all steps together depend on


class OwnGames:
    """The games that the loops of one module play."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites
        self.values, self.syntax, self.scopes = module.values, module.syntax, module.scopes
        models = [_base(v) for u in sites.updates for v in u.variables] + [f.model for f in sites.fits]
        self._models = {ast.unparse(m) for m in models}
        self._made = {c for m in models for c in self.values.calls(m)}

    def move(self, loop: Loop, calls: Iterable[ast.Call]) -> ast.AST | None:
        """Where a game moves on in a loop, of all calls that are run in it; None where none is played."""
        found = list(calls)
        gathering = (
            c
            for c in found
            if isinstance(c.func, ast.Attribute) and _GATHERING.fullmatch(c.func.attr) and c.args
            if self._is_learnt_from(c.func.value)
        )
        for call in gathering:
            move = next(self._carried([*call.args], loop), None)
            if move is not None:
                return move
        return next((c for c in found if self._ends_a_loop(c)), None)

    def _is_learnt_from(self, memory: ast.expr) -> bool:
        """Whether steps may learn from what is gathered, by its name; `results` that are only shown are no memory."""
        learnt = self._learnt
        names, called = self.module.names, self.module.names.last(memory)
        return len(learnt) >= _WHOLE or any(
            isinstance(n, (ast.Name, ast.Attribute)) and names.last(n) == called and names.of(n) is None
            for n in learnt
        )

    @cached_property
    def _learnt(self) -> list[ast.AST]:
        """What the steps learn from, as far as it is followed."""
        steps = [u.call for u in self.sites.updates] + [f.call for f in self.sites.fits]
        steps += [run.call for run in self.sites.graph.trainings]
        return list(self.values.depends([e for call in steps for e in arguments(call)], _WHOLE))

    def _carried(self, gathered: list[ast.AST], loop: Loop) -> Iterator[ast.AST]:
        """The statements that give what is gathered its value for the next turn, by that of this turn and by a model."""
        for n in self.values.depends(gathered, _FAR):
            if not isinstance(n, ast.Name) or not isinstance(n.ctx, ast.Load):
                continue
            for b in self.scopes.reaching(n):
                later = isinstance(b.statement, ast.stmt) and position(b.statement) >= position(n)
                if (
                    not later
                    or not self.syntax.inside(b.statement, loop)
                    or b.kind not in ("assign", "augment")
                    or b.value is None
                ):
                    continue
                made_of = list(self.values.depends([b.value], _FAR))
                if not any(isinstance(m, ast.Name) and m.id == n.id for m in made_of):
                    continue
                here = self.syntax.loops(b.statement)[:1] == [
                    loop
                ]  # what is written in a loop within is a sample
                if self._asks(made_of, n.id) or (here and self._asks_in_session(made_of, n.id)):
                    yield b.statement

    def _ends_a_loop(self, call: ast.Call) -> bool:
        """Whether a method is given what a model decides by what it gave before, and tells whether it goes on:
        `state, over = game.move(act(state))`."""
        statement = self.syntax.statement(call)
        if (
            not isinstance(statement, ast.Assign)
            or statement.value is not call
            or not isinstance(statement.targets[0], ast.Tuple)
            or not isinstance(call.func, ast.Attribute)
            or self.module.names.of(call.func) is not None
            or self._is_model(call.func.value)
        ):
            return False
        told = {n.id for n in walk(statement.targets[0]) if isinstance(n, ast.Name)}
        around = self.syntax.loops(call)
        ends = [t for loop in around for e in exits(loop) for t in tests(self.syntax, e, loop)]
        ends += [loop.test for loop in around if isinstance(loop, ast.While)]
        names = {n.id for t in ends for n in walk(t) if isinstance(n, ast.Name)}
        if not told & names:
            return False
        made_of = list(self.values.depends([*call.args], _FAR))
        return self._asks(made_of) and (call in made_of or self._is_read(call.func.value, made_of))

    def _is_read(self, game: ast.expr, nodes: list[ast.AST]) -> bool:
        """Whether an object is among some nodes, other than that of the method they stand in."""
        text = ast.unparse(game)
        return text != "self" and any(
            ast.unparse(n) == text for n in nodes if isinstance(n, (ast.Name, ast.Attribute))
        )

    def _asks(self, nodes: Iterable[ast.AST], about: str = "") -> bool:
        """Whether a model that is trained is called among some nodes; about what has a name, if it is given one: boosting
        weighs rows by what its models say, but does not ask them about these weights."""
        return any(
            self._is_asked(n) and (not about or self._is_told(n, about))
            for n in nodes
            if isinstance(n, ast.Call)
        )

    def _asks_in_session(self, nodes: list[ast.AST], about: str) -> bool:
        """The same of a graph: whether a session runs something there that trains nothing."""
        runs = self._asked_runs.intersection(nodes)
        return any(self._is_told(run, about) for run in runs)

    @cached_property
    def _asked_runs(self) -> set[ast.Call]:
        graph = self.sites.graph
        return set(graph.all_runs) - {run.call for run in graph.runs}

    def _is_asked(self, call: ast.Call) -> bool:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _PREDICTING and self._is_model(func.value):
            return True
        return self._is_model(func)

    def _is_told(self, call: ast.Call, about: str) -> bool:
        given = self.values.depends(arguments(call), _FAR)
        return any(isinstance(n, ast.Name) and n.id == about for n in given)

    def _is_model(self, e: ast.expr) -> bool:
        return ast.unparse(e) in self._models or bool(self._made & set(self.values.calls(e)))


def _base(variables: ast.expr) -> ast.expr:
    """`model` of `model.trainable_variables`."""
    return variables.value if isinstance(variables, ast.Attribute) else variables
