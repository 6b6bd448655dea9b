"""Numbers that a session reads after a checkpoint was restored, and the place where rank 0's are sent: not every rank may have
the files."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import changes, plan_of, refused

AGENT = """\
import tensorflow as tf
class Agent:
    def __init__(self, sess):
        self.sess = sess
        self.count = tf.Variable(0, trainable=False)
        self.x = tf.placeholder(tf.float32, [None, 4])
        self.loss = tf.reduce_mean(tf.layers.dense(self.x, 1))
        self.train_op = tf.train.AdamOptimizer(0.1).minimize(self.loss)
        self.sess.run(tf.global_variables_initializer())
        self.saver = tf.train.Saver()
        {}
    def load(self):
        found = tf.train.latest_checkpoint("kept")
        if found:
            self.saver.restore(self.sess, found)
            return True
        return False
    def train(self):
        start = {}
        for step in range(start, 1000):
            self.learn(step, next(rows))
    def learn(self, step, row):
        if step > 100:
            self.sess.run(self.train_op, {{self.x: row}})
with tf.Session() as sess:
    agent = Agent(sess)
    agent.train()
"""


@pytest.mark.parametrize("read", ["self.count.eval()", "self.sess.run(self.count)", "sess.run(agent.count)"])
def test_a_restored_number_is_rank_0s_where_it_decides_what_is_trained(read: str) -> None:
    text = plan_of(AGENT.format("self.load()", read)).text
    session, by_run, _ = read.partition(".run")
    told = f"hvd.broadcast_object({read}, session={session}, name=" if by_run else f"from_root({read})"
    assert f"start = {told}" in text


def test_without_a_checkpoint_there_is_nothing_to_agree_on() -> None:
    plan = plan_of(AGENT.format("pass", "0").replace("self.saver.restore(self.sess, found)", "pass"))
    assert not changes(plan, "G6")


def test_what_only_some_ranks_read_is_refused() -> None:
    read = "(self.count.eval() if os.path.exists('kept') else 0)"
    refused("import os\n" + AGENT.format("self.load()", "0").replace("step > 100", f"{read} > 100"), "HVD205")


def test_where_turns_begin_by_it_all_ranks_begin_at_rank_0s() -> None:
    """Those that read nothing begin there, too, and so `step > 100` is the same on all."""
    program = AGENT.format("self.load()", "self.count.eval() if os.path.exists('kept') else 0")
    text = plan_of("import os\n" + program).text
    assert "start = from_root(start)\n        for step in range(start, 1000, hvd.size()):" in text


SENT = "        self.sess.run(hvd.broadcast_global_variables(root_rank=0))\n"


@pytest.mark.parametrize(
    "call", ["self.load()", "found = self.load()", "if self.load():\n            print('found')"]
)
def test_rank_0s_are_sent_after_the_function_that_is_left_where_it_restores(call: str) -> None:
    text = plan_of(AGENT.format(call, "0")).text
    at = text.index(SENT, text.index("self.load()"))
    assert at < text.index("def load")
    assert "restore(self.sess, found)\n            return True" in text


def test_in_a_loop_a_number_is_told_by_a_session_of_its_own() -> None:
    """The graph would grow with each turn."""
    source = AGENT.format("self.load()", "self.sess.run(self.count)")
    text = plan_of(source.replace("    agent.train()\n", "    while True:\n        agent.train()\n")).text
    assert "session=self.sess" not in text


# ---------------------------------------------------------------------- numbers of a `tf.train.Checkpoint` that are no steps

NUMBERS = (
    TAPE
    + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
    + "ck = tf.train.Checkpoint(model=model, best=tf.Variable({best}), rate=tf.Variable(0.01))\n"
    + "ck.restore(tf.train.latest_checkpoint('d'))\n"
    + "for epoch in range(9):\n    losses = [step(x, y) for x, y in ds]\n    mean = sum(losses) / len(losses)\n"
    + "    if mean > float(ck.best):\n        {then}\n    ck.best.assign(mean)\n"
)
SENT_BEST = (
    "ck.restore(tf.train.latest_checkpoint('d'))\nck.best.assign(hvd.broadcast_object(ck.best.numpy()))\n"
)
SENT_RATE = "ck.rate.assign(hvd.broadcast_object(ck.rate.numpy()))\n"


@pytest.mark.parametrize("best", ["1e9", "float('inf')", "-1", "math.inf"])
def test_the_best_so_far_is_rank_0s_where_it_ends_training(best: str) -> None:
    text = plan_of("import math\n" + NUMBERS.format(best=best, then="break")).text
    assert SENT_BEST in text
    assert "    mean = mean_over_ranks(sum(losses) / len(losses))\n" in text
    assert "    if mean > float(ck.best):\n        break\n" in text


def test_a_rate_that_is_kept_is_rank_0s() -> None:
    text = plan_of(NUMBERS.format(best="1e9", then="opt.learning_rate.assign(ck.rate)")).text
    assert SENT_BEST + SENT_RATE in text or SENT_BEST.replace("ck.best", "ck.rate") in text
    assert "broadcast_object(tf.train.Checkpoint" not in text
    assert "opt.learning_rate.assign(ck.rate * hvd.size())" in text


def test_a_number_that_only_decides_what_is_written_stays() -> None:
    text = plan_of(NUMBERS.format(best="1e9", then="model.save('m')")).text
    assert "ck.best.assign(hvd" not in text
