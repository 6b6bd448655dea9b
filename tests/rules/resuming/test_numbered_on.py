"""Loops that number their turns on from what an earlier run has counted."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = (
    "import json\nimport os\n"
    + TAPE
    + """\
x, y = np.load('x.npy'), np.load('y.npy')
rows = list(zip(x, y))
start = 0
if os.path.exists('state.json'):
    start = json.load(open('state.json'))['step']
def save(step):
    with open('state.json', 'w') as f:
        json.dump({'step': step}, f)
"""
)
EVENT = "    if (i + 1) % 100 == 0 or i + 1 == N:\n        save(i + 1)\n"
STRIDED = (
    "    if (i + hvd.size()) % 100 < hvd.size() or i < N <= i + hvd.size():\n        save(i + hvd.size())\n"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "for i in range(start, N):\n    step(x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8])\n" + EVENT,
            "for i in range(start, N, hvd.size()):\n"
            "    own_i = min(i + hvd.rank(), N - 1)\n"
            "    step(x[own_i * 8:own_i * 8 + 8], y[own_i * 8:own_i * 8 + 8])\n" + STRIDED,
        ),
        (
            "for i in range(start, len(x) // 8):\n    step(*rows[i])\n    if i % 100 == 0:\n        save(i)\n",
            "for i in range(start, len(x) // 8, hvd.size()):\n"
            "    step(*rows[min(i + hvd.rank(), len(x) // 8 - 1)])\n"
            "    if i % 100 < hvd.size():\n        save(i)\n",
        ),
        (  # of a turn that has the number of the last of its steps
            "for i in range(start + 1, N + 1):\n    at = (i - 1) * 8\n    step(x[at:at + 8], y[at:at + 8])\n"
            "    if i % 100 == 0:\n        save(i)\n",
            "for i in range(start + hvd.size(), N + 1, hvd.size()):\n"
            "    at = ((i - hvd.size() + 1 + hvd.rank()) - 1) * 8\n    step(x[at:at + 8], y[at:at + 8])\n"
            "    if i % 100 < hvd.size():\n        save(i)\n",
        ),
        (
            "for i, (a, b) in enumerate(ds, start=start + 1):\n    step(a, b)\n    if i % 100 == 0:\n        save(i)\n",
            "for i, (a, b) in zip(itertools.count(start + hvd.size(), hvd.size()), ds):\n    step(a, b)\n"
            "    if i % 100 < hvd.size():\n        save(i)\n",
        ),
        # near misses: nothing is restored
        (
            "first = 5\nfor i, (a, b) in enumerate(ds, first):\n    step(a, b)\n    if i % 100 == 0:\n        save(i)\n",
            "for i, (a, b) in enumerate(ds, first):\n    step(a, b)\n"
            "    if i % max(1, 100 // hvd.size()) == 0:\n        save(i)\n",
        ),
        (
            "first = 5\nfor i in range(first, N):\n    step(x[i], y[i])\n    if i % 100 == 0:\n        save(i)\n",
            "for i, own_i in rounds(range(first, N)):\n    step(x[own_i], y[own_i])\n"
            "    if i % max(1, 100 // hvd.size()) == 0:\n        save(i)\n",
        ),
    ],
)
def test_a_later_run_goes_on_at_the_same_row(before: str, after: str) -> None:
    data = "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\n" if "enumerate" in before else ""
    text = plan_of(HEAD + "N = 1000\n" + data + before).text
    if "hvd" in text:
        text = text.replace("hvd.broadcast_variables([*model.variables, *opt.variables()], root_rank=0)", "")
        lines = [line for line in text.splitlines() if "first_batch" not in line and line.strip()]
        text = "\n".join(lines) + "\n"
    assert after in text


GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 4])
w = tf.Variable(tf.zeros([4]))
rows = np.load('x.npy')
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(x * w), global_step=count)
with tf.Session() as sess:
    saver = tf.train.Saver()
    saver.restore(sess, tf.train.latest_checkpoint('d'))
    start = sess.run(count)
    for i in range(start, {stop}):
        sess.run(train, {{x: rows[i * 8:i * 8 + 8]}})
        if i % 100 == 0:
            saver.save(sess, 'd/model', global_step=count)
"""


def test_a_graph_counts_the_steps_of_a_rank() -> None:
    plan = plan_of(GRAPH.format(stop="1000"))
    assert "for i in range(start * hvd.size(), 1000, hvd.size()):" in plan.text
    assert "own_i = min(i + hvd.rank(), 999)\n" in plan.text
    assert "rows[own_i * 8:own_i * 8 + 8]" in plan.text
    assert any("as many ranks" in note.message for note in plan.notes)


def test_so_many_steps_more_are_as_many() -> None:
    """A near miss: what comes on top of the steps before is divided, as ever."""
    plan = plan_of(GRAPH.format(stop="start + 1000"))
    assert "in rounds(range(start, start + 1000)):" in plan.text
    assert any("as many ranks" in note.message for note in plan.notes)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("i == N - 1", "i < N <= i + hvd.size()"),
        ("i == N // 2", "i <= N // 2 < i + hvd.size()"),
        ("i != N - 1", "not (i < N <= i + hvd.size())"),
        ("i == end()", "i == end()"),
        # exactly where one of the ranks' turns comes to it: at the end of training no later one would
        ("i % 50 == 49", "(i + hvd.size()) % 50 < hvd.size()"),
        ("i % 50 == 10", "(i + hvd.size() - 11) % 50 < hvd.size()"),
        ("i % N == N - 1", "(i + hvd.size()) % N < hvd.size()"),
        ("i == 99", "i <= 99 < i + hvd.size()"),
        ("i in (50, 99)", "any(i <= k < i + hvd.size() for k in (50, 99))"),
    ],
)
def test_such_a_count_steps_over_what_is_computed_too(test: str, after: str) -> None:
    loop = "for i in range(start, N):\n    step(*draw(3))\n    if {}:\n        save(i + 1)\n"
    text = plan_of(HEAD + "N = int(input())\n" + loop.format(test)).text
    assert f"    if {after}:\n" in text


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("[50, 99]", "any(i <= k < i + hvd.size() for k in AT)"),
        ("{50, 99}", "any(i <= k < i + hvd.size() for k in AT)"),
        ("(50, 99)", "any(i <= k < i + hvd.size() for k in AT)"),
        ("numbers()", "i in AT"),  # which may be anything
    ],
)
def test_such_a_count_steps_over_the_numbers_of_a_list_too(made: str, told: str) -> None:
    loop = "for i in range(start, N):\n    step(*draw(3))\n    if i in AT:\n        save(i + 1)\n"
    plan = plan_of(HEAD + f"N = int(input())\nAT = {made}\n" + loop)
    assert f"    if {told}:\n" in plan.text
    assert any("step over" in n.message for n in plan.notes) == (told == "i in AT")


@pytest.mark.parametrize(
    ("found", "strided"),
    [
        ("files = sorted(glob.glob('w-*.h5'))\nif files:\n    i = int(files[-1][2:8])\n", True),
        ("for name in os.listdir('w'):\n    i = max(i, int(name.split('-')[1]))\n", True),
        ("if len(sys.argv) > 1:\n    i = int(sys.argv[1])\n", True),  # the user read it off such a name
        # a near miss: how many there are
        ("i = len(sys.argv) - 1\n", False),
    ],
)
def test_numbers_in_the_names_of_files_were_counted_by_an_earlier_run(found: str, strided: bool) -> None:
    loop = "while i < 1000:\n    step(*draw(3))\n    i += 1\n    if i % 100 == 0:\n        save(i)\n"
    text = plan_of("import glob\nimport sys\n" + HEAD + "i = 0\n" + found + loop).text
    assert ("    i += hvd.size()\n    if i % 100 < hvd.size():\n" in text) == strided
    assert (
        "while i < max(1, 1000 // hvd.size()):" in text or "while i < 1000 // hvd.size():" in text
    ) != strided


@pytest.mark.parametrize(
    ("written", "strided"),
    [
        ("FILE.write_text(json.dumps({'step': i}))", True),
        ("OTHER.write_text(json.dumps({'step': i}))", False),
    ],
)
def test_numbers_in_a_file_by_its_path(written: str, strided: bool) -> None:
    head = (
        "import json\nimport pathlib\n"
        + TAPE
        + "FILE = pathlib.Path('state')\nOTHER = pathlib.Path('other')\ni = 0\n"
    )
    read = "if FILE.exists():\n    i = json.loads(FILE.read_text())['step']\n"
    loop = f"while i < 1000:\n    step(*draw(3))\n    i += 1\n    if i % 100 == 0:\n        {written}\n"
    assert ("    i += hvd.size()\n" in plan_of(head + read + loop).text) == strided


def test_a_class_method_that_makes_the_state() -> None:
    state = """\
import dataclasses
import json
import pathlib
FILE = pathlib.Path('state')
@dataclasses.dataclass
class State:
    step: int = 0
    def save(self):
        FILE.write_text(json.dumps(dataclasses.asdict(self)))
    @classmethod
    def load(cls):
        return cls(**json.loads(FILE.read_text())) if FILE.exists() else cls()
state = State.load()
"""
    loop = "while state.step < 1000:\n    step(*draw(3))\n    state.step += 1\n"
    loop += "    if state.step % 100 == 0:\n        state.save()\n"
    text = plan_of(state + TAPE + loop).text
    assert "    state.step += hvd.size()\n    if state.step % 100 < hvd.size():\n" in text
    unkept = state.replace("**json.loads(FILE.read_text())", "")  # a near miss
    assert "    state.step += 1\n" in plan_of(unkept + TAPE + loop).text
