"""D3: rows that are gone through in an order of their own making."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import check, plan_of


@pytest.mark.parametrize(
    ("shuffled", "shared"),
    [
        ("p = np.random.permutation(n)", "p = hvd.broadcast_object(np.random.permutation(n))"),
        ("p = np.random.permutation(len(a))", "p = hvd.broadcast_object(np.random.permutation(len(a)))"),
        ("np.random.shuffle(p)", "np.random.shuffle(p)\n    p = hvd.broadcast_object(p)"),
    ],
)
def test_rows_are_gone_through_in_one_order(shuffled: str, shared: str) -> None:
    """An order is a few numbers, which rank 0 sends; rows stay where they are."""
    head, epochs = TAPE + "n = 99\np = np.arange(n)\n", "for epoch in range(9):\n"
    loop = "    for i in range(0, n, 3):\n        step(a[p[i : i + 3]], b)\n"
    plan = check("D3", head, f"{epochs}    {shuffled}\n", f"{epochs}    {shared}\n", loop)
    assert not plan.notes


def test_an_order_that_one_rank_alone_makes_is_only_reported() -> None:
    text = (
        TAPE + "n = 99\np = np.arange(n)\nfor epoch in range(9):\n    if random.random() < 0.5:\n"
        "        np.random.shuffle(p)\n    for i in range(0, n, 3):\n        step(a[p[i : i + 3]], b)\n"
    )
    plan = plan_of("import random\n" + text)
    assert not [c for c in plan.changes if c.rule == "D3"]
    assert any("some rows are seen twice" in n.message for n in plan.notes)
