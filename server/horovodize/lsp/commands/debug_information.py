"""horovodize.debugInformation: what a report of a fault should have, as Markdown. No text of the user's files is in it."""

from __future__ import annotations

import dataclasses
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from horovodize import __version__
from horovodize.lsp import distribution
from horovodize.lsp.progress import Work
from horovodize.lsp.session import OpenDocument, Session

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def run(server: HorovodizeServer, arguments: Sequence[Any], work: Work) -> str:
    return "\n".join(_lines(server))


def _lines(server: HorovodizeServer) -> Iterator[str]:
    session = server.session
    yield f"# Horovodize {__version__}"
    yield ""
    yield f"- Python {platform.python_version()} at {sys.executable}"
    yield f"- {platform.system()} {platform.release()} {platform.machine()}"
    for package in ("pygls", "lsprotocol"):
        yield f"- {package} {_version(package)}"
    yield f"- client: {server.client_name or 'not told'}"
    yield f"- positions: {session.encoding.value}"
    yield ""
    yield "## Client"
    yield from _fields(session.client)
    yield ""
    yield "## Settings"
    yield from _fields(session.settings)
    yield ""
    yield "## Open documents"
    for opened in session.documents:
        yield from _document(session, opened)


def _document(session: Session, opened: OpenDocument) -> Iterator[str]:
    analysis = opened.analysis(opened.settings.options)
    problem = analysis.summary.problem
    yield f"- {opened.uri}, version {opened.version}, {len(opened.document.lines)} lines"
    if problem is not None:
        yield f"  - does not parse: {problem.message}"
    else:
        yield f"  - loops: {', '.join(loop.kind.value for loop in analysis.summary.loops) or 'none'}"
        yield f"  - findings: {', '.join(v.code for v in analysis.violations) or 'none'}"
        yield f"  - outcome: {type(distribution.outcome_of(session, opened)).__name__}"
    yield f"  - options: {opened.settings.options}"


def _fields(thing: Any) -> Iterator[str]:
    for field in dataclasses.fields(thing):
        yield f"- {field.name}: {getattr(thing, field.name)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
