"""A notebook as a Python script in the percent format, which Jupytext, Visual Studio Code, Spyder and PyCharm read.

`# %%` starts a code cell, `# %% [markdown]` a cell of text, which is a comment. A script has no commands: `%matplotlib inline`
becomes `# %matplotlib inline` (`pass  # …` inside a block), as Jupytext writes it, and is told in `left_out`. What a notebook
gets from IPython without an import, `display` and `get_ipython`, is imported where IPython is installed; elsewhere `display`
prints, and `get_ipython()` is None, as IPython itself answers in a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from horovodize.source.document import Document, Place
from horovodize.source.edits import Edit
from horovodize.source.magics import Magic, MagicKind, mask
from horovodize.source.notebook import NotebookFile

# Commands that concern only what a notebook shows, or loads into IPython.
_ONLY_SHOWS = re.compile(
    r"%(matplotlib|config|load_ext|reload_ext|autoreload|precision|pdb|time|timeit|prun)\b|matplotlib\b|\?|.*\?$"
)
_FALLBACKS = {
    "display": ["    display = print"],
    "get_ipython": ["", "    def get_ipython():", "        return None", ""],
}


class NoScript(ValueError):
    """The notebook has something that a script can't have, at an offset of the document."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class LeftOut:
    """A command that the script does without and that may have done something: installed, downloaded, changed the folder."""

    place: Place
    text: str


@dataclass(frozen=True)
class Script:
    """A script's text, and the commands that it does without, at their places in the notebook."""

    text: str
    left_out: tuple[LeftOut, ...]


def as_script(document: NotebookFile, edits: Sequence[Edit], heading: Sequence[str] = ()) -> Script:
    """The script of a notebook after edits, which are in order, under a comment.

    Raises NoScript where it would not run: a command's output used as a value, `await` outside functions."""
    writer = _Writer(document, document.codes(edits))
    body = writer.body()
    lines = [*map(_comment, heading), *([""] if heading else [])]
    lines += sorted(writer.future) + ([""] if writer.future else [])
    lines += _provided(body)
    text = "\n".join([*lines, *body])
    return Script(text.rstrip("\n") + "\n", tuple(writer.left_out))


class _Writer:
    def __init__(self, document: NotebookFile, codes: dict[int, str]) -> None:
        self.document, self.codes = document, codes
        self.cells = {cell.number: cell for cell in document.cells}
        self.left_out: list[LeftOut] = []
        self.future: set[str] = set()

    def body(self) -> list[str]:
        lines: list[str] = []
        for number, raw in enumerate(self.document.notebook.cells, 1):
            if raw.kind == "code":
                lines += ["# %%", *self._code(number), ""]
            else:
                kind = "markdown" if raw.kind in ("markdown", "heading") else raw.kind or "raw"
                text = _lines(raw.source)
                lines += [f"# %% [{kind}]", *map(_comment, text), ""]
        return lines

    def _code(self, number: int) -> list[str]:
        cell = self.cells[number]
        self._check(number)
        for magic in _commands(self.document.text[cell.start : cell.end], cell.magics):
            command = _lines(magic.text.strip())[0]
            if magic.kind in (MagicKind.STATEMENT, MagicKind.CELL) and not _ONLY_SHOWS.match(command):
                self.left_out.append(LeftOut(self.document.place(cell.start + magic.start), command))
        source = self.codes[number]
        masked = mask(source)
        for magic in reversed(_commands(masked.text, masked.magics)):
            source = source[: magic.start] + self._commented(source, magic) + source[magic.end :]
        return self._without_future(source)

    def _check(self, number: int) -> None:
        """Raises NoScript for what a script can't have, at its place in the notebook as it was."""
        cell = self.cells[number]
        for magic in cell.magics:
            if magic.kind is MagicKind.VALUE:
                raise NoScript(
                    f"a script has no `{magic.text.split()[0]}`, and this uses its output; write it in Python",
                    cell.start + magic.start,
                )
        document = Document(self.document.text[cell.start : cell.end])
        if document.tree is not None:
            waits = _top_level_await(document.tree)
            if waits is not None:
                message = "`await` outside a function is only possible in a notebook; use `asyncio.run`"
                raise NoScript(message, cell.start + document.span(waits).start)

    def _commented(self, source: str, magic: Magic) -> str:
        lines = _lines(magic.text)
        if magic.kind is MagicKind.PREFIX:
            return ""
        if magic.kind is MagicKind.STATEMENT:
            start = source[: magic.start]
            indent = re.search(r"[ \t]*\Z", start)
            if indent is not None and indent[0]:
                return "\n".join(
                    [f"pass  # {lines[0]}", *(f"{indent[0]}# {line.strip()}" for line in lines[1:])]
                )
        return "\n".join(map(_comment, lines))

    def _without_future(self, source: str) -> list[str]:
        """The lines of a cell; `from __future__` goes to the top of the script, where it has to stand."""
        lines = _lines(source)
        if "__future__" not in source:
            return lines
        document = Document(source)
        for statement in reversed(document.tree.body if document.tree is not None else []):
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                self.future.add(ast.unparse(statement))
                first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
                lines[first:last] = [f"# {line}" for line in lines[first:last]]
        return lines


def _commands(masked: str, magics: Sequence[Magic]) -> list[Magic]:
    """The commands of a masked cell, calls like `get_ipython().run_line_magic(…)` included, in order."""
    document = Document(masked)
    found = list(magics)
    for node in ast.walk(document.tree) if "get_ipython" in masked and document.tree else ():
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            receiver = function.value if isinstance(function, ast.Attribute) else None
            if isinstance(receiver, ast.Call) and ast.unparse(receiver.func).endswith("get_ipython"):
                span = document.span(node)
                found.append(Magic(MagicKind.STATEMENT, span.start, span.end, masked[span.start : span.end]))
    return sorted(found, key=lambda magic: magic.start)


def _comment(line: str) -> str:
    return f"# {line}".rstrip().replace("\0", "")  # Python reads no file with null bytes


def _lines(text: str) -> list[str]:
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def _top_level_await(tree: ast.Module) -> ast.expr | None:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Await):
            return node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return None


def _provided(body: list[str]) -> list[str]:
    """Lines that give a script the names that a notebook has without an import, as far as it uses them."""
    tree = Document("\n".join(body)).tree
    if tree is None:
        return []
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    bound = {
        alias.asname or alias.name.split(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for alias in n.names
    }
    bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    lines: list[str] = []
    for name in sorted((used - bound) & set(_FALLBACKS)):
        module = "IPython.display" if name == "display" else "IPython"
        lines += ["try:", f"    from {module} import {name}", "except ImportError:", *_FALLBACKS[name], ""]
    return lines
