"""What the page shows of a script: its loops, what is found in it, what distributing it comes to.

Places are lines from 0 and characters in UTF-16 units, as JavaScript counts; `line` alone is the line from 1. Texts are prose
in which only what stands between backquotes is code, but for `hover`, which is Markdown with links to pages as `page:C5`."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from horovodize.distribute import distribute
from horovodize.documentation import page_address
from horovodize.explaining import Markup, View, explain, explain_problem
from horovodize.options import Options, is_version
from horovodize.plan import Plan, Refusal
from horovodize.restrictions import RESTRICTIONS, examine
from horovodize.rules import RULES
from horovodize.runtime import text_of
from horovodize.source import Document, LineIndex, Position, PositionEncoding, Span
from horovodize.source.hunks import CONTEXT, blocks_of, hunks_of, lines_of
from horovodize.summary import summarize

if TYPE_CHECKING:
    from horovodize.plan import Change
    from horovodize.restrictions.violation import Findings, Violation
    from horovodize.summary import ModuleSummary

_UNITS = PositionEncoding.UTF16
_BURIED = "HVD108"
_ADDRESS = re.compile(r"<file:[^>]*/pages/(\w+)\.md>")


class Script:
    """One version of a script; `changed` gives the next, which reads again only what has changed."""

    def __init__(self, text: str, name: str, tensorflow: str = "", before: Document | None = None) -> None:
        self.document = before.changed_to(text) if before is not None else Document(text, name)
        self.options = Options(tensorflow=tensorflow if is_version(tensorflow) else "")

    def changed(self, text: str, name: str, tensorflow: str = "") -> Script:
        return Script(text, name, tensorflow, self.document if name == self.document.path else None)

    @cached_property
    def _summary(self) -> ModuleSummary:
        return summarize(self.document)

    @cached_property
    def _view(self) -> View:
        outcome = distribute(self._summary, self.options, self._findings)
        return View(self._summary, outcome, self.document, self.options)

    @cached_property
    def _findings(self) -> Findings:
        return examine(self._summary, self.options)

    def hover(self, line: int, character: int) -> str:
        """What is said of a place: JSON with `hover` and `range`; "null" where nothing is."""
        found = self._said_of(self.document.lines.offset(Position(line, character), _UNITS))
        return json.dumps({"hover": found[0], "range": self._range(found[1])} if found else None)

    def look(self) -> str:
        """All that the page shows, as JSON."""
        view = self._view
        loops = [
            {"title": loop.describe(), "hover": said[0] if said else "", **self._place(loop.site)}
            for loop in view.summary.loops
            for said in (self._said_of(loop.site.start),)
        ]
        found = {
            "world": view.world.text,
            "loops": loops,
            "findings": [self._finding(v) for v in self._findings.reported if v.code != "HVD001"],
        }
        return json.dumps(found | self._outcome())

    def _said_of(self, offset: int) -> tuple[str, Span] | None:
        markup = Markup(markdown=True)
        span = (
            explain_problem(self._summary, offset, markup)
            if self._summary.problem is not None
            else explain(self._view, offset, markup)
        )
        return None if span is None or markup.empty else (_ADDRESS.sub(r"<page:\1>", markup.text), span)

    # ------------------------------------------------------------------ what distributing comes to

    def _outcome(self) -> dict[str, Any]:
        outcome = self._view.outcome
        if isinstance(outcome, Plan):
            return {"outcome": "plan", "plan": self._plan(outcome)}
        if isinstance(outcome, Refusal):
            reasons = [
                {"code": r.code, "page": _page(r.code), "message": r.message, **self._place(r.span)}
                for r in outcome.reasons
            ]
            apart = any(r.code == _BURIED for r in outcome.reasons) and not _has_libcst()
            return {"outcome": "refused", "reasons": reasons, "needsLibcst": apart}
        return {"outcome": "unchanged", "message": outcome.message if outcome is not None else ""}

    def _plan(self, plan: Plan) -> dict[str, Any]:
        alike: dict[tuple[str, ...], list[Change]] = {}
        for change in plan.changes:
            alike.setdefault((change.rule, change.what, change.why, change.doubt), []).append(change)
        scalings = dict.fromkeys(
            (scaling.sentence, self.document.place(scaling.span.start).line) for scaling in plan.scalings
        )
        return {
            "text": plan.text,
            "changes": [self._changes(changes) for changes in alike.values()],
            "notes": [
                {"rule": n.rule, "page": _page(n.rule), "message": n.message, **self._place(n.span)}
                for n in plan.notes
            ],
            "scalings": [{"text": text, "line": line} for text, line in scalings],
            "hunks": self._hunks(plan),
            "beside": {name: text_of(name) for name in plan.beside},
        }

    def _changes(self, changes: list[Change]) -> dict[str, Any]:
        """Changes of one rule for one reason."""
        first = changes[0]
        title = RULES[first.rule].title if first.rule in RULES else first.what
        return {
            "rule": first.rule, "page": _page(first.rule), "title": title, "what": first.what, "why": first.why,
            "sure": first.sure, "doubt": first.doubt, "places": [self._place(c.span) for c in changes],
        }  # fmt: skip

    def _hunks(self, plan: Plan) -> list[dict[str, Any]]:
        """The difference; of each line its sign, its text, and its number before and after (from 1; null: it isn't there)."""
        old, index = lines_of(self.document.text), LineIndex(self.document.text)
        found, grown = [], 0
        for blocks in hunks_of(blocks_of(index, plan.edits)):
            at = start = max(blocks[0].first - CONTEXT, 0)
            end = min(blocks[-1].last + CONTEXT, len(old))
            lines: list[tuple[str, str, int | None, int | None]] = []
            for block in blocks:
                lines += [(" ", old[n], n + 1, n + 1 + grown) for n in range(at, block.first)]
                lines += [("-", old[n], n + 1, None) for n in range(block.first, block.last)]
                lines += [("+", t, None, block.first + grown + n + 1) for n, t in enumerate(block.new)]
                grown += len(block.new) - (block.last - block.first)
                at = block.last
            lines += [(" ", old[n], n + 1, n + 1 + grown) for n in range(at, end)]
            found.append(
                {"line": start + 1, "lines": [(sign, t.rstrip("\r\n"), a, b) for sign, t, a, b in lines]}
            )
        return found

    # ------------------------------------------------------------------ places

    def _finding(self, violation: Violation) -> dict[str, Any]:
        code = violation.code
        return {
            "code": code, "page": _page(code), "name": violation.name, "message": violation.message,
            "title": RESTRICTIONS[code].title if code in RESTRICTIONS else "",
            "severity": violation.severity.value, "blocks": violation.blocks,
            "related": [{"message": r.message, **self._place(r.span)} for r in violation.related],
            **self._place(violation.span),
        }  # fmt: skip

    def _place(self, span: Span) -> dict[str, Any]:
        return {"line": self.document.place(span.start).line, "range": self._range(span)}

    def _range(self, span: Span) -> list[int]:
        """The line and the character of its start, and those of its end."""
        start, end = (self.document.lines.position(offset, _UNITS) for offset in (span.start, span.end))
        return [start.line, start.character, end.line, end.character]


def _has_libcst() -> bool:
    """Whether statements that hide a step can be taken apart here."""
    try:
        import libcst  # noqa: F401
    except ImportError:
        return False
    return True


def _page(code: str) -> str | None:
    """The name of the page about a code or a rule, where there is one."""
    return code if page_address(code) else None
