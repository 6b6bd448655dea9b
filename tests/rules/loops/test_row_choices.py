"""G4: a test that says by which of several the rows of a turn are selected asks the rank's own number."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from .test_own_numbers import COUNTED, FOR, HEAD

STEPS = "    train(rows, values)\n" + COUNTED
LAST = "rows, values = X[i * B:], Y[i * B:]\n"
PART = "rows, values = X[i * B:(i + 1) * B], Y[i * B:(i + 1) * B]\n"
HALF = "rows, values = X[i * B:i * B + 4], Y[i * B:i * B + 4]\n"


@pytest.mark.parametrize(
    "tests",
    [
        ["if i == 199:", "elif i < 199:"],
        ["if i == 199:", "elif i < 100:", "else:"],
        ["if i < 50:", "elif i < 100:", "elif i < 200:"],
        ["if small:", "elif i < 199:", "else:"],
    ],
)
def test_all_tests_of_a_chain(tests: list[str]) -> None:
    arms = [f"    {test}\n        {part}" for test, part in zip(tests, [LAST, PART, HALF], strict=False)]
    text = plan_of(HEAD + "small = False\n" + FOR + "".join(arms) + STEPS).text
    for test in tests:
        assert f"    {test.replace('i ==', 'own_i ==').replace('i <', 'own_i <')}\n" in text
    assert "X[own_i * B:], Y[own_i * B:]" in text
    assert "    if i % max(1, 50 // hvd.size()) == 0 and hvd.rank() == 0:\n" in text


@pytest.mark.parametrize(
    "chain",
    [
        # Rows that are held for later turns: which are held goes by the turn that all ranks share.
        f"    if i % 10 == 0:\n        {LAST}    elif i % 10 == 5:\n        {PART}",
        # An arm that does something else.
        f"    if i == 199:\n        {LAST}        opt.learning_rate = 0.01\n    elif i < 199:\n        {PART}",
        f"    if i == 199:\n        {LAST}    elif i < 199:\n        {PART}    else:\n        break\n",
        # Other names.
        f"    if i == 199:\n        {LAST}    elif i < 199:\n        rows, others = X[i * B:], Y[i * B:]\n",
    ],
)
def test_a_chain_that_does_more_than_to_select_counts(chain: str) -> None:
    text = plan_of(HEAD + "rows, values = X[:B], Y[:B]\nothers = 0\n" + FOR + chain + STEPS).text
    assert "own_i == 199" not in text
    assert "own_i % 10" not in text


FUNCTION = """\
def batch(i):
    if i == 199:
        return X[i * B:], Y[i * B:]
{rest}
for i in range(200):
    rows, values = batch(i)
"""
WHOLE = "return X[i * B:(i + 1) * B], Y[i * B:(i + 1) * B]"


@pytest.mark.parametrize(
    "rest",
    [
        f"    {WHOLE}",
        f"    else:\n        {WHOLE}",
        f"    elif i < 100:\n        return X[i * B:i * B + 4], Y[i * B:i * B + 4]\n    {WHOLE}",
        "    end = (i + 1) * B\n    return X[i * B:end], Y[i * B:end]",
    ],
)
def test_a_function_that_gives_back_one_of_several(rest: str) -> None:
    """It is told the rank's own number, and no other beside it."""
    text = plan_of(HEAD + FUNCTION.format(rest=rest) + STEPS).text
    assert "    rows, values = batch(own_i)\n" in text
    assert "def batch(i):\n    if i == 199:\n        return X[i * B:], Y[i * B:]\n" in text


def test_a_function_that_does_something_at_a_turn_is_told_both_numbers() -> None:
    """Near miss: what it does besides goes by the turn."""
    text = plan_of(
        HEAD
        + "def batch(i):\n    if i == 199:\n        model.save_weights('w')\n        return X[i * B:], Y[i * B:]\n"
        + f"    {WHOLE}\n"
        + "for i in range(200):\n    rows, values = batch(i)\n"
        + STEPS
    ).text
    assert "    rows, values = batch(i, own_i)\n" in text
    assert "    if i == 199" in text
