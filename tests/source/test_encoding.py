"""Bytes become text as Python reads them, and go back to the same bytes."""

from __future__ import annotations

import codecs
import encodings.aliases

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.source import Document, UndecodableSource, decode

NAME = "größe = '漢字 😀'\n"


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        (b"x = 1\n", "x = 1\n", "utf-8", b""),
        (NAME.encode(), NAME, "utf-8", b""),
        (codecs.BOM_UTF8 + NAME.encode(), NAME, "utf-8", codecs.BOM_UTF8),
        (b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", "# -*- coding: latin-1 -*-\ns = 'é'\n", "iso-8859-1", b""),
        (b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\ns = '\x80'\n",
         "#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\ns = '€'\n", "cp1252", b""),
        (b"# coding: utf-8\r\nx = '\xc3\xa9'\r\n", "# coding: utf-8\r\nx = 'é'\r\n", "utf-8", b""),
        (codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1\n", "# coding: utf-8\nx = 1\n", "utf-8", codecs.BOM_UTF8),
        (b"", "", "utf-8", b""),
        (codecs.BOM_UTF8, "", "utf-8", codecs.BOM_UTF8),
        (b"# coding: shift_jis\ns = '\x8a\xbf'\n", "# coding: shift_jis\ns = '漢'\n", "shift_jis", b""),
    ],
)  # fmt: skip
def test_bytes_are_read_as_python_reads_them(data: bytes, text: str, encoding: str, bom: bytes) -> None:
    encoded = decode(data)
    assert (encoded.text, encoded.encoding, encoded.bom) == (text, encoding, bom)
    assert encoded.encode(encoded.text) == data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x = 1\ns = '\xe9'\n", "byte 0xe9 in line 2 is not utf-8"),
        (codecs.BOM_UTF8 + b"a = 1\nb = 2\nc = '\xff'\n", "byte 0xff in line 3 is not utf-8"),
        (b"# coding: klingon\nx = 1\n", "klingon"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\nx = 1\n", "utf-8"),
        (codecs.BOM_UTF16_LE + "x = 1\n".encode("utf-16-le"), "byte 0xff in line 1 is not utf-8"),
        (b"# h\xe9\nx = 1\n", "byte 0xe9 in line 1 is not utf-8"),
        (codecs.BOM_UTF8 + b"\n\n\xff", "byte 0xff in line 3 is not utf-8"),
        (b"a = 1\rb = 2\r\nc = '\xff'\r\n", "byte 0xff in line 3 is not utf-8"),
        (b"# coding: ascii\ns = '\xe9'\n", "line 2 is not ascii"),
    ],
)
def test_what_is_no_text_is_said_with_its_place(data: bytes, said: str) -> None:
    with pytest.raises(UndecodableSource, match=said):
        decode(data)


def test_a_coding_line_counts_in_the_first_two_lines_only() -> None:
    with pytest.raises(UndecodableSource):
        decode(b"x = 1\ny = 2\n# coding: latin-1\ns = '\xe9'\n")


def test_a_coding_line_after_code_does_not_count() -> None:
    with pytest.raises(UndecodableSource):
        decode(b"x = 1\n# coding: latin-1\ns = '\xe9'\n")


def test_a_character_that_the_encoding_lacks_is_not_written() -> None:
    encoded = decode(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(UndecodableSource, match="does not exist in iso-8859-1"):
        encoded.encode("x = '漢'")


def test_an_encoding_that_would_not_give_back_its_bytes_is_refused() -> None:
    """UTF-7 has several spellings of one text: writing it back could change bytes outside every edit."""
    with pytest.raises(UndecodableSource, match="would not survive"):
        decode(b"# coding: utf-7\ns = '+AGE-'\n")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60), st.booleans())
def test_every_utf8_text_comes_back_byte_for_byte(text: str, with_bom: bool) -> None:
    data = (codecs.BOM_UTF8 if with_bom else b"") + b"#\n#\n" + text.encode()
    assert decode(data).encode(decode(data).text) == data


@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_text_or_undecodable(data: bytes) -> None:
    try:
        encoded = decode(data)
    except UndecodableSource:
        return
    assert encoded.encode(encoded.text) == data


def test_a_document_remembers_how_it_was_encoded() -> None:
    document = Document.from_bytes(codecs.BOM_UTF8 + b"x = 1\r\n", "a.py")
    assert (document.text, document.path, document.encoded.bom) == ("x = 1\r\n", "a.py", codecs.BOM_UTF8)


@pytest.mark.parametrize(
    "name", sorted({*encodings.aliases.aliases.values(), "rot13", "undefined", "mbcs", "idna"})
)
def test_no_codec_of_python_crashes(name: str) -> None:
    data = f"# coding: {name}\nx = 1\n".encode() + b"s = '\xe9\x80\xff'\n"
    for whole in (data, data[: data.index(b"s =")]):
        try:
            encoded = decode(whole)
        except UndecodableSource:
            continue
        assert encoded.encode(encoded.text) == whole
