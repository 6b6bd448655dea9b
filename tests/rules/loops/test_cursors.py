"""Cursors, part of S5 and G4: loops that select by a variable which they move on themselves, and what deals out batches."""

from __future__ import annotations

import textwrap

import pytest

from .. import dividing
from ..pairs import check, only, plan_of
from ..sessions import BUILT, INIT

OPENED = BUILT + "rows = list(range(640))\nsess = tf.Session()\n" + INIT

OWN = "for _ in range(hvd.size())][hvd.rank()]"


def divided(before: str, after: str, head: str = OPENED, rules: tuple[str, ...] = ("S5", "D1")) -> None:
    check(rules, head, before, after)


def undivided(body: str) -> list[str]:
    """Asserts that a loop stays as it is. Returns what is said of it."""
    body = textwrap.dedent(body).lstrip("\n")
    plan = plan_of(OPENED + body)
    assert only(plan, "S5", "D1").endswith(INIT + body)
    return [n.message for n in plan.notes]


# ---------------------------------------------------------------------- near misses


def test_a_variable_that_only_names_a_picture_is_no_cursor() -> None:
    body = """
        shown = 0
        for step in range({}):
            sess.run(train, {{x: draw()}})
            if step % 100 == 0:
                print(names[shown])
                shown += 1
        """
    divided(body.format("500"), body.format("500 // hvd.size()"))


def test_a_cursor_over_what_is_evaluated_is_left_alone() -> None:
    body = """
        k = 0
        for step in range({}):
            sess.run(train, {{x: draw()}})
            sess.run(loss, {{x: held_out[k:k + 10]}})
            k += 10
        """
    divided(body.format("500"), body.format("500 // hvd.size()"))


@pytest.mark.parametrize(
    "body",
    [
        # moved on before it selects
        "k = 0\nfor step in range(500):\n    k += 1\n    sess.run(train, {x: rows[k]})\n",
        # not in every turn
        "k = 0\nfor step in range(500):\n    sess.run(train, {x: rows[k]})\n    if step % 2:\n        k += 1\n",
        # by another number each time
        "k = 0\nwhile k < len(rows):\n    n = k % 5 + 1\n    sess.run(train, {x: rows[k:k + n]})\n    k += n\n",
        # on an object
        "o.k = 0\nfor step in range(500):\n    sess.run(train, {x: rows[o.k]})\n    o.k += 1\n",
    ],
)
def test_a_cursor_that_turns_move_on_differently_is_not_dealt_out(body: str) -> None:
    assert any(
        "selects the batches but doesn't advance alike in every turn" in note for note in undivided(body)
    )


def test_a_function_that_keeps_no_count_is_not_drawn_from_for_all() -> None:
    loop = "def some():\n    return rows[pick()]\nfor i in range({}):\n    sess.run(train, {{x: some()}})\n"
    divided(loop.format("500"), loop.format("500 // hvd.size()"))


def test_a_generator_that_draws_at_random_differs_already() -> None:
    loop = (
        "import numpy as np\ndef some():\n    while True:\n        yield np.random.rand(9, 1)\nbatches = some()\n"
        "for i in range({}):\n    sess.run(train, {{x: next(batches)}})\n"
    )
    divided(loop.format("500"), loop.format("500 // hvd.size()"))


# ---------------------------------------------------------------------- loops


def test_a_while_over_rows() -> None:
    divided(
        """
        for epoch in range(3):
            i = 0
            while i < len(rows):
                first, last = i, i + 64
                sess.run(train, {x: rows[first:last]})
                i += 64
        """,
        """
        for epoch in range(3):
            i = 0
            ranks = max(r for r in range(1, hvd.size() + 1) if r == 1 or (r - 1) * 64 < len(rows))
            while i * ranks + (ranks - 1) * 64 < len(rows):
                own_i = i * ranks + (hvd.rank() % ranks) * 64
                first, last = own_i, own_i + 64
                sess.run(train, {x: rows[first:last]})
                i += 64
        """,
    )


def test_a_while_in_a_loop_that_shuffles() -> None:
    """The loop around draws the order, and is not what brings a step its rows; all ranks need the same order."""
    divided(
        """
        import numpy as np
        for epoch in range(3):
            order = np.random.permutation(len(rows))
            i = 0
            while i < len(rows):
                sess.run(train, {x: rows[order[i:i + 64]]})
                i += 64
        """,
        """
        import numpy as np
        for epoch in range(3):
            order = from_root(np.random.permutation(len(rows)))
            i = 0
            ranks = max(r for r in range(1, hvd.size() + 1) if r == 1 or (r - 1) * 64 < len(rows))
            while i * ranks + (ranks - 1) * 64 < len(rows):
                own_i = i * ranks + (hvd.rank() % ranks) * 64
                sess.run(train, {x: rows[order[own_i:own_i + 64]]})
                i += 64
        """,
        rules=("S5", "D1", "D3"),
    )


def test_a_while_that_selects_nothing_in_a_loop_that_draws() -> None:
    """The number of the inner loop only repeats a batch, so the loop that draws it is divided."""
    divided(
        """
        import numpy as np
        for turn in range(500):
            batch = np.random.choice(rows, 9)
            k = 0
            while k < 2:
                sess.run(train, {x: batch})
                k += 1
        """,
        """
        import numpy as np
        for turn in range(500 // hvd.size()):
            batch = np.random.choice(rows, 9)
            k = 0
            while k < 2:
                sess.run(train, {x: batch})
                k += 1
        """,
    )


def test_a_while_over_batches() -> None:
    divided(
        """
        k = 0
        while k * n < len(rows):
            start = k * n
            end = min(start + n, len(rows))
            sess.run(train, {x: rows[start:end]})
            k += 1
            if k % 10 == 0:
                print(k)
        """,
        """
        k = 0
        ranks = max(r for r in range(1, hvd.size() + 1) if r == 1 or (r - 1) * n < len(rows))
        while (k * ranks + ranks - 1) * n < len(rows):
            own_k = k * ranks + hvd.rank() % ranks
            start = own_k * n
            end = min(start + n, len(rows))
            sess.run(train, {x: rows[start:end]})
            k += 1
            if k % 10 == 0:
                print(k)
        """,
    )


def test_cursors_in_a_counted_loop() -> None:
    divided(
        """
        start, end = 0, n
        for _ in range(500):
            sess.run(train, {x: [rows[k] for k in range(start, end)]})
            start += n
            end = end + n
        """,
        """
        start, end = 0, n
        for _ in range(500 // hvd.size()):
            own_start = start * hvd.size() + hvd.rank() * n
            own_end = n + (end - n) * hvd.size() + hvd.rank() * n
            sess.run(train, {x: [rows[k] for k in range(own_start, own_end)]})
            start += n
            end = end + n
        """,
    )


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_ranks_select_what_one_process_did(rank: int) -> None:
    """The written loop, run on pretended ranks: every third batch, and as many on each; of too few, one."""
    loop = "def taken(n, size):\n    got = []\n    i = 0\n    while i < n:\n        {}\n        i += size\n    return got\n"
    plan = plan_of(OPENED + loop.format("sess.run(train, {x: rows[i:i + size]})"))
    text = (
        plan.text[plan.text.index("def taken") :]
        .replace("sess.run(train, {x: ", "got.append(")
        .replace("})", ")")
    )
    scope = {"hvd": dividing.Rank(rank, 3), "rows": list(range(100))}
    exec(text, scope)
    batches = [scope["rows"][k : k + 7] for k in range(0, 70, 7)]
    assert scope["taken"](70, 7) == batches[: len(batches) // 3 * 3][rank::3]  # type: ignore[operator]
    assert scope["taken"](14, 7) == [batches[rank % 2]]  # type: ignore[operator]
    assert scope["taken"](0, 7) == []  # type: ignore[operator]


# ---------------------------------------------------------------------- what deals out

DEALER = """\
class Rows:
    def __init__(self, rows):
        self.rows, self.at = rows, 0
    def some(self, n):
        first = self.at
        self.at += n
        return self.rows[first:self.at]
data = Rows(rows)
"""


def test_an_object_that_keeps_count_deals_out() -> None:
    divided(
        "for i in range(500):\n    sess.run(train, {x: data.some(64)})\n",
        f"for i in range(500 // hvd.size()):\n    sess.run(train, {{x: [data.some(64) {OWN}}})\n",
        OPENED + DEALER,
    )


def test_what_calls_a_dealer_deals_out_once() -> None:
    head = OPENED + DEALER + "def feed(n):\n    return {x: data.some(n)}\n"
    divided(
        "for i in range(500):\n    sess.run(train, feed(64))\n",
        "for i in range(500 // hvd.size()):\n    sess.run(train, [feed(64) for _ in range(hvd.size())][hvd.rank()])\n",
        head,
    )


def test_a_dealer_that_is_called_where_the_step_is_taken() -> None:
    head = OPENED + DEALER
    divided(
        "def step():\n    sess.run(train, {x: data.some(64)})\nfor i in range(500):\n    step()\n",
        f"def step():\n    sess.run(train, {{x: [data.some(64) {OWN}}})\nfor i in range(500 // hvd.size()):\n    step()\n",
        head,
    )


def test_the_next_of_a_generator_that_is_the_same_on_every_rank() -> None:
    head = (
        OPENED
        + "def some():\n    while True:\n        for k in range(10):\n            yield rows[k]\nbatches = some()\n"
    )
    divided(
        "for i in range(500):\n    sess.run(train, {x: next(batches)})\n",
        f"for i in range(500 // hvd.size()):\n    sess.run(train, {{x: [next(batches) {OWN}}})\n",
        head,
    )


def test_a_dealer_in_a_loop_with_a_tape() -> None:
    dividing.check(
        dividing.TAPE + "rows = [1, 2, 3]\n" + DEALER,
        "for i in range(1000):\n    step(data.some(2), 1)\n",
        "for i in range(1000 // hvd.size()):\n    step([data.some(2) for _ in range(hvd.size())][hvd.rank()], 1)\n",
    )
    dividing.check(
        dividing.TAPE + "from digits import read\ndata = read()\n",
        "for i in range(1000):\n    a, b = data.train.next_batch(2)\n    step(a, b)\n",
        f"for i in range(1000 // hvd.size()):\n    a, b = [data.train.next_batch(2) {OWN}\n    step(a, b)\n",
    )


def test_a_batch_that_is_shorter_on_one_rank_ends_the_loop_on_all() -> None:
    loop = (
        "k = 0\nwhile k < len(rows):\n    batch = rows[k:k + 9]\n    if {}:\n        break\n"
        "    sess.run(train, {{x: batch}})\n    k += 9\n"
    )
    plan = plan_of(OPENED + loop.format("len(batch) < 9"))
    assert "    if any_rank(len(batch) < 9):\n" in plan.text


def test_a_variable_that_is_set_to_another_is_no_cursor() -> None:
    body = """
        low = best = 9.0
        for step in range({}):
            low = min(best, sess.run(loss, {{x: draw()}}))
            sess.run(train, {{x: draw()}})
            best = low
        """
    divided(body.format("500"), body.format("500 // hvd.size()"))


COUNTED = """\
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt = tf.keras.optimizers.SGD(0.1)
def step(rows, beta):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows)) * beta
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
k = 0
while k < 4000:
    i = (k * 20) % 6000
    step(x[i : i + 20], min(1.0, k / 1000))
    {}
    if k == 2000:
        opt.learning_rate = 0.01
    if k % 500 == 0:
        model.save_weights("w.h5")
"""


def test_a_cursor_that_counts_the_turns_is_a_count_of_them() -> None:
    text = plan_of(COUNTED.format("k += 1")).text
    assert "while k * ranks + ranks - 1 < 4000:\n" in text
    assert "min(1.0, k * hvd.size() / 1000)" in text
    assert "    if k == max(1, 2000 // hvd.size()):\n" in text
    assert "    if k % max(1, 500 // hvd.size()) == 0" in text


def test_a_cursor_that_begins_again_counts_nothing() -> None:
    text = plan_of(COUNTED.format("k += 1\n    if k > 3000:\n        k = 0")).text
    assert "    if k == 2000:\n" in text
    assert "min(1.0, k / 1000)" in text


MOVED = """\
i = 0
while i < n:
    sess.run(train, {{x: rows[i : i + 20]}})
    i += 20
    {}
"""


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("i > 3000", "i * ranks > 3000"),
        ("i >= half", "i * ranks >= half"),
        ("len(rows) > 3000", "len(rows) > 3000"),
    ],
)
def test_how_far_a_cursor_has_come_is_read_as_that_of_all_ranks(test: str, told: str) -> None:
    plan = plan_of(OPENED + MOVED.format(f"if {test}:\n        kept.append(i)"))
    assert f"    if {told}:\n" in plan.text
    assert not any("moves `i`" in c.doubt or "move `i`" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("then", "asked"),
    [
        ("if i % 1010 == 0:\n        kept.append(i)", True),  # does it come to it?
        ("if i % 1010 == 0:\n        print(i)", False),  # only shows how far it is
        ("if i + 20 > n:\n        break", False),  # how it is left
    ],
)
def test_other_tests_of_how_far_it_has_come_are_asked_about(then: str, asked: bool) -> None:
    plan = plan_of(OPENED + MOVED.format(then))
    assert any("move `i` on size() times more slowly" in c.doubt for c in plan.changes) is asked


PREPARING = """\
class Dealer:
    def __init__(self, files):
        self.files, self.at = files, 0
    def next_batch(self, n):
        first, self.at = self.at, self.at + n
        return {}
dealer = Dealer(files)
for i in range(100):
    step(dealer.next_batch(8), y)
"""
PREPARES = "every rank prepares the batches of all ranks here"


@pytest.mark.parametrize(
    ("given", "is_told"),
    [
        ("np.stack([np.load(f) for f in self.files[first:self.at]])", True),
        ("read(self.files[first:self.at])", True),
        ("self.files[first:self.at]", False),
    ],
)
def test_what_prepares_the_batches_of_all_ranks_is_said(given: str, is_told: bool) -> None:
    reading = "def read(names):\n    return np.loadtxt(names[0])\n"
    plan = plan_of(dividing.TAPE + "files, y = [], 0\n" + reading + PREPARING.format(given))
    assert "step([dealer.next_batch(8) for _ in range(hvd.size())][hvd.rank()], y)" in plan.text
    assert any(PREPARES in note.message for note in plan.notes) is is_told


OBJECT = """\
import numpy as np
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.opt = tf.keras.optimizers.SGD(0.1)
        self.rows, self.size, self.step, self.best = np.load("x.npy"), 32, 0, 0
    def draw(self, n):
        return self.rows[np.random.randint(0, len(self.rows), n)]
    def next(self):
        return self.rows[self.at : self.at + 32]
    def train(self):
        for i in range(10000):
            {}
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x) ** 2)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.opt.apply_gradients(zip(gradients, self.model.trainable_variables))
            {}
Trainer().train()
"""


def test_an_attribute_that_is_set_from_a_count_is_not_all_of_its_object() -> None:
    """`self.best = self.step`: what is given `self.size` selects nothing by the count, which goes on counting steps."""
    then = "if self.step % 500 == 0:\n                self.best = self.step\n            self.step += 1"
    text = plan_of(OBJECT.format("x = self.draw(self.size)", then)).text
    assert "for i in range(10000 // hvd.size()):" in text
    assert "if self.step % max(1, 500 // hvd.size()) == 0:" in text
    text = plan_of(
        OBJECT.format("self.now = i\n            x = self.draw(self.size)", "print(self.now)")
    ).text
    assert "for i in range(10000 // hvd.size()):" in text


@pytest.mark.parametrize("taken", ["self.rows[self.at : self.at + 32]", "self.next()"])
def test_an_attribute_that_is_set_from_the_variable_selects_also_in_a_method(taken: str) -> None:
    text = plan_of(OBJECT.format(f"self.at = i * 32\n            x = {taken}", "pass")).text
    assert "for i in range(hvd.rank(), 10000 // hvd.size() * hvd.size(), hvd.size()):" in text


# ---------------------------------------------------------------------- where a batch ends, by a variable of its own

ENDS = """
for epoch in range(9):
    start = 0
    end = {first}
    for _ in range(n // 32):
        sess.run(train, {{x: rows[{part}]}})
        {moves}
"""


@pytest.mark.parametrize(
    ("first", "moves"),
    [
        ("start + 32", "start = start + 32\n        end = min(start + 32, n)"),
        ("32", "start += 32\n        end += 32"),
        ("0 + 32", "start += 32\n        end = start + 32"),
        ("min(start + 32, n)", "start += 32\n        end = min(n, 32 + start)"),
    ],
)
def test_an_end_that_goes_with_its_start_goes_with_the_own_one(first: str, moves: str) -> None:
    plan = plan_of(OPENED + "n = load()\n" + ENDS.format(first=first, moves=moves, part="start:end"))
    assert "        own_start = start * ranks + (hvd.rank() % ranks) * 32\n" in plan.text
    assert "rows[own_start:own_start + 32]" in plan.text
    assert "for _ in range(max(1, n // 32 // hvd.size())):" in plan.text


@pytest.mark.parametrize(
    ("first", "moves", "part"),
    [
        ("start + 32", "start += 32\n        end += 16", "start:end"),
        ("start + 64", "start += 32\n        end += 32", "start:end"),  # overlapping batches
        ("start + 32", "start += 32\n        end += 32", "start:end - 1"),
        ("32", "end = start + 64\n        start += 32", "start:end"),
        ("32", "start += 32\n        end += 32\n        if n > 7: end += 1", "start:end"),
    ],
)
def test_an_end_that_goes_otherwise_is_said(first: str, moves: str, part: str) -> None:
    plan = plan_of(OPENED + "n = load()\n" + ENDS.format(first=first, moves=moves, part=part))
    assert any("doesn't advance alike in every turn" in n.message for n in plan.notes)


def test_the_loop_that_goes_through_the_rows_is_divided_whatever_the_one_around_it_draws() -> None:
    """`np.random.permutation` gets no batch: what each turn of the inner loop moves on selects."""
    code = "import numpy as np\nn = load()\nfor epoch in range(9):\n    p = np.random.permutation(n)\n    k = 0\n"
    code += (
        "    for _ in range(n // 32):\n        sess.run(train, {x: rows[p[k : k + 32]]})\n        k += 32\n"
    )
    text = plan_of(OPENED + code).text
    assert "rows[p[own_k : own_k + 32]]" in text
    assert "np.random.permutation)(n)" in text or "from_root(np.random.permutation(n))" in text
    assert "for epoch in range(9):" in text


@pytest.mark.parametrize("end", ["i += 1", "i = i + 1"])
def test_what_moves_on_the_number_of_a_turn_at_its_end_moves_nothing(end: str) -> None:
    """`for i in range(n): …; i += 1`: the next turn sets it; it counts and selects as without."""
    code = "for i in range(640):\n    sess.run(train, {x: rows[i]})\n    if i % 100 == 0:\n        note(i)\n"
    text = plan_of(OPENED + code + f"    {end}\n").text
    assert "for i, own_i in rounds(range(640)):" in text
    assert "rows[own_i]" in text
    assert text.endswith(plan_of(OPENED + code).text.rsplit("rounds(", 1)[1] + f"    {end}\n")


KEPT = """\
start = 0
found = tf.train.latest_checkpoint("kept")
if found:
    start = int(found.split("-")[1])
    saver.restore(sess, found)
step = start
while step {less} {end}:
    at = step * 8 % len(rows)
    sess.run(train, {{x: rows[at:at + 8]}})
    step += 1
    saver.save(sess, "kept/model", global_step=step)
"""


@pytest.mark.parametrize(
    ("less", "end", "last"),
    [("<", "500", "499"), ("<", "total", "total - 1"), ("<=", "500", "500"), ("<", "a + b", "(a + b) - 1")],
)
def test_a_cursor_that_a_checkpoint_keeps_counts_the_steps_of_all_ranks(
    less: str, end: str, last: str
) -> None:
    """Its turns were divided twice: they went on by size(), and were compared times size()."""
    text = plan_of(OPENED + "saver = tf.train.Saver()\n" + KEPT.format(less=less, end=end)).text
    assert f"while step {less} {end}:\n    own_step = min(step + hvd.rank(), {last})\n" in text
    assert "at = own_step * 8 % len(rows)" in text
    assert "step += hvd.size()" in text
    assert "ranks" not in text[text.index("while step") :]


# ---------------------------------------------------------------------- what begins again


@pytest.mark.parametrize("rows_", ["len(rows)", "640", "rows.shape[0]"])
@pytest.mark.parametrize("moved", ["cursor + 64", "64 + cursor"])
def test_a_cursor_that_comes_round(rows_: str, moved: str) -> None:
    """The batches of the ranks come round where its own do."""
    divided(
        f"cursor = 0\nfor i in range(500):\n    sess.run(train, {{x: rows[cursor : cursor + 64]}})\n"
        f"    cursor = ({moved}) % {rows_}\n",
        f"cursor = 0\nfor i in range(500 // hvd.size()):\n"
        f"    own_cursor = (cursor * hvd.size() + hvd.rank() * 64) % {rows_}\n"
        f"    sess.run(train, {{x: rows[own_cursor : own_cursor + 64]}})\n    cursor = ({moved}) % {rows_}\n",
    )


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_ranks_come_round_to_what_one_process_did(rank: int) -> None:
    loop = (
        "def taken(n, size):\n    got = []\n    i = 0\n    for _ in range(600):\n        {}\n"
        "        i = (i + size) % len(rows)\n    return got\n"
    )
    plan = plan_of(OPENED + loop.format("sess.run(train, {x: rows[i:i + size]})"))
    text = plan.text[plan.text.index("def taken") :].replace("sess.run(train, {x: ", "got.append(")
    scope = {"hvd": dividing.Rank(rank, 3), "rows": list(range(100))}
    exec(text.replace("})", ")"), scope)
    starts = [k * 7 % 100 for k in range(600)][rank::3]
    assert scope["taken"](0, 7) == [scope["rows"][k : k + 7] for k in starts]  # type: ignore[operator]


@pytest.mark.parametrize(
    "moved",
    [
        "cursor = (cursor + n) % len(rows)\n    rows = more(rows)",
        "cursor = (2 * cursor + 64) % len(rows)",
        "cursor = (cursor + 64) % len(rows)\n    if cursor == 0:\n        np.random.shuffle(rows)",
    ],
)
def test_a_cursor_that_comes_round_otherwise_is_left(moved: str) -> None:
    """Near misses: of other rows each time, by other steps, and where something else goes by it."""
    plan = plan_of(
        OPENED
        + "n, cursor = 64, 0\nfor i in range(500):\n    sess.run(train, {x: rows[cursor : cursor + 64]})\n"
        f"    {moved}\n"
    )
    assert "own_cursor" not in plan.text


# ---------------------------------------------------------------------- loops of one turn

GRAPHS = """
    graphs = [g[np.newaxis] for g in load()]
    size, end = 1, graphs[0].shape[0]
    ins = [x]
    for epoch in range(9):
        i = 0
        while i * size < {end}:
            sess.run(train, {{p: g[i * size : (i + 1) * size] for p, g in zip(ins, graphs)}})
            i += 1
    """


def test_a_loop_that_takes_one_turn_is_not_divided_and_keeps_its_rate() -> None:
    """A graph is the only row of its array: all ranks trained on the same one, at size() times the rate."""
    notes = undivided(GRAPHS.format(end="end"))
    assert notes == [
        "this loop takes one turn each time, so it is not divided: every rank trains on all of it"
    ]
    plan = plan_of(OPENED + textwrap.dedent(GRAPHS).format(end="end"))
    assert "AdamOptimizer(0.1))" in plan.text


def test_a_loop_that_may_take_more_turns_is_divided() -> None:
    plan = plan_of(OPENED + textwrap.dedent(GRAPHS).format(end="len(rows)"))
    assert "own_i = i * ranks + hvd.rank() % ranks" in plan.text


# ---------------------------------------------------------------------- what can't be seen

GIVEN = """
    def train_on(source):
        for step in range(500):
            sess.run(train, {{x: {call}}})
    {more}
    """


@pytest.mark.parametrize(
    ("call", "more"),
    [("source(32)", ""), ("source(32)", "train_on(pairs)"), ("pairs(32)", "from elsewhere import pairs")],
)
def test_what_gives_the_rows_of_a_session_and_is_not_seen_is_asked_about(call: str, more: str) -> None:
    """Each rank may get the same batches, or all of the data: nothing was said of it."""
    plan = plan_of(OPENED + textwrap.dedent(GIVEN).format(call=call, more=more))
    assert any("it can't be seen what gives these steps their data" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("call", "more"),
    [
        ("source(32)", "train_on(lambda n: np.random.rand(n, 1))"),
        ("next_batch(32)", "from elsewhere import next_batch"),
        ("sample(32)", "from elsewhere import sample"),
    ],
)
def test_rows_that_are_drawn_or_dealt_out_are_not(call: str, more: str) -> None:
    plan = plan_of(OPENED + textwrap.dedent(GIVEN).format(call=call, more=more))
    assert not any("it can't be seen what gives these" in c.doubt for c in plan.changes)
