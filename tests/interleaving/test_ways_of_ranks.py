"""Two and three ranks are led through scripts: what goes wrong is told with the way there, and nothing else is."""

from __future__ import annotations

import pytest

from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.restrictions.violation import Violation
from horovodize.source import Document
from horovodize.summary import summarize
from tests.interleaving.cases import CASES, SENT, START, STEP

ASKED = ("HVD313", "HVD314", "HVD331", "HVD332", "HVD333")


def found(text: str) -> list[Violation]:
    return [v for v in check(summarize(Document(text, "train.py")), Options()) if v.code in ASKED]


def way(violation: Violation, text: str) -> list[str]:
    """The steps of a finding, each with its line."""
    lines = Document(text, "train.py").lines
    return [f"{lines.line_of(r.span.start) + 1} {r.message}" for r in violation.related]


@pytest.mark.parametrize("name", CASES)
def test_the_near_miss_is_no_finding(name: str) -> None:
    assert found(CASES[name][2]) == []


@pytest.mark.parametrize("name", CASES)
def test_what_goes_wrong_is_told_once(name: str) -> None:
    code, text, _ = CASES[name]
    assert [v.code for v in found(text)] == [code]


def test_the_way_to_a_stall_is_told_step_by_step() -> None:
    text = CASES["stall_data_break"][1]
    (stall,) = found(text)
    assert way(stall, text) == [
        "27 rank 1: `float(loss) < 0.1` is true",
        "28 rank 1: leaves the loop, has nothing more to do with the others, and ends",
        "27 rank 0: `float(loss) < 0.1` is false",
        "19 rank 0: waits here for the others",
    ]


def test_the_way_to_a_race_names_both_ranks() -> None:
    text = CASES["race_read_after_write"][1]
    (race,) = found(text)
    assert way(race, text) == ["12 rank 0: writes `rows.npy`", "13 rank 1: reads `rows.npy`"]


def test_what_three_ranks_alone_show() -> None:
    text = START + (
        "if hvd.rank() == 2:\n    hvd.broadcast_object(1, root_rank=2)\nelse:\n    hvd.allgather_object(1)\n"
        "hvd.allreduce(tf.ones(1))\n"
    )
    (stall,) = found(text)
    assert any(step.split()[2] == "2:" for step in way(stall, text))


NONE = {
    "a first step before the broadcast": STEP
    + """\
first = True
if hvd.rank() == 0:
    model.load_weights("w.h5")
for epoch in range(3):
    step(x)
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        first = False
""",
    "a rank that has joined": START
    + "for step in range(10 - hvd.rank()):\n    hvd.allreduce(tf.ones(3))\nhvd.join()\n",
    "an exception that ends the job": START
    + """\
if hvd.rank() == 1:
    raise SystemExit("no")
hvd.allreduce(tf.ones(1))
""",
    "an exit that says that something is wrong": START
    + 'if not os.path.exists("rows.csv"):\n    sys.exit(1)\nhvd.allreduce(tf.ones(1))\n',
    "a test of what was started with": START
    + 'if "--warm" in sys.argv:\n    hvd.allreduce(tf.ones(1))\nhvd.broadcast_object(1, root_rank=0)\n',
    "ranks of a process set": START
    + """\
two = hvd.add_process_set([0, 1])
if hvd.rank() < 2:
    hvd.allreduce(tf.ones(1), process_set=two)
hvd.allreduce(tf.ones(1))
""",
    "a folder for each rank": START
    + 'out = os.path.join("out", str(hvd.rank()))\nos.makedirs(out)\nnp.save(os.path.join(out, "a.npy"), np.ones(1))\n',
    "a folder that may be there": START + "try:\n    os.makedirs('out')\nexcept OSError:\n    pass\n",
    "lines that all ranks append": START + 'with open("log.txt", "a") as log:\n    log.write("x")\n',
    "the null device": START + "sys.stdout = open(os.devnull, 'w')\n",
    "a file whose name isn't known": START
    + "import plan\nnp.save(plan.path(), np.ones(1))\nnp.load(plan.path())\n",
    "a model that isn't trained": STEP
    + SENT
    + """\
best = tf.keras.models.clone_model(model)
for epoch in range(3):
    step(x)
    if hvd.rank() == 0:
        best.set_weights(model.get_weights())
""",
    "a rate that all ranks set": STEP
    + SENT
    + "for epoch in range(3):\n    step(x)\n    if epoch == 1:\n        optimizer.learning_rate.assign(0.001)\n",
    "a loss of rows that were sent before": """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
hvd.init()
x = hvd.broadcast_object(np.random.rand(100))
weight = tf.Variable([0.0])
loss = tf.reduce_mean((weight * x - 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.5)).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
sess.run(hvd.broadcast_global_variables(0))
for step in range(201):
    sess.run(train)
    if step % 20 == 0 and hvd.rank() == 0:
        print(sess.run(loss))
""",
    "counters in a loop over a share": STEP
    + SENT
    + """\
steps = 0
data = tf.data.Dataset.from_tensor_slices(np.ones((96, 4), "float32")).shard(hvd.size(), hvd.rank()).batch(4)
for rows in data:
    loss = step(rows)
    steps += 1
    if steps % 5 == 0:
        print(hvd.allreduce(loss))
""",
}


@pytest.mark.parametrize("name", NONE)
def test_nothing_is_said_of(name: str) -> None:
    assert found(NONE[name]) == []


def test_a_collective_in_the_graph_is_fetched_by_all() -> None:
    """Beside rows that were sent before: what is averaged in the graph is exchanged with each run."""
    text = NONE["a loss of rows that were sent before"].replace(
        "print(sess.run(loss))", "print(sess.run(mean))"
    )
    assert len(found(text.replace("sess = ", "mean = hvd.allreduce(loss)\nsess = "))) == 1


def test_what_is_fetched_later_is_not_there_yet() -> None:
    """Ranks 1 and 2 download at once; that rank 0 does so after them doesn't help."""
    fetch = 'tf.keras.utils.get_file("d.npz", "https://example.org/d.npz")\n'
    text = (
        START
        + f"hvd.allreduce(tf.ones(1))\nif hvd.rank() > 0:\n    {fetch}hvd.allreduce(tf.ones(2))\n{fetch}"
    )
    (race,) = found(text)
    assert [step.split()[2] for step in way(race, text)] == ["1:", "2:"]


def test_bounds_end_the_search() -> None:
    """Loops in loops, and many decisions of each rank's own: it ends, with what was found until then."""
    body = "    " * 6 + "hvd.allreduce(tf.ones(1))\n"
    loops = "".join("    " * depth + f"for i{depth} in range(9):\n" for depth in range(6))
    tests = "".join(f"if x[0, 0] > {n}:\n    print({n})\n" for n in range(40))
    assert found(STEP + SENT + tests + loops + body) == []


def test_a_function_that_calls_itself() -> None:
    text = (
        START + "def down(n):\n    hvd.allreduce(tf.ones(1))\n    if n:\n        down(n - 1)\n\n\ndown(3)\n"
    )
    assert found(text) == []


def test_ranks_that_another_program_begins_are_asked_for_their_own_function_alone() -> None:
    text = """\
import numpy as np
import horovod.spark


def train():
    import horovod.tensorflow as hvd

    hvd.init()
    if hvd.rank() == 0:
        np.save("rows.npy", np.ones(1))
    return np.load("rows.npy")


horovod.spark.run(train)
np.save("result.npy", np.ones(1))
"""
    assert [v.code for v in found(text)] == ["HVD332"]
