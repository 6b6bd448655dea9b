"""Texts that users read keep to plain English: forms that made readers stumble don't come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each with what to write instead.
WORSE = {
    r"\bfor ever\b": "forever",
    r"\banew\b": "again",
    r"\ba `?size\(\)`?-th of\b": "1/size() of",
    r"\bmended\b": "fixed, corrected",
    r"without a word": "silently",
    r"not all ranks may come to": "some ranks may never reach",
    r"\binformations\b": "informational findings",
    r"is no version like": "is not a version such as",
    r"\bstruck out\b": "struck through",
    r"shows the house": "explains the code layout",
    r"a command line, over one engine": "one engine: a VS Code extension, a language server and a CLI",
    r"[Oo]f several files, the highest": "with several files, the highest",
    r"changed otherwise\b": "conflicting changes",
    r"[Aa] value that means nothing": "invalid values",
    r"is no finding of `check`": "`check` doesn't report",
}
READ = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("server/horovodize/**/*.md"),
    *ROOT.glob("server/horovodize/**/*.py"),
    *ROOT.glob("vscode-extension/*.md"),
    *ROOT.glob("vscode-extension/package.json"),
    *ROOT.glob("vscode-extension/src/**/*.ts"),
]


def found(text: str) -> list[str]:
    """The worse forms in a text, each with its line (1-based) and the better form. Names in code are no words."""
    lines = enumerate(text.splitlines(), 1)
    return [
        f"line {number}: {match[0]!r}; write {better!r}"
        for number, line in lines
        for worse, better in WORSE.items()
        for match in [re.search(worse + r"(?!\s*[=,)\]])", line)]
        if match is not None
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ranks wait for ever",
        "it is made anew",
        "They take a size()-th of the steps.",
        "'2.x' is no version like 2.15",
    ],
)
def test_worse_forms_are_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text", ["forever", "every size()-th row", "anew = begins(way)", "f(way, anew, own)", "amended"]
)
def test_better_forms_are_not(text: str) -> None:
    assert not found(text)


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(ROOT)))
def test_plain_english(path: Path) -> None:
    assert not found(path.read_text(encoding="utf-8"))
