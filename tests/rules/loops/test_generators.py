"""Generators of batches that are divided where they count, and those that must not be."""

from __future__ import annotations

import pytest

from ..dividing import KERAS, TAPE, check
from ..pairs import plan_of

HEAD = KERAS + "import cv2, mine\nx, y = mine.load()\ncount = 0\n"
FIT = "model.fit(batches(), steps_per_epoch=100)\n"


def generator(turn: str, numbers: str = "range(0, 960, 8)", before: str = "", after: str = "") -> str:
    return f"def batches():\n    while True:\n{before}        for i in {numbers}:\n{turn}{after}"


YIELD = "            yield x[i:i + 8], y[i:i + 8]\n"


@pytest.mark.parametrize(
    "made",
    [
        generator("            count += 1\n" + YIELD),
        generator("            rows = x[i:i + 8]\n            yield last, y[i:i + 8]\n            last = rows\n"),
        generator("            if i > 8:\n                yield x[i:i + 8], y[i:i + 8]\n"),
        generator("            if len(x) < i:\n                break\n" + YIELD),
        generator(YIELD + YIELD),
        generator("            np.random.shuffle(x)\n" + YIELD, before="        np.random.seed(1)\n"),
        generator("            x[i] = 0\n" + YIELD),
        generator("            held.append(i)\n" + YIELD, before="        held = []\n"),
        generator("            rows = source.next_batch(8)\n            yield rows, rows\n"),
        generator("            rows = mine.augmented(x)\n            yield rows, y[i:i + 8]\n"),
        generator("            yield x[:8], y[:8]\n"),
        generator("            if i > 8:\n                k = slice(i, i + 8)\n            yield x[k], y[k]\n"),
        generator(
            "            if i > 8:\n                k = i\n            else:\n                n = i\n"
            "            yield x[k], y[n]\n"
        ),
        generator(
            "            if i > 8:\n                k = last\n            else:\n                k = i\n"
            "            last = i\n            yield x[k], y[k]\n"
        ),
        generator(YIELD, "names"),
        generator("            rows = x[i:i + 8]\n" + YIELD, after="        print(rows)\n"),
    ],
    ids=[
        "it counts on", "it keeps a batch", "not every turn", "left early", "twice", "draws by a seed", "changes the data",
        "gathers", "a stream", "not seen", "not by the number", "set in one arm",
        "each set in one arm", "the last in one arm", "not of numbers", "read after the loop",
    ],
)  # fmt: skip
def test_what_turns_share_is_dealt_out_as_a_whole(made: str) -> None:
    text = plan_of(HEAD + made + FIT).text
    assert "in shard(" not in text
    assert "model.fit(shard_batches(batches())" in text


@pytest.mark.parametrize(
    "turn",
    [
        YIELD,
        "            rows = slice(i, i + 8)\n            yield x[rows].astype('float32'), np.eye(9)[y[rows]]\n",
        "            mine.count(8)\n            rows = mine.read(x[i:i + 8])\n            yield rows, y[i:i + 8]\n",
        "            pictures = [cv2.imread(p) for p in x[i:i + 8]]\n            yield np.stack(pictures), y[i:i + 8]\n",
        "            if len(x) > 9:\n                k = order[i:i + 8]\n            else:\n"
        "                k = slice(i, i + 8)\n            yield x[k], y[k]\n",
        "            k = slice(i, i + 8)\n            if len(x) > 9:\n                k = order[i:i + 8]\n"
        "            yield x[k], y[k]\n",
    ],
)
def test_each_rank_leaves_out_the_others_numbers(turn: str) -> None:
    text = plan_of(HEAD + generator(turn) + FIT).text
    assert "for i in shard(range(0, 960, 8)):" in text
    assert "model.fit(batches(), steps_per_epoch=100 // hvd.size()" in text


def test_other_calls_get_all_batches() -> None:
    made = "def batches(x, y, n=8{}):\n    for i in {}:\n        yield x[i:i + n], y[i:i + n]\n"
    loop = "for a, b in batches(x, y{}):\n    step(a, b)\nfor a, b in batches(v, w):\n    print(model(a))\n"
    check(
        TAPE + "import mine\nx, y, v, w = mine.load()\n",
        made.format("", "range(0, len(x), n)") + loop.format(""),
        made.format(", share=lambda numbers: numbers", "share(range(0, len(x), n))")
        + loop.format(", share=shard"),
    )


@pytest.mark.parametrize(
    "around",
    [
        "    for name in names:\n        part = x[name]\n",
        "    for part in x:\n        rest = 0\n",
        "    while True:\n        part = next(files)\n",
        "    while True:\n        part = mine.load()\n",
        "    for k in range(9):\n        path = names[k]\n        part = np.load(path)\n",
        "    k = 0\n    while k < 9:\n        part = x[k]\n        k += 1\n",
    ],
)
def test_passes_with_rows_of_their_own_are_dealt_out_as_one(around: str) -> None:
    """Of passes of 5 batches, 4 ranks would leave one out of each; 8 ranks would not divide them at all."""
    made = f"def batches():\n{around}        for i in range(5):\n            yield part[i:i + 8], part[i:i + 8]\n"
    text = plan_of(HEAD + made + FIT).text
    assert made in text
    assert "model.fit(shard_batches(batches())" in text


def test_a_generator_that_is_handed_on_stays_whole() -> None:
    made = generator(YIELD)
    text = plan_of(HEAD + made + "other = mine.threaded(batches)\n" + FIT).text
    assert made in text
    assert "shard_batches(batches())" in text


def test_orders_of_the_rows_are_drawn_alike() -> None:
    before = "        order = np.random.permutation(len(x))\n"
    turn = "            rows = order[i:i + 8]\n            yield x[rows], y[rows]\n"
    made = generator(turn, before=before).replace("    while True:\n", "    for _ in range(3):\n")
    text = plan_of(
        TAPE + "import mine\nx, y = mine.load()\n" + made + "for a, b in batches():\n    step(a, b)\n"
    ).text
    assert "order = hvd.broadcast_object(np.random.permutation(len(x)))" in text
    assert "shard(range(0, 960, 8))" in text


RETURNED = """\
def {}:
    while True:
        rows = np.random.randint(0, len(x), 8)
        yield [x[rows], x[rows]], y[rows]
def make(n):
    return {}
"""


@pytest.mark.parametrize(
    ("given", "fed", "after"),
    [
        ("[x, x], [y, y]", "train", "[shard(part) for part in train]"),  # lists of arrays
        ("x, y", "train", "train[share]"),
        ("draw(), draw()", "train", "train"),
        ("draw(), [x, y]", "train", "train"),
        ("draw(), draw()", "both[0]", "both[0]"),
    ],
)
def test_one_of_several_generators_that_a_function_returns_draws_its_own(
    given: str, fed: str, after: str
) -> None:
    y = "" if "draw" in given else "train, "
    made = "both = make(1)\ntrain, held_out = both\n" if "both" in fed else "train, held_out = make(1)\n"
    program = HEAD + RETURNED.format("draw()", given) + made
    text = plan_of(program + f"model.fit({fed}, {y}steps_per_epoch=100)\n").text
    assert f"model.fit({after}, " in text
    assert "steps_per_epoch=100 // hvd.size()" in text


def test_one_of_several_generators_that_a_function_returns_is_divided() -> None:
    both = "def make():\n    return batches(), batches()\ntrain, held_out = make()\n"
    text = plan_of(HEAD + generator(YIELD) + both + "model.fit(train, steps_per_epoch=100)\n").text
    assert "return batches(share=shard), batches()" in text
    assert "model.fit(train, steps_per_epoch=100 // hvd.size()" in text


# ---------------------------------------------------------------------- rows in order, and noise

ORDERED = TAPE + "import queue, threading, mine\nx, y = mine.load()\n"
STEP = "gen = batches()\nfor k in range(1000):\n    a, b = next(gen)\n    step(a, b)\n"
OWN = "[next(gen) for _ in range(hvd.size())][hvd.rank()]"
BLUR = "def blur(rows):\n    return rows + np.random.normal(0, 0.1, rows.shape)\n"


@pytest.mark.parametrize(
    "body",
    [
        "        for i in range(0, 960, 8):\n            yield blur(x[i:i + 8]), y[i:i + 8]\n",
        "        for i in range(0, 960, 8):\n            yield x[i:i + 8] + np.random.rand(8, 1), y[i:i + 8]\n",
        "        for i in range(0, 960, 8):\n            part = x[i:i + 8]\n            np.random.shuffle(part)\n"
        "            yield part, part\n",
        "        for rows in x:\n            yield blur(rows), rows\n",
        "        yield blur(x[n:n + 8]), y[n:n + 8]\n        n = (n + 8) % len(x)\n",
        "        first = n * 8\n        yield blur(x[first:first + 8]), y[first:first + 8]\n        n += 1\n",
        "        rows = next(files)\n        yield blur(rows), rows\n",
    ],
)
def test_noise_does_not_give_ranks_rows_of_their_own(body: str) -> None:
    """Every rank would take the same first 1/size() of the rows, and no rank the rest."""
    text = plan_of(ORDERED + BLUR + "def batches():\n    n = 0\n    while True:\n" + body + STEP).text
    assert f"a, b = {OWN}" in text


def test_nor_does_noise_in_what_a_fit_is_given() -> None:
    made = generator("            yield x[i:i + 8] + np.random.rand(8, 1), y[i:i + 8]\n")
    text = plan_of(HEAD + made + FIT).text
    assert "for i in shard(range(0, 960, 8)):" in text or "shard_batches(batches())" in text


@pytest.mark.parametrize(
    "body",
    [
        "        i = np.random.randint(0, 960, 8)\n        yield blur(x[i]), y[i]\n",
        "        order = np.random.permutation(len(x))\n        for i in range(0, 960, 8):\n"
        "            yield x[order[i:i + 8]], y[order[i:i + 8]]\n",
        "        if n == 0:\n            np.random.shuffle(order)\n"
        "        yield x[order[n:n + 8]], y[order[n:n + 8]]\n        n = (n + 8) % len(x)\n",
        "        path = np.random.choice(names)\n        part = np.load(path)\n        for i in range(9):\n"
        "            yield part[i:i + 8], part[i:i + 8]\n",
        "        for k in range(100):\n            i = np.random.randint(0, 960, 8)\n            yield x[i], y[i]\n",
        "        rows = []\n        for k in range(8):\n            i = np.random.randint(960)\n"
        "            rows.append(x[i + k])\n        yield rows, rows\n",
    ],
)
def test_rows_that_are_drawn_are_each_ranks_own(body: str) -> None:
    """No rank draws batches to throw them away."""
    head = "names = mine.names()\norder = list(range(960))\n"
    text = plan_of(ORDERED + head + BLUR + "def batches():\n    n = 0\n    while True:\n" + body + STEP).text
    assert "a, b = next(gen)\n" in text


@pytest.mark.parametrize(
    "body",
    [
        "        if n + 8 > len(x):\n            np.random.shuffle(order)\n            n = 0\n"
        "        yield x[order[n:n + 8]], y[order[n:n + 8]]\n        n += 8\n",
        "        yield x[order[n:n + 8]], y[order[n:n + 8]]\n        n += 8\n"
        "        if n >= len(x):\n            n = 0\n            np.random.shuffle(order)\n",
        "        for path in names:\n            yield x[order[:8]], np.load(path)\n        np.random.shuffle(order)\n",
    ],
)
def test_an_order_that_is_drawn_for_the_second_pass_leaves_ranks_the_same_first_one(body: str) -> None:
    """Until then each rank would train on the rows of all others, at size() times the rate."""
    head = "names = mine.names()\norder = list(range(960))\n"
    text = plan_of(ORDERED + head + "def batches():\n    n = 0\n    while True:\n" + body + STEP).text
    assert f"a, b = {OWN}" in text
    assert "order[:] = hvd.broadcast_object(order)" in text


def test_one_whose_order_is_drawn_before_is_each_ranks_own() -> None:
    body = "        yield x[order[n:n + 8]], y[order[n:n + 8]]\n        n += 8\n"
    body += "        if n >= len(x):\n            n = 0\n            order = np.random.permutation(len(x))\n"
    made = "def batches():\n    order = np.random.permutation(len(x))\n    n = 0\n    while True:\n" + body
    assert "a, b = next(gen)\n" in plan_of(ORDERED + made + STEP).text


def test_what_a_fit_is_given_is_divided_where_its_order_is_drawn_after_a_pass() -> None:
    made = generator(
        "            yield x[order[i:i + 8]], y[order[i:i + 8]]\n", after="        np.random.shuffle(order)\n"
    )
    text = plan_of(HEAD + "order = np.arange(960)\n" + made + FIT).text
    assert "for i in shard(range(0, 960, 8)):" in text
    assert "alike(np.random.shuffle)(order)" in text


# ---------------------------------------------------------------------- queues

FILLED = (
    "rows = queue.Queue(8)\ndef fill():\n    for i in range(0, 8000, 8):\n        rows.put((x[i:i + 8], y[i:i + 8]))\n"
    "threading.Thread(target=fill).start()\n"
)


def test_each_rank_takes_batches_of_its_own_from_a_queue() -> None:
    plan = plan_of(ORDERED + FILLED + "for k in range(1000):\n    a, b = rows.get()\n    step(a, b)\n")
    assert "a, b = [rows.get() for _ in range(hvd.size())][hvd.rank()]\n" in plan.text
    assert any("in which order this gives its batches" in note.message for note in plan.notes)


def test_what_is_got_from_a_dictionary_or_for_a_measurement_is_no_batch() -> None:
    loop = "kept = {{}}\nfor k in range(1000):\n    {}\n    a, b = next(gen)\n    step(a, b)\n"
    made = "def batches():\n    while True:\n        i = np.random.randint(0, 960, 8)\n        yield x[i], y[i]\n"
    for line in ("n = kept.get(k)", "n = test_rows.get()"):
        head = "test_rows = queue.Queue()\ngen = batches()\n"
        text = plan_of(ORDERED + made + head + loop.format(line)).text
        assert line + "\n" in text


def test_a_loop_until_a_last_item_is_divided_as_a_whole() -> None:
    """`iter(f, last)` takes a function: of an iterator of batches in its place it makes a TypeError."""
    text = plan_of(ORDERED + FILLED + "for a, b in iter(rows.get, None):\n    step(a, b)\n").text
    assert "for a, b in shard_batches(iter(rows.get, None)):" in text
    text = plan_of(TAPE + "import mine\nds = mine.load()\nfor a, b in iter(ds):\n    step(a, b)\n").text
    assert "for a, b in iter(shard_batches(ds)):" in text


# ---------------------------------------------------------------------- Keras' image generators

FLOW = "made = tf.keras.preprocessing.image.ImageDataGenerator()\nflow = made.flow(x, y, batch_size=8{})\n"
TAKEN = {
    "asked": "for k in range(1000):\n    a, b = next(flow)\n    step(a, b)\n",
    "method": "for k in range(1000):\n    a, b = flow.next()\n    step(a, b)\n",
    "loop": "for k, (a, b) in enumerate(flow):\n    if k >= 1000:\n        break\n    step(a, b)\n",
    "zipped": "for k, (a, b) in zip(range(1000), flow):\n    step(a, b)\n",
}


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
def test_images_in_an_order_that_each_process_draws_are_each_ranks_own(taken: str) -> None:
    """No rank reads and turns the pictures of all ranks to keep its own, and nothing is asked."""
    plan = plan_of(ORDERED + FLOW.format("") + taken)
    assert "1000 // hvd.size()" in plan.text
    assert "shard_batches" not in plan.text
    assert "range(hvd.size())" not in plan.text
    assert "0.1 * hvd.size()" in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize(
    ("told", "seed"), [(", seed=3", ""), (", shuffle=False", ""), ("", "np.random.seed(1)\n")]
)
def test_images_in_an_order_that_ranks_share_are_dealt_out(taken: str, told: str, seed: str) -> None:
    text = plan_of(ORDERED + seed + FLOW.format(told) + taken).text
    assert "shard_batches(flow)" in text or "for _ in range(hvd.size())][hvd.rank()]" in text


@pytest.mark.parametrize("maker", ["mine.ImageDataGenerator()", "mine.images"])
def test_what_is_called_like_an_image_generator_is_dealt_out(maker: str) -> None:
    head = FLOW.format("").replace("tf.keras.preprocessing.image.ImageDataGenerator()", maker)
    assert "enumerate(shard_batches(flow))" in plan_of(ORDERED + head + TAKEN["loop"]).text


def test_a_parameter_of_the_same_name_is_no_other_use_of_a_generator() -> None:
    text = plan_of(
        TAPE
        + "x = np.load('x.npy')\n\n\ndef prepare(rows):\n    return x[rows]\n\n\ndef rows():\n    for i in range(len(x)):\n"
        "        yield prepare(i)\n\n\nfor a in tf.data.Dataset.from_generator(rows, tf.float32).batch(8):\n    step(a, a)\n"
    ).text
    assert "for i in shard(range(len(x))):" in text
