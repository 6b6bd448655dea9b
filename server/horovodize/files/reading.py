"""Reading what may be anything: a folder of somebody else's holds pipes, devices and files of any size."""

from __future__ import annotations

import os
import stat

# A pipe that nobody writes to would be waited for at opening, a terminal become this process's own.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)


def read_regular(path: str | os.PathLike[str], most: int) -> bytes | None:
    """A file's bytes; None for what can't be read, is no regular file, or has more than `most` bytes. Never waits for
    somebody to write."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device may do something
            return None
        with open(os.open(path, _FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                return None
            data = file.read(most + 1)
    except (OSError, ValueError):  # a path with a null byte is no path
        return None
    return data if len(data) <= most else None
