"""Shares of which one has other rows or more of them than it should, pictures and files of callbacks that all ranks write, and
loaders of PyTorch that are made with settings: faults that were put into scripts blind and missed at first."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

FITTED = """\
import math

import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x, y = np.load("rows.npy"), np.load("labels.npy")
DEALT
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
MORE
model.fit(x, y, epochs=9, callbacks=callbacks)
"""
SHARE = "n = len(x) // hvd.size()\nstart = hvd.rank() * n\n"


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


def fitted(dealt: str = "", more: str = "") -> set[str]:
    return codes(FITTED.replace("DEALT", dealt).replace("MORE", more))


@pytest.mark.parametrize(
    "dealt",
    [
        SHARE
        + "end = len(x) if hvd.rank() == hvd.size() - 1 else start + n\nx, y = x[start:end], y[start:end]",
        SHARE
        + "end = start + n\nif hvd.rank() == hvd.size() - 1:\n    end = len(x)\nx, y = x[start:end], y[start:end]",
        SHARE
        + "if hvd.rank() == hvd.size() - 1:\n    x, y = x[start:], y[start:]\n"
        + "else:\n    x, y = x[start:start + n], y[start:start + n]",
        "n = math.ceil(len(x) / hvd.size())\nstart = hvd.rank() * n\nx, y = x[start:start + n], y[start:start + n]",
    ],
)
def test_blocks_of_which_the_last_one_has_another_length(dealt: str) -> None:
    assert "HVD323" in fitted(dealt)
    whole = "whole = len(x) // hvd.size() * hvd.size()\nx, y = x[:whole], y[:whole]\n"
    assert "HVD323" not in fitted(whole + dealt)


def test_blocks_that_are_equal() -> None:
    assert "HVD323" not in fitted(SHARE + "x, y = x[start:start + n], y[start:start + n]")
    shown = "if hvd.rank() == 0:\n    print(x[hvd.rank() * 9:])\n"
    assert "HVD323" not in fitted(SHARE + shown + "x, y = x[start:start + n], y[start:start + n]")


@pytest.mark.parametrize("test", ["hvd.size() > 1", "int(hvd.size()) > 1", "1 < hvd.size()"])
def test_what_several_ranks_do_is_no_test_of_the_rank(test: str) -> None:
    share = (
        "    n = len(x) // hvd.size()\n    start = AT * n\n    x, y = x[start:start + n], y[start:start + n]"
    )
    of_host = f"if {test}:\n{share.replace('AT', 'hvd.local_rank()')}"
    assert "HVD320" in fitted(of_host)
    assert "HVD320" not in fitted(of_host.replace("local_rank", "rank"))
    drawn = "order = np.random.permutation(len(x))\nx, y = x[order], y[order]\n"
    apart = f"{drawn}if {test}:\n{share.replace('AT', 'hvd.rank()')}"
    assert "HVD319" in fitted(apart)
    assert "HVD319" not in fitted(f"np.random.seed(7)\n{apart}")


@pytest.mark.parametrize(("test", "found"), [("hvd.size() > 1", True), ("hvd.size() == 1", False)])
def test_a_file_that_several_ranks_write_or_a_process_alone(test: str, found: bool) -> None:
    more = f"if {test}:\n    model.save('begun.h5')"
    assert ("HVD314" in fitted(more=more)) is found
    left = f"def keep():\n    if not {test}:\n        return\n    model.save('begun.h5')\nkeep()"
    assert ("HVD314" in fitted(more=left)) is found


@pytest.mark.parametrize(
    "hook",
    [
        'lambda epoch, logs: model.save_weights("w-%d.h5" % epoch)',
        "lambda epoch, logs: model.save_weights('w.h5')",
    ],
)
def test_what_a_callback_of_lambdas_keeps(hook: str) -> None:
    more = f"callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_end={hook}))"
    assert "HVD314" in fitted(more=more)
    assert "HVD314" not in fitted(more=more.replace("save_weights(", "save_weights(str(hvd.rank()) + "))
    assert "HVD314" not in fitted(more=f"if hvd.rank() == 0:\n    {more}")


TAPE = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd
from PIL import Image
from tqdm import tqdm


def train(rows, folder, epochs):
    for epoch in tqdm(range(epochs)):
        for i, x in enumerate(rows):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            tape = hvd.DistributedGradientTape(tape)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            if i == 0:
                hvd.broadcast_variables(model.variables, root_rank=0)
            SHOWN


hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())
train(tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).shuffle(1000).batch(10), "shown", 3)
"""


@pytest.mark.parametrize(
    "picture",
    [
        "Image.fromarray(x.numpy())",
        "Image.fromarray(x.numpy()).resize((8, 8))",
        "tf.keras.utils.array_to_img(x)",
    ],
)
def test_pictures_that_all_ranks_keep(picture: str) -> None:
    saved = f'{picture}.save(os.path.join(folder, f"{{epoch}}-{{i}}.png"))'
    assert "HVD314" in codes(TAPE.replace("SHOWN", saved))
    assert "HVD314" not in codes(TAPE.replace("SHOWN", saved.replace("{epoch}", "{hvd.rank()}")))
    assert "HVD314" not in codes(TAPE.replace("SHOWN", f"if hvd.rank() == 0:\n                {saved}"))
    assert "HVD314" not in codes(TAPE.replace("SHOWN", f'{picture}.show("a.png")'))


def test_a_number_of_a_turn_is_not_made_of_the_rows() -> None:
    saved = 'Image.fromarray(x.numpy()).save(f"{i}.png")'
    last = f"{saved}\n        i.save = 1\n        Image.fromarray(x.numpy()).save(f'last-{{i}}.png')"
    assert "HVD314" in codes(TAPE.replace("SHOWN", saved))
    found = [
        v for v in check(summarize(Document(TAPE.replace("SHOWN", last), "train.py"))) if v.code == "HVD314"
    ]
    assert len(found) == 1  # after the loop, the number says how many rows this rank has


TORCH = """\
import torch
import horovod.torch as hvd
from torchvision import datasets


def loader_of(rows):
    SETTINGS
    return torch.utils.data.DataLoader(rows, batch_size=32, **settings)


def train(loader):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


hvd.init()
torch.cuda.set_device(hvd.local_rank())
rows = datasets.MNIST(f"rows-{hvd.rank()}", download=True)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
train(loader_of(rows))
"""


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ('settings = {"num_workers": 2, "pin_memory": True}', True),
        ('settings = {"num_workers": 2} if torch.cuda.is_available() else {}', True),
        ('settings = {"sampler": sampler}', False),
        ('settings = {"num_workers": 2}\n    settings["sampler"] = sampler', False),
        ("settings = settings_of(rows)", False),
    ],
)
def test_a_loader_that_is_made_with_settings(settings: str, found: bool) -> None:
    assert ("HVD320" in codes(TORCH.replace("SETTINGS", settings))) is found


def test_a_wrapped_optimizer_of_pytorch_that_nothing_uses() -> None:
    text = TORCH.replace("SETTINGS", "settings = {}").replace("optimizer = hvd.Dist", "averaging = hvd.Dist")
    assert "HVD304" in codes(text)
    assert "HVD304" not in codes(TORCH.replace("SETTINGS", "settings = {}"))


@pytest.mark.parametrize(("number", "found"), [("hvd.local_size()", True), ("hvd.size()", False)])
def test_what_one_host_counts_is_no_share_of_all_ranks(number: str, found: bool) -> None:
    rate = FITTED.replace("0.1 * hvd.size()", f"scaled(0.1, {number})").replace(
        "DEALT", "def scaled(rate, n):\n    return rate * n"
    )
    assert ("local_size" in told(rate.replace("MORE", ""), "HVD308")) is found
    steps = FITTED.replace("DEALT", f"steps = len(x) // 32 // {number}").replace("MORE", "")
    assert (
        "local_size" in told(steps.replace("epochs=9", "epochs=9, steps_per_epoch=steps"), "HVD321")
    ) is found


def test_what_one_host_counts_beside_other_hosts_or_for_adasum() -> None:
    of_hosts = FITTED.replace("0.1 * hvd.size()", "0.1 * hvd.local_size() * hvd.cross_size()")
    assert not told(of_hosts.replace("DEALT", "").replace("MORE", ""), "HVD308")
    of_host = (
        FITTED.replace("DEALT", "")
        .replace("MORE", "")
        .replace("0.1 * hvd.size())", "0.1 * hvd.local_size())")
    )
    assert "local_size" in told(of_host, "HVD308")
    assert not told(of_host.replace("hvd.local_size()))", "hvd.local_size()), op=hvd.Adasum)"), "HVD308")


def told(text: str, code: str) -> str:
    return " ".join(v.message for v in check(summarize(Document(text, "train.py"))) if v.code == code)


ELASTIC = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.1)


@hvd.elastic.run
def train(state):
    first = state.batch
    for i, x in enumerate(rows.skip(state.batch).take(100 // hvd.size())):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        state.batch = first + i
        state.commit()


state = hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0)
train(state)
"""


def test_elastic_batches_begin_where_they_were() -> None:
    assert "HVD324" not in codes(ELASTIC)
    again = ELASTIC.replace(".skip(state.batch)", "")
    assert "HVD324" in codes(again)
    shown = again.replace("state.commit()", "if state.batch % 10 == 0:\n            print(loss)")
    assert "counts from the beginning" in told(shown, "HVD324")
    skipped = again.replace(
        "        with tf", "        if i < state.batch:\n            continue\n        with tf"
    )
    assert "HVD324" not in codes(skipped)


def test_an_elastic_count_that_nothing_moves_on() -> None:
    assert "nothing moves" in told(ELASTIC.replace("state.batch = first + i", "batch = first + i"), "HVD324")
    by_callback = ELASTIC.replace("state.batch = first + i", "hvd.elastic.UpdateBatchStateCallback(state)")
    assert "nothing moves" not in told(by_callback, "HVD324")


RESUMED = """\
import os

import torch
import horovod.torch as hvd

hvd.init()
torch.cuda.set_device(hvd.local_rank())
first = 0
for epoch in range(9, 0, -1):
    if os.path.exists(f"checkpoint-{epoch}.pt"):
        first = epoch
        break
SENT
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
for epoch in range(first, 9):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


def test_an_epoch_of_pytorch_that_each_host_finds_for_itself() -> None:
    assert "HVD323" in codes(RESUMED.replace("SENT", ""))
    sent = "first = hvd.broadcast(torch.tensor(first), root_rank=0, name='first').item()"
    assert "HVD323" not in codes(RESUMED.replace("SENT", sent))
    assert "HVD323" not in codes(RESUMED.replace("SENT", "first = 0"))
