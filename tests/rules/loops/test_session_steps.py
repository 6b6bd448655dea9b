"""S5: the steps of a session's loop are divided, every rank gets batches of its own, and ranks leave loops together."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import changes, check, doubts, only, plan_of, refused
from ..sessions import BUILT, INIT, LOOP, LOSS, RUN

OPENED = BUILT + "sess = tf.Session()\n" + INIT

OWN = "for _ in range(hvd.size())][hvd.rank()]"


def divided(before: str, after: str, head: str = OPENED) -> None:
    check(("S5", "D1"), head, before, after)


def unchanged(body: str, head: str = OPENED) -> list[str]:
    """Asserts that nothing of a program is divided. Returns what is said of it."""
    body = textwrap.dedent(body).lstrip("\n")
    plan = plan_of(head + body)
    assert only(plan, "S5", "D1", "D2").endswith(INIT + body)
    return [n.message for n in plan.notes]


# ---------------------------------------------------------------------- near misses


def test_a_loop_over_epochs_is_not_divided() -> None:
    divided(
        """
        for epoch in range(100):
            for i in range(500):
                sess.run(train, {x: draw()})
        """,
        """
        for epoch in range(100):
            for i in range(500 // hvd.size()):
                sess.run(train, {x: draw()})
        """,
    )


def test_a_loop_that_only_evaluates_is_not_divided() -> None:
    plan = plan_of(BUILT + RUN + "for i in range(100):\n    print(sess.run(loss, {x: rows[i:i + 1]}))\n")
    assert "for i in range(100):\n" in plan.text


def test_batches_that_are_evaluated_stay_whole() -> None:
    plan = plan_of(BUILT + RUN + "print(sess.run(loss, {x: mnist.test.next_batch(64)}))\n")
    assert "mnist.test.next_batch(64)" in plan.text
    inside = (
        LOOP + "    if i % 100 == 0:\n        print(sess.run(loss, {x: data.validation.next_batch(64)}))\n"
    )
    assert "data.validation.next_batch(64)" in plan_of(OPENED + inside).text


def test_the_loop_over_the_nets_of_one_step_is_no_loop_over_data() -> None:
    head = LOSS + (
        "class Net:\n    def __init__(self):\n        self.train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        "nets = [Net(), Net()]\nsess = tf.Session()\n" + INIT
    )
    divided(
        """
        for i in range(500):
            for net, history in zip(nets, histories):
                history.append(sess.run([net.train, loss], {x: draw()}))
        """,
        """
        for i in range(500 // hvd.size()):
            for net, history in zip(nets, histories):
                history.append(sess.run([net.train, loss], {x: draw()}))
        """,
        head,
    )


def test_a_step_that_goes_on_from_the_state_of_the_one_before_is_not_divided() -> None:
    notes = unchanged(
        """
        state = zeros
        for b in range(500):
            _, state = sess.run([train, last], {x: rows[b], start: state})
        """
    )
    assert any("goes on from the state" in note for note in notes)


@pytest.mark.parametrize("put", ["feed[start] = state", "feed.update({start: state})"])
def test_a_state_that_is_put_into_the_feed_later(put: str) -> None:
    notes = unchanged(
        f"""
        state = zeros
        for b in range(500):
            feed = {{x: rows[b]}}
            {put}
            _, state = sess.run([train, last], feed)
        """
    )
    assert any("goes on from the state" in note for note in notes)


def test_what_is_learned_from_a_game_is_not_divided() -> None:
    plan = plan_of(
        OPENED
        + textwrap.dedent(
            """
            for episode in range(500):
                state = env.reset()
                while True:
                    state, reward, done, _ = env.step(pick(state))
                    sess.run(train, {x: state})
                    if done:
                        break
            """
        )
    )
    assert "for episode in range(500):\n" in plan.text
    assert "        if any_rank(done):\n" in plan.text
    assert doubts(plan, "S5")


def test_queues_are_not_divided_and_it_is_said() -> None:
    plan = plan_of(BUILT + "rows = tf.train.shuffle_batch([row], 64, 1000, 100)\n" + RUN)
    assert any("this queue is not divided" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "queue",
    [
        "tf.train.batch(tf.train.slice_input_producer([xs], shuffle=False), 64)",
        "tf.train.batch([row], 64)",
        "tf.train.shuffle_batch([row], 64, 1000, 100, seed=args.seed)",
        "tf.train.batch(tf.train.slice_input_producer([xs], shuffle=False, seed=3), 64)",
        "tf.train.batch([read(tf.train.string_input_producer(['one.tfrecord']))], 64)",
    ],
)
def test_queues_that_give_all_ranks_the_same_rows_are_asked_about(queue: str) -> None:
    plan = plan_of(BUILT + f"rows = {queue}\n" + RUN)
    assert sum("the same rows here in the same order" in d for d in doubts(plan, "S5")) == 1


@pytest.mark.parametrize(
    "queue",
    [
        "tf.train.batch(tf.train.slice_input_producer([xs]), 64)",
        "tf.train.shuffle_batch(tf.train.slice_input_producer([xs], shuffle=False), 64, 1000, 100)",
        "tf.train.batch([read(tf.train.string_input_producer(files))], 64)",
    ],
)
def test_queues_that_draw_their_order_are_not(queue: str) -> None:
    plan = plan_of(BUILT + f"rows = {queue}\n" + RUN)
    assert not any("the same rows here" in d for d in doubts(plan, "S5"))
    assert any("this queue is not divided" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    ("queue", "after"),
    [
        ("tf.train.batch(tf.train.slice_input_producer([xs]), 64)", "7 + hvd.rank()"),
        ("tf.train.shuffle_batch([row], 64, 1000, 100)", "7 + hvd.rank()"),
        ("tf.train.batch(tf.train.slice_input_producer([xs], shuffle=False), 64)", "7"),
    ],
)
def test_queues_that_draw_their_order_by_the_seed_of_the_graph_get_one_of_each_rank(
    queue: str, after: str
) -> None:
    plan = plan_of(BUILT + f"tf.set_random_seed(7)\nrows = {queue}\n" + RUN)
    assert f"tf.set_random_seed({after})\n" in plan.text


@pytest.mark.parametrize(
    ("queue", "after"),
    [
        ("tf.train.shuffle_batch([row], 64, 1000, 100, seed=3)", "seed=3 + hvd.rank()"),
        ("tf.train.shuffle_batch([row], 64, 1000, 100, 1, 0)", "1, hvd.rank()"),
        ("tf.train.batch(tf.train.slice_input_producer([xs], shuffle=True, seed=0), 64)", "seed=hvd.rank()"),
        ("tf.train.shuffle_batch([read(tf.train.string_input_producer(files, seed=SEED))], 9, 99, 9)",
         "seed=SEED + hvd.rank()"),
    ],
)  # fmt: skip
def test_queues_that_draw_their_order_by_a_number_get_one_of_each_rank(queue: str, after: str) -> None:
    plan = plan_of(BUILT + f"SEED = 4\nrows = {queue}\n" + RUN)
    assert after in plan.text
    assert not doubts(plan, "S5")


def test_seeds_of_queues_that_only_measure_stay() -> None:
    queue = "tf.train.shuffle_batch([row], 64, 1000, 100, seed=3)"
    source = f"""\
import tensorflow.compat.v1 as tf
held, rows = {queue}, {queue}
loss = tf.reduce_mean(tf.layers.dense(rows, 1, name='net') ** 2)
measured = tf.reduce_mean(tf.layers.dense(held, 1, name='net', reuse=True) ** 2)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3000):
        sess.run(train)
    print(sess.run(measured))
"""
    text = plan_of(source).text
    assert (
        "held, rows = "
        + f"{queue}, {queue}".replace("=3)", "=3 + hvd.rank())").replace(" + hvd.rank()", "", 1)
        in text
    )


@pytest.mark.parametrize("shuffle", ["", ", shuffle=False"])
def test_a_number_that_a_step_is_fed_beside_a_queue_is_no_row(shuffle: str) -> None:
    source = f"""\
import tensorflow.compat.v1 as tf
rows = tf.train.batch(tf.train.slice_input_producer([xs]{shuffle}), 64)
turn = tf.placeholder(tf.float32, [])
loss = tf.reduce_mean(tf.layers.dense(rows, 1) ** 2)
train = tf.train.GradientDescentOptimizer(0.1 * (1 - turn / 3000) ** 0.9).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3000):
        sess.run(train, {{turn: i}})
"""
    plan = plan_of(source)
    assert "sess.run(train, {turn: i * hvd.size()})" in plan.text
    assert not doubts(plan, "C5")
    assert len(doubts(plan, "S5")) == bool(shuffle)


def test_a_dataset_from_another_file_is_not_divided_and_it_is_said() -> None:
    plan = plan_of(BUILT + "import mine\nrows = mine.dataset().make_one_shot_iterator().get_next()\n" + RUN)
    assert any("this dataset is made in another file" in n.message for n in plan.notes)


def test_where_no_run_of_the_train_op_is_seen_it_is_said() -> None:
    plan = plan_of(
        BUILT
        + "import mine\nsess = tf.Session()\n"
        + INIT
        + "for i in range(500):\n    mine.step(sess, train)\n"
    )
    assert any("which session runs this can't be seen" in n.message for n in plan.notes)
    assert not any("which session" in n.message for n in plan_of(BUILT + RUN).notes)


# ---------------------------------------------------------------------- counted steps


def test_counted_steps() -> None:
    divided(LOOP, LOOP.replace("500", "500 // hvd.size()"))


def test_steps_that_are_counted_from_1_keep_being_counted_one_by_one() -> None:
    divided(
        "for step in range(1, n + 1):\n    sess.run(train, {x: draw()})\n",
        "for step in range(1, max(1, n // hvd.size()) + 1):\n    sess.run(train, {x: draw()})\n",
    )


def test_a_while_with_a_counter() -> None:
    divided(
        "step = 0\nwhile step < 1000:\n    sess.run(train, {x: draw()})\n    step += 1\n",
        "step = 0\nwhile step < 1000 // hvd.size():\n    sess.run(train, {x: draw()})\n    step += 1\n",
    )


@pytest.mark.parametrize(
    ("made", "step"),
    [
        ("step = sess.make_callable([train, loss], [x])\n", "step(draw())"),
        ("def run(ops, feed):\n    return sess.run(ops, feed)\n", "run([train, loss], {x: draw()})"),
        ("def step():\n    sess.run(train, {x: draw()})\n", "step()"),
        ("with tf.control_dependencies([train]):\n    done = tf.identity(loss)\n", "done.eval(session=sess)"),
    ],
)
def test_steps_by_another_name(made: str, step: str) -> None:
    loop = f"for i in range(500):\n    {step}\n"
    divided(loop, loop.replace("500", "500 // hvd.size()"), OPENED + made)


def test_an_average_over_the_steps_stays_one() -> None:
    divided(
        """
        total = int(n / 64)
        for epoch in range(100):
            cost = 0.0
            for i in range(total):
                _, c = sess.run([train, loss], {x: draw()})
                cost += c / total
            print(cost)
        """,
        """
        total = max(1, int(n / 64) // hvd.size())
        for epoch in range(100):
            cost = 0.0
            for i in range(total):
                _, c = sess.run([train, loss], {x: draw()})
                cost += c / total
            print(cost)
        """,
    )


# ---------------------------------------------------------------------- batches of a rank's own


def test_dealt_batches_are_each_ranks_own() -> None:
    divided(
        """
        for i in range(500):
            images, labels = mnist.train.next_batch(64)
            sess.run(train, {x: images})
        """,
        """
        for i in range(500 // hvd.size()):
            images, labels = [mnist.train.next_batch(64) for _ in range(hvd.size())][hvd.rank()]
            sess.run(train, {x: images})
        """,
    )


def test_a_dealer_without_arguments_and_one_whose_call_is_broken_into_lines() -> None:
    divided(
        "for i in range(500):\n    rows = next_batch()\n    sess.run(train, {x: rows})\n",
        f"for i in range(500 // hvd.size()):\n    rows = [next_batch() {OWN}\n    sess.run(train, {{x: rows}})\n",
        OPENED + "from mine import next_batch\n",
    )
    divided(
        "for i in range(500):\n    rows = data.next_batch(\n        64)\n    sess.run(train, {x: rows})\n",
        f"for i in range(500 // hvd.size()):\n    rows = [data.next_batch(\n        64) {OWN}\n"
        "    sess.run(train, {x: rows})\n",
    )


def test_slices_by_their_start() -> None:
    divided(
        "for i in range(0, len(rows), 64):\n    sess.run(train, {x: rows[i:i + 64]})\n",
        "for i in shard(range(0, len(rows), 64)):\n    sess.run(train, {x: rows[i:i + 64]})\n",
    )


@pytest.mark.parametrize(
    "batches", ["zip(rows, labels)", "np.array_split(rows, 40)", "zip(range(0, 90, 9), range(9, 99, 9))"]
)
def test_loops_over_batches(batches: str) -> None:
    loop = f"for a in {batches}:\n    sess.run(train, {{x: a}})\n"
    divided(loop, loop.replace(batches, f"shard_batches({batches})"), OPENED + "import numpy as np\n")


def test_a_generator_of_the_file() -> None:
    made = "def batches():\n    for i in range(0, 640, 64):\n        yield rows[i:i + 64]\n"
    divided(
        made + "for b in batches():\n    sess.run(train, {x: b})\n",
        made.replace("range(0, 640, 64)", "shard(range(0, 640, 64))")
        + "for b in batches():\n    sess.run(train, {x: b})\n",
        OPENED,
    )


@pytest.mark.parametrize(
    "beside",
    [
        "    if (i + 1) % 100 == 0:\n        saver.save(sess, 'm', global_step=i)\n",
        "    if i % 5 == 0:\n        sess.run(other)\n",
    ],
)
def test_what_happens_every_few_batches_happens_on_all_ranks_at_once(beside: str) -> None:
    before = "for i in range(n):\n    sess.run(train, {x: rows[i * 64:(i + 1) * 64]})\n"
    after = "for i, own_i in rounds(range(n)):\n    sess.run(train, {x: rows[own_i * 64:(own_i + 1) * 64]})\n"
    head = (
        LOSS
        + "train = tf.train.AdamOptimizer(0.1).minimize(loss)\nother = tf.train.AdamOptimizer(0.1).minimize(-loss)\n"
    )
    head += "saver = tf.train.Saver()\nsess = tf.Session()\n" + INIT
    divided(before + beside, after + beside, head)


# ---------------------------------------------------------------------- datasets


DATASET = BUILT + "data = tf.data.Dataset.from_tensor_slices(rows).shuffle(100).batch(5)\n"
SHARED = DATASET.replace(
    "tf.data.Dataset.from_tensor_slices(rows)", "shard_records(tf.data.Dataset.from_tensor_slices(rows))"
)


@pytest.mark.parametrize(
    "iterator",
    [
        "it = data.make_one_shot_iterator()",
        "it = data.make_initializable_iterator()",
        "it = tf.data.make_initializable_iterator(data)",
        "it = tf.data.Iterator.from_structure(data.output_types)\nstart = it.make_initializer(data)",
    ],
)
def test_a_dataset_behind_an_iterator_is_divided_and_its_loop_ends_with_it(iterator: str) -> None:
    rest = "row = it.get_next()\nsess = tf.Session()\n" + INIT
    loop = "while True:\n    try:\n        sess.run(train)\n    except tf.errors.OutOfRangeError:\n        break\n"
    before = DATASET[len(BUILT) :] + f"{iterator}\n{rest}{loop}"
    divided(before, SHARED[len(BUILT) :] + f"{iterator}\n{rest}{loop}", BUILT)


def test_a_dataset_that_only_evaluates_stays_whole() -> None:
    plan = plan_of(
        DATASET
        + "val_data = tf.data.Dataset.from_tensor_slices(held).batch(5)\nit = data.make_one_shot_iterator()\n"
        + "val_it = val_data.make_one_shot_iterator()\n"
        + RUN
    )
    assert "val_data = tf.data.Dataset.from_tensor_slices(held).batch(5)\n" in plan.text
    assert "data = shard_records(" in plan.text


ENDLESS = (
    LOSS
    + "data = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(5)\nit = data.make_one_shot_iterator()\n"
    + "count = tf.train.get_or_create_global_step()\nrate = tf.train.exponential_decay(0.1, count, 100, 0.5)\n"
    + "train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=count)\nsess = tf.Session()\n"
    + INIT
)


@pytest.mark.parametrize(
    ("loop", "divided"),
    [
        (
            "while True:\n    _, step = sess.run([train, count])\n    if step >= 120:\n        break\n",
            "if step >= 120 // hvd.size():",
        ),
        (
            "while True:\n    sess.run(train)\n    if sess.run(count) >= 120:\n        break\n",
            "if sess.run(count) >= 120 // hvd.size():",
        ),
        (
            "step = sess.run(count)\nwhile step < 120:\n    _, value, step = sess.run([train, loss, count])\n",
            "while step < 120 // hvd.size():",
        ),
        (
            "stop = tf.train.Coordinator()\nwhile not stop.should_stop():\n    _, step = sess.run([train, count])\n"
            "    if step >= 120:\n        print(step)\n        stop.request_stop()\n",
            "if step >= 120 // hvd.size():",
        ),
        ("while sess.run(count) < 120:\n    sess.run(train)\n", "while sess.run(count) < 120 // hvd.size():"),
        (
            "while count.eval(sess) < 120:\n    sess.run(train)\n",
            "while count.eval(sess) < 120 // hvd.size():",
        ),
    ],
)
def test_a_dataset_that_never_ends_is_left_after_a_share_of_the_steps(loop: str, divided: str) -> None:
    plan = plan_of(ENDLESS + loop)
    assert divided in plan.text
    assert "exponential_decay(0.1 * hvd.size(), count, 100 / hvd.size(), 0.5)" in plan.text
    assert not plan.notes


@pytest.mark.parametrize("stops", ["other.request_stop()", "print(step)"])
def test_what_stops_something_else_is_no_end(stops: str) -> None:
    loop = (
        "while not stop.should_stop():\n    _, step = sess.run([train, count])\n    if step >= 120:\n        "
    )
    plan = plan_of(
        ENDLESS + "stop = tf.train.Coordinator()\nother = tf.train.Coordinator()\n" + loop + stops + "\n"
    )
    assert any("as many as before, on size() batches each" in c.doubt for c in plan.changes)


def test_a_dataset_that_is_divided_and_a_loop_that_ends_by_its_loss_is_asked_about() -> None:
    """The rate grows, since ranks see other rows; so does what is counted in steps."""
    plan = plan_of(ENDLESS + "value = 1.0\nwhile value > 0.1:\n    _, value = sess.run([train, loss])\n")
    assert "exponential_decay(0.1 * hvd.size(), count, 100 / hvd.size(), 0.5)" in plan.text
    assert any("as many as before, on size() batches each" in c.doubt for c in plan.changes)


# ---------------------------------------------------------------------- leaving together


def test_a_loop_that_ends_with_a_loss_is_left_by_all() -> None:
    divided(
        """
        for i in range(500):
            _, value = sess.run([train, loss], {x: draw()})
            if value < 0.1:
                break
        """,
        """
        for i in range(500 // hvd.size()):
            _, value = sess.run([train, loss], {x: draw()})
            if any_rank(value < 0.1):
                break
        """,
    )


def test_patience_goes_by_the_mean_of_what_ranks_measure() -> None:
    plan = plan_of(
        OPENED
        + textwrap.dedent(
            """
            best, bad = 9.0, 0
            for epoch in range(50):
                for i in range(500):
                    sess.run(train, {x: draw()})
                value = sess.run(loss, {x: valid})
                if value < best:
                    best, bad = value, 0
                else:
                    bad += 1
                    if bad > 3:
                        break
            """
        )
    )
    assert "    value = mean_over_ranks(sess.run(loss, {x: valid}))\n    if value < best:\n" in plan.text
    assert "        best, bad = value, 0\n" in plan.text
    assert changes(plan, "S5")


THREADS = """\
import threading
class Worker:
    def work(self):
        for i in range(20):
            {inside}
workers = [Worker() for k in range(3)]
for worker in workers:
    job = lambda: worker.work()
    threading.Thread(target=job).start()
"""


def test_training_in_threads_is_refused() -> None:
    refused(OPENED + THREADS.format(inside="sess.run(train)"), "HVD006", "threads train here")
    direct = "import threading\ndef work():\n    sess.run(train)\nthreading.Thread(None, work).start()\n"
    refused(OPENED + direct, "HVD006", "threads train here")


def test_threads_that_only_read_are_not() -> None:
    plan_of(OPENED + LOOP + THREADS.format(inside="sess.run(enqueue)"))


def test_a_loop_of_a_base_class_and_a_step_of_a_derived_one() -> None:
    head = BUILT + textwrap.dedent(
        """
        class Trainer:
            def fit(self):
                best = 0
                for epoch in range(9):
                    score = self.epoch()
                    if score < best:
                        break
            def epoch(self):
                raise NotImplementedError
        """
    )
    body = """
        class Own(Trainer):
            def epoch(self):
                for i in range({}):
                    cost, _ = sess.run([loss, train], {{x: draw()}})
                return cost
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        Own().fit()
        """
    plan = plan_of(head + textwrap.dedent(body.format("500")))
    assert "for i in range(500 // hvd.size()):\n" in plan.text
    assert "            score = mean_over_ranks(self.epoch())\n            if score < best:\n" in plan.text


def test_a_saver_behind_a_property() -> None:
    head = "class Model:\n    @property\n    def saver(self):\n        return tf.train.Saver()\nmodel = Model()\n"
    plan = plan_of(BUILT + head + RUN + "model.saver.save(sess, 'm')\n")
    assert "if hvd.rank() == 0:\n    model.saver.save(sess, 'm')\n" in plan.text


def test_a_schedule_goes_on_counting_where_no_loop_is_divided() -> None:
    head = (
        LOSS
        + "rate = tf.train.exponential_decay(0.1, step, 1000, 0.9)\ntrain = tf.train.AdamOptimizer(rate).minimize(loss)\n"
    )
    opened = head + "sess = tf.Session()\n" + INIT
    played = textwrap.dedent(
        """
        for episode in range(500):
            state = env.reset()
            while True:
                state, reward, done, _ = env.step(pick(state))
                sess.run(train, {x: state})
                if done:
                    break
        """
    )
    assert "(0.1, step, 1000, 0.9)" in plan_of(opened + played).text  # nor does the rate grow
    assert "(0.1 * hvd.size(), step, 1000 / hvd.size(), 0.9)" in plan_of(opened + LOOP).text


def test_a_bar_that_has_a_name() -> None:
    """A bar has no part that a rank could take: what it goes through is divided where it is made."""
    head = OPENED + "from tqdm import tqdm, trange\n"
    loop = "bar = tqdm({})\nfor i in bar:\n    sess.run(train, {{x: draw()}})\n    bar.set_postfix(a=1)\n"
    divided(loop.format("range(500)"), loop.format("range(500 // hvd.size())"), head)
    loop = "bar = tqdm({})\nfor {} in bar:\n    if i % 9 == 0:\n        print(i)\n    sess.run(train, {{x: rows[{}]}})\n"
    divided(loop.format("range(500)", "i", "i"), loop.format("rounds(range(500))", "i, own_i", "own_i"), head)
    divided(
        "bar = trange(500)\nfor i in bar:\n    sess.run(train, {x: rows[i]})\n",
        "bar = trange(hvd.rank(), 500 // hvd.size() * hvd.size(), hvd.size())\n"
        "for i in bar:\n    sess.run(train, {x: rows[i]})\n",
        head,
    )
    again = "bar = tqdm(range(500))\nfor i in bar:\n    sess.run(train, {x: draw()})\nlast(bar)\n"
    plan = plan_of(head + again)
    assert again in plan.text.replace(", disable=hvd.rank() != 0", "")
    assert any("this loop is not divided" in n.message for n in plan.notes)


def test_a_loop_that_counts_in_an_attribute() -> None:
    head = BUILT + "sess = tf.Session()\n" + INIT
    body = (
        "class Agent:\n    def run(self):\n        for self.step in range({}):\n            self.learn()\n"
        "    def learn(self):\n        sess.run(train, {{x: draw()}})\nAgent().run()\n"
    )
    divided(body.format("500"), body.format("500 // hvd.size()"), head)


def test_a_loop_that_only_chooses_what_is_trained_is_said_not_to_be_divided() -> None:
    head = LOSS + (
        "class Net:\n    def __init__(self):\n        self.train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        "nets = [Net(), Net()]\nsess = tf.Session()\n" + INIT
    )
    plan = plan_of(head + "for net in nets:\n    sess.run(net.train, {x: draw()})\n")
    assert "for net in nets:\n" in plan.text
    assert any("the loops around this step are short, or choose" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    ("steps", "last", "divided_steps", "divided_last"),
    [
        ("1000", "999", "1000 // hvd.size()", "1000 // hvd.size() - 1"),
        ("16", "15", "max(1, 16 // hvd.size())", "max(1, 16 // hvd.size()) - 1"),
        ("1, 1001", "1000", "1, 1 + max(1, 1000 // hvd.size())", "1000 // hvd.size()"),
        # near misses
        ("1000", "998", "1000 // hvd.size()", "998"),
        ("1000", "0", "1000 // hvd.size()", "0"),
    ],
)
def test_the_last_step_by_its_number(steps: str, last: str, divided_steps: str, divided_last: str) -> None:
    loop = "for step in range({}):\n    sess.run(train, {{x: draw()}})\n"
    loop += "    if step % 9 == 0 or step == {}:\n        print(step)\n"
    divided(loop.format(steps, last), loop.format(divided_steps, divided_last))


def test_a_total_that_a_fed_step_is_divided_by_in_the_graph_stays_whole() -> None:
    """The step is told there that it counts those of all ranks; or the rate would fall size() times too fast."""
    graph = LOSS + "TOTAL = 400\ni = tf.placeholder(tf.int32, [])\n"
    graph += "left = tf.maximum(0.0, 1.0 - tf.cast(i, tf.float32) / TOTAL)\n"
    graph += "train = tf.train.AdamOptimizer(0.1 * left).minimize(loss)\n"
    loop = "for k in range(TOTAL):\n    sess.run(train, {x: draw(), i: k})\n"
    text = plan_of(graph + "sess = tf.Session()\n" + INIT + loop).text
    assert "TOTAL = 400\n" in text
    assert "for k in range(TOTAL // hvd.size()):" in text
    assert "i: k * hvd.size()}" in text


def test_a_total_that_a_sum_is_divided_by_in_the_graph_is_divided_where_it_is_made() -> None:
    graph = LOSS + "TOTAL = 400\ni = tf.placeholder(tf.float32, [])\nshown = i / TOTAL\n"
    graph += "train = tf.train.AdamOptimizer(0.1).minimize(loss)\nadded = 0.0\n"
    loop = "for k in range(TOTAL):\n    added += sess.run([loss, train], {x: draw()})[0]\n"
    text = plan_of(graph + "sess = tf.Session()\n" + INIT + loop + "sess.run(shown, {i: added})\n").text
    assert "TOTAL = 400 // hvd.size()\n" in text


FILLED = """\
given = tf.placeholder(tf.float32, [None, 1])
queue = tf.{}
fill = queue.enqueue(given)
x = queue.{}
loss = tf.reduce_mean(x * w)
train = tf.train.AdamOptimizer(0.1).minimize(loss)
def run():
    while True:
        sess.run(fill, {{given: draw()}})
"""
THREAD = "import threading\nthreading.Thread(target=run, daemon=True).start()\n"


@pytest.mark.parametrize("taken", ["dequeue()", "dequeue_many(8)"])
def test_steps_that_take_rows_from_a_queue_are_divided_and_what_fills_it_is_asked(taken: str) -> None:
    loop = "for i in range(500):\n    sess.run(train)\n"
    graph = LOSS + FILLED.format("FIFOQueue(8, [tf.float32])", taken)
    plan = plan_of(graph + "sess = tf.Session()\n" + INIT + THREAD + loop)
    assert "for i in range(500 // hvd.size()):" in plan.text
    assert "AdamOptimizer(0.1 * hvd.size())" in plan.text
    assert len([d for d in doubts(plan, "S5") if d.startswith("every rank fills this queue")]) == 1


def test_a_queue_that_draws_from_what_it_holds_is_only_noted() -> None:
    loop = "for i in range(500):\n    sess.run(train)\n"
    graph = LOSS + FILLED.format("RandomShuffleQueue(80, 8, [tf.float32])", "dequeue_many(8)")
    plan = plan_of(graph + "sess = tf.Session()\n" + INIT + THREAD + loop)
    assert not doubts(plan, "S5")
    assert any("queue is not divided" in n.message for n in plan.notes)


COUNTED = """\
count = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=count)
saver = tf.train.Saver()
sess = tf.Session()
sess.run(tf.global_variables_initializer())
{restored}
"""
_BY_TEST = "step = sess.run(count)\nwhile step < 900:\n    _, step = sess.run([train, count], {x: draw()})\n"
_BY_BREAK = (
    "while True:\n    _, step = sess.run([train, count], {x: draw()})\n    if step >= 900:\n        break\n"
)


@pytest.mark.parametrize("loop", [_BY_TEST, _BY_BREAK])
@pytest.mark.parametrize(("restored", "told"), [("saver.restore(sess, 'model')", True), ("", False)])
def test_where_a_loop_goes_on_from_what_a_graph_has_counted_it_is_said(
    loop: str, restored: str, told: bool
) -> None:
    """With other ranks it would stop at another row: a graph counts a rank's steps."""
    plan = plan_of(LOSS + COUNTED.format(restored=restored) + loop)
    assert "900 // hvd.size()" in plan.text
    assert any("as many ranks as the run had" in n.message for n in plan.notes) is told


COLLECTED = """\
import numpy as np
import tensorflow as tf
rows = np.load("x.npy")
def inputs():
    value = tf.train.slice_input_producer([tf.constant(rows)], shuffle=True)
    return tf.train.batch(value, batch_size=8)
def measure(x):
    loss = {loss}
    {put}
    tf.add_to_collection("losses", 0.01 * tf.nn.l2_loss(tf.trainable_variables()[0]))
    return tf.add_n(tf.get_collection({key}))
x = {x}
train = tf.train.GradientDescentOptimizer(0.1).minimize(measure(x))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
tf.train.start_queue_runners(sess)
for i in range(1000):
    sess.run(train{fed})
"""
MEASURE = "tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))"
PUT_IN = 'tf.add_to_collection("losses", loss)'
ALL_ROWS = {"x": "tf.placeholder(tf.float32, [None, 3])", "fed": ", {x: rows}"}


@pytest.mark.parametrize(
    ("loss", "put", "key"),
    [
        (MEASURE, PUT_IN, '"losses"'),
        ("tf.losses.mean_squared_error(x[:, :1], tf.layers.dense(x, 1))", "pass", '"losses"'),
        (MEASURE, "tf.add_to_collection(tf.GraphKeys.LOSSES, loss)", "tf.GraphKeys.LOSSES"),
    ],
)
def test_a_loss_is_what_a_graph_has_collected(loss: str, put: str, key: str) -> None:
    """As in CIFAR-10's tutorial: it was refused as a step without rows."""
    text = plan_of(COLLECTED.format(loss=loss, put=put, key=key, x="inputs()", fed="")).text
    assert "GradientDescentOptimizer(0.1 * hvd.size())" in text
    assert "for i in range(1000 // hvd.size()):" in text


def test_rows_of_a_collected_loss_are_divided_where_each_step_sees_all_of_them() -> None:
    text = plan_of(COLLECTED.format(loss=MEASURE, put=PUT_IN, key='"losses"', **ALL_ROWS)).text
    assert "sess.run(train, {x: share_rows(rows)})" in text
    assert "GradientDescentOptimizer(0.1))" in text


def test_a_sum_among_collected_losses_is_no_mean() -> None:
    source = COLLECTED.format(loss=MEASURE.replace("_mean", "_sum"), put=PUT_IN, key='"losses"', **ALL_ROWS)
    refused(source, "HVD006", "something beside it")


IN_A_GRAPH = """\
import tensorflow as tf
rows = tf.constant(list(range(64)))
w = tf.Variable(0.0)
opt = tf.train.GradientDescentOptimizer(0.1)
def body(i):
    {step}
    return i + 1
train = tf.while_loop(lambda i: i < 40, body, [0])
sess = tf.Session()
sess.run(tf.global_variables_initializer())
print(sess.run(train))
"""


def test_a_loop_of_the_graph_that_trains_is_refused() -> None:
    """Its run was put under `if hvd.rank() == 0:` with what it prints: rank 0 waited for the others."""
    source = IN_A_GRAPH.format(step="opt.minimize(tf.square(w - tf.cast(rows[i], tf.float32)))")
    refused(source, "HVD202", "the loop is in the graph")


def test_a_loop_of_the_graph_that_only_computes_is_none() -> None:
    source = (
        IN_A_GRAPH.format(step="tf.print(i)") + "train_op = opt.minimize(tf.square(w))\nsess.run(train_op)\n"
    )
    result = distribute(summarize(Document(source)), Options())
    assert not isinstance(result, Refusal) or all("in the graph" not in r.message for r in result.reasons)


MEASURED = (
    LOSS.replace("x = ", "xs = [").replace("[None, 1])", "[None, 1])]", 1).replace("x * w", "xs[0] * w")
    + """\
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
class Model:
    def step(self, sess, rows, forward_only):
        feed = {}
        for i in range(1):
            feed[xs[i].name] = rows[i]
        if not forward_only:
            return sess.run([train, loss], feed)
        return None, sess.run(loss, feed)
model = Model()
sess = tf.Session()
"""
    + INIT
)


@pytest.mark.parametrize("told", ["_, measured, _", "_, measured", "measured"])
def test_a_method_that_trains_or_only_measures_is_no_game(told: str) -> None:
    """`model.step(sess, rows, True)` beside `model.step(sess, rows, False)`: each rank was said to play games of its own."""
    program = f"""\
for i in range(500):
    model.step(sess, [random.choice(rows)], False)
    if i % 50 == 0:
        {told} = model.step(sess, [random.choice(held_out)], True)
"""
    plan = plan_of("import random\n" + MEASURED + program)
    assert not doubts(plan)
    assert "for i in range(500 // hvd.size()):" in plan.text


def test_a_method_that_never_trains_may_be_a_game() -> None:
    """The near miss: what moves on is another object's."""
    program = """\
import gym
env = gym.make('CartPole-v1')
for i in range(500):
    state, reward, done = env.step(model.act(state))
    model.step(sess, [state], False)
"""
    assert [c for c in plan_of(MEASURED + program).changes if not c.sure]


HELD = """\
import numpy as np
import tensorflow as tf
rows = np.zeros((400, 6), np.float32)
class Net:
    def __init__(self, x):
        self.x = x
    def build(self):
        self.loss = tf.reduce_mean(tf.layers.dense(self.x, 1))
        {}
        self.train = tf.train.AdamOptimizer(0.1).minimize(self.loss)
queue = tf.train.slice_input_producer([rows])
net = Net(tf.train.batch(queue, 20))
net.build()
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(100)]) as sess:
    while not sess.should_stop():
        sess.run(net.train)
"""


@pytest.mark.parametrize("then", ["self.loss += penalty()", "self.loss = self.loss + penalty()", "pass"])
def test_a_loss_that_an_attribute_keeps_is_what_is_added_to_it_too(then: str) -> None:
    """Of the loss, the penalty alone was looked at: no rows came into the step, and the script was refused."""
    text = "def penalty():\n    return 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n"
    assert "StopAtStepHook(100 // hvd.size())" in plan_of(text + HELD.format(then)).text


@pytest.mark.parametrize("given", ["(loss, counted)", "(loss, global_step=counted)"])
def test_a_rate_by_the_step_that_was_fetched_is_no_state(given: str) -> None:
    """`_, step = sess.run([train, counted], {rate: decayed(step)})`: the batches were said to have an order."""
    program = (
        LOSS
        + f"""\
counted = tf.Variable(0, trainable=False)
rate = tf.placeholder(tf.float32)
train = tf.train.GradientDescentOptimizer(rate).minimize{given}
sess = tf.Session()
{INIT}step = 0
while step < 500:
    _, step = sess.run([train, counted], {{x: draw(), rate: decayed(step)}})
"""
    )
    assert "while step < 500 // hvd.size():" in plan_of(program).text


@pytest.mark.parametrize(
    ("source", "drawn"),
    [
        ("from helper import batches_of\nbatches = batches_of(rows)\n", "next(batches)"),
        ("from helper import batches_of\nbatches = batches_of(rows)\n", "batches.next()"),
        (
            "def batches_of(a):\n    for i in range(9):\n        yield a[i:]\nbatches = batches_of(rows)\n",
            "batches.next()",
        ),
        ("from helper import data\n", "data.next_batch(32)"),
        ("from helper import read\ndata = read('d')\n", "data.train.next_batch(32)"),
    ],
)
def test_a_turn_that_a_rank_leaves_out_by_its_own_batch_all_leave_out(source: str, drawn: str) -> None:
    loop = f"for i in range(500):\n    batch = {drawn}\n    if len(batch) < 32:\n        continue\n"
    loop += "    sess.run(train, {x: batch})\n"
    plan = plan_of(BUILT + source + "sess = tf.Session()\n" + INIT + loop)
    assert f"batch = [{drawn} for _ in range(hvd.size())][hvd.rank()]" in plan.text
    assert "if any_rank(len(batch) < 32):" in plan.text


def test_numbers_that_are_counted_are_no_batch() -> None:
    loop = (
        "for i in range(500):\n    number = next(numbers)\n"
        "    sess.run(train, {x: draw()})\n    if number > 8:\n        break\n"
    )
    source = "import itertools\n" + BUILT + "numbers = itertools.count()\nsess = tf.Session()\n"
    assert "any_rank" not in plan_of(source + INIT + loop).text


@pytest.mark.parametrize(
    ("drawn", "used"),
    [
        ("held = data.next_batch(32, 'test')", "print(sess.run(loss, {x: held}))"),
        (
            "held, names = data.next_batch(32, 'test')",
            "print(sess.run(loss, feed_dict={x: held}), sess.run(w, {x: names}))",
        ),
        ("held = 0", "print(sess.run(loss, {x: data.next_batch(32, 'test')}))"),
        ("held = data.next_batch(32, 'test')[0]", "for k in range(3): print(sess.run(loss, {x: held}))"),
    ],
)
def test_batches_that_only_measure_stay_the_same_on_all_ranks(drawn: str, used: str) -> None:
    loop = (
        "for i in range(500):\n    batch = data.next_batch(32, 'train')\n    sess.run(train, {x: batch})\n"
        f"    if i % 100 == 0:\n        {drawn}\n        {used}\n"
    )
    text = plan_of(BUILT + "from helper import data\nsess = tf.Session()\n" + INIT + loop).text
    assert "batch = [data.next_batch(32, 'train') for _ in range(hvd.size())][hvd.rank()]" in text
    assert "[data.next_batch(32, 'test')" not in text


@pytest.mark.parametrize(
    "used",
    [
        "sess.run(train, {x: held})",
        "print(sess.run(loss, {x: held}))\n    sess.run(train, {x: held})",
        "kept.append(held)\n    sess.run(train, {x: kept[-1]})",
        "fed = {x: held}\n    sess.run(train, fed)",
    ],
)
def test_batches_that_train_are_dealt_whatever_is_measured_by_them(used: str) -> None:
    loop = f"for i in range(500):\n    held = data.next_batch(32)\n    {used}\n"
    text = plan_of(BUILT + "from helper import data\nkept = []\nsess = tf.Session()\n" + INIT + loop).text
    assert "held = [data.next_batch(32) for _ in range(hvd.size())][hvd.rank()]" in text


@pytest.mark.parametrize(
    "counting", ["tf.assign_add(n, 1)", "n.assign_add(1)", "n.assign(n + 1)", "tf.assign(n, n + 1)"]
)
def test_a_count_of_the_programs_own_is_the_same_on_all_ranks(counting: str) -> None:
    source = textwrap.dedent(
        f"""\
        import numpy as np
        import tensorflow as tf
        rows = np.ones((800, 4))
        x = tf.placeholder(tf.float32, [None, 4])
        n = tf.Variable(0, trainable=False)
        count = {counting}
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
        train = tf.train.AdamOptimizer(0.1).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            while True:
                _, done, value = sess.run([train, count, loss], {{x: rows[np.random.randint(0, 800, 16)]}})
                if END:
                    break
        """
    )
    assert "if done >= 1000 // hvd.size():\n" in plan_of(source.replace("END", "done >= 1000")).text
    # near misses: a loss is a rank's own, and so is what adds it up
    assert (
        "mean_over_ranks(value) < 0.1" in plan_of(source.replace("END", "done >= 1000 or value < 0.1")).text
    )
    summed = source.replace(counting, "n.assign_add(tf.cast(tf.reduce_sum(x), tf.int32))")
    assert "if done >= 1000:\n" not in plan_of(summed.replace("END", "done >= 1000")).text


BESIDE = (
    BUILT
    + "import mine\nother = tf.train.AdamOptimizer(0.1).minimize(loss * 2)\nsess = tf.Session()\n"
    + INIT
    + LOOP
    + "for i in range(500):\n    sess.run(FETCHED, {x: draw()})\n"
)
PERHAPS = "it can't be seen what this runs"


@pytest.mark.parametrize("fetched", ["mine.step", "mine.steps[i]", "[mine.step, loss]"])
def test_a_run_that_may_be_of_a_train_op_which_is_run_nowhere_else_is_asked(fetched: str) -> None:
    """Its rate grows with that of the others, and its loop would be left as it is."""
    assert any(PERHAPS in doubt for doubt in doubts(plan_of(BESIDE.replace("FETCHED", fetched)), "S5"))


@pytest.mark.parametrize(
    ("fetched", "made"),
    [
        ("loss", BESIDE),
        ("other", BESIDE),
        (
            "mine.step",
            BESIDE.replace("other = tf.train.AdamOptimizer(0.1).minimize(loss * 2)\n", ""),
        ),  # none is left over
        ("mine.step", BESIDE.replace("for i in range(500):\n    sess.run(F", "if True:\n    sess.run(F")),
    ],
)
def test_a_run_that_trains_nothing_more_is_not_asked(fetched: str, made: str) -> None:
    assert not any(PERHAPS in doubt for doubt in doubts(plan_of(made.replace("FETCHED", fetched)), "S5"))
