"""textDocument/codeLens: above each training loop what kind it is and, where it can be distributed, the command for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import linked
from horovodize.lsp.analysis import NOT_DISTRIBUTED

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_CODE_LENS
OPTIONS = types.CodeLensOptions()


def handle(server: HorovodizeServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Lenses without their texts: `code_lens_resolve` makes those, for the ones that come into view."""
    session, uri = server.session, params.text_document.uri
    opened = session.get(uri)
    shown = (
        opened.shown(opened.settings.options) if opened is not None and opened.settings.code_lens else None
    )
    if opened is None or shown is None:
        return []
    analysis, drift = shown
    # no plan is made for this: the hint says that there is one; and nothing is offered while the text does not parse
    known = linked.together(opened, analysis.violations) if drift is None else []
    hinted = {violation.span for violation in known if violation.code == NOT_DISTRIBUTED}
    loops = {loop.span: loop.kind.label for loop in reversed(analysis.summary.loops)}
    if drift is None:
        loops = {**linked.loops_in_modules(opened), **loops}
    lenses: list[types.CodeLens] = []
    for loop, kind in sorted(loops.items()):
        span = loop if drift is None else drift.forward(loop)
        place = opened.location(span, session.encoding) if span is not None else None
        if place is None or place.uri != uri:
            continue
        for lens in ("loop", "distribute") if loop in hinted else ("loop",):
            data = {"uri": uri, "version": opened.version, "kind": kind, "lens": lens}
            lenses.append(types.CodeLens(place.range, data=data))
    return lenses
