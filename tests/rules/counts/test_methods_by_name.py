"""G5 and C5 in callbacks of a program's own that its trainer calls by their names: `getattr(hook, name)(self)`."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

PROGRAM = (
    TF
    + """
class Hook:
    def on_step(self, trainer): ...
    def on_epoch(self, trainer): ...
class Saver(Hook):
    def on_step(self, trainer):
        if trainer.state["step"] % 64 == 0:
            trainer.model.save_weights("w")
        trainer.optimizer.learning_rate.assign(0.1 * 0.99 ** trainer.state["step"])
    def on_epoch(self, trainer):
        trainer.optimizer.learning_rate.assign(0.1 * 0.5 ** trainer.state["epoch"])
class Trainer:
    def __init__(self, model, optimizer, hooks):
        self.model, self.optimizer, self.hooks = model, optimizer, hooks
        self.state = dict(step=0, epoch=0)
    def fire(self, event):
        for hook in self.hooks:
            {fires}
    def fit(self, batches):
        for _ in range(9):
            for x, y in batches:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(self.model(x) - y))
                gradients = tape.gradient(loss, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
                self.state["step"] += 1
                self.fire({step})
            self.state["epoch"] += 1
            self.fire({epoch})
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
Trainer(model, tf.keras.optimizers.SGD(0.1), [Saver()]).fit(ds)
"""
)
WHOLE = ('"on_step"', '"on_epoch"')
PARTS = ('"step"', '"epoch"')


@pytest.mark.parametrize(
    ("fires", "events"),
    [
        ("getattr(hook, event)(self)", WHOLE),
        ('getattr(hook, f"on_{event}")(self)', PARTS),
        ('getattr(hook, "on_" + event)(self)', PARTS),
        (
            "method = getattr(hook, event, None)\n            if method is not None:\n                method(self)",
            WHOLE,
        ),
        ("getattr(hook, event)(trainer=self)", WHOLE),
    ],
)
def test_what_such_a_method_reads_counts_as_where_it_is_called(fires: str, events: tuple[str, str]) -> None:
    text = plan_of(PROGRAM.format(fires=fires, step=events[0], epoch=events[1])).text
    assert '        if trainer.state["step"] % max(1, 64 // hvd.size()) == 0 and hvd.rank() == 0:\n' in text
    assert '(0.1 * 0.99 ** (trainer.state["step"] * hvd.size()) * hvd.size())\n' in text
    assert '(0.1 * 0.5 ** trainer.state["epoch"] * hvd.size())\n' in text


def test_one_by_a_name_that_only_the_run_knows_is_asked_about() -> None:
    plan = plan_of(PROGRAM.format(fires="getattr(hook, input())(self)", step='"x"', epoch='"y"'))
    assert '(trainer.state["step"] * hvd.size())' not in plan.text
    doubts = [c.doubt for c in plan.changes if not c.sure]
    assert any('it can\'t be seen what `trainer.state["step"]` is' in d for d in doubts)
    assert any("goes by a count of steps" in d for d in doubts)
