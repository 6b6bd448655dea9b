"""Summary and rules → a plan, or a refusal.

The order: what is distributed already has nothing to do; what the rules can't reach is refused before any rule runs; then
the rules of the loop's patterns write their changes, and a rule that can't prove what it needs refuses the whole document.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeAlias

from horovodize.options import Options
from horovodize.plan import Plan, Reason, Refusal, Unchanged
from horovodize.restrictions import check
from horovodize.restrictions.violation import Severity, Violation
from horovodize.rules.draft import Draft
from horovodize.rules.head import names as horovod_names
from horovodize.rules.patterns import rules_for
from horovodize.source import EditConflict, Span, Untouchable
from horovodize.summary import LoopKind, ModuleSummary

# Restrictions whose warning means that no rule can make up for it: the ranks would train different models, or wait for each
# other. A user who knows better says so with a suppression comment.
_REFUSING = {"HVD202", "HVD203", "HVD205", "HVD901"}


Outcome: TypeAlias = Plan | Refusal | Unchanged


def distribute(
    summary: ModuleSummary, options: Options | None = None, found: Sequence[Violation] | None = None
) -> Outcome:
    """The plan that distributes a document. `found`: its violations under the same options, where they are known already.
    Never raises."""
    steps = distributing(summary, options or Options(), found)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome


def distributing(
    summary: ModuleSummary, options: Options, found: Sequence[Violation] | None = None
) -> Generator[None, None, Outcome]:
    """The same, rule by rule, for who has other things to do in between; the outcome is what it returns."""
    document = summary.document
    early = _before_rules(summary, options, found)
    if early is not None:
        return early
    try:
        draft = Draft(summary, options)
        for rule in rules_for(summary.kinds):
            yield
            rule.apply(draft)
            if draft.reasons and rule.id == "C6":
                break
        if draft.reasons:
            return Refusal(document, sorted(draft.reasons, key=lambda r: r.span))
        yield
        hvd, keras = horovod_names(draft)
        changes = sorted(draft.finish(hvd, keras), key=lambda c: c.span)
        plan = Plan(document, changes, draft.notes)
        document.verify(plan.edits)
        return plan
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


def _before_rules(
    summary: ModuleSummary, options: Options, found: Sequence[Violation] | None
) -> Refusal | Unchanged | None:
    """What needs no rule to be answered."""
    problem = summary.problem
    if problem is not None:
        return Refusal(summary.document, [Reason("HVD003", problem.message, problem.span)])
    if summary.already is LoopKind.HOROVOD:
        return Unchanged(summary.document, "it uses Horovod already")
    found = check(summary, options) if found is None else found
    violations = [v for v in found if v.code in _REFUSING and v.severity is Severity.WARNING]
    if violations:
        return Refusal(summary.document, [Reason(v.code, v.message, v.span) for v in violations])
    if not summary.loops:
        return _refused(summary, "HVD002", "there is no training loop in this file")
    return None


def _refused(summary: ModuleSummary, code: str, message: str) -> Refusal:
    return Refusal(summary.document, [Reason(code, message, Span(0, 0))])
