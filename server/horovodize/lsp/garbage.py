"""When garbage is collected: also while nobody waits, rather than in the middle of an answer alone.

A version of a document and all that is known of it refer to each other, are large, and are soon replaced."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

_QUIET = 1.0  # seconds without a call of `collect_later`


def keep_what_is_loaded() -> None:
    """What there is now stays for good: looking through it again at every collection would hold up answers. (Other thresholds
    than Python's own gained nothing: sooner, a file opens half as slowly again; later, memory grows by half.)"""
    gc.freeze()


def collect_later(server: HorovodizeServer) -> None:
    """Collects what is no longer needed, once nothing has happened for a while."""
    server.later("garbage", _QUIET, _collect)


def _collect() -> None:
    gc.collect()
