"""D1, G4: loops over a progress bar, or another wrapper, that has a name of its own."""

from __future__ import annotations

import pytest

from ..dividing import TAPE, check, divide
from ..pairs import plan_of

HEAD = TAPE + "from tqdm import tqdm, trange\nfrom mine import look\n"
DATASET = "ds = {}.shuffle(99).batch(8)\n"
SLICES = "tf.data.Dataset.from_tensor_slices((a, b))"
SHARED = f"shard_dataset({SLICES})"
OF_NAME = "ds.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(ds) // hvd.size()))"


def test_a_list_of_batches_is_no_dataset() -> None:
    """It has no `shard`; the order that it was filled in has to be the same on all ranks."""
    rest = "batches = list(ds)\nlook(batches)\nfor x, y in {}:\n    step(x, y)\n"
    check(
        HEAD,
        DATASET.format(SLICES) + rest.format("batches"),
        DATASET.format(SLICES).replace("99", "99, seed=0 if hvd.size() > 1 else None")
        + rest.format("shard_batches(batches)"),
    )


def test_a_bar_that_goes_elsewhere_is_not_divided_as_if_it_were_a_dataset() -> None:
    loop = (
        "def epoch(bar):\n    for x, y in bar:\n        step(x, y)\nfor e in range(3):\n    epoch(tqdm({}))\n"
    )
    text = divide(HEAD + DATASET.format(SLICES) + "look(ds)\n" + loop.format("ds")).text
    assert "shard_dataset(bar)" not in text


def test_one_that_is_gone_through_in_part_before_is_dealt_out_here() -> None:
    rest = "it = enumerate(rows)\nnext(it)\nfor i, (x, y) in {}:\n    step(x, y)\n"
    check(HEAD, rest.format("it"), rest.format("shard_batches(it)"))


@pytest.mark.parametrize(
    "loop",
    [
        "bar = tqdm(ds)\nfor x, y in bar:\n    step(x, y)\n    bar.set_postfix(loss=1)\n",
        "bar = tqdm(enumerate(ds), total=9)\nfor i, (x, y) in bar:\n    step(x, y)\n    bar.set_description('a')\n",
        "with tqdm(ds, unit='batch') as bar:\n    for x, y in bar:\n        step(x, y)\n        bar.set_postfix(loss=1)\n",
    ],
)
def test_what_a_bar_goes_through_is_divided(loop: str) -> None:
    check(HEAD, DATASET.format(SLICES) + loop, DATASET.format(SHARED) + loop)
    # what is evaluated too is divided inside the bar
    evaluated = DATASET.format(SLICES) + "model.evaluate(ds)\n"
    seeded = evaluated.replace("99", "99, seed=0 if hvd.size() > 1 else None")
    inner = "enumerate(ds)" if "enumerate" in loop else "ds"
    within = loop.replace(inner, inner.replace("ds", OF_NAME))
    check(HEAD, evaluated + loop, seeded + within)


@pytest.mark.parametrize(
    ("bar", "divided"),
    [
        ("trange(500)", "trange(500 // hvd.size())"),
        ("tqdm(range(500), desc='a')", "tqdm(range(500 // hvd.size()), desc='a')"),
    ],
)
def test_the_turns_of_a_bar_are_divided_where_it_is_opened(bar: str, divided: str) -> None:
    loop = "with {} as bar:\n    for i in bar:\n        step(*draw())\n        bar.set_postfix(a=1)\n"
    check(HEAD, loop.format(bar), loop.format(divided))


def test_bars_of_other_libraries_are_looked_through() -> None:
    head = HEAD + "from rich.progress import track\nimport progressbar\n"
    loop = "for i in {}(range({})):\n    step(*draw())\n"
    for bar in ("track", "progressbar.progressbar"):
        check(head, loop.format(bar, 500), loop.format(bar, "500 // hvd.size()"))


def test_datasets_that_are_zipped_and_shuffled_before_are_shuffled_alike() -> None:
    seeds = [f", seed={n} if hvd.size() > 1 else None" for n in range(3)]  # or both came in one order
    head = HEAD + "one, other = mine()\n"
    made = "a = tf.data.Dataset.from_tensor_slices(one).shuffle(99{}).batch(1)\n"
    made += "b = tf.data.Dataset.from_tensor_slices(other).shuffle(99{}).batch(1)\nlook(a)\nlook(b)\n"
    loop = "for x, y in {}:\n    step(x, y)\n"
    for zipped in ("tf.data.Dataset.zip((a, b))", "tf.data.Dataset.zip({'x': a, 'y': (b,)})"):
        check(
            head,
            made.format("", "") + loop.format(zipped),
            made.format(*seeds[:2]) + loop.format(f"shard_dataset({zipped})"),
        )
    drawn = "tf.data.Dataset.sample_from_datasets([a, b]"
    check(
        head,
        made.format("", "") + loop.format(f"{drawn})"),
        made.format(*seeds[:2]) + loop.format(f"shard_steps({drawn}{seeds[2]}))"),
    )


def test_turns_that_a_tensor_counts_are_divided_as_one() -> None:
    """`max` can't compare a tensor in a traced function."""
    head = HEAD.replace(
        "def step",
        "@tf.function\ndef epoch(steps):\n    for i in tf.range({}):\n        step(*draw())\ndef step",
    )
    call = "for e in range(3):\n    epoch(tf.constant(20))\n"
    assert "tf.range(tf.maximum(1, steps // hvd.size()))" in divide(head.format("steps") + call).text
    assert "tf.range(1000 // hvd.size())" in divide(head.format("1000") + call).text


@pytest.mark.parametrize(
    "head",
    [
        "for i, (x, y) in tqdm(enumerate(ds)):",
        "for i, (x, y) in enumerate(tqdm(ds)):",
        "for i, (x, y) in tqdm(enumerate(tqdm(ds))):",
        "bar = tqdm(enumerate(ds), total=9)\nfor i, (x, y) in bar:",
    ],
)
def test_a_number_in_a_bar_counts_the_turns(head: str) -> None:
    """`enumerate` was not seen behind the bar: what came every 100 steps came every 100 of a rank's own."""
    loop = f"{DATASET.format(SLICES)}{head}\n    step(x, y)\n    if i % 100 == 0:\n        look(i)\n"
    assert "if i % max(1, 100 // hvd.size()) == 0:" in plan_of(HEAD + loop).text


def test_a_number_that_a_bar_shows_is_the_same_on_all_ranks() -> None:
    loop = "for i, (x, y) in tqdm(enumerate(ds)):\n    step(x, y)\n    if i >= 500:\n        break\n"
    plan = plan_of(HEAD + DATASET.format(SLICES) + loop)
    assert all(change.sure for change in plan.changes)
