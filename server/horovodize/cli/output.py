"""What is printed, and how: results on standard output, everything about them on standard error, colours, progress."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from horovodize.source import Document, Place, Span

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_PROGRESS_FROM = 20  # files
_PROGRESS_EVERY = 0.1  # seconds
_BAR = 24  # characters


class Console:
    """Standard output and standard error. Looks them up when it prints, so that whoever replaces them is heard.

    quiet        nothing but results, diagnostics, warnings and errors
    output_file  where results go instead of standard output, once `finish` is called; None: standard output"""

    def __init__(self, color: str = "auto", *, quiet: bool = False, output_file: str | None = None) -> None:
        self.color = color
        self.quiet = quiet
        self._output_file = output_file
        self._kept = bytearray()  # results for the file
        self.errors: list[str] = []  # what was reported as such
        self._progress_shown = False
        self._progress_at = 0.0

    # ------------------------------------------------------------------ printing

    def write(self, data: str | bytes) -> None:
        """A result, on standard output: bytes as they are, text with what the terminal cannot show replaced."""
        if self._output_file is not None:
            self._kept += data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape")
            return
        self.end_progress()
        raw = (
            data
            if isinstance(data, bytes)
            else data.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        )
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:  # someone put a plain text stream there
            sys.stdout.write(raw.decode("utf-8", "replace"))
            return
        sys.stdout.flush()
        binary.write(raw)

    def line(self, text: str, stream: TextIO | None = None) -> None:
        """A line of text, on standard output unless told otherwise."""
        if stream is None or stream is sys.stdout:
            self.write(text + "\n")
            return
        self.end_progress()
        self.flush()  # so that both streams come in order on a terminal
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    def json(self, value: Any) -> None:
        import json

        self.write(json.dumps(value, indent=2) + "\n")

    def message(self, text: str) -> None:
        """About the work, for people: standard error. Nothing when it has to be quiet."""
        if not self.quiet:
            self.line(text, sys.stderr)

    def warning(self, text: str) -> None:
        """What a user has to know, also when it has to be quiet."""
        self.line(f"{self.paint('warning:', 'yellow', 'bold', stream=sys.stderr)} {text}", sys.stderr)

    def error(self, text: str) -> None:
        self.errors.append(text)
        self.line(f"{self.paint('horovodize:', 'red', 'bold', stream=sys.stderr)} {text}", sys.stderr)

    def at(self, path: str, place: Place, code: str, message: str, style: str = "red") -> None:
        """`path:line:column: CODE message` on standard error, in a notebook `path:cell 3:line:column: …`."""
        where = self.paint(f"{path}:{place}:", "bold", stream=sys.stderr)
        self.line(f"{where} {self.paint(code, style, stream=sys.stderr)} {message}", sys.stderr)

    def at_span(self, document: Document, span: Span, code: str, message: str, style: str = "red") -> None:
        self.at(document.path, document.place(span.start), code, message, style)

    def flush(self) -> None:
        sys.stdout.flush()

    def finish(self) -> None:
        """Writes what goes to a file. Raises CommandError."""
        self.flush()
        if self._output_file is not None:
            from pathlib import Path

            from horovodize.cli.write import write_atomically

            write_atomically(Path(self._output_file), bytes(self._kept))

    # ------------------------------------------------------------------ colours

    def colored(self, stream: TextIO | None = None) -> bool:
        """Whether a stream (standard output, unless told otherwise) gets colours."""
        if self.color != "auto":
            return self.color == "always"
        if self._output_file is not None and (stream is None or stream is sys.stdout):
            return False
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return (stream or sys.stdout).isatty()

    def paint(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        if not text or not self.colored(stream):
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    # ------------------------------------------------------------------ progress

    def progress(self, done: int, total: int, name: str) -> None:
        """A bar on standard error, when that is a terminal and there is much to do."""
        now = time.monotonic()
        if (
            self.quiet
            or total < _PROGRESS_FROM
            or now - self._progress_at < _PROGRESS_EVERY
            or not sys.stderr.isatty()
        ):
            return
        self._progress_at = now
        filled = _BAR * done // total
        bar = "█" * filled + "░" * (_BAR - filled)
        room = max(os.get_terminal_size(sys.stderr.fileno()).columns - _BAR - 2 * len(str(total)) - 5, 0)
        self._overwrite(f"{bar} {done}/{total} {name[-room:] if room else ''}")

    def status(self, text: str) -> None:
        """A line on standard error that the next one replaces, when that is a terminal; "" changes nothing."""
        if text and not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._overwrite(text[: os.get_terminal_size(sys.stderr.fileno()).columns - 1])

    def _overwrite(self, text: str) -> None:
        self._progress_shown = True
        encoding = sys.stderr.encoding or "utf-8"
        sys.stdout.flush()  # both may be the same terminal
        sys.stderr.write("\r\x1b[K" + text.encode(encoding, "replace").decode(encoding))
        sys.stderr.flush()

    def end_progress(self) -> None:
        if self._progress_shown:
            self._progress_shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


# ---------------------------------------------------------------------- places


def json_range(document: Document, span: Span) -> dict[str, Any]:
    """A span as in the Language Server Protocol: lines and characters from 0, characters in UTF-16 units. In a notebook, lines
    are those of the cell, and `cell` says which one, from 1."""
    cell = document.place(span.start).cell
    return ({} if cell is None else {"cell": cell}) | {
        "start": _json_position(document, span.start),
        "end": _json_position(document, span.end),
    }


def _json_position(document: Document, offset: int) -> dict[str, int]:
    from horovodize.source import PositionEncoding

    place, position = document.place(offset), document.lines.position(offset)
    margin = place.column - document.lines.position(offset, PositionEncoding.UTF32).character - 1
    return {"line": place.line - 1, "character": position.character + margin}


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
