"""Files that all ranks write: of models in a dictionary, and databases of SQLite."""

from __future__ import annotations

import pytest

from .helpers import codes

NETS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def make(n):
    return tf.keras.Sequential([tf.keras.layers.Dense(n, input_shape=(4,))])


def save(models, epoch):
    for name, model in models.items():
        model.save_weights(PATH)


critic = make(1)
nets = {"generator": make(4), "critic": critic}
for epoch in range(9):
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean(critic(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
    SAVED
"""


@pytest.mark.parametrize(
    ("saved", "path", "found"),
    [
        ("save(nets, epoch)", 'f"{name}-{epoch}.h5"', True),
        ("save(nets, epoch)", '"%s.h5" % name', True),
        ("for net in nets.values():\n        net.save('net.h5')", "''", True),
        ("for name in nets:\n        nets[name].save(f'{name}.h5')", "''", True),
        ("if hvd.rank() == 0:\n        save(nets, epoch)", 'f"{name}-{epoch}.h5"', False),
        ("save(nets, epoch)", 'f"{name}-{hvd.rank()}.h5"', False),
        ("save(read(), epoch)", 'f"{name}-{epoch}.h5"', False),
    ],
)
def test_models_of_a_dictionary_that_all_ranks_save(saved: str, path: str, found: bool) -> None:
    assert ("HVD314" in codes(NETS.replace("SAVED", saved).replace("PATH", path))) == found


BASE = """\
import sqlite3
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
base = sqlite3.connect(PATH)
INSERT = "insert into runs values (?, ?)"
for epoch in range(9):
    loss = float(hvd.allreduce(step()))
    CHANGED
"""


@pytest.mark.parametrize(
    ("path", "changed", "found"),
    [
        ("'runs.db'", "base.execute('insert into runs values (?, ?)', (epoch, loss))", True),
        ("'runs.db'", "base.execute(INSERT, (epoch, loss))", True),
        (
            "'runs.db'",
            "base.cursor().executemany('''\n  INSERT INTO runs VALUES (?, ?)''', [(epoch, loss)])",
            True,
        ),
        ("'runs.db'", "base.execute('create table runs (epoch int)')", True),
        ("'runs.db'", "base.execute('create table if not exists runs (epoch int)')", False),
        ("'runs.db'", "base.execute('select * from runs')", False),
        ("'runs.db'", "base.execute(INSERT, (hvd.rank(), loss))", False),
        ("'runs.db'", "if hvd.rank() == 0:\n        base.execute(INSERT, (epoch, loss))", False),
        ("f'runs-{hvd.rank()}.db'", "base.execute(INSERT, (epoch, loss))", False),
        ("':memory:'", "base.execute(INSERT, (epoch, loss))", False),
    ],
)
def test_databases_that_all_ranks_change(path: str, changed: str, found: bool) -> None:
    assert ("HVD314" in codes(BASE.replace("PATH", path).replace("CHANGED", changed))) == found
