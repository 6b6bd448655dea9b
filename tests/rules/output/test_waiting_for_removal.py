"""C6: who removes a folder waits alone until it is gone."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

WAITING = """\
import os, shutil, time
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
{}
while os.path.exists("logs"):
    time.sleep(1)
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("before", "alone"),
    [('shutil.rmtree("logs")', True), ('print("logs")', False), ('shutil.rmtree("old")', False)],
)
def test_who_removes_a_folder_waits_alone_until_it_is_gone(before: str, alone: bool) -> None:
    text = plan_of(WAITING.format(before)).text
    assert ('    while os.path.exists("logs"):\n        time.sleep(1)\n' in text) is alone
