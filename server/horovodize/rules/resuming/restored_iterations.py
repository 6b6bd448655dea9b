"""The steps that an optimizer has counted, where a checkpoint keeps them and its rate goes by them: part of G6.

An optimizer counts a rank's steps. In a run with another number of ranks its schedule would be at another place, if not at its
end. Where the checkpoint keeps a count of the program's own beside, which goes on by the steps of all ranks, the optimizer's is
set by it once both are restored; else it is said."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import ITERATIONS, Counter, CounterKind
from horovodize.facts.files.kept import RESTORING
from horovodize.python.syntax import argument, says_none
from horovodize.rules.drafting.decisions import OfAll, Scheduled, Strided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted, with_each_step
from horovodize.rules.resuming import restoring, written_counts
from horovodize.rules.scaling.strong import Scaling, scaling, sites_of
from horovodize.summary.estimators import RUN_CONFIG

STORED = "this goes on from a count of a rank's steps: go on with as many ranks as the run had that saved the checkpoint"
RESUMED = (
    "the last step counts those of earlier runs, too: a checkpoint of a run with another number of ranks has counted other "
    "steps"
)
_WHAT = "Go on where the schedule was, on any number of ranks"
_WHY = "An optimizer counts a rank's steps, so with other ranks its rate would go on from another place of the schedule."
_SAID = (
    "the rate of this optimizer goes by its own count of a rank's steps, which is kept here: go on with as many ranks as the "
    "run had that saved the checkpoint"
)


_COMPARED = "Compare the steps of all ranks together"
_WHY_COMPARED = "What it is compared with counts the steps of all ranks."
_OF_GRAPH = (
    "this schedule goes by the global step, which counts a rank's steps and goes on in a later run: go on with as many ranks "
    "as the run had that saved the checkpoint"
)
_RANKS = "go on with as many ranks as"
_FOLDERS = ("checkpoint_dir", "checkpoint_filename_with_path", "model_dir")


def apply(draft: Draft) -> None:
    written_counts.apply(draft)
    for kept, made in _scheduled(draft):
        if not draft.once("kept iterations", made):
            continue
        sites = sites_of(draft, kept)
        counters = [
            c for c in draft.facts.counters.listed.stored if c.made is not None and _counts(draft, c, sites)
        ]
        places = dict(draft.facts.kept.places(made))
        steps = [dict(draft.facts.kept.places(c.made)) for c in counters if c.made is not None]
        found = [(call, name, step[call]) for call, name in places.items() for step in steps if call in step]
        if not found:
            draft.note("G6", kept, _SAID)
            continue
        for call, name, step in found:
            restored = draft.syntax.statement(call)
            place = restoring.reached_by_all(draft, restored)
            if place is not None and not restoring.is_there(draft, name, restored, place):
                place = restored
            line = f"{name}.iterations.assign(int({step}) // {SIZE})"
            edits = restoring.after_restoring(draft, place, restored, line) if place is not None else []
            if edits:
                draft.change("G6", call, _WHAT, _WHY, edits)
            else:
                draft.note("G6", kept, _SAID)


def tell_of_graphs(draft: Draft) -> None:
    """Says that a graph's schedule goes by a rank's steps, where a later run goes on from those and nothing else says it."""
    if (
        not draft.in_graph
        or not goes_on(draft)
        or any(n.message == RESUMED or _RANKS in n.message for n in draft.notes)
    ):
        return
    for call in draft.syntax.calls:
        if draft.was(call, Scheduled):
            draft.note("C4", call, _OF_GRAPH)
            return


def tell_begun(draft: Draft) -> None:
    """Says it of numbers that begin with such a count: `step = int(optimizer.iterations)`."""
    if any(n.message == STORED for n in draft.notes):
        return
    for counter, begun in draft.facts.counters.listed.begun_by_others:
        if counted.counts_share(draft, counter):
            tell(draft, "G6", begun, begun)


def tell_compared(draft: Draft) -> None:
    """`if epoch * steps + i < done: continue` → `… < done * hvd.size()`, where `done` is what TensorFlow has counted, a rank's
    steps, and the other side is told those of all ranks."""
    for test in draft.syntax.every(ast.Compare) if draft.having(OfAll) else ():
        sides = [test.left, *test.comparators]
        told = [any(draft.was(n, OfAll) for n in ast.walk(_made(draft, side))) for side in sides]
        for side in (s for s, of_all in zip(sides, told, strict=True) if not of_all and any(told)):
            counter = counted.of(draft, side)
            if counter is not None and counter.kind in (CounterKind.ITERATIONS, CounterKind.GLOBAL_STEP):
                draft.change("G6", side, _COMPARED, _WHY_COMPARED, counted.read_as_all(draft, side, "G6"))
                if goes_on(draft) or draft.facts.kept.restored:
                    draft.note("G6", side, STORED)


def _made(draft: Draft, side: ast.expr) -> ast.expr:
    """What a name is set to, if it is set at one place: `step = epoch * batches + i`."""
    bound = draft.module.scopes.reaching(side) if isinstance(side, ast.Name) else []
    value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path else None
    return value if value is not None else side


def goes_on(draft: Draft) -> bool:
    """Whether a session goes on from a checkpoint, or an Estimator does."""
    steps = sites_of(draft, None)
    for read in draft.sites.method_calls(*RESTORING):
        if not steps or any(restoring.may_come_before(draft, read, step) for step in steps):
            return True
    known = draft.sites.read_estimators.constructions
    made = [*known, *draft.module.calls_of(RUN_CONFIG)]
    if draft.sites.estimators and (not known or any(len(c.args) > 1 for c in made)):
        return True  # perhaps with a directory
    given = [k for c in draft.syntax.calls for k in c.keywords if k.arg in _FOLDERS]
    sessions = (c for c in draft.syntax.calls if draft.names.last(c.func) == "MonitoredTrainingSession")
    folders = [k.value for k in given] + [c.args[2] for c in sessions if len(c.args) > 2]
    folders += [e for c in draft.sites.supervisors if (e := argument(c, "logdir", 7)) is not None]
    return any(not says_none(e) for e in folders)


def tell(draft: Draft, rule: str, at: ast.AST, number: ast.expr) -> None:
    """Says that a number is a rank's steps, where training ends or begins by it and a checkpoint gives it back."""
    counter = draft.facts.counters.of(number)
    if counter is not None and counter.kind is CounterKind.GLOBAL_STEP and goes_on(draft):
        draft.note(rule, at, STORED)
    if counter is None or counter.kind is not CounterKind.ITERATIONS:
        return
    if not draft.facts.kept.restored and not _comes_with_model(draft, number):
        return
    if next(_scheduled(draft), None) is None:  # said of these already, or set to the number of all ranks
        draft.note(rule, at, STORED)


def _comes_with_model(draft: Draft, number: ast.expr) -> bool:
    counts = (n for n in draft.values.depends([number], 100) if isinstance(n, ast.Attribute))
    return any(n.attr in ITERATIONS and draft.facts.kept.comes_with_model(n.value) for n in counts)


def _scheduled(draft: Draft) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The optimizers that checkpoints keep and that a schedule by a rank's steps gives the rate, with where they are made."""
    for kept in draft.facts.kept.all:
        for made in draft.values.calls(kept):
            rate = argument(made, "learning_rate", 0)
            schedules = (
                draft.values.calls(rate) if rate is not None and made in draft.facts.kept.restored else ()
            )
            if any(draft.was(s, Scheduled) for s in schedules):
                if any(scaling(draft, site) is Scaling.WEAK for site in sites_of(draft, kept)):
                    yield kept, made


def _counts(draft: Draft, counter: Counter, sites: list[ast.Call]) -> bool:
    """Whether a count goes on by size() with each step of an optimizer, and is never anything else: one that begins again in
    each epoch, `offset.assign(0)`, is no number of all steps."""
    if len(counter.advances) > 1 or len(sites) > 1 or _is_set_otherwise(draft, counter):
        return False
    places = (*counter.advances, *sites)
    tests = [
        {
            decision
            for way in draft.drive.ways(p)
            for f in way
            for decision, _ in draft.syntax.conditions(f.node)
        }
        for p in places
    ]
    return (
        tests[0] == tests[1] and draft.was(places[0], Strided) and with_each_step.is_by_step(draft, places[0])
    )


def _is_set_otherwise(draft: Draft, counter: Counter) -> bool:
    """Whether something gives a variable another number than the next one."""
    sets = draft.sites.method_calls("assign", "assign_sub", "assign_add")
    return any(
        call not in counter.advances
        and isinstance(call.func, ast.Attribute)
        and counter.made in draft.values.calls(call.func.value)
        for call in sets
    )


__all__ = ["RESUMED", "STORED", "apply", "goes_on", "tell", "tell_begun", "tell_compared", "tell_of_graphs"]
