"""D3: files that a disk lists in an order of its own are taken in rank 0's."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import TAPE
from ..pairs import plan_of

FIT = """\
import glob, os
from pathlib import Path
import numpy as np
import tensorflow as tf
{}
x = np.stack([np.load(name) for name in names])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x, batch_size=8)
"""
FUNCTION = """\
def load(folder):
    x = []
    for name in sorted(os.listdir(folder)):
        for file in os.listdir(os.path.join(folder, name)):
            x.append(np.load(file))
    return np.stack(x)
x = load("images")
for i in range(0, len(x), 8):
    step(x[i : i + 8], x[i : i + 8])
"""


@pytest.mark.parametrize(
    ("listed", "after"),
    [
        ('os.listdir("d")', 'hvd.broadcast_object(os.listdir("d"))'),
        ('glob.glob("d/*.npy")', 'hvd.broadcast_object(glob.glob("d/*.npy"))'),
        ('tf.io.gfile.glob("d/*.npy")', 'hvd.broadcast_object(tf.io.gfile.glob("d/*.npy"))'),
        ('glob.iglob("d/*.npy")', 'hvd.broadcast_object(list(glob.iglob("d/*.npy")))'),
        ('Path("d").iterdir()', 'hvd.broadcast_object(list(Path("d").iterdir()))'),
        ('Path("d").glob("*.npy")', 'hvd.broadcast_object(list(Path("d").glob("*.npy")))'),
    ],
)
def test_all_ranks_take_rank_0s_order(listed: str, after: str) -> None:
    assert f"names = {after}\n" in plan_of(FIT.format(f"names = {listed}")).text


@pytest.mark.parametrize(
    "names",
    [
        'names = sorted(os.listdir("d"))',
        'names = os.listdir("d")\nnames.sort()',
        'names = [n for n in sorted(glob.glob("d/*")) if n]',
        'names = ["a.npy", "b.npy"]\nprint(os.listdir("d"))',  # not trained on
    ],
)
def test_what_is_sorted_or_not_trained_on_is_left(names: str) -> None:
    plan = plan_of(FIT.format(names))
    assert "broadcast_object" not in plan.text
    assert not any("another order" in note.message for note in plan.notes)


def test_classes_that_are_numbered_by_a_listing() -> None:
    """Batches are drawn, so that their order says nothing; what the classes are called does."""
    program = (
        "import os, random\n"
        + TAPE
        + "classes = os.listdir('d')\nfiles = sorted(os.listdir('e'))\n"
        + "for i in range(1000):\n    name = random.choice(files)\n"
        + "    step(np.load(name), np.array([classes.index(name[:3])]))\n"
    )
    text = plan_of(program).text
    assert "classes = hvd.broadcast_object(os.listdir('d'))\n" in text
    assert "files = sorted(os.listdir('e'))\n" in text


def test_what_a_loop_lists_again_is_told() -> None:
    """Hosts may have another number of folders: ranks would wait for each other."""
    plan = plan_of("import os\n" + TAPE + FUNCTION)
    assert "broadcast_object(os.listdir" not in plan.text
    assert sum("another order" in note.message for note in plan.notes) == 1


def test_a_rank_that_joins_later_lists_alone_so_it_is_told() -> None:
    """Nothing sends it rank 0's list while the others train; that was refused."""
    program = FIT.format('names = os.listdir("d")').replace("Dense(1)", "Dense(1, input_shape=(8,))")
    plan = distribute(summarize(Document(program)), Options(elastic=True))
    assert isinstance(plan, Plan)
    assert "broadcast_object(os.listdir" not in plan.text
    assert any("another order" in note.message for note in plan.notes)


def test_a_list_is_found_behind_a_large_model() -> None:
    layers = "".join(f"    h = tf.keras.layers.Dense(8)(h) + {i} * h\n" for i in range(200))
    source = (
        "import os\nimport tensorflow as tf\n"
        f"def net():\n    i = h = tf.keras.Input((4,))\n{layers}    return tf.keras.Model(i, h)\n"
        'names = [n for n in os.listdir("d")]\n'
        "ds = tf.data.TFRecordDataset(names).map(tf.io.parse_tensor).repeat().batch(8)\n"
        "it, model, opt = iter(ds), net(), tf.keras.optimizers.SGD(0.1)\n"
        "while True:\n    x = next(it)\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x))\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    )
    assert 'names = [n for n in hvd.broadcast_object(os.listdir("d"))]\n' in plan_of(source).text


NEWEST = """\
{head}import os
first, files = 0, os.listdir({folder})
if files:
    newest = max(files)
    first = int(newest.split("-")[-1])
    {restore}
it = iter(tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4))
for n in range(first, 1000):
    step(*next(it))
"""


@pytest.mark.parametrize("folder", ["'.'", "'ck'", "args.folder"])
def test_the_newest_checkpoint_is_each_hosts_own_and_the_step_in_its_name_rank_0s(folder: str) -> None:
    """Given rank 0's list, ranks on other hosts looked for files that they don't have."""
    restore = "model.load_weights(os.path.join('.', newest))"
    text = plan_of(NEWEST.format(head=TAPE, folder=folder, restore=restore)).text
    assert f"os.listdir({folder})\n" in text
    assert "first = hvd.broadcast_object(first)\nfor n in range(first, 1000, hvd.size()):" in text


def test_files_of_rows_are_in_rank_0s_order_beside_a_checkpoint_of_one_name() -> None:
    beside = FIT.replace("model.fit", "model.load_weights('w.h5')\nmodel.fit").format(
        "names = os.listdir('data')"
    )
    assert "(os.listdir('data'))" in plan_of(beside).text


def test_what_a_generator_of_rows_lists_is_told() -> None:
    """A dataset runs it in a thread of its own, where ranks can't wait for each other."""
    function = "def rows():\n    for name in {}:\n        yield np.load(name)\n"
    made = "ds = tf.data.Dataset.from_generator(rows, tf.float32).batch(8)\n"
    for listed, told in (('os.listdir("d")', 1), ('sorted(os.listdir("d"))', 0)):
        program = FIT.format(function.format(listed) + made).replace("fit(x, x, batch_size=8)", "fit(ds)")
        plan = plan_of(program.replace("x = np.stack([np.load(name) for name in names])\n", ""))
        assert f"    for name in shard({listed}):\n" in plan.text
        assert sum("another order" in note.message for note in plan.notes) == told
