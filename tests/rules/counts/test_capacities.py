"""G5 where training waits until a memory is filled: as many rows of all ranks fill it as filled that of one process."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import TF, changes, doubts, only, plan_of

HEAD = TAPE + "import random\nfrom collections import deque\n"
ARRAY = """
CAPACITY = 600
memory = np.zeros((CAPACITY, 4))
seen = 0
def remember(row):
    global seen
    memory[seen % CAPACITY] = row
    seen += 1
def learn():
    rows = memory[np.random.choice(CAPACITY, 32)]
    step(rows, rows)
for i in range(5000):
    remember(np.random.normal(size=4))
    if seen > CAPACITY:
        learn()
"""
LISTED = """
START, BATCH = 500, 32
memory = deque(maxlen=1000)
for i in range(5000):
    memory.append(np.random.normal(size=4))
    if {}:
        rows = np.stack(random.sample(memory, BATCH))
        step(rows, rows)
"""


FILLED_BEFORE = (
    LISTED.format("len(memory) > START")
    .replace("memory =", "other = []\nmemory =")
    .replace(
        "for i in range(5000):\n    memory",
        "for i in range(9000):\n    memory.append(i)\nfor i in range(5000):\n    other",
    )
)
GATHERED = LISTED.format("len(memory) > START").replace("random.sample(memory, BATCH)", "latest(memory)")
EMPTIED = """
batch = []
for i in range(5000):
    batch.append(np.random.normal(size=4))
    if len(batch) >= 64:
        rows = np.stack(random.sample(batch, 32))
        step(rows, rows)
        batch = []
"""


def test_a_memory_that_training_waits_for_is_divided_where_it_is_made_and_asked_about() -> None:
    plan = plan_of(HEAD + ARRAY)
    divided = HEAD + ARRAY.replace("CAPACITY = 600", "CAPACITY = max(1, 600 // hvd.size())")
    assert only(plan, "G5") == divided
    (doubt,) = doubts(plan, "G5")
    assert "together" in doubt
    assert not any("is not divided" in n.message for n in plan.notes)


def test_what_is_said_of_it_before_it_is_full_is_no_other_count() -> None:
    """A test that only prints comes first, and goes by the same size."""
    printed = ARRAY.replace(
        "    if seen > CAPACITY:\n", "    if seen > CAPACITY:\n        print(i)\n    if seen > CAPACITY:\n"
    )
    plan = plan_of(HEAD + printed)
    assert len(changes(plan, "G5")) == 1
    assert "CAPACITY = max(1, 600 // hvd.size())" in plan.text
    assert not any("is not divided" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CAPACITY = 600", "CAPACITY = 600\nprint(CAPACITY)"),  # it means something else, too
        ("CAPACITY = 600", "CAPACITY = 600\nif len(sys.argv) > 1:\n    CAPACITY = 900"),  # made in two places
        ("np.zeros((CAPACITY, 4))", "np.zeros((600, 4))"),  # the number stands elsewhere, too
        ("choice(CAPACITY, 32)", "choice(600, 32)"),
    ],
)
def test_a_size_that_is_not_seen_whole_is_asked_about_at_the_test(old: str, new: str) -> None:
    plan = plan_of("import sys\n" + HEAD + ARRAY.replace(old, new))
    assert "max(1, CAPACITY" not in plan.text
    assert "600 //" not in plan.text
    (doubt,) = doubts(plan, "G5")
    assert "never" in doubt


def test_a_memory_that_training_does_not_wait_for_is_noted_only() -> None:
    plan = plan_of(
        HEAD
        + ARRAY.replace(
            "    if seen > CAPACITY:\n        learn()",
            "    learn()\n    if seen > CAPACITY:\n        print(i)",
        )
    )
    assert doubts(plan, "G5") == []
    assert any("is not divided" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("len(memory) > START", "len(memory) > max(1, START // hvd.size())"),
        ("len(memory) >= 500", "len(memory) >= max(1, 500 // hvd.size())"),
        ("START < len(memory)", "max(1, START // hvd.size()) < len(memory)"),
        ("len(memory) > START and i % 4 == 0", "len(memory) > max(1, START // hvd.size()) and i % 4 == 0"),
    ],
)
def test_training_begins_after_as_many_rows_of_all_ranks(test: str, after: str) -> None:
    plan = plan_of(HEAD + LISTED.format(test))
    assert only(plan, "G5") == HEAD + LISTED.format(after)
    (doubt,) = doubts(plan, "G5")
    assert "draws" in doubt


def test_what_is_not_seen_to_be_drawn_from_is_asked_about() -> None:
    plan = plan_of(HEAD + GATHERED)
    assert "len(memory) > START:" in plan.text
    (doubt,) = doubts(plan, "G5")
    assert "never" in doubt


def test_full_exactly_can_not_be_divided_but_is_asked_about() -> None:
    plan = plan_of(HEAD + LISTED.format("len(memory) == 1000"))
    assert "len(memory) == 1000" in plan.text
    assert len(doubts(plan, "G5")) == 1


@pytest.mark.parametrize(
    "text",
    [
        LISTED.format("len(memory) > BATCH"),  # as many as are drawn
        LISTED.format("len(memory) >= 8"),  # few
        LISTED.format("len(rows_of_all) > START").replace("memory =", "rows_of_all = [0] * 900\nmemory ="),  # isn't filled
        FILLED_BEFORE,
        EMPTIED,
        GATHERED + "        memory.popleft()\n",  # a window
        EMPTIED.replace("        batch = []", "        batch.clear()"),
        LISTED.format("True") + "    if len(memory) > START:\n        print(i)\n",  # trains in any case
    ],
)  # fmt: skip
def test_what_training_does_not_wait_for_is_left(text: str) -> None:
    plan = plan_of(HEAD + text)
    assert changes(plan, "G5") == []


def test_a_memory_that_an_agent_holds() -> None:
    agent = """
class Agent:
    def __init__(self):
        self.memory = []
    def remember(self, row):
        self.memory.append(row)
    def learn(self):
        if len(self.memory) < 500:
            return
        rows = np.stack(random.sample(self.memory, 32))
        step(rows, rows)
agent = Agent()
for i in range(5000):
    agent.remember(np.random.normal(size=4))
    agent.learn()
"""
    plan = plan_of(HEAD + agent)
    assert "if len(self.memory) < max(1, 500 // hvd.size()):" in plan.text
    assert len(doubts(plan, "G5")) == 1


WARM_UP = """
ROWS, BATCH = 4000, 32
x = np.zeros((ROWS, 4))
def batches():
    for i in range(0, ROWS, BATCH):
        yield mixed(x[i : i + BATCH], np.random.permutation(BATCH))
WARM = {steps}
class WarmUp(tf.keras.callbacks.Callback):
    seen = 0
    def on_train_batch_begin(self, batch, logs=None):
        if self.seen < WARM:
            self.model.optimizer.learning_rate = 0.1 * self.seen / WARM
    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x, batch_size=BATCH, epochs=9, callbacks=[WarmUp()])
"""


@pytest.mark.parametrize("steps", ["ROWS // BATCH", "3 * (ROWS // BATCH)", "math.ceil(len(x) / BATCH)"])
def test_a_number_of_batches_is_no_size_of_a_memory(steps: str) -> None:
    """It comes from the numbers that say how many rows there are, and how many a batch has."""
    plan = plan_of("import math\nimport numpy as np\n" + TF + WARM_UP.format(steps=steps))
    assert "if self.seen < max(1, WARM // hvd.size()):" in plan.text
    assert not any("is not divided" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("len(self.losses) == self.losses.maxlen and loss > 9", None),
        ("len(self.losses) == 64 and loss > 9", None),
        ("len(self.losses) == 64", "len(self.losses) == max(1, 64 // hvd.size())"),  # begins again each time
    ],
)
def test_a_window_that_stays_full_is_not_compared_with_fewer(test: str, after: str | None) -> None:
    source = f"""\
import collections
import tensorflow as tf
class Guard(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = collections.deque(maxlen=64)
    def on_train_batch_end(self, batch, logs=None):
        loss = logs["loss"]
        if {test}:
            print(loss, sum(self.losses))
            self.losses.clear()
        self.losses.append(loss)
model = tf.keras.Sequential([])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(x, y, callbacks=[Guard()])
"""
    assert f"if {after or test}" in plan_of(source).text


REPORTED = """
scores = MADE
seen = 0
for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4):
    step(x, y)
    seen += 1
    if seen % 1000 == 0:
        keep(model)
    if seen % 2000 == 0:
        scores[KEY] = measure(model)
"""


@pytest.mark.parametrize(
    ("made", "key", "divided"),
    [
        ("{}", "str(seen)", True),
        ("{}", "seen", True),
        ("dict()", "seen + 1", True),
        ("defaultdict(list)", "f'{seen}'", True),
        ("load()", "'step %d' % seen", True),
        ("{}", "'{}'.format(seen)", True),
        # rows of a memory, or unseen
        ("np.zeros((2000, 4))", "seen % 2000", False),
        ("{}", "seen % 2000", False),
        ("[None] * 2000", "seen", False),
        ("load()", "seen", False),
    ],
)
def test_a_table_by_step_has_no_size(made: str, key: str, divided: bool) -> None:
    program = (
        HEAD + "from collections import defaultdict\n" + REPORTED.replace("MADE", made).replace("KEY", key)
    )
    plan = plan_of(program)
    assert ("seen % max(1, 1000 // hvd.size()) == 0" in plan.text) is divided
    assert any("what is filled here" in n.message for n in plan.notes) is not divided


AT_ONCE = """\
import random
B = 32
memory = []
for i in range(2000):
    memory.append(i)
    {turn}
"""
STEP = "rows = np.array(random.sample(memory, {0}))\n        step(rows, rows)"


@pytest.mark.parametrize(
    ("turn", "test"),
    [
        (f"if i >= B:\n        {STEP.format('B')}", "if i >= B:\n"),
        (f"if i > 32:\n        {STEP.format(32)}", "if i > 32:\n"),
        (f"if i >= B:\n        {STEP.format('k=B')}", "if i >= B:\n"),
    ],
)
def test_training_waits_for_as_many_rows_as_a_step_draws(turn: str, test: str) -> None:
    """Of fewer, it would fail."""
    assert f"    {test}" in plan_of(TAPE + AT_ONCE.format(turn=turn)).text


@pytest.mark.parametrize(
    "turn", [f"if i >= 400:\n        {STEP.format('B')}", f"if i >= 64:\n        {STEP.format(32)}"]
)
def test_training_begins_after_as_many_steps_of_all_ranks(turn: str) -> None:
    assert "// hvd.size()):\n        rows = " in plan_of(TAPE + AT_ONCE.format(turn=turn)).text
