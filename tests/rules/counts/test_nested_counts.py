"""G5, G6: counts that an item of an item holds, as the state of a run that is written as JSON."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

SCRIPT = (
    TF
    + """\
import json, os
class State:
    def __init__(self):
        self.data = {begun}
class Tracker(tf.keras.callbacks.Callback):
    def __init__(self, state):
        super().__init__()
        self.state, self.own, self.every = state, {{"run": {{"step": 0}}}}, 100
    def on_train_batch_end(self, batch, logs=None):
        {count} += 1
        if {read} % self.every == 0:
            self.model.save_weights("w.weights.h5")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
state = State()
model.fit(x, y, epochs=9, callbacks=[Tracker(state)])
with open("s.json", "w") as f:
    json.dump(state.data, f)
"""
)
NEW = '{"run": {"step": 0}}'
KEPT = 'json.load(open("s.json")) if os.path.exists("s.json") else ' + NEW


@pytest.mark.parametrize("count", ['self.own["run"]["step"]', 'self.state.data["run"]["step"]'])
def test_an_event_by_such_a_count_comes_as_often(count: str) -> None:
    text = plan_of(SCRIPT.format(begun=NEW, count=count, read=count)).text
    assert f"if {count} % max(1, self.every // hvd.size()) == 0" in text


def test_one_that_is_kept_goes_on_by_the_steps_of_all_ranks() -> None:
    count = 'self.state.data["run"]["step"]'
    text = plan_of(SCRIPT.format(begun=KEPT, count=count, read=count)).text
    assert f"{count} += hvd.size()" in text
    assert f"if {count} % self.every < hvd.size()" in text


def test_another_name_for_what_holds_it_is_followed() -> None:
    run = 'run = self.own["run"]\n        run["step"]'
    text = plan_of(SCRIPT.format(begun=NEW, count=run, read='self.own["run"]["step"]')).text
    assert "% max(1, self.every // hvd.size()) == 0" in text


@pytest.mark.parametrize(
    "read", ['self.own["run"]["epoch"]', 'self.own["other"]["step"]', 'self.own["step"]']
)
def test_another_item_is_none(read: str) -> None:
    text = plan_of(SCRIPT.format(begun=NEW, count='self.own["run"]["step"]', read=read)).text
    assert f"if {read} % self.every == 0" in text
