"""horovodize.explain: the page about a rule ("C5"), a code ("HVD105") or its name ("aliased-optimizer"), as Markdown. Without
an argument a list of all of them, to choose from: `[{"id": "HVD105", "name": "aliased-optimizer", "title": "…"}]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams

from horovodize.lsp.progress import Work

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def run(server: HorovodizeServer, arguments: Sequence[Any], work: Work) -> str | list[dict[str, str]]:
    """Raises JsonRpcInvalidParams where there is no such page."""
    from horovodize.documentation import every_page, find_page

    if not arguments:
        return [{"id": page.id, "name": page.name, "title": page.title} for page in every_page()]
    page = find_page(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], str) else None
    if page is None:
        raise JsonRpcInvalidParams(f"there is no rule, code or name {', '.join(map(repr, arguments))}")
    return page.text
