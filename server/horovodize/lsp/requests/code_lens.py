"""textDocument/codeLens: above each training loop what it is, and the command that distributes it.

Lenses come with their texts: an editor that asks for those later, and is told by then that the document has changed, shows an
empty line until one scrolls. While somebody types, they say what they said of the version before, and the editor is asked to
look again as soon as it is known whether the new one can be distributed."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import distribution, project_findings
from horovodize.lsp.analysis import NOT_DISTRIBUTED, Analysis
from horovodize.lsp.commands import DISTRIBUTE
from horovodize.lsp.diagnostics import reported
from horovodize.lsp.session import OpenDocument, Session
from horovodize.plan import Refusal, Unchanged

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_CODE_LENS
OPTIONS = types.CodeLensOptions()
_LONGEST = 80  # characters of a reason; a lens is one line above the code
_NO_COMMAND = ""  # a text that does nothing


def handle(server: HorovodizeServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    session, uri = server.session, params.text_document.uri
    opened = session.get(uri)
    shown = (
        opened.shown(opened.settings.options) if opened is not None and opened.settings.code_lens else None
    )
    if opened is None or shown is None:
        return []
    analysis, drift = shown
    loops = {loop.span: loop.kind.label for loop in reversed(analysis.summary.loops)}
    if drift is None:
        loops = {**project_findings.loops_in_modules(opened), **loops}
    words = _Words(session, opened, analysis, parses=drift is None)
    if drift is None:
        opened.awaits_outcome = words.are_of_before
    lenses: list[types.CodeLens] = []
    for loop, kind in sorted(loops.items()):
        span = loop if drift is None else drift.forward(loop)
        place = opened.location(span, session.encoding) if span is not None else None
        if place is None or place.uri != uri:
            continue
        commands = [types.Command(f"{kind} training loop: {words.state}", _NO_COMMAND)]
        if loop in words.hinted:
            target = {"uri": uri, "version": opened.version}
            commands.append(types.Command(words.title, DISTRIBUTE, arguments=[target]))
        lenses += [types.CodeLens(place.range, command) for command in commands]
    return lenses


@dataclass(frozen=True)
class _Said:
    """What was said of a version: what the command is called, and how the loops train."""

    title: str
    now: str


_SAID: weakref.WeakKeyDictionary[OpenDocument, _Said] = weakref.WeakKeyDictionary()


class _Words:
    """What is said of the loops of one document.

    hinted  the loops that are reported as not distributed: none while the text does not parse
    """

    def __init__(self, session: Session, opened: OpenDocument, analysis: Analysis, *, parses: bool) -> None:
        self._session, self._opened, self._analysis, self._parses = session, opened, analysis, parses
        known = project_findings.together(opened, analysis.violations) if parses else []
        self.hinted = {violation.span for violation in known if violation.code == NOT_DISTRIBUTED}

    @cached_property
    def are_of_before(self) -> bool:
        """Whether what the newest version comes to isn't known yet, and takes longer than a lens may."""
        can_ask_again = self._session.client.refreshes_code_lenses
        return can_ask_again and self._opened in _SAID and self._analysis.takes_long

    @property
    def title(self) -> str:
        """What the command is called."""
        return self._said.title

    @property
    def state(self) -> str:
        """Whether the loops are or can be distributed, and how many findings the file has."""
        return self._said.now + self._counted if self._parses else "the file does not parse"

    @cached_property
    def _said(self) -> _Said:
        if not self.are_of_before:
            subject = distribution.subject_of(self._session, self._opened)
            _SAID[self._opened] = _Said(subject.title, _now(subject))
        return _SAID[self._opened]

    @property
    def _counted(self) -> str:
        count = len([v for v in reported(self._session, self._opened) if v.code != NOT_DISTRIBUTED])
        return f", {count} finding{'s' if count > 1 else ''}" if count else ""


def _now(subject: distribution.Subject) -> str:
    if isinstance(subject.outcome, Unchanged):
        return "distributed already"
    if isinstance(subject.outcome, Refusal):
        return f"can't be distributed: {_short(subject.obstacle or '')}"
    return f"runs in one process, in {subject.name}" if subject.runner else "runs in one process"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
