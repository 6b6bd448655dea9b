"""G5: events that change what training goes on with come exactly as often as alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\nrate, n = 0.1, 0\n"
LOOP = "for epoch in range(9):\n    for i, (x, y) in enumerate(ds):\n        step(x, y)\n        n += 1\n"
LOWERS = "rate *= 0.9; optimizer.learning_rate = rate"
OLD = "i % max(1, 100 // hvd.size()) == 0"
EXACT = "i * hvd.size() % 100 < hvd.size()"


def become(test: str, then: str, before: str = "") -> str:
    """The line that an event's test comes to stand in."""
    text = plan_of(before + TAPE + DATA + LOOP + f"        if {test}:\n            {then}\n").text
    return next(line for line in text[text.index("for epoch in range(9):") :].splitlines() if "100" in line)


@pytest.mark.parametrize(
    "then",
    [
        LOWERS,
        "optimizer.learning_rate = optimizer.learning_rate * 0.9",
        "optimizer.learning_rate.assign(optimizer.learning_rate * 0.9)",
        "tf.keras.backend.set_value(optimizer.lr, tf.keras.backend.get_value(optimizer.lr) * 0.9)",
        "old = optimizer.lr.numpy(); optimizer.lr.assign(old * 0.9)",
        "heat.assign_sub(0.1)",
        "length = min(length + 8, 512)",
        "bad = bad + 1 if loss > least else 0",
        "new = [0.9 * s + 0.1 * v for s, v in zip(slow, w)]; slow = new",
        "lower(optimizer)",
        "settings.lower()",
    ],
)
def test_what_goes_on_from_its_last_value_comes_as_often_as_alone(then: str) -> None:
    helpers = (
        "def lower(o):\n    o.learning_rate = o.learning_rate * 0.9\n"
        "class Settings:\n    def __init__(self):\n        self.rate = 0.1\n"
        "    def lower(self):\n        self.rate *= 0.9\n"
        "settings = Settings()\n"
    )
    assert become("i % 100 == 0", then, helpers) == f"        if {EXACT}:"


@pytest.mark.parametrize(
    "then",
    [
        "print(i)",
        "model.save_weights('w')",
        "slow.set_weights(model.get_weights())",
        "total = 0\n            for w in model.trainable_variables: total += float(tf.norm(w))\n            print(total)",
        "losses.append(float(loss))",
        "look(model)",
    ],
)
def test_what_is_shown_or_made_anew_keeps_its_short_test(then: str) -> None:
    helper = "def look(m):\n    text = ''\n    for w in m.weights:\n        text += str(w)\n    print(text)\n"
    assert become("i % 100 == 0", then, helper).strip() in (f"if {OLD}:", f"if {OLD} and hvd.rank() == 0:")


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("(i + 1) % 100 == 0", "(i + 1) * hvd.size() % 100 < hvd.size()"),
        ("i % 100 == 99", "(i + 1) * hvd.size() % 100 < hvd.size()"),
        ("i % (100) == 0 and i", "i * hvd.size() % (100) < hvd.size() and i"),
        ("i % 100 == 1", "(i - 1) * hvd.size() % 100 < hvd.size()"),
        ("(i + 2) % 100 == 1", "(i + 2 - 1) * hvd.size() % 100 < hvd.size()"),
        ("not i % 100", "not i * hvd.size() % 100 >= hvd.size()"),
        ("i and not (i % 100)", "i and not (i * hvd.size() % 100 >= hvd.size())"),
        ("n % 100 == 0 and rate > 1e-4", "n * hvd.size() % 100 < hvd.size() and rate > 1e-4"),
        # forms that aren't known: near, as what is only shown
        ("0 == i % 100", "0 == i % max(1, 100 // hvd.size())"),
        ("i % 100 == 50", "(i - 50 // hvd.size()) % max(1, 100 // hvd.size()) == 0"),
    ],
)
def test_its_form(test: str, after: str) -> None:
    assert become(test, LOWERS) == f"        if {after}:"


def test_the_other_arm_is_taken_in_all_other_steps() -> None:
    assert become("i % 100 != 0", "pass\n        else:\n            rate *= 0.9").strip() == (
        "if i * hvd.size() % 100 >= hvd.size():"
    )


def test_the_number_of_such_an_event_counts_the_steps_of_all_ranks() -> None:
    then = f"{LOWERS}; model.save_weights('w%d' % (i // 12))"
    text = plan_of(TAPE + DATA + LOOP + f"        if i % 12 == 0:\n            {then}\n").text
    assert "if i * hvd.size() % 12 < hvd.size():" in text
    assert "'w%d' % (i * hvd.size() // 12)" in text


NESTED = (
    "for i in range(100000):\n    step(*draw())\n    if i % 1000 == 0:\n        n += 1\n        if {}:\n"
    "            mark(i)\n"
)


@pytest.mark.parametrize(
    ("inner", "after"),
    [
        ("i % 1000 == 0", "i * hvd.size() % 1000 < hvd.size()"),
        ("i % 5000 == 0", "i * hvd.size() % 5000 < hvd.size()"),
        ("i % keep == 0", "i * hvd.size() % keep < hvd.size()"),
        ("i == 5000", "i == -(-5000 // hvd.size())"),
        ("i > 5000", "i > -(-5000 // hvd.size())"),
    ],
)
def test_what_comes_within_such_an_event_goes_by_the_steps_of_all_ranks_too(inner: str, after: str) -> None:
    """On 3 ranks the 333rd step would seldom be one of those at which the event around comes."""
    head = "import sys\nfrom feeds import draw, save\nn, keep = 0, int(sys.argv[1])\n"
    text = plan_of(TAPE + head + NESTED.format(inner)).text
    assert "    if i * hvd.size() % 1000 < hvd.size():\n" in text
    assert f"        if {after}:\n" in text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_so_it_comes_as_often_as_alone(size: int) -> None:
    alone = [i for i in range(100000) if i % 1000 == 0 and i % 5000 == 0]
    ranks = [i for i in range(100000 // size) if i * size % 1000 < size and i * size % 5000 < size]
    assert len(ranks) in (len(alone), len(alone) - 1)
    once = [i for i in range(100000 // size) if i * size % 1000 < size and i == -(-5000 // size)]
    assert len(once) == 1


@pytest.mark.parametrize(
    ("begun", "short"),
    [
        ("total = 0.0", True),
        ("total, seen = 0.0, 0", False),  # a pair: not looked into
        ("total = least", False),  # what another name keeps from turn to turn
        ("if i > 3: total = 0.0", False),
    ],
)
def test_what_each_turn_begins_with_nothing_does_not_go_on_from_its_last_value(
    begun: str, short: bool
) -> None:
    loop = (
        LOOP
        + f"        {begun}\n        if i % 100 == 0:\n            for w in held: total += float(loss_of(w))\n"
    )
    text = plan_of(TAPE + DATA + "total = least = 0.0\n" + loop).text
    assert (OLD in text) is short
    assert (EXACT in text) is not short


TWO_TESTS = "        if {}:\n            {}\n        if {}:\n            shown.append(i)\n"


@pytest.mark.parametrize(
    ("first", "then", "second", "exact"),
    [
        ("i % 100 == 0", LOWERS, "i % 100 == 0", True),
        ("not i % 100", LOWERS, "i % 100 == 0", True),
        ("i % 100 == 0", "print(i)", "i % 100 == 0", False),
        ("i % 50 == 0", LOWERS, "i % 100 == 0", False),  # another number
        ("n % 100 == 0", LOWERS, "i % 100 == 0", False),  # of another count
    ],
)
def test_two_tests_of_one_number_in_a_turn_hold_together(
    first: str, then: str, second: str, exact: bool
) -> None:
    """What both append to stays equally long, also where ranks don't divide the number."""
    text = plan_of("shown = []\n" + TAPE + DATA + LOOP + TWO_TESTS.format(first, then, second)).text
    line = [n for n in text.splitlines() if n.lstrip().startswith("if ")][-1].strip()
    assert line == f"if {EXACT if exact else OLD}:"


def test_a_test_in_another_loop_keeps_its_own_form() -> None:
    shows = "        if i % 100 == 0:\n            print(i)\n"
    text = plan_of(
        TAPE + DATA + LOOP + f"        if i % 100 == 0:\n            {LOWERS}\n" + LOOP + shows
    ).text
    assert f"if {EXACT}:" in text
    assert f"if {OLD}" in text


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("n % 3 == 0", "n * hvd.size() // 3 - (n - 1) * hvd.size() // 3"),
        ("not n % 3", "n * hvd.size() // 3 - (n - 1) * hvd.size() // 3"),
        ("(i + 1) % 8 == 0", "(i + 1) * hvd.size() // 8 - i * hvd.size() // 8"),
        ("i % 8 == 7", "(i + 1) * hvd.size() // 8 - i * hvd.size() // 8"),
        ("n % EVERY == 1", "(n - 1) * hvd.size() // EVERY - (n - 2) * hvd.size() // EVERY"),
    ],
)
def test_what_may_come_several_times_in_a_step_is_done_as_often(test: str, after: str) -> None:
    text = plan_of("EVERY = 5\n" + TAPE + DATA + LOOP + f"        if {test}:\n            {LOWERS}\n").text
    assert f"        for _ in range({after}):\n            {LOWERS}\n" in text


@pytest.mark.parametrize("every", [2, 3, 7])
def test_as_many_come_on_any_number_of_ranks(every: int) -> None:
    """The text that is written, run: as often as alone after as many rows."""
    text = plan_of(TAPE + DATA + LOOP + f"        if n % {every} == 0:\n            {LOWERS}\n").text
    counts = (
        next(line for line in text.splitlines() if "for _ in range(n *" in line).split(" in ")[1].rstrip(":")
    )
    for ranks in (1, 2, 3, 4, 8, 16):
        known = {"hvd": SimpleNamespace(size=lambda size=ranks: size)}
        come = [len(eval(counts, known | {"n": n})) for n in range(1, 21)]
        assert [sum(come[:n]) for n in range(1, 21)] == [n * ranks // every for n in range(1, 21)]


@pytest.mark.parametrize(("every", "said"), [(20, 1), (64, 1), (65, 0), (1000, 0)])
def test_more_steps_than_that_keep_a_short_test(every: int, said: int) -> None:
    plan = plan_of(TAPE + DATA + LOOP + f"        if n % {every} == 0:\n            {LOWERS}\n")
    assert f"if n * hvd.size() % {every} < hvd.size():" in plan.text
    assert len([n for n in plan.notes if "at most once" in n.message]) == said


@pytest.mark.parametrize(
    "event",
    [
        f"if n % 3 == 0 and rate > 1e-3:\n            {LOWERS}",
        f"if n % 3 == 0:\n            {LOWERS}\n        else:\n            print(n)",
        f"if n % 3 == 0:\n            {LOWERS}\n            if rate < 1e-3: break",
    ],
)
def test_what_cannot_be_repeated_is_said_to_come_once(event: str) -> None:
    plan = plan_of(TAPE + DATA + LOOP + f"        {event}\n")
    assert [n.message for n in plan.notes if "at most once" in n.message]
    assert "n * hvd.size() % 3 < hvd.size()" in plan.text


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("n % 3", "if n * hvd.size() % 3 >= hvd.size():"),  # at all other steps
        ("not n % 3 == 0", "if not n * hvd.size() % 3 < hvd.size():"),
        ("n % 3 != 0", "if n * hvd.size() % 3 >= hvd.size():"),
    ],
)
def test_what_comes_at_the_other_steps_is_not_repeated_at_these(test: str, after: str) -> None:
    text = plan_of(TAPE + DATA + LOOP + f"        if {test}:\n            {LOWERS}\n").text
    assert after in text
    assert "for _ in range(n *" not in text


def test_a_name_that_is_read_is_not_set_again() -> None:
    text = plan_of(
        "_ = str\n" + TAPE + DATA + LOOP + f"        if n % 3 == 0:\n            {LOWERS}; print(_(n))\n"
    ).text
    assert "if n * hvd.size() % 3 < hvd.size():" in text


OF_VARIABLE = """
count, heat = tf.Variable({first}), tf.Variable(1.0)
{traced}
def counted_step(x, y):
    step(x, y)
    count.assign_add({one})
    if count % 3 == 0:
        heat.assign(heat * 0.9)
for epoch in range(9):
    for x, y in ds:
        counted_step(x, y)
"""


@pytest.mark.parametrize(
    ("first", "one", "traced"),
    [("0", "1", "@tf.function"), ("0", "1", ""), ("0.0", "1.0", "")],
)
def test_what_a_variable_counts_or_a_graph_is_built_of_is_not_repeated(
    first: str, one: str, traced: str
) -> None:
    """`range` takes no tensor, and a loop in a graph would add the event to it several times."""
    plan = plan_of(TAPE + DATA + OF_VARIABLE.format(first=first, one=one, traced=traced))
    assert "if count * hvd.size() % 3 < hvd.size():" in plan.text
    assert [n.message for n in plan.notes if "at most once" in n.message]


def test_a_break_of_a_loop_of_its_own_leaves_nothing() -> None:
    body = f"{LOWERS}\n            for k in range(3):\n                if rate < 0.01: break"
    assert (
        "for _ in range(n * hvd.size() // 3"
        in plan_of(TAPE + DATA + LOOP + f"        if n % 3 == 0:\n            {body}\n").text
    )


@pytest.mark.parametrize(
    ("begin", "event", "after"),
    [
        (
            "due = 10",
            f"if n >= due:\n            {LOWERS}\n            due += 10",
            "if n * hvd.size() >= due:",
        ),
        (
            "due = 10",
            f"while n >= due:\n            {LOWERS}\n            due += 10",
            "while n * hvd.size() >= due:",
        ),
        (
            "due = 10",
            "while n >= due:\n            save()\n            due += 10",
            "while n * hvd.size() >= due:",
        ),
    ],
)
def test_a_bound_that_moves_on_beside_it_is_met_by_the_steps_of_all(
    begin: str, event: str, after: str
) -> None:
    text = plan_of(
        "def save(): model.save('m')\n" + TAPE + DATA + begin + "\n" + LOOP + f"        {event}\n"
    ).text
    assert after in text
    assert "due += 10\n" in text
    assert "** hvd.size()" not in text


@pytest.mark.parametrize(
    ("begin", "event"),
    [
        ("last = 0", f"if n - last >= 10:\n            {LOWERS}\n            last = n"),
        ("seen = 0", f"seen += 1\n        if seen == 10:\n            {LOWERS}\n            seen = 0"),
        ("left = 10", f"left -= 1\n        if left == 0:\n            {LOWERS}\n            left = 10"),
    ],
)
def test_what_comes_sooner_by_rounding_is_said(begin: str, event: str) -> None:
    plan = plan_of(TAPE + DATA + begin + "\n" + LOOP + f"        {event}\n")
    assert [n.message for n in plan.notes if "a little more often" in n.message]
    even = plan_of(
        TAPE + DATA + begin.replace("10", "800") + "\n" + LOOP + f"        {event.replace('10', '800')}\n"
    )
    assert not [n.message for n in even.notes if "a little more often" in n.message]


WITHIN = "        if n % {outer} == 0:\n            print(n)\n            {inner}\n"


@pytest.mark.parametrize(
    ("inner", "after"),
    [
        (
            f"if n % 8 == 0:\n                {LOWERS}",
            "for _ in range(n * hvd.size() // 8 - (n - 1) * hvd.size() // 8):",
        ),
        (f"if n % 16 == 0:\n                {LOWERS}", "if n * hvd.size() % 16 < hvd.size():"),
        (f"if n == 40:\n                {LOWERS}", "if n == -(-40 // hvd.size()):"),
        (f"if n == 40 and rate > 0.01:\n                {LOWERS}", "if n == -(-40 // hvd.size()) and"),
    ],
)
def test_what_comes_within_an_event_is_not_done_once_more_for_each_of_those(inner: str, after: str) -> None:
    """Every 4 steps, in it every 8: of 5 ranks' steps from 4 to 8 two are fourths, one is an eighth."""
    text = plan_of(TAPE + DATA + LOOP + WITHIN.format(outer=4, inner=inner)).text
    assert "if n * hvd.size() % 4 < hvd.size():" in text
    assert after in text


def test_what_goes_on_beside_one_within_it_is_said_to_come_once() -> None:
    inner = f"rate *= 0.99\n            if n % 8 == 0:\n                {LOWERS}"
    plan = plan_of(TAPE + DATA + LOOP + WITHIN.format(outer=4, inner=inner))
    assert "if n * hvd.size() % 4 < hvd.size():" in plan.text
    assert any("on more than 4 ranks" in c.message for c in plan.notes)


def test_a_least_value_after_it_begins_nothing_anew() -> None:
    least = f"{LOWERS}\n            if rate < 0.01:\n                rate = 0.01"
    assert become("i % 100 == 0", least) == f"        if {EXACT}:"
    begun = "mean = 0.0\n            for v in w: mean += v\n            print(mean)"
    assert OLD in become("i % 100 == 0", begun)


@pytest.mark.parametrize(
    "inner",
    [
        f"{LOWERS}\n            if n % 8 == 0:\n                model.save('m')",
        f"{LOWERS}\n            if rate < 0.01:\n                rate = 0.01",
    ],
)
def test_what_is_only_shown_within_an_event_may_come_several_times(inner: str) -> None:
    text = plan_of(TAPE + DATA + LOOP + WITHIN.format(outer=4, inner=inner)).text
    assert "for _ in range(n * hvd.size() // 4 - (n - 1) * hvd.size() // 4):" in text


def test_no_number_of_ranks_is_named_where_only_what_is_within_goes_on() -> None:
    inner = f"if n % 3000 == 0:\n                {LOWERS}"
    plan = plan_of(TAPE + DATA + LOOP + WITHIN.format(outer=20, inner=inner))
    assert not any("at most once" in c.message for c in plan.notes)


SHOWN = """\
mean = 0.0
for epoch in range(9):
    for i, (x, y) in enumerate(ds):
        loss = step(x, y)
        {test}
            {does}
"""
GUARDED = "if i * hvd.size() % 4 < hvd.size() and hvd.rank() == 0:"


@pytest.mark.parametrize(
    ("test", "does", "after"),
    [
        ("if i % 4 == 0:", "mean *= 0.9; print(mean)", GUARDED),
        ("if i % 4 == 0:", "mean = 0.9 * mean + 0.1 * float(loss)\n            print(mean)", GUARDED),
        (
            "if (i % 4 == 0):",
            "mean *= 0.9; print(mean)",
            "if (i * hvd.size() % 4 < hvd.size()) and hvd.rank() == 0:",
        ),
        (
            "if not i % 4:",
            "mean *= 0.9; print(mean)",
            "if not i * hvd.size() % 4 >= hvd.size() and hvd.rank() == 0:",
        ),
        ("if (i % 4 == 0):", "mean *= 0.9", "if (i * hvd.size() % 4 < hvd.size()):"),
        ("if i % 400 == 0:", "mean *= 0.9; print(mean)", GUARDED.replace("4", "400")),
        ("if i % 4 == 0:", "mean *= 0.9", "for _ in range(i * hvd.size() // 4 - (i - 1) * hvd.size() // 4):"),
    ],
)
def test_what_only_rank_0_shows_stays_a_test(test: str, does: str, after: str) -> None:
    """The rank was asked for in a test that had become a loop: `for _ in range(1) and hvd.rank() == 0:` is an error."""
    plan = plan_of(TAPE + DATA + SHOWN.format(test=test, does=does))
    assert f"        {after}\n" in plan.text
    assert any("on more than 4 ranks" in c.message for c in plan.notes) == (
        "400" not in test and "for _" not in after
    )
