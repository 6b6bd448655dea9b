"""What in a notebook's cell is IPython and not Python, and the cell with that masked.

A masked cell parses as Python and has the length and the lines of the cell: every offset means the same place in both, and
edits of the one are edits of the other. IPython looks for its own syntax at the start of logical lines, as is done here
(`IPython.core.inputtransformer2`):

    !ls, %cd data, ?print, print??          a line (or what its backslashes join) that is a command: becomes `0` or `pass`
    files = !ls, where = %pwd               a command's output as a value: becomes a name, `_`
    %time model.fit(x, y)                   a command and a statement: the command becomes `0;`, the statement stays
    %%time, %%capture out                   first line of a cell whose other lines are Python: becomes a comment
    %%bash, %%html, %%writefile f.py        a cell that is something else: becomes blank
    pip install x, cd data                  a cell of one line, without the `%`: becomes `0`
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

# Cell magics that run the cell's other lines in the notebook's own namespace.
PYTHON_CELLS = frozenset({"capture", "debug", "memit", "prun", "time", "timeit", "wandb"})
# Line magics that run the statement after them, with the options that they take before it.
_PYTHON_LINE = re.compile(
    r"%(?:time|timeit|prun|memit)[ \t]+(?:-[a-zA-Z](?:[ \t]*\d+)?[ \t]+|--[\w-]+[ \t]+)*(?=[^\s-])"
)
_CELL_MAGIC = re.compile(r"\s*(%%(?P<name>[\w.]+)[^\r\n]*)")
_ESCAPES = "!%?,;/"  # what no line of Python starts with
# Magics that work without `%` where a cell is this one line, as far as people write them so.
_AUTOMAGIC = re.compile(
    r"(?:(?:pip|conda|mamba|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|matplotlib|load_ext|reload_ext|run)[ \t]+\S.*"
    r"|ls|ll|pwd|who|whos)\s*"
)
_TOKEN = re.compile(
    r"""(?P<string>'''|\"\"\"|'|")|(?P<comment>\#[^\r\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])
    |(?P<continued>\\(?:\r\n|\r|\n))|(?P<end>\r\n|\r|\n)|(?P<compare>[=!<>:]=)|(?P<assign>=[ \t]*)(?P<magic>[!%])?""",
    re.VERBOSE,
)
_STRING_END = {
    "'": re.compile(r"(?:[^'\\\r\n]|\\(?:\r\n|[\s\S]))*'?"),
    '"': re.compile(r'(?:[^"\\\r\n]|\\(?:\r\n|[\s\S]))*"?'),
    "'''": re.compile(r"(?:[^'\\]|\\[\s\S]|'(?!''))*(?:''')?"),
    '"""': re.compile(r'(?:[^"\\]|\\[\s\S]|"(?!""))*(?:""")?'),
}
_INDENT = re.compile(r"[ \t\f]*")
_REST_OF_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_CONTINUED_LINE = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n|[\r\n])|\\)*")


class MagicKind(Enum):
    """What a piece of IPython is in the place of."""

    STATEMENT = "statement"
    VALUE = "value"
    PREFIX = "prefix"
    CELL_HEAD = "cell head"
    CELL = "cell"


@dataclass(frozen=True)
class Magic:
    """A piece of IPython in a cell: `start` and `end` are offsets in the cell, `text` is what stands there."""

    kind: MagicKind
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Masked:
    """A cell with its magics masked: `text` is as long as the cell, line by line."""

    text: str
    magics: tuple[Magic, ...]


def mask(source: str) -> Masked:
    """Masks what is not Python. Never raises; what is neither Python nor IPython stays, and will not parse."""
    magics = tuple(_find(source))
    text = source
    for magic in magics:
        text = text[: magic.start] + _stand_in(source, magic) + text[magic.end :]
    return Masked(text, magics)


def _stand_in(source: str, magic: Magic) -> str:
    """As long as the magic, with its line ends."""
    if magic.kind is MagicKind.CELL_HEAD:
        word = "#"
    elif magic.kind is MagicKind.CELL:
        word = ""
    elif magic.kind is MagicKind.VALUE:
        word = "_"
    elif magic.kind is MagicKind.PREFIX:
        word = "0;"
    else:
        indented = magic.start > 0 and source[magic.start - 1] in " \t"
        first_line = re.split(r"[\r\n]", magic.text, maxsplit=1)[0]
        word = "pass" if indented and len(first_line) >= 4 else "0"
    return word + re.sub(r"[^\r\n]", " ", magic.text[len(word) :])


def _find(source: str) -> Iterator[Magic]:
    def magic(kind: MagicKind, start: int, end: int) -> Magic:
        return Magic(kind, start, end, source[start:end])

    at = 0
    cell = _CELL_MAGIC.match(source)
    if cell is not None and not cell[1].rstrip().endswith("?"):
        if cell["name"] not in PYTHON_CELLS:
            yield magic(MagicKind.CELL, 0, len(source))
            return
        yield magic(MagicKind.CELL_HEAD, cell.start(1), cell.end(1))
        at = cell.end()
    elif _AUTOMAGIC.fullmatch(source.strip("\r\n")) and _is_automagic(source.strip()):
        start = len(source) - len(source.lstrip())
        yield magic(MagicKind.STATEMENT, start, len(source.rstrip()))
        return
    while at < len(source):
        start = _end(_INDENT, source, at)
        if start < len(source) and source[start] in _ESCAPES:
            end = _end_of_command(source, start)
            statement = _statement_after(source[start:end])
            if statement is None:
                yield magic(MagicKind.STATEMENT, start, end)
            else:
                yield magic(MagicKind.PREFIX, start, start + statement)
            at = _next_line(source, end)
        else:
            line = _logical_line(source, start)
            if line.help_end is not None:
                yield magic(MagicKind.STATEMENT, start, line.help_end)
            elif line.command is not None:
                yield magic(MagicKind.VALUE, line.command, _end_of_command(source, line.command))
            at = line.end


def _is_automagic(line: str) -> bool:
    """Whether a line that starts like an automagic is no Python (or only a name, like `ls`)."""
    return line.isidentifier() or not _parses(line)


def _end_of_command(source: str, start: int) -> int:
    """The end of a command's line, or of those that backslashes join to it, without the line end."""
    return start + len(source[start : _end(_CONTINUED_LINE, source, start)].rstrip(" \t"))


def _next_line(source: str, at: int) -> int:
    return _end(_REST_OF_LINE, source, at)


def _end(pattern: re.Pattern[str], source: str, at: int) -> int:
    """Where a match at a place ends; that place where there is none."""
    match = pattern.match(source, at)
    return match.end() if match else at


def _statement_after(command: str) -> int | None:
    """Where the statement starts that a command runs; None when it runs none that is Python."""
    match = _PYTHON_LINE.match(command)
    if match is None or not _parses("0;" + command[match.end() :]):
        return None
    return match.end()


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


@dataclass(frozen=True)
class _Line:
    """A logical line of Python: where the next one starts; where the command starts whose output it takes; where it ends if it
    asks for help (`obj?`)."""

    end: int
    command: int | None
    help_end: int | None


def _logical_line(source: str, start: int) -> _Line:
    at, depth = start, 0
    code_end = start  # after the last character that is code
    command: int | None = None
    while True:
        match = _TOKEN.search(source, at)
        token_start = match.start() if match else len(source)
        between = source[at:token_start].rstrip(" \t\f")
        if between:
            code_end = at + len(between)
        if match is None:
            at = len(source)
            break
        at = match.end()
        if match["comment"] is not None:
            continue
        if match["end"] is not None:
            if depth <= 0:
                break
            continue
        if match["string"] is not None:
            at = _end(_STRING_END[match["string"]], source, at)
        elif match["open"] is not None:
            depth += 1
        elif match["close"] is not None:
            depth -= 1
        elif (
            match["magic"] is not None
            and depth == 0
            and source[token_start - 1 : token_start] not in ("=", "!")
        ):
            command = match.start("magic")
            at = _next_line(source, _end_of_command(source, command))
            break
        code_end = at
    asks = command is None and code_end > start and source[code_end - 1] == "?" and depth == 0
    return _Line(at, command, code_end if asks else None)
