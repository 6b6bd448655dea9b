"""D3: orders that are drawn without replacement are the same on all ranks that take their parts; batches are a rank's own."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "import random\na = np.load('a.npy')\nrng = np.random.default_rng()\n"
ORDERS = [
    "np.random.choice(len(a), len(a), replace=False)",
    "np.random.choice(len(a), size=len(a), replace=False)",
    "rng.choice(len(a), len(a), replace=False)",
    "random.sample(range(len(a)), len(a))",
    "np.argsort(np.random.rand(len(a)))",
    "np.random.rand(len(a)).argsort()",
]
TURNS = "    for i in range(0, len(a), 8):\n        rows = order[i : i + 8]\n        step(a[rows], b)\n"


def is_alike(text: str, drawn: str) -> bool:
    made = plan_of(HEAD + text).text
    return f" = {drawn}\n" not in made and ("broadcast_object(" in made or "alike(" in made)


@pytest.mark.parametrize("drawn", ORDERS)
def test_an_order_of_each_epoch(drawn: str) -> None:
    assert is_alike(f"for epoch in range(9):\n    order = {drawn}\n{TURNS}", drawn)


@pytest.mark.parametrize("drawn", ORDERS)
@pytest.mark.parametrize("field", ["order", "self.order"])
def test_an_order_that_a_generator_draws_before_its_batches(drawn: str, field: str) -> None:
    made = f"class Rows:\n    def batches(self):\n        {field} = {drawn}\n        paths = [a[k] for k in {field}]\n"
    made += "        for i in range(len(a) // 8):\n            yield paths[i * 8 : i * 8 + 8], b\n"
    assert is_alike(
        f"{made}for epoch in range(9):\n    for x, y in Rows().batches():\n        step(x, y)\n", drawn
    )


def test_an_order_that_a_function_gives() -> None:
    drawn = ORDERS[0]
    given = f"def orders():\n    return {drawn}\nfor epoch in range(9):\n    order = orders()\n{TURNS}"
    assert f"    return hvd.broadcast_object({drawn})\n" in plan_of(HEAD + given).text


@pytest.mark.parametrize(
    "text",
    [
        # a batch in each turn
        "for i in range(900):\n    order = {}\n    step(a[order], b)\n",
        "def batches():\n    for i in range(len(a) // 8):\n        order = {}\n        yield a[order], b\n"
        "for epoch in range(9):\n    for x, y in batches():\n        step(x, y)\n",
        # of which a loop makes one batch
        "def batches():\n    for i in range(len(a) // 8):\n        order = {}\n        rows = []\n        for k in order:\n"
        "            rows.append(a[k])\n        yield rows, b\n"
        "for epoch in range(9):\n    for x, y in batches():\n        step(x, y)\n",
        # shown after the steps
        "for i in range(900):\n    step(*draw(8))\norder = {}\nfor k in order:\n    show(a[k])\n",
    ],
)
@pytest.mark.parametrize(
    "drawn", ["np.random.choice(len(a), 8, replace=False)", "random.sample(range(len(a)), 8)"]
)
def test_a_batch_of_a_ranks_own_and_what_is_shown(text: str, drawn: str) -> None:
    assert f"order = {drawn}\n" in plan_of(HEAD + text.format(drawn)).text


@pytest.mark.parametrize(
    "drawn", ["np.random.choice(len(a), len(a))", "np.random.choice(len(a), len(a), replace=True)"]
)
def test_rows_that_may_come_twice_are_drawn_apart(drawn: str) -> None:
    assert f"order = {drawn}\n" in plan_of(f"{HEAD}for epoch in range(9):\n    order = {drawn}\n{TURNS}").text


def test_what_a_seed_fixes_is_left() -> None:
    drawn = ORDERS[0]
    assert (
        f"order = {drawn}\n"
        in plan_of(f"{HEAD}np.random.seed(1)\nfor epoch in range(9):\n    order = {drawn}\n{TURNS}").text
    )


def test_what_one_batch_draws_for_itself_is_no_order_of_rows() -> None:
    """Near miss: of a cursor that all ranks move on alike, each keeps its own batch, with its own words around it."""
    text = plan_of(
        "import random\nimport numpy as np\nimport tensorflow as tf\nat = 0\nwords = np.load('words.npy')\n"
        "def next_batch(n):\n    global at\n    found = []\n    for _ in range(n):\n        near = [1, 2, 3]\n"
        "        kept = random.sample(near, 2)\n        for k in kept:\n            found.append(words[at + k])\n"
        "        at = (at + 1) % (len(words) - 3)\n    return np.array(found, 'f')[:, None]\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])\nopt = tf.keras.optimizers.SGD(0.1)\n"
        "for step in range(100):\n    x = next_batch(16)\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(x) ** 2)\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    ).text
    assert "[next_batch(16) for _ in range(hvd.size())][hvd.rank()]" in text
    assert "kept = random.sample(near, 2)\n" in text


@pytest.mark.parametrize("drawn", [d for d in ORDERS if "argsort" not in d])
def test_an_order_that_is_drawn_where_a_cursor_begins_again(drawn: str) -> None:
    text = (
        f"order = {drawn}\nat = 0\nfor i in range(900):\n    if at + 8 > len(a):\n        order = {drawn}\n        at = 0\n"
        "    rows = order[at : at + 8]\n    at += 8\n    step(a[rows], b)\n"
    )
    assert is_alike(text, drawn)


@pytest.mark.parametrize("drawn", ORDERS)
def test_an_order_that_a_sequence_keeps(drawn: str) -> None:
    text = (
        f"class Rows(tf.keras.utils.Sequence):\n    def __init__(self):\n        self.order = {drawn}\n"
        "    def __len__(self):\n        return len(a) // 8\n    def __getitem__(self, i):\n"
        "        return a[self.order[i * 8 : i * 8 + 8]], b\n    def on_epoch_end(self):\n"
        f"        self.order = {drawn}\n"
        "rows = Rows()\nfor epoch in range(9):\n    for x, y in rows:\n        step(x, y)\n    rows.on_epoch_end()\n"
    )
    assert is_alike(text, drawn)


@pytest.mark.parametrize("drawn", ORDERS)
def test_an_order_that_is_kept_beside_a_cursor(drawn: str) -> None:
    text = (
        f"class Rows:\n    def __init__(self):\n        self.at, self.order = 0, {drawn}\n    def next_batch(self):\n"
        f"        if self.at + 8 > len(a):\n            self.at, self.order = 0, {drawn}\n"
        "        chosen = self.order[self.at : self.at + 8]\n        self.at += 8\n        return a[chosen]\n"
        "rows = Rows()\nfor i in range(900):\n    x = rows.next_batch()\n    step(x, b)\n"
    )
    made = plan_of(HEAD + text).text
    assert f" = 0, {drawn}\n" not in made
    assert "broadcast_object(" in made or "alike(" in made


def test_batches_that_are_drawn_by_turns_stay_a_ranks_own() -> None:
    """No order that a later turn takes parts of: the batch of one turn."""
    text = (
        "for i in range(900):\n    if i % 2 == 0:\n        rows = random.sample(range(len(a)), 8)\n    else:\n"
        "        rows = random.sample(range(9), 8)\n    step(a[rows], b)\n"
    )
    assert "alike" not in plan_of(HEAD + text).text


def test_a_batch_that_an_object_draws_at_each_call_stays_a_ranks_own() -> None:
    text = (
        "class Rows:\n    def draw(self):\n        self.chosen = random.sample(range(len(a)), 8)\n"
        "        return a[self.chosen[:8]]\nrows = Rows()\nfor i in range(900):\n    x = rows.draw()\n    step(x, b)\n"
    )
    assert "alike" not in plan_of(HEAD + text).text


SHUFFLED = "tf.random.shuffle(tf.range(len(a)))"


@pytest.mark.parametrize(
    "text",
    [
        "def batches():\n    order = {}.numpy()\n    for i in range(0, len(a), 8):\n        yield a[order[i : i + 8]], b\n"
        "for epoch in range(9):\n    for x, y in batches():\n        step(x, y)\n",
        "order = np.arange(len(a))\nat = 0\nfor i in range(900):\n    if at + 8 > len(a):\n        order = {}.numpy()\n"
        "        at = 0\n    rows = order[at : at + 8]\n    at += 8\n    step(a[rows], b)\n",
        "class Rows(tf.keras.utils.Sequence):\n    def __init__(self):\n        self.on_epoch_end()\n"
        "    def __len__(self):\n        return len(a) // 8\n    def __getitem__(self, i):\n"
        "        return a[self.order[i * 8 : i * 8 + 8]], b\n    def on_epoch_end(self):\n"
        "        self.order = {}.numpy()\n"
        "rows = Rows()\nfor epoch in range(9):\n    for x, y in rows:\n        step(x, y)\n    rows.on_epoch_end()\n",
    ],
)
def test_an_order_that_tensorflow_draws(text: str) -> None:
    made = plan_of(HEAD + text.format(SHUFFLED)).text
    assert SHUFFLED not in made
    assert "tf.random.shuffle(tf.range(len(a)), seed=" in made


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(900):\n    rows = {}[:8]\n    step(tf.gather(a, rows), b)\n",
        "tf.random.set_seed(1)\ndef batches():\n    order = {}.numpy()\n    for i in range(0, len(a), 8):\n"
        "        yield a[order[i : i + 8]], b\nfor epoch in range(9):\n    for x, y in batches():\n        step(x, y)\n",
    ],
)
def test_what_tensorflow_draws_for_a_batch_or_by_a_seed_stays(text: str) -> None:
    assert SHUFFLED in plan_of(HEAD + text.format(SHUFFLED)).text
