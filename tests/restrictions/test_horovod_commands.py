"""What commands of the system and files of messages are to other ranks."""

from __future__ import annotations

import pytest

from .helpers import changed, codes

SCRIPT = """\
import logging
import os
import subprocess

import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
path = "data.tgz"
HERE = 0
x = np.load("x.npy")[hvd.rank()::hvd.size()]
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, x, steps_per_epoch=100 // hvd.size(), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


def found(here: str) -> set[str]:
    return codes(changed(SCRIPT, ("HERE = 0", here))) & {"HVD314", "HVD332"}


@pytest.mark.parametrize(
    "here",
    [
        "os.system('wget http://a.b/data.tgz')",
        "os.system(f'wget -O {path} http://a.b/data.tgz')",
        "subprocess.check_call(['curl', '-o', path, 'http://a.b/data.tgz'])",
        "subprocess.run('curl -O http://a.b/data.tgz', shell=True)",
        "os.system('tar xzf data.tgz')",
        "os.system('mkdir out')",
        "os.system('mkdir -p data && unzip data.zip -d data')",
        "subprocess.run(['gsutil', 'cp', 'gs://bucket/x.npy', 'x.npy'])",
        "if hvd.rank() == 0:\n    os.system('rm x.npy')",
        "if hvd.rank() == 0:\n    subprocess.run(['cp', '/nfs/x.npy', 'x.npy'])",
    ],
)
def test_commands_touch_files(here: str) -> None:
    assert found(here) == {"HVD332"}


@pytest.mark.parametrize(
    "here",
    [
        "os.system('mkdir -p out')",
        "os.system('nvidia-smi')",
        "os.system('ls | wc -l')",
        "os.system(command)",
        "os.system('wget \"')",
        "subprocess.run(['nvidia-smi'])",
        "subprocess.run([program, 'x.npy'])",
        "os.system(f'wget -O data-{hvd.rank()}.tgz http://a.b/data.tgz')",
        "if hvd.rank() == 0:\n    subprocess.run(['gsutil', 'cp', 'y.npy', 'gs://bucket/y.npy'])",
        "if hvd.rank() == 0:\n    os.system('tar czf code.tgz src')",
        "if hvd.local_rank() == 0:\n    os.system('wget http://a.b/data.tgz')\nhvd.broadcast(0, 0)",
    ],
)
def test_other_commands_are_no_fault(here: str) -> None:
    assert not found(here)


@pytest.mark.parametrize(
    "log",
    [
        "logging.basicConfig(filename='run.log', filemode='w')",
        "logging.getLogger().addHandler(logging.FileHandler('run.log', 'w'))",
        "logging.getLogger().addHandler(logging.FileHandler('run.log', mode='w'))",
    ],
)
def test_a_file_of_messages_is_begun_by_one_rank(log: str) -> None:
    assert found(log) == {"HVD314"}
    assert not found(f"if hvd.rank() == 0:\n    {log}")
    assert not found(log.replace("'run.log'", "f'run-{hvd.rank()}.log'"))
    assert not found(log.replace("'w'", "'a'"))
