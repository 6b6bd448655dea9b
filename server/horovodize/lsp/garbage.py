"""When garbage is collected: while nobody waits, rather than in the middle of an answer.

A version of a document and all that is known of it refer to each other, are large, and are soon replaced. Left to Python, a
collection of all that there is takes longer than reading the file that happens to bring it about."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

_PAUSE = 0.03  # seconds without a message: shorter than between two keystrokes
_QUIET = 0.5  # seconds without a message: nobody is typing
_FEW = 2_000  # objects (containers, as Python counts them) that are not worth a collection
_MANY = 8_000  # objects that were made since all was looked through, some 1 MiB, as two plans leave: no longer put off
_ONE_STEP = 200_000  # objects that one answer may make before Python collects by itself


def keep_what_is_loaded() -> None:
    """What there is now stays for good: it is not looked through again."""
    gc.collect()
    gc.freeze()


class Garbage:
    """What one server has made and does not need any longer."""

    def __init__(self, server: HorovodizeServer) -> None:
        self._server = server
        self._made = 0  # objects, since all was looked through
        gc.set_threshold(_ONE_STEP)

    def collect_later(self) -> None:
        """To be told of each message that was answered."""
        self._server.later("young garbage", _PAUSE, self._collect_young)
        self._server.later("garbage", _QUIET, self._collect)

    def _collect_young(self) -> None:
        young = gc.get_count()[0]
        if self._made + young > _MANY:
            self._collect()
        elif young > _FEW:
            self._made += young
            gc.collect(1)

    def _collect(self) -> None:
        if self._made + gc.get_count()[0] > _FEW:
            gc.collect()
        self._made = 0
