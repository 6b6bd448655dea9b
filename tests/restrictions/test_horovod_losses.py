"""A rank's own loss, whose gradients are averaged and which isn't, decides for that rank alone, whatever feeds the steps."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


SESSION = """\
import fire
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from reading import Reader, network

tf.disable_eager_execution()
hvd.init()


def train(rate=0.01):
    x = tf.placeholder(tf.float32, [None, 4])
    loss = tf.reduce_mean(network(x))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(rate * hvd.size())
    WRAP
    train_op = optimizer.minimize(loss, global_step=step)
    reader = Reader("rows")
    mean = (0.0, 0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(hvd.broadcast_global_variables(0))
        while True:
            FETCH
            mean = (mean[0] * 0.9 + value, mean[1] * 0.9 + 1.0)
            TEST
                break


fire.Fire(train)
"""
WRAP = "optimizer = hvd.DistributedOptimizer(optimizer)"
FETCH = "_, value, number = session.run([train_op, loss, step], {x: reader.next()})"


def session(test: str, wrap: str = WRAP, fetch: str = FETCH) -> set[str]:
    return codes(SESSION.replace("WRAP", wrap).replace("FETCH", fetch).replace("TEST", test))


@pytest.mark.parametrize("test", ["if value < 0.01:", "if mean[0] / mean[1] < 0.01:", "if value != value:"])
@pytest.mark.parametrize("wrap", [WRAP, f"if hvd.size() > 1:\n        {WRAP}"])
def test_a_session_that_one_rank_leaves_by_its_loss(test: str, wrap: str) -> None:
    assert "HVD331" in session(test, wrap)


@pytest.mark.parametrize(
    ("test", "fetch"),
    [
        ("if number == 100:", FETCH),
        ("if number == 100:", "fetched = session.run([train_op, loss, step])\n            value, number = fetched[1:]"),
        ("if number == 100:", FETCH.replace("_, value, number =", "fetched =") + "\n            _, value, number = fetched"),
        ("if value < 0.01:", FETCH.replace("loss, step", "hvd.allreduce(loss), step")),
    ],
)  # fmt: skip
def test_a_counter_and_an_average_are_those_of_all_ranks(test: str, fetch: str) -> None:
    assert "HVD331" not in session(test, fetch=fetch)


def test_a_monitored_session_stops_on_all_ranks() -> None:
    text = SESSION.replace("WRAP", WRAP).replace("FETCH", FETCH).replace("TEST", "if number == 100:")
    text = text.replace("while True:", "while not session.should_stop():").replace(
        "tf.Session()",
        'tf.train.MonitoredTrainingSession(hooks=[tf.train.LoggingTensorHook({"loss": loss}, 10)])',
    )
    assert "HVD331" not in codes(text)


TAPE = """\
import tensorflow as tf
import horovod.tensorflow as hvd
from reading import batches, network

hvd.init()
model = network()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
best, bad = 1e9, 0


def step(x):
    with tf.GradientTape() as tape:
        predicted = model(x)
        loss = tf.reduce_mean(predicted ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, predicted


for number, x in enumerate(batches()):
    loss, _ = step(x)
    LINES
"""
LATE = "if loss > best:\n        bad += 1\n    if bad > 3:\n        break"


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("if float(loss) < 0.01:\n        break", "HVD331"),
        (LATE, "HVD331"),
        ("if number % 100 == 0 and loss > 8:\n        optimizer.learning_rate.assign(0.001)", "HVD333"),
    ],
)
def test_what_a_loss_decides_in_a_loop_over_what_is_not_seen(lines: str, code: str) -> None:
    assert code in codes(TAPE.replace("LINES", lines))
    assert code not in codes(TAPE.replace("LINES", f"loss = hvd.allreduce(loss)\n    {lines}"))
    assert code not in codes(TAPE.replace("LINES", lines.replace("loss", "number")))


TORCH = """\
import torch
import horovod.torch as hvd
from reading import Rows, network

hvd.init()
model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
rows = Rows()
sampler = torch.utils.data.distributed.DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.rank())
loader = torch.utils.data.DataLoader(rows, sampler=sampler)


def validate():
    lost = 0
    for x in loader:
        lost += model(x).item()
    lost /= len(sampler)
    LINES
    return hvd.allreduce(torch.tensor(lost), name="lost")


for epoch in range(9):
    for x in loader:
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()
    validate()
"""


def test_a_mean_over_the_rows_of_a_sampler_is_no_number_of_rows() -> None:
    assert "HVD331" in codes(TORCH.replace("LINES", "if lost != lost:\n        return 0"))
    assert "HVD331" not in codes(TORCH.replace("LINES", "if not len(sampler):\n        return 0"))
    assert "HVD331" not in codes(TORCH.replace("LINES", ""))


def test_rows_that_all_ranks_shuffle_alike_may_be_the_same() -> None:
    text = TAPE.replace("LINES", "if float(loss) < 0.01:\n        break")
    assert "HVD331" in codes(text.replace("(batches())", "(batches().shuffle(9))"))
    assert "HVD331" not in codes(text.replace("(batches())", "(batches().shuffle(9, seed=1))"))
    divided = "(batches().shuffle(9, seed=1).shard(hvd.size(), hvd.rank()))"
    assert "HVD331" in codes(text.replace("(batches())", divided))
