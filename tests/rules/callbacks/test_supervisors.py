"""M4 and S4: a `tf.train.Supervisor` of each rank is the chief of its own session; rank 0's has the directory, and its
variables are sent first in the session, by an operation that is built before the graph is finalised."""

from __future__ import annotations

import pytest

from ..pairs import changes, doubts, plan_of, refused
from ..sessions import BUILT, LOSS

STEP = LOSS + "step = tf.train.get_or_create_global_step()\n"
COUNTED = STEP + "train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)\n"
MADE = "supervisor = tf.train.Supervisor(logdir='logs', summary_op=None)\n"
OPENED = MADE + "with supervisor.managed_session() as sess:\n"
LOOP = "    for i in range(500):\n        sess.run(train, {x: draw()})\n"
ON_ROOT = "'logs' if hvd.rank() == 0 else None"


def lines(source: str) -> list[str]:
    """The lines of what becomes of a program, without indentation."""
    return [line.strip() for line in plan_of(source).text.splitlines()]


# ---------------------------------------------------------------------- near misses


def test_a_supervisor_that_only_restores_and_infers_is_no_training_session() -> None:
    plan = plan_of(
        BUILT + OPENED + LOOP + "other = tf.train.Supervisor(logdir='old')\n"
        "with other.managed_session() as infers:\n    print(infers.run(loss, {x: data}))\n"
    )
    assert plan.text.count("broadcast_global_variables") == 1


@pytest.mark.parametrize(
    "given", ["summary_op=None", "save_summaries_secs=0", "summary_op=None, save_model_secs=60"]
)
def test_data_that_end_are_no_reason_where_no_summaries_are_written_by_itself(given: str) -> None:
    assert plan_of(_queued(given, "num_epochs=5"))


def test_summaries_by_itself_do_no_harm_where_the_data_never_end() -> None:
    assert plan_of(_queued("save_summaries_secs=5", "shuffle=True"))


def _queued(given: str, ends: str) -> str:
    return (
        "import tensorflow as tf\n"
        f"names = tf.train.string_input_producer(['a', 'b'], {ends})\n"
        "_, row = tf.TFRecordReader().read(names)\n"
        "x = tf.train.shuffle_batch([tf.decode_raw(row, tf.float32)], 16, 1000, 200)\n"
        "loss = tf.reduce_mean(tf.layers.dense(x, 1))\ntf.summary.scalar('loss', loss)\n"
        "train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        f"supervisor = tf.train.Supervisor(logdir='logs', {given})\n"
        "with supervisor.managed_session() as sess:\n    while not supervisor.should_stop():\n        sess.run(train)\n"
    )


# ---------------------------------------------------------------------- sent


def test_rank_0s_variables_are_sent_first_in_the_session() -> None:
    found = lines(BUILT + OPENED + LOOP)
    at = found.index("broadcast = hvd.broadcast_global_variables(root_rank=0)")
    assert found[at + 1].startswith(f"supervisor = tf.train.Supervisor(logdir={ON_ROOT}")
    assert found[at + 2] == "with supervisor.managed_session(config=config) as sess:"
    assert found[at + 3] == "sess.run(broadcast)"


def test_a_session_that_gets_a_name() -> None:
    found = lines(
        BUILT + MADE + "sess = supervisor.prepare_or_wait_for_session()\n" + LOOP.replace("    for", "for")
    )
    assert (
        found[found.index("sess = supervisor.prepare_or_wait_for_session(config=config)") + 1]
        == "sess.run(broadcast)"
    )


def test_a_supervisor_without_a_name() -> None:
    found = lines(BUILT + "with tf.train.Supervisor(logdir='logs').managed_session() as sess:\n" + LOOP)
    at = found.index("broadcast = hvd.broadcast_global_variables(root_rank=0)")
    assert found[at + 1].startswith("with tf.train.Supervisor(")
    assert found[at + 2] == "sess.run(broadcast)"


def test_what_is_restored_in_the_session_is_sent_after_it_and_once() -> None:
    plan = plan_of(BUILT + OPENED + "    supervisor.saver.restore(sess, 'model')\n" + LOOP)
    assert plan.text.count("sess.run(broadcast)") == 1
    assert plan.text.index("sess.run(broadcast)") > plan.text.index("restore(")


def test_what_is_run_while_the_session_is_opened_sends_nothing() -> None:
    """The graph is finalised by then."""
    plan = plan_of(
        BUILT + "old = tf.train.Saver()\n\n\ndef restore(session):\n    old.restore(session, 'model')\n\n\n"
        "supervisor = tf.train.Supervisor(logdir='logs', init_fn=restore)\n"
        "with supervisor.managed_session() as sess:\n" + LOOP
    )
    assert plan.text.count("broadcast_global_variables") == plan.text.count("sess.run(broadcast)") == 1


def test_it_is_built_in_the_graph_that_the_supervisor_is_given() -> None:
    model = BUILT.replace("import tensorflow as tf\n", "")
    body = "".join(f"    {line}\n" for line in model.splitlines())
    found = lines(
        "import tensorflow as tf\ngraph = tf.Graph()\nwith graph.as_default():\n" + body + "supervisor = "
        "tf.train.Supervisor(graph=graph, logdir='logs', summary_op=None)\n"
        "with supervisor.managed_session() as sess:\n" + LOOP
    )
    at = found.index("broadcast = hvd.broadcast_global_variables(root_rank=0)")
    assert found[at - 1] == "with graph.as_default():"


NORMALIZED = """\
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.loss = tf.reduce_mean(tf.layers.batch_normalization(tf.layers.dense(self.x, 4), training=True))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self.train_op = tf.train.AdamOptimizer(0.1).minimize(self.loss)
        self.supervisor = tf.train.Supervisor(logdir="logs", save_model_secs=0)
        self.sess = self.supervisor.prepare_or_wait_for_session()

    def train(self, rows):
        for i in range(500):
            self.sess.run(self.train_op, {self.x: rows[i * 16 : (i + 1) * 16]})


Trainer().train(rows)
"""


def test_methods_of_one_object_keep_it_in_a_field() -> None:
    found = lines(NORMALIZED)
    at = found.index("self.broadcast = hvd.broadcast_global_variables(root_rank=0)")
    assert found[at + 1].startswith("self.supervisor = tf.train.Supervisor(")
    assert found[at + 3] == "self.sess.run(self.broadcast)"
    assert found.count("self.sess.run(self.broadcast)") == 2  # and batch-norm statistics after the loop


def test_a_supervisor_that_is_not_seen_to_be_made() -> None:
    refused(
        BUILT + "def train_in(supervisor):\n    with supervisor.managed_session() as sess:\n"
        "        for i in range(500):\n            sess.run(train, {x: draw()})\n",
        "HVD006",
        "where this Supervisor is made",
    )


# ---------------------------------------------------------------------- what only rank 0 has


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("is_chief=task == 0, ", "tells processes apart"),
        ("", None),
        ("is_chief=True, ", None),
    ],
)
def test_a_chief_of_several(where: str, found: str | None) -> None:
    source = BUILT + OPENED.replace("logdir", where + "logdir") + LOOP
    if found is None:
        assert plan_of(source)
    else:
        refused(source, "HVD202", found)


def test_a_server() -> None:
    refused(
        BUILT + OPENED.replace("_session()", "_session(server.target)") + LOOP, "HVD202", "names a server"
    )


def test_summaries_are_rank_0s() -> None:
    plan = plan_of(BUILT + OPENED + LOOP + "        supervisor.summary_computed(sess, made(i))\n")
    assert (
        "        if hvd.rank() == 0:\n            supervisor.summary_computed(sess, made(i))\n" in plan.text
    )
    assert "SilentWriter" not in plan.text


def test_a_writer_that_the_program_uses_is_silent_on_other_ranks() -> None:
    plan = plan_of(BUILT + OPENED + LOOP + "    supervisor.summary_writer.flush()\n")
    assert (
        "summary_writer=tf.train.Supervisor.USE_DEFAULT if hvd.rank() == 0 else SilentWriter())" in plan.text
    )


def test_a_directory_that_others_have_not() -> None:
    refused(
        BUILT + OPENED + LOOP + "    path = supervisor.logdir + '/model'\n",
        "HVD006",
        "only rank 0's Supervisor",
    )
    assert plan_of(BUILT + OPENED + LOOP + "    supervisor.saver.save(sess, supervisor.save_path)\n")


def test_summaries_that_take_rank_0s_batches() -> None:
    refused(_queued("save_summaries_secs=5", "num_epochs=5"), "HVD006", "`summary_op=None`")


# ---------------------------------------------------------------------- steps


@pytest.mark.parametrize("made", [MADE, MADE.replace("summary_op=None", "summary_op=None, global_step=step")])
def test_its_global_step_counts(made: str) -> None:
    plan = plan_of(
        COUNTED
        + made
        + "with supervisor.managed_session() as sess:\n    while not supervisor.should_stop():\n"
        "        _, n = sess.run([train, supervisor.global_step], {x: draw()})\n"
        "        if n % 50 == 0:\n            supervisor.saver.save(sess, 'model')\n"
        "        if n >= 1000:\n            break\n"
    )
    assert "if n % max(1, 50 // hvd.size()) == 0" in plan.text
    assert "if n >= 1000 // hvd.size():" in plan.text
    assert not doubts(plan, "S5")
    assert any("as many ranks as the run had" in n.message for n in plan.notes)


def test_what_it_restores_is_rank_0s() -> None:
    plan = plan_of(
        COUNTED + OPENED + "    start = sess.run(supervisor.global_step)\n"
        "    for i in range(start, 500):\n        sess.run(train, {x: draw()})\n"
    )
    assert "range(start, max(start, 500 // hvd.size()))" in plan.text
    assert not changes(plan, "S5")[0].doubt


def test_a_rank_that_asks_to_stop_stops_all() -> None:
    plan = plan_of(
        BUILT + OPENED + "    for i in range(500):\n        _, value = sess.run([train, loss], {x: draw()})\n"
        "        if value < 0.1:\n            supervisor.request_stop()\n"
        "        if supervisor.should_stop():\n            break\n"
    )
    assert "if any_rank(value < 0.1):\n            supervisor.request_stop()" in plan.text
    assert doubts(plan, "S5")
