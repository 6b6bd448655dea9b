"""horovodize.reindex: forgets what is known of the workspace, what is kept on disk too, and finds it out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from horovodize.lsp.progress import Work

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer


def run(server: HorovodizeServer, arguments: Sequence[Any], work: Work) -> None:
    server.index.make_anew()
