"""G4: numbers that a generator of the program yields beside each batch differ between the ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from .test_own_numbers import HEAD

BY_RANGE = "def batches():\n    for i in range(320):\n        yield i, X[i * B : (i + 1) * B], Y[i * B : (i + 1) * B]\n"
BY_COUNT = "def batches():\n    i = 0\n    while i < 320:\n        yield i, X[i * B :][:B], Y[i * B :][:B]\n        i += 1\n"
BY_ENUMERATE = "def batches():\n    for i, (x, y) in enumerate(data):\n        yield i, x, y\n"
BY_EPOCH = "def batches():\n    for epoch in range(4):\n        for i, (x, y) in enumerate(data):\n            yield i, x, y\n"
DATA = "data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)\n"
LOOP = "for step, x, y in batches():\n    loss = train(x, y)\n"


def text_of(generator: str, after: str) -> str:
    plan = plan_of(HEAD + DATA + generator + LOOP + after)
    assert all(change.sure for change in plan.changes)
    return plan.text


@pytest.mark.parametrize("generator", [BY_EPOCH])
@pytest.mark.parametrize(
    "test", ["step % 100 == 0", "(step + 1) % 100 == 0", "step == 200", "step % 100 == 0 and step > 0"]
)
def test_what_one_rank_comes_to_all_do(generator: str, test: str) -> None:
    text = text_of(generator, f"    if {test}:\n        model.save_weights('w.h5')\n")
    assert (
        f"    if any_rank({test}):\n        if hvd.rank() == 0:\n            model.save_weights('w.h5')\n"
        in text
    )


@pytest.mark.parametrize("generator", [BY_RANGE, BY_COUNT, BY_ENUMERATE])
def test_what_ranks_know_of_each_others_numbers_is_not_asked(generator: str) -> None:
    text = text_of(generator, "    if step % 100 == 0 and step > 0:\n        model.save_weights('w.h5')\n")
    assert "any_rank" not in text
    assert "% 100 < hvd.size() and step - hvd.rank() > 0" in text


def test_outputs_beside_it_are_not_put_under_the_same_test_of_the_rank() -> None:
    after = "    if step % 100 == 0:\n        model.save_weights('w.h5')\n    if step % 10 == 0:\n        np.save('x.npy', X)\n"
    text = text_of(BY_EPOCH, after)
    assert "    if any_rank(step % 100 == 0):\n        if hvd.rank() == 0:\n" in text
    assert "    if any_rank(step % 10 == 0):\n        if hvd.rank() == 0:\n" in text


@pytest.mark.parametrize(
    ("generator", "test"),
    [
        (BY_RANGE, "len(x) == 4"),
        (BY_RANGE.replace("yield i,", "yield 7,"), "step == 7"),
        ("def batches():\n    for x, y in data:\n        yield len(x), x, y\n", "step == 8"),
    ],
)
def test_other_things_that_are_yielded(generator: str, test: str) -> None:
    assert "any_rank" not in text_of(generator, f"    if {test}:\n        model.save_weights('w.h5')\n")
