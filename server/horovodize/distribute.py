"""Summary and rules → a plan, or a refusal.

The order: what is distributed already has nothing to do; what the rules can't reach is refused before any rule runs; then
the rules of the loop's patterns write their changes, and a rule that can't prove what it needs refuses the whole document.

A plan never says less than `check`: a warning either blocks, or a rule's change answers it (`Draft.answer`), or it becomes a
question of the plan.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeAlias

from horovodize import runtime
from horovodize.options import Options
from horovodize.plan import Change, Plan, Reason, Refusal, Unchanged
from horovodize.restrictions import RESTRICTIONS, Findings, examine
from horovodize.restrictions.context import Context
from horovodize.restrictions.violation import Severity, Violation
from horovodize.reviewing import is_asked
from horovodize.rules.beginning.head import names as horovod_names
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.patterns import rules_for
from horovodize.rules.scaling import how_scaled
from horovodize.source import Document, EditConflict, Span, Untouchable
from horovodize.summary import LoopKind, ModuleSummary, summarize
from horovodize.taking_apart import TakenApart, take_apart

Outcome: TypeAlias = Plan | Refusal | Unchanged
# What no result may have: it would train wrong or hang, and nothing would say so before.
_NEVER = ("HVD304", "HVD305", "HVD313", "HVD331", "HVD333")


def distribute(
    summary: ModuleSummary, options: Options | None = None, found: Findings | None = None
) -> Outcome:
    """The plan that distributes a document. `found`: what is found in it under the same options, where that is known already.
    Never raises."""
    steps = distributing(summary, options or Options(), found)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome


def distributing(
    summary: ModuleSummary, options: Options, found: Findings | None = None
) -> Generator[None, None, Outcome]:
    """The same, rule by rule, for who has other things to do in between; the outcome is what it returns."""
    apart = take_apart(summary)
    while True:
        yield
        shared: list[ast.stmt] = []
        now = summary if apart is None else apart.summary
        outcome = yield from _distributing(now, options, found if apart is None else None, shared)
        more = take_apart(now, shared) if shared else None
        if more is None:
            break
        apart = TakenApart(summary, more.summary)
    if apart is None:
        return outcome
    try:
        outcome = apart.back(outcome)
        if isinstance(outcome, Plan):
            summary.document.verify(outcome.edits)
        return outcome
    except (EditConflict, SyntaxError, Untouchable):  # what is said of the script as it stands
        return (yield from _distributing(summary, options, found, []))


def _distributing(
    summary: ModuleSummary, options: Options, found: Findings | None, shared: list[ast.stmt]
) -> Generator[None, None, Outcome]:
    """Rule by rule; `shared` gets the statements that need lines of their own."""
    document = summary.document
    found = examine(summary, options) if found is None else found
    early = _before_rules(summary, found)
    if early is not None:
        return early
    try:
        draft = Draft(summary, options)
        for rule in rules_for(summary.kinds):
            yield
            if rule.apply is not None:
                rule.apply(draft)
            if draft.reasons and rule.id == "C6":
                break
        shared += draft.shared_lines
        if draft.reasons:
            return Refusal(document, sorted(draft.reasons, key=lambda r: r.span))
        yield
        hvd, keras, core = horovod_names(draft)
        beside = _beside(draft)
        changes = sorted(draft.finish(hvd, keras, core), key=lambda c: c.span)
        plan = Plan(document, changes, draft.notes, draft.answered, how_scaled.sentences(draft), beside)
        plan = _with_questions(plan, found.open)
        document.verify(plan.edits)
        yield
        return (yield from _reviewed(plan, options))
    except Untouchable as e:
        return Refusal(document, [Reason("HVD006", str(e), e.span)])
    except RecursionError:
        return _refused(summary, "HVD003", "the code is nested too deeply to be followed")
    except EditConflict as e:
        return _refused(
            summary, "HVD007", f"two rules want to change the same text ({e}); please report this file"
        )
    except SyntaxError as e:
        return _refused(
            summary, "HVD007", f"the result would not be valid Python ({e.msg}); please report this file"
        )


def _reviewed(plan: Plan, options: Options) -> Generator[None, None, Plan | Refusal]:
    """The plan, unless what it makes of a file has one of the faults that show only when it trains wrong or hangs, and asks
    nothing about it: then the rules have missed something, and nothing is changed."""
    document = plan.document
    if type(document) is not Document or not plan.changes:
        return plan  # of a project, each of whose files is a part
    result = summarize(document.made(plan.text))
    if result.already is not LoopKind.HOROVOD or result.module is None:
        return plan
    context = Context(result, options)
    for code in _NEVER:
        yield
        restriction = RESTRICTIONS[code]
        found = (v for v in restriction.find(context) if v.severity is Severity.WARNING)
        if any(not is_asked(plan, context, v) for v in found):
            fault = f"read again, the result would break {code} ({restriction.title}): something here can't be followed"
            return Refusal(document, [Reason("HVD006", f"{fault}; please report this file", Span(0, 0))])
    return plan


def _beside(draft: Draft) -> tuple[str, ...]:
    """The modules of ours that have to stand beside a script: none where the package has them."""
    if draft.options.runtime == "package":
        return ()
    return (runtime.KERAS_3,) if draft.keras_3 else (runtime.ELASTIC,) if draft.options.elastic else ()


def _with_questions(plan: Plan, found: Sequence[Violation]) -> Plan:
    """A plan that asks what `check` warns of and none of its changes answers."""
    asked = [_question(violation) for violation in found if not plan.answers(violation.code, violation.span)]
    return replace(plan, changes=sorted([*plan.changes, *asked], key=lambda c: c.span)) if asked else plan


def _question(violation: Violation) -> Change:
    what = f"Look at this first: {RESTRICTIONS[violation.code].title}"
    why = "No change answers what `check` reports here."
    return Change(violation.code, what, why, violation.span, (), False, violation.message)


def _before_rules(summary: ModuleSummary, found: Findings) -> Refusal | Unchanged | None:
    """What needs no rule to be answered."""
    problem = summary.problem
    if problem is not None:
        return Refusal(summary.document, [Reason("HVD003", problem.message, problem.span)])
    if summary.already is LoopKind.HOROVOD:
        return Unchanged(summary.document, "it uses Horovod already")
    if found.blocking:
        return Refusal(summary.document, [Reason(v.code, v.message, v.span) for v in found.blocking])
    if not summary.loops:
        return _without_loop(summary)
    return None


def _without_loop(summary: ModuleSummary) -> Refusal:
    """A class that is given its session trains, but not by itself."""
    given = _runs_of_given_sessions(summary)
    if not given or summary.module is None:
        return _refused(summary, "HVD002", "there is no training loop in this file")
    message = "the session that trains here is opened in another file; distribute the script that opens it"
    return Refusal(summary.document, [Reason("HVD002", message, summary.module.span(given[0]))])


def _runs_of_given_sessions(summary: ModuleSummary) -> list[ast.Call]:
    """The calls that run a train op of the file, where it opens no session."""
    sites = summary.sites
    if sites is None or sites.sessions or not sites.graph_minimizes:
        return []
    graph, made = sites.graph, set[ast.AST](sites.graph_minimizes)
    return [c for c in graph.all_runs if any(op in made for op in graph.operations(graph.fetches(c)))]


def _refused(summary: ModuleSummary, code: str, message: str) -> Refusal:
    return Refusal(summary.document, [Reason(code, message, Span(0, 0))])
