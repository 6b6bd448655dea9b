"""C5: an optimizer's rate that a program writes to a file is that of one process, where a later run reads it again."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import doubts, plan_of

ASKED = "this is written to a file as it is"
PROGRAM = """\
{head}import json, os
import numpy as np
rate = 0.1
if os.path.exists("state.json"):
    with open("state.json") as f:
        rate = {read}
opt.learning_rate = rate
for x in tf.data.Dataset.from_tensor_slices(a).batch(4):
    step(x, x)
    opt.learning_rate = opt.learning_rate * 0.9
with open("state.json", "w") as f:
    {write}
"""


def plan(write: str, read: str = "json.load(f)['lr']") -> tuple[str, bool]:
    """The text that comes out, and whether it is asked about what is written."""
    made = plan_of(PROGRAM.format(head=TAPE, read=read, write=write.replace("\n", "\n    ")))
    return made.text, any(ASKED in doubt for doubt in doubts(made, "C5"))


@pytest.mark.parametrize(
    ("write", "after"),
    [
        ("json.dump({'lr': float(opt.learning_rate)}, f)", "{'lr': float(opt.learning_rate) / hvd.size()}"),
        (
            "json.dump([float(opt.learning_rate.numpy())], f)",
            "[float(opt.learning_rate.numpy()) / hvd.size()]",
        ),
        (
            "f.write('%f' % tf.keras.backend.get_value(opt.lr))",
            "'%f' % (tf.keras.backend.get_value(opt.lr) / hvd.size())",
        ),
        ("f.write(f'{opt.learning_rate.numpy()}')", "f'{opt.learning_rate.numpy() / hvd.size()}'"),
        (
            "state = {'lr': float(opt.learning_rate)}\njson.dump(state, f)",
            "state = {'lr': float(opt.learning_rate) / hvd.size()}",
        ),
    ],
)
def test_a_file_holds_the_rate_of_one_process(write: str, after: str) -> None:
    """Each run multiplied it once more."""
    text, asked = plan(write)
    assert after in text
    assert "opt.learning_rate = rate * hvd.size()" in text
    assert not asked


@pytest.mark.parametrize(
    "write",
    [
        "now = opt.learning_rate.numpy()\nprint(now)\njson.dump({'lr': float(now)}, f)",
        "state = {}\nstate['lr'] = float(opt.learning_rate)\njson.dump(state, f)",
    ],
)
def test_what_others_may_read_too_is_asked_about(write: str) -> None:
    text, asked = plan(write)
    assert " / hvd.size()" not in text
    assert asked


@pytest.mark.parametrize(
    ("write", "read"),
    [
        ("json.dump({'lr': rate}, f)", "json.load(f)['lr']"),  # one process' own
        ("json.dump({'lr': float(opt.learning_rate)}, f)", "0.2"),  # nothing reads it
        ("print(float(opt.learning_rate))", "json.load(f)['lr']"),
        ("json.dump({'momentum': float(opt.momentum)}, f)", "json.load(f)['lr']"),
    ],
)
def test_other_numbers_and_files_are_left(write: str, read: str) -> None:
    text, asked = plan(write, read)
    assert " / hvd.size()" not in text
    assert not asked
