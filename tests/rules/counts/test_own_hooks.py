"""G5 and S5: what hooks of the program's own count by themselves."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import doubts, plan_of
from ..sessions import BUILT

COUNTING = """\
class Counting(tf.train.SessionRunHook):
    def begin(self):
        self.n = 0
    def {method}(self, context{more}):
        self.n += 1
        if {test}:
            {then}
"""
SESSION = """\
with tf.train.MonitoredTrainingSession(hooks={hooks}) as session:
    while not session.should_stop():
        session.run(train, {{x: draw()}})
"""
STOPPED = "[tf.train.StopAtStepHook(400), Counting()]"
ESTIMATOR = """\
import tensorflow.compat.v1 as tf
def model_fn(features, labels, mode):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features['x'], 1))
    op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)
"""
TRAINED = (
    "estimator = tf.estimator.Estimator(model_fn)\nestimator.train(rows, steps=300, hooks=[Counting()])\n"
)


def counting(test: str, then: str = "self.rate *= 0.5", method: str = "after_run") -> str:
    return COUNTING.format(
        method=method, more=", values" if method == "after_run" else "", test=test, then=then
    )


@pytest.mark.parametrize("method", ["before_run", "after_run"])
@pytest.mark.parametrize(
    ("test", "divided"),
    [
        ("self.n % 50 == 0", "self.n * hvd.size() % 50 < hvd.size()"),
        ("self.n == 200", "self.n == max(1, 200 // hvd.size())"),
        ("self.n > self.late", "self.n > max(1, self.late // hvd.size())"),
    ],
)
def test_what_a_hook_counts_are_a_ranks_steps(method: str, test: str, divided: str) -> None:
    hook = counting(test, method=method).replace("self.n = 0", "self.n, self.late = 0, 90")
    assert f"if {divided}:" in plan_of(BUILT + hook + SESSION.format(hooks=STOPPED)).text
    assert f"if {divided}:" in plan_of(ESTIMATOR + hook + TRAINED).text


@pytest.mark.parametrize(
    "program",
    [
        # It counts the batches of an evaluation, too.
        ESTIMATOR + counting("self.n % 50 == 0") + TRAINED + "estimator.evaluate(rows, hooks=[Counting()])\n",
        # Not with each run.
        BUILT + counting("self.n % 50 == 0", method="begins") + SESSION.format(hooks=STOPPED),
        # No hook.
        BUILT + counting("self.n % 50 == 0").replace("tf.train.SessionRunHook", "object")
        + SESSION.format(hooks="[tf.train.StopAtStepHook(400)]"),
    ],
)  # fmt: skip
def test_what_is_counted_otherwise_is_left(program: str) -> None:
    assert "if self.n % 50 == 0:" in plan_of(program).text


def test_a_hook_that_stops_after_so_many_steps_stops_after_a_ranks() -> None:
    hook = counting("self.n >= 300", "context.request_stop()")
    plan = plan_of(BUILT + hook + SESSION.format(hooks="[Counting()]"))
    assert (
        "if self.n >= 300 // hvd.size():" in plan.text
        or "if self.n >= max(1, 300 // hvd.size()):" in plan.text
    )
    assert "AdamOptimizer(0.1 * hvd.size())" in plan.text
    assert not doubts(plan, "S5")
    assert not plan.notes


@pytest.mark.parametrize(
    "test", ["self.n > 300 or values.results < 0.1", "values.results < 0.1", "self.done()"]
)
def test_one_that_stops_otherwise_leaves_rate_and_steps(test: str) -> None:
    hook = counting(test, "context.request_stop()")
    hook += "    def before_run(self, context):\n        return tf.train.SessionRunArgs(loss)\n"
    plan = plan_of(BUILT + hook + SESSION.format(hooks="[Counting()]"))
    assert "AdamOptimizer(0.1)" in plan.text
    assert any("it can't be seen how many steps this loop takes" in n.message for n in plan.notes)


BY_STEP = """\
class Patience(tf.train.SessionRunHook):
    def __init__(self):
        self.best, self.bad = 1e9, 0
    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())
    def after_run(self, context, values):
        if int(values.results) % 20 == 0:
            v = context.session.run(loss)
            self.bad = 0 if v < self.best else self.bad + 1
            self.best = min(v, self.best)
            if self.bad >= 3:
                context.request_stop()
"""


def test_a_hook_that_goes_by_the_step_of_a_run_is_told_to_count_runs() -> None:
    """It was told to decide in one test at the end, as it does; the step may be read before the run has counted, or after."""
    source = BUILT + BY_STEP + SESSION.format(hooks="[tf.train.StopAtStepHook(400), Patience()]")
    outcome = distribute(summarize(Document(source)))
    assert isinstance(outcome, Refusal)
    assert any("count the runs in the hook" in reason.message for reason in outcome.reasons)
