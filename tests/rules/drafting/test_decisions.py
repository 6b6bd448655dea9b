"""What rules decide of expressions: near misses first."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

import pytest

from horovodize.options import Options
from horovodize.rules.drafting import decisions
from horovodize.rules.drafting.decisions import (
    Agreed,
    Amount,
    Apart,
    Asked,
    Clash,
    Counted,
    Covered,
    Decided,
    Divided,
    How,
    Left,
    Scaled,
    Scheduled,
    Shared,
    Unit,
    Value,
    Wrapped,
)
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.counted import over_ranks
from horovodize.rules.numbers.shares import divide, wrap
from horovodize.source import Document
from horovodize.summary import summarize

PROGRAM = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, epochs=3)
"""
EVERY = (
    Shared("D1"), Divided("G5"), Scaled("C5"), Counted("G6"), Agreed("G4"), Apart("D3"), Covered("D3"), Left("C6"),
    Scheduled("C4"), Wrapped("K8"), Asked("G5"),
)  # fmt: skip


@pytest.fixture
def draft() -> Draft:
    return Draft(summarize(Document(PROGRAM)), Options())


@pytest.fixture
def number(draft: Draft) -> ast.expr:
    """`3`"""
    return next(n for n in draft.syntax.every(ast.Constant) if n.value == 3)


@pytest.fixture
def rows(draft: Draft) -> ast.expr:
    """`x`"""
    return next(n for n in draft.syntax.every(ast.Name) if n.id == "x")


@pytest.fixture
def in_production() -> Iterator[None]:
    decisions.raising = False
    yield
    decisions.raising = True


# ---------------------------------------------------------------------- no clash


def test_nothing_is_decided_at_first(draft: Draft, number: ast.expr) -> None:
    assert not draft.was(number, Decided)
    assert draft.decision(number, Decided) is None
    assert draft.having(Decided) == []


def test_expressions_that_look_the_same_are_decided_each_by_itself(draft: Draft) -> None:
    one, other = ast.Constant(3), ast.Constant(3)
    assert draft.decide(one, Divided("G4"))
    assert not draft.was(other, Divided)
    assert draft.decide(other, Scaled("C5"))


def test_the_same_again_changes_nothing_whichever_rule_says_so(draft: Draft, number: ast.expr) -> None:
    assert draft.decide(number, Divided("K4"))
    assert not draft.decide(number, Divided("G5"))
    made = draft.decision(number, Divided)
    assert made is not None
    assert made.rule == "K4"


def test_rank_0s_rows_of_which_each_rank_takes_a_part_are_no_clash(draft: Draft, rows: ast.expr) -> None:
    assert draft.decide(rows, Agreed("D3"))
    assert draft.decide(rows, Shared("D2"))
    assert draft.was(rows, Shared)
    assert draft.was(rows, Agreed)


def test_ways_to_agree_are_no_clash(draft: Draft, rows: ast.expr) -> None:
    assert draft.decide(rows, Agreed("G4", How.STREAM))
    assert not draft.decide(rows, Agreed("D3", How.ROOT))
    made = draft.decision(rows, Agreed)
    assert made is not None
    assert made.how is How.STREAM


@pytest.mark.parametrize("kind", [Counted, Scaled, Divided, Apart, Left])
def test_what_was_decided_is_not_taken_for_another_thing(
    draft: Draft, rows: ast.expr, kind: type[Decided]
) -> None:
    draft.decide(rows, Shared("D2"))
    draft.decide(rows, Agreed("D3"))
    assert not draft.was(rows, kind)
    assert draft.decision(rows, kind) is None


def test_draws_that_go_into_what_is_agreed_are_not_agreed_themselves(draft: Draft, rows: ast.expr) -> None:
    draft.decide(rows, Covered("D3"))
    assert not draft.was(rows, Agreed)
    assert not draft.was(rows, Value)


def test_what_is_done_once_is_no_decision(draft: Draft, number: ast.expr) -> None:
    assert draft.once("wrapped", number)
    assert not draft.once("wrapped", number)
    assert draft.once("pinned", number)
    assert not draft.was(number, Decided)


# ---------------------------------------------------------------------- kinds


def test_it_is_asked_for_by_what_it_is_and_by_what_it_answers(
    draft: Draft, number: ast.expr, rows: ast.expr
) -> None:
    draft.decide(number, Divided("G4"))
    draft.decide(rows, Shared("D2"))
    assert draft.was(number, Amount)
    assert draft.was(number, Shared, Divided)
    assert not draft.was(number, Value)
    assert draft.having(Amount) == [number, rows]
    assert draft.having(Shared) == [rows]


@pytest.mark.parametrize("decision", EVERY, ids=lambda d: type(d).__name__)
def test_a_decision_says_what_it_is(decision: Decided) -> None:
    assert decision.question
    assert decision.words
    with pytest.raises(AttributeError):
        decision.rule = "X1"  # type: ignore[misc]


# ---------------------------------------------------------------------- clashes


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Divided("G4"), Scaled("C5")),
        (Divided("G4"), Counted("G6")),
        (Shared("D2"), Divided("G4")),
        (Shared("D2"), Shared("G4", Unit.ROWS)),
        (Divided("K4"), Divided("G4", Unit.ROWS)),
        (Agreed("G4"), Apart("D3")),
    ],
)
def test_two_rules_that_say_different_things_of_an_expression(
    draft: Draft, number: ast.expr, first: Decided, second: Decided
) -> None:
    draft.decide(number, first)
    with pytest.raises(Clash, match=f"line 5.*{first.rule}.*stands.*{second.rule}"):
        draft.decide(number, second)


@pytest.mark.usefixtures("in_production")
def test_a_user_is_asked_about_them_and_nothing_is_changed_twice(draft: Draft, number: ast.expr) -> None:
    edits = divide(draft, number, "K4")
    draft.change("K4", number, "Divide the steps", "", edits)
    assert wrap(draft, number, "shard", "D2") == ()
    assert over_ranks(draft, number, "G5") == ()
    (asked,) = [c for c in draft.changes if not c.sure]
    assert asked.rule == "D2"
    assert asked.edits == ()
    assert asked.span == draft.module.span(number)
    assert asked.doubt == (
        "two changes fit here, and one was made: it is divided by the number of ranks; "
        "the other is that it is dealt out to the ranks"
    )


@pytest.mark.usefixtures("in_production")
def test_they_are_asked_about_once(draft: Draft, number: ast.expr) -> None:
    draft.decide(number, Divided("G4"))
    for _ in range(2):
        assert not draft.decide(number, Scaled("C5"))
    assert len(draft.changes) == 1
    assert draft.was(number, Divided)
    assert not draft.was(number, Scaled)


# ---------------------------------------------------------------------- how rules use them


def test_what_is_divided_is_divided_once(draft: Draft, number: ast.expr) -> None:
    assert divide(draft, number, "K4")
    assert divide(draft, number, "K4") == ()
    assert over_ranks(draft, number, "G5") == ()


def test_rules_remember_nodes_as_decisions_only() -> None:
    """Sets of nodes that rules share beside the decisions are few, and none is added."""
    kept = {
        name
        for name, value in vars(Draft(summarize(Document(textwrap.dedent(PROGRAM))), Options())).items()
        if isinstance(value, set)
    }
    assert kept == {"_taken", "_begun", "settled"}
