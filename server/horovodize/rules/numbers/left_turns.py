"""Tests of a number of turns by which turns go on without something: part of G5 and G7.

    def after_step():
        if calls % 6:
            return
        slow.assign_add(0.5 * (weight - slow))

What is under such a test's end comes every six steps, and as often for the rows that are seen once six is divided."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import named_tests
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver


def by_turns(draft: Draft, site: ast.AST, drivers: set[Driver]) -> list[ast.expr]:
    """The tests of numbers of turns after which a place isn't come to."""
    left = draft.facts.occasions.left_out_by(site, drivers)
    return [decision.test for decision in left if goes_by_turns(draft, decision.test)]


def goes_by_turns(draft: Draft, test: ast.expr) -> bool:
    """Whether a test, or what it stands for, reads a number of turns: `if step % 100:`, `if not is_due(step):`."""
    return any(_reads_turns(draft, e) for e in (test, *_named(draft, test)))


def _named(draft: Draft, test: ast.expr) -> list[ast.expr]:
    parts = (n for n in walk(test) if isinstance(n, (ast.Name, ast.Call)))
    return [meant for n in parts if (meant := named_tests.behind(draft, n)) is not n]


def _reads_turns(draft: Draft, test: ast.expr) -> bool:
    modulos = (n for n in walk(test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod))
    return any(True for _ in modulos) or any(True for _ in draft.facts.counters.reads(test))


__all__ = ["by_turns", "goes_by_turns"]
