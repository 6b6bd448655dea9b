"""C6: a function that opens files for its callers, in the mode that they say, is theirs to guard."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import json, os
import numpy as np
import tensorflow as tf


class Disk:
    def open(self, path, mode="r"):
        return open(path, mode)

    @staticmethod
    def begin(path, mode="r"):
        return open(path, mode)


def open_file(path, mode="r"):
    if os.name == "nt":
        return open(path, mode, encoding="utf-8")
    return open(path, mode)


"""
TAIL = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.random.rand(640, 3)
model.fit(x, scale * x.sum(1), epochs=2)
"""


@pytest.mark.parametrize("opened", ["open_file", "Disk().open", "Disk.begin"])
def test_what_is_read_through_it_is_read_by_all(opened: str) -> None:
    """The function opened the null device on the other ranks, for reading, too."""
    read = f"scale = json.load({opened}('config.json'))['scale']\n"
    written = f"with {opened}('losses.txt', 'w') as f:\n    f.write('done')\n"
    text = plan_of(HEAD + read + TAIL + written).text
    assert (
        f"if hvd.rank() == 0:\n    with {opened}('losses.txt', 'w') as f:\n        f.write('done')\n" in text
    )
    assert "return open(path, mode)" in text
    assert read in text


def test_what_is_written_at_once_is_guarded() -> None:
    text = plan_of(HEAD + "scale = 1\n" + TAIL + "open_file('a.txt', mode='w').write('done')\n").text
    assert "if hvd.rank() == 0:\n    open_file('a.txt', mode='w').write('done')\n" in text


WORDS = """\
def build(path):
    open_file(path, mode="w").write("a b c")


def read(path):
    rows = []
    with open_file(path) as f:
        for line in f:
            rows.append(line.split())
    return rows


FOLDER = "data/news"
build(os.path.join(FOLDER, "{written}"))
words = read(os.path.join(FOLDER, "{read}"))
scale = 1
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for row in read(os.path.join(FOLDER, "news.train.txt")):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(tf.constant([[float(n) for n in row]])) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize("written", ["news.words.txt", "news.train.txt"])
def test_what_is_written_and_read_through_it_is_waited_for(written: str) -> None:
    """Ranks might take different numbers of steps, it was said, as another might be writing the rows."""
    text = plan_of(HEAD + WORDS.format(written=written, read="news.words.txt")).text
    wait = 'hvd.broadcast(0, root_rank=0, name="saved")\n'
    assert f'build(os.path.join(FOLDER, "{written}"))\n{wait}words = read(' in text
    assert '    if hvd.rank() == 0:\n        open_file(path, mode="w").write("a b c")\n' in text


@pytest.mark.parametrize(
    "used",
    ["write_by = open_file\nwrite_by('a.txt', 'w').write('x')\n", "open_file(*read_options()).write('x')\n"],
)
def test_where_not_all_calls_are_seen_what_is_written_is_still_rank_0s(used: str) -> None:
    """And what is read is read by all: a mode that a caller says may be either."""
    calls = "open_file('b.txt', 'w').write('y')\nscale = json.load(open_file('config.json'))['scale']\n"
    text = plan_of(HEAD + calls + TAIL + used).text
    told = "path if hvd.rank() == 0 or set(mode).isdisjoint('wax+') else os.devnull"
    assert text.replace('"', "'").count(told) == 2
