"""Nodes that a test picks are found again only where something has changed that they were picked by."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.source import Document

ASKED: list[str] = []


def _prints(module: Module, call: ast.Call) -> bool:
    ASKED.append(ast.unparse(call))
    return module.names.of(call.func) == "logging.info" or module.names.last(call.func) == "print"


def _picked(document: Document) -> list[str]:
    ASKED.clear()
    assert document.tree is not None  # taken over from the version before
    return [ast.unparse(call) for call in Module.of(document).calls_which(_prints)]


TEXT = """import logging
log = logging.info


def one():
    log(1)


def between():
    pass


def two():
    print(2)
"""


def test_each_node_is_asked_about_once() -> None:
    document = Document(TEXT)
    assert _picked(document) == ["log(1)", "print(2)"]
    assert _picked(document) == ["log(1)", "print(2)"]
    assert not ASKED


def test_a_change_asks_about_what_it_replaces() -> None:
    document = Document(TEXT)
    _picked(document)
    assert _picked(document.changed_to(TEXT.replace("print(2)", "print(3)"))) == ["log(1)", "print(3)"]
    assert ASKED == ["print(3)"]


def test_what_only_moves_keeps_its_answer() -> None:
    document = Document(TEXT)
    _picked(document)
    longer = TEXT.replace("    pass\n", "    pass\n    pass\n")
    assert _picked(document.changed_to(longer)) == ["log(1)", "print(2)"]
    assert not ASKED


def test_what_a_name_means_elsewhere_is_asked_again() -> None:
    document = Document(TEXT)
    _picked(document)
    assert _picked(document.changed_to(TEXT.replace("logging.info", "logging.debug"))) == ["print(2)"]
    assert "log(1)" in ASKED
    assert "print(2)" not in ASKED
