"""The model by itself: small graphs whose outcomes and races are plain."""

from __future__ import annotations

from horovodize.ordering.model import Does, Op, known, number, outcomes, races, unknown

ONE, TWO = Op("one", Does.GIVE, value=number(1)), Op("two", Does.GIVE, value=number(2))
START = {"v": number(0)}


def assign(name: str, value: str, *after: str) -> Op:
    return Op(name, Does.ASSIGN, "v", (value,), after)


def add(name: str, value: str, *after: str) -> Op:
    return Op(name, Does.ADD, "v", (value,), after)


def read(name: str, *after: str) -> Op:
    return Op(name, Does.READ, "v", (), after)


def ends(ops: list[Op], *fetches: str) -> list[tuple[float | None, ...]]:
    """What `v` holds in the end, and what was fetched, in every way."""
    found = outcomes(ops, fetches, START)
    rows = [(o.variables[0][1], *(v for v in o.fetched if v is not None)) for o in found]
    return sorted(tuple(map(known, row)) for row in rows)


def pairs(ops: list[Op], *fetches: str) -> list[tuple[str, str]]:
    return [(race.first, race.second) for race in races(ops, fetches, START)]


def test_the_last_assignment_wins() -> None:
    ops = [ONE, TWO, assign("a", "one"), assign("b", "two")]
    assert ends(ops, "a", "b") == [(1,), (2,)]
    (race,) = races(ops, ["a", "b"], START)
    assert [order.index("a") < order.index("b") for order in race.orders] == [True, False]
    assert [known(dict(o.variables)["v"]) for o in race.outcomes] == [2, 1]


def test_a_control_edge_orders() -> None:
    ops = [ONE, TWO, assign("a", "one"), assign("b", "two", "a")]
    assert ends(ops, "b") == [(2,)]
    assert pairs(ops, "a", "b") == []


def test_what_is_not_fetched_does_not_run() -> None:
    ops = [ONE, TWO, assign("a", "one"), assign("b", "two")]
    assert ends(ops, "a") == [(1,)]
    assert pairs(ops, "a") == []


def test_the_same_constant_twice_is_no_race() -> None:
    assert pairs([ONE, assign("a", "one"), assign("b", "one")], "a", "b") == []


def test_the_same_unknown_value_twice_is_no_race() -> None:
    x, y = Op("x", Does.GIVE, value=unknown("x")), Op("y", Does.GIVE, value=unknown("y"))
    assert pairs([x, assign("a", "x"), assign("b", "x")], "a", "b") == []
    assert pairs([x, y, assign("a", "x"), assign("b", "y")], "a", "b") == [("a", "b")]


def test_additions_commute() -> None:
    ops = [ONE, TWO, add("a", "one"), add("b", "two"), Op("c", Does.SUBTRACT, "v", ("two",))]
    assert ends(ops, "a", "b", "c") == [(1,)]
    assert pairs(ops, "a", "b", "c") == []


def test_a_read_beside_an_addition() -> None:
    ops = [ONE, read("r"), add("a", "one")]
    assert ends(ops, "r", "a") == [(1, 0), (1, 1)]
    assert pairs(ops, "r", "a") == [("r", "a")]


def test_a_read_that_shows_nowhere_is_no_race() -> None:
    ops = [ONE, read("r"), add("a", "one")]
    waits = Op("n", Does.COMPUTE, after=("r",))
    assert pairs([*ops, waits], "n", "a") == []


def test_a_value_that_is_read_orders_what_is_made_of_it() -> None:
    ops = [ONE, read("r"), Op("s", Does.SUM, inputs=("r", "one")), assign("a", "s")]
    assert ends(ops, "r", "a") == [(1, 0)]
    assert pairs(ops, "r", "a") == []


def test_two_reads_of_which_one_is_late() -> None:
    """`tf.assign(v, v + 1)` beside a fetched `v`: each use of a variable is a read of its own."""
    ops = [ONE, read("r"), Op("s", Does.SUM, inputs=("r", "one")), assign("a", "s"), read("late")]
    assert ends(ops, "late", "a") == [(1, 0), (1, 1)]


def test_what_is_overwritten_is_no_race() -> None:
    ops = [ONE, TWO, assign("a", "one"), assign("b", "two"), assign("c", "one", "a", "b")]
    assert pairs(ops, "c") == []


def test_what_is_computed_of_what_was_read_shows_the_race() -> None:
    ops = [ONE, read("r"), Op("f", Does.COMPUTE, inputs=("r",)), add("a", "one")]
    assert pairs(ops, "f", "a") == [("r", "a")]
