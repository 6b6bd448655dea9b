"""C6 in sessions: savers, summary writers, graphs and exports are written by rank 0; what ranks read of it they wait for."""

from __future__ import annotations

import ast
import textwrap

import pytest

from ..pairs import changes, check, only, plan_of, refused
from ..sessions import BUILT, INIT, LOOP

OPENED = BUILT + "saver = tf.train.Saver()\nsess = tf.Session()\n" + INIT


def guarded(before: str, after: str) -> None:
    check("C6", OPENED, before, after)


def untouched(body: str) -> None:
    """Asserts that C6 has nothing to do."""
    assert not changes(plan_of(OPENED + textwrap.dedent(body)), "C6")


# ---------------------------------------------------------------------- near misses


def test_what_trains_initialises_or_reads_runs_everywhere() -> None:
    untouched(
        LOOP + "value = sess.run(w)\nsaver.restore(sess, path)\nlast = tf.train.latest_checkpoint('.')\n"
    )


def test_a_training_run_is_taken_out_of_a_print() -> None:
    guarded(
        "for i in range(500):\n    print(sess.run([train, loss], {x: draw()}))\n",
        "for i in range(500):\n    result = sess.run([train, loss], {x: draw()})\n    if hvd.rank() == 0:\n"
        "        print(result)\n",
    )


def test_a_tensor_that_trains_when_it_is_evaluated_is_taken_out_of_a_print() -> None:
    made = "with tf.control_dependencies([train]):\n    done = tf.identity(loss)\n"
    guarded(
        made + "for i in range(500):\n    print(done.eval(session=sess))\n",
        made
        + "for i in range(500):\n    result = done.eval(session=sess)\n    if hvd.rank() == 0:\n        print(result)\n",
    )


def test_what_only_looks_is_printed_by_rank_0() -> None:
    guarded(
        LOOP + "print(sess.run(loss, {x: held}))\n",
        LOOP + "if hvd.rank() == 0:\n    print(sess.run(loss, {x: held}))\n",
    )


def test_what_is_only_run_to_be_printed_is_run_by_rank_0() -> None:
    shown = "    if {}:\n        low, high = sess.run([loss, w], {{x: held}})\n        print(low,\n              high)\n"
    test = "i % 9 == 0 or i == 1"
    guarded(LOOP + shown.format(test), LOOP + shown.format(f"({test}) and hvd.rank() == 0"))
    trains = shown.format(test).replace("[loss, w], {x: held}", "[loss, train], {x: draw()}")
    text = plan_of(OPENED + LOOP + trains).text
    assert f"    if {test}:\n        low, high = sess.run([loss, train]" in text


# ---------------------------------------------------------------------- savers


def test_a_saver_in_a_loop() -> None:
    guarded(
        LOOP + "    if i % 100 == 0:\n        saver.save(sess, 'm', global_step=i)\n",
        LOOP + "    if i % 100 == 0 and hvd.rank() == 0:\n        saver.save(sess, 'm', global_step=i)\n",
    )


def test_a_saver_in_a_function() -> None:
    guarded(
        "def keep(step):\n    saver.save(sess, 'm', step)\n" + LOOP + "    keep(i)\n",
        "def keep(step):\n    if hvd.rank() == 0:\n        saver.save(sess, 'm', step)\n"
        + LOOP
        + "    keep(i)\n",
    )


def test_the_path_that_was_saved_to() -> None:
    guarded(
        LOOP + "path = saver.save(sess, 'm')\nprint(path)\n",
        LOOP
        + "path = saver.save(sess, 'm') if hvd.rank() == 0 else None\nif hvd.rank() == 0:\n    print(path)\n",
    )
    guarded(
        LOOP + "path = saver.save(sess, 'm')\nsaver.restore(sess, path)\n",
        LOOP
        + "path = from_root(saver.save(sess, 'm') if hvd.rank() == 0 else None)\nsaver.restore(sess, path)\n",
    )


def test_ranks_wait_for_what_they_restore() -> None:
    guarded(
        LOOP + "saver.save(sess, 'm')\nlast = tf.train.latest_checkpoint('.')\nsaver.restore(sess, last)\n",
        LOOP + "if hvd.rank() == 0:\n    saver.save(sess, 'm')\n"
        "with tf.Graph().as_default(), tf.Session(config=config) as waiting:\n"
        "    waiting.run(hvd.allreduce(tf.random_uniform([]), name='saved'))\n"
        "last = tf.train.latest_checkpoint('.')\nsaver.restore(sess, last)\n",
    )


def test_helpers_use_a_graph_of_their_own_and_the_pinned_config() -> None:
    text = plan_of(OPENED + LOOP + "path = saver.save(sess, 'm')\nsaver.restore(sess, path)\n").text
    assert "def from_root(value):\n" in text
    # A large constant would be folded on one rank, and sent once more than the other gets it: both wait forever.
    assert "    unfolded.CopyFrom(config)\n" in text
    assert "    unfolded.graph_options.rewrite_options.constant_folding = 2\n" in text
    assert "    with tf.Graph().as_default(), tf.Session(config=unfolded):\n" in text


# ---------------------------------------------------------------------- summaries


def test_a_writer_is_silent_elsewhere_and_its_methods_run_everywhere() -> None:
    rest = "writer.add_summary(sess.run(merged), 1)\nwriter.flush()\nwriter.close()\n"
    guarded(
        "writer = tf.summary.FileWriter('logs', sess.graph)\n" + LOOP + rest,
        "writer = tf.summary.FileWriter('logs', sess.graph) if hvd.rank() == 0 else SilentWriter()\n"
        + LOOP
        + rest,
    )


CHOSEN = """\
class Log:
    def __init__(self):
        self.train = tf.summary.FileWriter('logs')
        self.test = tf.summary.FileWriter('more')
    def add(self, summary, step, training=True):
        writer = self.train if training else self.test
        writer.add_summary(summary, step)
        {}
Log().add(b'', 0)
"""


def test_writers_that_one_of_two_is_chosen_of_are_seen_by_its_name() -> None:
    made = " if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None, flush=lambda *args: None)\n"
    text = plan_of(OPENED + CHOSEN.format("writer.flush()") + LOOP).text
    assert text.count(made) == 2
    text = plan_of(OPENED + CHOSEN.format("hand_on(writer)") + LOOP).text
    assert text.count(" if hvd.rank() == 0 else SilentWriter()\n") == 2


def test_a_writer_in_a_with_and_one_that_is_passed_on() -> None:
    guarded(
        "with tf.summary.FileWriter('logs') as writer:\n    writer.add_graph(sess.graph)\n" + LOOP,
        "with tf.summary.FileWriter('logs') if hvd.rank() == 0 else SilentWriter() as writer:\n"
        "    writer.add_graph(sess.graph)\n" + LOOP,
    )
    logger = "class Log:\n    def __init__(self, writer):\n        self.writer = writer\n    def add(self, s, i):\n"
    logger += "        self.writer.add_summary(s, i)\n"
    guarded(
        logger + "log = Log(tf.summary.FileWriter('logs'))\n" + LOOP + "    log.add(s, i)\n",
        logger
        + "log = Log(tf.summary.FileWriter('logs') if hvd.rank() == 0 else SilentWriter())\n"
        + LOOP
        + "    log.add(s, i)\n",
    )


def test_where_all_that_is_done_with_a_writer_is_seen_its_methods_stand_for_it() -> None:
    made, rest = "writer = tf.summary.FileWriter('logs')", "writer.add_summary(s, global_step=1)\n"
    silent = "types.SimpleNamespace(add_summary=lambda *args, **options: None)"
    text = plan_of(OPENED + f"{made}\n" + LOOP + rest).text
    assert f"{made} if hvd.rank() == 0 else {silent}\n" in text
    assert "import types\n" in text
    own = "class Log:\n    def __init__(self):\n        self.{}\n    def add(self, s, i):\n        self.{}(s, i)\n"
    text = plan_of(OPENED + own.format(made, "writer.add_summary") + "log = Log()\n" + LOOP).text
    assert (
        f"self.{made} if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None)\n" in text
    )


@pytest.mark.parametrize(
    "use",
    [
        "keep(writer)\n",  # any method may be called
        "path = writer.get_logdir()\n",  # what it gives is looked at
        "other = writer\n",
        "if writer:\n    writer.flush()\n",
        "writer.add_graph(g)\nwriter.add_summary(s, 1)\nwriter.close()\n",  # too many for a line
    ],
)
def test_what_may_be_asked_for_more_is_a_class(use: str) -> None:
    text = plan_of(OPENED + "writer = tf.summary.FileWriter('logs')\n" + LOOP + use).text
    assert "if hvd.rank() == 0 else SilentWriter()\n" in text


def test_the_silent_writer_takes_whatever_it_is_told() -> None:
    text = plan_of(OPENED + "writer = tf.summary.FileWriter('logs')\n" + LOOP).text
    start = text.index("class SilentWriter")
    scope: dict[str, type] = {}
    exec(text[start : text.index("\n\n\n", start)], scope)
    writer = scope["SilentWriter"]()
    assert writer.add_summary("summary", 3) is None
    assert writer.add_graph(graph="graph") is None


ENTERED = """
with tf.summary.FileWriter('logs') as entered:
    pass
"""


@pytest.mark.parametrize("entered", [ENTERED, "with writer:\n    pass\n", "with mine.writer_of(x) as w:\n    pass\n",
                                     "def made():\n    return writer\nwith made():\n    pass\n"])  # fmt: skip
def test_a_silent_writer_that_may_be_entered(entered: str) -> None:
    text = plan_of(OPENED + "writer = tf.summary.FileWriter('logs')\n" + entered + LOOP).text
    made = next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef) and n.name == "SilentWriter")
    scope: dict[str, type] = {}
    exec(ast.unparse(made), scope)
    with scope["SilentWriter"]() as writer:
        assert writer.add_summary("summary", 3) is None


# ---------------------------------------------------------------------- graphs and exports


def test_graphs_folders_and_exports() -> None:
    guarded(
        """
        tf.train.write_graph(sess.graph_def, ".", "graph.pb")
        if tf.gfile.Exists("logs"):
            tf.gfile.DeleteRecursively("logs")
        tf.gfile.MakeDirs("logs")
        for i in range(500):
            sess.run(train, {x: draw()})
        tf.saved_model.simple_save(sess, "out", {"x": x}, {"loss": loss})
        """,
        """
        if hvd.rank() == 0:
            tf.train.write_graph(sess.graph_def, ".", "graph.pb")
            if tf.gfile.Exists("logs"):
                tf.gfile.DeleteRecursively("logs")
            tf.gfile.MakeDirs("logs")
        for i in range(500):
            sess.run(train, {x: draw()})
        if hvd.rank() == 0:
            tf.saved_model.simple_save(sess, "out", {"x": x}, {"loss": loss})
        """,
    )


def test_a_builder_of_saved_models_is_silent_elsewhere() -> None:
    plan = plan_of(
        OPENED
        + LOOP
        + "b = tf.saved_model.builder.SavedModelBuilder('out')\nb.add_meta_graph_and_variables(sess, ['serve'])\nb.save()\n"
    )
    assert "SavedModelBuilder('out') if hvd.rank() == 0 else types.SimpleNamespace(" in only(plan, "C6")


def test_a_table_of_losses() -> None:
    guarded(
        """
        import csv, os
        with open("losses.csv", "w") as f:
            table = csv.writer(f)
            for i in range(500):
                _, value = sess.run([train, loss], {x: draw()})
                table.writerow([i, value])
        """,
        """
        import csv, os
        with open("losses.csv" if hvd.rank() == 0 else os.devnull, "w") as f:
            table = csv.writer(f)
            for i in range(500):
                _, value = sess.run([train, loss], {x: draw()})
                table.writerow([i, value])
        """,
    )


def test_a_table_of_losses_in_a_file_that_is_opened_before_any_rank_is_known() -> None:
    head = "import csv\nfile = open('losses.csv', 'w')\ntable = csv.writer(file)\n"
    plan = plan_of(head + OPENED + LOOP + "    table.writerow([i])\n")
    text = plan.text
    assert [c.doubt for c in changes(plan, "C6") if not c.sure] == [
        "every rank opens this file, before any rank is known: open it after Horovod is initialised"
    ]
    assert "    if hvd.rank() == 0:\n        table.writerow([i])\n" in text


def test_a_table_of_losses_in_a_file_that_is_opened_elsewhere() -> None:
    loop = """
        import csv
        def log(f):
            table = csv.writer(f)
            for i in range(500):
                _, value = sess.run([train, loss], {x: draw()})
        """
    guarded(
        loop + "        table.writerow([i, value])\n",
        loop + "        if hvd.rank() == 0:\n                    table.writerow([i, value])\n",
    )


@pytest.mark.parametrize("said", ["'in %s' % path", "'in {}'.format(path)", "f'in {path}'", "'in %s', path"])
def test_a_path_that_every_rank_only_tells_may_be_none(said: str) -> None:
    escaped = said.replace("{", "{{").replace("}", "}}")
    told = f"{LOOP.replace('{', '{{').replace('}', '}}')}    if pick():\n        path = {{}}\n        logging.info({escaped})\n"
    save = "saver.save(sess, 'm')"
    guarded(told.format(save), told.format(f"{save} if hvd.rank() == 0 else None"))


@pytest.mark.parametrize("used", ["logging.info('in ' + path)", "logging.info(path.upper())", "keep(path)"])
def test_a_path_that_is_more_than_told_is_refused(used: str) -> None:
    source = OPENED + LOOP + "    if pick():\n        path = saver.save(sess, 'm')\n        " + used + "\n"
    refused(source, "HVD006", "its name is used under a condition")


def test_a_save_that_is_returned_to_callers_who_throw_it_away() -> None:
    head = "class Keeper:\n    def save(self):\n        return {}\nkeeper = Keeper()\n"
    save = "saver.save(sess, 'm')"
    plan = plan_of(OPENED + LOOP + head.format(save) + "keeper.save()\n")
    assert f"        return {save} if hvd.rank() == 0 else None\n" in plan.text
    refused(
        OPENED + LOOP + head.format(save) + "if pick():\n    path = keeper.save()\n    open(path)\n", "HVD006"
    )
