"""G4 and S5: ranks that decide by what each measures decide by the mean of it."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import KERAS, TAPE
from ..pairs import TF, plan_of
from ..sessions import LOSS

EPOCHS = """
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
best, bad = 1e9, 0
for epoch in range(30):
    losses, total, n = [], 0.0, 0
    for x, y in ds:
        value = step(x, y)
        losses.append(value)
        total += value
        n += 1
{}
"""


def text_of(after: str) -> str:
    return plan_of(
        "import numpy as np\n" + TAPE + EPOCHS.format(textwrap.indent(textwrap.dedent(after), "    "))
    ).text


PATIENCE = """
mean = {}
if mean < best:
    best, bad = mean, 0
else:
    bad += 1
    if bad == 3:
        {}
"""


@pytest.mark.parametrize(
    "measured", ["np.mean(losses)", "total / n", "float(np.mean(losses))", "max(0.1, total / n)"]
)
@pytest.mark.parametrize("then", ["break", "opt.learning_rate = 0.01", "opt.learning_rate, bad = 0.01, 0"])
def test_patience_goes_by_the_mean(measured: str, then: str) -> None:
    text = text_of(PATIENCE.format(measured, then))
    assert "    mean = mean_over_ranks(" in text
    assert "    if mean < best:\n        best, bad = mean, 0\n" in text
    assert "        if bad == 3:\n" in text
    assert "any_rank" not in text
    assert "from_root" not in text


def test_patience_goes_by_the_mean_of_what_was_added_up() -> None:
    text = text_of(
        "if total < best:\n    best, bad = total, 0\nelse:\n    bad += 1\nif bad == 3:\n    break\n"
    )
    assert (
        "        n += 1\n    total = mean_over_ranks(total)\n    if total < best:\n        best, bad = total, 0\n"
        in text
    )
    assert "    if bad == 3:\n        break\n" in text
    assert "any_rank" not in text


def test_what_is_added_up_and_read_in_the_same_loop_is_left() -> None:
    loop = "total = 0.0\nfor x, y in ds:\n    total += step(x, y)\n    if total < 0.1:\n        break\n"
    text = plan_of(TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n" + loop).text
    assert "mean_over_ranks" not in text
    assert "    if any_rank(total" in text


def test_what_a_function_gives_with_other_things_is_averaged_after_it() -> None:
    head = (
        "def epoch_of():\n    total, n = 0.0, 0\n    for x, y in ds:\n        total += step(x, y)\n        n += 1\n"
        "    return total / n, n\n"
    )
    loop = "for epoch in range(9):\n    loss, n = epoch_of()\n    if loss < 0.1:\n        break\n"
    text = plan_of(TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n" + head + loop).text
    assert (
        "    loss, n = epoch_of()\n    loss = mean_over_ranks(loss)\n    if loss < 0.1:\n        break\n"
        in text
    )


def test_what_is_measured_in_the_test_itself() -> None:
    assert "    if mean_over_ranks(np.mean(losses)) < 0.1:\n        break\n" in text_of(
        "if np.mean(losses) < 0.1:\n    break\n"
    )


def test_each_value_is_averaged_once() -> None:
    text = text_of(
        "mean = np.mean(losses)\nif mean > 5:\n    opt.learning_rate = 0.01\nif mean < 0.1:\n    break\n"
    )
    assert text.count("mean_over_ranks(") == 2  # the helper, and the value


@pytest.mark.parametrize(
    "after",
    [
        "improved = stopper.check(losses)\nif improved:\n    break\n",  # no number
        "mean = np.mean(losses) if random.random() < 0.5 else 9.0\nif mean < 0.1:\n    break\n",  # not by its rows alone
    ],
)
def test_what_is_no_measured_number_is_agreed_on_as_before(after: str) -> None:
    program = "import random\nimport numpy as np\n" + TAPE + EPOCHS.format(textwrap.indent(after, "    "))
    assert "mean_over_ranks" not in getattr(distribute(summarize(Document(program)), Options()), "text", "")


def test_where_all_ranks_come_by_a_draw_that_they_share() -> None:
    text = plan_of(
        "import random\nimport numpy as np\n"
        + TAPE
        + EPOCHS.format(
            "    if len(losses) > 3 and random.random() < 0.5:\n        mean = np.mean(losses)\n"
            "        if mean < 0.1:\n            break\n"
        )
    ).text
    assert "    if len(losses) > max(1, 3 // hvd.size()) and alike(random.random)() < 0.5:\n" in text
    assert "        mean = mean_over_ranks(np.mean(losses))\n" in text


def test_what_is_measured_in_each_step_is_left() -> None:
    loop = "for x, y in ds:\n    value = step(x, y)\n    if value < 0.1:\n        break\n"
    text = plan_of(TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n" + loop).text
    assert "    value = step(x, y)\n" in text
    assert "    if any_rank(value < 0.1):\n" in text


def test_what_is_the_same_on_all_ranks_is_left() -> None:
    text = text_of("if epoch > 5:\n    opt.learning_rate = 0.01\nprint(np.mean(losses))\n")
    assert "mean_over_ranks" not in text


STOPPER = """
class Stopper:
    bad, best = 0, 1e9
    def step(self, loss):
        if loss < self.best:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad > 3
stopper = Stopper()
"""


def test_a_stopper_with_a_method_step_is_no_game() -> None:
    text = plan_of(
        "import numpy as np\n"
        + TAPE
        + STOPPER
        + EPOCHS.format("    if stopper.step(np.mean(losses)):\n        break\n")
    ).text
    assert "SGD(0.1 * hvd.size())" in text.replace("learning_rate=", "")
    assert "if stopper.step(mean_over_ranks(np.mean(losses))):" in text
    assert "any_rank" not in text


ANSWERS = {
    "a function": (
        "def enough(loss):\n    return loss < 0.1\n",
        "    if enough(np.mean(losses)):\n        break\n",
        "    if enough(mean_over_ranks(np.mean(losses))):\n",
    ),
    "a function of several answers": (
        "def enough(loss):\n    if loss < 0.1:\n        return True\n    return False\n",
        "    loss = np.mean(losses)\n    if epoch > 3 and enough(loss):\n        break\n",
        "    loss = mean_over_ranks(np.mean(losses))\n",
    ),
    "a function without a name": (
        "enough = lambda loss: loss < 0.1\n",
        "    if enough(np.mean(losses)):\n        break\n",
        "    if enough(mean_over_ranks(np.mean(losses))):\n",
    ),
    "an object that is called": (
        "class Enough:\n    def __call__(self, loss):\n        return loss < 0.1\nenough = Enough()\n",
        "    if enough(np.mean(losses)):\n        break\n",
        "    if enough(mean_over_ranks(np.mean(losses))):\n",
    ),
    "an object that is told, and asked": (
        STOPPER.replace("        return self.bad > 3\n", "            self.stopped = self.bad > 3\n"),
        "    stopper.step(np.mean(losses))\n    if stopper.stopped:\n        break\n",
        "    stopper.step(mean_over_ranks(np.mean(losses)))\n",
    ),
    "a property of a list": (
        "class Monitor:\n    def __init__(self):\n        self.seen = []\n"
        "    def push(self, loss):\n        self.seen.append(loss)\n"
        "    @property\n    def done(self):\n        return min(self.seen[-3:]) > min(self.seen[:-3])\nmonitor = Monitor()\n",
        "    monitor.push(np.mean(losses))\n    if epoch > 4 and monitor.done:\n        break\n",
        "    monitor.push(mean_over_ranks(np.mean(losses)))\n",
    ),
    "items of a dictionary": (
        "state = {'best': 1e9, 'bad': 0}\n",
        "    loss = np.mean(losses)\n    if loss < state['best']:\n        state['best'], state['bad'] = loss, 0\n"
        "    else:\n        state['bad'] += 1\n    if state['bad'] > 3:\n        break\n",
        "    loss = mean_over_ranks(np.mean(losses))\n",
    ),
    "a dictionary that is updated": (
        "state = dict(best=1e9, bad=0)\n",
        "    loss = np.mean(losses)\n    if loss < state['best']:\n        state.update(best=loss, bad=0)\n"
        "    else:\n        state['bad'] += 1\n    if state['bad'] > 3:\n        break\n",
        "    loss = mean_over_ranks(np.mean(losses))\n",
    ),
    "an object that lowers the rate": (
        "class Plateau:\n    best, bad = 1e9, 0\n"
        "    def step(self, loss):\n        if loss < self.best - 1e-4:\n"
        "            self.best, self.bad = loss, 0\n        else:\n            self.bad += 1\n            if self.bad > 2:\n"
        "                opt.learning_rate.assign(opt.learning_rate * 0.5)\n                self.bad = 0\n"
        "plateau = Plateau()\n",
        "    plateau.step(np.mean(losses))\n",
        "    plateau.step(mean_over_ranks(np.mean(losses)))\n",
    ),
}


@pytest.mark.parametrize(("defined", "used", "told"), ANSWERS.values(), ids=ANSWERS)
def test_what_an_answer_is_made_of_is_told(defined: str, used: str, told: str) -> None:
    plan = plan_of("import numpy as np\n" + TAPE + defined + EPOCHS.format(used))
    assert told in plan.text
    assert "any_rank" not in plan.text
    assert plan.text.count("mean_over_ranks(") == 2
    assert all(change.sure for change in plan.changes)


def test_an_answer_by_what_is_the_same_everywhere_is_left() -> None:
    defined = "def enough(epoch):\n    return epoch > 7\n"
    plan = plan_of(
        "import numpy as np\n" + TAPE + defined + EPOCHS.format("    if enough(epoch):\n        break\n")
    )
    assert "mean_over_ranks" not in plan.text
    assert "any_rank" not in plan.text


def test_a_sum_that_a_function_compares_is_that_of_all_ranks() -> None:
    defined = "def enough(total):\n    return total < 0.5\n"
    text = plan_of(
        TAPE
        + defined
        + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\nfor epoch in range(9):\n    total = 0.0\n"
        "    for x, y in ds:\n        total += step(x, y)\n    if enough(total):\n        break\n"
    ).text
    assert "    return total * hvd.size() < 0.5\n" in text
    assert "    if enough(mean_over_ranks(total)):\n" in text


PLATEAU = """
class Plateau:
    def __init__(self):
        self.best, self.bad = None, 0
    def {0}(self, value):
        if self.best is None or value < self.best * 0.99:
            self.best, self.bad = value, 0
            return False
        self.bad += 1
        if self.bad > 2:
            opt.learning_rate.assign(opt.learning_rate * 0.5)
        return self.bad > 5
plateau = Plateau()
"""


@pytest.mark.parametrize(
    ("name", "loop", "averaged"),
    [
        ("see", "    value = np.mean(losses)\n    plateau.see(value)\n", "    value = mean_over_ranks(np.mean(losses))\n"),
        ("see", "    plateau.see(np.mean(losses))\n", "    plateau.see(mean_over_ranks(np.mean(losses)))\n"),
        ("__call__", "    value = np.mean(losses)\n    if plateau(value):\n        break\n",
         "    value = mean_over_ranks(np.mean(losses))\n"),
        ("see", "    total = 0.0\n    for loss in losses:\n        total += float(loss)\n"
         "    if plateau.see(total / len(losses)):\n        break\n",
         "    if plateau.see(mean_over_ranks(total / len(losses))):\n"),
    ],
)  # fmt: skip
def test_what_a_function_of_the_program_decides_by(name: str, loop: str, averaged: str) -> None:
    plan = plan_of("import numpy as np\n" + TAPE + PLATEAU.format(name) + EPOCHS.format(loop))
    assert averaged in plan.text
    assert "any_rank" not in plan.text
    assert all(c.sure for c in plan.changes)


def test_what_a_turn_comes_to_only_where_it_is_not_left_before() -> None:
    plan = plan_of(
        "import numpy as np\n"
        + TAPE
        + "best = None\n"
        + EPOCHS.format(
            "    mean = np.mean(losses)\n    if best is None or mean < best:\n        best = mean\n        continue\n"
            "    opt.learning_rate.assign(opt.learning_rate * 0.5)\n"
        )
    )
    assert "    mean = mean_over_ranks(np.mean(losses))\n" in plan.text
    assert all(c.sure for c in plan.changes)


def test_what_is_measured_every_so_many_steps() -> None:
    loop = (
        "window, last, n, stop = [], None, 0, False\nfor epoch in range(9):\n    for x, y in ds:\n"
        "        window.append(step(x, y))\n        n += 1\n        if n % 100 == 0:\n            mean = np.mean(window)\n"
        "            if last is not None and mean > last:\n                stop = True\n                break\n"
        "            last = mean\n"
        "    if stop:\n        break\n"
    )
    text = plan_of(TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n" + loop).text
    assert (
        "            mean = mean_over_ranks(np.mean(window))\n            if last is not None and mean > last:\n"
        in text
    )
    assert "    if stop:\n" in text
    assert "any_rank" not in text


@pytest.mark.parametrize(
    "worst", ["max(losses[-3:])", "min(losses)", "np.max(losses)", "np.array(losses).max()"]
)
def test_what_is_found_among_several_numbers_is_averaged_not_they(worst: str) -> None:
    """`mean_over_ranks` takes one number."""
    text = text_of(f"if epoch > 3 and {worst} < 0.1:\n    break\n")
    as_many_rows = worst.replace("-3:", "-max(1, 3 // hvd.size()):")
    assert f"if epoch > 3 and mean_over_ranks({as_many_rows}) < 0.1:" in text
    assert "mean_over_ranks(losses" not in text


KEPT_BY_FIT = """
best, wait = 0.0, 0
for i in range(50):
    h = model.fit(x, y, validation_split=0.2)
    val = h.history["val_loss"][-1]
    if val > best:
        best, wait = val, 0
    else:
        model.optimizer.learning_rate.assign(model.optimizer.learning_rate * 0.5)
        wait += 1
        if wait > 3:
            break
"""


def test_what_fit_keeps_is_averaged_already() -> None:
    """Horovod's callback has averaged it on all ranks: nothing is left to agree on, or to ask."""
    plan = plan_of(KERAS + "x, y = np.ones((90, 9)), np.ones(90)\n" + KEPT_BY_FIT)
    assert '    val = h.history["val_loss"][-1]\n    if val > best:\n' in plan.text
    assert "        if wait > 3:\n" in plan.text
    assert all(c.sure for c in plan.changes)


def test_what_a_step_gives_is_a_rank_s_own() -> None:
    """A near miss."""
    steps = KEPT_BY_FIT.replace("model.fit(x, y, validation_split=0.2)", "model.train_on_batch(x, y)")
    plan = plan_of(
        KERAS + "x, y = np.ones((90, 9)), np.ones(90)\n" + steps.replace('.history["val_loss"][-1]', "")
    )
    assert "val, best = hvd.broadcast_object((val, best))\n" in plan.text


FILLED = """
def step(a, b, kept):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a) - b)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    {put}


for e in range(100):
    losses = []
    for a, b in data:
        step(a, b, losses)
    if np.mean(losses) < 0.01:
        break
"""
HEAD_OF_FILLED = (
    TF
    + "import numpy as np\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nopt = tf.keras.optimizers.SGD(0.1)\n"
    "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)\n"
)


@pytest.mark.parametrize(
    "put", ["kept.append(float(loss))", "kept += [float(loss)]", "kept.extend([float(loss)])"]
)
def test_a_list_that_a_function_fills_holds_a_ranks_losses(put: str) -> None:
    """It was taken for the empty list that it begins as: ranks left the loop by themselves, and the others waited."""
    text = plan_of(HEAD_OF_FILLED + FILLED.format(put=put)).text
    assert "mean_over_ranks(np.mean(losses)) < 0.01" in text


@pytest.mark.parametrize("begun", ["{'loss': []}", "defaultdict(list)"])
def test_a_list_that_a_dictionary_holds_is_filled_with_a_ranks_losses(begun: str) -> None:
    """`history["loss"].append(loss)`: it stayed the empty list that it begins as."""
    filled = FILLED.replace("    losses = []\n", "").replace(
        "step(a, b, losses)", "step(a, b, history['loss'])"
    )
    head = f"from collections import defaultdict\n{HEAD_OF_FILLED}history = {begun}\n"
    body = filled.replace("np.mean(losses)", "history['loss'][-1]").format(put="pass")
    body = body.replace("step(a, b, history['loss'])", "history['loss'].append(step(a, b, 1))")
    body = body.replace("    pass\n", "    return float(loss)\n")
    assert "mean_over_ranks(history['loss'][-1]) < 0.01" in plan_of(head + body).text


def test_a_list_that_a_function_only_reads_is_left() -> None:
    text = plan_of(HEAD_OF_FILLED + FILLED.format(put="print(len(kept))")).text
    assert "if np.mean(losses) < 0.01:" in text


WRONG = """
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
for epoch in range(30):
    wrong = 0
    for x, y in ds:
        wrong += np.sum(step(x, y) > 0)
    if {}:
        break
"""


@pytest.mark.parametrize("test", ["wrong == 0", "not wrong", "wrong != 0"])
def test_a_sum_that_none_may_add_to_is_that_of_all_ranks(test: str) -> None:
    """Where one rank has nothing wrong in its part, the others may: with `any_rank`, all would end."""
    text = plan_of("import numpy as np\n" + TAPE + WRONG.format(test)).text
    assert "mean_over_ranks(wrong)" in text
    assert "any_rank" not in text


def test_the_mean_of_whole_numbers_is_none() -> None:
    """`int(0.5)` is 0: one wrong row of two ranks' would count for none."""
    text = plan_of("import numpy as np\n" + TAPE + WRONG.format("wrong == 0")).text
    assert "    return mean if tf.is_tensor(value) else mean.numpy()\n" in text


METER = """
class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0
    def update(self, value):
        self.sum += value
        self.count += 1
    @property
    def avg(self):
        return self.sum / self.count
"""


def test_what_is_read_again_where_it_decided() -> None:
    loop = EPOCHS.replace("        losses.append(value)\n", "        meter.update(value)\n").replace(
        "losses, total, n = [], 0.0, 0", "meter, total, n = Meter(), 0.0, 0"
    )
    after = (
        "    if meter.avg < best:\n        best = meter.avg\n    else:\n        opt.learning_rate = 0.01\n"
    )
    plan = plan_of("import numpy as np\n" + TAPE + METER + loop.format(after))
    assert (
        "    if mean_over_ranks(meter.avg) < best:\n        best = mean_over_ranks(meter.avg)\n" in plan.text
    )
    assert all(c.sure for c in plan.changes)


AVERAGE_METER = """
class AverageMeter:
    def __init__(self):
        self.sum = self.count = self.avg = 0
    def update(self, value):
        self.sum += value
        self.count += 1
        self.avg = self.sum / self.count
"""


def test_what_each_step_sets_is_averaged_where_it_is_read() -> None:
    loop = EPOCHS.replace("        losses.append(value)\n", "        meter.update(value)\n").replace(
        "losses, total, n = [], 0.0, 0", "meter, total, n = AverageMeter(), 0.0, 0"
    )
    after = "    if meter.avg < best:\n        best, bad = meter.avg, 0\n    else:\n        bad += 1\n"
    after += "        if bad == 3:\n            break\n"
    plan = plan_of("import numpy as np\n" + TAPE + AVERAGE_METER + loop.format(after))
    assert "        self.avg = self.sum / self.count\n" in plan.text
    assert (
        "    if mean_over_ranks(meter.avg) < best:\n        best, bad = mean_over_ranks(meter.avg), 0\n"
        in plan.text
    )
    assert "any_rank" not in plan.text


RESULTS = {
    "a named tuple": "from typing import NamedTuple\nclass Result(NamedTuple):\n    loss: float\n    steps: int\n",
    "a dataclass": "from dataclasses import dataclass\n@dataclass\nclass Result:\n    loss: float\n    steps: int = 0\n",
    "as a function": "from collections import namedtuple\nResult = namedtuple('Result', 'loss steps')\n",
    "with names in a list": "import collections\nResult = collections.namedtuple('Result', ['loss', 'steps'])\n",
}


@pytest.mark.parametrize("made", RESULTS.values(), ids=RESULTS)
def test_what_an_object_is_given_by_its_place(made: str) -> None:
    after = "    result = Result(np.mean(losses), n)\n    if result.loss > best * 0.99:\n        break\n"
    after += "    best = result.loss\n"
    plan = plan_of("import numpy as np\n" + made + TAPE + EPOCHS.format(after))
    assert "    if mean_over_ranks(result.loss) > best * 0.99:\n" in plan.text
    assert "    best = mean_over_ranks(result.loss)\n" in plan.text


@pytest.mark.parametrize("made", RESULTS.values(), ids=RESULTS)
def test_what_it_is_given_beside_that(made: str) -> None:
    after = "    result = Result(np.mean(losses), epoch)\n    if result.steps > 5:\n        break\n"
    text = plan_of("import numpy as np\n" + made + TAPE + EPOCHS.format(after)).text
    assert "any_rank" not in text
    assert "mean_over_ranks" not in text


HISTORY = """
class History:
    def __init__(self):
        self.kept = {}
    def add(self, name, value):
        self.kept.setdefault(name, []).append(value)
    def last(self, name):
        return self.kept[name][-1]
history = History()
"""


def test_what_is_put_into_a_list_of_a_dictionary_is_a_ranks_own() -> None:
    after = "    history.add('loss', np.mean(losses))\n    if history.last('loss') < 0.1:\n        break\n"
    text = plan_of("import numpy as np\n" + TAPE + HISTORY + EPOCHS.format(after)).text
    assert "if mean_over_ranks(history.last('loss')) < 0.1:" in text


REPORTS = {
    "its own `__init__`": "class Report:\n    def __init__(self, loss, epoch):\n        self.loss, self.epoch = loss, epoch\n",
    "fields": "from dataclasses import dataclass\n@dataclass\nclass Report:\n    loss: float\n    epoch: int\n",
}


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("picked", ["reports[-1]", "max(reports, key=lambda r: r.epoch)"])
def test_one_of_several_objects(made: str, picked: str) -> None:
    after = f"    reports.append(Report(np.mean(losses), epoch))\n    last = {picked}\n    if last.loss < 0.1:\n        break\n"
    text = plan_of("import numpy as np\nreports = []\n" + made + TAPE + EPOCHS.format(after)).text
    averaged = "if mean_over_ranks(last.loss) < 0.1:", "Report(mean_over_ranks(np.mean(losses)), epoch)"
    assert sum(where in text for where in averaged) == 1  # where it decides, or where it is made


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
def test_what_one_of_several_objects_has_beside(made: str) -> None:
    after = (
        "    reports.append(Report(np.mean(losses), epoch))\n    if reports[-1].epoch > 5:\n        break\n"
    )
    text = plan_of("import numpy as np\nreports = []\n" + made + TAPE + EPOCHS.format(after)).text
    assert "mean_over_ranks" not in text
    assert "any_rank" not in text


SINCE = (
    LOSS
    + "rate = tf.Variable(0.1, trainable=False)\nlower = rate.assign(rate * 0.7)\n"
    + "train = tf.train.GradientDescentOptimizer(rate).minimize(loss)\nsess = tf.Session()\n"
    + "sess.run(tf.global_variables_initializer())\nmean, last = 0.0, []\nfor i in range(500):\n"
    + "    _, now = sess.run([train, loss], {x: draw()})\n"
    + "    mean += now / 10\n    if i % 10 == 0:\n"
    + "        if len(last) > 2 and mean > max(last[-3:]):\n            sess.run(lower)\n"
    + "        last.append(mean)\n        mean = 0.0\n"
)


def test_a_number_is_averaged_where_a_test_compares_it_with_those_that_were_kept_of_it() -> None:
    """As the seq2seq tutorial lowers its rate: some ranks would, by their own loss."""
    text = plan_of(SINCE).text
    assert "mean_over_ranks(mean) > max(last[-3:])" in text
    assert "last.append(mean_over_ranks(mean))" in text


def test_a_part_that_each_step_adds_is_one_of_the_steps_of_a_rank() -> None:
    assert "    mean += now / max(1, 10 // hvd.size())\n" in plan_of(SINCE).text


def test_a_part_that_is_no_part_of_the_event_or_goes_on_stays() -> None:
    assert "mean += now / 7\n" in plan_of(SINCE.replace("now / 10", "now / 7")).text
    assert "mean += now / 10\n" in plan_of(SINCE.replace("        mean = 0.0\n", "")).text


VALIDATED = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
class Own(tf.keras.losses.Loss):
    def call(self, a, b):
        return tf.reduce_mean(tf.abs(a - b), -1)
val = tf.data.Dataset.from_tensor_slices((x[:120], y[:120])).batch(30)
train = tf.data.Dataset.from_tensor_slices((x[120:], y[120:])).shuffle(480).batch(24)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(5,))])
loss_fn = {loss}
opt = tf.keras.optimizers.RMSprop(0.01)
best, wait = np.inf, 0
def evaluate():
    m = tf.keras.metrics.Mean()
    for a, b in val:
        m.update_state(loss_fn(b, model(a, training=False)))
    return float(m.result())
for epoch in range(10):
    for a, b in train:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(b - model(a, training=True)))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    value = evaluate()
    if value < best:
        best, wait = value, 0
    else:
        wait += 1
        if wait > 1:
            opt.learning_rate.assign(opt.learning_rate * 0.5)
            wait = 0
"""


@pytest.mark.parametrize(
    "loss",
    [
        "tf.keras.losses.MeanSquaredError()",
        "tf.losses.Huber(delta=2.0)",
        "tf.keras.losses.mean_squared_error",
        "Own()",
    ],
)
def test_a_plateau_by_what_a_loss_function_measures(loss: str) -> None:
    """It was asked whether all ranks may do it when one of them does: what the object gives was not known."""
    plan = plan_of(VALIDATED.replace("{loss}", loss))
    assert "value = mean_over_ranks(evaluate())" in plan.text
    assert "any_rank" not in plan.text
    assert plan.sure


def test_a_plateau_by_what_something_else_gives_is_asked() -> None:
    assert not plan_of(VALIDATED.replace("{loss}", "np.load('loss.npy', allow_pickle=True).item()")).sure


IN_LISTS = VALIDATED.replace(
    "best, wait = np.inf, 0", "values = []\nlog = {'loss': [], 'value': []}\nkept = None"
).split("    value = evaluate()")[0]


@pytest.mark.parametrize(
    ("turn", "averaged"),
    [
        (
            "    values.append(evaluate())\n    if epoch > 3 and values[-1] > max(values[-4:-1]):\n"
            "        opt.learning_rate = opt.learning_rate * 0.5\n",
            "values.append(mean_over_ranks(evaluate()))",
        ),
        (
            "    log['value'].append(evaluate())\n    if np.argmin(log['value']) < epoch - 2:\n        break\n",
            "log['value'].append(mean_over_ranks(evaluate()))",
        ),
        (
            "    log['value'].append(evaluate())\n    if log['value'][-1] > 2 * log['value'][0]:\n        break\n",
            "log['value'].append(mean_over_ranks(evaluate()))",
        ),
        (
            "    log['value'].append(evaluate())\n    v = log['value']\n"
            "    if len(v) > 3 and min(v[-3:]) > min(v[:-3]):\n        break\n",
            "log['value'].append(mean_over_ranks(evaluate()))",
        ),
    ],
)
def test_what_a_list_comes_to_goes_by_what_is_put_into_it_once(turn: str, averaged: str) -> None:
    """The mean of the places of the least was taken, `mean_over_ranks(np.argmin(…))`, or a mean of what was one already."""
    source = IN_LISTS.replace("{loss}", "tf.keras.losses.MeanSquaredError()")
    plan = plan_of(source + turn)
    assert averaged in plan.text
    assert plan.text.count("mean_over_ranks(") == 2  # it, and its definition
    assert plan.sure


def test_weights_that_are_kept_by_a_mean_are_kept_together() -> None:
    """It was asked to send rank 0's: the mean is the same on all ranks, and so is what is kept by it."""
    source = IN_LISTS.replace("{loss}", "tf.keras.losses.MeanSquaredError()")
    turn = """\
    value = evaluate()
    if kept is None or value < best:
        best, wait, kept = value, 0, model.get_weights()
    else:
        wait += 1
        if wait == 2:
            model.set_weights(kept)
            break
"""
    plan = plan_of(source + turn)
    assert "value = mean_over_ranks(evaluate())" in plan.text
    assert plan.sure, [c.doubt for c in plan.changes if not c.sure]


@pytest.mark.parametrize("kept", ["np.full(30, np.inf)", "{}"])
def test_a_number_that_a_test_compares_twice_is_averaged_twice(kept: str) -> None:
    """The first time it was a rank's own, which was refused as something that can't be followed."""
    text = plan_of(
        "import numpy as np\n"
        + TAPE
        + f"h = {kept}\n"
        + EPOCHS.format(
            "    h[epoch] = np.mean(losses)\n"
            "    if epoch > 1 and h[epoch] > h[epoch - 1] and h[epoch - 1] > h[epoch - 2]:\n        break\n"
        )
    ).text
    one, two, three = (f"mean_over_ranks(h[epoch{back}])" for back in ("", " - 1", " - 2"))
    assert f"    if epoch > 1 and {one} > {two} and {two} > {three}:\n" in text


@pytest.mark.parametrize(
    "defined",
    [
        "def is_better(mean, best):\n    return best is None or mean < best\n",
        "def is_better(mean, best, by=0.01):\n    if best is None:\n        return True\n    return mean < best - by\n",
    ],
)
def test_the_best_so_far_that_a_function_compares_may_be_none(defined: str) -> None:
    """`is_better(mean, mean_over_ranks(best))` failed in the first epoch, where there is none."""
    loop = EPOCHS.replace("best, bad = 1e9, 0", "best, bad = None, 0").format(
        "    mean = np.mean(losses)\n    if is_better(mean, best):\n        best, bad = mean, 0\n"
        "    else:\n        bad += 1\n        if bad == 3:\n            break\n"
    )
    text = plan_of("import numpy as np\n" + TAPE + defined + loop).text
    assert "    mean = mean_over_ranks(np.mean(losses))\n    if is_better(mean, best):\n" in text


def test_further_steps_by_the_mean_of_an_epoch() -> None:
    """It was asked whether all ranks may take them when one of them would."""
    turn = "    mean = np.mean(losses)\n    if last is not None and mean > last:\n        for x, y in ds.take(8):\n"
    turn += "            step(x, y)\n    last = mean\n"
    plan = plan_of("import numpy as np\n" + TAPE + "last = None\n" + EPOCHS.format(turn))
    assert "    mean = mean_over_ranks(np.mean(losses))\n" in plan.text
    assert "any_rank" not in plan.text


GATHERED = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
every, last = 1, None
for epoch in range(9):
    losses = []
    for i, (x, y) in enumerate(ds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        new = tape.gradient(loss, model.trainable_variables)
        total = new if i % every == 0 else [g + h for g, h in zip(total, new)]
        if (i + 1) % every == 0:
            opt.apply_gradients(zip([g / every for g in total], model.trainable_variables))
        losses.append(float(loss))
    if last is not None and np.mean(losses) > last:
        every = min(2 * every, 8)
    last = np.mean(losses)
"""


def test_how_many_gradients_are_gathered_by_the_mean_of_an_epoch() -> None:
    """Ranks that gather another number of them were only to apply them together, each divided by its own number."""
    text = plan_of(GATHERED).text
    assert "    if last is not None and mean_over_ranks(np.mean(losses)) > last:\n" in text
    assert "any_rank" not in text


def test_a_step_by_what_its_own_loss_was_is_still_asked() -> None:
    turns = "    for x, y in ds:\n        if value > 0.5:\n            step(x, y)\n"
    plan = plan_of("import numpy as np\n" + TAPE + EPOCHS.format(turns))
    assert not plan.sure or "mean_over_ranks(" in plan.text
