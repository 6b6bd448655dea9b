"""Checking and fixing a text, for the tests of restrictions."""

from __future__ import annotations

from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.restrictions.violation import Violation
from horovodize.source import Document, compose
from horovodize.source.edits import apply
from horovodize.summary import summarize


def violations(text: str, code: str, *, strict: bool = False) -> list[Violation]:
    """The violations of one restriction in a text."""
    return [v for v in check(summarize(Document(text, "train.py")), Options(strict=strict)) if v.code == code]


def fixed(text: str, code: str, *, strict: bool = False) -> str:
    """The text after the only fix of the only violation of a restriction."""
    (violation,) = violations(text, code, strict=strict)
    (fix,) = violation.fixes
    return apply(text, compose(text, fix.edits))


def codes(text: str) -> set[str]:
    """The codes of what is found in a script."""
    return {v.code for v in check(summarize(Document(text, "train.py")))}


def changed(text: str, *changes: tuple[str, str]) -> str:
    """A script with these parts replaced, each of which is there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
