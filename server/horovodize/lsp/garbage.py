"""When garbage is collected: while nobody waits, rather than in the middle of an answer.

A version of a document and all that is known of it refer to each other, are large, and are soon replaced. Python's own measure
keeps several of them, then looks through all in the middle of an answer."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

_QUIET = 1.0  # seconds without a call of `collect_later`
_SOONER = (
    700,
    5,
    5,
)  # when the young, the middle-aged and the old are looked through; Python's own: 700, 10, 10


def keep_what_is_loaded() -> None:
    """What there is now stays for good: looking through it again at every collection would hold up answers."""
    gc.freeze()
    gc.set_threshold(*_SOONER)


def collect_later(server: HorovodizeServer) -> None:
    """Collects what is no longer needed, once nothing has happened for a while."""
    server.later("garbage", _QUIET, _collect)


def _collect() -> None:
    gc.collect()
