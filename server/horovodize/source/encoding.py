"""Bytes to text and back, as Python itself reads a source file: byte order mark, then PEP 263, then UTF-8."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from dataclasses import dataclass


class UndecodableSource(ValueError):
    """The bytes are not text in the encoding that they declare (or UTF-8), or no notebook.

    line, column   the place in the file, from 1"""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line, self.column = line, column


@dataclass(frozen=True)
class Encoded:
    """A decoded file: `text` without the byte order mark, and what it takes to write it back byte for byte."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Bytes of a text in this file's encoding.

        Raises UndecodableSource when the encoding has no such character."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as e:
            raise UndecodableSource(f"{e.object[e.start]!r} does not exist in {self.encoding}") from e


def decode(data: bytes) -> Encoded:
    """Reads source bytes.

    Raises UndecodableSource with a message that names the place."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(bom) :]
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, LookupError) as e:
        _decoded(body, "utf-8")  # what is wrong may be a byte of the first two lines: that has a place
        raise UndecodableSource(str(e)) from e
    encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    text = _decoded(body, encoding)
    try:
        survives = text.encode(encoding) == body
    except UnicodeError:
        survives = False
    if not survives:
        raise UndecodableSource(f"the file would not survive being written back as {encoding}")
    return Encoded(text, encoding, bom)


def _decoded(body: bytes, encoding: str) -> str:
    """The text of bytes. Raises UndecodableSource with the place of the byte that is not in the encoding."""
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as e:
        line = len(re.findall(rb"\r\n|\r|\n", body[: e.start])) + 1
        raise UndecodableSource(f"byte 0x{body[e.start]:02x} in line {line} is not {encoding}") from e
    except (
        LookupError,
        UnicodeError,
        ValueError,
    ) as e:  # a codec that is not one of text; a codec's own faults
        raise UndecodableSource(f"the file can't be read as {encoding} ({e})") from e
