"""What feeds each training step, and what that means for several ranks (weak or strong scaling)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.compiled import Compiled
from horovodize.facts.feeds.feed_values import FeedValues
from horovodize.facts.feeds.filled_rows import FilledRows
from horovodize.facts.feeds.games import Games, loops_around
from horovodize.facts.feeds.loop_changes import LoopChanges
from horovodize.facts.feeds.losses import Losses
from horovodize.facts.feeds.one_batch import OneBatch
from horovodize.facts.feeds.over_rows import Over
from horovodize.facts.feeds.own_layers import unseen_layers
from horovodize.facts.feeds.row_noise import arrays
from horovodize.facts.feeds.shapes import Shapes
from horovodize.facts.feeds.trained_input import TrainedInputs
from horovodize.facts.feeds.trained_losses import TrainedLosses
from horovodize.facts.feeds.turn_parts import Part, is_numbers
from horovodize.facts.feeds.turns import Turns
from horovodize.python.module import Module
from horovodize.python.syntax import LOOPS, Loop, argument, is_one
from horovodize.summary.call_paths import Drive
from horovodize.summary.feeding import Feeding, FitFeed, Kind
from horovodize.summary.selecting import is_indexed
from horovodize.summary.site_kinds import Update
from horovodize.summary.sites import Sites
from horovodize.summary.sparse_inputs import takes_sparse

if TYPE_CHECKING:
    from horovodize.facts.differences.uniform import Uniformity

_ONE_BATCH = "the batch holds all rows"
_PERHAPS_ALL = "it can't be seen whether this is all of the data"
_ALL_DRAWN = {Part.DRAWN, Part.NUMBER, Part.TURN}
_FAR = 200  # nodes that what a loop goes through is made of
_NOT_SEEN = "where the data of this step come from can't be seen"


class Feed(Enum):
    """What a step is fed with."""

    BATCH = "a batch of a larger data set"
    WHOLE = "all rows, in every step"
    ONE_BATCH = "all rows of a data set, as its only batch"
    DRAW = "what it draws at random"
    SIMULATION = "what a game gives that it plays"
    INPUT = "what is trained is the input itself"
    NONE = "no rows"
    UNSEEN = "not seen"


@dataclass(frozen=True, eq=False)
class Step:
    """A place that trains, and what feeds it.

    node      the place to point to
    reason    why, in a sentence
    rows      WHOLE: the expressions by which the same rows come into every step
    over      WHOLE: what the loss is over them
    vague     what else is the same in every step, and can't be seen to be rows or not
    batches   where each step gets other data: `x[i : i + n]`, `next(batches)`
    fixed     WHOLE: what is filled by a size that may be the number of rows: `tf.zeros((n, 1))`"""

    site: ast.Call
    feed: Feed
    node: ast.AST
    reason: str
    rows: tuple[ast.expr, ...] = ()
    over: Over = Over.UNKNOWN
    vague: tuple[ast.expr, ...] = ()
    batches: tuple[ast.AST, ...] = ()
    fixed: tuple[ast.Call, ...] = ()


class Steps:
    """The steps of one module."""

    def __init__(
        self,
        module: Module,
        sites: Sites,
        drive: Drive,
        feeding: Feeding,
        uniform: Callable[[], Uniformity],
    ) -> None:
        self.module, self.sites, self.drive, self.feeding, self._uniform = (
            module,
            sites,
            drive,
            feeding,
            uniform,
        )
        self.shapes = Shapes(module, feeding.kinds)
        self.compiled = Compiled(module, sites, self.shapes)
        self._one_batch = OneBatch(module, feeding, self.shapes)
        self._trained_inputs = TrainedInputs(module)
        self._changes, self.losses = LoopChanges(module, feeding), TrainedLosses(module, sites, drive)
        self.feeds = FeedValues(feeding, self.losses, self._changes, self.turns)
        self.placeholders = self.feeds.placeholders
        self._games = Games(module, sites, drive, feeding)
        self._known: dict[ast.Call, Step] = {}
        self._learnt_from: dict[ast.Call, ast.AST | None] = {}
        self._filled = FilledRows(module, feeding.kinds, self.shapes)
        self._read: list[Turns] = []
        self._as_rows: frozenset[ast.AST] = frozenset()

    def of(self, site: ast.Call) -> Step:
        """What feeds a place that trains, found out once."""
        if site not in self._known:
            self._known[site] = self._of_one_batch(self._find(site))
        return self._known[site]

    def _find(self, site: ast.Call) -> Step:
        """What feeds a step; what is filled by the size of its rows is read as rows, too."""
        self._read, self._as_rows = [], frozenset()
        step = self._find_once(site)
        filled = {call: before for turns in self._read for call, before in turns.filled.items()}
        if step.feed is not Feed.WHOLE or not filled:
            return step
        self._as_rows, unknown = self._filled.beside(step.rows, filled)
        if self._as_rows:
            step = self._find_once(site)
        self._as_rows = frozenset()
        return replace(step, fixed=tuple(unknown))

    def _find_once(self, site: ast.Call) -> Step:
        update = self.sites.update_of(site)
        if update is not None:
            return self._of_update(update)
        if any(run.call is site for run in self.sites.graph.trainings):
            return self._of_run(site)
        fit = self.feeding.fit_of(site)
        return self._of_fit(fit) if fit is not None else self._of_train_on_batch(site)

    def _of_one_batch(self, step: Step) -> Step:
        """A step as it is, or, where its batch holds all rows of the data set, as what that makes of it."""
        if step.feed is not Feed.BATCH:
            return step
        fit = self.feeding.fit_of(step.site)
        if fit is not None:
            whole = fit.kind is Kind.DATASET and self.is_one_batch(fit.x)
            return (
                replace(step, feed=Feed.ONE_BATCH, reason=_ONE_BATCH, over=self.compiled.over(fit.fit.model))
                if whole
                else step
            )
        rows = self._one_batch.rows_of(step.site)
        if rows is None:
            return step
        update = self.sites.update_of(step.site)
        losses = Losses(self.module, rows, self.sites.is_tf1, self.shapes)
        over = (
            {losses.trained(t, c) for t, c in self.losses.of_update(update)} if update is not None else set()
        )
        only = over.pop() if len(over) == 1 else Over.UNKNOWN
        return replace(step, feed=Feed.ONE_BATCH, reason=_ONE_BATCH, over=only)

    def is_one_batch(self, feed: ast.expr) -> bool:
        """Whether a data set of arrays is one batch: `from_tensor_slices((x, y)).batch(len(x))`."""
        return self._one_batch.holds(feed)

    # ------------------------------------------------------------------ the four ways to train

    def _of_train_on_batch(self, site: ast.Call) -> Step:
        turns = self.turns()
        made = self.losses.made_in(site.func.value if isinstance(site.func, ast.Attribute) else None)
        given = [argument(site, "x", 0), argument(site, "y", 1), argument(site, "sample_weight")]
        for context in self.losses.contexts(site, made):
            for e in given:
                if e is not None:
                    turns.read(e, context)
        if turns.rows:  # what Keras is given beside rows has as many of them
            beside = [part for e in given if e is not None for part in arrays_in(e) if part in turns.vague]
            turns.rows.update(dict.fromkeys(beside))
            for part in beside:
                turns.vague.pop(part)
        step = self._step(site, turns, Over.UNKNOWN)
        if step.feed is Feed.WHOLE and isinstance(site.func, ast.Attribute):
            return replace(step, over=self.compiled.over(site.func.value, step.rows))
        return replace(step, feed=Feed.UNSEEN, reason=_NOT_SEEN) if step.feed is Feed.NONE else step

    def _of_update(self, update: Update) -> Step:
        turns, targets = self.turns(), list(self.losses.of_update(update))
        for target, context in targets:
            turns.read(target, context)
        if not targets:
            return Step(update.call, Feed.UNSEEN, update.call, "the loss of this step can't be seen")
        image = self._trained_inputs.of(update, [t for t, _ in targets])
        if image is not None and not turns.moving:
            said = "what is trained here is the input of the model: there are no rows to divide"
            return Step(update.call, Feed.INPUT, image, said)
        losses = Losses(self.module, set(turns.rows), self.sites.is_tf1, self.shapes)
        over = {losses.trained(target, context) for target, context in targets}
        step = self._step(update.call, turns, over.pop() if len(over) == 1 else _worst(over))
        if (passed := self._gone_through(step)) is not None:
            return replace(
                step, feed=Feed.UNSEEN, node=passed.iter, reason=_PERHAPS_ALL, vague=(passed.iter,)
            )
        if update.step_of is None or step.feed in (Feed.BATCH, Feed.DRAW):
            return step
        # `fit` gives a batch to each step; what is made of something else is asked about, not divided here.
        return replace(step, feed=Feed.UNSEEN, reason=_NOT_SEEN, vague=(*step.vague, *step.rows))

    def _gone_through(self, step: Step) -> ast.For | None:
        """The loop over data that each turn of a step's loop goes through as a whole, and of which the step is made: of the
        gradients that `for x, y in data: …` gathers in each epoch there is one update."""
        driver = next((d for d in self.feeding.drivers if step.site in d.steps), None)
        passed = [b for b in step.batches if isinstance(b, ast.For)]
        if driver is None or driver.loop in passed or not passed or len(passed) < len(step.batches):
            return None
        if self.feeding.is_over_data(driver.loop) or any(self._is_of_turn(p, driver.loop) for p in passed):
            return None
        around = {loop for way in self.drive.ways(step.site) for frame in way for loop in frame.loops}
        syntax, function = self.module.syntax, self.module.syntax.function(step.site)
        in_turn = [
            p for p in passed if syntax.inside(p, driver.loop) or (function and syntax.inside(p, function))
        ]
        return passed[0] if len(in_turn) == len(passed) and not around & {*passed} else None

    def _is_of_turn(self, passed: ast.For, loop: Loop) -> bool:
        """Whether what a loop goes through is another one in each turn of one around: its chunks, the tasks it draws."""
        names = (n for n in self.module.values.depends([passed.iter], _FAR) if isinstance(n, ast.Name))
        bound = (b.statement for n in names for b in self.module.scopes.reaching(n) if b.kind != "parameter")
        return any(b is loop or self.module.syntax.inside(b, loop) for b in bound if b is not passed)

    def _of_run(self, site: ast.Call) -> Step:
        turns = self.turns()
        fed = self.feeds.given(site)
        prepared = self.sites.graph._prepared(site)
        by_key: dict[ast.AST, Part] = {}
        for context in self.losses.contexts(site, self.losses.sessions):
            if prepared is not None:  # `step = session.make_callable(train_op, [x])`, then `step(rows)`
                for value in site.args:
                    turns.read(value, context)
            elif fed is not None:
                self.feeds.read(fed, context, turns, by_key)
        graph = self.turns(graph=True)
        placeholders = self.placeholders.all
        graph.fed = dict.fromkeys(placeholders, Part.COMPUTED)
        losses_at = list(self.losses.of_run(site))
        for loss, context in losses_at:
            graph.read(loss, context)
        turns.moving.update(graph.moving)
        turns.drawn.update(dict.fromkeys(graph.drawn))
        turns.unseen.update({} if turns.rows else graph.unseen)
        unfed = {
            p
            for p in placeholders
            if p in graph.computed and p not in by_key and self.placeholders.takes_rows(p)
        }
        turns.unseen.update(dict.fromkeys([site] if unfed and prepared is None and not turns.moving else []))
        rows = {k for k, part in by_key.items() if part is Part.ROWS}
        losses = Losses(self.module, rows | set(graph.rows), is_v1=True, shapes=self.shapes)
        turns.rows.update(graph.rows)
        over = {losses.trained(loss, context) for loss, context in losses_at}
        return self._step(site, turns, over.pop() if len(over) == 1 else _worst(over))

    def _of_fit(self, fed: FitFeed) -> Step:
        """All rows in every step, where the batch holds at least as many as there are."""
        call = fed.fit.call
        size = argument(call, "batch_size", 2)
        steps = fed.fit.steps
        rows = tuple(part for e in (fed.x, fed.y, fed.weight) if e is not None for part in arrays_in(e))
        if takes_sparse(self.module, fed.fit.model):
            return Step(call, Feed.BATCH, call, "rows that belong together")
        one = isinstance(steps, ast.Constant) and steps.value == 1 and fed.y is not None
        parts = [part for e in rows for part in self._parts(e)]  # `fit(graph, …)` of `graph = [rows, edges]`
        held = [*rows, *parts]
        if fed.y is not None and (one or (size is not None and self._one_batch.has_size_of(size, *held))):
            return self._of_all_rows(fed, size or call, rows)
        counts = {self.shapes.rows(e) for e in parts} - {None}
        named = fed.kind in (Kind.MAPPING, Kind.ARRAYS) and fed.x in parts
        count = counts.pop() if len(counts) == 1 and not named else None
        batch = self.feeding.kinds.constant(size) if size is not None else 32
        if fed.y is not None and count is not None and batch is not None and count <= batch:
            return self._of_all_rows(fed, call, rows)
        unseen = fed.kind is Kind.UNKNOWN or (fed.kind is Kind.GENERATOR and is_one(steps))
        if fed.y is None and unseen and steps is not None:  # without, it is left whole
            return Step(call, Feed.UNSEEN, fed.x, _PERHAPS_ALL, vague=(fed.x,))
        return Step(call, Feed.BATCH, call, "batches of the rows")

    def _parts(self, e: ast.expr) -> list[ast.expr]:
        """The arrays of a list that a name stands for: `rows` and `edges` of `graph = [rows, edges]`; else what is given."""
        made = [o.node for o in self.module.values.origins(e)]
        whole = made[0] if len(made) == 1 else None
        return (arrays_in(whole) if isinstance(whole, (ast.List, ast.Tuple, ast.Dict)) else []) or [e]

    def _of_all_rows(self, fed: FitFeed, node: ast.AST, rows: tuple[ast.expr, ...]) -> Step:
        over = self.compiled.over(fed.fit.model, rows)
        if any(self._one_batch.has_size_of(e, *rows) for e in self.compiled.beside(fed.fit.model)):
            over = Over.COUPLED  # each row has a place for every row: the adjacency matrix of a graph
        return Step(fed.fit.call, Feed.WHOLE, node, _ONE_BATCH, rows, over)

    # ------------------------------------------------------------------ asked of batches

    def over(self, site: ast.Call, rows: set[ast.AST]) -> Over:
        """What the loss of a place that trains is over rows that are given."""
        update = self.sites.update_of(site)
        targets = self.losses.of(site)
        losses = Losses(self.module, rows, update is None or self.sites.is_tf1, self.shapes)
        over = {losses.trained(target, context) for target, context in targets}
        return over.pop() if len(over) == 1 else _worst(over)

    def losses_of(self, site: ast.Call) -> list[ast.expr]:
        """The losses that a place trains by hand, or that a session's run does."""
        return [target for target, _ in self.losses.of(site)]

    def unseen_layer(self, site: ast.Call) -> ast.Call | None:
        """Where a layer is made that a step by hand is taken through, and that this file doesn't show; None where none is."""
        return next(unseen_layers(self.module, [target for target, _ in self.losses.of(site)]), None)

    def changing(self, site: ast.Call) -> tuple[list[ast.AST], list[ast.AST]]:
        """(what is selected or dealt out for each step of a tape, what is drawn for it)."""
        turns = self.turns()
        update = self.sites.update_of(site)
        for target, context in self.losses.of_update(update) if update is not None else ():
            turns.read(target, context)
        return list(turns.moving), [*turns.drawn, *turns.unseen, *turns.played]

    def turns(self, *, graph: bool = False) -> Turns:
        turns = Turns(self.module, self.feeding, self._changes, self._as_rows, graph=graph)
        self._read.append(turns)
        return turns

    # ------------------------------------------------------------------ what it comes to

    def _step(self, site: ast.Call, turns: Turns, over: Over) -> Step:
        def said(feed: Feed, places: object, reason: str) -> Step:
            node = next(iter(places)) if isinstance(places, dict) and places else site
            batches = (*turns.moving, *turns.drawn)
            return Step(site, feed, node, reason, tuple(turns.rows), over, tuple(turns.vague), batches)

        if turns.played:
            return said(Feed.SIMULATION, turns.played, "each rank plays a game of its own")
        if turns.moving:
            return said(Feed.BATCH, turns.moving, "each step gets another batch")
        if not self._is_repeated(site):
            return said(Feed.UNSEEN, {}, "there is one step, as far as can be seen")
        if turns.unseen:
            return said(Feed.UNSEEN, turns.unseen, _NOT_SEEN)
        if turns.rows:
            noise = [d for d in turns.drawn if self.shaped_by_rows(d)]
            others = [d for d in turns.drawn if d not in noise]
            if others and set(turns.read_as) <= _ALL_DRAWN and all(map(self._mixes_rows, others)):
                return said(Feed.DRAW, turns.drawn, "each step draws its data at random")
            if others:
                return said(
                    Feed.UNSEEN,
                    turns.drawn,
                    "some of the data are drawn again in each step, others stay the same",
                )
            if not self._share_noise(turns, noise):
                return said(
                    Feed.UNSEEN, turns.rows, "every step sees the same data, with noise of another shape"
                )
            return said(Feed.WHOLE, turns.rows, "every step sees the same data")
        if turns.vague:
            return said(Feed.UNSEEN, turns.vague, _PERHAPS_ALL)
        if turns.drawn:
            return said(Feed.DRAW, turns.drawn, "each step draws its data at random")
        played = self._games.played(site)
        if played is not None:
            return said(Feed.SIMULATION, {played: None}, "each rank plays a game of its own")
        if self._may_get_data(site):
            return said(Feed.UNSEEN, {}, _NOT_SEEN)
        return said(Feed.NONE, {}, "no rows come into this step: every rank would compute the same")

    def game(self, site: ast.Call) -> ast.AST | None:
        """Where the game moves on that a step learns from, which each rank plays for itself: `env.step(action)`; None where it
        learns from something else."""
        if site not in self._learnt_from:
            step = self.of(site)
            learns = step.feed not in (Feed.SIMULATION, Feed.WHOLE, Feed.INPUT, Feed.NONE)
            played = step.node if step.feed is Feed.SIMULATION else None
            self._learnt_from[site] = self._games.learnt_from(site) if learns else played
            if learns and self._learnt_from[site] is None:
                self._learnt_from[site] = self._remembered(site)
        return self._learnt_from[site]

    def _remembered(self, site: ast.Call) -> ast.AST | None:
        """The same of a game that no loop around a `fit` plays, but whose moves it is given again and again: a thread plays."""
        fed = self.feeding.fit_of(site)
        if fed is None or not self._is_repeated(site):
            return None
        parts = [part for e in (fed.x, fed.y) if e is not None for part in arrays_in(e)]
        reasons = (r for part in parts for r in self._uniform().of_values.reasons(part))
        return next((r.where for r in reasons if isinstance(r, Varies) and r.kind is Source.GAME), None)

    def _may_get_data(self, site: ast.AST) -> bool:
        """Whether data are got somewhere around a step, though they are not seen to come into it."""
        feeding = self.feeding
        if feeding.graph_iterated:
            return True
        return any(
            feeding.iterates_data(loop) or is_indexed(feeding, loop) or feeding.draws(loop)
            for loop in loops_around(self.drive, site)
        )

    def _is_repeated(self, site: ast.AST) -> bool:
        return any(
            frame.loops or frame.function in self.sites.own_steps
            for way in self.drive.ways(site)
            for frame in way
        )

    def shaped_by_rows(self, drawn: ast.AST) -> bool:
        """Whether what is drawn is noise on rows: as many of it as of them."""
        return bool(arrays(self.module, drawn))

    def _mixes_rows(self, drawn: ast.AST) -> bool:
        """Whether what is drawn makes rows of its own of an array, `weights @ x`; a mask on that, a dropout, makes none."""
        products = [n.left for n in self.module.syntax.every(ast.BinOp) if isinstance(n.op, ast.MatMult)]
        products += [c.args[0] for c in self.module.calls_called("matmul", "dot") if c.args]
        return any(o.node is drawn for e in products for o in self.module.values.origins(e))

    def _share_noise(self, turns: Turns, noise: list[ast.AST]) -> bool:
        """Adds to the rows of a step what noise on them is shaped by, so that there is as much of it as of a rank's rows;
        whether it is seen where that is."""
        for drawn in noise:
            around = turns.drawn[drawn]
            if around is None:
                continue
            for array in arrays(self.module, drawn):
                context = around.elsewhere(array, self.module.syntax)
                if not turns.is_in_turn(array, context):
                    return False
                turns.read(array, context)
        return True


def arrays_in(e: ast.expr) -> list[ast.expr]:
    """The arrays of `[a, b]` and `{"a": a}`; an array of numbers that are written out is one."""
    if isinstance(e, ast.Dict) and None not in e.keys:
        return e.values
    listed = isinstance(e, (ast.List, ast.Tuple)) and not is_numbers(e)
    return e.elts if listed and isinstance(e, (ast.List, ast.Tuple)) else [e]


def _worst(found: set[Over]) -> Over:
    return Over.COUPLED if Over.COUPLED in found else Over.UNKNOWN


__all__ = ["LOOPS", "Feed", "Step", "Steps", "arrays_in"]
