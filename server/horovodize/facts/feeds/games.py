"""Games that steps learn from, which each rank plays for itself: what moves on by `env.step(action)`, or by what the program
itself computes (`own_games`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.feeds.own_games import OwnGames
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Loop, Syntax
from horovodize.summary.call_paths import Drive
from horovodize.summary.feeding import Feeding, Kind
from horovodize.summary.sites import Sites

# How simulations move on (Gym and what is like it, VizDoom, games of one's own), and how they begin again.
_MOVES = (".step", ".make_action", ".advance_action", ".frame_step", ".play_step")
_RESETS = (".reset", ".new_episode", ".reset_game")
_LIBRARIES = ("tensorflow.", "tensorflow_addons.", "keras.", "tf_keras.")


class Games:
    """The games of one module."""

    def __init__(self, module: Module, sites: Sites, drive: Drive, feeding: Feeding) -> None:
        self.module, self.sites, self.drive, self.feeding = module, sites, drive, feeding
        self._own = OwnGames(module, sites)

    def learnt_from(self, site: ast.Call) -> ast.AST | None:
        """Where the game moves on that the data of a step may come from; None where there is none around it."""
        for loop in loops_around(self.drive, site):
            # of several, `action = agent.step(state)`, then `env.step(action)`, the one that is a game
            played = next(filter(self._is_game, self._played_in(loop)), None)
            move = played or self._own.move(loop, self.feeding.calls_in(loop))
            if move is not None and not self._has_data_from_before(site, loop):
                return move
        return None

    def played(self, site: ast.AST) -> ast.Call | None:
        """`env.step(action)` in a loop around a step."""
        return next((c for loop in loops_around(self.drive, site) for c in self._played_in(loop)), None)

    def _played_in(self, loop: Loop) -> Iterator[ast.Call]:
        return (c for c in self.feeding.calls_in(loop) if c in self._game_moves)

    @cached_property
    def _game_moves(self) -> set[ast.Call]:
        """The calls by which a game may move on. None is of a method that trains, whatever it is told with this call: with
        `forward_only` it measures."""
        trained: set[ast.AST] = {u.call for u in self.sites.updates} | {f.call for f in self.sites.fits}
        trained |= {run.call for run in self.sites.graph.trainings}
        return {
            c
            for move in _MOVES
            for c in self.module.calls_written.get(move)
            if (c.args or c.keywords)
            and self.module.names.of(c.func) is None
            and not self.drive.reaches(self.module.values.callee(c) or c, trained)
            and not self._is_of_a_library(c.func)
        }

    def _is_of_a_library(self, method: ast.expr) -> bool:
        """Whether all that a method may be called on was made by TensorFlow: a decoder's `step` is no game."""
        held = method.value if isinstance(method, ast.Attribute) else method
        made = [self.module.names.of(c.func) or "" for c in self.module.values.calls(held)]
        return bool(made) and all(name.startswith(_LIBRARIES) for name in made)

    def _is_game(self, move: ast.Call) -> bool:
        """Whether what moves on is a game, rather than a schedule or a profiler: it starts again, or tells several things."""
        assert isinstance(move.func, ast.Attribute)
        callee = self.module.values.callee(move)
        if callee is not None and is_game(self.module.syntax, callee):
            return True
        statement = self.module.syntax.statement(move)
        if isinstance(statement, ast.Assign) and statement.value is move:
            told = statement.targets[0]
            if isinstance(told, (ast.Tuple, ast.List)) and len(told.elts) > 2:
                return True
        name = self.module.names.last(move.func.value)
        resets = (c.func for reset in _RESETS for c in self.module.calls_written.get(reset))
        return any(isinstance(f, ast.Attribute) and self.module.names.last(f.value) == name for f in resets)

    def _has_data_from_before(self, site: ast.Call, loop: Loop) -> bool:
        """Whether a step's batches are those of a dataset that is made before a loop: what is played in it only tests."""
        syntax, pipelines = self.module.syntax, self.feeding.pipelines
        return any(
            driver.kind is Kind.DATASET
            and driver.iterable is not None
            and not any(
                isinstance(e, ast.Call) and syntax.inside(e, loop) for e in pipelines.trail(driver.iterable)
            )
            for driver in self.feeding.drivers
            if site in driver.steps
        )


def loops_around(drive: Drive, site: ast.AST) -> list[Loop]:
    """The loops that a place is run in, those around the calls of its function included."""
    return list(dict.fromkeys(loop for way in drive.ways(site) for frame in way for loop in frame.loops))


def is_game(syntax: Syntax, function: ast.AST) -> bool:
    """Whether a method is one of a simulation's: its class steps, and starts again."""
    owner = syntax.method_class(function)
    if owner is None:
        return False
    methods = {s.name for s in owner.body if isinstance(s, FUNCTIONS)}
    return "reset" in methods and bool(methods & {"step", "act", "play"})
