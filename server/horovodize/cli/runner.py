"""What all subcommands share: exit statuses, errors, and going through the inputs one by one without ever dying."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.cli.inputs import Input
    from horovodize.cli.output import Console


class ExitStatus(IntEnum):
    """The exit status of the process. With several files, the highest wins."""

    OK = 0
    REFUSED = 1
    FINDINGS = 1
    WOULD_CHANGE = 1
    ERROR = 2
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class CommandError(Exception):
    """Wrong usage or a file that cannot be read or written: a message for standard error, exit status 2."""


def without_findings(status: int, exit_zero: bool) -> int:
    """A status under `--exit-zero`: findings, refusals and changes don't count, errors do."""
    return ExitStatus.OK if exit_zero and status == ExitStatus.FINDINGS else status


def for_each(
    inputs: Sequence[Input], console: Console, handle: Callable[[Input], int], *, traceback: bool = False
) -> int:
    """Handles every input and returns the highest status. A fault in one file is told and does not stop the others."""
    status = 0
    told: set[str] = set()  # a wrong setting is wrong for every file
    for done, source in enumerate(inputs):
        console.progress(done, len(inputs), source.path)
        try:
            status = max(status, handle(source))
        except CommandError as e:
            if str(e) not in told:
                console.error(str(e))
            told.add(str(e))
            status = ExitStatus.ERROR
        except BrokenPipeError:
            raise
        except Exception as e:
            report_internal_error(console, e, source.path, traceback=traceback)
            status = ExitStatus.ERROR
    console.end_progress()
    return status


def report_internal_error(
    console: Console, error: Exception, path: str | None = None, *, traceback: bool = False
) -> None:
    """One line that asks for a report; the traceback only on request."""
    if traceback:
        import traceback as tracebacks

        console.line("".join(tracebacks.format_exception(error)).rstrip(), sys.stderr)
    where = f"{path}: " if path else ""
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    hint = "" if traceback else " (--traceback shows where)"
    console.error(f"{where}internal error: {what}. This is a fault of Horovodize, please report it{hint}")
