"""The server's text is the client's after any changes, in each unit of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.robustness.buffer import ENCODINGS, Buffer
from tests.robustness.cases import cases
from tests.robustness.wire import Wire, served

URI = "untitled:Train"
# What ends a line, what `str.splitlines` takes for that, and characters of 1 to 4 bytes and 1 to 2 UTF-16 units.
PIECES = [
    *(
        "\n",
        "\r\n",
        "\r",
        "\n\r",
        "\f",
        "\v",
        "\x1c",
        "\x1e",
        "\x85",
        "\u2028",
        "\u2029",
        "\t",
        " ",
        "\ufeff",
    ),
    *("a", "b = 1", "#", "é", "ß", "日本", "🐍", "𝒳𝒴", "a\u0301", "👩\u200d🔬", "\u202e", ""),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters='"\\\0'), max_size=12
)
NUMBERS = st.integers(0, 12) | st.sampled_from([10**6, 2**31 - 1])
PLACES = st.fixed_dictionaries({"line": NUMBERS, "character": NUMBERS})
# A change: between two places, in or out of the text; between two offsets of it; of everything.
CHANGES = (
    st.tuples(PLACES, PLACES, TEXTS)
    | st.tuples(st.integers(0, 60), st.integers(0, 60), TEXTS)
    | st.tuples(TEXTS)
)

# The server answers with the whole text of a script that it would change: any text is one in a string of a script.
HEAD = 'import tensorflow as tf\nm = tf.keras.Sequential()\nm.compile("sgd")\nm.fit(tf.ones((4, 1)))\nr"""'
TAIL = '"""\n'


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Wire]]:
    """A server that counts columns in the units of an encoding."""
    known: dict[str, Wire] = {}
    with ExitStack() as running:

        def server(encoding: str) -> Wire:
            if encoding not in known:
                env = {"HOROVODIZE_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
                known[encoding] = running.enter_context(served(env=env))
                client = {"general": {"positionEncodings": [encoding]}}
                taken = known[encoding].initialize(capabilities=client)["capabilities"]["positionEncoding"]
                assert taken == encoding
            return known[encoding]

        yield server


def change(buffer: Buffer, drawn: tuple[Any, ...]) -> Any:
    """Makes a change in the buffer; as it is sent."""
    if len(drawn) == 1:
        buffer.text = drawn[0]
        return {"text": drawn[0]}
    start, end, new = drawn
    return (
        buffer.replace(start, end, new) if isinstance(start, dict) else buffer.replace_span(start, end, new)
    )


def text_of(wire: Wire, buffer: Buffer, version: int) -> str:
    """The server's text."""
    beyond = {"line": 2**31 - 1, "character": 0}
    wire.change(URI, version, {"range": {"start": beyond, "end": beyond}, "text": TAIL})
    first = {"line": 0, "character": 0}
    wire.change(URI, version + 1, {"range": {"start": first, "end": first}, "text": HEAD})
    (preview,) = wire.result(
        "workspace/executeCommand", {"command": "horovodize.preview", "arguments": [URI]}
    )
    assert "oldText" in preview, preview
    whole = preview["oldText"]
    assert preview["version"] == version + 1
    assert whole.startswith(HEAD)
    assert whole.endswith(TAIL)
    return str(whole[len(HEAD) : -len(TAIL)])


@cases(
    300, TEXTS, st.sampled_from(ENCODINGS), st.lists(st.lists(CHANGES, min_size=1, max_size=4), max_size=6)
)
def test_text_stays_equal_to_the_clients(
    servers: Callable[[str], Wire], text: str, encoding: str, notifications: list[list[tuple[Any, ...]]]
) -> None:
    wire, buffer = servers(encoding), Buffer(text, encoding)
    wire.open(URI, text)
    for version, changes in enumerate(notifications, 2):
        wire.change(URI, version, *[change(buffer, drawn) for drawn in changes])
    assert text_of(wire, buffer, len(notifications) + 2) == buffer.text
    wire.close(URI)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a\r\nb", [(1, 1, "\r"), (0, 3, "")]),  # three line ends become two, of which one is cut
        ("a\n\nb", [(1, 2, "\r")]),  # a CR is put before a LF: two line ends become one
        (
            "a\r\nb",
            [({"line": 0, "character": 2}, {"line": 0, "character": 2}, "|")],
        ),  # between CR and LF: before
        ("a\rb", [(2, 2, "\n")]),  # a LF is put behind a CR
        ("", [(0, 0, "\n"), (0, 0, "x")]),
        ("", [({"line": 5, "character": 5}, {"line": 9, "character": 0}, "x")]),
        ("🐍🐍", [({"line": 0, "character": 99}, {"line": 0, "character": 99}, "x"), (1, 1, "y")]),
        ("x = 1\f\ny = '\u2028🐍'\nz", [(12, 14, "q"), (15, 16, "🐍")]),
        ("\u2028\x85\f\v\x1c", [({"line": 1, "character": 0}, {"line": 1, "character": 0}, "end")]),
        ("\ta\n\t\tb", [({"line": 1, "character": 2}, {"line": 1, "character": 3}, "🐍\r")]),
        ("\ufeffa", [(0, 1, "")]),
        (
            "abc",
            [({"line": 0, "character": 3}, {"line": 0, "character": 1}, "")],
        ),  # a range the wrong way round
    ],
)
def test_changes_by_hand(
    servers: Callable[[str], Wire], encoding: str, text: str, changes: list[tuple[Any, ...]]
) -> None:
    wire, buffer = servers(encoding), Buffer(text, encoding)
    wire.open(URI, text)
    wire.change(URI, 2, *[change(buffer, drawn) for drawn in changes])
    assert text_of(wire, buffer, 3) == buffer.text
    wire.close(URI)


def test_halves_of_a_character_are_joined_and_alone_they_break_nothing(
    servers: Callable[[str], Wire],
) -> None:
    wire, buffer = servers("utf-16"), Buffer("x\n")
    wire.open(URI, "x\n")
    end = {"line": 1, "character": 0}
    wire.change(URI, 2, {"range": {"start": end, "end": end}, "text": "\ud83d"})
    wire.hover(URI, 0, 0)  # which fails where the answer is an error
    behind = {"line": 1, "character": 1}
    wire.change(URI, 3, {"range": {"start": behind, "end": behind}, "text": "\udc0d"})
    buffer.text = "x\n🐍"
    assert text_of(wire, buffer, 4) == buffer.text
    wire.close(URI)
