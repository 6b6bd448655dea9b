"""Scripts that train, and what becomes of them under somebody's hands: half edited, pasted twice, cut short."""

from __future__ import annotations

import ast
import functools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

from horovodize.source import Document

TESTS = Path(__file__).parent.parent

Mutation = Callable[[str, random.Random], str]


@functools.cache
def seeds() -> list[str]:
    """The texts of all scripts here that train or are refused, with those of each project and notebook."""
    files = [
        p for folder in ("golden", "programs", "projects") for p in sorted((TESTS / folder).rglob("*.py"))
    ]
    texts = [
        Document.from_bytes(p.read_bytes(), p.name).text
        for p in files
        if not p.name.startswith("test_") and not p.name.endswith(".expected.py")
    ]
    for path in sorted((TESTS / "golden").rglob("*.ipynb")):
        cells = json.loads(path.read_bytes()).get("cells", [])
        texts.append("\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code"))
    return [text for text in texts if "import" in text]


def _lines(text: str) -> list[str]:
    return re.findall(r".*?(?:\r\n|\r|\n)|.+\Z", text, re.DOTALL) or [""]


def _statements(text: str) -> list[tuple[ast.stmt, int, int]]:
    """Statements with where they start and end; none where the text does not parse."""
    document = Document(text)
    if document.tree is None:
        return []
    found = [node for node in ast.walk(document.tree) if isinstance(node, ast.stmt)]
    return [(node, document.span(node).start, document.span(node).end) for node in found]


def without_a_line(text: str, chance: random.Random) -> str:
    lines = _lines(text)
    del lines[chance.randrange(len(lines))]
    return "".join(lines)


def a_line_twice(text: str, chance: random.Random) -> str:
    lines = _lines(text)
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return "".join(lines)


def two_lines_swapped(text: str, chance: random.Random) -> str:
    lines = _lines(text)
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "".join(lines)


def a_name_for_another(text: str, chance: random.Random) -> str:
    words = re.findall(r"\b[A-Za-z_]\w*\b", text) or ["x"]
    one, other = chance.choice(words), chance.choice(words)
    return re.sub(rf"\b{one}\b", other, text)


def a_new_name(text: str, chance: random.Random) -> str:
    words = re.findall(r"\b[A-Za-z_]\w*\b", text) or ["x"]
    return re.sub(
        rf"\b{chance.choice(words)}\b", chance.choice(["größe", "hvd", "tf", "_", "_1", "new"]), text
    )


def another_indentation(text: str, chance: random.Random) -> str:
    lines = _lines(text)
    start = chance.randrange(len(lines))
    for i in range(start, min(start + chance.randint(1, 8), len(lines))):
        if chance.random() < 0.5:
            lines[i] = chance.choice(["    ", "\t", "  ", " \t"]) + lines[i]
        else:
            lines[i] = re.sub(r"^(?: {1,4}|\t)", "", lines[i])
    return "".join(lines)


def a_block_around(text: str, chance: random.Random) -> str:
    """Some statements of one level in a block of their own."""
    lines = _lines(text)
    start = chance.randrange(len(lines))
    end = min(start + chance.randint(1, 12), len(lines))
    indent = re.match(r"[ \t]*", lines[start])
    assert indent is not None
    head = chance.choice(
        ["if flag:", "for i in range(3):", "with open('x') as f:", "def inner():", "class A:", "try:"]
    )
    inside = [f"    {line}" if line.strip() else line for line in lines[start:end]]
    tail = [f"{indent[0]}finally:\n", f"{indent[0]}    pass\n"] if head == "try:" else []
    return "".join([*lines[:start], f"{indent[0]}{head}\n", *inside, *tail, *lines[end:]])


def cut_short(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


def cut_in_the_middle(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.randint(0, 80) :]


def some_characters(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    new = [
        *"()[]{}:=,.@*'\"#\\\n\t;",
        '"""',
        "\f",
        "\r",
        "\u2028",
        "🐍",
        "é",
        "lambda: ",
        "await ",
        "yield ",
        "\0",
    ]
    return text[:at] + "".join(chance.choices(new, k=chance.randint(1, 3))) + text[at:]


def a_statement_taken_out(text: str, chance: random.Random) -> str:
    statements = _statements(text)
    if not statements:
        return text
    _, start, end = chance.choice(statements)
    return text[:start] + "pass" + text[end:]


def a_statement_again(text: str, chance: random.Random) -> str:
    """A statement moved or copied to before another one, in that one's indentation."""
    statements = _statements(text)
    if not statements:
        return text
    (_, start, end), (_, target, _) = chance.choice(statements), chance.choice(statements)
    line = text.rfind("\n", 0, target) + 1
    indent = text[line:target] if not text[line:target].strip() else ""
    copied = re.sub(r"\n", "\n" + indent, text[start:end])
    return text[:target] + copied + "\n" + indent + text[target:]


def a_semicolon_for_a_line(text: str, chance: random.Random) -> str:
    """Two statements on one line."""
    ends = [m.start() for m in re.finditer(r"(?<=[)\w])\n(?=[a-z])", text)]
    if not ends:
        return text
    at = chance.choice(ends)
    return text[:at] + "; " + text[at + 1 :]


def an_expression_for_another(text: str, chance: random.Random) -> str:
    document = Document(text)
    if document.tree is None:
        return text
    spans = [document.span(node) for node in ast.walk(document.tree) if isinstance(node, ast.expr)]
    if not spans:
        return text
    one, other = chance.choice(spans), chance.choice(spans)
    return text[: one.start] + text[other.start : other.end] + text[one.end :]


def an_expression_wrapped(text: str, chance: random.Random) -> str:
    document = Document(text)
    if document.tree is None:
        return text
    spans = [document.span(node) for node in ast.walk(document.tree) if isinstance(node, ast.expr)]
    if not spans:
        return text
    span = chance.choice(spans)
    before, after = chance.choice(
        [
            ("(", ")"),
            ("[", "][0]"),
            ("(lambda: ", ")()"),
            ("f(", ")"),
            ("(", "\n)"),
            ("(x := ", ")"),
            ("(", " if a else b)"),
        ]
    )
    return text[: span.start] + before + text[span.start : span.end] + after + text[span.end :]


def other_line_ends(text: str, chance: random.Random) -> str:
    """All lines, or some, end in another way."""
    end, share = chance.choice(["\r\n", "\r"]), chance.choice([1.0, 0.3])
    return re.sub(r"\r\n|\r|\n", lambda m: end if chance.random() < share else m[0], text)


def no_last_line_end(text: str, chance: random.Random) -> str:
    return text.rstrip("\r\n") + chance.choice(["", "  ", "\\", "  # end", "\n\n\f", "\t"])


def continued_lines(text: str, chance: random.Random) -> str:
    spaces = [m.start() for m in re.finditer(r"(?<=[=,+*-]) (?=\w)", text)]
    if not spaces:
        return text
    at = chance.choice(spaces)
    return text[:at] + " \\\n   " + text[at + 1 :]


def two_programs(text: str, chance: random.Random) -> str:
    return text + "\n" + chance.choice(seeds())


def half_and_half(text: str, chance: random.Random) -> str:
    lines, others = _lines(text), _lines(chance.choice(seeds()))
    return "".join([*lines[: chance.randrange(len(lines) + 1)], *others[chance.randrange(len(others)) :]])


MUTATIONS: list[Mutation] = [
    without_a_line, a_line_twice, two_lines_swapped, a_name_for_another, a_new_name, another_indentation, a_block_around,
    cut_short, cut_in_the_middle, some_characters, a_statement_taken_out, a_statement_again, a_semicolon_for_a_line,
    an_expression_for_another, an_expression_wrapped, other_line_ends, no_last_line_end, continued_lines, two_programs,
    half_and_half,
]  # fmt: skip


def mutated(number: int) -> str:
    """The script of a number: a seed after one to four mutations."""
    chance = random.Random(number)
    text = chance.choice(seeds())
    for _ in range(chance.choice([1, 1, 2, 3, 4])):
        text = chance.choice(MUTATIONS)(text, chance)
    return text
