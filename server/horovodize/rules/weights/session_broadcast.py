"""S4 broadcast: after their initialisation, rank 0's variables are sent to all ranks.

What it does   After `sess.run(tf.global_variables_initializer())`, and after a `saver.restore(…)` that follows it, the session
               runs `hvd.broadcast_global_variables(0)`: once, before the first training step. Initialisers that were bound
               to a name before, in lists, or run by `init.run()` count, and functions that do it for the caller.
               Batch-norm statistics, which are not averaged, are sent again after the loop. A number that the
               session reads next (`start = epoch.eval(sess)`) is rank 0's by then, and isn't sent again.
Why            Every rank initialises its own random weights. Averaged gradients keep equal weights equal; they do not make
               different ones equal.
               A value that each rank draws for itself, `sess.run(table.assign(drawn))`, makes them differ again: sent after it.
               A Supervisor finalises the graph when it is made: the broadcast is built before, and run first in its session.
Before         sess.run(init)
After          sess.run(init)
               sess.run(hvd.broadcast_global_variables(root_rank=0))
Leaves alone   Sessions that do not train: those that restore a model to evaluate it. MonitoredSessions (M1 has a hook).
Refuses        A session that trains and is initialised nowhere in the file; a graph that is finalised too early (HVD006).
Source         Seed 2.5.1, expression statements. Errata: 56 of 153 real files bind the initialiser first; what is restored on
               rank 0 only must be sent, too, so the broadcast comes after the restore, and outside the `if` around it (the
               other ranks may not find a checkpoint). A graph that is finalised takes no more operations: there the
               broadcast is built before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.horovod.sent_variables import follows
from horovodize.python.syntax import CALLABLES, LOOPS, Loop, position
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.drafting.session_names import Session, in_caller
from horovodize.rules.together.any_rank_test import differing
from horovodize.rules.weights import steered
from horovodize.rules.weights.graph_broadcast import after_session_loops, opens, send_after
from horovodize.rules.weights.sessions_apart import are_apart, same_session
from horovodize.summary.call_paths import Frame
from horovodize.summary.graph import Run

_WHY = "Every rank initialises its own random weights; training starts from rank 0's."
_WHAT = "Send rank 0's variables to all ranks once they are ready"
_READY = ("initialize", "restore")


@dataclass(frozen=True, eq=False)
class _Place:
    """Where variables are ready: after `statement`; `run` is what made them so, `session` what the session is called
    there (None: the default session)."""

    statement: ast.stmt
    run: Run
    session: str | None


def apply(draft: Draft) -> None:
    graph = draft.sites.graph
    begun = _begun_by(draft)
    ready = [
        r
        for r in graph.runs
        if r.kind in _READY and not _is_monitored(draft, r) and not _runs_in(draft, begun, r.call)
    ]
    trainings = [r for r in graph.trainings if not _is_monitored(draft, r)]
    places: list[_Place] = []
    for run in [*ready, *_set_apart(draft, trainings)]:
        places += _places(draft, run, trainings)
    for place in _last_ones(draft, places, trainings):
        _write(draft, place)
        _know_reads(draft, place)
    after_session_loops(draft, trainings)
    steered.keep_fed_alike(draft)
    if trainings and not places:
        for run in trainings:
            draft.refuse(
                "HVD006",
                run.call,
                "where the variables of this session are initialised is not in this file; rank 0's have to be sent to all "
                "ranks after that",
            )


def _begun_by(draft: Draft) -> set[ast.AST]:
    """The functions that a Supervisor or a Scaffold runs while it opens a session, `init_fn=restore`: the graph is finalised by
    then, and rank 0's variables are sent once the session is open."""
    given = (k.value for c in draft.syntax.calls for k in c.keywords if k.arg == "init_fn")
    return {o.node for e in given for o in draft.values.origins(e) if isinstance(o.node, CALLABLES)}


def _runs_in(draft: Draft, functions: set[ast.AST], call: ast.Call) -> bool:
    return bool(functions) and any(
        f.function in functions for way in draft.drive.ways(call) for f in way if f.function is not None
    )


def _set_apart(draft: Draft, trainings: list[Run]) -> list[Run]:
    """Runs before training that set variables to what may be another value on each rank: `sess.run(table.assign(drawn))`."""
    graph = draft.sites.graph
    loops = {loop for run in trainings for loop in _loops(draft, run.call)}
    found = list[Run]()
    for call in graph.all_runs:
        values = graph.sets(call) if not loops.intersection(_loops(draft, call)) else []
        if any(differing(draft, value) for value in values):
            found.append(Run(call, "restore", graph.session_of(call)))
    return found


def _loops(draft: Draft, call: ast.Call) -> Iterator[Loop]:
    return (loop for way in draft.drive.ways(call) for frame in way for loop in frame.loops)


def _is_monitored(draft: Draft, run: Run) -> bool:
    opened = draft.sites.graph.opened(run.session) if run.session is not None else set()
    return bool(opened) and opened <= set(draft.sites.monitored)


# ---------------------------------------------------------------------- where


def _places(draft: Draft, ready: Run, trainings: list[Run]) -> list[_Place]:
    """The places after which a session's variables are ready, and from which training follows."""
    found: dict[ast.stmt, _Place] = {}
    comparable = False
    for training in trainings:
        if not same_session(draft, ready, training):
            comparable = True
            continue
        for up in draft.drive.ways(ready.call):
            for down in draft.drive.ways(training.call):
                met = _meet(draft, ready, up, down)
                if met is None:
                    continue
                comparable = True
                statement, inner = met
                if are_apart(draft, ready, up, training, down, inner):
                    continue
                if statement is not None and not _is_ready_later(draft, ready, statement, inner, down):
                    place = _named(draft, ready, statement, inner)
                    place = _after_call(draft, place, up, inner) or place
                    found.setdefault(place.statement, place)
    if not found and not comparable:
        place = _Place(_lifted(draft, ready), ready, _text(draft, ready.session))
        found[place.statement] = place
    return list(found.values())


def _meet(
    draft: Draft, ready: Run, up: tuple[Frame, ...], down: tuple[Frame, ...]
) -> tuple[ast.stmt | None, Frame] | None:
    """Where the way to what makes variables ready and the way to training part: the statement that leads to the former
    and its frame, the statement None where training does not follow. None where the ways have no function in common. In
    `Model().train()` the variables are sent where they are made."""
    for frame in up:
        other = next((f for f in down if f.function is frame.function), None)
        if other is None:
            continue
        if frame.node is other.node:
            continue
        opening = draft.syntax.statement(frame.node)
        if frame.node is ready.call and opens(draft, opening, ready.call):
            return opening if draft.syntax.inside(other.node, opening) else None, frame
        if draft.syntax.inside(frame.node, other.node):
            return _lifted(draft, ready), frame
        return _before(draft, frame.node, other.node), frame
    return None


def _is_ready_later(
    draft: Draft, ready: Run, statement: ast.stmt, frame: Frame, down: tuple[Frame, ...]
) -> bool:
    """Whether training under a condition of its own makes the variables ready itself (`if retrain: saver.restore(…)`), after
    the condition under which `ready` does: they are sent there; behind the first condition nothing may be initialised."""
    syntax = draft.syntax
    training = next((f.node for f in down if f.function is frame.function), None)
    if training is None or not isinstance(statement, ast.If) or not syntax.inside(ready.call, statement):
        return False
    block = syntax.block(statement)
    for other in (r for r in draft.sites.graph.runs if r.kind in _READY):
        at = syntax.statement(other.call)
        there = syntax.block(at)
        leads = next((s for s in there if s is training or syntax.inside(training, s)), None)
        if leads is None or there is block or not same_session(draft, ready, other):
            continue
        arm = next((s for s in block if syntax.inside(at, s)), None)
        if isinstance(arm, ast.If) and arm is not statement and there.index(at) < there.index(leads):
            return True
    return False


def _before(draft: Draft, ready: ast.AST, training: ast.AST) -> ast.stmt | None:
    """The statement that leads to `ready`, in the innermost block that leads to both, if `training` may follow it."""
    syntax = draft.syntax
    above = {a for a in (training, *syntax.ancestors(training)) if isinstance(a, ast.stmt)}
    statement: ast.stmt = syntax.statement(ready)
    chain = [statement, *(a for a in syntax.ancestors(statement) if isinstance(a, ast.stmt))]
    for candidate in chain:
        after = next((s for s in syntax.block(candidate) if s in above), None)
        if after is None:
            continue
        if after is candidate:
            return None
        loops = any(isinstance(a, LOOPS) for a in syntax.loops(candidate))
        return candidate if position(candidate) < position(after) or loops else None
    return None


def _named(draft: Draft, ready: Run, statement: ast.stmt, frame: Frame) -> _Place:
    """The place after a statement, if the session has a name there; else right after what makes its variables ready."""
    syntax = draft.syntax
    if frame.node is ready.call or syntax.inside(ready.call, statement):
        statement = _where_all_come(draft, ready, statement)
        if ready.session is None or _is_known_at(draft, ready.session, statement):
            return _Place(statement, ready, _text(draft, ready.session))
        return _Place(_lifted(draft, ready, statement), ready, _text(draft, ready.session))
    name = _in_caller(draft, ready, frame)
    if name is not None:
        return _Place(statement, ready, name)
    return _Place(_lifted(draft, ready), ready, _text(draft, ready.session))


def _where_all_come(draft: Draft, ready: Run, statement: ast.stmt) -> ast.stmt:
    """The statement of a run itself, where a loop comes to it seldom, and all ranks do: `if step % 300 == 299:
    sess.run(begin_again)`. Else all variables would be sent in each turn."""
    own, syntax = draft.syntax.statement(ready.call), draft.syntax
    seldom = isinstance(statement, ast.If) and own is not statement and bool(syntax.loops(statement))
    here = syntax.function(own) is syntax.function(statement)
    if seldom and here and draft.can_put_after(own) and draft.uniform.reached_alike(own):
        return own
    return statement


def _after_call(draft: Draft, place: _Place, up: tuple[Frame, ...], met: Frame) -> _Place | None:
    """The place after the call of a function that makes variables ready under a condition, and is left there (`if found:
    saver.restore(…); return True`): a rank without files wouldn't come to it. None where there is no such call below what
    leads to training, too."""
    run, syntax = place.run, draft.syntax
    function = syntax.function(place.statement)
    around = syntax.parent.get(place.statement)
    conditional = isinstance(around, (ast.If, ast.Try)) and function is syntax.function(run.call)
    if not conditional or len(up) < 2 or up[1] is met:
        return None
    statement, name = syntax.statement(up[1].node), _in_caller(draft, run, up[1])
    if name is None or not draft.can_put_after(statement) or isinstance(statement, (ast.Return, *LOOPS)):
        return None
    return _Place(statement, run, name)


def _in_caller(draft: Draft, ready: Run, frame: Frame) -> str | None:
    """What the session of a function is called where that function is called: the argument, or `self.sess` of the same
    object."""
    session, function = ready.session, draft.syntax.function(ready.call)
    if session is None or function is None:
        return None
    if isinstance(session, ast.Name) and draft.module.scopes.lookup(session.id, session) is not function:
        return None
    found = in_caller(draft, Session(session), function, frame.node)
    return found.text(draft) if found is not None else None


def _is_known_at(draft: Draft, session: ast.expr, statement: ast.stmt) -> bool:
    """Whether what a session is called is bound before a statement is over, not only inside one of its arms."""
    if not isinstance(session, ast.Name):
        return True
    return not any(
        b.statement is not statement and draft.syntax.inside(b.statement, statement)
        for b in draft.module.scopes.reaching(session)
    )


def _lifted(draft: Draft, ready: Run, inside: ast.stmt | None = None) -> ast.stmt:
    """The statement of a run, outside the `if`s and `try`s around it, as far as the session is known there and the
    function is not left inside them."""
    syntax, session = draft.syntax, ready.session
    statement = syntax.statement(ready.call)
    while True:
        around = syntax.parent.get(statement)
        if not isinstance(around, (ast.If, ast.Try)) or around is inside:
            return statement
        if any(isinstance(n, (ast.Return, ast.Break, ast.Continue, ast.Raise)) for n in ast.walk(around)):
            return statement
        if session is not None and not _is_known_at(draft, session, around):
            return statement
        if session is not None and _is_made_beside(draft, session, statement, around):
            return statement
        statement = around


def _is_made_beside(draft: Draft, session: ast.expr, statement: ast.stmt, around: ast.stmt) -> bool:
    """Whether the arm of an `if` that makes variables ready opens the session, too: `if sess is None: self.sess =
    tf.Session()`. In the other arm it is another session, of which whoever opened it sees to the variables."""
    text = ast.unparse(session)
    return isinstance(around, ast.If) and any(
        isinstance(s, ast.Assign) and any(ast.unparse(t) == text for t in s.targets)
        for s in draft.syntax.block(statement)
    )


def _last_ones(draft: Draft, places: list[_Place], trainings: list[Run]) -> Iterator[_Place]:
    """Of several places in one block only the last before training: what is initialised and then restored is sent once."""
    sites: set[ast.AST] = {run.call for run in trainings}
    ordered = sorted(places, key=lambda p: position(p.statement))
    is_one = len(draft.sites.graph.sessions) == 1  # the default session, and what it is called
    for i, place in enumerate(ordered):
        block = _block(draft, place)
        later = [
            p
            for p in ordered[i + 1 :]
            if draft.syntax.block(p.statement) is block and (is_one or p.session == place.session)
        ]
        if any(p.statement is place.statement for p in later):
            continue
        if later and not (
            _trains_between(draft, place, later[0].statement, sites)
            or _is_left_between(draft, place, later[0].statement, sites)
        ):
            continue
        if is_one and any(_comes_before(draft, place, p, sites) for p in ordered if p is not place):
            continue
        yield place


def _comes_before(draft: Draft, place: _Place, other: _Place, sites: set[ast.AST]) -> bool:
    """Whether a function that makes variables ready is called in the block of another place, before it, and all training comes
    after that: `trainer = Trainer(sess)`, `model.load(sess)`, `trainer.train()`."""
    block = draft.syntax.block(other.statement)
    at = block.index(other.statement)
    first = _indices(draft, block, place.statement)
    if not first or place.statement in block or not all(0 <= i < at for i in first):
        return False
    return all(i > at for site in sites for i in _indices(draft, block, site))


def _indices(draft: Draft, block: list[ast.stmt], node: ast.AST) -> list[int]:
    """Where the ways to a node leave a block; -1 for one that doesn't come from it."""
    here = draft.syntax.function(block[0])
    return [
        next(
            (
                block.index(s)
                for f in way
                if f.function is here
                for s in block
                if draft.syntax.inside(f.node, s)
            ),
            -1,
        )
        for way in draft.drive.ways(node)
    ]


def _block(draft: Draft, place: _Place) -> list[ast.stmt]:
    """The block in which a place is: that of its statement, or what a `with` holds that makes variables ready."""
    statement = place.statement
    if isinstance(statement, ast.With) and opens(draft, statement, place.run.call):
        return statement.body
    return draft.syntax.block(statement)


def _between(draft: Draft, first: _Place, second: ast.stmt) -> list[ast.stmt]:
    """The statements between a place and a later one of its block."""
    block = _block(draft, first)
    begin = block.index(first.statement) + 1 if first.statement in block else 0
    return block[begin : block.index(second)]


def _trains_between(draft: Draft, first: _Place, second: ast.stmt, sites: set[ast.AST]) -> bool:
    return any(draft.drive.reaches(s, sites) for s in _between(draft, first, second))


def _is_left_between(draft: Draft, first: _Place, second: ast.stmt, sites: set[ast.AST]) -> bool:
    """Whether the function of two statements of a block may be left between them, and training follows all the same, where
    it is called: `if training: return`, before a model is restored."""
    block, here = _block(draft, first), draft.syntax.function(first.statement)
    leaves = (n for s in _between(draft, first, second) for n in ast.walk(s) if isinstance(n, ast.Return))
    if all(draft.syntax.function(n) is not here for n in leaves):
        return False
    return any(i < 0 for site in sites for i in _indices(draft, block, site))


def _know_reads(draft: Draft, place: _Place) -> None:
    """Variables that the session reads next, `start = epoch.eval(sess)`, are rank 0's on all ranks: they were sent."""
    block = _block(draft, place)
    at = block.index(place.statement) if place.statement in block else -1
    for read in draft.sites.graph.all_runs:
        found = [r for r in draft.uniform.reasons(read) if isinstance(r, Varies)]
        if any(r.kind is Source.FILES and r.where is read for r in found) and follows(
            draft.syntax, draft.sites, draft.drive, block, at, read
        ):
            draft.decide(read, Agreed("S4"))


# ---------------------------------------------------------------------- edits


def _write(draft: Draft, place: _Place) -> None:
    statement = place.statement
    within = opens(draft, statement, place.run.call)
    if not (draft.can_insert(_block(draft, place)[0]) if within else draft.can_put_after(statement)):
        draft.refuse(
            "HVD006", statement, "rank 0's variables have to be sent after this; give it a line of its own"
        )
        return
    if not draft.once("broadcast", statement):
        return
    edits = send_after(draft, statement, place.run, place.session)
    draft.change("S4", place.run.call, _WHAT, _WHY, edits)


def _text(draft: Draft, session: ast.expr | None) -> str | None:
    return draft.module.text(session) if session is not None else None


RULE = Rule("S4", "broadcast after initialisation", apply, __doc__ or "")
