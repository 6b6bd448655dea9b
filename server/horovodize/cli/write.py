"""Writing a file so that nobody ever sees half of it, and nothing happens that the user did not expect."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from horovodize.cli.runner import CommandError


def write_atomically(
    path: Path, data: bytes, *, expected: bytes | None = None, like: Path | None = None
) -> None:
    """Replaces a file's content in one step, or leaves it as it was.

    A link stays a link: the file that it leads to is written. The file keeps its permissions and, where that is allowed,
    its owner; a new one gets those of `like`. What is no regular file (a pipe, /dev/null) is written to, not replaced.

    expected   what the file held when it was read; when it holds something else by now, nothing is written.

    Raises CommandError."""
    target = Path(os.path.realpath(path))
    try:
        status = _status(target)
        if status is not None and not stat.S_ISREG(status.st_mode):
            _write_through(path, target, status, data)
            return
        # Asked of the mode, not of the system: the administrator may write anything, and should not without noticing.
        if status is not None and not (status.st_mode & 0o222 and os.access(target, os.W_OK)):
            raise CommandError(f"{path}: is read-only")
        temporary = _write_beside(target, data, status, like)
        try:
            if expected is not None and target.read_bytes() != expected:
                raise CommandError(f"{path}: was changed by someone else meanwhile; nothing was written")
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as e:
        raise CommandError(f"{path}: cannot be written: {e.strerror or e}") from e


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _write_through(path: Path, target: Path, status: os.stat_result, data: bytes) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise CommandError(f"{path}: is a folder")
    with target.open("wb") as file:
        file.write(data)


def _write_beside(target: Path, data: bytes, status: os.stat_result | None, like: Path | None) -> str:
    """A temporary file in the same folder (so that it can be renamed) that has everything the target shall have."""
    descriptor, name = tempfile.mkstemp(prefix=".horovodize-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if status is None:
            wanted = stat.S_IMODE(like.stat().st_mode) if like is not None else 0o666
            os.chmod(name, wanted & ~_umask() | stat.S_IWUSR)
        else:
            if hasattr(os, "chown"):
                with contextlib.suppress(PermissionError):
                    os.chown(name, status.st_uid, status.st_gid)
            os.chmod(name, stat.S_IMODE(status.st_mode))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return name


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
