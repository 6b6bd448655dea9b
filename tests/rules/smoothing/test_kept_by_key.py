"""G7: averages of weights that are kept in dictionaries, lists and arrays, however a weight is read."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "import copy\nimport numpy as np\nds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
KEYS = "kept = {w.name: np.array(w) for w in model.weights}\n"
ITEMS = "kept = [w.numpy() for w in model.weights]\n"
LOOP = "for x, y in ds:\n    loss = step(x, y)\n"
OLD, NEW = "0.99 ** hvd.size()", "(1 - 0.99 ** hvd.size())"


@pytest.mark.parametrize(
    ("begun", "mixed"),
    [
        (KEYS, "    for w in model.weights:\n        kept[w.name] = 0.99 * kept[w.name] + 0.01 * np.array(w)\n"),
        (KEYS, "    for w in model.weights:\n        kept[w.name] = 0.99 * kept[w.name] + 0.01 * w.value\n"),
        (
            KEYS,
            "    for w in model.weights:\n        new = 0.01 * np.asarray(w) + 0.99 * kept[w.name]\n"
            "        kept[w.name] = new.copy()\n",
        ),
        (KEYS, "    kept = {w.name: 0.99 * kept[w.name] + 0.01 * w.numpy() for w in model.weights}\n"),
        (ITEMS, "    for i, w in enumerate(model.weights):\n        kept[i] = 0.99 * kept[i] + 0.01 * np.array(w)\n"),
        (ITEMS, "    for k, w in zip(kept, model.get_weights()):\n        np.copyto(k, 0.99 * k + 0.01 * w)\n"),
        (ITEMS, "    kept = tf.nest.map_structure(lambda k, w: 0.99 * k + 0.01 * w, kept, model.get_weights())\n"),
    ],
)  # fmt: skip
def test_it_forgets_as_fast_for_the_rows_that_are_seen(begun: str, mixed: str) -> None:
    after = mixed.replace("0.99", OLD).replace("0.01", NEW)
    assert plan_of(HEAD + begun + LOOP + mixed).text.endswith(after)


@pytest.mark.parametrize(
    "mixed",
    [
        "    for w in model.weights:\n        kept[w.name] = np.array(w)\n",  # a copy
        "    for n in kept:\n        kept[n] = 0.99 * kept[n] + 0.01 * np.array(x)\n",  # of rows
        "    kept = {w.name: 0.99 * w.numpy() for w in model.weights}\n",
        "    half = tf.nest.map_structure(lambda k, w: 0.5 * k + 0.5 * w, model.get_weights(), model.get_weights())\n",
    ],
)
def test_what_is_no_average_of_weights_is_left(mixed: str) -> None:
    assert plan_of(HEAD + KEYS + LOOP + mixed).text.endswith(mixed)
