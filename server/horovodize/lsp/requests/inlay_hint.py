"""textDocument/inlayHint: beside rates, steps and batch sizes, what they become on size() ranks. Off unless the setting
`inlayHints` is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import distribution
from horovodize.source import Span

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_INLAY_HINT
OPTIONS = types.InlayHintOptions()


def handle(server: HorovodizeServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    session, uri = server.session, params.text_document.uri
    opened = session.get(uri)
    if opened is None or not opened.settings.inlay_hints:
        return []
    own = distribution.plan_within(session, opened)
    if own is None:
        return []
    from horovodize.scaling import scaled

    wanted = opened.span(uri, params.range, session.encoding)
    hints: list[types.InlayHint] = []
    for scale in scaled(own):
        place = opened.location(Span(scale.offset, scale.offset), session.encoding)
        if place.uri == uri and wanted.start <= scale.offset <= wanted.end:
            why = f"{scale.rule}: {scale.why}" if scale.rule else scale.why
            hints.append(types.InlayHint(place.range.start, scale.text, tooltip=why, padding_left=True))
    return hints
