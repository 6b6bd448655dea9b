"""What feeds each training step, and what that means for several ranks (weak or strong scaling)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from horovodize.facts.compiled import Compiled
from horovodize.facts.contexts import Context, context_of
from horovodize.facts.filled_rows import FilledRows
from horovodize.facts.games import Games, loops_around
from horovodize.facts.loop_changes import LoopChanges
from horovodize.facts.losses import Losses
from horovodize.facts.one_batch import OneBatch
from horovodize.facts.over_rows import Over
from horovodize.facts.own_layers import unseen_layers
from horovodize.facts.row_noise import arrays
from horovodize.facts.shapes import Shapes
from horovodize.facts.trained_input import TrainedInputs
from horovodize.facts.turn_parts import Part, is_numbers
from horovodize.facts.turns import Turns
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.feeding import Feeding, FitFeed, Kind
from horovodize.summary.graph import Graph
from horovodize.summary.module import Module
from horovodize.summary.selecting import is_indexed
from horovodize.summary.sites import Sites, Update
from horovodize.summary.sparse_inputs import takes_sparse
from horovodize.summary.syntax import CALLABLES, FUNCTIONS, LOOPS, Loop, argument

_ONE_BATCH = "the batch holds all rows"
_PERHAPS_ALL = "it can't be seen whether this is all of the data"
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

    def __init__(self, module: Module, sites: Sites, drive: Drive, feeding: Feeding) -> None:
        self.module, self.sites, self.drive, self.feeding = module, sites, drive, feeding
        self.shapes = Shapes(module, feeding.kinds)
        self.compiled = Compiled(module, sites, self.shapes)
        self._one_batch = OneBatch(module, feeding, self.shapes)
        self._trained_inputs = TrainedInputs(module)
        self._changes = LoopChanges(module, feeding)
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
        update = next((u for u in self.sites.updates if u.call is site), None)
        if update is not None:
            return self._of_update(update)
        if any(run.call is site for run in self.sites.graph.trainings):
            return self._of_run(site)
        fit = next((f for f in self.feeding.fits if f.fit.call is site), None)
        return self._of_fit(fit) if fit is not None else self._of_train_on_batch(site)

    def _of_one_batch(self, step: Step) -> Step:
        """A step as it is, or, where its batch holds all rows of the data set, as what that makes of it."""
        if step.feed is not Feed.BATCH:
            return step
        fit = next((f for f in self.feeding.fits if f.fit.call is step.site), None)
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
        update = next((u for u in self.sites.updates if u.call is step.site), None)
        losses = Losses(self.module, rows, self.sites.is_tf1, self.shapes)
        over = {losses.trained(t, c) for t, c in self._targets(update)} if update is not None else set()
        only = over.pop() if len(over) == 1 else Over.UNKNOWN
        return replace(step, feed=Feed.ONE_BATCH, reason=_ONE_BATCH, over=only)

    def is_one_batch(self, feed: ast.expr) -> bool:
        """Whether a data set of arrays is one batch: `from_tensor_slices((x, y)).batch(len(x))`."""
        return self._one_batch.holds(feed)

    # ------------------------------------------------------------------ the four ways to train

    def _of_train_on_batch(self, site: ast.Call) -> Step:
        turns = self._turns()
        given = [argument(site, "x", 0), argument(site, "y", 1), argument(site, "sample_weight")]
        for context in self._contexts(site, self._made_in(self._optimizers(site))):
            for e in given:
                if e is not None:
                    turns.read(e, context)
        step = self._step(site, turns, Over.UNKNOWN)
        if step.feed is Feed.WHOLE and isinstance(site.func, ast.Attribute):
            return replace(step, over=self.compiled.over(site.func.value, step.rows))
        return replace(step, feed=Feed.UNSEEN, reason=_NOT_SEEN) if step.feed is Feed.NONE else step

    def _of_update(self, update: Update) -> Step:
        turns, targets = self._turns(), list(self._targets(update))
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
        if update.step_of is None or step.feed in (Feed.BATCH, Feed.DRAW):
            return step
        # `fit` gives a batch to each step; what is made of something else is asked about, not divided here.
        return replace(step, feed=Feed.UNSEEN, reason=_NOT_SEEN, vague=(*step.vague, *step.rows))

    def _targets(self, update: Update) -> Iterator[tuple[ast.expr, Context]]:
        """The losses of an update, each in a context."""
        without = self._made_in(update.optimizer)
        for gradient in update.gradients:
            target = argument(gradient, "target", 0)
            if target is not None:
                for context in self._contexts(gradient, without):
                    yield target, context
        loss = argument(update.call, "loss", 0) if update.method == "minimize" else None
        if loss is None:
            return
        for context in self._contexts(update.call, without):
            functions = [o.node for o in self.module.values.origins(loss) if isinstance(o.node, CALLABLES)]
            for function in functions:
                inner = context.calling(function, None)
                for returned in self.module.values.returned(function):
                    yield returned, inner
            if not functions:
                yield loss, context

    def _of_run(self, site: ast.Call) -> Step:
        turns = self._turns()
        graph_runs = self.sites.graph
        fed = argument(site, "feed_dict", 0 if _runs_itself(graph_runs, site) else 1)
        prepared = self.sites.graph._prepared(site)
        by_key: dict[ast.AST, Part] = {}
        for context in self._contexts(site, self._sessions_made_in()):
            if prepared is not None:  # `step = session.make_callable(train_op, [x])`, then `step(rows)`
                for value in site.args:
                    turns.read(value, context)
            elif fed is not None:
                self._read_feed(fed, context, turns, by_key)
        graph = self._turns(graph=True)
        graph.fed = dict.fromkeys(self._placeholders, Part.COMPUTED)
        losses_at = list(self._graph_losses(site))
        for loss, context in losses_at:
            graph.read(loss, context)
        turns.moving.update(graph.moving)
        turns.drawn.update(dict.fromkeys(graph.drawn))
        turns.unseen.update({} if turns.rows else graph.unseen)
        unfed = {
            p for p in self._placeholders if p in graph.computed and p not in by_key and self._takes_rows(p)
        }
        turns.unseen.update(dict.fromkeys([site] if unfed and prepared is None and not turns.moving else []))
        rows = {k for k, part in by_key.items() if part is Part.ROWS}
        losses = Losses(self.module, rows | set(graph.rows), is_v1=True, shapes=self.shapes)
        turns.rows.update(graph.rows)
        over = {losses.trained(loss, context) for loss, context in losses_at}
        return self._step(site, turns, over.pop() if len(over) == 1 else _worst(over))

    def _read_feed(self, fed: ast.expr, context: Context, turns: Turns, by_key: dict[ast.AST, Part]) -> None:
        """What a feed dictionary gives to which placeholders."""
        dicts = [o.node for o in self.module.values.origins(fed)]
        if not all(isinstance(d, ast.Dict) for d in dicts):
            if self._is_made_of_the_same(fed, context):
                turns.vague[fed] = None
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
                if self._is_single(key):
                    by_key.update(dict.fromkeys(self.module.values.calls(key), Part.NUMBER))
                    continue
                part = turns.read(value, place)
                if part is Part.TURN and not self._is_plain(value):
                    turns.moving[value] = None
                elif part is Part.NUMBER and (value in turns.vague or not self._is_plain(value)):
                    if self._takes_several(key) and self._changes.may_change(value, place):
                        turns.unseen[value] = None
                    elif self._takes_several(key) and turns.fixed.is_made(value):
                        part = Part.ROWS
                        turns.rows[value] = None
                        turns.vague.pop(value, None)
                    else:
                        turns.vague[value] = None
                for made in self.module.values.calls(key):
                    by_key[made] = max(part, by_key.get(made, Part.NUMBER))

    def _made_by(self, fed: ast.expr, context: Context, depth: int = 2) -> dict[ast.AST, Context]:
        """The dictionaries that a function of the program gives for a feed, `feed_dict(x[i : i + n])`, each in the run of that
        one call: its parameters are what this turn passes, not whatever is passed anywhere."""
        bindings = self.module.scopes.reaching(fed) if isinstance(fed, ast.Name) else []
        calls = [fed, *(b.value for b in bindings)]
        found: dict[ast.AST, Context] = {}
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
            turns = self._turns()
            parts = [turns.read(a, context) for a in (*call.args, *(k.value for k in call.keywords))]
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

    @cached_property
    def _placeholders(self) -> list[ast.Call]:
        return [
            c for c in self.module.syntax.calls if self.module.names.last(c.func).startswith("placeholder")
        ]

    def shape(self, placeholder: ast.Call) -> list[ast.expr] | None:
        """The dimensions of a placeholder, where they are written out."""
        shape = argument(placeholder, "shape", 1)
        for o in self.module.values.origins(shape) if shape is not None else ():
            if isinstance(o.node, (ast.List, ast.Tuple)) and not o.path:
                return o.node.elts
        return None

    def _takes_rows(self, placeholder: ast.Call) -> bool:
        """Whether a placeholder takes more than a number, and nothing is its default."""
        shape = self.shape(placeholder)
        return (shape is None or bool(shape)) and not self.module.names.last(placeholder.func).endswith(
            "default"
        )

    def _is_single(self, key: ast.expr) -> bool:
        """Whether a placeholder takes one number: a rate, a flag."""
        made = self.module.values.calls(key)
        shapes = [self.shape(c) for c in made if c in self._placeholders]
        if shapes and all(s is not None and not s for s in shapes):
            return True
        types = {
            ast.unparse(a).rsplit(".", 1)[-1] for c in made if (a := argument(c, "dtype", 0)) is not None
        }
        return bool(types) and types <= {"bool", "bool_"}

    def _takes_several(self, key: ast.expr) -> bool:
        """Whether a placeholder takes several rows: what is fed to it holds rows, whatever it was made by."""
        shape = self.shape_of(key)
        one = shape and isinstance(shape[0], ast.Constant) and shape[0].value == 1
        return bool(shape) and not one

    def _graph_losses(self, site: ast.Call) -> Iterator[tuple[ast.expr, Context]]:
        graph, names = self.sites.graph, self.module.names
        ops = list(graph.operations(graph.fetches(site)))
        made = [n for n in ops if n in graph.train_ops] or list(graph.train_ops)
        for op in made:
            if not isinstance(op, ast.Call):
                continue
            sources = (
                [op]
                if names.last(op.func) == "minimize"
                else [
                    n
                    for n in self.module.values.depends([op], 800)
                    if isinstance(n, ast.Call) and names.last(n.func) in ("compute_gradients", "gradients")
                ]
            )
            for source in sources:
                first = "ys" if names.last(source.func) == "gradients" else "loss"
                loss = argument(source, first, 0)
                if loss is not None:
                    for context in self._contexts(source, frozenset()):
                        yield loss, context

    def _of_fit(self, fed: FitFeed) -> Step:
        """All rows in every step, where the batch holds at least as many as there are."""
        call = fed.fit.call
        size = argument(call, "batch_size", 2)
        steps = fed.fit.steps
        rows = tuple(part for e in (fed.x, fed.y, fed.weight) if e is not None for part in arrays_in(e))
        if takes_sparse(self.module, fed.fit.model):
            return Step(call, Feed.BATCH, call, "rows that belong together")
        one = isinstance(steps, ast.Constant) and steps.value == 1 and fed.y is not None
        listed = [
            o.node
            for e in rows
            for o in self.module.values.origins(e)
            if isinstance(o.node, (ast.List, ast.Tuple))
        ]
        held = [
            *rows,
            *(part for e in listed for part in arrays_in(e)),
        ]  # `fit(graph, …)` of `graph = [rows, edges]`
        if fed.y is not None and (one or (size is not None and self._one_batch.has_size_of(size, *held))):
            return self._of_all_rows(fed, size or call, rows)
        counts = {self.shapes.rows(e) for e in rows} - {None}
        named = fed.kind in (Kind.MAPPING, Kind.ARRAYS) and fed.x in rows
        count = counts.pop() if len(counts) == 1 and not named else None
        batch = self.feeding.kinds.constant(size) if size is not None else 32
        if fed.y is not None and count is not None and batch is not None and count <= batch:
            return self._of_all_rows(fed, call, rows)
        if fed.y is None and fed.kind is Kind.UNKNOWN and steps is not None:  # without, it is left whole
            return Step(call, Feed.UNSEEN, fed.x, _PERHAPS_ALL, vague=(fed.x,))
        return Step(call, Feed.BATCH, call, "batches of the rows")

    def _of_all_rows(self, fed: FitFeed, node: ast.AST, rows: tuple[ast.expr, ...]) -> Step:
        over = self.compiled.over(fed.fit.model, rows)
        return Step(fed.fit.call, Feed.WHOLE, node, _ONE_BATCH, rows, over)

    # ------------------------------------------------------------------ asked of batches

    def fed(self, site: ast.Call) -> list[tuple[ast.expr, ast.expr, Part]] | None:
        """What a session's step is fed: (placeholder, value, what that is in a turn); None where it can't be seen."""
        fed = argument(site, "feed_dict", 0 if _runs_itself(self.sites.graph, site) else 1)
        if fed is None or self.sites.graph._prepared(site) is not None:
            return None
        dicts = [o.node for o in self.module.values.origins(fed)]
        found: list[tuple[ast.expr, ast.expr, Part]] = []
        for d in dicts:
            if not isinstance(d, ast.Dict) or None in d.keys:
                return None
            for key, value in zip(d.keys, d.values, strict=True):
                assert key is not None
                if self._is_single(key):
                    continue
                parts = []
                for context in self._contexts(site, self._sessions_made_in()):
                    place = self._made_by(fed, context).get(d) or context.elsewhere(d, self.module.syntax)
                    parts.append(self._turns().read(value, place))
                found.append((key, value, max(parts, default=Part.UNSEEN)))
        return found

    def shape_of(self, key: ast.expr) -> list[ast.expr] | None:
        """The dimensions of what is fed to, where they are written out."""
        made = [c for c in self.module.values.calls(key) if c in self._placeholders]
        shapes = [self.shape(c) for c in made]
        return shapes[0] if len(shapes) == 1 else None

    def over(self, site: ast.Call, rows: set[ast.AST]) -> Over:
        """What the loss of a place that trains is over rows that are given."""
        update = next((u for u in self.sites.updates if u.call is site), None)
        targets = list(self._targets(update) if update is not None else self._graph_losses(site))
        losses = Losses(self.module, rows, update is None or self.sites.is_tf1, self.shapes)
        over = {losses.trained(target, context) for target, context in targets}
        return over.pop() if len(over) == 1 else _worst(over)

    def unseen_layer(self, site: ast.Call) -> ast.Call | None:
        """Where a layer is made that a step by hand is taken through, and that this file doesn't show; None where none is."""
        update = next((u for u in self.sites.updates if u.call is site), None)
        targets = self._targets(update) if update is not None else self._graph_losses(site)
        return next(unseen_layers(self.module, [target for target, _ in targets]), None)

    def changing(self, site: ast.Call) -> tuple[list[ast.AST], list[ast.AST]]:
        """(what is selected or dealt out for each step of a tape, what is drawn for it)."""
        turns = self._turns()
        update = next((u for u in self.sites.updates if u.call is site), None)
        for target, context in self._targets(update) if update is not None else ():
            turns.read(target, context)
        return list(turns.moving), [*turns.drawn, *turns.unseen, *turns.played]

    # ------------------------------------------------------------------ contexts

    def _turns(self, *, graph: bool = False) -> Turns:
        turns = Turns(self.module, self.feeding, self._changes, self._as_rows, graph=graph)
        self._read.append(turns)
        return turns

    def _contexts(self, site: ast.AST, without: frozenset[ast.AST]) -> list[Context]:
        found = []
        for way in self.drive.ways(site):
            anew = self._begins_anew(way, without)
            found.append(context_of(way, anew, self.sites.own_steps))
        return found

    def _begins_anew(self, way: tuple[Frame, ...], made: frozenset[ast.AST]) -> frozenset[Loop]:
        """The loops of a way in whose every turn what trains is made again: each turn is a training of its own."""
        syntax, found = self.module.syntax, set[Loop]()
        for i, frame in enumerate(way):
            deeper = {f.function for f in way[:i]}
            for loop in frame.loops:
                if any(
                    syntax.inside(m, loop) or (syntax.function(m) in deeper and syntax.function(m))
                    for m in made
                ):
                    found.add(loop)
        return frozenset(found)

    def _made_in(self, optimizer: ast.expr | None) -> frozenset[ast.AST]:
        return frozenset(self.module.values.calls(optimizer)) if optimizer is not None else frozenset()

    def _sessions_made_in(self) -> frozenset[ast.AST]:
        return frozenset(self.sites.sessions)

    def _optimizers(self, site: ast.Call) -> ast.expr | None:
        assert isinstance(site.func, ast.Attribute)
        return site.func.value

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
            if len(noise) < len(turns.drawn) and set(turns.read_as) <= {Part.DRAWN, Part.NUMBER, Part.TURN}:
                return said(Feed.DRAW, turns.drawn, "each step draws its data at random")
            if len(noise) < len(turns.drawn):
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
        return self._learnt_from[site]

    def _may_get_data(self, site: ast.AST) -> bool:
        """Whether data are got somewhere around a step, though they are not seen to come into it."""
        feeding = self.feeding
        if feeding.graph_iterated:
            return True
        return any(
            feeding._iterates_data(loop) or is_indexed(feeding, loop) or feeding._draws(loop)
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


def _runs_itself(graph: Graph, site: ast.Call) -> bool:
    """`op.run(feed_dict)` rather than `session.run(op, feed_dict)`."""
    return graph._prepared(site) is None and isinstance(site.func, ast.Attribute) and graph._runs_itself(site)


def _worst(found: set[Over]) -> Over:
    return Over.COUPLED if Over.COUPLED in found else Over.UNKNOWN


__all__ = ["LOOPS", "Feed", "Step", "Steps", "arrays_in"]
