"""G4: where a number of the turn both selects and counts, by whatever name, a rank has one of its own that selects."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
X = np.random.RandomState(0).rand(2560, 4)
Y = X.sum(axis=1)
B = 8
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
FOR = "for i in range(200):\n"
WHILE = "i = 0\nwhile i < 200:\n"


def lines(program: str) -> list[str]:
    return [line.strip() for line in plan_of(HEAD + program).text.splitlines()]


@pytest.mark.parametrize("loop", [FOR, WHILE])
@pytest.mark.parametrize(
    ("made", "own"),
    [
        ("step = i + 1", "own_step = own_i + 1"),
        ("step = i", "own_step = own_i"),
        ("step: int = i", "own_step = own_i"),
    ],
)
def test_a_name_that_does_both_has_one_of_the_ranks_own_beside_it(loop: str, made: str, own: str) -> None:
    body = f"    {made}\n    train(X[step * B:(step + 1) * B], Y[step * B:(step + 1) * B])\n"
    body += "    if step % 50 == 0:\n        model.save_weights('w.h5')\n"
    text = lines(loop + body + ("    i += 1\n" if loop == WHILE else ""))
    assert own in text
    assert text[text.index(own) - 1] == made
    assert "train(X[own_step * B:(own_step + 1) * B], Y[own_step * B:(own_step + 1) * B])" in text
    assert "if step % max(1, 50 // hvd.size()) == 0 and hvd.rank() == 0:" in text


def test_of_a_pair_only_the_one_that_counts_too() -> None:
    text = lines(
        FOR + "    lo, hi = i * B, (i + 1) * B\n    train(X[lo:hi], Y[lo:hi])\n"
        "    opt.learning_rate = 0.1 / (1 + hi)\n"
    )
    assert "own_hi = (own_i + 1) * B" in text
    assert "train(X[lo:own_hi], Y[lo:own_hi])" in text
    assert any(line.startswith("lo, hi = own_i * B, (min(i * hvd.size(), ") for line in text)


def test_one_that_goes_on_in_the_turn_too() -> None:
    text = lines(
        FOR + "    step = i * 2\n    step += 1\n    train(X[step:step + B], Y[step:step + B])\n"
        "    if step == 51:\n        model.save_weights('w.h5')\n"
    )
    assert text[text.index("step = i * 2") + 1] == "own_step = own_i * 2"
    assert text[text.index("step += 1") + 1] == "own_step += 1"


def test_one_that_only_selects_is_a_ranks_own_itself() -> None:
    text = lines(
        FOR + "    start = i * B\n    train(X[start:start + B], Y[start:start + B])\n    print(start)\n"
    )
    assert "start = i * B" in text
    assert any(line.startswith("for i in range(hvd.rank(), ") for line in text)


def test_one_that_is_kept_within_the_rows_still_only_selects() -> None:
    text = lines(
        FOR
        + "    end = (i + 1) * B\n    end = end if end < len(X) else len(X)\n    if end > len(X):\n        end = len(X)\n"
        "    train(X[i * B:end], Y[i * B:end])\n"
    )
    assert any(line.startswith("for i in range(hvd.rank(), ") for line in text)


FUNCTIONS = """\
def get(step):
    return X[step * B:(step + 1) * B], Y[step * B:(step + 1) * B]
def train_one(step):
    train(*get(step))
    if step % 50 == 0:
        model.save_weights('w.h5')
"""


@pytest.mark.parametrize(("call", "told"), [("train_one(i)", "train_one(i, own_i)"),
                                            ("train_one(step=i)", "train_one(step=i, own_step=own_i)"),
                                            ("train_one(i + 0)", "train_one(i + 0, own_i + 0)")])  # fmt: skip
def test_a_function_that_does_both_is_told_both(call: str, told: str) -> None:
    text = lines(FUNCTIONS + FOR + f"    {call}\n")
    assert told in text
    assert "def train_one(step, own_step):" in text
    assert "train(*get(own_step))" in text
    assert "for i, own_i in rounds(range(200)):" in text


def test_a_function_that_only_selects_is_told_the_ranks_own() -> None:
    selecting = FUNCTIONS.replace("    if step % 50 == 0:\n        model.save_weights('w.h5')\n", "")
    text = lines(selecting + FOR + "    train_one(i)\n")
    assert "train_one(i)" in text
    assert any(line.startswith("for i in range(hvd.rank(), ") for line in text)


@pytest.mark.parametrize(
    "program",
    [
        FUNCTIONS + "train_one(0)\n" + FOR + "    train_one(i)\n",
        FOR
        + "    step = i\n    if i % 50 == 0:\n        step = 0\n    train(X[step:step + B], Y[step:step + B])\n"
        "    if step > 100:\n        opt.learning_rate = 0.05\n",
    ],
)
def test_what_cant_be_told_apart_is_not_divided(program: str) -> None:
    made = plan_of(HEAD + program)
    assert "SGD(0.1)" in made.text
    assert any("not divided" in n.message for n in made.notes)


def test_a_number_that_selects_is_not_made_to_go_on_faster_besides() -> None:
    loop = (
        "for epoch in range(3):\n    at = 0\n    for step in range(1, 321):\n        rows = X[at:at + size]\n"
    )
    text = lines("size = int(8.0)\n" + loop + "        train(rows, Y[at:at + size])\n        at += size\n")
    assert "own_at = at * hvd.size() + hvd.rank() * size" in text
    assert "at += size" in text


def test_a_count_that_begins_again_where_a_turn_goes_on_is_one() -> None:
    loop = (
        "data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)\nstep = 0\nfor x, y in data.repeat(9):\n"
    )
    body = "    train(x, y)\n    step += 1\n    if step < 320:\n        continue\n    step = 0\n"
    assert "if step < max(1, 320 // hvd.size()):" in lines(loop + body + "    model.save_weights('w.h5')\n")


def test_the_last_of_numbers_from_one_on_stays_the_last() -> None:
    loop = "for step in range(1, 201):\n    train(X[(step - 1) * B:step * B], Y[(step - 1) * B:step * B])\n"
    text = lines(loop + "    if step % 50 == 0 or step == 200:\n        model.save_weights('w.h5')\n")
    assert "if (step % max(1, 50 // hvd.size()) == 0 or step == 200) and hvd.rank() == 0:" in text


def test_an_order_that_is_drawn_again_in_the_loop_is_one_for_all_ranks() -> None:
    loop = "rng = np.random.RandomState(0)\nstep = 0\nwhile step < 600:\n    i = step % 320\n    if i == 0:\n"
    body = "        order = rng.permutation(len(X))\n    rows = order[i * B:(i + 1) * B]\n    train(X[rows], Y[rows])\n"
    doubts = [c.doubt for c in plan_of(HEAD + loop + body + "    step += 1\n").changes if not c.sure]
    assert not any("seed each rank differently" in doubt for doubt in doubts)


def test_rows_that_are_drawn_in_such_a_loop_are_each_ranks_own() -> None:
    drawing = (
        "rng = np.random.RandomState(0)\ndef batch(length):\n    return rng.rand(B, length), rng.rand(B)\n"
    )
    loop = "step = 0\nwhile step < 600:\n    x, y = batch(4 + step // 100)\n    train(x, y)\n    step += 1\n"
    assert "rng = np.random.RandomState(hvd.rank())" in lines(drawing + loop)


def test_a_function_that_makes_a_number_of_what_it_is_told_selects_by_it() -> None:
    function = "def train_one(step):\n    start = step * B % len(X)\n    train(X[start:start + B], Y[start:start + B])\n"
    text = lines(
        function + "    if step % 50 == 0:\n        model.save_weights('w.h5')\n" + FOR + "    train_one(i)\n"
    )
    assert "def train_one(step, own_step):" in text
    assert "start = own_step * B % len(X)" in text
    assert "train_one(i, own_i)" in text


def test_a_logarithm_of_a_number_is_no_log() -> None:
    body = "    step = i + 1\n    train(X[step * B:(step + 1) * B], Y[step * B:(step + 1) * B])\n"
    text = lines(FOR + body + "    rate = 0.1 / np.log(step + 1)\n    opt.learning_rate = rate\n")
    assert "own_step = own_i + 1" in text
    printing = lines(FOR + body + "    print('step', step)\n")
    assert any(line.startswith("for i in range(hvd.rank(), ") for line in printing)


TRAIN_AT = "def train_at(i, {0}):\n    {1}\n    train(X[i * B : (i + 1) * B], Y[i * B : (i + 1) * B])\n"
RATE, KEPT = "opt.learning_rate = rate", "model.save_weights('w.h5') if save else None"
ROUNDS = "for i, own_i in rounds(range(200)):"


@pytest.mark.parametrize(
    ("function", "call", "told"),
    [
        (
            TRAIN_AT.format("rate", RATE),
            "train_at(i, 0.1 * 0.99 ** i)",
            "train_at(own_i, 0.1 * 0.99 ** min(i * hvd.size(), 200 - 1))",
        ),
        (
            TRAIN_AT.format("rate", RATE),
            "train_at(rate=0.1 * 0.99 ** i, i=i)",
            "train_at(rate=0.1 * 0.99 ** min(i * hvd.size(), 200 - 1), i=own_i)",
        ),
        (
            TRAIN_AT.format("save=False", KEPT),
            "train_at(i, save=i % 50 == 0)",
            "train_at(own_i, save=i % max(1, 50 // hvd.size()) == 0)",
        ),
        (
            TRAIN_AT.format("rate", RATE.replace("rate =", "rate = 0.1 * 0.99 **")),
            "train_at(i, i)",
            "train_at(own_i, i)",
        ),
    ],
)
def test_a_function_that_is_told_it_for_one_thing_and_another(function: str, call: str, told: str) -> None:
    after = lines(function + FOR + f"    {call}\n")
    assert ROUNDS in after
    assert told in after


def test_what_reads_a_batch_is_told_the_ranks_own_alone() -> None:
    after = lines(
        "def batch(i, noise):\n    return X[i * B : (i + 1) * B] + noise, Y[i * B : (i + 1) * B]\n"
        + FOR
        + "    train(*batch(i, 0.1 / (1 + i)))\n"
    )
    assert ROUNDS not in after
    assert "train(*batch(i, 0.1 / (1 + i)))" in after


@pytest.mark.parametrize(
    "made",
    [
        "x = X[i * B : (i + 1) * B] + 0.1 / (1 + i)",
        "noise = 0.1 / (1 + i)\n    x = X[i * B : (i + 1) * B] + noise * np.random.rand(B, 4)",
    ],
)
def test_rows_that_are_changed_by_it_are_changed_by_as_much(made: str) -> None:
    after = lines(FOR + f"    {made}\n    train(x, Y[i * B : (i + 1) * B])\n")
    assert ROUNDS in after
    assert any("0.1 / (1 + min(i * hvd.size(), 200 - 1))" in line for line in after)


@pytest.mark.parametrize(
    "made",
    ["order = list(range(200))\nfor e in range(3):\n", "for e in range(3):\n    order = list(range(200))\n"],
)
def test_numbers_in_a_list_that_is_shuffled(made: str) -> None:
    after = lines(
        "import random\n" + made + "    random.shuffle(order)\n    for i in order:\n"
        "        train(X[i * B : (i + 1) * B], Y[i * B : (i + 1) * B])\n"
    )
    assert "for i in shard(order):" in after
    assert "order[:] = hvd.broadcast_object(order)" in after


def test_numbers_in_a_list_that_is_shuffled_and_that_count() -> None:
    after = lines(
        "import random\norder = list(range(200))\nrandom.shuffle(order)\nfor i in order:\n"
        "    train(X[i * B : (i + 1) * B], Y[i * B : (i + 1) * B])\n    if i == 100:\n        model.save_weights('w.h5')\n"
    )
    assert "for i in order:" in after


TAIL = "    if {test}:\n        rows, values = X[i * B:], Y[i * B:]\n"
WHOLE = "rows, values = X[i * B:i * B + B], Y[i * B:i * B + B]\n"
COUNTED = "    if i % 50 == 0:\n        model.save_weights('w.h5')\n"


@pytest.mark.parametrize("test", ["i == last", "i >= last", "(i + 1) * B > len(X)", "i == len(X) // B - 1"])
@pytest.mark.parametrize(
    "choice", [f"    {WHOLE}{TAIL}", f"{TAIL}    else:\n        {WHOLE}"], ids=["before", "else"]
)
def test_a_test_that_says_which_rows_are_those_of_a_turn_goes_by_the_ranks_own(
    choice: str, test: str
) -> None:
    """Else all ranks would take what is left of the rows in the last turn, or none."""
    head = "last = len(X) // B - 1\nfor i in range(len(X) // B):\n"
    text = plan_of(HEAD + head + choice.format(test=test) + "    train(rows, values)\n" + COUNTED).text
    assert f"    if {test.replace('i', 'own_i', 1)}:\n        rows, values = X[own_i * B:]," in text
    assert "    if i % max(1, 50 // hvd.size()) == 0 and hvd.rank() == 0:\n" in text


@pytest.mark.parametrize(
    "choice",
    [
        "    if i == 100:\n        held = X[i * B:]\n    rows, values = held[i:i + B], Y[i:i + B]\n",  # stays for later turns
        f"    {WHOLE}    if i == 100:\n        rows, other = X[i:], Y[i:]\n",
        f"    {WHOLE}    if i == 100:\n        rows = X[i:]\n        opt.learning_rate = 0.01\n",
        f"    {WHOLE}    if i == 100:\n        rows = X[:B]\n",  # by no number
        f"    if i == 100:\n        rows, other = X[i:], Y[i:]\n    else:\n        {WHOLE}",
    ],
)
def test_a_test_that_does_more_than_to_select_counts(choice: str) -> None:
    text = plan_of(HEAD + "held = X\n" + FOR + choice + "    train(rows, values)\n").text
    assert "own_i == 100" not in text
    assert "for i, own_i in rounds(range(200)):" in text


@pytest.mark.parametrize("array", ["np.array", "np.asarray", "tf.constant"])
def test_rows_that_are_made_of_the_number_go_with_those_it_selects(array: str) -> None:
    """One rank's row would have another's label."""
    text = lines(
        f"{FOR}    train(X[i : i + 1], {array}([[2.0 * i]]))\n    if i % 50 == 0:\n        model.save_weights('w')\n"
    )
    assert f"train(X[own_i : own_i + 1], {array}([[2.0 * own_i]]))" in text
    assert "if i % max(1, 50 // hvd.size()) == 0 and hvd.rank() == 0:" in text


def test_a_number_that_a_step_is_given_counts() -> None:
    """Near miss: no row, but how far training is."""
    text = lines(f"{FOR}    opt.learning_rate = 0.1 / (i + 1)\n    train(X[i : i + 1], Y[i : i + 1])\n")
    assert "for i, own_i in rounds(range(200)):" in text
    assert "opt.learning_rate = 0.1 / (min(i * hvd.size(), 200 - 1) + 1) * hvd.size()" in text
