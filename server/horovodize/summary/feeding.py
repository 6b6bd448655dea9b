"""What feeds training: the data of each `fit`, and of each hand-written step the loop that decides how many there are."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.once import once
from horovodize.python.syntax import FUNCTIONS, LOOPS, Loop, argument, arguments, numbered, says_none
from horovodize.python.variables import Variables, bound_names
from horovodize.source.nodes import names_in, walk
from horovodize.summary.begun_anew import begun_anew, initialized_anew, models_of
from horovodize.summary.bound_batches import BoundBatches
from horovodize.summary.call_paths import Drive
from horovodize.summary.carried_state import CarriedState
from horovodize.summary.dataset_methods import ONCE
from horovodize.summary.driving import DRAWING, counts, driving, is_small
from horovodize.summary.gathered_in_turns import applies_what_is_gathered
from horovodize.summary.graph_iterators import GraphIterators
from horovodize.summary.kinds import Kind, Kinds
from horovodize.summary.passed_on import dataset_of, datasets_drawn
from horovodize.summary.pipeline import Pipelines
from horovodize.summary.selecting import is_indexed
from horovodize.summary.shown_elements import are_only_shown
from horovodize.summary.site_kinds import Fit
from horovodize.summary.sites import Sites
from horovodize.summary.wrapped_iterables import looked_through

_FAR = 2000  # nodes that what a step is taken on is made of
_OF_MODELS = {"fit", "train_on_batch", "trainable_variables", "train_step", "apply_gradients"}


@dataclass(frozen=True, eq=False)
class FitFeed:
    """The data of a `fit`: `x`, `y` and `sample_weight` as they are passed."""

    fit: Fit
    x: ast.expr
    y: ast.expr | None
    weight: ast.expr | None
    kind: Kind


@dataclass(eq=False)
class Driver:
    """A loop that runs steps of training: each turn is one step, or one round of steps that belong together.

    iterable   what it iterates, without `enumerate` and `tqdm`; None for a `while`
    indexed    whether its variable selects the data of the step
    steps      the places that train"""

    loop: Loop
    iterable: ast.expr | None
    kind: Kind
    indexed: bool
    steps: list[ast.Call] = field(default_factory=list)


class Feeding:
    """All that feeds training in one module."""

    def __init__(self, module: Module, sites: Sites, drive: Drive) -> None:
        self.module, self.sites, self.drive = module, sites, drive
        self.syntax, self.values, self.names = module.syntax, module.values, module.names
        self.pipelines = Pipelines(module, drive, self.taken_steps)
        self.kinds = Kinds(module, self.pipelines)
        self.bound_batches = BoundBatches(self)
        self._beside = list[tuple[Loop, Loop, ast.Call]]()

    # ------------------------------------------------------------------ fits

    @cached_property
    def fits(self) -> list[FitFeed]:
        """The `fit` and `fit_generator` calls with their data, as far as it is passed visibly."""
        found = []
        for fit in self.sites.fits:
            if fit.method == "train_on_batch":
                continue
            generator = fit.method == "fit_generator"
            x = argument(fit.call, "generator" if generator else "x", 0)
            y = None if generator else argument(fit.call, "y", 1)
            if says_none(y):
                y = None
            if x is not None:
                weight = None if generator else argument(fit.call, "sample_weight")
                kind = self.kinds.of(x) if y is None else self.kinds.given_to_fit(x)
                found.append(FitFeed(fit, x, y, weight, kind))
        return found

    def fit_of(self, call: ast.AST) -> FitFeed | None:
        """The data of the `fit` that a call is; None where it is none."""
        return next((fed for fed in self.fits if fed.fit.call is call), None)

    @cached_property
    def _carried(self) -> CarriedState:
        return CarriedState(self.module, self.sites, self.drive)

    @cached_property
    def variables(self) -> Variables:
        """The variables of the module, those of comprehensions told from others."""
        return Variables(self.module.scopes)

    # ------------------------------------------------------------------ hand-written loops

    @cached_property
    def drivers(self) -> list[Driver]:
        """The loops that run hand-written steps, each once, in the order of the text."""
        chosen: dict[Loop, list[ast.Call]] = {}
        around: dict[Loop, set[Loop]] = {}
        for site in self.taken_steps():
            for way in self.drive.ways(site):
                loops = [loop for frame in way for loop in frame.loops]
                apart = begun_anew(self.syntax, way, models_of(self.module, self.sites, site))
                apart |= initialized_anew(self.sites, self.drive, way)
                loop = driving(self, [loop for loop in loops if loop not in apart])
                if loop is not None:
                    chosen.setdefault(loop, []).append(site)
                    around.setdefault(loop, set()).update(loops[loops.index(loop) + 1 :])
        for loop in list(
            chosen
        ):  # steps in an inner loop and steps beside it: the outer one counts the rounds
            outer = [o for o in chosen if o in around[loop]]
            if outer and not self.iterates_data(loop) and not self._numbers_rows(loop):
                chosen[outer[-1]] += chosen.pop(loop)
        for outside in list(dict.fromkeys(o for loop in chosen for o in self._rounds(loop, around[loop]))):
            turns = [loop for loop in chosen if outside in self._rounds(loop, around[loop])]
            if len(turns) > 1:
                beyond = {o for loop in turns for o in around[loop] if not self.syntax.inside(o, outside)}
                around[outside] = around.get(outside, set()) | beyond - {outside}
                chosen[outside] = [step for loop in turns for step in chosen.pop(loop)]
        for loop in [loop for loop in chosen if self._is_of_a_round(loop, chosen)]:
            chosen.pop(loop)
        for loop in list(chosen):
            inner = [o for o in chosen if loop in around.get(o, ()) and self._is_over_all(o)]
            if not inner or self.is_over_data(loop):
                continue
            # its turns are epochs, of which there are as many as before: those over their batches are fewer
            steps = chosen.pop(loop)
            gathered = [s for s in steps if applies_what_is_gathered(self, loop, inner, s)]
            chosen[inner[-1]] = list(dict.fromkeys([*chosen[inner[-1]], *gathered]))
            self._beside += [(loop, inner[-1], s) for s in steps if s not in gathered]
        found = [
            Driver(loop, self.iterable(loop), self._loop_kind(loop), is_indexed(self, loop), steps)
            for loop, steps in chosen.items()
        ]
        return sorted(found, key=lambda d: (d.loop.lineno, d.loop.col_offset))

    @cached_property
    def beside(self) -> list[ast.Call]:
        """The calls by which a turn of a loop takes a step of its own, beside the loop in it over all batches, which takes such
        steps as well."""
        driven = {step for driver in self.drivers for step in driver.steps}
        return [
            frame.node
            for loop, inner, step in self._beside
            if step in driven
            for way in self.drive.ways(step)
            for frame in way
            if loop in frame.loops and inner not in frame.loops and isinstance(frame.node, ast.Call)
        ]

    def _numbers_rows(self, loop: Loop) -> bool:
        """Whether a loop's number selects rows, up to how many batches of them there are: `for i in range(len(x) // 32):`."""
        return isinstance(loop, ast.For) and is_indexed(self, loop) and self._is_by_rows(loop)

    def _is_over_all(self, loop: Loop) -> bool:
        """Whether a loop goes through all batches of its data, and not a few of them: `for rows in data.take(1):`."""
        e = self.iterable(loop)
        if e is None or not self.is_over_data(loop) or is_small(self, loop):
            return False
        made = [e, *(o.node for o in self.values.origins(e))]
        takes = [n for n in made if isinstance(n, ast.Call) and self.names.last(n.func) in ("take", "islice")]
        return not takes and not self.kinds.is_literal(e)

    def _rounds(self, loop: Loop, around: set[Loop]) -> list[Loop]:
        """The next loop around one that only counts how often a step is repeated: where several such loops take turns in it
        (`for _ in range(k): …` for the generator, then for its critic), how often each does is a proportion that stays, and
        the loop around counts the rounds. How many batches there are is counted by dividing something, or by a length."""
        # those of its function: a loop that calls the function may stand further down
        enclosing = [o for o in around if self.syntax.inside(loop, o)]
        if not enclosing or self.is_over_data(loop) or isinstance(loop, ast.While):
            return []
        nearest = max(enclosing, key=lambda o: (o.lineno, o.col_offset))
        return [nearest] if not self._is_by_rows(loop) and counts(self, nearest) else []

    def _is_by_rows(self, loop: ast.For | ast.AsyncFor) -> bool:
        """Whether a loop counts batches: by a quotient, or a length."""
        return any(
            isinstance(n, ast.BinOp)
            and isinstance(n.op, (ast.Div, ast.FloorDiv))
            or isinstance(n, ast.Call)
            and self.names.last(n.func) in ("len", "cardinality")
            for n in self.values.depends([loop.iter])
        )

    def _is_of_a_round(self, loop: Loop, chosen: dict[Loop, list[ast.Call]]) -> bool:
        """Whether a loop repeats a step, `for _ in range(k):` for a critic, beside a step that is taken once in its function,
        which is called from elsewhere: how often it does is a proportion that stays."""
        function = self.syntax.function(loop)
        if function is None or isinstance(loop, ast.While):
            return False
        if self.is_over_data(loop) or self._is_by_rows(loop):
            return False
        driven = {step for steps in chosen.values() for step in steps}
        beside = [s for s in self.taken_steps() if s not in driven and self.syntax.function(s) is function]
        return any(way[-1].function is not None for s in beside for way in self.drive.ways(s))

    @cached_property
    def undriven(self) -> list[ast.Call]:
        """Steps of which no loop can be told that brings them their data."""
        driven = {step for driver in self.drivers for step in driver.steps}
        return [s for s in self.taken_steps() if s not in driven]

    def trains(self, call: ast.Call) -> bool:
        """Whether a call takes a step, in what it runs."""
        return self.drive.reaches(call, set[ast.AST](self.taken_steps()))

    def taken_steps(self) -> list[ast.Call]:
        """The places that train by hand."""
        by_hand = self.sites.steps_by_hand
        updates = [
            u.call
            for u in self.sites.updates
            if u.step_of is None or by_hand and self.syntax.function(u.call) in by_hand
        ]
        runs = [run.call for run in self.sites.graph.trainings]
        return updates + runs + [f.call for f in self.sites.fits if f.method == "train_on_batch"]

    def iterable(self, loop: Loop) -> ast.expr | None:
        """What a loop iterates, without `enumerate` and `tqdm` around it; the dataset whose elements it gets one for one."""
        if isinstance(loop, ast.While):
            return None
        inside = self.inside(loop.iter)
        return dataset_of(self, inside) or inside

    def inside(self, e: ast.expr) -> ast.expr:
        """An expression without `enumerate` and `tqdm` around it, here or where a name for the whole is bound."""
        while True:
            made = self._bar(e) if isinstance(e, ast.Name) else e
            if isinstance(made, ast.Call) and self.names.last(made.func) == "trange":
                return made
            if not isinstance(made, ast.Call) or not looked_through(self.module, made):
                return e
            e = made.args[0]

    def without_bars(self, e: ast.expr) -> ast.expr:
        """An expression without what only shows how far a loop has come: `enumerate(x)` of `tqdm(enumerate(x))`."""
        while True:
            made = self._bar(e) if isinstance(e, ast.Name) else e
            if not isinstance(made, ast.Call) or self.names.last(made.func) == "trange":
                return made or e
            if numbered(made) is not None or not looked_through(self.module, made):
                return made
            e = made.args[0]

    def _bar(self, name: ast.Name) -> ast.Call | None:
        """The `tqdm(…)` or `enumerate(…)` that a name stands for, which can be gone through only once: in this place. What
        else is done with it shows something (`bar.set_postfix(…)`)."""
        bindings = self.module.scopes.reaching(name)
        b = bindings[0] if len(bindings) == 1 and bindings[0].kind in ("assign", "with") else None
        if b is None or b.path or not isinstance(b.value, ast.Call):
            return None
        around = self.names.last(b.value.func) in ONCE and self.values.callee(b.value) is None
        return (
            b.value if around and all(self._only_shows(use, name) for use in self.pipelines.uses(b)) else None
        )

    def _only_shows(self, use: ast.expr, name: ast.Name) -> bool:
        return use is name or isinstance(self.syntax.parent[use], ast.Attribute)

    def _loop_kind(self, loop: Loop) -> Kind:
        e = self.iterable(loop)
        if e is None:
            return Kind.UNKNOWN
        return Kind.RANGE if self.kinds.is_range(e) else self.kinds.of(e)

    def iterates_data(self, loop: Loop) -> bool:
        """Whether a loop's variable is the data of a step: not a number, not a model or a layer."""
        e = self.iterable(loop)
        if e is None or isinstance(loop, ast.While) or self.kinds.is_range(e) or self.kinds.is_literal(e):
            return False
        kind = self.kinds.of(e)
        if kind in (Kind.DATASET, Kind.SEQUENCE, Kind.GENERATOR):
            return True
        if isinstance(e, ast.Call) and self.names.last(e.func) in ("split", "items", "keys", "count"):
            return False
        targets = bound_names(loop.target)
        for n in (n for s in loop.body for n in walk(s)):
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in targets:
                return False  # `for model in models: model(x)`
            if isinstance(n, ast.Attribute) and n.attr in _OF_MODELS and names_in(n.value) & targets:
                return False
        return any(not targets.isdisjoint(names_in(s)) for s in loop.body)

    def is_over_data(self, loop: Loop) -> bool:
        """Whether a loop's variable is the data of a step, or selects it."""
        return self.iterates_data(loop) or is_indexed(self, loop)

    def draws(self, loop: Loop) -> bool:
        """Whether a loop's body gets itself data: `next(it)`, a random batch."""
        return any(map(self.is_drawn, self.calls_in(loop)))

    def is_drawn(self, n: ast.AST) -> bool:
        """Whether something is a call that gives another batch each time: `next(it)`, a random one."""
        last = self.names.last(n.func) if isinstance(n, ast.Call) else ""
        return bool(DRAWING.search(last)) and "on_batch" not in last

    @once
    def calls_in(self, place: ast.stmt) -> list[ast.Call]:
        """The calls in a loop's body, or in another statement, and in the functions of this module that it calls."""
        todo: list[tuple[ast.AST, int]] = [
            (s, 0) for s in (place.body if isinstance(place, LOOPS) else [place])
        ]
        seen: set[ast.AST] = set()
        found: list[ast.Call] = []
        while todo:
            root, depth = todo.pop()
            if root in seen:
                continue
            seen.add(root)
            for call in (n for n in walk(root) if isinstance(n, ast.Call)):
                found.append(call)
                callee = self.values.callee(call)
                if isinstance(callee, FUNCTIONS) and depth < 3:
                    todo.append((callee, depth + 1))
        return found

    @once
    def carries_state(self, driver: Driver) -> bool:
        """Whether a step gets what the step before gave, as a recurrent network's state: the order of the batches then means
        something."""
        return self._carried.is_in(driver)

    @once
    def next_calls(self, driver: Driver) -> list[ast.expr]:
        """The pipelines that a loop draws elements to train on from by `next(iterator)`, here or in functions that it calls."""
        found: list[tuple[ast.Call, ast.expr]] = []
        for call in self.calls_in(driver.loop):
            source: ast.expr
            if isinstance(call.func, ast.Name) and call.func.id == "next" and call.args:
                source = call.args[0]
            elif isinstance(call.func, ast.Attribute) and call.func.attr in ("get_next", "next"):
                source = call.func.value
            else:
                continue
            fresh = isinstance(source, ast.Call) and self.names.last(source.func) == "iter"
            if fresh or self.graph_iterators.only_measures(source):
                continue  # `next(iter(ds))` only ever sees the first
            found += [(call, dataset) for dataset in datasets_drawn(self, source)]
        goes_through = driver.kind is Kind.DATASET
        others = [call for call, _ in found] if len(found) > 1 or goes_through else []
        shown = {c for c in others if are_only_shown(self.module, self.drive, self.taken_steps(), c)}
        return [
            source for call, source in found if call not in shown or (shown == {*others} and not goes_through)
        ]

    # ------------------------------------------------------------------ all of them

    @cached_property
    def dataset_feeds(self) -> list[ast.expr]:
        """The `tf.data` pipelines that training consumes, as expressions at the place that does."""
        found = [f.x for f in self.fits if f.kind is Kind.DATASET]
        found += [e for driver in self.drivers for e in self.feeds_of(driver)]
        return list(dict.fromkeys(found + self.graph_feeds))

    def feeds_of(self, driver: Driver) -> list[ast.expr]:
        """Those of them that a loop goes through, or takes elements from."""
        found: list[ast.expr] = []
        if driver.iterable is not None and driver.kind is not Kind.RANGE:
            found += [e for e in self._zipped(driver.iterable) if self.pipelines.is_dataset(e)]
        drawn = self.next_calls(driver)
        if driver.kind in (Kind.RANGE, Kind.UNKNOWN):
            return found + drawn
        return found + [e for e in drawn if self.may_train_on(driver, e)]

    def may_train_on(self, driver: Driver, e: ast.expr) -> bool:
        """Whether the steps of a loop are taken on something, as far as that can be followed."""
        made_of = self.trained_on(driver)
        return e in made_of or len(made_of) >= _FAR

    @once
    def trained_on(self, driver: Driver) -> set[ast.AST]:
        """What the steps of a loop are taken on: all that the calls in it are given that take steps."""
        steps = set[ast.AST](self.taken_steps())
        taken = [c for c in self.calls_in(driver.loop) if c in steps or self.drive.reaches(c, steps)]
        return set(self.values.depends([e for c in taken for e in arguments(c)], _FAR))

    @cached_property
    def graph_feeds(self) -> list[ast.expr]:
        """The datasets that a TF1 graph trains on, at the place that makes an iterator over them."""
        return [e for e in self.graph_iterated if self.pipelines.is_dataset(e)]

    @cached_property
    def graph_iterated(self) -> list[ast.expr]:
        """What the iterators of a TF1 graph iterate for training, datasets of other files included."""
        return self.graph_iterators.trained_on

    @cached_property
    def graph_iterators(self) -> GraphIterators:
        return GraphIterators(self.module, self.sites, self.drive)

    def _zipped(self, e: ast.expr) -> list[ast.expr]:
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "zip":
            return list(e.args)
        return [e]


__all__ = ["Driver", "Feeding", "FitFeed", "Kind"]
