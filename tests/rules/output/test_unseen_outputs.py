"""C6: functions of modules that aren't there, of which names say that they write a file."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SCRIPT = """\
import numpy as np
import tensorflow as tf
from helpers.utils import display, dump, embed, save_images, show
import helpers.viz as viz
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile("adam", "mse")
model.fit(x, x)
images = model(x[:10])
{}
"""


@pytest.mark.parametrize(
    "line",
    [
        "save_images(images, 'out.png')",
        "save_images(images, 3)",
        "viz.saveAll(images)",
        "dump(images, 'images.csv')",
        "display(images, save_to='images_%03d.png' % 3)",
        "display(images, n=3, save_path=folder)",
        "viz.plot_all(images, f'{3}.pdf')",
    ],
)
def test_rank_0_alone_calls_it(line: str) -> None:
    assert f"if hvd.rank() == 0:\n    {line}\n" in plan_of(SCRIPT.format(line)).text


@pytest.mark.parametrize(
    "line",
    [
        "kept = save_images(images, 'out.png')",
        "display(images)",
        "dump(images, log)",  # a file that is opened here: other ranks open the null device
        "display(images, save_to=None)",
        "show(images, title='out')",
        "embed(images, 'model.png')",
        "viz.savedata(images)",
        "import yaml; yaml.dump(images, log)",
    ],
)
def test_what_may_do_something_else_is_left(line: str) -> None:
    assert f"\n{line}\n" in plan_of(SCRIPT.format(line)).text
