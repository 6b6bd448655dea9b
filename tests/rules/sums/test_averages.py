"""G4, S5: sums over the steps of a divided loop stay averages."""

from __future__ import annotations

import pytest

from ..dividing import TAPE, check, unchanged
from ..pairs import plan_of

N = "max(1, {} // hvd.size())".format


@pytest.mark.parametrize("use", ["total / len(a)", "total / n_rows"])
def test_after_a_loop_over_examples(use: str) -> None:
    divided = use.replace("len(a)", N("len(a)")).replace("n_rows", N("n_rows"))
    check(
        TAPE + "n_rows = len(a)\n",
        f"total = 0\nfor x, y in zip(a, b):\n    total += step(x, y)\nmean = {use}\n",
        f"total = 0\nfor x, y in shard_batches(zip(a, b)):\n    total += step(x, y)\nmean = {divided}\n",
    )


def test_a_number_of_steps_that_is_a_divisor_is_divided_where_it_is_made() -> None:
    check(
        TAPE,
        "n = int(len(a) / 32)\nmean = 0\nfor k in range(n):\n    mean += step(*draw(32)) / n\n",
        "n = max(1, int(len(a) / 32) // hvd.size())\nmean = 0\nfor k in range(n):\n"
        "    mean += step(*draw(32)) / n\n",
    )


def test_a_number_of_examples_behind_a_number_of_steps() -> None:
    check(
        TAPE,
        "n = len(a) // 32\nright = 0\nfor i in range(n):\n    right += step(a[i], b[i])\nprint(right / len(a))\n",
        "n = len(a) // 32\nright = 0\n"
        "for i in shard(range(n)):\n"
        "    right += step(a[i], b[i])\n"
        f"print(right / {N('len(a)')})\n",
    )


def test_ranges_over_examples() -> None:
    check(
        TAPE,
        "total = 0\nfor i in range(0, n, 32):\n    total += step(a[i : i + 32], b)\ntotal /= n\n",
        f"total = 0\nfor i in shard(range(0, n, 32)):\n    total += step(a[i : i + 32], b)\ntotal /= {N('n')}\n",
    )


@pytest.mark.parametrize("rows", ["len(b)", "b.shape[0]"])
def test_the_length_of_another_array_that_rows_are_selected_of(rows: str) -> None:
    check(
        TAPE,
        f"hits = 0\nfor i in range(0, len(a), 32):\n    hits += step(a[i : i + 32], b[i : i + 32])\nhits = hits / {rows}\n",
        "hits = 0\nfor i in shard(range(0, len(a), 32)):\n    hits += step(a[i : i + 32], b[i : i + 32])\n"
        f"hits = hits / {N(rows)}\n",
    )


def test_the_length_of_what_the_loop_selects_nothing_of_stays() -> None:
    """Near miss: `c` has rows of its own."""
    after = plan_of(
        TAPE
        + "hits = 0\nfor i in range(0, len(a), 32):\n    hits += step(a[i : i + 32], b[i : i + 32])\nprint(hits / len(c))\n"
    ).text
    assert "hits / len(c)" in after


@pytest.mark.parametrize("sum_", ["total = total + step(x, y)", "total = step(x, y) + total"])
def test_sums_that_are_spelt_out(sum_: str) -> None:
    check(
        TAPE,
        f"total = 0\nfor x, y in zip(a, b):\n    {sum_}\nmean = total / len(a)\n",
        f"total = 0\nfor x, y in shard_batches(zip(a, b)):\n    {sum_}\nmean = total / {N('len(a)')}\n",
    )


def test_a_while_over_batches() -> None:
    before = (
        "total = 0\ni = 0\nwhile i < n:\n    total += step(a[i : i + 1], b)\n    i += 1\nprint(total / n)\n"
    )
    after = plan_of(TAPE + before).text
    assert f"print(total / {N('n')})" in after


@pytest.mark.parametrize("batches", ["n // 32", "n / 32", "int(n / 32)", "int(np.ceil(n / 32))"])
def test_ranges_over_examples_in_batches(batches: str) -> None:
    divided = f"(max(1, {batches} // hvd.size()))"
    check(
        TAPE,
        f"total = 0\nfor i in range(0, n, 32):\n    total += step(a[i : i + 32], b)\ntotal /= ({batches})\n",
        f"total = 0\nfor i in shard(range(0, n, 32)):\n    total += step(a[i : i + 32], b)\ntotal /= {divided}\n",
    )


def test_ranges_over_examples_in_other_batches_stay() -> None:
    check(
        TAPE,
        "total = 0\nfor i in range(0, n, 32):\n    total += step(a[i : i + 32], b)\ntotal /= (n // 16)\n",
        "total = 0\nfor i in shard(range(0, n, 32)):\n    total += step(a[i : i + 32], b)\ntotal /= (n // 16)\n",
    )


BATCHES = """\
def batches(x, y, n):
    order = np.random.permutation(len(x))
    for i in range(0, len(x), n):
        yield x[order[i : i + n]], y[order[i : i + n]]
total = 0
for x, y in {made}:
    total += step(x, y) * len(x)
{then}
"""


@pytest.mark.parametrize("made", ["batches(a, b, 32)", "enumerate(batches(a, y=b, n=32))"])
@pytest.mark.parametrize("rows", ["len(a)", "a.shape[0]", "len(a) // 32", "n_rows"])
def test_a_generator_of_batches_of_some_rows(made: str, rows: str) -> None:
    source = "n_rows = len(a)\n" + BATCHES.format(made=made, then=f"print(total / ({rows}))")
    assert f"print(total / (max(1, {rows} // hvd.size())))" in plan_of(TAPE + source).text


@pytest.mark.parametrize("rows", ["len(a)", "len(a) // 8"])
def test_parts_that_an_order_is_split_into(rows: str) -> None:
    loop = "for k in np.array_split(np.random.permutation(len(a)), len(a) // 8):\n    total += step(a[k], b[k]) * len(k)\n"
    text = plan_of(f"{TAPE}total = 0\n{loop}print(total / ({rows}))\n").text
    assert f"print(total / (max(1, {rows} // hvd.size())))" in text


@pytest.mark.parametrize(
    "then",
    [
        "print(total / len(c))",  # of other rows
        "print(total / 32)",
        "total = 0\nfor x, y in batches(a, b, 32):\n    total += measure(x, y)\nprint(total / len(a))",
    ],
)
def test_what_is_no_mean_over_a_generator_s_rows_stays(then: str) -> None:
    source = BATCHES.format(made="batches(a, b, 32)", then=then)
    assert then.splitlines()[-1] in plan_of(TAPE + source).text


def test_what_is_no_sum_over_the_loop_stays() -> None:
    for after in ("share = other / len(a)", "print(len(a) / total)", "total / 7"):
        check(
            TAPE,
            f"total = 0\nfor x in a:\n    total += step(x, 0)\n{after}\n",
            f"total = 0\nfor x in shard_batches(a):\n    total += step(x, 0)\n{after}\n",
        )


def test_loops_that_are_not_divided_keep_their_averages() -> None:
    unchanged(TAPE, "total = 0\nfor x in a:\n    total += model(x)\nprint(total / len(a))\n")


# ---------------------------------------------------------------------- divided by the turns so far

TURNS = "for i in {}:\n    total += step(a[i], b)\n    if i % 7 == 0:\n        print(i)\nprint({})\n"


def test_an_average_over_the_turns_so_far_is_of_a_ranks_own() -> None:
    """The last number of `rounds` is that of the last turn alone."""
    plan = plan_of(TAPE + "n, total = 90, 0.0\n" + TURNS.format("range(n)", "total / (i + 1)"))
    assert "for i, own_i in enumerate(shard(range(n))):\n    total += step(a[own_i], b)\n" in plan.text
    assert "total / (i + 1)" in plan.text
    plain = plan_of(TAPE + "n, total = 90, 0.0\n" + TURNS.format("range(n)", "total / n"))
    assert "for i, own_i in rounds(range(n)):" in plain.text


def test_an_average_after_a_loop_that_counts_nothing_else() -> None:
    loop = "for i in range(n):\n    total += step(a[i], b)\nprint(total / (i + 1))\n"
    assert "for i, own_i in enumerate(shard(range(n))):" in plan_of(TAPE + "n, total = 90, 0.0\n" + loop).text


def test_where_the_last_turn_is_asked_for_it_is_said() -> None:
    loop = TURNS.format("range(n)", "total / (i + 1)").replace("i % 7 == 0", "i == n - 1")
    plan = plan_of(TAPE + "n, total = 90, 0.0\n" + loop)
    assert "in rounds(range(n)):" in plan.text
    assert [n for n in plan.notes if "that of the last of all turns" in n.message]


def test_an_average_over_the_turns_of_a_bar() -> None:
    loop = "from tqdm import trange\nbar = trange(n)\nfor i in bar:\n    total += step(a[i], b)\n"
    plan = plan_of(TAPE + "n, total = 90, 0.0\n" + loop + "    bar.set_postfix(loss=total / (i + 1))\n")
    assert "total / ((i // hvd.size()) + 1)" in plan.text


@pytest.mark.parametrize("divisor", ["n * 8", "float(n * 8)", "8 * n"])
def test_a_factor_of_the_divisor(divisor: str) -> None:
    loop = "for i in range({}):\n    total += step(*draw())\nprint(total / ({}))\n"
    after = loop.format(N("n"), divisor.replace("n * 8", f"{N('n')} * 8").replace("8 * n", f"8 * {N('n')}"))
    check(TAPE + "from feeds import draw\ntotal = 0.0\n", loop.format("n", divisor), after)


SUMMED = "for e in range(9):\n    for i in range(30):\n        {sum} += step(a[i:i + 1], b[i:i + 1])\n{after}"


@pytest.mark.parametrize(
    ("sum_", "after"),
    [
        ("h['loss'][e]", "    h['loss'][e] /= {n}\n"),
        ("h['loss'][e]", "    print(h['loss'][e] / {n})\n"),
        ("h['loss'][e]", "    for key in ['loss']:\n        h[key][e] /= {n}\n"),
        ("losses[-1]", "    losses[-1] /= {n}\n"),
        ("sums[0]", "    sums /= {n}\n"),
        ("sums[0]", "    print(sums / {n})\n"),
        ("run.total", "    print(run.total / {n})\n"),
        ("h['loss'][e]", "    h['best'] = h['loss'][e] / {n}\n"),
    ],
)
def test_sums_in_fields_and_items(sum_: str, after: str) -> None:
    text = plan_of(TAPE + SUMMED.format(sum=sum_, after=after.format(n=30))).text
    assert after.format(n="max(1, 30 // hvd.size())") in text


@pytest.mark.parametrize(
    ("sum_", "after"),
    [
        ("h['loss'][e]", "    h['val'][e] /= 30\n"),  # another item
        ("h['loss'][e]", "    for key in ['loss', 'val']:\n        h[key][e] /= 30\n"),  # others with it
        ("h['loss'][e]", "    for key in names:\n        h[key][e] /= 30\n"),  # which can't be seen
        ("h['loss'][e]", "    h['loss'][e] /= 31\n"),  # another number
        (
            "h['loss'][e]",
            "    h['loss'][e] = 0\n    for j in range(30):\n        h['loss'][e] += test(j)\n    h['loss'][e] /= 30\n",
        ),  # a later sum of that name, over all rows
        ("run.total", "    run.total = measure()\n    keep(run.total / 30)\n"),
        ("run.total", "    print(run.other / 30)\n"),
        ("sums[0]", "    print(other / 30)\n"),
    ],
)
def test_what_is_no_such_sum_stays(sum_: str, after: str) -> None:
    text = plan_of(TAPE + SUMMED.format(sum=sum_, after=after)).text
    assert after in text


IN_BATCHES = (
    "a = np.load('a.npy')\nsize, k = 16, 9\nn = len(a) // size\ntotal = 0\n"
    "for i in {}:\n    total += step(a[i : i + size], b)\nmean = total / {}\n"
)


@pytest.mark.parametrize(
    ("numbers", "divisor"),
    [
        ("range(0, len(a) // size * size, size)", "(len(a) // size)"),
        ("range(0, size * (len(a) // size), size)", "(len(a) // 16)"),
        ("range(0, n * size, size)", "n"),
        ("range(0, n * size, size)", "int(a.shape[0] / size)"),
        ("range(0, len(a) - size + 1, size)", "(len(a) // size)"),
        ("range(0, len(a) - len(a) % size, size)", "n"),
        ("range(0, len(a), size)", "n"),
        ("range(a.shape[0] // size)", "(len(a) / size)"),
        ("range(n)", "(len(a) // size)"),
    ],
)
def test_a_number_of_batches_that_is_written_otherwise(numbers: str, divisor: str) -> None:
    text = plan_of(TAPE + IN_BATCHES.format(numbers, divisor)).text
    assert f"mean = total / {divisor}\n" not in text
    assert "mean = total / " in text
    assert " // hvd.size())" in text.rsplit("mean = total / ", 1)[1]


@pytest.mark.parametrize(
    ("numbers", "divisor"),
    [
        ("range(0, len(a) // size * size, size)", "(len(a) // k)"),  # other batches
        ("range(0, len(a) // size * size, size)", "(len(b) // size)"),  # of other rows
        ("range(0, len(a) - k + 1, size)", "n"),
        ("range(0, len(a) - len(b) % size, size)", "n"),
        ("range(0, n * k, size)", "n"),
        ("range(8, n * size, size)", "n"),
    ],
)
def test_another_number_of_batches_stays(numbers: str, divisor: str) -> None:
    assert f"mean = total / {divisor}\n" in plan_of(TAPE + IN_BATCHES.format(numbers, divisor)).text


def test_a_number_of_batches_that_is_set_twice_stays() -> None:
    again = IN_BATCHES.format("range(0, len(a) // size * size, size)", "n").replace(
        "total = 0", "total = 0\nif b:\n    n = 7"
    )
    assert "mean = total / n\n" in plan_of(TAPE + again).text


RATE = """\
import math
total = 9 * (len(a) // 4)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
count, right, loss = 0, 0, 0.0
for epoch in range(9):
    for x, y in ds:
        {}
        loss += step(x, y)
        right += 1 if loss < 1 else 0
        count += 1
"""


@pytest.mark.parametrize(
    ("rate", "after"),
    [
        ("0.1 * count / total", "0.1 * (count * hvd.size()) / total"),
        ("math.cos(math.pi * count / total)", "math.cos(math.pi * (count * hvd.size()) / total)"),
        ("0.1 * (total - count) / total", "0.1 * (total - count * hvd.size()) / total"),
        ("1 - float(count) / float(total)", "(1 - float(count) * hvd.size() / float(total))"),
        ("0.1 * min(1.0, count / total)", "0.1 * min(1.0, count * hvd.size() / total)"),
    ],
)
def test_a_count_of_steps_is_no_sum(rate: str, after: str) -> None:
    """Were it averaged over the steps of a rank as well, the rate would go through its course size() times."""
    plan = plan_of(TAPE + RATE.format(f"opt.learning_rate.assign({rate})"))
    assert f"opt.learning_rate.assign({after}" in plan.text
    assert "total // hvd.size()" not in plan.text


@pytest.mark.parametrize(
    "told", ["100 * count / total", "loss / total", "0.5 * (loss / total)", "right / total"]
)
def test_what_is_shown_of_a_count_and_real_sums_are_averaged(told: str) -> None:
    plan = plan_of(TAPE + RATE.format("pass") + f"print({told})\n")
    assert f"print({told.replace('total', N('total'))})" in plan.text


@pytest.mark.parametrize("shown", ["bar.set_description(str({}))", "log.info('%s', {})", "f.write(str({}))"])
def test_what_is_shown_otherwise_is_averaged_as_well(shown: str) -> None:
    after = plan_of(TAPE + RATE.format(shown.format("count / total"))).text
    assert shown.format(f"count / {N('total')}") in after


@pytest.mark.parametrize("use", ["total / feed.steps", "total / m", "total / n"])
def test_a_number_of_steps_that_a_field_holds_under_a_name(use: str) -> None:
    divisor = use.removeprefix("total / ")
    check(
        TAPE + "n = feed.steps\nm = feed.steps\n",
        f"total = 0\nfor i in range(n):\n    total += step(a[i], b[i])\nmean = {use}\n",
        f"total = 0\nfor i in shard(range(n)):\n    total += step(a[i], b[i])\nmean = total / {N(divisor)}\n",
    )


def test_a_field_that_is_no_number_of_steps_of_this_loop_stays() -> None:
    after = plan_of(
        TAPE + "n = feed.steps\ntotal = 0\nfor i in range(n):\n    total += step(a[i], b[i])\n"
        "mean = total / feed.classes\n"
    ).text
    assert "mean = total / feed.classes\n" in after
