"""What of a cell is IPython, and what is put in its place."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.source.magics import MagicKind, mask


@pytest.mark.parametrize(
    ("cell", "masked"),
    [
        ("!pip install x\nimport os", "0             \nimport os"),
        ("%matplotlib inline\n", "0                 \n"),
        ("if colab:\n  !pip install x\n", "if colab:\n  pass          \n"),
        ("if colab:\n  !ls\n", "if colab:\n  0  \n"),
        ("try:\n\t%cd data\nexcept E:\n\tpass", "try:\n\tpass    \nexcept E:\n\tpass"),
        ("x = !ls -l\ny = 1", "x = _     \ny = 1"),
        ("a, b = %foo bar", "a, b = _       "),
        ("!wget -q \\\n  http://x\ny = 1", "0         \n          \ny = 1"),
        ("x = !ls \\\n -l", "x = _    \n   "),
        ("print?", "0     "),
        ("tf.data.Dataset??\nx", "0                \nx"),
        ("?print", "0     "),
        ("%time model.fit(x, y)", "0;    model.fit(x, y)"),
        ("%timeit -n 10 -r3 f(x)", "0;                f(x)"),
        ("%time", "0    "),
        ("%time for x in y: f(x)", "0                     "),
        ("%%time\nx = 1", "#     \nx = 1"),
        ("%%capture out\n!ls\n", "#            \n0  \n"),
        ("\n\n%%bash\nls\n", "\n\n      \n  \n"),
        ("%%writefile f.py\nimport tensorflow\n", "                \n                 \n"),
        ("pip install x", "0            "),
        ("ls", "0 "),
        ("!echo it's\nx = 'y'", "0         \nx = 'y'"),
        ("%cd x\r\ny = 1\r\n", "0    \r\ny = 1\r\n"),
        ("!", "0"),
    ],
)
def test_commands_are_masked(cell: str, masked: str) -> None:
    assert mask(cell).text == masked
    ast.parse(masked)


@pytest.mark.parametrize(
    "cell",
    [
        "x = '''\n!ls\n%cd x\n'''\n",
        'x = """a\n?help\n"""',
        "f(a,\n  b\n  % c)",
        "x = a \\\n  % b",
        "x = [\n  1,\n  # !ls\n]",
        "# %matplotlib inline\nx = 1  # x = !ls",
        "print('what?')  # really?",
        "x %= 3\ny = -1 % 2\nz = x != y",
        "x = 1 if a == b else 2",
        "f\"{d['a']!r} = !ls\"",
        "plt.plot(x);",
        "await f()",
        "x = 'a\\\n!b'\n",
        "cat",
        "run = 1",
        "",
        "\n\n",
    ],
)
def test_python_is_left_alone(cell: str) -> None:
    assert mask(cell).text == cell
    assert mask(cell).magics == ()
    ast.parse(cell)


def test_what_was_masked_is_told() -> None:
    cell = "%%time\nfiles = !ls\n%time train()\nif x:\n    !rm -r out\n"
    magics = mask(cell).magics
    assert [(m.kind, m.text) for m in magics] == [
        (MagicKind.CELL_HEAD, "%%time"),
        (MagicKind.VALUE, "!ls"),
        (MagicKind.PREFIX, "%time "),
        (MagicKind.STATEMENT, "!rm -r out"),
    ]
    assert all(cell[m.start : m.end] == m.text for m in magics)


def test_a_cell_of_another_language_is_one_piece() -> None:
    (magic,) = mask("%%html\n<b>x</b>\n").magics
    assert (magic.kind, magic.text) == (MagicKind.CELL, "%%html\n<b>x</b>\n")


def test_what_is_neither_python_nor_ipython_stays() -> None:
    for cell in ("x = a ? b : c\n", "print 'x'", "def f(:\n", "x = %\n + 'a"):
        with pytest.raises(SyntaxError):
            ast.parse(mask(cell).text)


_PIECES = st.sampled_from(
    ["!ls", "%cd x", "%time f(x)", "%%time", "%%bash", "x", " = ", "'", '"""', "(", ")", "[", "\\", "\n", "\r\n", "\r", "\t",
     "  ", "?", "#", "é", "😀", "if x:", "pass", "f'{a}'", "\0", "\f", "\u2028", ";", ",", "/"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=25).map("".join))
def test_masking_keeps_length_and_lines_and_finds_the_same_again(cell: str) -> None:
    masked = mask(cell)
    assert len(masked.text) == len(cell)
    assert [m.span() for m in re.finditer("[\r\n]", masked.text)] == [
        m.span() for m in re.finditer("[\r\n]", cell)
    ]
    ends = [0, *(m.end for m in masked.magics)]
    for before, magic in zip(ends, masked.magics, strict=False):
        assert before <= magic.start < magic.end
        assert cell[magic.start : magic.end] == magic.text
