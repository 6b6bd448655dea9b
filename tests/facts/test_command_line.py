"""What a script is started with."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts.differences import command_line
from horovodize.python.module import Module
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import argparse
import tensorflow as tf
from absl import flags
parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--start-step", type=int)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--quiet", action="store_true")
parser.add_argument("--rate", type=float, required=True)
flags.DEFINE_integer("batch", None, "rows")
flags.DEFINE_integer("epochs", 5, "passes")
"""


def module_of(text: str) -> Module:
    summary = summarize(Document(HEAD + text + "\n"))
    assert summary.module is not None
    return summary.module


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        ("parser.parse_args()", True),
        ("flags.FLAGS", True),
        ("parser.parse_args() if tf else load()", False),
        ("load()", False),
    ],
)
def test_what_holds_options(found: str, holds: bool) -> None:
    module = module_of(f"found = {found}\nprint(found)")
    last = module.tree.body[-1]
    assert isinstance(last, ast.Expr)
    assert isinstance(last.value, ast.Call)
    assert command_line.holds_options(module, last.value.args[0]) is holds


@pytest.mark.parametrize(
    ("name", "default", "unset"),
    [
        ("start_step", None, True),
        ("seed", "7", False),
        ("quiet", None, False),
        ("rate", None, False),
        ("data", None, False),
        ("batch", "None", True),
        ("epochs", "5", False),
        ("other", None, False),
    ],
)
def test_what_an_option_is_that_is_not_given(name: str, default: str | None, unset: bool) -> None:
    module = module_of("")
    given = command_line.default(module, name)
    assert (ast.unparse(given) if given is not None else None) == default
    assert command_line.may_be_unset(module, name) is unset
