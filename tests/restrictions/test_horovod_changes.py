"""What else changes weights and rates on one rank alone: savers of a list, layers drawn again, schedules of other packages."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


SESSION = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from reading import Reader, network

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(network(x))
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss)
saver = tf.train.Saver(KEPT)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    BEFORE
    session.run(hvd.broadcast_global_variables(0))
    AFTER
    for rows in Reader("rows"):
        session.run(train, {x: rows})
"""
RESTORE = "if hvd.rank() == 0:\n        saver.restore(session, 'last')"


@pytest.mark.parametrize(
    ("kept", "trained"),
    [
        ("", True),
        ("var_list=[v for v in tf.trainable_variables() if 'model' in v.name]", True),
        ("tf.global_variables()", True),
        ("[tf.Variable(0)]", False),
    ],
)
def test_a_saver_of_what_is_trained(kept: str, trained: bool) -> None:
    text = SESSION.replace("KEPT", kept)
    late = text.replace("BEFORE", "pass").replace("AFTER", RESTORE)
    assert ("HVD333" in codes(late)) == trained
    assert "HVD333" not in codes(text.replace("BEFORE", RESTORE).replace("AFTER", "pass"))
    assert "HVD333" not in codes(
        text.replace("BEFORE", "pass").replace("AFTER", "saver.restore(session, 'last')")
    )


TORCH = """\
import torch
import hydra
import horovod.torch as hvd
from reading import Rows, network, PolyLR, Average


@hydra.main(version_base=None, config_path="conf")
def main(settings):
    hvd.init()
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    slower = PolyLR(optimizer, 0.9)
    seen = Average(optimizer, 0.9)
    LATE
    for x in Rows():
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        LINES


main()
"""


@pytest.mark.parametrize(
    ("late", "lines", "drifts"),
    [
        ("pass", "if loss.item() < 5:\n            slower.step()", True),
        ("pass", "if hvd.rank() == 0:\n            slower.step()", True),
        ("pass", "slower.step()", False),
        ("pass", "if loss.item() < 5:\n            seen.step()", False),
        ("pass", "if hvd.allreduce(loss).item() < 5:\n            slower.step()", False),
        ("if hvd.rank() == 0:\n        model.first.reset_parameters()", "pass", True),
        ("model.first.reset_parameters()", "pass", False),
        ("if hvd.rank() == 0:\n        settings.reset_parameters()", "pass", False),
    ],
)
def test_rates_and_weights_of_torch(late: str, lines: str, drifts: bool) -> None:
    assert ("HVD333" in codes(TORCH.replace("LATE", late).replace("LINES", lines))) == drifts
