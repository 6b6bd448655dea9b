"""C6: the number of the next folder that isn't there yet is rank 0's, where all ranks look into it later."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import os
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
{chosen}
os.makedirs(run)
model.fit(x, x)
model.save_weights(run + "/w.h5")
{read}
"""
LOOP = 'k = 0\nwhile os.path.exists(f"runs/{k}"):\n    k += 1\n'
NAMED = 'k, run = 0, "runs/0"\nwhile os.path.isdir(run):\n    k = k + 1\n    run = f"runs/{k}"\n'
READ = 'model.load_weights(run + "/w.h5")'


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (LOOP + 'run = f"runs/{k}"', "    k += 1\nk = hvd.broadcast_object(k)\n"),
        (NAMED, 'run = f"runs/{k}"\nk, run = hvd.broadcast_object((k, run))\n'),
    ],
)
def test_all_ranks_go_on_with_rank_0s(chosen: str, told: str) -> None:
    """A rank that came later found rank 0's folder, and looked for the weights in the next one."""
    assert told in plan_of(PROGRAM.format(chosen=chosen, read=READ)).text


def test_a_folder_that_rank_0_alone_looks_into_is_its_own_matter() -> None:
    text = plan_of(PROGRAM.format(chosen=LOOP + 'run = f"runs/{k}"', read="pass")).text
    assert "broadcast_object(k" not in text
