"""C5: an optimizer's rate that a program writes to a file is that of one process, where a later run reads it again."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import TAPE
from ..pairs import doubts, plan_of

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


RESTORED = PROGRAM.replace("        rate = {read}\nopt.learning_rate = rate\n", "        {set}\n")
SENT = "opt.learning_rate = hvd.broadcast_object(float(opt.learning_rate))\n"


def restored(set_by: str) -> str:
    return RESTORED.format(head=TAPE, set=set_by, write="json.dump({'lr': float(opt.learning_rate)}, f)")


@pytest.mark.parametrize(
    ("set_by", "sent"),
    [
        ("opt.learning_rate = json.load(f)['lr']", SENT),
        ("opt.learning_rate.assign(json.load(f)['lr'])", SENT),
        ("tf.keras.backend.set_value(opt.lr, json.load(f)['lr'])", SENT.replace("learning_rate", "lr")),
    ],
)
def test_a_rate_that_a_branch_sets_by_a_file_is_rank_0s_after_it(set_by: str, sent: str) -> None:
    text = plan_of(restored(set_by)).text
    assert "json.load(f)['lr'] * hvd.size()" in text
    assert f"\n{sent}" in text
    assert text.index(sent) < text.index("for x in")


@pytest.mark.parametrize(
    ("set_by", "why"),
    [
        ("opt.learning_rate = time.time() % 1", "clock"),
        ("for n in range(3):\n            opt.learning_rate = json.load(f)['lr']", "files"),
    ],
)
def test_other_rates_of_a_branch_are_refused(set_by: str, why: str) -> None:
    source = "import time\n" + restored(set_by)
    result = distribute(summarize(Document(source)), Options())
    assert isinstance(result, Refusal)
    assert any(r.code == "HVD107" and why in r.message for r in result.reasons)


SAVING = """\
import json, os
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
rate = 0.1
if os.path.exists("state.json"):
    with open("state.json") as f:
        rate = json.load(f)["rate"]
model.compile(tf.keras.optimizers.SGD(rate), "mse")
class Save(tf.keras.callbacks.Callback):
    last = 9.0
    def on_epoch_end(self, epoch, logs=None):
        if logs["loss"] > self.last:
            {lower}
        self.last = logs["loss"]
        with open("state.json", "w") as f:
            json.dump({{"rate": float(self.model.optimizer.learning_rate)}}, f)
model.fit(x, y, epochs=10, callbacks=[Save()])
"""


@pytest.mark.parametrize(
    "lower",
    [
        "self.model.optimizer.learning_rate = float(self.model.optimizer.learning_rate) * 0.5",
        "self.model.optimizer.learning_rate.assign(self.model.optimizer.learning_rate * 0.5)",
        "pass",
    ],
)
def test_a_rate_that_is_lowered_is_not_asked_about_where_what_is_written_is_divided(lower: str) -> None:
    made = plan_of(SAVING.format(lower=lower))
    assert '{"rate": float(self.model.optimizer.learning_rate) / hvd.size()}' in made.text
    assert f"            {lower}\n" in made.text
    assert not any(ASKED in doubt for doubt in doubts(made, "C5"))
