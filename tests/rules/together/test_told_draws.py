"""D3, G4: orders of rows, and what is drawn once and is small: rank 0 tells them. Anything else all ranks draw alike."""

from __future__ import annotations

import random
from typing import Any

import pytest

from horovodize.rules.drafting.helpers import HELPERS, ONE_STREAM

from ..dividing import TAPE, Rank, divide
from ..pairs import plan_of

HEAD = TAPE + "import glob\nimport random\n"
LOOP = "for epoch in range(9):\n    {}\n    for i in range(0, len(a), 3):\n        step(a[p[i : i + 3]], b)\n"


def told(made: str, drawn: str, head: str = "") -> str:
    return divide(HEAD + head + made + LOOP.format(drawn)).text


# ---------------------------------------------------------------------- orders


@pytest.mark.parametrize(
    ("made", "drawn", "after"),
    [
        ("", "p = np.random.permutation(len(a))", "p = hvd.broadcast_object(np.random.permutation(len(a)))"),
        ("", "p = np.random.permutation(a.shape[0])", "p = hvd.broadcast_object(np.random.permutation(a.shape[0]))"),
        ("n = len(a)\n", "p = np.random.permutation(n)", "p = hvd.broadcast_object(np.random.permutation(n))"),
        ("r = np.random.default_rng()\nn = np.arange(len(a))\n", "p = r.permuted(n)",
         "p = hvd.broadcast_object(r.permuted(n))"),
        ("r = np.random.default_rng(np.random.SeedSequence())\n", "p = r.permutation(len(a))",
         "p = hvd.broadcast_object(r.permutation(len(a)))"),
        ("p = np.arange(len(a))\n", "np.random.shuffle(p)", "np.random.shuffle(p)\n    p[:] = hvd.broadcast_object(p)"),
        ("p = list(range(len(a)))\n", "random.shuffle(p)", "random.shuffle(p)\n    p[:] = hvd.broadcast_object(p)"),
        ("p = sorted(glob.glob('*.png'))\n", "random.shuffle(p)", "random.shuffle(p)\n    p[:] = hvd.broadcast_object(p)"),
    ],
)  # fmt: skip
def test_an_order_is_rank_0s(made: str, drawn: str, after: str) -> None:
    text = told(made, drawn)
    assert f"    {after}\n" in text
    assert "alike" not in text


@pytest.mark.parametrize(
    ("made", "drawn"),
    [
        ("p = read()\n", "np.random.shuffle(p)"),  # rows, maybe
        ("", "p = np.random.permutation(a)"),
        ("p = np.arange(len(a))\np = p if read() else a\n", "np.random.shuffle(p)"),
        ("n = read()\n", "p = np.random.permutation(n)"),
    ],
)
def test_what_may_be_rows_is_not_sent(made: str, drawn: str) -> None:
    text = told(made, drawn, "from mine import read\n")
    assert "alike(np.random." in text
    assert "broadcast_object" not in text


@pytest.mark.parametrize("seed", ["3", "np.random.SeedSequence(3)", "[3, epoch]"])
@pytest.mark.parametrize("drawn", ["permuted(np.arange(len(a)))", "permutation(len(a))"])
def test_an_order_that_a_seed_fixes_is_nobodys(seed: str, drawn: str) -> None:
    text = told("", f"p = np.random.default_rng({seed}).{drawn}")
    assert f"    p = np.random.default_rng({seed}).{drawn}\n" in text


def test_states_belong_to_a_stream() -> None:
    drawn = "s = np.random.get_state(); np.random.shuffle(p); np.random.set_state(s)"
    assert "broadcast_object" not in told("p = np.arange(len(a))\n", drawn)


SEQUENCE = """\
import numpy as np
import tensorflow as tf
class Rows({}):
    def __init__(self, x):
        self.x = x
        self.on_epoch_end()
    def __len__(self):
        return 9
    def __getitem__(self, i):
        return self.x[self.p[i : i + 3]], self.x[self.p[i : i + 3]]
    def on_epoch_end(self):
        self.p = np.arange(len(self.x))
        np.random.shuffle(self.p)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('sgd', 'mse')
model.fit(Rows(np.load('x.npy')))
"""


def test_nothing_is_sent_where_keras_calls() -> None:
    """It does from a thread beside the steps, which may be over on one rank before another asks."""
    text = plan_of(SEQUENCE.format("tf.keras.utils.Sequence")).text
    assert "alike(np.random.shuffle)(self.p)" in text


def test_nothing_is_sent_by_a_generator_that_a_dataset_draws_from() -> None:
    rows = "def rows():\n    p = np.random.permutation(len(a))\n    for i in p:\n        yield a[i], b[i]\nnext(rows())\n"
    loop = "for x, y in tf.data.Dataset.from_generator(rows, tf.float32).batch(3):\n    step(x, y)\n"
    text = divide(HEAD + rows + loop).text
    assert "alike(np.random.permutation)(len(a))" in text


# ---------------------------------------------------------------------- drawn once


@pytest.mark.parametrize(
    "drawn", ["np.random.rand(90, 3)", "np.random.normal(size=(90, 3))", "np.random.uniform(-1, 1, [90, 3])"]
)
def test_a_few_numbers_are_sent_once(drawn: str) -> None:
    text = plan_of(
        TAPE + f"x = {drawn}\nfor i in range(0, 90, 3):\n    step(x[i : i + 3], x[i : i + 3])\n"
    ).text
    assert f"x = hvd.broadcast_object({drawn})\n" in text
    assert "alike" not in text


@pytest.mark.parametrize(
    ("rows", "drawn", "told"),
    [
        ("np.linspace(-1, 1, 300)[:, np.newaxis]", "np.random.normal(0, 0.05, rows.shape)", True),
        ("np.load('rows.npy')", "np.random.randn(len(rows))", True),
        ("np.load('rows.npy')", "np.random.uniform(size=rows.shape[0])", True),
        # near misses: it isn't seen how many there are
        ("np.load('rows.npy')", "np.random.normal(0, 0.05, rows.shape)", False),
        ("np.load('rows.npy')", "np.random.randn(*rows.shape)", False),
        ("np.zeros((50000, 3))", "np.random.normal(0, 0.05, rows.shape)", False),
    ],
)
def test_as_many_numbers_as_there_are_rows_are_sent_once(rows: str, drawn: str, told: bool) -> None:
    text = plan_of(TAPE + f"rows = {rows}\nx = rows + {drawn}\nfor i in range(90):\n    step(x, x)\n").text
    assert (f"x = rows + hvd.broadcast_object({drawn})\n" in text) is told
    assert ("alike" in text) is not told


ROWS_CHOSEN = (
    TAPE
    + "x = np.load('rows.npy')\nn = 500\np = {}\nx = x[p]\nfor i in range(0, 90, 3):\n    step(x[i : i + 3], b)\n"
)


@pytest.mark.parametrize(
    ("drawn", "is_told"),
    [
        ("np.random.choice(8000, n)", True),
        ("np.random.choice(len(x), 500)", True),
        ("random.sample(range(len(x)), n)", True),
        # near misses: rows may be chosen, or it isn't seen how many
        ("np.random.choice(x, n)", False),
        ("np.random.choice(8000, many)", False),
    ],
)
def test_numbers_of_chosen_rows_are_sent_once(drawn: str, is_told: bool) -> None:
    text = plan_of("import random\nfrom mine import many\n" + ROWS_CHOSEN.format(drawn)).text
    assert (f"p = hvd.broadcast_object({drawn})\n" in text) is is_told
    assert ("def alike(" in text) is not is_told


TRIALS = """\
import random
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
SIZES = [4, 8]
for trial in range(3):
    units = {}
    print(len(SIZES))
    model = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
    {}
"""


@pytest.mark.parametrize(
    "drawn", ["random.choice([4, 8])", "random.choice(SIZES)", "int(np.random.randint(1, 4))"]
)
@pytest.mark.parametrize(
    ("trained", "is_told"),
    [
        ("model.fit(x, y)", True),
        ("[model.train_on_batch(x, y) for _ in range(9)]", False),  # a step may be as short as the draw
    ],
)
def test_what_each_trial_draws_is_sent(drawn: str, trained: str, is_told: bool) -> None:
    text = plan_of(TRIALS.format(drawn, trained)).text
    sent = (
        f"hvd.broadcast_object({drawn})"
        if "int(" not in drawn
        else "int(hvd.broadcast_object(np.random.randint(1, 4)))"
    )
    assert (f"    units = {sent}\n" in text) is is_told
    assert ("def alike(" in text) is not is_told


def test_what_a_list_is_given_later_may_be_anything() -> None:
    text = plan_of(TRIALS.format("random.choice(SIZES)", "model.fit(x, y)\n    SIZES.append(model)")).text
    assert "alike(random.choice)(SIZES)" in text


@pytest.mark.parametrize("drawn", ["np.random.rand(9000, 224, 224)", "np.random.rand(n, 3)"])
def test_many_numbers_are_drawn_by_each_rank(drawn: str) -> None:
    head = TAPE + "from mine import n\n"
    text = plan_of(
        head + f"x = {drawn}\nfor i in range(0, 90, 3):\n    step(x[i : i + 3], x[i : i + 3])\n"
    ).text
    assert "x = alike(np.random.rand)(" in text


def test_what_is_drawn_in_each_turn_is_not_sent() -> None:
    text = plan_of(TAPE + "import random\nwhile random.random() < 0.9:\n    step(a, b)\n").text
    assert "while alike(random.random)() < 0.9:" in text


# ---------------------------------------------------------------------- one stream


def one_stream(rank: int, size: int) -> Any:
    lines = [line.format(name="alike", quote="'", seed="11") for line in ONE_STREAM]
    scope: dict[str, Any] = {"hvd": Rank(rank, size)}
    exec("\n".join(lines).replace("\ue000", "hvd"), scope)
    return scope["alike"]


def test_ranks_draw_the_same_from_the_stream_of_one_module() -> None:
    def drawn(rank: int) -> list[Any]:
        alike = one_stream(rank, 2)
        random.seed(rank)
        rows = list(range(20))
        alike(random.shuffle)(rows)
        [random.random() for _ in range(rank)]
        return [rows, alike(random.sample)(rows, 3)]

    assert drawn(0) == drawn(1)
    assert one_stream(0, 1)(random.shuffle) == random.shuffle
    assert len(ONE_STREAM) < len(HELPERS["alike"])


def test_streams_of_two_modules_are_kept_apart() -> None:
    drawn = "np.random.shuffle(p); random.shuffle(q)"
    text = plan_of(HEAD + "from mine import p, q\n" + LOOP.format(drawn)).text
    assert "bit_generator" in text
