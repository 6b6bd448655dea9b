"""Functions that say whether this is the first rank: what they decide is a test of the rank."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


FIRST = """\
import os
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

DISTRIBUTED = os.getenv("DISTRIBUTED") == "yes"


def first(distributed=DISTRIBUTED):
    BODY


hvd.init()
LINES
"""
BODIES = [
    "if distributed:\n        if hvd.rank() == 0:\n            return True\n        else:\n            return False\n"
    "    else:\n        return True",
    "if hvd.rank() == 0:\n        return 1\n    return 0",
    "if not distributed:\n        return True\n    return hvd.rank() == 0",
    "if hvd.rank() > 0 and distributed:\n        return False\n    return True",
]


@pytest.mark.parametrize("body", BODIES)
def test_a_function_that_says_whether_this_is_the_first_rank(body: str) -> None:
    text = FIRST.replace("BODY", body)
    assert "HVD313" in codes(text.replace("LINES", "if first():\n    hvd.allreduce(tf.ones(1))"))
    both = 'if first():\n    hvd.broadcast_object("a", 0)\nelse:\n    hvd.broadcast_object(None, 0)'
    assert not codes(text.replace("LINES", both)) & {"HVD313", "HVD331"}
    alone = 'if first():\n    np.save("rows.npy", [1])\nrows = np.load("rows.npy")'
    assert "HVD314" not in codes(text.replace("LINES", alone))


def test_a_race_behind_such_a_function() -> None:
    text = FIRST.replace("LINES", 'if first():\n    np.save("rows.npy", [1])\nWAITrows = np.load("rows.npy")')
    for body in BODIES[:2]:
        assert "HVD332" in codes(text.replace("BODY", body).replace("WAIT", ""))
        assert "HVD332" not in codes(
            text.replace("BODY", body).replace("WAIT", "hvd.allreduce(tf.ones(1))\n")
        )


@pytest.mark.parametrize(
    "body",
    [
        "if distributed:\n        return True\n    return False",
        "return True",
        "hvd.rank()\n    return distributed",
    ],
)
def test_a_function_that_asks_for_no_rank(body: str) -> None:
    text = FIRST.replace("BODY", body).replace("LINES", "if first():\n    hvd.allreduce(tf.ones(1))")
    assert not codes(text) & {"HVD313", "HVD331"}
