"""C7: a bar that goes on with the steps of a loop is as long as a rank's steps."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = (
    "from tqdm import tqdm\nimport tqdm as bars\n"
    + TAPE
    + "a, b = np.ones((640, 3)), np.ones((640, 1))\nn = len(a) // 16\n"
    "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(16)\n"
)
BODY = "    step(x, y)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"for x, y in tqdm(ds, total=n):\n{BODY}", "total=n // hvd.size()"),
        (f"for x, y in bars.tqdm(ds, desc='train', total=640 // 16):\n{BODY}", "total=640 // 16 // hvd.size()"),
        (f"for x, y in tqdm(ds, total=n + 1):\n{BODY}", "total=(n + 1) // hvd.size()"),
        (f"for i, (x, y) in enumerate(tqdm(ds, total=n)):\n{BODY}", "total=n // hvd.size()"),
        (f"for i, (x, y) in tqdm(enumerate(ds), total=n):\n{BODY}", "total=n // hvd.size()"),
        (f"for e in range(3):\n    for x, y in tqdm(ds, total=n):\n    {BODY}", "total=n // hvd.size()"),
        (f"bar = tqdm(total=n)\nfor x, y in ds:\n{BODY}    bar.update()\n", "total=n // hvd.size()"),
        (f"with tqdm(total=len(a)) as bar:\n    for x, y in ds:\n    {BODY}        bar.update(len(x))\n",
         "total=len(a) // hvd.size()"),
        (f"bar = tqdm(total=3 * n)\nfor e in range(3):\n    for x, y in ds:\n    {BODY}        bar.update(1)\n",
         "total=3 * n // hvd.size()"),
    ],
)  # fmt: skip
def test_as_long_as_a_ranks_steps(before: str, after: str) -> None:
    plan = plan_of(HEAD + before)
    assert f"{after}, disable=hvd.rank() != 0)" in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize(
    "text",
    [
        f"for e in tqdm(range(3), total=3):\n    for x, y in ds:\n    {BODY}",  # of passes
        f"bar = tqdm(total=3)\nfor e in range(3):\n    for x, y in ds:\n    {BODY}    bar.update(1)\n",
        f"bar = tqdm(total=n)\nfor x, y in ds:\n{BODY}    bar.update(1)\nbar.update(2)\n",  # moved elsewhere, too
        f"for x, y in ds:\n{BODY}for row in tqdm(a, total=n):\n    print(row)\n",  # no steps
        f"for x, y in tqdm(ds):\n{BODY}",
    ],
)
def test_others_stay_as_long(text: str) -> None:
    plan = plan_of(HEAD + text)
    assert "disable=hvd.rank() != 0" in plan.text
    assert " // hvd.size()" not in "".join(line for line in plan.text.splitlines() if "tqdm(" in line)


def test_the_length_of_what_is_divided_is_a_ranks_already() -> None:
    plan = plan_of(HEAD.replace("n = len(a) // 16\n", "") + f"for x, y in tqdm(ds, total=len(ds)):\n{BODY}")
    assert "tqdm(ds, total=len(ds), disable=hvd.rank() != 0)" in plan.text
