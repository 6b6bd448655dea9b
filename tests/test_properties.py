"""What holds for every program that is distributed, however it is written: harmless edits change nothing of what is done.

The programs are those that are trained in tests/programs and the golden cases."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import keyword
import random
import re
import symtable
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document
from horovodize.summary import summarize

TESTS = Path(__file__).parent
PATHS = sorted(
    p
    for folder in ("programs/keras", "programs/tape", "golden/keras", "golden/tape")
    for p in (TESTS / folder).glob("*.py")
    if not p.name.endswith(".expected.py")
)
SEEDS = range(3)

every_program = pytest.mark.parametrize("path", PATHS, ids=lambda p: f"{p.parent.name}/{p.stem}")


def outcome(text: str) -> Plan | Refusal | Unchanged:
    return distribute(summarize(Document(text)), Options())


class Distributed(NamedTuple):
    """What is made of a program: its text, and by which rules."""

    text: str
    rules: frozenset[str]


@functools.cache
def distributed(text: str) -> Distributed:
    """What is made of a program as it stands, with which the same program is compared however it is edited."""
    plan = outcome(text)
    assert isinstance(plan, Plan), plan.reasons if isinstance(plan, Refusal) else plan
    return Distributed(plan.text, frozenset(c.rule for c in plan.changes))


def text_of(path: Path) -> str:
    return Document.from_bytes(path.read_bytes(), path.name).text


def check_same_rules(path: Path, edited: str) -> str:
    """The edited program is distributed by the same rules as the program, and the result, which compiles, is returned."""
    after = outcome(edited)
    assert isinstance(after, Plan), after.reasons if isinstance(after, Refusal) else after
    compile(after.text, path.name, "exec", dont_inherit=True)
    assert {c.rule for c in after.changes} == distributed(text_of(path)).rules
    return after.text


def unresolved(text: str) -> set[str]:
    """Names that a program reads and nothing in it binds."""
    top = symtable.symtable(text, "program", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                read.add(symbol.get_name())
    return {n for n in read - bound if not hasattr(builtins, n)}


def statement_lines(text: str) -> list[int]:
    """The lines (from 0) on which a logical line starts: lines may be put before them."""
    found, at_start = [], True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.NL,
            tokenize.COMMENT,
            tokenize.ENDMARKER,
        ):
            continue
        if at_start:
            found.append(token.start[0] - 1)
        at_start = token.type == tokenize.NEWLINE
    return found


@every_program
@pytest.mark.parametrize("split_data", [True, False])
def test_no_name_is_read_that_nothing_binds(path: Path, split_data: bool) -> None:
    text = text_of(path)
    plan = distribute(summarize(Document(text)), Options(split_data=split_data))
    assert isinstance(plan, Plan)
    assert unresolved(plan.text) <= unresolved(text)


# ---------------------------------------------------------------------- harmless edits


@every_program
@pytest.mark.parametrize("seed", SEEDS)
def test_comments_and_blank_lines_between_statements(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    text = text_of(path).replace("\r\n", "\n")
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    for line in reversed([n for n in statement_lines(text) if n > first]):
        indent = re.match(r"[ \t]*", lines[line])
        assert indent is not None
        new = chance.choice([[], [""], [f"{indent[0]}# note {line}"], ["", f"{indent[0]}# hvd", ""]])
        lines[line:line] = new
    result = check_same_rules(path, "\n".join(lines))
    for line in lines:
        if line.strip().startswith("# note"):
            assert line.strip() in result


@every_program
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_line_ends(path: Path, newline: str) -> None:
    """The result is the same but for the line ends."""
    plain = text_of(path).replace("\r\n", "\n")
    result = check_same_rules(path, plain.replace("\n", newline))
    assert result == distributed(plain).text.replace("\n", newline)


@every_program
@pytest.mark.parametrize("seed", SEEDS)
def test_renamed_variables(path: Path, seed: int) -> None:
    text, tree = text_of(path), ast.parse(text_of(path))
    chosen = variables(tree)
    chosen = random.Random(seed).sample(chosen, k=min(len(chosen), 1 + seed))
    index = Document(text).lines
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in chosen]
    for span, name in sorted(((index.node_span(n), n.id) for n in names), reverse=True):
        if text[span.start : span.end] == name:
            text = text[: span.start] + f"new_{name}" + text[span.end :]
    compile(text, path.name, "exec", dont_inherit=True)
    check_same_rules(path, text)


def variables(tree: ast.Module) -> list[str]:
    """Names that are variables and nothing else: no parameters, functions, imports or keywords, and not in f-strings,
    whose parts have no reliable places before Python 3.12."""
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    other: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                other.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                other |= set(names)
            case ast.alias():
                other.add((node.asname or node.name).split(".")[0])
            case ast.JoinedStr():
                other |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            case ast.ClassDef():
                other |= {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    return sorted(n for n in stored - other if not keyword.iskeyword(n) and not n.startswith("__"))


@every_program
def test_wrapped_in_main(path: Path) -> None:
    text = text_of(path).replace("\r\n", "\n")
    tree = ast.parse(text)
    if any(isinstance(n, ast.Global) for n in ast.walk(tree)):
        assert "global " in text  # names that functions share can't become local
        return
    wrapped = in_main(text, tree)
    compile(wrapped, path.name, "exec", dont_inherit=True)
    result = outcome(wrapped)
    assert isinstance(result, Plan | Refusal)
    if isinstance(result, Plan):
        compile(result.text, path.name, "exec", dont_inherit=True)
        assert {c.rule for c in result.changes} == distributed(text).rules


def in_main(text: str, tree: ast.Module) -> str:
    """A program with all but its imports in `main()`, which a guard calls."""
    lines = text.split("\n")
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if "STRING" in tokenize.tok_name[token.type]:
            inside |= set(range(token.start[0], token.end[0]))
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    top = {i for s in imports for i in range(s.lineno - 1, s.end_lineno or s.lineno)}
    shared = {s.lineno - 1 for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)} & top
    head = [lines[i] for i in sorted(top - shared)]
    unit = Document(text).indent_unit
    body = [
        unit + line if line.strip() and i not in inside else line
        for i, line in enumerate(lines)
        if i not in top - shared
    ]
    return "\n".join([*head, "", "def main():", *body, "", 'if __name__ == "__main__":', unit + "main()", ""])


# ---------------------------------------------------------------------- harmful ones: a plan or a reason, never a crash


def without_a_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return "".join(lines)


def cut_short(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text))]


def two_lines_swapped(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "".join(lines)


def a_name_for_another(text: str, chance: random.Random) -> str:
    words = re.findall(r"\b[a-z_]\w*\b", text)
    one, other = chance.choice(words), chance.choice(words)
    return re.sub(rf"\b{one}\b", other, text)


def a_statement_taken_out(text: str, chance: random.Random) -> str:
    tree = ast.parse(text)
    statements = [n for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    span = Document(text).span(chance.choice(statements))
    return text[: span.start] + "pass" + text[span.end :]


def two_programs_in_one(text: str, chance: random.Random) -> str:
    return text + "\n" + text_of(chance.choice(PATHS))


def an_expression_for_another(text: str, chance: random.Random) -> str:
    document = Document(text)
    assert document.tree is not None
    spans = [document.span(n) for n in ast.walk(document.tree) if isinstance(n, ast.expr)]
    one, other = chance.choice(spans), chance.choice(spans)
    return text[: one.start] + text[other.start : other.end] + text[one.end :]


HARM: list[Callable[[str, random.Random], str]] = [
    without_a_line, cut_short, two_lines_swapped, a_name_for_another, a_statement_taken_out, two_programs_in_one,
    an_expression_for_another,
]  # fmt: skip


def compiles(text: str) -> bool:
    try:
        compile(text, "harmed", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@given(st.sampled_from(PATHS), st.sampled_from(HARM), st.integers(0, 10_000))
@settings(max_examples=150, deadline=None)
def test_no_program_makes_it_crash(path: Path, harm: Callable[[str, random.Random], str], seed: int) -> None:
    text = harm(text_of(path), random.Random(seed))
    result = outcome(text)
    if isinstance(result, Plan):
        if compiles(text):  # what parses need not: `return` outside a function
            compile(result.text, path.name, "exec", dont_inherit=True)
            assert unresolved(result.text) <= unresolved(text)
        assert isinstance(outcome(result.text), Unchanged)
    elif isinstance(result, Refusal):
        assert result.reasons
        for reason in result.reasons:
            assert reason.code != "HVD007", reason.message
            assert 0 <= reason.span.start <= reason.span.end <= len(text)
            assert reason.message
