"""G6: what an optimizer has counted, in a file that the program writes itself and goes on from."""

from __future__ import annotations

import pytest

from ..pairs import TF, changes, plan_of

SCRIPT = (
    TF
    + """\
import json, os
class Keep(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        {written}
        self.model.save_weights("w.weights.h5")
rate = tf.keras.optimizers.schedules.CosineDecay(0.1, 3000)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt = tf.keras.optimizers.Adam(rate)
model.compile(opt, "mse")
if os.path.exists("{path}"):
    with open("{path}") as f:
        state = json.load(f)
    {read}
model.fit(x, y, epochs=9, callbacks=[Keep()])
"""
)
WRITTEN = "json.dump({}, open('state.json', 'w'))"
SAID = "this goes on from a count of a rank's steps"


def script(written: str, read: str, path: str = "state.json") -> str:
    return SCRIPT.format(written=written, read=read, path=path)


@pytest.mark.parametrize(
    ("held", "kept"),
    [
        ('{"step": int(self.model.optimizer.iterations)}', '{"step": int(self.model.optimizer.iterations) * hvd.size()}'),
        ('{"run": {"step": int(opt.iterations.numpy())}}', '{"run": {"step": int(opt.iterations.numpy()) * hvd.size()}}'),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("read", "back"),
    [
        ('opt.iterations.assign(state["step"])', 'opt.iterations.assign(state["step"] // hvd.size())'),
        (
            'model.optimizer.iterations.assign(state["run"]["step"])',
            'model.optimizer.iterations.assign(state["run"]["step"] // hvd.size())',
        ),
    ],
)
def test_the_file_holds_the_steps_of_one_process(held: str, kept: str, read: str, back: str) -> None:
    text = plan_of(script(WRITTEN.format(held), read)).text
    assert WRITTEN.format(kept) in text
    assert back in text


def test_a_dictionary_that_is_only_written_is_followed_by_its_own_scope() -> None:
    held = "state = {'step': int(opt.iterations)}\n        " + WRITTEN.format("state")
    text = plan_of(script(held, "opt.iterations.assign(state['step'])")).text
    assert "state = {'step': int(opt.iterations) * hvd.size()}" in text
    assert "opt.iterations.assign(state['step'] // hvd.size())" in text


def test_where_others_read_it_too_it_is_said() -> None:
    held = "state = {'step': int(opt.iterations)}\n        print(state)\n        " + WRITTEN.format("state")
    plan = plan_of(script(held, "opt.iterations.assign(state['step'])"))
    assert "opt.iterations.assign(state['step'])" in plan.text
    assert any(SAID in note.message for note in plan.notes)


def test_what_no_run_reads_again_stays() -> None:
    """A file of another name."""
    held = WRITTEN.format("{'step': int(opt.iterations)}").replace("state.json", "told.json")
    plan = plan_of(script(held, "model.load_weights(state['weights'])", "settings.json"))
    assert "{'step': int(opt.iterations)}" in plan.text
    assert not any("file" in change.what for change in changes(plan, "G6"))
