"""Files and folders that ranks share: caches of pipelines, archives, folders that settings name; and what else was missed at
first: fetched parts that are sliced, losses that are divided, rates that are drawn."""

from __future__ import annotations

import pytest

from .helpers import codes

CACHED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.from_tensor_slices(read())
rows = rows.cache(GIVEN).batch(32)
hvd.allreduce(tf.constant(0.0))
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("'rows.cache'", True),
        ("filename='rows.cache'", True),
        ("", False),
        ("''", False),
        ("f'rows-{hvd.rank()}.cache'", False),
    ],
)
def test_ranks_that_keep_their_rows_in_one_file(given: str, found: bool) -> None:
    text = CACHED.replace("GIVEN", given)
    assert ("HVD314" in codes(text)) == found
    assert "HVD314" not in codes(text.replace("tf.data.Dataset.from_tensor_slices", "Reader"))


UNPACKED = """\
import shutil
import tarfile
import zipfile
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.local_rank() == 0:
    UNPACK
WAIT
rows = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory("images")
"""


@pytest.mark.parametrize(
    "unpack",
    [
        "tarfile.open('a.tar').extractall('images')",
        "zipfile.ZipFile('a.zip').extractall(path='images')",
        "shutil.unpack_archive('a.zip', 'images')",
    ],
)
def test_a_folder_is_read_while_an_archive_is_unpacked_into_it(unpack: str) -> None:
    text = UNPACKED.replace("UNPACK", unpack)
    assert "HVD332" in codes(text.replace("WAIT\n", ""))
    assert "HVD332" not in codes(text.replace("WAIT", "hvd.allreduce(tf.constant(0.0))"))
    assert "HVD332" not in codes(text.replace("WAIT\n", "").replace("'images'", "'others'"))


def test_what_is_unpacked_elsewhere_is_no_archive() -> None:
    text = UNPACKED.replace("UNPACK", "rows().extractall('images')").replace("WAIT\n", "")
    assert "HVD332" not in codes(text)


MADE = """\
import os
import sys
import yaml
import horovod.tensorflow as hvd

hvd.init()
config = yaml.safe_load(open("config.yaml"))
if not os.path.exists(PATH):
    os.mkdir(PATH)
"""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ('config["out"]', True),
        ("sys.argv[1]", True),
        ('config["out"] + str(hvd.rank())', False),
        ("names()[0]", False),
    ],
)
def test_a_folder_that_a_setting_names(path: str, found: bool) -> None:
    assert ("HVD332" in codes(MADE.replace("PATH", path))) == found


SESSION = """\
import math
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from project import flags, network, rows

tf.disable_eager_execution()
hvd.init()
loss = network(rows())
optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size()))
train = optimizer.apply_gradients(optimizer.compute_gradients(COMPUTED))
count = tf.train.get_or_create_global_step()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    fetches = [loss, count, train]
    while True:
        fetched = session.run(fetches)
        value, number = fetched[:2]
        if TEST:
            break
"""


@pytest.mark.parametrize("computed", ["loss", "loss / flags.parts", "0.5 * loss"])
def test_a_loss_that_is_a_part_of_what_was_fetched(computed: str) -> None:
    text = SESSION.replace("COMPUTED", computed)
    assert "HVD331" in codes(text.replace("TEST", "math.isnan(value)"))
    assert "HVD331" not in codes(text.replace("TEST", "number >= flags.steps"))
    assert "HVD331" not in codes(
        text.replace("TEST", "math.isnan(value)").replace("fetched[:2]", "fetched[1:]")
    )


DRAWN = """\
import random
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
scheduler = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: RATE)
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), scheduler])
"""


@pytest.mark.parametrize(
    ("rate", "found"),
    [
        ("rate * random.uniform(0.9, 1.1)", True),
        ("rate * 0.9 ** epoch", False),
        ("random.Random(7).random()", False),
    ],
)
def test_a_rate_that_each_rank_draws(rate: str, found: bool) -> None:
    text = DRAWN.replace("RATE", rate)
    assert ("HVD333" in codes(text)) == found
    assert "HVD333" not in codes(text.replace("hvd.init()\n", "hvd.init()\nrandom.seed(7)\n"))


TORCH = """\
import torch
import horovod.torch as hvd
from project import Network, rows

hvd.init()
held = Network()
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(held.weights(), lr=0.1 * hvd.size()))
hvd.broadcast_parameters(held.net.state_dict(), root_rank=0)
if hvd.rank() == 0:
    held.LOADED.load_state_dict(torch.load("w.pt"))
for x in rows():
    held.net(x).sum().backward()
    optimizer.step()
"""


def test_what_is_sent_is_what_is_trained() -> None:
    assert "HVD333" in codes(TORCH.replace("LOADED", "net"))
    assert "HVD333" not in codes(TORCH.replace("LOADED", "averages"))
