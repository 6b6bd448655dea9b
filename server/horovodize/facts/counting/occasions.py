"""With the steps of which loops something in a script happens: with each of them, every so many, or otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from horovodize import catalogue
from horovodize.facts.counting.asked_sequences import AskedSequences
from horovodize.facts.counting.counted_yields import yields_of
from horovodize.facts.counting.gates import gates
from horovodize.facts.counting.hooks import Hooks
from horovodize.python.module import Module
from horovodize.python.syntax import (
    CALLABLES,
    FUNCTIONS,
    LOOPS,
    Function,
    Loop,
    argument,
    is_forever,
    numbered,
)
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.feeding import Driver, Feeding
from horovodize.summary.sites import Sites

# What TensorFlow calls of a hook with each run of a session, and who runs sessions that do not train.
_WITH_RUNS = ("before_run", "after_run")
_NOT_TRAINING = ("evaluate", "EvalSpec", "predict", "evaluate_once", "evaluate_repeatedly")
_CALLED = ("tensorflow.keras.layers.Layer", "tensorflow.keras.Model", "tensorflow.keras.losses.Loss")
_LIMIT = 400


class Occasions:
    """When the statements of one module run, counted in steps."""

    def __init__(self, module: Module, sites: Sites, drive: Drive, feeding: Feeding, hooks: Hooks) -> None:
        self.sites, self.drive, self.feeding, self.hooks = sites, drive, feeding, hooks
        self.module, self.syntax, self.names = module, module.syntax, module.names
        self.asked_sequences = AskedSequences(module, feeding)
        self._asked = set[ast.AST]()

    def counted_at(self, place: ast.AST) -> tuple[set[Driver], bool] | None:
        """The loops whose steps something at a place happens with, on every way that leads there, and whether those of `fit`
        are among them; None where it may happen otherwise. Both nothing: those of Estimators alone."""
        drivers, fitted, hooked = set[Driver](), False, False
        for way in self.drive.ways(place):
            if any(self._is_gated(frame.function) for frame in way):
                return None
            around = [loop for frame in way for loop in self.syntax.turned_with(frame.node)]
            driver = next((d for d in self.feeding.drivers if d.loop in around), None)
            if driver is not None and self._waits_within(around, driver):
                return None
            if driver is not None:
                drivers.add(driver)
            elif (yielded := self._with_a_yield(place, around)) is not None:
                drivers |= yielded[0]
                fitted |= yielded[1]
            elif self._runs_with_fit(way):
                fitted = True
            elif (asking := self._asking(way[-1].function)) and not any(frame.loops for frame in way):
                drivers |= asking
            elif self._is_called_by_keras(way):
                drivers.update(self.feeding.drivers)
                fitted |= self._fits
            elif self._runs_with_sessions(way):
                hooked = True
                drivers.update(self.feeding.drivers)
            elif self._is_of_others(place, way):
                continue
            elif way[-1].function is not None or any(frame.loops for frame in way[1:] or way):
                return None  # and not once, before training: `self.step()` of a scheduler that begins; its own loop aside
        return (drivers, fitted) if drivers or fitted or hooked else None

    def _waits_within(self, around: list[Loop], driver: Driver) -> bool:
        """Whether a loop among those around turns in some of the steps only, when what it moves on is due: `while step >=
        next_decay: next_decay += 100`. Not of a number that begins again in each turn, `k = n` before `while k > 0: k -= 1`."""
        steps = set[ast.AST](driver.steps)
        within = [loop for loop in around[: around.index(driver.loop)] if isinstance(loop, ast.While)]
        return any(
            not is_forever(loop) and self._is_carried_on(loop, driver) and not self.drive.reaches(loop, steps)
            for loop in within
        )

    def _is_carried_on(self, loop: ast.While, driver: Driver) -> bool:
        """Whether what a loop's test reads is moved on in the loop, and set nowhere else in a turn of the loop around."""
        read = {ast.unparse(n) for n in walk(loop.test) if isinstance(n, (ast.Name, ast.Attribute))}
        inside = {n for s in loop.body for n in walk(s)}
        moved = read & set(_set_in(inside))
        beside = (n for s in driver.loop.body for n in walk(s) if n not in inside)
        return bool(moved) and moved.isdisjoint(_set_in(beside))

    def _is_gated(self, function: ast.AST | None) -> bool:
        """Whether a decorator of the program's own decides in which calls a function runs."""
        decorated = isinstance(function, FUNCTIONS) and bool(function.decorator_list)
        return decorated and isinstance(function, FUNCTIONS) and any(gates(self.module, function))

    def _with_a_yield(self, place: ast.AST, around: list[Loop]) -> tuple[set[Driver], bool] | None:
        """The same of what each turn of a loop does that goes through a generator which takes the steps itself, and yields with
        each: `for loss in train(model): turns += 1`."""
        for loop in (a for a in around if isinstance(a, (ast.For, ast.AsyncFor)) and a not in self._asked):
            if any(self.syntax.inside(test, loop) for test, _ in self.syntax.conditions(place)):
                continue
            iterated = self.feeding.without_bars(loop.iter)
            data = numbered(iterated) if isinstance(iterated, ast.Call) else None
            found = yields_of(self.module, self.feeding.without_bars(data) if data is not None else iterated)
            self._asked.add(loop)  # which may be in a generator that goes through itself
            at = self.counted_at(found[0]) if len(found) == 1 else None
            self._asked.discard(loop)
            if at is not None and not self.are_seldom(found[0], at[0]):
                return at
        return None

    def _asking(self, function: ast.AST | None) -> set[Driver]:
        """The loops that ask a sequence for the batch of each of their steps, by a method."""
        return (
            self.asked_sequences.by_loops.get(function, set()) if isinstance(function, FUNCTIONS) else set()
        )

    def _runs_with_fit(self, way: tuple[Frame, ...]) -> bool:
        """Whether `fit` goes a way with each of its batches: it runs the outermost function, or a lambda on the way."""
        outermost = way[-1].function
        if outermost in self.asked_sequences.methods:
            return True
        owner = self.syntax.method_class(outermost)
        if owner is not None and outermost is not None and outermost.name == "train_step":
            if any(u.step_of is owner for u in self.sites.updates) or self._hands_on(outermost):
                return True
        hooks = [self.hooks.of(outermost), *(self.hooks.around(frame.node) for frame in way)]
        return any(hook is not None and hook.is_of_batches for hook in hooks)

    def _is_of_others(self, place: ast.AST, way: tuple[Frame, ...]) -> bool:
        """Whether a way is that of other objects, which keep a number of their own: `self.calls += 1` of a base class, which is
        gone to by the `__getitem__` of the sequence that `fit` trains on, and by that of the one it validates with."""
        asked, owner = way[-1].function, self.syntax.method_class(way[-1].function)
        if not isinstance(asked, FUNCTIONS) or asked.name != "__getitem__" or owner is None:
            return False
        target = place.targets[0] if isinstance(place, ast.Assign) else getattr(place, "target", None)
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            return False
        family = self.module.values.family(owner)
        return target.value.id == "self" and all(
            self.syntax.method_class(frame.function) in family for frame in way
        )

    def _hands_on(self, step: ast.AST) -> bool:
        """Whether a model's own `train_step`, which `fit` calls, leaves the training to that of its base class."""
        return step in self.sites.own_steps and any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "train_step"
            for n in walk(step)
        )

    def _is_called_by_keras(self, way: tuple[Frame, ...]) -> bool:
        """Whether Keras goes a way with each batch of what the script trains: it calls the outermost function,
        `call` of a layer or model that is a part of what is trained, or of a loss; or a function that a model is compiled
        with as its loss."""
        function, owner = way[-1].function, self.syntax.method_class(way[-1].function)
        if function in self.compiled_losses:
            return not self.sites.builds_graph and not any(frame.loops for frame in way)
        if not isinstance(function, FUNCTIONS) or function.name != "call" or owner is None:
            return False
        bases = self.module.values.ancestors(owner)
        known = not bases.isdisjoint(_CALLED) and not any(".metrics." in base for base in bases)
        return known and not self.sites.builds_graph and not any(frame.loops for frame in way)

    @cached_property
    def compiled_losses(self) -> list[Function | ast.Lambda]:
        """The functions that models are compiled with as their losses: `model.compile(loss=focal)`."""
        given = [argument(c.call, "loss", 1) for c in self.sites.compiles]
        todo, found = [e for e in given if e is not None], list[Function | ast.Lambda]()
        while todo:
            for o in self.module.values.origins(todo.pop()):
                if isinstance(o.node, (ast.List, ast.Tuple)) and not o.path:
                    todo += o.node.elts
                elif isinstance(o.node, ast.Dict) and not o.path:
                    todo += o.node.values
                elif isinstance(o.node, CALLABLES) and not o.path:
                    found.append(o.node)
        return list(dict.fromkeys(found))

    @cached_property
    def _fits(self) -> bool:
        return any(f.method != "train_on_batch" for f in self.sites.fits)

    def _runs_with_sessions(self, way: tuple[Frame, ...]) -> bool:
        """Whether a MonitoredSession goes a way with each of its runs: it calls the hook that the outermost function is of."""
        function, values = way[-1].function, self.module.values
        owner = self.syntax.method_class(function)
        if not isinstance(function, FUNCTIONS) or function.name not in _WITH_RUNS or owner is None:
            return False
        if any(frame.loops for frame in way) or not any(map(catalogue.is_hook, values.ancestors(owner))):
            return False
        asked = [argument(c, "hooks") for c in self.module.calls_called(*_NOT_TRAINING)]
        behind = values.depends([e for e in asked if e is not None], _LIMIT) if any(asked) else ()
        return not any(isinstance(n, ast.Call) and owner in values.receiver(n) for n in behind)

    def are_seldom(self, place: ast.AST, drivers: set[Driver]) -> bool:
        """Whether something happens only every so many steps, without a step: `bad += 1` under `if step % 100 == 0:` counts
        evaluations, which are as many as before for the rows seen."""
        ways = self.drive.ways(place)
        return bool(ways) and all(self._is_seldom(way, drivers) for way in ways)

    def _is_seldom(self, way: tuple[Frame, ...], drivers: set[Driver]) -> bool:
        """The same of one way: a test on it may stand in a loop, or in a function that runs with each turn, or with each batch
        of a `fit`."""
        loops: set[ast.AST] = {d.loop for d in drivers}
        inside = [not loops.isdisjoint(frame.loops) for frame in way]
        hooked = not any(inside) and (self._runs_with_fit(way) or self._runs_with_sessions(way))
        return any(
            self._comes_seldom(frame.node, drivers, hooked or any(inside[i + 1 :]))
            for i, frame in enumerate(way)
        )

    def _comes_seldom(self, node: ast.AST, drivers: set[Driver], with_each: bool) -> bool:
        """The same of a place in its function: under a test, or after one in `step % 100 == 0 and self.is_worse()`.

        with_each: whether the function runs with each turn"""
        steps: set[ast.AST] = {step for d in drivers for step in d.steps}
        child = node
        for a in self.syntax.ancestors(node):
            if isinstance(a, ast.BoolOp) and isinstance(a.op, ast.And):
                before = a.values[: a.values.index(child)]  # type: ignore[arg-type]
                if any(self._is_modulo(n) for v in before for n in walk(v)):
                    return True
            if isinstance(a, ast.ExceptHandler) and any(self.syntax.inside(a, d.loop) for d in drivers):
                return True  # where the data end, an epoch does
            child = a
        decisions = [(t, under, _waits_again(t, under)) for t, under in self._cut_short(node, with_each)]
        for around, arm in self.syntax.conditions(node):
            if isinstance(around, ast.If):
                moved_on = arm == "body" and _sets_itself_back(around)
                decisions.append((around, [*around.body, *around.orelse], moved_on))
        return any(
            (with_each or any(self.syntax.inside(decision, d.loop) for d in drivers))
            and not any(self.drive.reaches(s, steps) for s in under)
            and (moved_on or any(self._is_modulo(n) for n in walk(decision.test)))
            for decision, under, moved_on in decisions
        )

    def skipped_by(self, place: ast.AST, drivers: set[Driver]) -> list[ast.If]:
        """The tests that cut a turn short before a place in its function, `if step % 100: continue`, and no step with it."""
        steps: set[ast.AST] = {step for d in drivers for step in d.steps}
        return [
            decision
            for decision, under in self._cut_short(place)
            if not any(self.drive.reaches(s, steps) for s in under)
        ]

    def left_out_by(self, place: ast.AST, drivers: set[Driver]) -> list[ast.If]:
        """The tests by which a turn of these loops goes on without a place, and without a step by that: `if step % 100: return`
        in a function that runs with each turn, `if step % 100: continue` before a loop that the place is in."""
        loops: set[ast.AST] = {d.loop for d in drivers}
        steps: set[ast.AST] = {step for d in drivers for step in d.steps}
        found: list[tuple[ast.If, list[ast.stmt]]] = []
        for way in self.drive.ways(place):
            inside = [not loops.isdisjoint(frame.loops) for frame in way]
            hooked = not any(inside) and (self._runs_with_fit(way) or self._runs_with_sessions(way))
            for i, frame in enumerate(way):
                with_each = hooked or any(inside[i + 1 :])
                if with_each or inside[i]:
                    found += self._cut_short(frame.node, with_each, loops)
        return [d for d, under in found if not any(self.drive.reaches(s, steps) for s in under)]

    def _cut_short(
        self, node: ast.AST, with_each: bool = False, loops: set[ast.AST] | None = None
    ) -> Iterator[tuple[ast.If, list[ast.stmt]]]:
        """The tests before a place that cut a turn of its loop short, each with all that is under it, or comes after it.

        with_each: whether a function that runs with each turn is left so, too
        loops: whose turns are meant; else those of the innermost around it"""
        leaving = (ast.Continue, ast.Return) if with_each else ast.Continue
        for a in (node, *self.syntax.ancestors(node)):
            if isinstance(a, CALLABLES) or (isinstance(a, LOOPS) and (loops is None or a in loops)):
                return
            if isinstance(a, ast.stmt):
                block = self.syntax.block(a)
                for i, s in enumerate(block[: block.index(a)]):
                    if isinstance(s, ast.If) and not s.orelse and isinstance(s.body[-1], leaving):
                        yield s, [*s.body, *block[i + 1 :]]

    def _is_modulo(self, n: ast.AST) -> bool:
        if isinstance(n, ast.BinOp):
            return isinstance(n.op, ast.Mod)
        return isinstance(n, ast.Call) and self.names.last(n.func) in ("mod", "floormod", "remainder")


def _waits_again(decision: ast.If, under: list[ast.stmt]) -> bool:
    """`if step < last + 100: continue`, and `last = step` after it."""
    read = _read_in(decision.test)
    return any(
        isinstance(s, ast.Assign)
        and ast.unparse(s.value) in read
        and any(ast.unparse(t) in read for t in s.targets)
        for s in under
    )


def _read_in(test: ast.expr) -> set[str]:
    return {ast.unparse(n) for n in walk(test) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))}


def _sets_itself_back(decision: ast.If) -> bool:
    """`if step >= last + 100: last = step`: what is tested for is moved on there. (Where it doesn't hold, something may
    come with most steps: `bad += 1` where a loss is no better than the best.)"""
    read = _read_in(decision.test)
    targets = (
        t
        for s in decision.body
        for n in walk(s)
        if isinstance(n, (ast.Assign, ast.AugAssign))
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
    )
    return any(ast.unparse(t) in read for t in targets)


def _set_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What statements among some nodes set, as it is written."""
    for n in nodes:
        if isinstance(n, ast.Assign):
            yield from map(ast.unparse, n.targets)
        elif isinstance(n, (ast.AugAssign, ast.AnnAssign)):
            yield ast.unparse(n.target)
