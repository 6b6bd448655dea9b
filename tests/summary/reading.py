"""What the tests of summaries share: a module read from source, and the expressions in it that are asked about."""

from __future__ import annotations

import ast
import textwrap

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.source import Document
from horovodize.summary import ModuleSummary, summarize


def module(source: str) -> Module:
    return Module(Document(textwrap.dedent(source).lstrip("\n")))


def summary(source: str) -> ModuleSummary:
    return summarize(Document(textwrap.dedent(source).lstrip("\n")))


def looked_at(m: Module, n: int = 0) -> ast.expr:
    """The argument of the n-th `look(…)` in a module: what a test asks about."""
    looks = [c for c in m.syntax.calls if isinstance(c.func, ast.Name) and c.func.id == "look"]
    return looks[n].args[0]


def function(m: Module, name: str) -> Function:
    return next(f for f in ast.walk(m.tree) if isinstance(f, FUNCTIONS) and f.name == name)


def name_of(source: str) -> str | None:
    """The canonical name of what a program looks at."""
    m = module(source)
    return m.names.of(looked_at(m))


def origins(source: str, n: int = 0) -> list[str]:
    """The texts of what the value of the expression that a program looks at may be, with the part of it where it is one."""
    m = module(source)
    found = []
    for origin in m.values.origins(looked_at(m, n)):
        text = f"def {origin.node.name}" if isinstance(origin.node, FUNCTIONS) else m.text(origin.node)
        found.append(text + "".join(f"[{p}]" if p >= 0 else "[*]" for p in origin.path))
    return sorted(found)
