"""Loops that ranks must leave together: part of G4.

A rank that leaves a training loop one step before the others leaves them waiting for it forever. Counters lead to the same
end on all ranks; a loss that is computed from a rank's own batch, a clock or a game that each rank plays for itself do not.
"""

from __future__ import annotations

import ast

from horovodize.facts.counting.cursors import cursors_of
from horovodize.facts.differences import swallowed
from horovodize.facts.differences.answers import Uniform, Varies
from horovodize.facts.differences.exits import deciding, ends_well, exits, program_ends, skips, tests
from horovodize.facts.differences.sources import Source
from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, Loop, argument, end, position
from horovodize.rules.callbacks import told_metrics
from horovodize.rules.deciding import (
    caught_failures,
    deciding_averages,
    left_out_networks,
    rate_changes_in_loops,
    reached_together,
)
from horovodize.rules.deciding.agreed_values import agree_on_values
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.loops import own_trainings, threads
from horovodize.rules.numbers.loop_exits import compared, counts_up
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.resuming import resume
from horovodize.rules.sums import shared_sums
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import (
    ALIKE,
    WHY,
    Cause,
    agree,
    can_agree,
    cause_of,
    differing,
    doubt_of,
)
from horovodize.source import Edit
from horovodize.summary.feeding import FitFeed, Kind

_FAILS = "a rank whose batch fails here takes one step fewer than the others, which wait for it forever"
_VALUES = (ast.Name, ast.Attribute, ast.Call)
_GAME = "each rank plays its own game here: all of them now end when one of them does"


def keep_in_step(draft: Draft) -> None:
    """Makes ranks leave training loops together; refuses where they can't."""
    known = feeding(draft)
    sites = _sites(draft)
    threads.refuse(draft, sites)
    own_trainings.refuse(draft)
    shared_sums.apply(draft, asks=False)
    agree_on_values(draft, [frame for site in sites for way in draft.drive.ways(site) for frame in way])
    seen: set[Loop] = set()
    for site in sites:
        for way in draft.drive.ways(site):
            caught_failures.end_the_run(draft, way)
            for loop in (loop for frame in way for loop in frame.loops):
                if loop not in seen:
                    seen.add(loop)
                    _keep(draft, loop)
            for frame in way:
                if frame.loops:
                    _keep_together(draft, frame.loops[0], frame.node, sites)
                reached_together.keep(draft, frame, sites)
    for loop in seen:
        reached_together.keep_number(draft, loop)
    _end_together(draft, seen)
    left_out_networks.decide_alike(draft)
    for loop in seen:
        rate_changes_in_loops.keep_alike(draft, loop, sites)
    rate_changes_in_loops.keep_hooks_alike(draft, sites)
    rate_changes_in_loops.keep_weights_alike(draft)
    told_metrics.average_told(draft)
    for fed in known.fits:
        made = _is_self_made(draft, fed.x) if fed.kind is Kind.UNKNOWN else _is_played(draft, fed.x)
        again = any(frame.loops for way in draft.drive.ways(fed.fit.call) for frame in way)
        steps_differ = again and _ends_by_a_game(draft, fed.x) and not _is_one_batch(draft, fed)
        if steps_differ or (made and draft.syntax.loops(fed.fit.call)):
            draft.refuse(
                "HVD006",
                fed.x,
                "each rank makes these rows with the model again in every round: where their number differs, ranks would take "
                "different numbers of steps and wait for each other forever; fit on a fixed number of rows",
            )


def learns_from_a_game(draft: Draft, step: ast.Call) -> bool:
    """Whether a loop around a step ends with a simulation that each rank runs for itself."""
    ways = draft.drive.ways(step)
    return any(_ends_with_a_game(draft, loop) for way in ways for frame in way for loop in frame.loops)


def _ends_with_a_game(draft: Draft, loop: Loop) -> bool:
    found = [test for leaving in exits(loop) for test in tests(draft.syntax, leaving, loop)]
    found += [loop.test] if isinstance(loop, ast.While) else []
    return any(cause_of(draft, test, loop) is Cause.GAME for test in found)


def _sites(draft: Draft) -> set[ast.AST]:
    updates = {u.call for u in draft.sites.updates if u.step_of is None}
    runs = {run.call for run in draft.sites.graph.trainings}
    trainings = {t.call for t in draft.sites.read_estimators.trainings}
    return updates | runs | trainings | {f.call for f in draft.sites.fits}


def _keep(draft: Draft, loop: Loop) -> None:
    if isinstance(loop, ast.While):
        resume.agree_on_restored(draft, loop.test)
        if cause_of(draft, loop.test, loop) is Cause.VALUE:
            _decide_by_means(draft, loop.test)
        cause = cause_of(draft, loop.test, loop)
        ends = isinstance(loop.test, ast.UnaryOp) and isinstance(loop.test.op, ast.Not)
        flag = loop.test.operand if ends and isinstance(loop.test, ast.UnaryOp) else loop.test
        if cause is Cause.VALUE and isinstance(flag, (ast.Name, ast.Attribute)):
            agree(
                draft, flag, doubt_of(draft, flag), of_all=not ends
            )  # one rank's `running = False` ends it, as its `break` would
        elif cause is Cause.VALUE:
            agree(draft, loop.test, doubt_of(draft, loop.test), of_all=_ends_with_its_rows(draft, loop))
        elif cause is Cause.GAME and ends:
            agree(draft, flag, _GAME)
        elif cause is Cause.GAME:
            _refuse(draft, loop.test)
    left = exits(loop)
    skipping = [s for s in skips(loop) if any(position(s) < position(e) for e in left)]  # past an exit
    for leaving in (*left, *skipping):
        _leave_together(draft, leaving, tests(draft.syntax, leaving, loop), loop)


def _leave_together(draft: Draft, leaving: ast.stmt, around: list[ast.expr], loop: Loop) -> None:
    """around: the tests that decide whether a loop is left there, innermost first"""
    for test in around:
        resume.agree_on_restored(draft, test)
    causes = [cause_of(draft, test, loop) for test in around]
    if not set(causes) - {Cause.COUNT} or _by_means(draft, around, causes):
        return
    if set(causes[1:]) <= {Cause.COUNT} and _is_first_arm(draft, leaving):
        agree(draft, around[0], _GAME if causes[0] is Cause.GAME else doubt_of(draft, around[0]))
    elif Cause.GAME in causes:
        _refuse(draft, leaving)
    elif not _tell(draft, leaving, loop):
        draft.refuse("HVD205", leaving, ALIKE)


def _end_together(draft: Draft, loops: set[Loop]) -> None:
    """The same of what ends the program in a loop, or in a function that it runs: `if np.isnan(loss): sys.exit()`; and of what
    the program raises there and catches: `if loss < 0.1: raise Done`."""
    ends: list[ast.stmt] = [draft.syntax.statement(c) for c in program_ends(draft.module) if ends_well(c)]
    for leaving in (*ends, *(n for n in draft.syntax.every(ast.Raise) if _is_caught(draft, n))):
        function = draft.syntax.function(leaving)
        within = [loop for loop in draft.syntax.loops(leaving) if loop in loops]
        if not within and function is not None:
            within = [
                loop
                for loop in loops
                if any(draft.values.callee(c) is function for c in feeding(draft).calls_in(loop))
            ]
        if within:
            around = [c.test for c, _ in draft.syntax.conditions(leaving) if isinstance(c, ast.If)]
            inside = [
                test for test in around if not draft.syntax.inside(within[0], draft.syntax.parent[test])
            ]
            here = draft.syntax.inside(leaving, within[0])
            if here or all(can_agree(draft, test) for test in inside):  # not in what only some ranks come to
                _leave_together(draft, leaving, inside, within[0])


def _is_caught(draft: Draft, raised: ast.Raise) -> bool:
    """Whether something in the program catches by its name what it raises there: around it, or around what comes there."""
    made = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
    if made is None:
        return False
    for handler in draft.syntax.every(ast.ExceptHandler):
        assert isinstance(handler, ast.ExceptHandler)
        named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if not any(e is not None and ast.unparse(e) == ast.unparse(made) for e in named):
            continue
        attempt = draft.syntax.parent[handler]
        guarded = attempt.body if isinstance(attempt, ast.Try) else []
        comes = [raised, *(f.node for way in draft.drive.ways(raised) for f in way)]
        if any(draft.syntax.inside(n, s) or n is s for n in comes for s in guarded):
            return True
    return False


def _ends_with_its_rows(draft: Draft, loop: ast.While) -> bool:
    """`while i < n:` where ranks count to different numbers, or `i` selects the rows of a step: past the last of its own a rank
    would be fed none. And `while loss > 0.1:`, which one rank's batch, or a signal to it, ends as its `break` would."""
    end = compared(loop.test, (ast.Lt, ast.LtE))
    if end is not None and counts_up(loop, ast.unparse(end[0])) and differing(draft, end[1]):
        return True
    read = {ast.unparse(n) for n in ast.walk(loop.test) if isinstance(n, (ast.Name, ast.Attribute))}
    ending = (Source.ROWS, Source.SIGNAL)  # `while step < n and not stopped:`
    if any(isinstance(r, Varies) and r.kind in ending for r in differing(draft, loop.test)):
        return True
    known = feeding(draft)
    around = [d for d in known.drivers if d.loop is loop or draft.syntax.inside(loop, d.loop)]
    return any(c.name in read for d in around for c in cursors_of(known, d))


def _by_means(draft: Draft, around: list[ast.expr], causes: list[Cause]) -> bool:
    """Whether all ranks leave together once they decide by the mean of what they measure."""
    own = [test for test, cause in zip(around, causes, strict=True) if cause is not Cause.COUNT]
    return Cause.GAME not in causes and all(_decide_by_means(draft, test) for test in own)


def _decide_by_means(draft: Draft, test: ast.expr) -> bool:
    """Whether ranks decide a test alike by the means of what they measure: now and then, or in each step."""
    return means.decide_alike(draft, test) or deciding_averages.decide_alike(draft, test)


def _tell(draft: Draft, leaving: ast.stmt, loop: Loop) -> bool:
    """Patience: what decides is compared first and counted then (`if loss < best: … else: bad += 1; if bad > 3: break`). Rank
    0 tells the others the values before the outermost `if` that depends on one; from there on all decide alike."""
    decisions = deciding(draft.syntax, leaving, loop)
    differing = [c for c in decisions if cause_of(draft, c.test, loop) is not Cause.COUNT]
    outermost = differing[-1]
    while _is_elif(draft, outermost):
        parent = draft.syntax.parent[outermost]
        assert isinstance(parent, ast.If)
        outermost = parent
    if not draft.can_insert(outermost) or draft.drive.in_traced(outermost):
        return False
    if not all(
        isinstance(draft.uniform.of(c.test), Uniform)
        for c in decisions
        if draft.syntax.inside(outermost, c) and c is not outermost
    ):
        return False
    inner = [n for n in ast.walk(outermost) if isinstance(n, ast.If)]
    computed = {
        d: [n for n in ast.walk(d.test) if isinstance(n, _VALUES) and _is_computed(draft, n)] for d in inner
    }
    if any(isinstance(n, ast.Call) for d in inner for n in computed[d]):
        # A value without a name can't be told; what comes of it can, where nothing else decides.
        if [d for d in inner if computed[d]] != [outermost]:
            return False
        edits = Edit.around(draft.module.span(outermost.test), f"{from_root(draft)}(bool(", "))")
    else:
        names = [n for d in inner for n in computed[d] if isinstance(n, (ast.Name, ast.Attribute))]
        if not names or not all(_can_be_told(draft, n, outermost) for n in names):
            return False
        told = ", ".join(dict.fromkeys(ast.unparse(n) for n in names))
        values = f"({told})" if "," in told else told
        edits = (draft.before(outermost, [f"{told} = {from_root(draft)}({values})"]),)
    rule = "S5" if draft.in_graph else "G4"
    if draft.decide(outermost, Agreed(rule)):
        draft.change(rule, outermost, "Decide on all ranks by rank 0's values", WHY, edits)
    return True


def _can_be_told(draft: Draft, name: ast.Name | ast.Attribute, decision: ast.If) -> bool:
    """Whether a variable can be given rank 0's value before a decision: it has a value then, nothing in there counts it on, and
    its object is known."""
    bound = _bound(draft, name)
    within = [b for b in bound if draft.syntax.inside(b.statement, decision)]
    if any(b.kind != "assign" for b in within) or (bound and len(within) == len(bound)):
        return False  # what is first set in there has no value before
    return isinstance(name, ast.Name) or bool(bound)


def _is_computed(draft: Draft, e: ast.expr) -> bool:
    """Whether a rank computes a value by itself, whatever decides that it is set."""
    return not isinstance(draft.uniform.of_values.of(e), Uniform)


def _bound(draft: Draft, name: ast.Name | ast.Attribute) -> list[Binding]:
    """The statements that give a variable its value, of an attribute those that set it on an object with a name."""
    if isinstance(name, ast.Attribute):
        return draft.values.attribute_bindings(name) if isinstance(name.value, ast.Name) else []
    return [b for b in draft.module.scopes.reaching(name) if isinstance(b.statement, ast.stmt)]


def _is_elif(draft: Draft, statement: ast.If) -> bool:
    holder = draft.syntax.parent.get(statement)
    return (
        isinstance(holder, ast.If)
        and draft.syntax.field[statement] == "orelse"
        and draft.document.text.startswith("elif", draft.module.span(statement).start)
    )


def _keep_together(draft: Draft, loop: Loop, step: ast.AST, sites: set[ast.AST]) -> None:
    """A step that a rank leaves out by a value of its own (an `if` around it, a `continue` before it): all do as one does."""
    for skipping in skips(loop):
        if position(skipping) > end(step):  # type: ignore[arg-type]
            continue
        around = tests(draft.syntax, skipping, loop)
        causes = [cause_of(draft, test, loop) for test in around]
        handlers = [
            a
            for a in draft.syntax.ancestors(skipping)
            if isinstance(a, ast.ExceptHandler) and draft.syntax.inside(a, loop)
        ]
        if any(not _begins_data_again(draft, handler) for handler in handlers):
            draft.refuse("HVD205", skipping, _FAILS)
        elif set(causes) <= {Cause.COUNT} or _by_means(draft, around, causes):
            continue
        elif set(causes[1:]) <= {Cause.COUNT} and _is_first_arm(draft, skipping):
            agree(draft, around[0])
        else:
            draft.refuse("HVD205", skipping, ALIKE)
    for decision, arm in draft.syntax.conditions(step):
        if not draft.syntax.inside(decision, loop) or not isinstance(decision, ast.If):
            continue
        if cause_of(draft, decision.test, loop) is Cause.COUNT or draft.was(decision.test, Agreed):
            continue
        other = decision.orelse if arm == "body" else decision.body
        if means.decide_alike(draft, decision.test) or deciding_averages.decide_alike(draft, decision.test):
            continue
        if any(draft.drive.reaches(s, sites) for s in other):
            draft.refuse("HVD205", decision, reached_together.OTHER_STEPS)
        else:
            reached_together.agree_on_step(draft, decision.test, arm)


def _begins_data_again(draft: Draft, handler: ast.ExceptHandler) -> bool:
    """Whether a handler does nothing but begin data again that has come to its end, `except StopIteration: it = iter(ds)`: all
    ranks have equally many batches, so they come there in the same turn."""
    tried = draft.syntax.parent[handler]
    takes = tried.body if isinstance(tried, ast.Try) and swallowed.is_shared(draft.module, handler) else []
    asked = [n for s in takes for n in ast.walk(s) if isinstance(n, ast.Call)]
    simple = (ast.Assign, ast.AugAssign, ast.Expr, ast.Continue)
    return (
        len(takes) == 1
        and any(draft.names.last(n.func) in ("next", "get_next", "__next__") for n in asked)
        and all(isinstance(s, simple) for s in handler.body)
    )


def _is_first_arm(draft: Draft, leaving: ast.stmt) -> bool:
    """Whether the nearest `if` around is no `elif` (in an `else:` it may stand) and the statement stands in its first arm."""
    nearest, arm = draft.syntax.conditions(leaving)[0]
    return arm == "body" and not (isinstance(nearest, ast.If) and _is_elif(draft, nearest))


def _refuse(draft: Draft, node: ast.AST) -> None:
    draft.refuse(
        "HVD006",
        node,
        "each rank plays its own simulation and ends this loop when that is over: ranks would take different numbers of "
        "training steps and wait for each other forever; train a fixed number of steps in each round",
    )


def _is_self_made(draft: Draft, data: ast.expr) -> bool:
    """Whether training data is made by calling the model, as in self-play."""
    return any(_predicts(draft, n) for n in draft.values.depends([data], 300))


def _is_played(draft: Draft, data: ast.expr) -> bool:
    """Whether training data is what a function gives that calls the model until something ends: `x, y = play_game(predict)`."""
    bindings = draft.module.scopes.reaching(data) if isinstance(data, ast.Name) else []
    for made in (b.value for b in bindings):
        player = draft.values.callee(made) if isinstance(made, ast.Call) else None
        if isinstance(made, ast.Call) and player is not None:
            ends = any(isinstance(n, (ast.While, ast.Break)) for n in ast.walk(player))
            if ends and any(_predicts(draft, n) for n in (player, *made.args)):
                return True
    return False


def _ends_by_a_game(draft: Draft, data: ast.expr) -> bool:
    """Whether how many rows there are goes by how long a game of the rank's own took."""
    return any(isinstance(r, Varies) and r.kind is Source.GAME for r in draft.uniform.number_reasons(data))


def _is_one_batch(draft: Draft, fed: FitFeed) -> bool:
    """`fit(x, y, batch_size=len(x))`: one step, however many rows there are."""
    size = argument(fed.fit.call, "batch_size", 2)
    if size is None:
        return False
    rows = ast.unparse(fed.x)
    return ast.unparse(size) in (f"len({rows})", f"{rows}.shape[0]")


def _predicts(draft: Draft, n: ast.AST) -> bool:
    """Whether a node, or the function that a name stands for, asks a model for predictions."""
    bodies = [n]
    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
        bodies += [o.node for o in draft.values.origins(n) if isinstance(o.node, CALLABLES)]
    return any(
        isinstance(c, ast.Call)
        and isinstance(c.func, ast.Attribute)
        and c.func.attr in ("predict", "predict_on_batch")
        for b in bodies
        for c in ast.walk(b)
    )
