"""D3: orders that a seed fixes, from a stream that ranks also draw from for their own rows."""

from __future__ import annotations

import pytest

from ..dividing import KERAS, TAPE, check, divide
from ..pairs import plan_of

HEAD = TAPE + "n = 900\np, a, b = np.arange(n), np.ones(n), np.ones(n)\n"
LOOP = """\
for e in range(3):
    {shuffle}(p)
    for i in {share}:
        k = p[i : i + 3]
        {draws}
        step(a[k], b)
"""
FREE = "np.random.seed(1)\n"
MADE = "rng = np.random.default_rng(1)\n"
AGAIN = "for _ in range(int(a[k[0]])): np.random.rand()"


def _loop(draws: str, shuffle: str, *, shared: bool) -> str:
    share = "shard(range(0, n, 3))" if shared else "range(0, n, 3)"
    return LOOP.format(draws=draws, shuffle=f"alike({shuffle})" if shared else shuffle, share=share)


@pytest.mark.parametrize(
    ("head", "shuffle", "draws"),
    [
        (FREE, "np.random.shuffle", "a[k[0]] += np.random.rand(4)"),  # as often on all ranks
        (FREE, "np.random.shuffle", AGAIN.replace("np.random.rand", "other.rand")),
        (MADE, "rng.shuffle", AGAIN),  # another stream
        (FREE + "import random\nrandom.seed(1)\n", "random.shuffle", AGAIN),
    ],
)
def test_orders_of_streams_that_go_on_alike_stay(head: str, shuffle: str, draws: str) -> None:
    result = divide(HEAD + head + _loop(draws, shuffle, shared=False))
    assert "alike" not in result.text
    assert "shard(range" in result.text


@pytest.mark.parametrize(
    ("head", "shuffle", "draws"),
    [
        (FREE, "np.random.shuffle", AGAIN),
        (FREE, "np.random.shuffle", "if a[k[0]] > 0: np.random.rand()"),
        (FREE, "np.random.shuffle", "while np.random.rand() < a[k[0]]: pass"),
        (
            FREE,
            "np.random.shuffle",
            "y = np.random.normal(size=len(a[k]))",
        ),  # the last batch may have fewer rows
        (FREE, "np.random.shuffle", "y = np.random.normal(size=a[k].shape)"),
        (MADE, "rng.shuffle", "if a[k[0]] > 0: rng.integers(4)"),
    ],
)
def test_an_order_gets_a_stream_of_its_own_where_rows_decide_how_much_is_drawn(
    head: str, shuffle: str, draws: str
) -> None:
    before, after = (_loop(draws, shuffle, shared=shared) for shared in (False, True))
    check(HEAD + head, before, after)
    text = plan_of(HEAD + head + before).text
    assert (
        "alike.stream = type(draw.__self__)(0)\n" in text
    ) or "alike.seed = 0\n" in text  # each run draws the same, as the program's seed has it


@pytest.mark.parametrize(("seed", "alone"), [("", True), (FREE, True), (MADE, False)])
def test_sequences_that_draw_for_a_batch(seed: str, alone: bool) -> None:
    rows = (
        "class Rows(tf.keras.utils.Sequence):\n    def __getitem__(self, i):\n"
        "        return a[self.p[i]] + np.random.rand(3), b\n"
        "    def on_epoch_end(self):\n        {}(self.p)\nmodel.fit(Rows())\n"
    )
    shuffle = "np.random.shuffle" if alone else "rng.shuffle"
    text = divide(KERAS + seed + rows.format(shuffle)).text
    assert (f"alike({shuffle})(self.p)" in text) is alone


def test_orders_of_a_range_that_is_divided_where_it_stands() -> None:
    """`trange(n)` becomes a range by strides, without a helper."""
    loop = "from tqdm import trange\nfor e in range(3):\n    {}(p)\n    for i in trange(n):\n        step(a[p[i]], b)\n"
    text = divide(HEAD + loop.format("np.random.shuffle")).text
    assert "np.random.shuffle(p)\n    p[:] = hvd.broadcast_object(p)\n" in text
    assert "trange(hvd.rank(), n // hvd.size() * hvd.size(), hvd.size()" in text


@pytest.mark.parametrize("draw", ["np.random.normal(size=(3, 4))", "rng.normal(size=(3, 4))"])
def test_noise_is_a_ranks_own_where_the_seed_fixes_the_order_too(draw: str) -> None:
    made = draw.startswith("rng")
    shuffle = "rng.shuffle" if made else "np.random.shuffle"
    loop = _loop(f"z = model({draw})", shuffle, shared=False)
    plan = plan_of(HEAD + (MADE if made else FREE) + loop)
    again = "rng = np.random.default_rng(1 + hvd.rank())" if made else "np.random.seed(1 + hvd.rank())"
    assert f"alike({shuffle})(p)" in plan.text
    assert f"if hvd.size() > 1:\n    {again}\n" in plan.text or "default_rng(1 + hvd.rank())" in plan.text
    assert all(c.sure for c in plan.changes if c.rule == "D3")


def test_states_are_those_of_the_stream_that_orders_come_from() -> None:
    loop = "for e in range(3):\n    s = {0}np.random.get_state{1}()\n    {0}np.random.shuffle{1}(p)\n"
    loop += "    {0}np.random.set_state{1}(s)\n    for i in {2}:\n        k = p[i : i + 3]\n"
    loop += "        y = np.random.normal(size=len(a[k]))\n        step(a[k], b)\n"
    share = "range(0, n, 3)"
    check(HEAD + FREE, loop.format("", "", share), loop.format("alike(", ")", f"shard({share})"))


ENDLESS = "def rows():\n    while True:\n        np.random.shuffle(x)\n        yield x[:9], x[:9]\n"
SPLIT = "np.random.seed(1)\nnp.random.shuffle(x)\n{}model.fit(rows(), steps_per_epoch=90)\n"


@pytest.mark.parametrize(
    ("taken_back", "dealt"), [("np.random.seed(None)\n", False), ("np.random.seed()\n", False), ("", True)]
)
def test_a_seed_that_is_taken_back_fixes_what_came_before(taken_back: str, dealt: bool) -> None:
    text = divide(KERAS + "x = np.load('x.npy')\n" + ENDLESS + SPLIT.format(taken_back)).text
    assert "np.random.seed(1)\nnp.random.shuffle(x)\n" in text
    assert ("shard_batches(rows())" in text) is dealt
