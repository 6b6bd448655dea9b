"""What the iterators of a TensorFlow 1 graph iterate: data that is trained on, or that a model is only measured by.

An iterator that can be set to another dataset (`Iterator.from_structure`) gives the training what it was set to last; one that
is chosen by a handle, what the runs of a train op are fed the handle of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import argument, position
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.sites import Sites

_EVALUATING = re.compile(r"(^|[^a-z])(test|val|valid|validation|eval|dev)([^a-z]|$)", re.I)
_MAKING = ("make_one_shot_iterator", "make_initializable_iterator")
_SETTING = "make_initializer"
_LIMIT = 20000  # nodes that what is run for training may be made of


class GraphIterators:
    """The iterators of one module's graphs."""

    def __init__(self, module: Module, sites: Sites, drive: Drive) -> None:
        self.module, self.sites, self.drive = module, sites, drive
        self.syntax, self.values, self.names = module.syntax, module.values, module.names

    @cached_property
    def trained_on(self) -> list[ast.expr]:
        """What is iterated for training, datasets of other files included."""
        found = list(self._iterated)
        if len(found) < 2:
            return [e for _, e in found]
        trained = [(call, e) for call, e in found if self._trains(call, e)]
        if not trained:
            return [e for _, e in found if _may_train(e)]
        beside = {run for call, e in trained if _may_train(e) for run in self._set_by(call)}
        return [e for call, e in trained if _may_train(e) or not beside & {*self._set_by(call)}]

    def is_trained_on(self, making: ast.Call) -> bool:
        """Whether training is made of what a function of the program gives that isn't called as what a model is measured by."""
        statement = self.syntax.statement(making)
        told = [making, *(statement.targets if isinstance(statement, ast.Assign) else [])]
        return making in self._training and all(_may_train(e) for e in told)

    def only_measures(self, iterator: ast.expr) -> bool:
        """Whether what an iterator gives is never trained on: a loop that trains may measure by it, too."""
        made = {iterator, *self.values.calls(iterator)}
        over = [e for call, e in self._iterated if call in made]
        return bool(over) and not any(e in self.trained_on for e in over)

    @cached_property
    def _iterated(self) -> list[tuple[ast.Call, ast.expr]]:
        """`ds` in `ds.make_one_shot_iterator()`, `tf.data.make_initializable_iterator(ds)`, `it.make_initializer(ds)`."""
        if not self.sites.builds_graph or not self.sites.graph.train_ops:
            return []
        given = ((call, self._given(call)) for call in self.syntax.calls)
        return [(call, e) for call, e in given if e is not None]

    def _given(self, call: ast.Call) -> ast.expr | None:
        last = self.names.last(call.func)
        if last in _MAKING and not (self.names.of(call.func) or "").startswith("tensorflow"):
            return call.func.value if isinstance(call.func, ast.Attribute) else None
        return argument(call, "dataset", 0) if last in (*_MAKING, _SETTING) else None

    def measured_by(self, iterated: ast.expr) -> list[ast.Call]:
        """The runs that begin a pipeline again that is trained on elsewhere, to measure by it: with other arrays, say."""
        graph = self.sites.graph
        made = {call for call, e in self._iterated if e is iterated}
        begun = {
            run
            for run in graph.all_runs
            for n in graph.operations(graph.fetches(run))
            if isinstance(n, ast.Attribute)
            and n.attr == "initializer"
            and made & set(self.values.calls(n.value))
        }
        if len(begun) < 2:
            return []  # what is trained on has to begin somewhere: there, also where a hook of a session does it
        ways = ((run, self.drive.ways(run)) for run in begun)
        return sorted(
            (run for run, up in ways if not any(self._goes_on_to_train(way, begun) for way in up)),
            key=position,
        )

    # ------------------------------------------------------------------ for training?

    def _trains(self, call: ast.Call, iterated: ast.expr) -> bool:
        setting = self._set_by(call)
        if setting:
            same = self._set(call)
            again = {run for run, sets in self._settings if any(self._set(c) & same for c in sets)}
            return any(self._goes_on_to_train(way, again) for run in setting for way in self.drive.ways(run))
        seen = self._training
        return (not seen or call in seen) and _may_train(iterated)

    def _set_by(self, call: ast.Call) -> list[ast.Call]:
        """The runs that set an iterator by an operation; one run may set it by several, as it is told (`go_train if training
        else go_test`)."""
        return [run for run, sets in self._settings if call in sets]

    @cached_property
    def _settings(self) -> list[tuple[ast.Call, list[ast.Call]]]:
        """The runs that set iterators, with the operations that do."""
        graph = self.sites.graph
        made = {c for c, _ in self._iterated if self.names.last(c.func) == _SETTING}
        found = (
            (run, [c for c in graph.operations(graph.fetches(run)) if isinstance(c, ast.Call) and c in made])
            for run in (graph.all_runs if made else ())
        )
        return [(run, sets) for run, sets in found if sets]

    def _set(self, call: ast.Call) -> set[ast.Call]:
        """The iterators that an operation sets."""
        return set(self.values.calls(call.func.value)) if isinstance(call.func, ast.Attribute) else set()

    def _goes_on_to_train(self, way: tuple[Frame, ...], again: set[ast.Call]) -> bool:
        """Whether a train op runs after an iterator was set, before it is set again."""
        trains = {run.call for run in self.sites.graph.trainings}
        for frame in way:
            for call in self._calls_after(frame):
                if self.drive.reaches(call, set(again)):
                    return False
                if self.drive.reaches(call, set(trains)):
                    return True
        return False

    def _calls_after(self, frame: Frame) -> Iterator[ast.Call]:
        """The calls that come after a frame's node in its function, in order, and in the next turn of the loops around it."""
        beside = sorted((c for c in self.syntax.calls if self._may_follow(c, frame)), key=position)
        at = position(frame.node)  # type: ignore[arg-type]
        yield from (c for c in beside if position(c) > at)
        if frame.loops:
            yield from (c for c in beside if position(c) < at and self.syntax.inside(c, frame.loops[-1]))

    def _may_follow(self, call: ast.Call, frame: Frame) -> bool:
        if call is frame.node or self.syntax.function(call) is not frame.function:
            return False
        arms = dict(self.syntax.conditions(frame.node))
        return all(arms.get(test, arm) == arm for test, arm in self.syntax.conditions(call))

    @cached_property
    def _training(self) -> set[ast.AST]:
        """All that what is run for training is made of; nothing where that is too much to be sure, or isn't seen to run."""
        found = set(self.values.depends((run.call for run in self.sites.graph.trainings), _LIMIT))
        return found if len(found) < _LIMIT // 2 else set()


def _may_train(iterated: ast.expr) -> bool:
    """Whether data isn't called as what a model is measured by."""
    return _EVALUATING.search(ast.unparse(iterated)) is None


__all__ = ["GraphIterators"]
