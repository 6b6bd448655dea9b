"""textDocument/hover: what a loop, optimizer, model, dataset or tape is, and what distributing would do
there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.explaining.explanation import explain, explain_problem
from horovodize.explaining.markup import Markup
from horovodize.lsp.project_view import earlier, views_of

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_HOVER
OPTIONS = None


def handle(server: HorovodizeServer, params: types.HoverParams) -> types.Hover | None:
    session = server.session
    opened = session.get(params.text_document.uri)
    if opened is None:
        return None
    offset = opened.offset(params.text_document.uri, params.position, session.encoding)
    markup = Markup(session.client.markdown)
    shown = opened.shown(opened.settings.options)
    if shown is None:
        span = explain_problem(opened.analysis(opened.settings.options).summary, offset, markup)
    else:
        analysis, drift = shown
        if drift is None:
            views = views_of(session, opened)
            span = next((s for view in views if (s := explain(view, offset, markup)) is not None), None)
        else:
            then = drift.back(offset)
            view = earlier(session, opened, analysis)
            span = explain(view, then, markup) if then is not None else None
            if span is not None:
                markup.paragraph("This is as of the last version that parses.")
                span = drift.forward(span)
    if markup.empty:
        return None
    kind = types.MarkupKind.Markdown if markup.markdown else types.MarkupKind.PlainText
    content = types.MarkupContent(kind, markup.text)
    return types.Hover(content, opened.location(span, session.encoding).range if span else None)
