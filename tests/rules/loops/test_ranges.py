"""G4, S5: loops over ranges whose variable selects the batch, counts, or both; and the helper that deals them out."""

from __future__ import annotations

import pytest

from ..dividing import TAPE, Rank, check, divide, helper, unchanged
from ..pairs import plan_of

SELECTS = "step(a[i * 3 : (i + 1) * 3], b)"


OWN = "shard(range(n))"


def test_a_variable_that_only_selects_is_dealt_out() -> None:
    check(TAPE, f"for i in range(n):\n    {SELECTS}\n", f"for i in {OWN}:\n    {SELECTS}\n")


@pytest.mark.parametrize(
    "counts",
    [
        "if (i + 1) % 4 == 0:\n        model.save('m')",
        "if i == n - 1:\n        pass",
        "log(i)",
        "log[i] = 1",
    ],
)
def test_a_variable_that_counts_too_goes_on_counting_the_same_on_all_ranks(counts: str) -> None:
    check(
        TAPE,
        f"for i in range(n):\n    step(a[i * 3 : i * 3 + 3], b)\n    {counts}\n",
        f"for i, own_i in rounds(range(n)):\n    step(a[own_i * 3 : own_i * 3 + 3], b)\n    {counts}\n",
    )


@pytest.mark.parametrize(
    "loads", ["global rows\n    rows = a[0:n]", "box.rows = a[0:n]", "return a[0:n]", "print(a[n])"]
)
def test_a_function_that_loads_what_a_number_says_is_given_the_ranks_own(loads: str) -> None:
    check(
        TAPE + f"def load_batch(n):\n    {loads}\n",
        "for i in range(n):\n    load_batch(i)\n    step(*draw(3))\n    log(i)\n",
        "for i, own_i in rounds(range(n)):\n    load_batch(own_i)\n    step(*draw(3))\n    log(i)\n",
    )


def test_a_function_that_draws_samples_is_told_the_turn_that_is_printed() -> None:
    """Its result is dropped, and it keeps nothing: it can't be what loads a batch, whatever its name."""
    body = "    step(*draw(3))\n    print(i)\n    if i % 50 == 0:\n        sample_images(i)\n"
    check(
        TAPE + "def sample_images(n):\n    plt.savefig('images/%d.png' % n)\n",
        f"for i in range(1000):\n{body}",
        f"for i in range(1000 // hvd.size()):\n{body}",
    )


def test_what_is_set_from_the_variable_on_the_way_to_the_data_is_the_ranks_own() -> None:
    check(
        TAPE,
        "for i in range(0, n, 3):\n    end = i + 3\n    step(a[i:end], b)\n    if i % 30 == 0:\n        print(i)\n",
        "for i, own_i in rounds(range(0, n, 3)):\n    end = own_i + 3\n    step(a[own_i:end], b)\n"
        "    if i % 30 == 0:\n        print(i)\n",
    )


@pytest.mark.parametrize(
    "shown", ["print(i)", "print(f'{i} of {n}', step(a[0], b))", "if ready:\n        print('at', i)"]
)
def test_a_variable_that_is_only_printed_besides_is_the_ranks_own(shown: str) -> None:
    """Only rank 0 shows it: no second variable is needed."""
    steps = f"    step(a[i : i + 3], b)\n    {shown}\n"
    check(TAPE, f"for i in range(n):\n{steps}", f"for i in {OWN}:\n{steps}")


def test_of_enumerate_the_item_is_dealt_out() -> None:
    check(
        TAPE,
        "for k, i in enumerate(range(0, n, 3)):\n    step(a[i : i + 3], b)\n    log(k, i)\n",
        "for k, (i, own_i) in enumerate(rounds(range(0, n, 3))):\n    step(a[own_i : own_i + 3], b)\n    log(k, i)\n",
    )


def test_a_number_of_enumerate_that_selects_is_dealt_out_with_its_item() -> None:
    check(
        TAPE,
        "for i, name in enumerate(names):\n    step(a[i * 3 : i * 3 + 3], name)\n",
        "for i, name in shard_batches(enumerate(names)):\n    step(a[i * 3 : i * 3 + 3], name)\n",
    )
    check(
        TAPE,
        "for i, x in enumerate(batches):\n    step(x, 0)\n    print(i)\n",
        "for i, x in enumerate(shard_batches(batches)):\n    step(x, 0)\n    print(i)\n",
    )


def test_a_loop_that_says_what_is_trained_deals_out_nothing() -> None:
    model = "class Net:\n    def fit(self, x):\n        step(x, 0)\nnets = [Net(), Net()]\n"
    check(
        TAPE + model,
        "for k in range(1000):\n    for net in nets:\n        net.fit(draw(3))\n",
        "for k in range(1000 // hvd.size()):\n    for net in nets:\n        net.fit(draw(3))\n",
    )


def test_a_short_loop_of_batches_in_a_loop_of_epochs_is_the_one_that_is_divided() -> None:
    check(
        TAPE,
        "for epoch in range(10):\n    for k in range(8):\n        step(*draw(3))\n",
        "for epoch in range(10):\n    for k in range(max(1, 8 // hvd.size())):\n        step(*draw(3))\n",
    )


def test_a_run_that_goes_on_from_a_checkpoint_ends_where_one_that_did_not_stop_ends() -> None:
    check(
        TAPE + "start = int(tf.train.latest_checkpoint('d').split('-')[-1])\n",
        "for k in range(start, STEPS):\n    step(*draw(3))\n",
        "start = hvd.broadcast_object(start)\nfor k in range(start, STEPS, hvd.size()):\n    step(*draw(3))\n",
    )


@pytest.mark.parametrize(
    ("numbers", "own"),
    [
        ("range(5)", "range(hvd.rank(), 5 // hvd.size() * hvd.size(), hvd.size()) or [hvd.rank() % 5]"),
        ("range(500)", "range(hvd.rank(), 500 // hvd.size() * hvd.size(), hvd.size())"),
        ("range(0, 500)", "range(hvd.rank(), 500 // hvd.size() * hvd.size(), hvd.size())"),
        # near misses: other numbers, what would be computed twice, and what may be fewer than ranks
        ("range(0, n)", "shard(range(0, n))"),
        ("range(n)", "shard(range(n))"),
        ("range(0, n, 3)", "shard(range(0, n, 3))"),
        ("range(len(a) // 3)", "shard(range(len(a) // 3))"),
        ("np.arange(n)", "shard(np.arange(n))"),
    ],
)
def test_numbers_are_a_ranks_own(numbers: str, own: str) -> None:
    check(TAPE, f"for i in {numbers}:\n    {SELECTS}\n", f"for i in {own}:\n    {SELECTS}\n")


@pytest.mark.parametrize(("n", "size"), [(7, 2), (8, 4), (3, 4), (500, 7), (1, 1)])
def test_ranks_take_all_numbers_and_equally_many(n: int, size: int) -> None:
    """As `shard` gives them: one to each rank where there are fewer than ranks, and each to some rank."""
    text = plan_of(TAPE + f"for i in range({n}):\n    {SELECTS}\n").text
    own = next(line for line in text.splitlines() if line.startswith("for i in range(")).split(" in ")[1]
    shares = [list(eval(own.rstrip(":"), {"hvd": Rank(rank, size)})) for rank in range(size)]
    assert len({len(share) for share in shares}) == 1
    whole = n // size * size
    taken = sorted(i for share in shares for i in share)
    assert (
        taken == list(range(whole)) if whole else set(taken) == set(range(n)) and len(taken) == size * bool(n)
    )


def test_a_variable_that_is_bound_anew_is_dealt_out_as_it_is() -> None:
    check(
        TAPE,
        "for i in range(n):\n    i = i * 3\n    step(a[i], b)\n    print(i)\n",
        f"for i in {OWN}:\n    i = i * 3\n    step(a[i], b)\n    print(i)\n",
    )


def test_loops_that_only_evaluate_stay() -> None:
    unchanged(TAPE, "for i in range(n):\n    model(a[i])\n    print(i)\n")


# ---------------------------------------------------------------------- the helper


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("items", [range(7), range(0, 60, 6), list("abcdef")], ids=str)
def test_rounds(size: int, items: list[object]) -> None:
    ranks = [helper("rounds", rank, size)(items) for rank in range(size)]
    shared = [[item for item, _ in rounds] for rounds in ranks]
    assert all(one == shared[0] for one in shared), "all ranks count the same"
    assert len(shared[0]) == len(items) // size
    assert shared[0][-1] == items[-1], "the end is seen"
    own = [item for rounds in ranks for _, item in rounds]
    assert sorted(own) == sorted(items[: len(items) // size * size]), "each item is one rank's"
    if size == 1:
        assert ranks[0] == [(item, item) for item in items]


def test_of_fewer_items_than_ranks_each_takes_one() -> None:
    """All of them on each rank would be as many steps as alone, each with the rate of three ranks' batches."""
    assert [helper("rounds", rank, 3)([4, 5]) for rank in range(3)] == [[(5, 4)], [(5, 5)], [(5, 4)]]
    assert helper("rounds", 1, 3)([]) == []


def test_a_number_of_steps_that_tells_the_last_one_is_divided_where_it_is_made() -> None:
    body = (
        "for k in range(STEPS):\n    step(*draw(3))\n    if k % 10 == 0 or k + 1 == STEPS:\n        save()\n"
    )
    check(TAPE, "STEPS = 1000\n" + body, "STEPS = 1000 // hvd.size()\n" + body)
    other = body + "log(STEPS)\n"  # used for something else, too
    check(
        TAPE, "STEPS = 1000\n" + other, "STEPS = 1000\n" + other.replace("(STEPS):", "(STEPS // hvd.size()):")
    )


def test_a_range_with_a_name_is_divided_where_it_is_made() -> None:
    """What else it is used for goes on fitting what the loop collects."""
    loop = "for i in turns:\n    step(a, b)\n    seen.append(i)\nplt.plot(turns, seen, len(turns))\n"
    check(TAPE, "turns = range(n)\n" + loop, "turns = range(max(1, n // hvd.size()))\n" + loop)


def test_a_range_that_is_made_before_horovod_is_there_stays() -> None:
    text = plan_of(
        "turns = range(900)\nimport tensorflow as tf\nw = tf.Variable(1.0)\nopt = tf.keras.optimizers.SGD(0.1)\n"
        "for i in turns:\n    with tf.GradientTape() as tape:\n        loss = w * draw()\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, [w]), [w]))\n"
    ).text
    assert text.startswith("turns = range(900)\n")
    assert "for i in shard(turns):\n" in text


@pytest.mark.parametrize(
    "before",
    [
        "turns = range(n)\nfor j in turns:\n    print(j)\n",
        "turns = range(n)\nsquares = [j * j for j in turns]\n",
        "turns = range(n) if n > 3 else range(3)\n",
        "for fold in range(2):\n    turns = range(fold)\n",
    ],
)
def test_a_range_with_a_name_that_others_go_through_stays_as_it_is_made(before: str) -> None:
    loop = "for i in {}:\n    step(a, b)\n"
    text = divide(TAPE + before + loop.format("turns")).text
    assert before in text
    assert "in turns:\n    step" not in text


def test_so_many_more_steps_after_those_of_a_checkpoint() -> None:
    source = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32)
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(x - tf.Variable(1.0)), global_step=count)
with tf.Session() as sess:
    tf.train.Saver().restore(sess, tf.train.latest_checkpoint('d'))
    start = sess.run(count)
    for i in range(start, start + 1000):
        sess.run(train, {x: data.next_batch(8)})
"""
    assert "range(start, start + 1000 // hvd.size()):" in plan_of(source).text


def test_one_turn_more_stays_one_more() -> None:
    """`for i in range(n + 1)` with `i % n == 0`: the last turn saves."""
    loop = "for i in range(n + 1):\n    x, y = draw(32)\n    step(x, y)\n"
    assert "range(n // hvd.size() + 1)" in plan_of(TAPE + "from feeds import draw\nn = 900\n" + loop).text


@pytest.mark.parametrize("last", ["np.min([n, (i + 1) * 32])", "min(n, i * 32 + 32)", "int(i * 32 + 32)"])
def test_both_ends_of_a_slice_are_a_ranks_own(last: str) -> None:
    loop = "for i in range(n):\n    first = i * 32\n    last = {}\n    step(a[first:last], b)\n    note(i)\n"
    text = plan_of(TAPE + "from notes import note\nn = 900\n" + loop.format(last)).text
    assert "first = own_i * 32\n" in text
    assert f"last = {last.replace('i + 1', 'own_i + 1').replace('i * 32', 'own_i * 32')}\n" in text


@pytest.mark.parametrize(
    ("loop", "last"),
    [
        ("range(n)", "n - 1"),
        ("range(n + 2)", "(n + 2) - 1"),
        ("range(1, n)", "n - 1"),
        ("range(0, n, 3)", "range(0, n, 3)[-1]"),
    ],
)
def test_a_rate_by_a_turn_that_is_counted_alike_ends_where_it_ended(loop: str, last: str) -> None:
    """The last turn of `rounds` is the last of all ranks already: twice that is beyond the end."""
    text = plan_of(
        f"{TAPE}for i in {loop}:\n    opt.learning_rate.assign(0.1 * (1 - i / n))\n    step(a[i : i + 3], b)\n"
    ).text
    assert f"for i, own_i in rounds({loop}):\n" in text
    assert f"    opt.learning_rate.assign(0.1 * (1 - min(i * hvd.size(), {last}) / n) * hvd.size())\n" in text


SCHEDULE = "import numpy as np\ntable = {made}\n"
CURVES = [
    "np.linspace(0.9, 1.0, n)",
    "0.5 * (1 + np.cos(np.pi * np.arange(len(a)) / 9))",
    "np.concatenate((np.linspace(0.0, 0.1, 5), np.full(len(a) - 5, 0.1)))",
    "[0.1 * 0.99 ** t for t in range(len(a))]",
]


@pytest.mark.parametrize("made", CURVES)
def test_the_index_of_a_schedule_counts(made: str) -> None:
    """All ranks read the same number of it, that of the steps of all."""
    loop = "for i in range(n):\n    opt.learning_rate.assign(table[i])\n    step(a[i * 3 : i * 3 + 3], b)\n"
    text = plan_of(TAPE + SCHEDULE.format(made=made) + loop).text
    assert "for i, own_i in rounds(range(n)):\n" in text
    assert "    opt.learning_rate.assign(table[min(i * hvd.size(), n - 1)] * hvd.size())\n" in text
    assert "    step(a[own_i * 3 : own_i * 3 + 3], b)\n" in text


@pytest.mark.parametrize(
    "setting",
    [
        "opt.learning_rate = {}",
        "opt.learning_rate.assign({})",
        "tf.keras.backend.set_value(opt.lr, {})",
        "rate = {}\n    print(rate)\n    opt.lr = rate",
    ],
)
@pytest.mark.parametrize("made", ["[0.1, 0.02, 0.005]", "{0: 0.1, 1: 0.05}", "load()"])
def test_ranks_set_the_same_rate_from_any_table(made: str, setting: str) -> None:
    """A rank's own number would give each its own rate, where the number comes to the next of a few."""
    rate = setting.format("table[i // 100]")
    loop = f"for i in range(n):\n    print(table[i // 100])\n    {rate}\n    step(a[i * 3 : i * 3 + 3], b)\n"
    text = plan_of(TAPE + SCHEDULE.format(made=made) + loop).text
    assert "for i, own_i in rounds(range(n)):\n" in text
    assert "table[own_i" not in text


@pytest.mark.parametrize(
    ("made", "body"),
    [
        ("np.linspace(-1, 1, n)", "step(table[i], b)"),  # rows
        ("[0.1, 0.02]", "opt.lr.assign(table[0])\n    step(table[i], b)"),
        ("[0.1, 0.02]", "x = table[i]\n    opt.lr.assign(x)\n    step(x, b)"),
        ("np.linspace(-1, 1, n)", "row = table[i]\n    step(row, b)"),
        ("np.linspace(-1, 1, n)", "row = table[i]\n    print(row)\n    step(row, b)"),
        (
            "[a[t] for t in range(n)]",
            "box.append(table[i])\n    step(box, b)",
        ),  # no numbers of the script's own
        ("np.arange(n)", "box.append(table[i])\n    step(box, b)"),  # no curve: an order
        ("load() / 255", "box.append(table[i])\n    step(box, b)"),
    ],
)
def test_the_index_of_rows_selects(made: str, body: str) -> None:
    check(
        TAPE + SCHEDULE.format(made=made),
        f"for i in range(n):\n    {body}\n",
        f"for i in {OWN}:\n    {body}\n",
    )


def test_a_loop_that_only_looks_up_its_rate_takes_fewer_turns() -> None:
    loop = (
        "for i in range(n):\n    opt.learning_rate.assign(table[i])\n"
        "    step(*a.sample(9))\n    opt.learning_rate.assign(table[i])\n"
    )
    text = plan_of(TAPE + "table = np.geomspace(1e-5, 1.0, 100)\n" + loop).text
    assert "for i in range(max(1, n // hvd.size())):\n" in text
    assert "table[i * hvd.size()]" in text


ROBIN = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 6])
one = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2))
two = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2 + 1))
tasks = [(one, "one"), (two, "two")]
parts = [load(0), load(1)]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3000):
        {body}
"""


FED_LATER = """\
import tensorflow.compat.v1 as tf
from net import Net, one, keys
net = Net()
w = tf.get_variable('w', [1])
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(net.one * w - net.two))
a, b = load()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(100):
        feed = {{net.one: a[i * 8 : i * 8 + 8]}}
        feed[{key}] = b[i * 8 : i * 8 + 8]
        loss, _ = sess.run([net.loss, train], feed)
        if i % 50 == 0:
            print(loss)
            saver.save(sess, 'net')
"""


@pytest.mark.parametrize(
    "body",
    [
        "op, name = tasks[step % 2]\n        sess.run(op, {x: draw()})",
        "op, name = tasks[step % 2]\n        sess.run([op], {x: draw()})",
    ],
)
def test_an_index_that_picks_what_is_run_counts(body: str) -> None:
    """Ranks that ran others would wait for each other forever."""
    text = plan_of(ROBIN.format(body=body)).text
    assert "    for step in range(3000 // hvd.size()):\n" in text


def test_an_index_that_picks_what_is_fed_selects() -> None:
    text = plan_of(ROBIN.format(body="sess.run([one, two], {x: parts[step]})")).text
    assert "    for step in range(hvd.rank(), 3000 // hvd.size() * hvd.size(), hvd.size()):\n" in text


@pytest.mark.parametrize("key", ["one", "net.two", "keys['two']"])
def test_rows_that_are_put_into_what_is_fed_are_the_ranks_own(key: str) -> None:
    """`sess.run(net.train, feed)` runs no rows that were put there beside `net.y`: they'd have been those of another batch."""
    text = plan_of(FED_LATER.format(key=key)).text
    assert "feed = {net.one: a[own_i * 8 : own_i * 8 + 8]}\n" in text
    assert f"feed[{key}] = b[own_i * 8 : own_i * 8 + 8]\n" in text


PAIRS = "zip(range(0, n, 3), range(3, n, 3))"


def test_pairs_of_numbers_that_only_select_are_dealt_out() -> None:
    body = "    step(a[i:j], b)\n"
    check(TAPE, f"for i, j in {PAIRS}:\n{body}", f"for i, j in shard_batches({PAIRS}):\n{body}")


@pytest.mark.parametrize(
    "loop",
    [
        "for i, j in {}:\n",
        "for k, (i, j) in enumerate({}):\n",
        "for k, (i, j) in enumerate({}):\n    print(c[k])\n",
    ],
)
def test_pairs_of_numbers_that_are_dealt_out_select_what_they_say(loop: str) -> None:
    """The step squares what it is given, which made a formula of the numbers: `a[i * hvd.size() : …]`, past the last row."""
    taken = "    with tf.GradientTape() as tape:\n        loss = (model(x) - y) ** 2\n"
    head = TAPE.replace("    with tf.GradientTape() as tape:\n        loss = model(x) - y\n", taken)
    assert taken in head
    text = plan_of(head + loop.format(PAIRS) + "    step(a[i:j], b[i:j])\n").text
    assert "    step(a[i:j], b[i:j])\n" in text
    assert "shard_batches(" in text


@pytest.mark.parametrize("target", ["i, j", "(i, j)"])
def test_of_pairs_of_numbers_one_goes_on_counting_the_same_on_all_ranks(target: str) -> None:
    """An event of every 300 rows that read a rank's own rows would never come to most ranks, and too often to others."""
    check(
        TAPE,
        f"for {target} in {PAIRS}:\n    step(a[i:j], b)\n    if i % 300 == 0:\n        model.save('m')\n",
        f"for (i, j), (own_i, own_j) in rounds(list({PAIRS})):\n    step(a[own_i:own_j], b)\n"
        "    if i % 300 == 0:\n        model.save('m')\n",
    )


def test_a_test_that_picks_the_rows_of_a_turn_asks_for_the_ranks_own_number() -> None:
    picked = "    x = rows if i % 2 == 0 else b[i * 3 : i * 3 + 3]\n    step(x, x)\n    log(i)\n"
    check(
        TAPE,
        f"for i in range(n):\n    rows = a[i * 3 : i * 3 + 3]\n{picked}",
        "for i, own_i in rounds(range(n)):\n    rows = a[own_i * 3 : own_i * 3 + 3]\n"
        "    x = rows if own_i % 2 == 0 else b[own_i * 3 : own_i * 3 + 3]\n    step(x, x)\n    log(i)\n",
    )


@pytest.mark.parametrize(
    "counts",
    [
        "if i % 2 == 0:\n        x = next(one)\n    else:\n        x = next(two)\n    step(rows, x)",  # drawn
        "if i % 2 == 0:\n        step(rows, 1)\n    else:\n        other(rows, 1)",
        "x = 0 if i % 2 == 0 else 1\n    step(rows, 1)\n    print(x)",  # shown
        "if i % 5 == 0:\n        kept = a[0:3]\n    step(rows, kept)",  # for the turns that follow, too
    ],
)
def test_what_else_hangs_on_such_a_test_goes_by_the_turn_of_all_ranks(counts: str) -> None:
    head = TAPE + "def other(x, y):\n    return step(y, x)\n"
    loop = f"    rows = a[{{0}} * 3 : {{0}} * 3 + 3]\n    {counts}\n    log(i)\n"
    result = divide(f"{head}for i in range(n):\n{loop.format('i')}").text
    assert "for i, own_i in rounds(range(n)):\n    rows = a[own_i * 3 : own_i * 3 + 3]\n" in result
    assert counts.splitlines()[0] in result


def test_an_index_that_picks_what_is_drawn_of_selects_no_rows() -> None:
    """Dealt out, some ranks would draw of one of them alone; of four ranks, two the same."""
    check(
        TAPE,
        "for i in range(1000):\n    x, y = tasks[i % 2].next_batch(16)\n    step(x, y)\n",
        "for i in range(1000 // hvd.size()):\n    x, y = "
        "[tasks[i % 2].next_batch(16) for _ in range(hvd.size())][hvd.rank()]\n    step(x, y)\n",
    )


TRACED = """\
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))).repeat().batch(4)
model, opt = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(0.1)
it = iter({data})
for _ in trange(done % 640, 640, 16):
    x = next(it)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(("data", "asked"), [("ds", True), ("load()", False)])
def test_a_loop_that_stays_is_asked_about_where_its_data_are_divided(data: str, asked: bool) -> None:
    plan = plan_of("from tqdm import trange\nfrom own import done, load\n" + TRACED.format(data=data))
    assert any("how many steps this loop takes" in c.doubt for c in plan.changes) is asked
    assert ("SGD(0.1 * hvd.size())" in plan.text) is asked
    assert any("this loop is not divided" in n.message for n in plan.notes) is not asked


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("i == n - 1", "i == n - 1"),
        ("i + 1 == n", "i + 1 == n"),
        ("i >= n - 1", "i >= n - 1"),
        ("i in (30, n - 1)", "i in (max(1, 30 // hvd.size()), n - 1)"),
        ("i in AT", "i in [k and max(1, k // hvd.size()) if k < n - 1 else k for k in AT]"),
        ("i == n", "i == min(n, max(1, n // hvd.size()))"),  # never
        ("i + 2 == n", "i + 2 == min(n, max(1, n // hvd.size()))"),
        ("i == n // 2", "i == min(n // 2, max(1, n // 2 // hvd.size()))"),
    ],
)
def test_what_happens_in_the_last_turn_still_does(test: str, told: str) -> None:
    """Its number is that of the last of all, on ranks too."""
    body = f"    step(a[i * 3 : i * 3 + 3], b)\n    if {test}:\n        keep(model)\n"
    assert f"    if {told}:\n" in plan_of(f"{TAPE}AT = [30, 99]\nfor i in range(n):\n{body}").text


@pytest.mark.parametrize("numbers", ["range(1, n + 1)", "range(1, 1 + n)", "range(n + 1)"])
@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("i == n", "i == n"),
        ("i % 30 == 0 or i == n", "i % max(1, 30 // hvd.size()) == 0 or i == n"),
        ("i == n - 1", "i == max(1, n // hvd.size()) - 1"),
        ("i == n + 1", "i == max(1, n // hvd.size()) + 1"),  # never
    ],
)
def test_the_last_of_turns_that_are_counted_from_one(numbers: str, test: str, told: str) -> None:
    body = f"    step(a[i * 3 : i * 3 + 3], b)\n    if {test}:\n        keep(model)\n"
    assert f"    if {told}:\n" in plan_of(f"{TAPE}for i in {numbers}:\n{body}").text


@pytest.mark.parametrize(("last", "stays"), [("120", True), ("STEPS", True), ("121", False), ("119", False)])
def test_the_last_of_turns_that_are_counted_from_one_is_known_by_its_number(last: str, stays: bool) -> None:
    loop = f"for i in range(1, STEPS + 1):\n    step(a[i * 3 : i * 3 + 3], b)\n    if i == {last}:\n        keep(model)\n"
    assert (f"    if i == {last}:\n" in plan_of(f"{TAPE}STEPS = 120\n{loop}").text) == stays


@pytest.mark.parametrize(("last", "stays"), [("119", True), ("120", False), ("118", False)])
def test_the_last_turn_is_known_by_its_number(last: str, stays: bool) -> None:
    loop = f"for i in range(STEPS):\n    step(a[i * 3 : i * 3 + 3], b)\n    if i == {last}:\n        keep(model)\n"
    assert (f"    if i == {last}:\n" in plan_of(f"{TAPE}STEPS = 120\n{loop}").text) == stays


@pytest.mark.parametrize(
    ("numbers", "told"),
    [("range(5)", True), ("range(1, 6)", True), ("range(500)", False), ("range(n)", False)],
)
def test_what_is_left_over_of_few_is_said(numbers: str, told: bool) -> None:
    plan = plan_of(TAPE + f"for i in {numbers}:\n    {SELECTS}\n")
    assert any("ranks take equally many" in n.message for n in plan.notes) is told


KEPT = """\
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def step(a):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
np.random.seed(7)
n = 200
{}
for i in range(n):
    {}
    if i > 0 and abs(losses[i] - losses[i - 1]) < 0.1:
        break
"""


@pytest.mark.parametrize(
    ("begins", "keeps"),
    [
        ("losses = np.zeros(n)", "losses[i] = {}"),
        ("losses = [0.0] * n", "losses[i] = {}"),
        ("losses = {}", "losses[i] = {}"),
        ("losses = []", "losses.append({})"),
    ],
)
def test_what_a_loop_keeps_of_its_turns_is_read_by_what_it_was_kept_by(begins: str, keeps: str) -> None:
    """By a number of the rank's own it would read what no turn has kept yet: ranks would end at once."""
    selected = plan_of(KEPT.format(begins, keeps.format("step(x[i])"))).text
    assert keeps.format("step(x[own_i])") in selected
    assert "abs(losses[i] - losses[i - 1])" in selected
    drawn = plan_of(KEPT.format(begins, keeps.format("step(x[np.random.choice(900, 8)])"))).text
    assert "for i in range(n // hvd.size()):" in drawn
    assert (
        "np.random.seed(7 + hvd.rank())" in drawn
    )  # nothing is selected by `i`: ranks must draw differently
    assert "abs(losses[i] - losses[i - 1])" in drawn


def test_rows_that_a_loop_changes_are_still_selected() -> None:
    """They were there before the loop: what it keeps is no more than another row in their place."""
    text = plan_of(
        KEPT.format("losses = np.load('y.npy')", "losses[i] = step(x[np.array([losses[i]])])")
    ).text
    assert "[losses[own_i]]" in text
