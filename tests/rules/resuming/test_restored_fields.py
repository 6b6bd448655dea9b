"""G6: counts in fields of objects, which go on from a file, are rank 0's also where other functions restore and read them."""

from __future__ import annotations

import pytest

from ..pairs import TF, doubts, plan_of

SCHEDULE = """
class Schedule:
    def __init__(self):
        self.count = 0
    def step(self):
        self.count += 1
        if self.count < 100:
            rate = 0.1 * self.count / 100
        else:
            rate = 0.1
        opt.learning_rate.assign(rate)
    def load(self, saved):
        self.count = saved["count"]
    def read(self):
        if not os.path.exists("state.json"):
            return
        with open("state.json") as f:
            self.count = json.load(f)["count"]
"""
HEAD = (
    TF
    + "import json, os\n"
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
"""
    + SCHEDULE
    + """
def update(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
schedule = Schedule()
"""
)
FOUND = "if os.path.exists('state.json'):\n    with open('state.json') as f:\n        {}\n"
LOOP = """
for epoch in range(9):
    for x, y in ds:
        update(x, y)
        schedule.step()
    with open("state.json", "w") as f:
        json.dump({"count": schedule.count}, f)
"""
SENT = "schedule.count = hvd.broadcast_object(schedule.count)\n"


@pytest.mark.parametrize(
    "restoring",
    [
        FOUND.format("schedule.count = json.load(f)['count']"),
        FOUND.format("schedule.load(json.load(f))"),
        "schedule.read()\n",
    ],
)
def test_a_count_of_an_object_is_sent_before_the_loop(restoring: str) -> None:
    plan = plan_of(HEAD + restoring + LOOP)
    assert not doubts(plan, "G4", "C5", "G6")
    assert plan.text.count(SENT) == 1
    assert plan.text.index(SENT) < plan.text.index("for epoch")
    assert plan.text.index(SENT) > plan.text.index("state.json")
    assert "any_rank" not in plan.text
    assert "opt.learning_rate.assign(rate * hvd.size())" in plan.text


TRAINER = """
class Trainer:
    def __init__(self):
        self.schedule = Schedule()
        self.schedule.read()
    def fit(self):
        for epoch in range(9):
            self.epoch(epoch)
    def epoch(self, number):
        for x, y in ds:
            update(x, y)
            self.schedule.step()
        with open("state.json", "w") as f:
            json.dump({"count": self.schedule.count}, f)
trainer = Trainer()
trainer.fit()
"""


def test_it_is_called_as_where_the_outermost_loop_is() -> None:
    text = plan_of(HEAD + TRAINER).text
    sent = "self.schedule.count = hvd.broadcast_object(self.schedule.count)\n        for epoch in range(9):"
    assert sent in text
    assert "any_rank" not in text


def test_what_a_loops_head_reads_is_sent_there_alone() -> None:
    head = LOOP.replace("for epoch in range(9):", "while schedule.count < 1000:")
    text = plan_of(HEAD + FOUND.format("schedule.load(json.load(f))") + head).text
    assert text.count("hvd.broadcast_object(schedule.count)") == 1


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    ("restoring", "loop"),
    [
        ("", LOOP),  # begins with 0 in each run
        ("schedule.count = 5\n", LOOP),
        (FOUND.format("other = json.load(f)['count']"), LOOP),
    ],
)
def test_what_no_file_tells_is_the_same_on_all_ranks(restoring: str, loop: str) -> None:
    head = HEAD.replace(SCHEDULE, SCHEDULE[: SCHEDULE.index("    def load")])
    assert "broadcast_object" not in plan_of(head + restoring + loop).text


def test_an_object_that_is_made_in_the_loop_is_not_there_before() -> None:
    made = LOOP.replace(
        "        update(x, y)\n",
        "        schedule = Schedule()\n        schedule.read()\n        update(x, y)\n",
    )
    assert SENT not in plan_of(HEAD + made).text


def test_of_several_objects_none_is_taken_for_the_other() -> None:
    two = LOOP.replace("schedule.step()", "(schedule if epoch % 2 else other).step()")
    text = plan_of(HEAD + "other = Schedule()\n" + FOUND.format("schedule.load(json.load(f))") + two).text
    assert SENT not in text


HANDED = """
def run(number, schedule):
    for x, y in ds:
        update(x, y)
        schedule.step()
    with open("state.json", "w") as f:
        json.dump({"count": schedule.count}, f)
def main():
    rates = Schedule()
    rates.read()
    for epoch in range(9):
        run(epoch, rates)
main()
"""


def test_an_object_that_functions_hand_on_is_called_as_where_the_outermost_loop_is() -> None:
    text = plan_of(HEAD + HANDED).text
    assert "rates.count = hvd.broadcast_object(rates.count)\n    for epoch in range(9):" in text
    assert "any_rank" not in text
    in_run = HANDED.replace("    for epoch in range(9):\n        run(epoch, rates)", "    run(0, rates)")
    text = plan_of(HEAD + in_run).text
    assert text.index("def run") < text.index(SENT) < text.index("    for x, y in ds:")


def test_another_object_of_that_name_is_not_sent() -> None:
    other = HANDED.replace(
        "    for x, y in ds:", "    schedule = Schedule()\n    schedule.read()\n    for x, y in ds:"
    )
    assert "hvd.broadcast_object(rates.count)" not in plan_of(HEAD + other).text
