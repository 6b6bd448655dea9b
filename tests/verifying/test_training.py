"""`verify` of programs that really train: right ones are called right, broken ones broken, for the reason that they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.cli import main
from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.running.prepared import prepare
from horovodize.source import Document
from horovodize.summary import summarize
from horovodize.verifying.runs import Run
from horovodize.verifying.verdict import verify
from tests.training import running
from tests.training.cases import PROGRAMS
from tests.training.variants import BROKEN
from tests.verifying.warm import WarmTrainer

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]
FOLDER = Path(running.__file__).with_name("broken")
ALONE: dict[str, Run] = {}


def text(program: str, kind: str) -> str:
    return (FOLDER / f"{program}_{kind}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("program", ["plain", "strong"])
def test_a_right_distribution_trains_the_same(program: str, tmp_path: Path) -> None:
    trainer = WarmTrainer(text(program, "original"), text(program, "by_hand"), tmp_path, ALONE)
    found = verify(program, trainer, [2], seeds=2)
    assert found.alike, found.as_json()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gradients summed", "added up, not averaged"),
        ("all rows at a larger rate", "at 2 times the rate"),
        ("rows that no rank takes", "weights end"),
    ],
)
def test_a_broken_one_does_not(name: str, says: str, tmp_path: Path) -> None:
    (broken,) = (one for one in BROKEN if one.name == name)
    distributed = text(broken.program, "by_hand")
    for old, new in broken.replace:
        distributed = distributed.replace(old, new)
    trainer = WarmTrainer(text(broken.program, "original"), distributed, tmp_path, ALONE)
    found = verify(name, trainer, [2], seeds=2)
    assert not found.alike
    assert says in found.judged[0].conclusion


def test_the_flag_by_which_an_estimator_ends_is_no_state_that_ranks_share(tmp_path: Path) -> None:
    """Its hook sets it in the process that decides, rank 0; all ranks end after the same step by another one."""
    script = (PROGRAMS / "estimator" / "stopped_early.py").read_text(encoding="utf-8")
    script = script.replace("import tensorflow as tf", "import tensorflow.compat.v1 as tf")
    plan = distribute(summarize(Document(script)))
    assert isinstance(plan, Plan)
    found = verify("stopped_early", WarmTrainer(script, plan.text, tmp_path, {}), [2], seeds=1)
    assert found.alike, found.as_json()


ALONE_IN_A_SUMMARY = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
tf.disable_eager_execution()
hvd.init()
w = tf.get_variable("w", [3])
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1))
(gradient, _), = pairs = optimizer.compute_gradients(tf.reduce_sum(w * w))
train = optimizer.apply_gradients(pairs)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for step in range(3):
        session.run([train, gradient] if hvd.rank() == 0 else train)
"""


def test_steps_without_gradients_average_them_still(tmp_path: Path) -> None:
    """A graph runs nothing that is not needed: a rank that looks at an average besides would wait for the others alone."""
    trainer = WarmTrainer(ALONE_IN_A_SUMMARY, ALONE_IN_A_SUMMARY, tmp_path, {}, limit=30)
    run = trainer("distributed untrained", 2, 0)
    assert run.complete, [rank.report["error"] for rank in run.ranks] or run.output
    assert [rank.steps for rank in run.ranks] == [[3], [3]]


def test_the_command_trains_copies_and_writes_a_page(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script = folder / "train.py"
    script.write_text(text("keras", "original"), encoding="utf-8")
    report = tmp_path / "report.html"
    arguments = [str(script), "--python", str(running.python()), "--seeds", "1", "--format", "html"]
    status = main(["verify", *arguments, "-o", str(report), "--limit", "120"])
    page = report.read_text(encoding="utf-8")
    assert status == 0, page
    assert "On 2 ranks: trains the same" in page
    assert "time with a collective under way" in page
    assert [path.name for path in folder.iterdir()] == ["train.py"]


def test_what_other_runs_find_and_what_other_programs_write_is_said(tmp_path: Path) -> None:
    left = tmp_path / "left" / "log.txt"
    left.parent.mkdir()
    writes = (
        f"import subprocess\nwith open({str(left)!r}, 'a') as log:\n    log.write('done')\n"
        "subprocess.run(['touch', 'touched'], check=True)\nimport tempfile\ntempfile.TemporaryFile().write(b'done')\n"
    )
    original, distributed = (text("plain", kind) + writes for kind in ("original", "by_hand"))
    found = verify("plain", WarmTrainer(original, distributed, tmp_path, {}), [2], seeds=1)
    assert found.alike, found.as_json()
    assert [note for note in found.notes if f"their copies of the folder: {left}. " in note]  # that alone
    notes = [note for check in found.judged[0].checks for note in check.notes]
    assert any(note.startswith("touched: written by another program") for note in notes)


EPOCHS_IN_A_FUNCTION = """import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
x = rng.rand(192, 4).astype("float32")
y = x.sum(1, keepdims=True)
train = tf.data.Dataset.from_tensor_slices((x[:128], y[:128])).shuffle(128).batch(16)
valid = tf.data.Dataset.from_tensor_slices((x[128:], y[128:])).batch(8)
net = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)


@tf.function
def train_epoch(batches):
    for a, b in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(a) - b))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))


for epoch in range(4):
    train_epoch(train)
    for a, b in valid:
        net(a)
"""
# The same loop, without a function: the probe sees what the data set deals, of both.
EPOCHS_BY_HAND = EPOCHS_IN_A_FUNCTION.replace("@tf.function\n", "")


@pytest.mark.parametrize("original", [EPOCHS_IN_A_FUNCTION, EPOCHS_BY_HAND], ids=["in a function", "by hand"])
@pytest.mark.parametrize("broken", [False, True], ids=["right", "broken"])
def test_batches_that_are_only_validated_are_not_those_of_training(
    original: str, broken: bool, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(original, encoding="utf-8")
    distributed = prepare(script, Options()).main.text
    share = ".apply(lambda ds: ds.shard(hvd.size(), hvd.rank()).take(len(ds) // hvd.size()))"
    assert distributed.count(share) == 1
    if broken:
        distributed = distributed.replace(share, "")
    found = verify("train.py", WarmTrainer(original, distributed, tmp_path, {}), [2], seeds=1)
    assert found.alike == (not broken), found.judged[0].conclusion
    (rows,) = (check for check in found.judged[0].checks if check.name == "the rows are divided")
    assert rows.seen
    assert bool(rows.broken) == broken
    assert not set(found.alone[0].rows.values()) - {4}  # the training rows, each in four epochs
    assert len(found.alone[0].rows) == 128


COMPILED = """import numpy as np
import tensorflow as tf

x = np.random.RandomState(3).rand(128, 4).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).shuffle(128).batch(16)
net = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)


@tf.function(jit_compile=True)
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(a) - b))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))


for epoch in range(4):
    for a, b in rows:
        step(a, b)
"""
COMPILED_FIT = (
    COMPILED[: COMPILED.index("@tf")]
    + """net.compile(optimizer, "mse", jit_compile=True)
net.fit(rows, epochs=4, verbose=0)
net.save("net", save_format="tf")
"""
)


@pytest.mark.parametrize("original", [COMPILED, COMPILED_FIT], ids=["a function", "fit"])
def test_what_xla_compiles_is_watched_without_it_and_fails_where_it_holds_a_collective(
    original: str, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(original, encoding="utf-8")
    distributed = prepare(script, Options()).main.text
    assert "jit_compile=False" in distributed
    found = verify("train.py", WarmTrainer(original, distributed, tmp_path, ALONE), [2], seeds=1)
    assert found.alike, found.judged[0].conclusion
    assert any("XLA" in note for note in found.notes)
    left = distributed.replace("jit_compile=False", "jit_compile=True")
    found = verify("train.py", WarmTrainer(original, left, tmp_path, ALONE), [2], seeds=1)
    assert not found.alike
    assert "`jit_compile=True` has XLA compile a function" in found.judged[0].conclusion


WRITES = """import csv
import numpy as np
import tensorflow as tf

EVERY = 8
x = np.random.RandomState(3).rand(256, 4).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(8)
net = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)
writer = tf.summary.create_file_writer("logs")
log = open("log.csv", "w")
table = csv.writer(log)
step = 0
for epoch in range(2):
    for a, b in rows:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(a) - b))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        step += 1
        if step % EVERY == 0:
            with writer.as_default():
                tf.summary.scalar("loss", loss, step=step)
    table.writerow([epoch, float(loss)])
    net.save_weights(f"net-{epoch + 1}.h5")
writer.close()
log.close()
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("hvd.init()", "hvd.init()", ""),
        ("EVERY // hvd.size()", "(EVERY * 2)", '"loss" in logs: writes 8 summaries alone, 2 on 2 ranks'),
        (
            "([epoch, float(loss)])",
            "([epoch, float(loss)]) if epoch else None",
            "log.csv: writes 2 lines alone, 1 on 2",
        ),
        (
            'net.save_weights(f"net-{epoch + 1}.h5")',
            'epoch or net.save_weights(f"net-{epoch + 1}.h5")',
            "net-2.h5 is kept alone, and not on 2 ranks",
        ),
    ],
    ids=["right", "summaries", "lines", "the second save"],
)
def test_how_much_is_written_is_compared(old: str, new: str, says: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(WRITES, encoding="utf-8")
    distributed = prepare(script, Options()).main.text
    assert distributed.count(old) == 1, distributed
    changed = distributed.replace(old, new)
    found = verify("train.py", WarmTrainer(WRITES, changed, tmp_path, ALONE), [2], seeds=1)
    assert found.alike == (not says), found.judged[0].conclusion
    assert says in found.judged[0].conclusion
