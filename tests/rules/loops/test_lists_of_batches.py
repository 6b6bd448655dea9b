"""G4 and D3: lists of batches that a program fills, and functions that return them in an order of their own."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

FILLED = "made = []\nfor i in range(0, 320, 16):\n    made.append((a[i:i + 16], b[i:i + 16]))\n"
COMPREHENDED = "made = [(a[i:i + 16], b[i:i + 16]) for i in range(0, 320, 16)]\n"
LOOP = "for epoch in range(4):\n    for x, y in {}:\n        step(x, y)\n"


def inside(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_a_list_that_is_filled_before_the_loop_is_dealt_out() -> None:
    text = plan_of(TAPE + FILLED + LOOP.format("made")).text
    assert "for x, y in shard_batches(made):" in text


@pytest.mark.parametrize("made", [FILLED, COMPREHENDED])
def test_a_list_that_a_function_shuffles_is_in_one_order_on_all_ranks(made: str) -> None:
    function = f"import random\ndef batches(a, b):\n{inside(made)}    random.shuffle(made)\n    return made\n"
    text = plan_of(TAPE + function + LOOP.format("batches(a, b)")).text
    assert "for x, y in shard_batches(batches(a, b)):" in text
    assert "alike(random.shuffle)(made)" in text


def test_so_is_one_of_an_object_that_a_method_is_handed() -> None:
    corpus = (
        "import random\nclass Corpus:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "    def batches(self, size):\n        a, b = self.a, self.b\n"
        f"{inside(inside(FILLED))}        random.shuffle(made)\n        return made\n"
    )
    trainer = f"class Trainer:\n    def fit(self, data):\n{inside(inside(LOOP.format('data.batches(16)')))}"
    text = plan_of(TAPE + corpus + trainer + "Trainer().fit(Corpus(a, b))\n").text
    assert "for x, y in shard_batches(data.batches(16)):" in text
    assert "alike(random.shuffle)(made)" in text


def test_rates_that_are_tried_are_no_batches() -> None:
    text = plan_of(TAPE + COMPREHENDED + "for rate in [0.1, 0.2]:\n" + inside(LOOP.format("made"))).text
    assert "for rate in [0.1, 0.2]:" in text


def test_a_seeded_order_stays_as_it_is() -> None:
    function = (
        "import random\nrandom.seed(3)\n"
        f"def batches(a, b):\n{inside(COMPREHENDED)}    random.shuffle(made)\n    return made\n"
    )
    text = plan_of(TAPE + function + LOOP.format("batches(a, b)")).text
    assert "for x, y in shard_batches(batches(a, b)):" in text
    assert "alike" not in text


ITERATED = """\
import random
from tqdm import tqdm
class Rows:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __iter__(self):
        order = list(range(len(self.x)))
        random.shuffle(order)
        for i in range(0, len(order), 16):
            yield self.x[order[i:i + 16]], self.y[order[i:i + 16]]
rows, others = Rows(a, b), Rows(c, d)
"""


@pytest.mark.parametrize(
    "head",
    [
        "for x, y in rows:",
        "for i, (x, y) in enumerate(rows):",
        "for i, (x, y) in enumerate(tqdm(rows), 1):",
        "for (x, y), k in zip(rows, range(9)):",
    ],
)
def test_objects_that_loops_go_through_shuffle_alike(head: str) -> None:
    loop = f"for epoch in range(4):\n    {head}\n        step(x, y)\n    print(sum(f(x, y) for x, y in others))\n"
    plan = plan_of(TAPE + ITERATED + loop)
    assert "alike(random.shuffle)(order)" in plan.text
    assert not [n for n in plan.notes if "never reach" in n.message]


def test_where_only_some_ranks_go_through_one_it_is_said() -> None:
    loop = "for epoch in range(4):\n    for x, y in rows:\n        step(x, y)\n"
    loop += "    if random.random() < 0.5:\n        print([f(x, y) for x, y in others])\n"
    plan = plan_of(TAPE + ITERATED + loop)
    assert "alike(random.shuffle)(order)" not in plan.text
    assert [n for n in plan.notes if "never reach" in n.message] or not all(c.sure for c in plan.changes)
