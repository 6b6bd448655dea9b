"""S4: rank 0's variables are sent once they are ready, before the first step; batch-norm statistics again after the loop."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import changes, check, only, plan_of, refused, untouched
from ..sessions import BUILT, INIT, LOOP, LOSS, RUN, SENT


def sent(before: str, after: str, tail: str = LOOP, head: str = BUILT) -> None:
    check("S4", head, before, after, tail)


def text(source: str) -> str:
    """A program with the changes of S4 only."""
    return only(plan_of(textwrap.dedent(source).lstrip("\n")), "S4")


# ---------------------------------------------------------------------- near misses


def test_a_session_that_only_restores_and_infers_is_left_alone() -> None:
    plan = plan_of(
        BUILT
        + RUN
        + "with tf.Session() as other:\n    tf.train.Saver().restore(other, 'model')\n    print(other.run(loss, {x: data}))\n"
    )
    assert plan.text.count("broadcast_global_variables") == 1
    assert plan.text.index("broadcast_global_variables") < plan.text.index("restore(")


def test_an_initializer_of_keras_is_none_of_a_session() -> None:
    plan = plan_of(BUILT + "init = tf.keras.initializers.Zeros()\n" + RUN)
    assert len(changes(plan, "S4")) == 1


def test_local_variables_are_each_ranks_own() -> None:
    plan = plan_of(
        BUILT + "sess = tf.Session()\n" + INIT + "sess.run(tf.local_variables_initializer())\n" + LOOP
    )
    assert only(plan, "S4").count("broadcast") == 1


def test_a_fit_of_keras_is_broadcast_by_its_callback() -> None:
    untouched(
        "S4",
        """
        import tensorflow as tf
        from tensorflow.keras import backend as K
        model = tf.keras.Sequential([])
        model.compile("sgd", "mse")
        K.get_session().run(tf.global_variables_initializer())
        model.fit(x, y)
        """,
    )


def test_a_monitored_session_has_a_hook() -> None:
    plan = plan_of(
        BUILT + "with tf.train.MonitoredTrainingSession() as sess:\n    " + LOOP.replace("\n", "\n    ")
    )
    assert not changes(plan, "S4")


# ---------------------------------------------------------------------- initialisers


@pytest.mark.parametrize(
    "init",
    [
        "sess.run(tf.global_variables_initializer())",
        "sess.run(tf.initialize_all_variables())",
        "init = tf.global_variables_initializer()\nsess.run(init)",
        "init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())\nsess.run(init)",
        "sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])",
        "sess.run(tf.variables_initializer(tf.global_variables()))",
        "sess.run(fetches=tf.global_variables_initializer())",
        "tf.global_variables_initializer().run(session=sess)",
    ],
)
def test_after_an_initialiser(init: str) -> None:
    sent(f"sess = tf.Session()\n{init}", f"sess = tf.Session()\n{init}\n{SENT}")


@pytest.mark.parametrize(
    "init",
    ["tf.global_variables_initializer().run()", "init = tf.global_variables_initializer()\ninit.run()"],
)
def test_in_the_default_session(init: str) -> None:
    sent(
        f"sess = tf.InteractiveSession()\n{init}",
        f"sess = tf.InteractiveSession()\n{init}\nhvd.broadcast_global_variables(root_rank=0).run()\n",
        "for i in range(500):\n    train.run({x: draw()})\n",
    )


def test_what_is_initialised_and_then_restored_is_sent_once_after_it() -> None:
    restore = "saver = tf.train.Saver()\nif path:\n    saver.restore(sess, path)\n"
    sent(f"sess = tf.Session()\n{INIT}{restore}", f"sess = tf.Session()\n{INIT}{restore}{SENT}")


@pytest.mark.parametrize(("more", "times"), [("", 1), ("other = tf.Session(graph=tf.Graph())\n", 2)])
def test_one_session_by_two_names_is_sent_once(more: str, times: int) -> None:
    """The default one, and what it is called; of two sessions they may be two."""
    ready = "    tf.global_variables_initializer().run()\n    tf.train.Saver().restore(sess, 'm')\n"
    steps = "    for i in range(500):\n        sess.run(train, {x: draw()})\n"
    plan = plan_of(BUILT + more + "with tf.Session() as sess:\n" + ready + steps)
    assert plan.text.count("broadcast_global_variables") == times


def test_a_choice_between_restoring_and_initialising_is_sent_after_it() -> None:
    choice = "if path:\n    tf.train.Saver().restore(sess, path)\nelse:\n    " + INIT
    sent(f"sess = tf.Session()\n{choice}", f"sess = tf.Session()\n{choice}{SENT}")


def test_every_fold_starts_from_rank_0() -> None:
    sent(
        """
        sess = tf.Session()
        for fold in folds:
            sess.run(tf.global_variables_initializer())
            for i in range(500):
                sess.run(train, {x: draw()})
        """,
        """
        sess = tf.Session()
        for fold in folds:
            sess.run(tf.global_variables_initializer())
            sess.run(hvd.broadcast_global_variables(root_rank=0))
            for i in range(500):
                sess.run(train, {x: draw()})
        """,
        "",
    )


def test_a_function_that_initialises_for_its_caller() -> None:
    sent(
        """
        def prepare(s):
            s.run(tf.global_variables_initializer())
        sess = tf.Session()
        prepare(sess)
        """,
        """
        def prepare(s):
            s.run(tf.global_variables_initializer())
        sess = tf.Session()
        prepare(sess)
        sess.run(hvd.broadcast_global_variables(root_rank=0))
        """,
    )


def test_a_session_in_an_object() -> None:
    sent(
        """
        class Model:
            def __init__(self):
                self.sess = tf.Session()
                self.sess.run(tf.global_variables_initializer())
            def step(self):
                return self.sess.run([train, loss], {x: draw()})
        """,
        """
        class Model:
            def __init__(self):
                self.sess = tf.Session()
                self.sess.run(tf.global_variables_initializer())
                self.sess.run(hvd.broadcast_global_variables(root_rank=0))
            def step(self):
                return self.sess.run([train, loss], {x: draw()})
        """,
        "model = Model()\nfor i in range(500):\n    model.step()\n",
    )


# ---------------------------------------------------------------------- graphs


def test_two_sessions_of_two_graphs_are_both_sent_each_in_its_graph() -> None:
    after = text(
        """
        import tensorflow as tf
        def build():
            loss = tf.reduce_mean(tf.get_variable("w", [3]) * tf.random_normal([3]))
            return tf.train.AdamOptimizer(0.1).minimize(loss), tf.global_variables_initializer()
        one, two = tf.Graph(), tf.Graph()
        with one.as_default():
            train_one, init_one = build()
        with two.as_default():
            train_two, init_two = build()
        first = tf.Session(graph=one)
        second = tf.Session(graph=two)
        first.run(init_one)
        second.run(init_two)
        for i in range(500):
            first.run(train_one)
            second.run(train_two)
        """
    )
    for name in ("first", "second"):
        assert (
            f"with {name}.graph.as_default():\n    {name}.run(hvd.broadcast_global_variables(root_rank=0))\n"
            in after
        )


GRAPH = """\
import tensorflow as tf
graph = tf.Graph()
with graph.as_default():
    loss = tf.reduce_mean(tf.get_variable('w', [3]) * tf.random_normal([3]))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    init = tf.global_variables_initializer()
"""
IN_GRAPH = "with sess.graph.as_default():\n    " + SENT


def test_a_session_of_a_graph_that_is_default_where_it_is_opened() -> None:
    inner = "    sess = tf.Session()\n"
    loop = "for i in range(500):\n    sess.run(train)\n"
    sent(inner + "sess.run(init)\n", inner + f"sess.run(init)\n{IN_GRAPH}", loop, GRAPH)
    inside = "    " + SENT
    sent(inner + "    sess.run(init)\n", f"{inner}    sess.run(init)\n{inside}", loop, GRAPH)


OPENED_BY_CALL = """\
import tensorflow as tf
class Net:
    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            {build}
    def build(self):
        x = tf.layers.batch_normalization(tf.get_variable('w', [3, 3]) * tf.random_normal([3, 3]), training=True)
        self.step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(x))
        self.sess = self.open()
        self.sess.run(tf.global_variables_initializer())
    def open(self):
        return tf.Session()
    def fit(self):
        for i in range(500):
            self.sess.run(self.step)
        print('done')
net = Net()
{fit}
"""


def test_a_session_that_a_method_opens_where_a_graph_is_the_default() -> None:
    after = plan_of(OPENED_BY_CALL.format(build="self.build()", fit="net.fit()")).text
    assert (
        "        with self.sess.graph.as_default():\n"
        "            self.sess.run(hvd.broadcast_global_variables(root_rank=0))\n" in after
    )
    assert after.count(".graph.as_default()") == 2


@pytest.mark.parametrize(
    ("build", "fit"),
    [("self.build(); self.fit()", ""), ("self.build()", "with net.graph.as_default():\n    net.fit()")],
)
def test_a_graph_that_is_the_default_where_a_method_is_called(build: str, fit: str) -> None:
    after = plan_of(OPENED_BY_CALL.format(build=build, fit=fit)).text
    assert after.count("self.sess.run(hvd.broadcast_global_variables(root_rank=0))") == 2
    assert ("with self.sess.graph.as_default():" in after) == bool(fit)


def test_a_session_that_is_entered_makes_its_graph_the_default() -> None:
    before = "with tf.Session(graph=graph) as sess:\n    sess.run(init)\n"
    sent(before, f"{before}    {SENT}", "    for i in range(500):\n        sess.run(train)\n", GRAPH)


OWN = "sess = tf.Session(graph=graph)\n"
STEPS = "    for i in range(500):\n        sess.run(train)\n"
# What stands in a block, one level further in.
OWN_GRAPH = textwrap.indent(IN_GRAPH, "    ")


@pytest.mark.parametrize(
    "entered",
    [
        "with tf.Session(graph=graph) as sess:\n",
        "with graph.as_default(), tf.Session() as sess:\n",
        OWN + "with graph.as_default():\n  with sess.as_default():\n",
        OWN + "with graph.as_default(), sess.as_default():\n",
        "sess = tf.InteractiveSession(graph=graph)\nif True:\n",
    ],
)
def test_an_initialiser_that_is_run_where_its_graph_is_the_default(entered: str) -> None:
    after = only(plan_of(GRAPH + entered + "    init.run()\n" + STEPS), "S4")
    assert ".graph.as_default()" not in after


@pytest.mark.parametrize(
    ("opened", "inside"),
    [
        (OWN, "    init.run()\n"),
        ("    sess = tf.Session()\n", "    init.run()\n"),
        (OWN, "    sess.run(init)\n"),
    ],
)
def test_a_session_that_is_made_the_default_leaves_the_default_graph(opened: str, inside: str) -> None:
    for entered in ("with sess.as_default():\n", "with sess.as_default() as s:\n"):
        before = opened + entered + inside
        sent(before, before + OWN_GRAPH, STEPS, GRAPH)


def test_a_session_that_was_the_default_is_named_after_that() -> None:
    plain = BUILT + "init = tf.global_variables_initializer()\nsess = tf.Session()\n"
    before = "with sess.as_default():\n    init.run()\n"
    sent(before, before + SENT, LOOP, plain)
    sent(OWN + before, OWN + before + IN_GRAPH, "for i in range(500):\n    sess.run(train)\n", GRAPH)


def test_a_function_that_initialises_the_default_session_of_its_caller() -> None:
    start = "def start():\n    init.run()\n"
    asked = (
        "    with tf.get_default_session().graph.as_default():\n"
        "        hvd.broadcast_global_variables(root_rank=0).run()\n"
    )
    called = OWN + "with sess.as_default():\n    start()\n" + STEPS
    sent(start, start + asked, called, GRAPH)
    called = "with tf.Session(graph=graph) as sess:\n    start()\n" + STEPS
    sent(start, start + "    hvd.broadcast_global_variables(root_rank=0).run()\n", called, GRAPH)


def test_the_broadcast_is_built_before_the_graph_is_finalised() -> None:
    sent(
        """
        sess = tf.Session()
        init = tf.global_variables_initializer()
        tf.get_default_graph().finalize()
        sess.run(init)
        """,
        """
        sess = tf.Session()
        init = tf.global_variables_initializer()
        broadcast = hvd.broadcast_global_variables(root_rank=0)
        tf.get_default_graph().finalize()
        sess.run(init)
        sess.run(broadcast)
        """,
    )


def test_finalising_afterwards_does_no_harm() -> None:
    before = "sess = tf.Session()\n" + INIT
    sent(before, before + SENT, "sess.graph.finalize()\n" + LOOP)


def test_a_graph_that_another_function_finalises_is_refused() -> None:
    refused(
        BUILT + "init = tf.global_variables_initializer()\ndef close(graph):\n    graph.finalize()\n"
        "close(tf.get_default_graph())\nsess = tf.Session()\nsess.run(init)\n" + LOOP,
        "HVD006",
        "finalises the graph",
    )


def test_a_session_that_is_initialised_nowhere_is_refused() -> None:
    refused(
        BUILT + "import mine\nsess = tf.Session()\nmine.prepare(sess)\n" + LOOP,
        "HVD006",
        "initialised is not in this file",
    )


# ---------------------------------------------------------------------- batch-norm statistics


DONE = "print('done')\n"
NORMED = LOSS + (
    "h = tf.layers.batch_normalization(x, training=True)\n"
    "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):\n"
    "    train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
)


def test_without_statistics_nothing_is_sent_after_the_loop() -> None:
    assert only(plan_of(BUILT + RUN), "S4").count("broadcast") == 1


BY_BATCH = "m, v = tf.nn.moments(x, [0])\nh = tf.nn.batch_normalization(x, {}, v, None, None, 1e-3)\n"


def test_what_normalises_by_the_batch_alone_keeps_no_statistics() -> None:
    assert only(plan_of(BUILT + BY_BATCH.format("m") + RUN), "S4").count("broadcast") == 1


@pytest.mark.parametrize(
    "kept",
    [
        BY_BATCH.format("m") + "kept = tf.Variable([0.0])\nupdate = tf.assign(kept, 0.9 * kept + 0.1 * m)\n",
        BY_BATCH.format("m") + "ema = tf.train.ExponentialMovingAverage(0.9)\nupdate = ema.apply([m, v])\n",
        BY_BATCH.format("tf.get_variable('mean', [3])"),
        BY_BATCH.format("m if train else kept"),
        BY_BATCH.format("m") + "h = tf.layers.batch_normalization(h, training=True)\n",
    ],
)
def test_what_may_keep_the_mean_of_batches_is_sent(kept: str) -> None:
    assert only(plan_of(BUILT + kept + RUN), "S4").count("broadcast") == 2


def test_statistics_are_sent_after_the_outermost_loop() -> None:
    opened = "sess = tf.Session()\n" + INIT
    loops = "for epoch in range(9):\n    for i in range(500):\n        sess.run(train, {x: draw()})\n"
    sent(opened + loops, opened + SENT + loops + SENT, "print('done')\n", NORMED)


def test_a_session_that_a_loop_opens_is_sent_inside_it() -> None:
    sent(
        """
        for rate in rates:
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for i in range(500):
                    sess.run(train, {x: draw()})
        """,
        """
        for rate in rates:
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(hvd.broadcast_global_variables(root_rank=0))
                for i in range(500):
                    sess.run(train, {x: draw()})
                sess.run(hvd.broadcast_global_variables(root_rank=0))
        """,
        "print('done')\n",
        NORMED,
    )


def test_statistics_in_the_default_session() -> None:
    inner = "    tf.global_variables_initializer().run()\n"
    loop = "    for i in range(500):\n        train.run({x: draw()})\n"
    send = "    hvd.broadcast_global_variables(root_rank=0).run()\n"
    sent(f"with tf.Session():\n{inner}{loop}", f"with tf.Session():\n{inner}{send}{loop}{send}", DONE, NORMED)


def test_statistics_of_an_object_whose_loop_is_elsewhere() -> None:
    model = (
        "class Model:\n    def __init__(self):\n        self.sess = tf.Session()\n"
        "        self.sess.run(tf.global_variables_initializer())\n    def step(self):\n"
        "        return self.sess.run([train, loss], {x: draw()})\nmodel = Model()\n"
    )
    loop = "for i in range(500):\n    model.step()\n"
    assert text(NORMED + model + loop + DONE).endswith(f"{loop}model.{SENT}{DONE}")


def test_statistics_of_a_session_that_is_passed() -> None:
    function = "def step(session):\n    session.run(train, {x: draw()})\n"
    loop = "for i in range(500):\n    step(sess)\n"
    assert text(NORMED + function + "sess = tf.Session()\n" + INIT + loop + DONE).endswith(loop + SENT + DONE)


def test_statistics_in_a_graph_of_their_own() -> None:
    normed = GRAPH.replace(
        "    init =", "    h = tf.layers.batch_normalization(loss, training=True)\n    init ="
    )
    loop = "for i in range(500):\n    sess.run(train)\n"
    after = text(normed + "sess = tf.Session(graph=graph)\nsess.run(init)\n" + loop + DONE)
    assert after.endswith(loop + IN_GRAPH + DONE)
    assert after.count(IN_GRAPH) == 2


def test_a_graph_that_is_finalised_has_one_broadcast_for_both() -> None:
    after = text(
        NORMED
        + "init = tf.global_variables_initializer()\ntf.get_default_graph().finalize()\nsess = tf.Session()\nsess.run(init)\n"
        + LOOP
        + DONE
    )
    assert after.count("hvd.broadcast_global_variables(root_rank=0)") == 1
    assert after.endswith(LOOP + "sess.run(broadcast)\n" + DONE)


@pytest.mark.parametrize(
    "program",
    [
        "sess = tf.Session()\n" + INIT + LOOP,
        "with tf.Session() as sess:\n" + textwrap.indent(INIT + LOOP, "    "),
        "def main():\n"
        + textwrap.indent("sess = tf.Session()\n" + INIT + LOOP, "    ")
        + "if __name__ == '__main__':\n    main()\n",
    ],
)
def test_statistics_are_sent_where_the_program_ends_with_the_loop(program: str) -> None:
    assert text(NORMED + program).count("broadcast") == 2


@pytest.mark.parametrize(
    "program",
    [
        "def fit():\n"
        + textwrap.indent("sess = tf.Session()\n" + INIT + LOOP, "    ")
        + "fit()\nprint('done')\n",
        "def fit():\n"
        + textwrap.indent("sess = tf.Session()\n" + INIT + LOOP, "    ")
        + "for again in range(2):\n    fit()\n",
        "sess = tf.Session()\n"
        + INIT
        + "try:\n"
        + textwrap.indent(LOOP, "    ")
        + "finally:\n    sess.run(loss, {x: data})\n",
        "sess = tf.Session()\n" + INIT + LOOP + "else:\n    print(sess.run(loss, {x: data}))\n",
    ],
)
def test_statistics_are_sent_where_anything_follows(program: str) -> None:
    assert text(NORMED + program).count("broadcast") == 2


STORED = (
    BUILT
    + "epoch = tf.Variable(0)\nsess = tf.Session()\n"
    + INIT
    + "tf.train.Saver().restore(sess, 'model')\n"
)
EPOCHS = "for e in range(start, 9):\n    for i in range(500):\n        sess.run(train, {x: draw()})\n"


@pytest.mark.parametrize("read", ["epoch.eval(sess)", "sess.run(epoch)"])
def test_a_number_that_is_read_after_it_was_sent_is_not_sent_again(read: str) -> None:
    program = f"{STORED}start = {read}\n{EPOCHS}"
    assert "broadcast_object" not in plan_of(program).text


@pytest.mark.parametrize(
    "between",
    [
        "sess.run(epoch.assign_add(1))\n",
        "epoch.load(seen, sess)\n",
        "def put():\n    sess.run(epoch.assign_add(1))\nput()\n",
    ],
)
def test_a_number_that_may_be_set_after_it_was_sent_is_sent_again(between: str) -> None:
    assert "broadcast_object" in plan_of(f"{STORED}{between}start = sess.run(epoch)\n{EPOCHS}").text


IN_BLOCK = (
    BUILT
    + "epoch = tf.Variable(0)\nwith {}:\n    tf.global_variables_initializer().run()\n"
    + "    tf.train.Saver().restore(tf.get_default_session(), 'model')\n    start = epoch.eval()\n"
    + "    for e in range(start, 9):\n        for i in range(500):\n            train.run({{x: draw()}})\n"
)


def test_a_number_that_the_session_of_the_block_reads_after_it_was_sent_is_not_sent_again() -> None:
    text = plan_of(IN_BLOCK.format("tf.Session() as sess").replace("tf.get_default_session()", "sess")).text
    assert "broadcast_global_variables" in text
    assert "broadcast_object" not in text


def test_a_number_that_another_session_of_a_block_reads_is_sent() -> None:
    other = IN_BLOCK.replace(BUILT, BUILT + "other = tf.Session()\n").format(
        "tf.Session() as sess, other.as_default()"
    )
    assert "broadcast_object" in plan_of(other.replace("tf.get_default_session()", "sess")).text


def test_a_session_of_a_graph_of_its_own_reads_nothing_of_what_was_sent() -> None:
    program = (
        "from tensorflow.examples.tutorials.mnist import input_data\n"
        + STORED.replace("sess = ", "rows = input_data.read_data_sets('data')\nsess = ")
        + f"start = sess.run(epoch)\n{EPOCHS}"
    )
    text = plan_of(program).text
    assert (
        "with tf.Graph().as_default(), tf.Session(config=config)" in text
    )  # in which ranks wait for the download
    assert "start = sess.run(epoch)\n" in text


def test_a_number_that_another_session_reads_is_sent() -> None:
    assert (
        "broadcast_object"
        in plan_of(f"{STORED}other = tf.Session()\nstart = other.run(epoch)\n{EPOCHS}").text
    )


def test_a_number_that_is_read_before_its_variables_are_restored_is_sent() -> None:
    moved = "start = sess.run(epoch)\ntf.train.Saver().restore(sess, 'model')\n"
    program = STORED.replace("tf.train.Saver().restore(sess, 'model')\n", moved) + EPOCHS
    assert "broadcast_object" in plan_of(program).text


def test_a_number_that_a_restore_sets_under_a_condition_is_sent() -> None:
    restored = "if found():\n    tf.train.Saver().restore(sess, 'model')\n    start = sess.run(epoch)\n"
    begun = "def prepare():\n    sess.run(tf.global_variables_initializer())\nprepare()\nstart = 0\n"
    program = f"{BUILT}epoch = tf.Variable(0)\nsess = tf.Session()\n{begun}{restored}{EPOCHS}"
    assert "broadcast_object" in plan_of(program).text


def test_where_statistics_can_not_be_sent_it_is_said() -> None:
    plan = plan_of(
        NORMED
        + "def fit():\n    with tf.Session() as sess:\n        "
        + INIT
        + "        sess.run(train)\nfor i in range(9):\n    fit()\n"
    )
    assert any("batch-norm statistics of its own" in n.message for n in plan.notes)


def test_an_initializer_that_shares_its_line() -> None:
    init = "sess.run(tf.global_variables_initializer())"
    assert f"{init}\n{SENT}n = 1\n" in text(BUILT + f"sess = tf.Session()\n{init}; n = 1\n" + LOOP)


# ---------------------------------------------------------------------- values set after initialisation

SET = """\
import sys
import numpy as np
import tensorflow.compat.v1 as tf

rows = np.load("rows.npy")
x = tf.placeholder(tf.int32, [None, 4])
given = tf.placeholder(tf.float32, [100, 8])
table = tf.Variable(tf.zeros([100, 8]))
fill = table.assign(given)
step = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.nn.embedding_lookup(table, x) ** 2))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    {before}
    for i in range(100):
        sess.run(step, {{x: rows[np.random.choice(len(rows), 16)]}})
        {inside}
"""
SENT_ALONE = "    sess.run(hvd.broadcast_global_variables(root_rank=0))\n"
INITIALISED = "    sess.run(tf.global_variables_initializer())\n"
DRAWN = "np.random.uniform(-0.25, 0.25, (100, 8))"


def set_before(before: str, inside: str = "pass") -> str:
    return plan_of(SET.format(before=before, inside=inside)).text


@pytest.mark.parametrize(
    "before",
    [
        "sess.run(table.assign(np.zeros((100, 8))))",
        "np.random.seed(3)\n    sess.run(fill, {given: " + DRAWN + "})",
        "print(sess.run(table, {x: np.random.randint(9, size=(1, 4))}))",
    ],
)
def test_values_that_all_ranks_set_alike_change_nothing(before: str) -> None:
    assert INITIALISED + SENT_ALONE in set_before(before)


def test_what_is_set_beside_training_is_not_sent() -> None:
    text = set_before("pass", f"sess.run(fill, {{given: {DRAWN}}})")
    assert INITIALISED + SENT_ALONE in text
    assert text.count(SENT_ALONE.strip()) == 1


@pytest.mark.parametrize(
    "setting",
    [
        f"sess.run(table.assign({DRAWN}))",
        f"sess.run(tf.assign(table, {DRAWN}))",
        f"sess.run(fill, {{given: {DRAWN}}})",
        f"sess.run(fill, feed_dict={{given: {DRAWN}}})",
        f"begun = {DRAWN}\n    sess.run([fill], {{given: begun}})",
    ],
)
def test_values_that_each_rank_draws_are_sent_after_they_are_set(setting: str) -> None:
    text = set_before(setting)
    assert f"    {setting}\n{SENT_ALONE}" in text
    assert text.count(SENT_ALONE.strip()) == 1


def test_they_are_sent_outside_the_condition_under_which_they_are_set() -> None:
    text = set_before(f"if len(sys.argv) > 1:\n        sess.run(table.assign({DRAWN}))")
    assert f"        sess.run(table.assign({DRAWN}))\n{SENT_ALONE}" in text


def test_an_object_that_is_made_and_trained_in_one_statement_sends_what_it_makes() -> None:
    source = """
        import tensorflow.compat.v1 as tf
        class Model:
            def __init__(self):
                self.x = tf.placeholder(tf.float32, [None, 1])
                self.train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(self.x * tf.get_variable('w', [1, 1])))
                self.sess = tf.Session()
                self.sess.run(tf.global_variables_initializer())
            def run(self):
                for i in range(500):
                    self.sess.run(self.train, {self.x: draw()})
        Model().run()
        """
    sent = INIT.replace("sess.", "self.sess.") + "        self." + SENT
    assert sent in text(source)


IN_CLASSES = """\
class Trainer:
    def __init__(self, sess, model):
        self.sess, self.model = sess, model
        self.sess.run(tf.global_variables_initializer())
    def train(self):
        for i in range(500):
            self.sess.run(train, {{x: draw()}})
class Model:
    def load(self, sess):
        saver.restore(sess, 'm')
saver = tf.train.Saver()
sess = tf.Session()
model = Model()
{run}
"""


def test_what_is_restored_before_all_training_is_sent_once() -> None:
    run = "trainer = Trainer(sess, model)\nmodel.load(sess)\ntrainer.train()"
    found = plan_of(BUILT + IN_CLASSES.format(run=run)).text
    assert f"model.load(sess)\n{SENT}trainer.train()\n" in found
    assert found.count("broadcast_global_variables") == 1


@pytest.mark.parametrize(
    "run",
    [
        "trainer = Trainer(sess, model)\ntrainer.train()\nmodel.load(sess)\ntrainer.train()",
        "trainer = Trainer(sess, model)\nif found:\n    model.load(sess)\n    trainer.train()\ntrainer.train()",
    ],
)
def test_what_trains_before_it_is_restored_is_sent_before(run: str) -> None:
    found = plan_of(BUILT + IN_CLASSES.format(run=run)).text
    assert f"        self.{INIT}        self.{SENT}" in found


def test_a_method_without_an_object_is_handed_the_session_first() -> None:
    """`Model.load(sess, path)`: the broadcast after it ran by the model."""
    text = plan_of(
        "import tensorflow.compat.v1 as tf\n"
        "class Model:\n"
        "    def __init__(self):\n"
        "        self.x = tf.placeholder(tf.float32, [None, 3])\n"
        "        self.loss = tf.reduce_mean(tf.layers.dense(self.x, 1) ** 2)\n"
        "    @staticmethod\n"
        "    def load(sess, path):\n"
        "        found = tf.train.get_checkpoint_state(path)\n"
        "        if found and found.model_checkpoint_path:\n"
        "            tf.train.Saver().restore(sess, found.model_checkpoint_path)\n"
        "model = Model()\n"
        "train = tf.train.AdamOptimizer(0.001).minimize(model.loss)\n"
        "with tf.Session() as sess:\n"
        "    sess.run(tf.global_variables_initializer())\n"
        "    model.load(sess, 'd')\n"
        "    for i in range(1000):\n"
        "        sess.run(train, {model.x: rows[i * 8 : i * 8 + 8]})\n"
    ).text
    assert "    model.load(sess, 'd')\n    sess.run(hvd.broadcast_global_variables(root_rank=0))\n" in text


def test_training_under_a_condition_that_restores_itself_is_sent_to_there() -> None:
    """`if first: initialise, train` and `if second: restore, train`: behind the first, where only the second comes, nothing is
    initialised, and the broadcast there stopped the program."""
    script = (
        "import tensorflow.compat.v1 as tf\n"
        "x = tf.placeholder(tf.float32, [None, 3])\n"
        "train = tf.train.AdamOptimizer(0.001).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2))\n"
        "saver = tf.train.Saver()\n"
        "sess = tf.InteractiveSession()\n"
        "if first:\n"
        "    sess.run(tf.global_variables_initializer())\n"
        "    for i in range(1000):\n"
        "        sess.run(train, {{x: rows[i * 8 : i * 8 + 8]}})\n"
        "    saver.save(sess, 'm')\n"
        "if second:\n"
        "    {ready}\n"
        "    for i in range(1000):\n"
        "        sess.run(train, {{x: rows[i * 8 : i * 8 + 8]}})\n"
    )
    sent = "sess.run(hvd.broadcast_global_variables(root_rank=0))\n"
    found = plan_of(script.format(ready="saver.restore(sess, 'm')")).text
    assert f"\n{sent}" not in found
    assert found.count(sent) == 2
    assert f"    saver.restore(sess, 'm')\n    {sent}" in found
    assert f"\n{sent}" in plan_of(script.format(ready="pass")).text
    assert f"\n{sent}" in plan_of(script.format(ready="if found: saver.restore(sess, 'm')")).text


@pytest.mark.parametrize("opened", [True, False])
def test_a_session_that_is_opened_under_a_condition_is_sent_there(opened: bool) -> None:
    """`if sess is None: self.sess = tf.Session()`, `else: self.sess = sess`: what is handed over may be initialised later, and
    the broadcast behind the condition stopped the program."""
    script = (
        "import tensorflow.compat.v1 as tf\n"
        "class Agent:\n"
        "    def __init__(self, sess=None):\n"
        "        self.x = tf.placeholder(tf.float32, [None, 3])\n"
        "        self.loss = tf.reduce_mean(tf.layers.dense(self.x, 1) ** 2)\n"
        "        self.train = tf.train.AdamOptimizer(0.001).minimize(self.loss)\n"
        "{before}"
        "        if sess is None:\n"
        "{inside}"
        "            self.sess.run(tf.global_variables_initializer())\n"
        "        else:\n"
        "            {other}\n"
        "sess = tf.Session()\n"
        "agent = Agent(sess)\n"
        "sess.run(tf.global_variables_initializer())\n"
        "for i in range(1000):\n"
        "    agent.sess.run(agent.train, {{agent.x: rows[i * 8 : i * 8 + 8]}})\n"
    )
    made = "self.sess = tf.Session()\n"
    before, inside, other = (
        ("", 12 * " " + made, "self.sess = sess") if opened else (8 * " " + made, "", "pass")
    )
    text = plan_of(script.format(before=before, inside=inside, other=other)).text
    sent = "self.sess.run(hvd.broadcast_global_variables(root_rank=0))\n"
    assert (f"\n            {sent}" in text) is opened
    assert (f"\n        {sent}" in text) is not opened


LEFT_EARLY = """
class Net:
    def __init__(self, sess, training):
        self.sess = sess
        self.sess.run(tf.global_variables_initializer())
        {leave}
        saver.restore(sess, 'net')
    def fit(self):
        for i in range(500):
            self.sess.run(train, {{x: draw()}})
saver = tf.train.Saver()
sess = tf.Session()
net = Net(sess, choice)
{run}
"""


@pytest.mark.parametrize(
    "leave",
    [
        "if training:\n            return",
        "if not training:\n            pass\n        else:\n            return None",
    ],
)
def test_where_a_function_is_left_between_what_initialises_and_what_restores_both_are_sent(
    leave: str,
) -> None:
    """`if training: return` before a restore: ranks that train never came to the broadcast behind it."""
    found = plan_of(BUILT + LEFT_EARLY.format(leave=leave, run="net.fit()")).text
    assert f"self.{INIT}        self.{SENT}" in found
    assert f"saver.restore(sess, 'net')\n        {SENT}" in found


@pytest.mark.parametrize(
    "leave", ["if not training:\n            raise SystemExit", "def name():\n            return 'net'"]
)
def test_what_is_not_left_on_the_way_to_training_is_sent_once(leave: str) -> None:
    found = plan_of(BUILT + LEFT_EARLY.format(leave=leave, run="net.fit()")).text
    assert found.count("broadcast_global_variables") == 1


def test_a_function_that_is_left_without_training_is_sent_once() -> None:
    """`if nothing is found: return` before the restore, and the training after it in the same function."""
    found = plan_of(
        LOSS
        + "train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        + "def main(sess):\n"
        + "    sess.run(tf.global_variables_initializer())\n"
        + "    if missing():\n        return\n"
        + "    tf.train.Saver().restore(sess, 'net')\n"
        + "    for i in range(500):\n        sess.run(train, {x: draw()})\n"
        + "sess = tf.Session()\nmain(sess)\n"
    ).text
    assert found.count("broadcast_global_variables") == 1


def test_a_second_default_session_gets_variables_of_its_own() -> None:
    """After the first `with` there is no default session: rank 0's variables are sent where each initialises its own."""
    graph = (
        "graph = tf.Graph()\nwith graph.as_default():\n    x = tf.placeholder(tf.float32, [None])\n    w = tf.Variable(0.0)\n"
        "    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.square(x * w - 1.0)))\n"
        "with tf.Session(graph=graph) as sess:\n    tf.global_variables_initializer().run()\n"
        "    for i in range(100):\n        sess.run(train, {x: rows[i * 8:(i + 1) * 8]})\n"
    )
    text = plan_of(
        f"import numpy as np\nimport tensorflow.compat.v1 as tf\nrows = np.load('rows.npy')\n{graph}{graph}"
    ).text
    assert text.count("    hvd.broadcast_global_variables(root_rank=0).run()\n") == 2
    assert "\nhvd.broadcast_global_variables" not in text


TWICE = """\
import tensorflow as tf
class Model:
    def __init__(self, units):
        self.loss = tf.reduce_mean(tf.layers.dense(tf.random_normal([8, 3]), units))
        self.train = tf.train.AdamOptimizer(0.1).minimize(self.loss)
def fit(session, model):
    for i in range(500):
        session.run(model.train)
"""


def test_a_function_trains_each_session_that_is_opened_where_it_was_initialised() -> None:
    part = (
        "with tf.Session() as sess:\n    model = Model({})\n    sess.run(tf.global_variables_initializer())\n"
        "    fit(sess, model)\n"
    )
    after = text(TWICE + part.format(4) + "tf.reset_default_graph()\n" + part.format(8))
    ready = "    sess.run(tf.global_variables_initializer())\n"
    assert after.count(f"{ready}    {SENT}    fit(sess, model)\n") == 2
    assert after.count("broadcast_global_variables") == 2


def test_a_function_trains_each_default_session_where_it_was_initialised() -> None:
    function = "def fit(model):\n    for i in range(500):\n        model.train.run()\n"
    part = "with tf.Session():\n    model = Model({})\n    tf.global_variables_initializer().run()\n    fit(model)\n"
    program = (
        TWICE[: TWICE.index("def fit")]
        + function
        + part.format(4)
        + "tf.reset_default_graph()\n"
        + part.format(8)
    )
    lines = [line for line in text(program).splitlines() if "broadcast_global_variables" in line]
    assert lines == ["    hvd.broadcast_global_variables(root_rank=0).run()"] * 2


def test_a_session_that_is_opened_again_is_sent_where_it_is_initialised() -> None:
    part = (
        "sess = tf.Session()\nsess.run(tf.global_variables_initializer())\nfit(sess, model)\nsess.close()\n"
    )
    after = text(TWICE + "model = Model(4)\n" + part + part)
    assert after.count(f"sess.run(tf.global_variables_initializer())\n{SENT}fit(sess, model)\n") == 2
    assert after.count("broadcast_global_variables") == 2


def test_a_session_that_two_calls_are_handed_is_sent_before_the_first() -> None:
    begin = "model = Model(4)\nsess = tf.Session()\nsess.run(tf.global_variables_initializer())\n"
    after = text(TWICE + begin + "fit(sess, model)\nfit(sess, model)\n")
    assert begin + SENT + "fit(sess, model)\n" in after
    assert after.count("broadcast_global_variables") == 1


def test_a_session_chosen_of_two_is_sent_wherever_it_may_be_trained() -> None:
    begin = "model = Model(4)\none, two = tf.Session(), tf.Session()\none.run(tf.global_variables_initializer())\n"
    after = text(TWICE + begin + "sess = one if choice else two\nfit(sess, model)\n")
    assert "one.run(hvd.broadcast_global_variables(root_rank=0))\n" in after


SELDOM = """\
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
w = tf.Variable(tf.zeros([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
again = tf.variables_initializer([w])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1000):
        value, _ = sess.run([loss, train], {x: draw()})
        if TEST:
            sess.run(again)
"""


def test_what_all_ranks_seldom_begin_again_is_sent_there() -> None:
    text = plan_of(SELDOM.replace("TEST", "step % 300 == 299")).text
    assert (
        "            sess.run(again)\n            sess.run(hvd.broadcast_global_variables(root_rank=0))\n"
        in text
    )
    own = plan_of(SELDOM.replace("TEST", "value > 9")).text  # one rank alone may come there
    assert (
        "            sess.run(again)\n        sess.run(hvd.broadcast_global_variables(root_rank=0))\n" in own
    )
