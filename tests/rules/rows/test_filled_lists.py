"""D2: lists that are filled with arrays, one by one, before `fit` gets them."""

from __future__ import annotations

import pytest

from ..dividing import KERAS, divide

X = KERAS + "x, z, y = np.load('x.npy'), np.load('z.npy'), np.load('y.npy')\n"
BY_ARRAY = "[shard(part) for part in ins]"


@pytest.mark.parametrize(
    "filled",
    [
        "ins = []\nins.append(x)\n",
        "ins = []\nins.append(x[:, 1:])\nif wide:\n    ins.append(z)\n",
        "def inputs(one):\n    made = []\n    made.append(one)\n    return made\nins = inputs(x)\n",
        "ins = []\nalso = ins\nalso.append(x)\nins.append(z)\n",
    ],
)
def test_each_array_in_a_list_is_divided(filled: str) -> None:
    text = divide(X + filled + "model.fit(ins, y)\n").text
    assert f"model.fit({BY_ARRAY}, shard(y))" in text


def test_in_a_field_too() -> None:
    made = "class Inputs:\n    def __init__(self):\n        self.all = []\n        self.all.append(x)\nins = Inputs()\n"
    assert "[shard(part) for part in ins.all]" in divide(X + made + "model.fit(ins.all, y)\n").text


@pytest.mark.parametrize(
    "filled",
    [
        "ins = []\nfor row in x:\n    ins.append(row)\n",
        "ins = []\nfor row in x:\n    ins.append(np.mean(row))\n",  # numbers
        "ins = []\nfor row in x:\n    ins.append(row)\nins = np.array(ins)\n",
        "ins = []\nins.append(x)\nins = np.concatenate(ins)\n",
        "ins = [1, 2]\nins.append(3)\n",
        "ins = []\ndef put(row):\n    ins.append(np.array(row))\nfor row in x:\n    put(row)\n",
    ],
)
def test_not_what_is_or_may_be_a_list_of_rows(filled: str) -> None:
    text = divide(X + filled + "model.fit(ins, y)\n").text
    assert "model.fit(ins[share]" in text or "model.fit(shard(ins)" in text


def test_a_field_that_becomes_one_array_is_one() -> None:
    made = (
        "class Rows:\n    def __init__(self):\n        self.all = []\n        self.all.append(x)\n"
        "        self.all = np.concatenate(self.all)\nrows = Rows()\n"
    )
    assert BY_ARRAY.replace("ins", "rows.all") not in divide(X + made + "model.fit(rows.all, y)\n").text
