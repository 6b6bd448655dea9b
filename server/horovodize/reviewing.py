"""What the result of a plan, read again as a script that uses Horovod, shows that the plan doesn't say."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Plan
from horovodize.restrictions.context import Context
from horovodize.restrictions.violation import Violation
from horovodize.source import Document, Span


def is_asked(plan: Plan, context: Context, found: Violation) -> bool:
    """Whether a plan asks about what is found in its result: about a line that is named there, or one that sets what is read
    there."""
    asked = {line for change in plan.to_confirm for line in _lines(plan.document, change.span)}
    if not asked:
        return False
    before = (Span(_before(plan, s.start), _before(plan, s.end)) for s in _named(context, found))
    return any(line in asked for span in before for line in _lines(plan.document, span))


def _named(context: Context, found: Violation) -> Iterator[Span]:
    """The place of what is found, and those where the names on its lines are set."""
    yield found.span
    lines = _lines(context.document, found.span)
    for n in context.syntax.every(ast.Name):
        if n.lineno - 1 in lines and isinstance(n.ctx, ast.Load):
            for bound in context.scopes.reaching(n):
                if bound.kind == "assign":
                    yield context.module.span(bound.statement)


def _before(plan: Plan, offset: int) -> int:
    """Where an offset of the result was in the text before."""
    more = 0  # characters that edits have put in so far
    for edit in plan.edits:
        if offset < edit.span.start + more:
            break
        more += len(edit.new_text) - (edit.span.end - edit.span.start)
        if offset < edit.span.end + more:
            return edit.span.start
    return offset - more


def _lines(document: Document, span: Span) -> range:
    """The lines of a span, from 0 on."""
    line_of = document.lines.line_of
    return range(line_of(span.start), line_of(max(span.start, span.end - 1)) + 1)
