"""D3: rows that are shuffled, split or selected at random before the ranks take their parts of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import KERAS, TAPE, check, divide, helper, unchanged
from ..pairs import plan_of

SEED = "random_state=0 if hvd.size() > 1 else None"
HEAD = TAPE + "import random\nfrom mine import frame, normalise\n"
FIT = (
    KERAS
    + "import random\nfrom sklearn.model_selection import KFold, train_test_split\nfrom sklearn.utils import shuffle\n"
)
SLICES = "for i in {}:\n    step(a[i : i + 3], b)\n"
DEALT = SLICES.format("shard(range(0, n, 3))")


# ---------------------------------------------------------------------- left alone


@pytest.mark.parametrize(
    "drawn", ["np.random.permutation(9)[:3]", "np.random.choice(9, 3)", "random.sample(range(9), 3)"]
)
def test_random_batches_must_differ(drawn: str) -> None:
    loop = "for i in range({}):\n    k = " + drawn + "\n    step(a[k], b)\n"
    check(HEAD, loop.format("900"), loop.format("900 // hvd.size()"))


@pytest.mark.parametrize(
    "seed", ["np.random.seed(7)", "tf.keras.utils.set_random_seed(7)", "np.random.seed(epoch)"]
)
def test_a_seed_makes_the_orders_the_same_already(seed: str) -> None:
    before = f"{seed}\nnp.random.shuffle(a)\nkept = np.random.rand(9) < 0.5\n"
    check(HEAD, before + SLICES.format("range(0, n, 3)"), before + DEALT)


def test_what_is_no_selection_of_rows_stays_random() -> None:
    rest = "noise = np.random.rand(9)\nif random.random() < 0.5:\n    normalise()\n"
    check(HEAD, rest + SLICES.format("range(0, n, 3)"), rest + DEALT)


@pytest.mark.parametrize(
    "drawn", ["random.choice(range(n))", "np.random.choice(n)", "random.sample(range(n), 3)"]
)
def test_an_example_that_is_only_shown_is_each_rank_s_own(drawn: str) -> None:
    shown = f"k = {drawn}\nprint(a[k])\n"
    check(HEAD, shown + SLICES.format("range(0, n, 3)"), shown + DEALT)
    text = divide(HEAD + f"k = {drawn}\na = a[k]\n" + SLICES.format("range(0, n, 3)")).text
    assert (
        "k = alike(" if drawn == "np.random.choice(n)" else f"k = hvd.broadcast_object({drawn})\n"
    ) in text


def test_where_nothing_is_dealt_out_nothing_is_ordered() -> None:
    unchanged(TAPE, "np.random.shuffle(a)\nstep(a, b)\n")


def test_splits_that_are_seeded_or_not_shuffled() -> None:
    before = "KFold(5)\ntrain_test_split(x, y, shuffle=False)\ntrain_test_split(x, random_state=3)\n"
    check(FIT, before + "model.fit(x, y)\n", before + "model.fit(shard(x), shard(y))\n")


@pytest.mark.parametrize(
    "seed",
    [
        "np.random.seed(None)\n",
        "np.random.seed()\n",
        "np.random.seed(int(time.time()))\n",
        "np.random.seed(np.random.randint(1000))\n",
        "now = time.time()\nnp.random.seed(seed=int(now))\n",
        "if args.seed is not None:\n    np.random.seed(args.seed)\n",
    ],
)
def test_a_seed_that_is_another_on_each_rank_fixes_nothing(seed: str) -> None:
    before = "import time\n" + seed
    text = divide(HEAD + before + "np.random.shuffle(a)\n" + SLICES.format("range(0, n, 3)")).text
    assert "alike(np.random.shuffle)(a)" in text


def test_a_generator_s_seed_that_is_another_on_each_rank_fixes_nothing() -> None:
    for seed, drawn in {"7": "r.shuffle", "time.time_ns()": "alike(r.shuffle)"}.items():
        before = f"import time\nr = np.random.default_rng({seed})\n"
        text = divide(HEAD + before + "r.shuffle(a)\n" + SLICES.format("range(0, n, 3)")).text
        assert f"\n{drawn}(a)\n" in text


def test_a_seed_of_tensorflow_fixes_nothing_of_numpy() -> None:
    shuffled = "np.random.shuffle(a)\n"
    text = divide(HEAD + "tf.random.set_seed(7)\n" + shuffled + SLICES.format("range(0, n, 3)")).text
    assert "alike(np.random.shuffle)(a)" in text


# ---------------------------------------------------------------------- one order for all


@pytest.mark.parametrize(
    ("shuffled", "alike"),
    [
        ("p = np.random.permutation(n)", "p = alike(np.random.permutation)(n)"),
        ("np.random.shuffle(a)", "alike(np.random.shuffle)(a)"),
        ("random.shuffle(a)", "alike(random.shuffle)(a)"),
        ("a = r.permutation(a)", "a = alike(r.permutation)(a)"),
        ("a = r.permuted(a, axis=0)", "a = alike(r.permuted)(a, axis=0)"),
    ],
)
def test_rows_are_gone_through_in_one_order(shuffled: str, alike: str) -> None:
    head = HEAD + "r = np.random.default_rng()\n"
    loop = "for epoch in range(9):\n    {}\n    for i in {}:\n        step(a[i : i + 3], b)\n"
    check(
        head, loop.format(shuffled, "range(0, n, 3)"), loop.format(alike, "shard(range(0, n, 3))")
    )  # in each epoch
    check(head, shuffled + "\n" + SLICES.format("range(0, n, 3)"), f"{alike}\n{DEALT}")  # once


def test_rows_of_fit_are_shuffled_alike() -> None:
    fold = "for epoch in range(3):\n    p = {}(9)\n    model.fit({}, {})\n"
    check(
        FIT,
        fold.format("np.random.permutation", "x[p]", "y[p]"),
        fold.replace("{}(9)", "hvd.broadcast_object({}(9))").format(
            "np.random.permutation", "shard(x[p])", "shard(y[p])"
        ),
    )


def test_selected_rows_are_as_many_on_all_ranks() -> None:
    """Else one rank would take more steps than the others, and wait forever."""
    rest = "model.fit({}, {})\n"
    for selected, alike in (
        ("m = np.random.rand(9) < 0.8\n", "m = hvd.broadcast_object(np.random.rand(9)) < 0.8\n"),
        ("m = np.random.choice(9, 5)\n", "m = hvd.broadcast_object(np.random.choice(9, 5))\n"),
    ):
        check(FIT, selected + rest.format("x[m]", "y[m]"), alike + rest.format("shard(x[m])", "shard(y[m])"))


def test_splits_get_a_seed() -> None:
    made = "a, b, c, d = train_test_split(x, y{})\nds = {}.batch(8)\nmodel.fit(ds)\n"
    slices = "tf.data.Dataset.from_tensor_slices((a, c))"
    check(FIT, made.format("", slices), made.format(f", {SEED}", f"shard_dataset({slices})"))
    folds = "for a, b in KFold(5, shuffle=True{}).split(x):\n    model.fit({}, {})\n"
    check(FIT, folds.format("", "x[a]", "y[a]"), folds.format(f", {SEED}", "shard(x[a])", "shard(y[a])"))
    frame = "part = frame.sample(frac=0.8{})\nmodel.fit({}, {})\n"
    check(FIT, frame.format("", "part", "y"), frame.format(f", {SEED}", "shard(part)", "shard(y)"))


@pytest.mark.parametrize(
    "splitter", ["RepeatedKFold(n_splits=5)", "RepeatedStratifiedKFold(n_splits=5)", "GroupShuffleSplit(5)"]
)
def test_splits_that_always_shuffle_get_a_seed(splitter: str) -> None:
    made = f"from sklearn.model_selection import {splitter.partition('(')[0]}\nfor a, b in {splitter}.split(x):\n"
    assert f"{splitter[:-1]}, {SEED})" in divide(FIT + made + "    model.fit(x[a], y[a])\n").text


def test_sklearn_s_shuffle_gets_a_seed_another_in_each_turn_of_a_loop() -> None:
    once = "x, y = shuffle(x, y{})\nmodel.fit({}, {})\n"
    share = "\nshare = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())\nmodel"
    after = once.replace("\nmodel", share).format(f", {SEED}", "x[share]", "y[share]")
    check(FIT, once.format("", "x", "y"), after)
    again = divide(FIT + "for e in range(3):\n    x, y = shuffle(x, y)\n    model.fit(x, y)\n")
    assert "x, y = shuffle(x, y, random_state=hvd.broadcast_object(secrets.randbits(31)))" in again.text
    assert not any("some rows are seen twice" in note for note in again.notes)
    one = (
        "for e in range(3):\n    if time.time() % 2 < 1:\n        x, y = shuffle(x, y)\n    model.fit(x, y)\n"
    )
    assert any("some rows are seen twice" in note for note in divide("import time\n" + FIT + one).notes)


def test_what_feeds_training_shuffles_alike() -> None:
    """A generator function, a `Sequence`, what deals out batches one after another."""
    generator = "def rows():\n    p = {}(9)\n    for i in p:\n        yield a[i], b[i]\nfor x, y in {}:\n    step(x, y)\n"
    alike = "alike(np.random.permutation)"
    check(
        HEAD,
        generator.format("np.random.permutation", "rows()"),
        generator.format("np.random.permutation", "shard_batches(rows())").replace(
            "np.random.permutation(9)", "hvd.broadcast_object(np.random.permutation(9))"
        ),
    )
    dataset = "tf.data.Dataset.from_generator(rows, tf.float32)"
    check(
        HEAD,
        generator.format("np.random.permutation", f"{dataset}.batch(3)"),
        generator.format(alike, f"{dataset}.batch(3)").replace("in p:", "in shard(p):"),
    )
    endless = (  # the seed of what made the data fixes no order
        "a = b = np.random.RandomState(1).rand(9, 3)\n"
        "def rows():\n    while True:\n        p = {}(9)\n        for i in p:\n            yield a[i], b[i]\n"
        "ds = {}.batch(3)\nmodel.fit(ds, steps_per_epoch={})\n"
    )
    check(
        FIT,
        endless.format("np.random.permutation", dataset, "900"),
        endless.format(alike, dataset, "900 // hvd.size()").replace("in p:", "in shard(p):"),
    )
    sequence = "class Rows(tf.keras.utils.Sequence):\n    def on_epoch_end(self):\n        {}(self.p)\nmodel.fit({})\n"
    check(
        FIT,
        sequence.format("np.random.shuffle", "Rows()"),
        sequence.format("alike(np.random.shuffle)", "ShardedSequence(Rows())"),
    )
    cursor = (
        "class Rows:\n    def next_batch(self, n):\n        if self.i + n > 9:\n"
        "            {}(self.x)\n            self.i = 0\n        self.i += n\n"
        "        return self.x[self.i - n : self.i], 0\nrows = Rows()\nfor k in range({}):\n    step(*{})\n"
    )
    check(
        HEAD,
        cursor.format("np.random.shuffle", "900", "rows.next_batch(3)"),
        cursor.format(
            "alike(np.random.shuffle)",
            "900 // hvd.size()",
            "[rows.next_batch(3) for _ in range(hvd.size())][hvd.rank()]",
        ),
    )


@pytest.mark.parametrize(
    ("draws", "order"),
    [
        ("k = np.random.permutation(9)", False),
        ("np.random.shuffle(k)", False),
        ("self.p = np.random.permutation(9)", True),
        ("np.random.shuffle(self.p)", True),
    ],
)
def test_what_a_sequence_draws_for_one_batch_is_no_order(draws: str, order: bool) -> None:
    head = "class Rows(tf.keras.utils.Sequence):\n    def __getitem__(self, i):\n"
    result = divide(FIT + head + f"        {draws}\n        return a[k], b[k]\nmodel.fit(Rows())\n")
    assert "alike" not in result.text
    assert any("some rows are seen twice" in note for note in result.notes) is order


def test_an_order_that_one_rank_alone_makes_is_only_reported() -> None:
    head = (
        "for epoch in range(9):\n    if random.random() < 0.5:\n        np.random.shuffle(p)\n    for i in "
    )
    tail = ":\n        step(a[p[i : i + 3]], b)\n"
    result = check(HEAD, f"{head}range(0, n, 3){tail}", f"{head}shard(range(0, n, 3)){tail}")
    assert any("some rows are seen twice" in note for note in result.notes)


SOURCE_SEED = "0 if hvd.size() > 1 else None"


@pytest.mark.parametrize(
    ("source", "seed"),
    [
        ("tf.data.experimental.make_csv_dataset('a.csv', 8{})", f"shuffle_seed={SOURCE_SEED}"),
        ("tfds.load('mnist', split='train', shuffle_files=True{})", f"read_config=tfds.ReadConfig(shuffle_seed={SOURCE_SEED})"),
        ("tf.data.Dataset.list_files('*'{})", f"seed={SOURCE_SEED}"),
    ],
)  # fmt: skip
def test_sources_that_shuffle_get_a_seed(source: str, seed: str) -> None:
    head = HEAD + "import tensorflow_datasets as tfds\n"
    loop = "for x, y in {}:\n    step(x, y)\n"
    helper = "shard_dataset" if "list_files" in source else "shard_stream"  # a list of files knows its length
    assert (
        loop.format(f"{helper}({source.format(f', {seed}')})")
        in divide(head + loop.format(source.format(""))).text
    )


@pytest.mark.parametrize(
    "source",
    [
        "tf.data.experimental.make_csv_dataset('a.csv', 8, shuffle=False)",
        "tf.data.experimental.make_csv_dataset('a.csv', 8, shuffle_seed=3)",
        "tfds.load('mnist', split='train')",
        "tfds.load('mnist', split='train', shuffle_files=False)",
    ],
)
def test_sources_in_one_order_get_none(source: str) -> None:
    loop = "for x, y in {}:\n    step(x, y)\n"
    head = HEAD + "import tensorflow_datasets as tfds\n"
    helper = "shard_records" if "tfds" in source else "shard_stream"  # which is read again
    assert loop.format(f"{helper}({source})") in divide(head + loop.format(source)).text


@pytest.mark.parametrize(
    ("seeding", "is_seeded"),
    [
        ("tf.random.set_seed(1)\n", True),
        ("def seed():\n    tf.random.set_seed(1)\nseed()\n", True),
        ("def look():\n    tf.random.set_seed(1)\n", False),  # never called
        ("if args.seed:\n    tf.random.set_seed(args.seed)\n", False),
    ],
)
def test_a_seed_that_the_program_may_not_give_is_none(seeding: str, is_seeded: bool) -> None:
    source = "tf.data.experimental.make_csv_dataset('a.csv', 8)"
    text = divide(HEAD + seeding + f"for x, y in {source}:\n    step(x, y)\n").text
    assert (f"shuffle_seed={SOURCE_SEED}" not in text) is is_seeded


def test_parts_of_what_a_source_gives_are_in_the_order_of_the_source() -> None:
    made = "(train, test), info = tfds.load('mnist', split=['train', 'test'], with_info=True, shuffle_files=True{})\n"
    head = HEAD + "import tensorflow_datasets as tfds\n"
    text = divide(head + made.format("") + "for x, y in train.batch(8):\n    step(x, y)\n").text
    assert made.format(f", read_config=tfds.ReadConfig(shuffle_seed={SOURCE_SEED})") in text


# ---------------------------------------------------------------------- what the stream gives


def test_ranks_draw_the_same_whatever_they_draw_besides() -> None:
    def drawn(rank: int) -> list[Any]:
        alike = helper("alike", rank, 2)
        random.seed(rank)
        rows, more = list(range(20)), list(range(20))
        alike(random.shuffle)(rows)
        [random.random() for _ in range(rank)]
        alike(random.shuffle)(more)
        return [rows, more, alike(random.sample)(rows, 3)]

    first, second = drawn(0), drawn(1)
    assert first == second
    assert first[0] != first[1]


def test_one_process_alone_draws_as_it_always_did() -> None:
    assert helper("alike", 0, 1)(random.shuffle) == random.shuffle


@pytest.mark.parametrize(
    ("module", "get", "put"), [("np.random", "get_state", "set_state"), ("random", "getstate", "setstate")]
)
def test_rows_and_targets_that_are_shuffled_from_one_state_stay_together(
    module: str, get: str, put: str
) -> None:
    """The state is that of the stream which all ranks draw from, not of the module's own."""
    text = f"s = {{0}}{module}.{get}{{1}}()\n{{0}}{module}.shuffle{{1}}(x)\n{{0}}{module}.{put}{{1}}(s)\n"
    text += f"{{0}}{module}.shuffle{{1}}(y)\nmodel.fit({{2}}, {{3}})\n"
    check(FIT, text.format("", "", "x", "y"), text.format("alike(", ")", "shard(x)", "shard(y)"))


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        (
            "s = np.random.randint(99)\n{}np.random.seed(s)\nnp.random.shuffle(x)\n"
            "np.random.seed(s)\nnp.random.shuffle(y)\n",
            "",
        ),
        ("s = random.random()\n{}random.Random(s).shuffle(x)\nrandom.Random(s).shuffle(y)\n", ""),
        (
            "s = time.time_ns()\n{}g = np.random.default_rng(s)\ng.shuffle(x)\n"
            "g = np.random.default_rng(s)\ng.shuffle(y)\n",
            "",
        ),
        (
            "s = np.random.randint(99)\nfor rows in (x, y):\n    {}np.random.seed(s)\n    np.random.shuffle(rows)\n",
            "    ",
        ),
        (
            "def mix(rows, s):\n    {}np.random.seed(s)\n    np.random.shuffle(rows)\n\n\n"
            "s = random.random()\nmix(x, s)\nmix(y, s)\n",
            "    ",
        ),
    ],
)
def test_rows_and_targets_that_are_shuffled_by_one_drawn_seed_stay_together(drawn: str, told: str) -> None:
    """Each from a stream that goes on would put other targets beside the rows."""
    after = drawn.format(f"s = hvd.broadcast_object(s)\n{told}") + "model.fit(shard(x), shard(y))\n"
    check("import time\n" + FIT, drawn.format("") + "model.fit(x, y)\n", after)


@pytest.mark.parametrize(
    "seed",
    [
        "s = random.random()\nrandom.seed(s)\n",  # what else is drawn later goes on differing from rank to rank
        "for i in range(3):\n    random.seed(random.random())\n",
        "random.seed(time.time())\n",
    ],
)
def test_a_drawn_seed_that_is_given_once_is_each_rank_s_own(seed: str) -> None:
    text = divide("import time\n" + FIT + f"{seed}random.shuffle(x)\nmodel.fit(x, y)\n").text
    assert "\nalike(random.shuffle)(x)\n" in text
    assert seed in text


def test_states_that_nothing_is_shuffled_from_are_left() -> None:
    text = (
        "s = np.random.get_state()\nz = np.random.normal(size=3)\nnp.random.set_state(s)\nmodel.fit({}, {})\n"
    )
    check(FIT, text.format("x", "y"), text.format("shard(x)", "shard(y)"))
    seeded = "np.random.seed(3)\ns = np.random.get_state()\nnp.random.shuffle(x)\nmodel.fit({}, {})\n"
    check(FIT, seeded.format("x", "y"), seeded.format("shard(x)", "shard(y)"))


# ---------------------------------------------------------------------- each rank draws its own batches

OWN = """\
def draw(x):
    while True:
        k = np.random.choice(len(x), 16)
        yield x[k], x[k]
x = np.load('x.npy')
p = {}(len(x))
train, kept = x[p[100:]], x[p[:100]]
model.fit(draw(train), steps_per_epoch=90, validation_data=(kept, kept))
"""


def test_what_is_kept_for_validation_is_the_same_where_each_rank_draws_its_own_batches() -> None:
    assert (
        "p = hvd.broadcast_object(np.random.permutation(len(x)))\n"
        in divide(FIT + OWN.format("np.random.permutation")).text
    )
    assert "alike" not in divide(FIT + "np.random.seed(1)\n" + OWN.format("np.random.permutation")).text


def test_an_order_of_a_generator_that_draws_its_own_stays_its_own() -> None:
    """Beside one whose batches are dealt out: all ranks would train on the same rows."""
    feed = """\
class Feed:
    def train(self):
        while True:
            np.random.shuffle(self.a)
            for i in range(9):
                yield self.a[i] + np.random.normal(0, 0.1, 3), self.a[i]
    def valid(self):
        while True:
            for i in range(3):
                yield self.b[i], self.b[i]
feed = Feed()
model.fit(feed.train(), steps_per_epoch=9, validation_data=feed.valid(), validation_steps=3)
"""
    text = divide(FIT + feed).text
    assert "for i in shard(range(3)):" in text
    assert "            np.random.shuffle(self.a)\n            for i in range(9):" in text


FOLDER = """\
import numpy as np
import tensorflow as tf
{}
images = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory('data', batch_size=32{})
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
model.fit(images, epochs=2)
"""


@pytest.mark.parametrize(
    ("before", "given", "helper"),
    [
        ("", ", shuffle=False", "ShardedSequence"),
        ("", ", seed=3", "ShardedFlow"),
        ("np.random.seed(3)", "", "ShardedFlow"),
        ("", "", "ShardedFlow"),
        ("import sys\nmix = len(sys.argv) > 1", ", shuffle=mix", "ShardedFlow"),
    ],
)
def test_a_folder_that_keras_shuffles_comes_in_one_order(before: str, given: str, helper: str) -> None:
    """Each rank shuffled for itself, and took its part; seeded, too, after an epoch in which ranks drew for other pictures."""
    plan = plan_of(FOLDER.format(before, given))
    assert f"{helper}(" in plan.text.partition(".fit(")[2]
    ordered = "index_array = self.order.sample(range(self.sequence.n), self.sequence.n)" in plan.text
    assert ordered == (helper == "ShardedFlow")
    assert not any("shuffles for itself" in n.message for n in plan.notes)


def test_what_flows_from_something_unseen_is_not_taken_for_keras() -> None:
    """Near miss: `dataset.flow()` of another module has no order to be told."""
    own = "from mine import dataset\nimages = dataset.flow()\nmodel ="
    text = plan_of(FOLDER.format("", "").replace("model =", own)).text
    assert "ShardedFlow" not in text


def test_a_folder_beside_another_kind_of_sequence_is_said() -> None:
    """Near miss: which of them `fit` gets can't be seen, and the other has no order to be told."""
    own = (
        "class Own(tf.keras.utils.Sequence):\n    pass\nif len(sys.argv) > 1:\n    images = Own()\nmodel.fit"
    )
    plan = plan_of("import sys\n" + FOLDER.format("", "").replace("model.fit", own))
    assert "ShardedSequence(images)" in plan.text
    assert any("shuffles for itself" in n.message for n in plan.notes)


BY_NUMBER = FOLDER.replace(
    "model.fit(images, epochs=2)",
    "for epoch in range(2):\n    for i in range(len(images)):\n        x, y = images[i]\n        model.train_on_batch(x, y)",
)


@pytest.mark.parametrize(("given", "said"), [("", 1), (", seed=3", 1), (", shuffle=False", 0)])
def test_batches_that_a_loop_asks_for_by_number_come_in_each_rank_s_order(given: str, said: int) -> None:
    plan = plan_of(BY_NUMBER.format("", given))
    assert "for i in shard(range(len(images))):" in plan.text
    assert sum("shuffles for itself here" in n.message for n in plan.notes) == said


# ---------------------------------------------------------------------- what goes on from a file

RESUMED = """\
import os, pickle
import numpy as np
import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
first = 0
if os.path.exists("state.pkl"):
    with open("state.pkl", "rb") as f:
        state = pickle.load(f)
    net.set_weights(state["weights"])
    first = state["epoch"] + 1
def made(n):
    random = np.random.RandomState(n)
    return random.rand(320, n).astype("float32")
for epoch in range(first, 6):
    rows = made(3 + epoch)
    order = np.random.permutation(len(rows))
    for k in range(0, len(rows), 16):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(rows[order[k:k + 16]]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    with open("state.pkl", "wb") as f:
        pickle.dump({"weights": net.get_weights(), "epoch": epoch}, f)
"""


def test_orders_in_epochs_that_ranks_agree_to_go_on_from() -> None:
    """Only rank 0 may have the file: once all go on from its epoch, all come to each shuffle, and a seed by it is the same."""
    plan = plan_of(RESUMED)
    assert "\nfirst = hvd.broadcast_object(first)\n" in plan.text
    assert "    order = hvd.broadcast_object(np.random.permutation(len(rows)))\n" in plan.text
    assert "    return random.rand(320, n).astype" in plan.text
    assert not [n for n in plan.notes if n.rule == "D3"]
    assert not [c for c in plan.changes if c.rule == "D3" and not c.sure]


def test_an_epoch_that_each_rank_counts_by_itself_is_another_on_each() -> None:
    """Near miss: what is read again after each turn is not what was agreed on before the loop."""
    by_itself = RESUMED.replace(
        "for epoch in range(first, 6):\n", "epoch = first\nwhile epoch < 6:\n"
    ).replace("    rows = made", "    epoch += np.random.randint(1, 3)\n    rows = made")
    result = distribute(summarize(Document(by_itself)), Options())
    assert isinstance(result, Refusal)
    assert {reason.code for reason in result.reasons} == {"HVD205"}


COUNTED_SEED = """\
class Rows(tf.keras.utils.Sequence):
    def __init__(self):
        self.{}, self.p = {}, np.arange(9)
    def on_epoch_end(self):
        {}
        np.random.RandomState(self.epoch).shuffle(self.p)
model.fit(Rows())
"""


def test_what_an_object_counts_seeds_a_shuffle_alike() -> None:
    counted = plan_of(KERAS + COUNTED_SEED.format("epoch", "0", "self.epoch += 1")).text
    assert "alike(" not in counted
    assert "alike(" in plan_of(KERAS + COUNTED_SEED.format("epoch", "None", "pass")).text


# ---------------------------------------------------------------------- states, and what is shuffled from them

EPOCHS = """\
def epochs(x, y):
    s = np.random.get_state()
    np.random.shuffle(x)
    np.random.set_state(s)
    np.random.shuffle(y)
    def one():
        s = np.random.get_state()
        np.random.shuffle(x)
        np.random.set_state(s)
        np.random.shuffle(y)
        for i in range(0, len(x), 4):
            yield x[i : i + 4], y[i : i + 4]
    return one
"""
ENDLESS = "def endless():\n    while True:\n        for x, y in train():\n            yield x, y\n"
DRAWN = "for i in range(400):\n    step(*next(batches))\n"


def test_what_a_generator_within_a_function_shuffles_is_shuffled_alike() -> None:
    begun = (
        "a = np.random.RandomState(1).rand(64, 3)\ntrain = epochs(a, b)\n" + ENDLESS + "batches = endless()\n"
        "if b is None:\n    np.random.seed(1)\n"
    )
    text = divide(HEAD + EPOCHS + begun + DRAWN).text
    assert "[next(batches) for _ in range(hvd.size())][hvd.rank()]" in text
    assert text.count("alike(np.random.shuffle)(") == 4
    assert text.count("alike(np.random.get_state)(") == text.count("alike(np.random.set_state)(") == 2


def test_states_of_what_each_rank_shuffles_for_itself_are_its_own() -> None:
    """Half of it drawn from another stream, rows and targets would be put into two orders."""
    freely = ENDLESS.replace("def endless():", "def endless(train):")
    begun = "batches = endless(mine.first(epochs(a, b)))\n"
    text = divide(HEAD + "import mine\n" + EPOCHS + freely + begun + DRAWN).text
    for one in text.split("def ")[1:]:
        states = one.count("alike(np.random.get_state)(") + one.count("alike(np.random.set_state)(")
        assert states in (0, 2 * (one.count("alike(np.random.shuffle)(") // 2))


SEEDED = """\
def load():
    np.random.seed(547)
    np.random.shuffle(a)
    np.random.seed(547)
    np.random.shuffle(b)
"""
EPOCH = "for e in range(9):\n    np.random.shuffle(a)\n    for i in range(0, n, 3):\n        step(a[i : i + 3], b)\n"


def test_a_seed_that_a_function_gives_under_a_condition_makes_no_other_order_the_same() -> None:
    text = divide(HEAD + SEEDED + "if kind == 'digits':\n    load()\n" + EPOCH).text
    assert "for e in range(9):\n    alike(np.random.shuffle)(a)\n" in text
    assert SEEDED in text  # rows and targets belong together


def test_a_seed_that_a_function_gives_in_any_case_does() -> None:
    assert "alike" not in divide(HEAD + SEEDED + "load()\n" + EPOCH).text


NEW_ORDER = """\
for i in range(400):
    if i % 16 == 0:
        p = np.random.permutation(48)
    k = i % 16
    step(a[p[k * 3 : k * 3 + 3]], b)
    print(i)
"""


def test_an_order_that_is_drawn_again_now_and_then_is_drawn_alike() -> None:
    text = divide(HEAD + NEW_ORDER).text
    assert "for i, own_i in rounds(range(400)):" in text
    assert "        p = hvd.broadcast_object(np.random.permutation(48))\n" in text


def test_one_that_each_turn_draws_is_each_rank_s_own() -> None:
    drawn = NEW_ORDER.replace("    if i % 16 == 0:\n        p", "    p").replace("k = i % 16", "k = 0")
    assert "alike" not in divide(HEAD + drawn).text


ONCE = """\
def draw(rows):
    order = np.random.permutation(len(rows))
    while True:
        for i in range(0, len(rows), 8):
            yield rows[order[i : i + 8]], rows[order[i : i + 8]]
rows = np.load('x.npy')
"""


@pytest.mark.parametrize(
    "trains",
    [
        "model.fit(draw(rows), steps_per_epoch=90)\n",
        "batches = draw(rows)\nfor i in range(900):\n    model.train_on_batch(*next(batches))\n",
    ],
)
def test_an_order_that_a_generator_makes_once_stays_its_own_where_each_rank_draws(trains: str) -> None:
    """As preparing the rows it was made alike, though they aren't dealt out then: all ranks trained on the same."""
    plan = plan_of(FIT + ONCE + trains)
    assert "order = np.random.permutation(len(rows))\n" in plan.text
    assert not [c for c in plan.changes if not c.sure]


@pytest.mark.parametrize(
    "trains",
    [
        "model.fit(ds, steps_per_epoch=90)\n",
        "for x, y in ds.take(900):\n    model.train_on_batch(x, y)\n",
        "it = iter(ds)\nfor i in range(900):\n    model.train_on_batch(*next(it))\n",
    ],
)
def test_an_order_that_a_generator_makes_once_is_the_same_where_its_elements_are_dealt_out(
    trains: str,
) -> None:
    once = ONCE.replace("    while True:\n", "    for epoch in range(9):\n").replace("draw(rows)", "draw()")
    once = (
        once.replace("rows = np.load('x.npy')\n", "")
        + "ds = tf.data.Dataset.from_generator(draw, (tf.float32, tf.float32))\n"
    )
    text = plan_of(FIT + "rows = np.load('x.npy')\n" + once + trains).text
    assert "order = alike(np.random.permutation)(len(rows))\n" in text


def test_an_order_of_a_generator_that_a_lambda_makes_is_the_same_on_all_ranks() -> None:
    """From one stream: a data set goes through it beside the steps, where rank 0 tells nothing."""
    rows = (
        "def rows(n):\n    order = np.random.permutation(n)\n    for i in order:\n        yield a[i], b[i]\n"
    )
    made = "ds = tf.data.Dataset.from_generator(lambda: rows(96), (tf.float32, tf.float32)).batch(8)\n"
    plan = plan_of(
        TAPE + "a, b = np.ones(96), np.ones(96)\n" + rows + made + "for x, y in ds:\n    step(x, y)\n"
    )
    assert "    order = alike(np.random.permutation)(n)\n    for i in shard(order):\n" in plan.text
    assert not any("may never reach" in note.message for note in plan.notes)


PASSED = "for x, y in ds:\n    step(x, y)\n"


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        ("{rows}.shuffle(99).batch(8)", "sum(1 for _ in ds)"),
        ("{rows}.shuffle(99).batch(8)", "list(ds)"),
        ("{rows}.shuffle(99).batch(8)", "[y for x, y in ds.take(1)]"),
        ("{rows}.shuffle(99).batch(8)", "', '.join(str(y) for x, y in enumerate(ds))"),
        ("tf.data.Dataset.from_generator(rows, (tf.float32, tf.float32)).batch(8)", "sum(1 for _ in ds)"),
    ],
)
def test_all_ranks_go_through_what_is_ordered_anew_as_often_as_rank_0(made: str, shown: str) -> None:
    """Rank 0 alone would have come to another order than the others for what is trained on next."""
    rows = "def rows():\n    for i in np.random.permutation(96):\n        yield a[i], b[i]\n"
    ds = made.format(rows="tf.data.Dataset.from_tensor_slices((a, b))")
    text = plan_of(
        TAPE + "a, b = np.ones(96), np.ones(96)\n" + rows + f"ds = {ds}\nprint({shown})\n" + PASSED
    ).text
    assert f"result = {shown}\nif hvd.rank() == 0:\n    print(result)\n" in text


def test_what_is_computed_from_its_rows_rank_0_goes_through_alone() -> None:
    loop = "losses = []\nfor x, y in ds:\n    losses.append(step(x, y))\n"
    shown = "print('losses:', ', '.join(str(l) for l in losses))\n"
    ds = "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(99).batch(8)\n"
    text = plan_of(TAPE + "a, b = np.ones(96), np.ones(96)\n" + ds + loop + shown).text
    assert f"if hvd.rank() == 0:\n    {shown}" in text


@pytest.mark.parametrize("shown", ["sum(1 for _ in other)", "len(list(other))", "sum(1 for _ in a)"])
def test_what_is_in_one_order_rank_0_goes_through_alone(shown: str) -> None:
    other = "other = tf.data.Dataset.from_tensor_slices((a, b)).batch(8)\n"
    ds = "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(99).batch(8)\n"
    text = plan_of(
        TAPE + "a, b = np.ones(96), np.ones(96)\n" + other + ds + f"print({shown})\n" + PASSED
    ).text
    assert f"if hvd.rank() == 0:\n    print({shown})\n" in text


@pytest.mark.parametrize("made", ["np.random.default_rng(0)", "np.random.RandomState(0)", "random.Random(0)"])
@pytest.mark.parametrize("shown", ["print(rng.random())", "show(rng)"])
def test_all_ranks_draw_from_a_generator_what_rank_0_shows(made: str, shown: str) -> None:
    """It makes the orders, too: rank 0's next one would be another than the others'."""
    show = "def show(drawn):\n    print(drawn.random())\n"
    loop = "for epoch in range(9):\n    order = list(range(90))\n    rng.shuffle(order)\n    for i in range(0, 90, 9):\n"
    loop += f"        step(a[order[i : i + 9]], b)\n    {shown}\n"
    text = plan_of(TAPE + f"import random\nrng = {made}\n{show}" + loop).text
    drawn = "rng" if shown == "print(rng.random())" else "drawn"
    assert f"    result = {drawn}.random()\n    if hvd.rank() == 0:\n        print(result)\n" in text


def test_the_state_of_a_generator_rank_0_shows_alone() -> None:
    """A near miss: nothing moves on."""
    text = plan_of(
        TAPE
        + "rng = np.random.RandomState(0)\nprint(rng.get_state())\nfor i in range(900):\n    step(a, b)\n"
    ).text
    assert "if hvd.rank() == 0:\n    print(rng.get_state())\n" in text


@pytest.mark.parametrize(
    ("numbers", "after"),
    [
        ("np.random.permutation(n)", "hvd.broadcast_object(np.random.permutation(n))"),
        (
            "np.random.choice(n, n, replace=False)",
            "hvd.broadcast_object(np.random.choice(n, n, replace=False))",
        ),
        ("random.sample(range(n), n)", "hvd.broadcast_object(random.sample(range(n), n))"),
        (
            "sorted(range(n), key=lambda k: random.random())",
            "hvd.broadcast_object(sorted(range(n), key=lambda k: random.random()))",
        ),
    ],
)
def test_an_order_in_the_head_of_a_loop_is_the_same_on_all_ranks(numbers: str, after: str) -> None:
    """Each rank took its part of an order of its own: in an epoch some rows were seen twice and some never."""
    loop = (
        "n = len(a) // 8\nfor epoch in range(9):\n    for i in {}:\n        step(a[i * 8 : i * 8 + 8], b)\n"
    )
    text = plan_of(TAPE + "import random\na = np.load('a.npy')\n" + loop.format(numbers)).text
    assert f"    for i in shard_batches({after}):\n" in text


@pytest.mark.parametrize(
    "numbers", ["np.random.RandomState(3).permutation(n)", "sorted(range(n), key=lambda k: -k)"]
)
def test_an_order_in_the_head_of_a_loop_that_is_one_already(numbers: str) -> None:
    loop = f"n = len(a) // 8\nfor epoch in range(9):\n    for i in {numbers}:\n        step(a[i * 8 : i * 8 + 8], b)\n"
    text = plan_of(TAPE + "a = np.load('a.npy')\n" + loop).text
    assert f"    for i in shard_batches({numbers}):\n" in text


def test_rows_that_are_drawn_several_times_get_several_seeds() -> None:
    """By one seed the rows to test with would all be among those to train with."""
    text = divide(
        FIT + "tr = frame.sample(frac=0.7)\nte = frame.sample(frac=0.1)\nmodel.fit(tr.values, b)\n"
    ).text
    assert "tr = frame.sample(frac=0.7, random_state=0 if hvd.size() > 1 else None)\n" in text
    assert "te = frame.sample(frac=0.1, random_state=1 if hvd.size() > 1 else None)\n" in text


def test_a_split_in_a_loop_is_another_each_time() -> None:
    source = "for turn in range(5):\n    c, d, e, f = train_test_split(a, b)\n    model.fit(c, e)\n"
    assert (
        "train_test_split(a, b, random_state=hvd.broadcast_object(secrets.randbits(31)))"
        in divide(FIT + source).text
    )


def test_one_helper_serves_a_folder_that_is_shuffled_and_one_that_is_not() -> None:
    validated = "model.fit(images, validation_data=held, validation_steps=len(held), "
    held = "held = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory('held', shuffle=False)\nmodel ="
    source = FOLDER.format("", "").replace("model.fit(images, ", validated).replace("model =", held, 1)
    text = plan_of(source).text
    assert "model.fit(ShardedFlow(images), validation_data=ShardedFlow(held)" in text
    assert "ShardedSequence" not in text


def test_a_sequence_of_the_program_gets_its_own_helper_beside_it() -> None:
    """Near miss: it has no order to be told."""
    validated = "model.fit(images, validation_data=held, validation_steps=len(held), "
    held = "class Own(tf.keras.utils.Sequence):\n    pass\nheld = Own()\nmodel ="
    source = FOLDER.format("", "").replace("model.fit(images, ", validated).replace("model =", held, 1)
    text = plan_of(source).text
    assert "model.fit(ShardedFlow(images), validation_data=ShardedSequence(held)" in text
