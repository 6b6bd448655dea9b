"""G5: sums over the steps of a divided loop that have a number as their limit."""

from __future__ import annotations

import re

import pytest

from ..pairs import changes, plan_of
from ..sessions import BUILT, INIT

EPOCHS = """\
data, limit = np.load("rows.npy"), args.limit
for epoch in range(50):
    total, count, losses = 0.0, 0, []
    for i in range(100):
        _, l = sess.run([train, loss], {{x: data[i * 4:(i + 1) * 4]}})
        {}
    if {}:
        break
"""
HEAD = "import numpy as np\n" + BUILT + "sess = tf.Session()\n" + INIT


def left_when(test: str, body: str = "total += l", program: str = EPOCHS) -> str:
    """What the test that ends training becomes, without what lets ranks agree on it."""
    text = plan_of(HEAD + program.format(body, test)).text
    line = next(line for line in reversed(text.splitlines()) if line.startswith("    if "))
    test = re.sub(r"^any_rank\((.*)\)$", r"\1", line.removeprefix("    if ").removesuffix(":"))
    return re.sub(r"mean_over_ranks\((.+ \* hvd\.size\(\)|\w+)\)", r"\1", test)


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("total / 100 < 0.1", "total += l"),  # an average, of which the divisor is divided
        ("total < 0.1", "total += l / 100"),
        ("total < best", "total += l\n        best = min(best, l)"),  # what is computed alike
        ("total > 0", "total += l"),
        ("epoch < 30", "total += l"),
        ("l < 0.1", "total += l"),
        ("np.mean(losses) < 0.1", "losses.append(l)"),
        ("max(losses) < 0.1", "losses.append(l)"),
        ("losses[-1] < 0.1", "losses.append(l)"),
        ("total < 0.1", "total = l"),
        ("total < 0.1", "total = 0.9 * total + 0.1 * l"),  # a moving average
        ("total < 0.1", "total += l\n        total = total / 2"),
        ("total < 3", "total += 1 if bad(l) else 0\n        total = 0"),
        ("total < limit", "total += 4"),  # counts
        ("total < limit", "total += limit"),
        ("total < limit", "total += len(data)"),
    ],
)
def test_what_is_no_sum_of_as_many_steps_stays(test: str, body: str) -> None:
    assert "* hvd.size()" not in left_when(test, body)


@pytest.mark.parametrize(
    ("test", "body", "after"),
    [
        ("total < 0.1", "total += l", "total * hvd.size() < 0.1"),
        ("0.1 > total", "total += l", "0.1 > total * hvd.size()"),
        ("total <= limit * 2", "total += l", "total * hvd.size() <= limit * 2"),
        ("epoch > 5 and total < args.limit", "total += l", "epoch > 5 and total * hvd.size() < args.limit"),
        ("sum(losses) < 0.1", "losses.append(l)", "sum(losses) * hvd.size() < 0.1"),
        ("np.sum(losses) < 0.1", "losses.append(l)", "np.sum(losses) * hvd.size() < 0.1"),
    ],
)
def test_a_sum_is_compared_as_that_of_all_ranks(test: str, body: str, after: str) -> None:
    assert left_when(test, body) == after


def test_a_sum_of_a_function_too() -> None:
    program = """\
data = np.load("rows.npy")
def run_epoch():
    total = 0.0
    for i in range(100):
        _, l = sess.run([train, loss], {{x: data[i * 4:(i + 1) * 4]}})
        {}
    return l, total
for epoch in range(50):
    last, added = run_epoch()
    if {}:
        break
"""
    assert left_when("added < 0.1", program=program) == "added * hvd.size() < 0.1"
    assert left_when("last < 0.1", program=program) == "last < 0.1"


def test_a_sum_in_a_loop_that_is_not_divided_stays() -> None:
    plan = plan_of(HEAD + EPOCHS.format("total += l", "total < 0.1"), split_data=False)
    assert not changes(plan, "G5")


@pytest.mark.parametrize("test", ["total == 400", "400 == total", "total != limit"])
def test_a_sum_that_has_to_come_to_a_number_exactly_is_asked_about(test: str) -> None:
    plan = plan_of(HEAD + EPOCHS.format("total += l", test))
    asked = [c for c in plan.changes if c.rule == "G5" and not c.sure]
    assert ["exactly" in c.doubt for c in asked] == [True]
    assert " * hvd.size())" in plan.text
    assert "round(" in plan.text


ROWS = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
seen = 0
for epoch in range(9):
    for x, y in ds:
        late = {}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2) * (2.0 if late else 1.0)
        weights = model.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
        seen += len(x)
"""


@pytest.mark.parametrize("test", ["seen >= 1000", "1000 < seen", "int(seen) > args.warm"])
def test_rows_that_count_for_all_ranks_are_compared_as_they_are(test: str) -> None:
    text = plan_of(ROWS.format(test)).text
    assert f"        late = {test}\n" in text
    assert "        seen += len(x) * hvd.size()\n" in text


BOLD = """\
data = np.load("rows.npy")
class Recommender:
    def __init__(self):
        self.last = None
        self.least = 0.1
    def train(self):
        for epoch in range(50):
            total = 0.0
            for i in range(100):
                _, l = sess.run([train, loss], {{x: data[i * 4:(i + 1) * 4]}})
                {}
            if self.is_worse(total):
                break
    def is_worse(self, total):
        worse = {}
        self.last = total
        return worse
Recommender().train()
"""


@pytest.mark.parametrize("test", ["total < self.last", "self.last > total", "total <= self.last * 2"])
def test_a_sum_that_is_compared_with_that_of_the_epoch_before_stays(test: str) -> None:
    text = plan_of(HEAD + BOLD.format("total += l", test)).text
    assert test in text
    assert "total * hvd.size()" not in text


def test_a_sum_that_is_compared_with_a_number_of_the_object_is_that_of_all_ranks() -> None:
    assert (
        "total * hvd.size() < self.least"
        in plan_of(HEAD + BOLD.format("total += l", "total < self.least")).text
    )


KEPT = """\
import tensorflow as tf
x, y = tf.ones((800, 4)), tf.ones((800, 1))
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
total = {}
for e in range(100):
    {}
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {}
    if {} < 8.0:
        break
"""


@pytest.mark.parametrize(
    ("made", "begun", "moved", "read"),
    [
        ("tf.Variable(0.0)", "total.assign(0.0)", "total.assign_add(loss)", "total"),
        ("tf.Variable(0.0)", "total.assign(0.0)", "total.assign_add(loss)", "total.numpy()"),
        ("tf.keras.metrics.Sum()", "total.reset_states()", "total.update_state(loss)", "total.result()"),
    ],
)
def test_a_variable_or_a_metric_may_keep_the_sum(made: str, begun: str, moved: str, read: str) -> None:
    """A rank added up 1/size() of the steps, and all ended size() times too early."""
    assert f"{read} * hvd.size()" in plan_of(KEPT.format(made, begun, moved, read)).text


@pytest.mark.parametrize(
    ("made", "begun", "moved", "read"),
    [
        ("tf.keras.metrics.Mean()", "total.reset_states()", "total.update_state(loss)", "total.result()"),
        ("tf.Variable(0.0)", "pass", "total.assign(loss)", "total"),
        ("tf.Variable(0.0)", "total.assign(0.0)", "total.assign_add(loss / len(ds))", "total"),
    ],
)
def test_what_keeps_no_sum_is_compared_as_it_is(made: str, begun: str, moved: str, read: str) -> None:
    assert f"{read} * hvd.size()" not in plan_of(KEPT.format(made, begun, moved, read)).text


FROM_EPOCH_TO_EPOCH = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.Adam(1e-3)
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(256).batch(16)
last, best, other, tolerance = {start}, float("inf"), 1.0, 1e-4
for epoch in range(50):
    total = 0.0
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        total += float(loss)
    if {test}:
        break
    last = total
    best = min(best, total)
"""


@pytest.mark.parametrize("start", ["1e9", "float('inf')", "np.inf", "0.0"])
@pytest.mark.parametrize(
    ("test", "adapted"),
    [
        ("abs(last - total) < tolerance", "abs(last - total) * hvd.size() < tolerance"),
        ("last - total < 1e-4", "(last - total) * hvd.size() < 1e-4"),
        ("total > last - 1e-4", "total > last - 1e-4 / hvd.size()"),
        ("total > last + tolerance", "total > last + tolerance / hvd.size()"),
    ],
)
def test_what_the_sums_of_two_epochs_differ_by_is_compared_as_that_of_all_ranks(
    start: str, test: str, adapted: str
) -> None:
    """A rank's sums differ by 1/size() as much: training ended by the same tolerance too early."""
    assert f"if {adapted}:\n" in plan_of(FROM_EPOCH_TO_EPOCH.format(start=start, test=test)).text


@pytest.mark.parametrize(
    "test",
    [
        "abs(last - total) / total < tolerance",  # a share
        "last - total < tolerance * last",
        "total > last",
        "abs(epoch - 30) < 4",
        "abs(other - tolerance) < 1e-4",
    ],
)
def test_shares_and_what_is_no_sum_stay(test: str) -> None:
    """Near misses."""
    text = plan_of(FROM_EPOCH_TO_EPOCH.format(start="1e9", test=test)).text
    assert f"if {test}:\n" in text


ITEMS = """\
data = np.load("rows.npy")
other, state = {{"sum": 0.0}}, {{"sum": 0.0, "n": 0}}
def begin(kept):
    kept["sum"] = 0.0
def run(more):
    {begun}
    for i in range(1000):
        _, l = sess.run([train, loss], {{x: data[i * 4:(i + 1) * 4]}})
        {added}
        if {test}:
            break
run(0)
"""


def ended_when(
    added: str, begun: str = "state['sum'] = 0.0", test: str = "state['sum'] > 9", more: str = ""
) -> str:
    program = ITEMS.replace('def begin(kept):\n    kept["sum"] = 0.0\n', more)
    text = plan_of(HEAD + program.format(added=added, begun=begun, test=test)).text
    return next(line for line in reversed(text.splitlines()) if line.startswith("        if "))


@pytest.mark.parametrize("added", ["state['sum'] += l", "state['sum'] = state['sum'] + l"])
@pytest.mark.parametrize(
    "begun", ["pass", "state['sum'] = 0.0", "state = {'sum': 0.0}", "state = dict(sum=0.0)"]
)
def test_an_item_that_sums_is_one(added: str, begun: str) -> None:
    """`if state["tokens"] > 2000: break` ended after size() times as many, without a word."""
    assert "state['sum'] * hvd.size() > 9" in ended_when(added, begun)


@pytest.mark.parametrize(
    ("added", "begun", "test"),
    [
        ("state['sum'] = l", "pass", "state['sum'] > 9"),
        ("state['sum'] += l; state['sum'] *= 0.9", "pass", "state['sum'] > 9"),
        ("state['sum'] += l; state['sum'] = 0", "pass", "state['sum'] > 9"),
        ("state = {'sum': 0}; state['sum'] += l", "pass", "state['sum'] > 9"),
        ("other['sum'] += l", "pass", "state['sum'] > 9"),
        ("state['sum'] += l; state['n'] += 1", "pass", "state['sum'] / state['n'] > 9"),
        ("state['sum'] += l", "pass", "state['sum'] > 0"),
        ("state[i] = l", "pass", "state[i] > 9"),
    ],
)
def test_an_item_that_is_no_sum_stays(added: str, begun: str, test: str) -> None:
    assert "* hvd.size()" not in ended_when(added, begun, test)


def test_an_item_that_another_function_sets_back_stays() -> None:
    """That may be one dictionary, which is begun again in the loop."""
    more = "def begin(kept):\n    kept['sum'] = 0.0\n"
    assert "* hvd.size()" not in ended_when("state['sum'] += l; begin(state)", "pass", more=more)


RETURNS = """\
data, returns, best = np.load("rows.npy"), [], 9.0
for episode in range(50):
    total, count = 0.0, 0
    for i in range(100):
        _, l = sess.run([train, loss], {{x: data[i * 4:(i + 1) * 4]}})
        total += l
        count += 1
    {}
    if {}:
        break
"""


@pytest.mark.parametrize(
    ("put", "test", "after"),
    [
        ("returns.append(total)", "np.mean(returns[-5:]) < 0.5", "np.mean(returns[-5:]) * hvd.size() < 0.5"),
        ("returns.append(total)", "min(returns) < 0.5", "min(returns) * hvd.size() < 0.5"),
        ("returns.append(float(total))", "returns[-1] < 0.5", "returns[-1] * hvd.size() < 0.5"),
        # near misses: means; what else is put there; another list
        ("returns.append(total / count)", "np.mean(returns[-5:]) < 0.5", "np.mean(returns[-5:]) < 0.5"),
        ("returns.append(total); returns.append(best)", "min(returns) < 0.5", "min(returns) < 0.5"),
        ("returns.append(l)", "returns[-1] < 0.5", "returns[-1] < 0.5"),
    ],
)
def test_sums_that_a_list_holds(put: str, test: str, after: str) -> None:
    """`if np.mean(returns[-5:]) < 0.5` of episodes of 1/size() of the steps was met at size() times as much."""
    text = plan_of(HEAD + RETURNS.format(put, test)).text
    line = next(line for line in reversed(text.splitlines()) if line.startswith("    if "))
    assert after in re.sub(r"mean_over_ranks\((.+?)\)( <|\))", r"\1\2", line).replace("any_rank(", "")


@pytest.mark.parametrize(
    ("begun", "moved", "read"),
    [
        ("stats = {'mean': 1.0}", "stats['mean'] += 0.1 * (float(loss) - stats['mean'])", "stats['mean']"),
        ("mean = tf.Variable(1.0)", "mean.assign_add(0.1 * (loss - mean))", "float(mean)"),
    ],
)
def test_what_moves_nearer_to_a_loss_is_no_sum(begun: str, moved: str, read: str) -> None:
    source = f"""\
import tensorflow as tf
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
{begun}
for epoch in range(9):
    for x in tf.data.Dataset.from_tensor_slices(rows).batch(8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {moved}
    if {read} < 0.01:
        break
"""
    text = plan_of(source).text
    assert f"{read} * hvd.size()" not in text
