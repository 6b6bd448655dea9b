"""What is said of a document after any changes is what is said of its text when it is opened: nothing that is kept from one
version to the next is out of date."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from lsprotocol import types
from pygls.protocol import default_converter

from horovodize.explaining.explanation import explain
from horovodize.explaining.markup import Markup
from horovodize.lsp.diagnostics import diagnostics_of
from horovodize.lsp.project_view import alone
from horovodize.lsp.session import OpenDocument, Session
from horovodize.plan import Plan, Refusal, Unchanged
from tests.robustness.buffer import Buffer
from tests.robustness.cases import cases
from tests.robustness.mutation import MUTATIONS, a_new_name, seeds, some_characters

URI = "file:///train.py"
CONVERTER = default_converter()


def replacement(old: str, new: str) -> tuple[int, int, str]:
    """The shortest single change that leads from one text to another."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < min(len(old), len(new)) - start and old[-tail - 1] == new[-tail - 1]:
        tail += 1
    return start, len(old) - tail, new[start : len(new) - tail]


def next_text(text: str, earlier: Sequence[str], chance: random.Random) -> str:
    """What somebody may make of a text next: mostly one that parses again soon."""
    kind = chance.random()
    if kind < 0.25:
        return chance.choice(earlier)  # undone, or brought back
    if kind < 0.5:
        lines = text.split("\n")
        at = chance.randrange(len(lines) + 1)
        lines[at:at] = chance.choice([[""], ["# note"], ["", ""], ["pass"], ["x = 1"], ["    # note"]])
        return "\n".join(lines)
    if kind < 0.6:
        return some_characters(text, chance)
    if kind < 0.7:
        return a_new_name(text, chance)
    return chance.choice(MUTATIONS)(text, chance)


def opened(text: str) -> tuple[Session, OpenDocument]:
    session = Session()
    document = session.open(types.TextDocumentItem(URI, "python", 1, text))
    assert document is not None
    return session, document


def said(session: Session, document: OpenDocument, places: Sequence[int]) -> dict[str, Any]:
    """All that the server says of a document."""
    analysis = document.analysis(document.settings.options)
    summary, outcome = analysis.summary, analysis.outcome
    hovers = []
    for place in places:
        markup = Markup(markdown=True)
        hovers.append((explain(alone(analysis), place, markup), markup.text))
    match outcome:
        case Plan():
            result: Any = (outcome.edits, [(c.rule, c.what, c.why, c.span, c.sure) for c in outcome.changes])
        case Refusal():
            result = [(r.code, r.message, r.span) for r in outcome.reasons]
        case Unchanged():
            result = outcome.message
    by_uri = diagnostics_of(session, document)
    return {
        "problem": summary.problem,
        "loops": [(loop.kind, loop.span, loop.site, loop.model, loop.optimizer) for loop in summary.loops],
        "roles": sorted((r.span, r.role, r.name, r.detail, tuple(r.uses)) for r in summary.roles),
        "violations": analysis.violations,
        "outcome": result,
        "hovers": hovers,
        "diagnostics": [[d.message, d.code, CONVERTER.unstructure(d.range)] for d in by_uri[URI]],
    }


@cases(150, st.integers(0, 2**32))
def test_what_is_said_depends_on_the_text_alone(number: int) -> None:
    chance = random.Random(number)
    buffer = Buffer(chance.choice(seeds()))
    session, document = opened(buffer.text)
    earlier = [buffer.text]
    for version in range(2, chance.randint(3, 9)):
        start, end, new = replacement(buffer.text, next_text(buffer.text, earlier, chance))
        change = CONVERTER.structure(
            buffer.replace_span(start, end, new), types.TextDocumentContentChangePartial
        )
        session.change(URI, version, [change])
        document.saved()  # what is being typed is reported on more softly
        assert document.text == buffer.text
        earlier.append(buffer.text)
        if chance.random() < 0.7 and document.analysis(document.settings.options).summary.problem is None:
            places = [chance.randrange(len(buffer.text) + 1) for _ in range(3)]
            fresh = opened(buffer.text)
            assert said(session, document, places) == said(*fresh, places), (
                f"case {number}, version {version}"
            )
