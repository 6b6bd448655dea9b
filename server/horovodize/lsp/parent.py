"""Ends the server when the editor that started it is gone and could not say so."""

from __future__ import annotations

import os
import sys
import threading
import time

_SECONDS = 2.0


def exit_with(process: int) -> None:
    """Watches a process and ends this one, at once, when it is gone. A process that isn't there to begin with
    lives on another machine or in another container, and isn't watched."""
    if is_alive(process):
        threading.Thread(target=_watch, args=(process,), name="parent", daemon=True).start()


def _watch(process: int) -> None:
    while is_alive(process):
        time.sleep(_SECONDS)
    os._exit(1)  # nobody reads what we could still say, and nothing is left half written


def is_alive(process: int) -> bool:
    """Whether a process with this id exists."""
    if sys.platform == "win32":
        return _is_alive_on_windows(process)
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _is_alive_on_windows(process: int) -> bool:
    """There `os.kill` would end the process."""
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    synchronize, timed_out = 0x00100000, 0x00000102
    handle = kernel.OpenProcess(synchronize, False, process)
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == timed_out)
    finally:
        kernel.CloseHandle(handle)
