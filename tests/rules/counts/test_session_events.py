"""G5 in sessions: the step that a run gives back, whatever makes it and however it is taken out of what is fetched."""

from __future__ import annotations

import pytest

from ..pairs import changes, doubts, plan_of, refused
from ..sessions import INIT, LOSS, RUN

STEP = "step = tf.train.get_or_create_global_step()\n"
TRAIN = "train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step={})\n"
OPEN = "sess = tf.Session()\n" + INIT
LOOP = "for a in batches():\n    {}\n    if {}:\n        keep()\n"


def becomes(built: str, run: str, test: str) -> str:
    """What a test in a training loop becomes."""
    return plan_of(LOSS + built + OPEN + LOOP.format(run, test)).text.split("    if ")[-1].split(":\n")[0]


@pytest.mark.parametrize(
    ("run", "test"),
    [
        ("_, n = sess.run([train, step], {x: a})", "n"),
        ("n = sess.run([train, step], {x: a})", "n[1]"),
        ("n = sess.run({'op': train, 'step': step}, {x: a})", "n['step']"),
        ("sess.run(train, {x: a})", "sess.run(step)"),
    ],
)
def test_a_fetched_step_is_divided_however_it_is_taken_out(run: str, test: str) -> None:
    assert (
        becomes(STEP + TRAIN.format("step"), run, f"{test} % 100 == 0")
        == f"{test} % max(1, 100 // hvd.size()) == 0"
    )


@pytest.mark.parametrize(
    ("run", "test"),
    [
        ("_, n = sess.run([train, loss], {x: a})", "n % 100 == 0"),  # no step
        ("n = sess.run([train, step], {x: a})", "n[0] % 100 == 0"),
        ("n = sess.run({'op': train, 'step': step}, {x: a})", "n['op'] % 100 == 0"),
        ("n = sess.run({'op': train, 'step': step}, {x: a})", "n[key] % 100 == 0"),
        ("_, n = rows([train, step])\n    sess.run(train, {x: a})", "n % 100 == 0"),  # of no session
    ],
)
def test_what_else_is_fetched_is_left(run: str, test: str) -> None:
    assert becomes(STEP + TRAIN.format("step"), run, test) == test


BUILD = """\
def build():
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    return train, 7, step
"""
NET = """\
class Net:
    def build(self):
        self.step = tf.train.get_or_create_global_step()
        self.train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=self.step)
        return self.train, self.step
"""


@pytest.mark.parametrize(
    ("built", "run"),
    [
        (BUILD + "train, _, step = build()\n", "_, n = sess.run([train, step], {x: a})"),
        (
            BUILD + "made = build()\ntrain = made[0]\nstep = made[2]\n",
            "_, n = sess.run([train, step], {x: a})",
        ),
        (NET + "net = Net()\ntrain, step = net.build()\n", "_, n = sess.run([train, step], {x: a})"),
        (NET + "net = Net()\nnet.build()\n", "_, n = sess.run([net.train, net.step], {x: a})"),
        (
            "def take(a):\n    _, n = sess.run([train, step], {x: a})\n    return n\n"
            + STEP
            + TRAIN.format("step"),
            "n = take(a)",
        ),
    ],
)
def test_a_step_that_a_function_returns_among_others_is_known(built: str, run: str) -> None:
    assert becomes(built, run, "n % 100 == 0") == "n % max(1, 100 // hvd.size()) == 0"


def test_another_part_of_what_is_returned_is_none() -> None:
    built = BUILD + "train, seven, step = build()\n"
    assert becomes(built, "sess.run(train, {x: a})", "seven % 100 == 0") == "seven % 100 == 0"


def test_a_generator_gives_its_parts_one_after_another() -> None:
    built = (
        "def build():\n    yield 1, step\n    yield 2, step\n"
        + STEP
        + TRAIN.format("step")
        + "p, q = build()\n"
    )
    assert becomes(built, "sess.run(train, {x: a})", "q % 100 == 0") == "q % 100 == 0"


def test_the_number_of_batches_that_is_returned_with_the_data_is_still_that_of_one_process() -> None:
    """Though the data are divided in the same function, which returns both."""
    built = """\
def data(rows, size):
    dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(100).repeat().batch(size)
    return dataset, count(rows, size)
train_data, n = data(rows, 32)
iterator = tf.data.make_initializable_iterator(train_data)
x = iterator.get_next()
loss = tf.reduce_mean(x * w)
"""
    run = "_, k = sess.run([train, step])"
    text = plan_of(
        LOSS + built + STEP + TRAIN.format("step") + OPEN + "sess.run(iterator.initializer)\n"
        "for i in range(10 * n):\n    "
        + run
        + "\n    if k % n == 0:\n        sess.run(iterator.initializer)\n"
    ).text
    assert "10 * n // hvd.size()" in text
    assert "if k % max(1, n // hvd.size()) == 0:" in text


UNSEEN = "from nets import Net\nnet = Net()\n"


def test_a_step_of_an_unseen_model_is_known_by_the_train_op() -> None:
    built = UNSEEN + TRAIN.format("net.step")
    assert becomes(built, "_, n = sess.run([train, net.step], {x: a})", "n % 100 == 0").endswith(
        "// hvd.size()) == 0"
    )


def test_what_cannot_be_seen_is_asked() -> None:
    built = UNSEEN + TRAIN.format("None")
    loop = LOOP.format("_, n = sess.run([train, net.step], {x: a})", "n % 100 == 0")
    plan = plan_of(LOSS + built + OPEN + loop)
    assert doubts(plan, "G5") == [
        "it can't be seen what `n` is: this is right if it counts the steps of training"
    ]
    assert "if n % max(1, 100 // hvd.size()) == 0:" in plan.text


def test_an_unseen_value_that_is_compared_otherwise_is_no_step() -> None:
    built = UNSEEN + TRAIN.format("None")
    loop = LOOP.format("_, n = sess.run([train, net.accuracy], {x: a})", "n > 0.99")
    assert not changes(plan_of(LOSS + built + OPEN + loop), "G5")


# ---------------------------------------------------------------------- what a session hook fetches

HOOKED = """\
import tensorflow.compat.v1 as tf
data = tf.data.Dataset.from_tensor_slices(rows).shuffle(99).repeat().batch(8)
loss = tf.reduce_mean(data.make_one_shot_iterator().get_next() * tf.get_variable('w', [1]))
rate = tf.placeholder(tf.float32, [])
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
class Rate({base}):
    def before_run(self, context):
        return {asked}
    def after_run(self, context, values):
        {read}
        if {test}:
            self.rate = 0.01
with tf.train.MonitoredTrainingSession(hooks=[Rate(), tf.train.StopAtStepHook(last_step=200)]) as s:
    while not s.should_stop():
        s.run(train)
"""
HOOK = "tf.train.SessionRunHook"


def hooked(asked: str, read: str, test: str, base: str = HOOK) -> str:
    """What a test becomes by which a hook sets the rate."""
    source = HOOKED.format(base=base, asked=f"tf.train.SessionRunArgs({asked})", read=read, test=test)
    return plan_of(source).text.split("        if ")[-1].split(":\n")[0]


FED = "feed_dict={rate: self.rate}"


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        (f"loss, {FED}", "n = values.results"),  # no step
        (f"[loss, step], {FED}", "n = values.results"),  # not which of them
        (f"[loss, step], {FED}", "n = values.results[0]"),
        (f"[loss, step], {FED}", "n, _ = values.results"),
        (f"loss, {FED}) if self.seen else tf.train.SessionRunArgs(step", "n = values.results"),
    ],
)
def test_what_else_a_hook_is_told_is_no_count_and_decides_for_all_ranks(asked: str, read: str) -> None:
    assert hooked(asked, read, "n > 80") == "any_rank(n > 80)"


@pytest.mark.parametrize(
    ("asked", "read", "test"),
    [
        (f"step, {FED}", "n = values.options", "n > 80"),
        (f"step, {FED}", "n = other.results", "n > 80"),
        (f"step, {FED}", "n = context.results", "n > 80"),
    ],
)
def test_what_else_a_hook_is_told_is_left(asked: str, read: str, test: str) -> None:
    assert hooked(asked, read, test) == test


def test_results_in_a_class_that_is_no_hook_are_left() -> None:
    assert hooked(f"step, {FED}", "n = values.results", "n > 80", base="object") == "n > 80"


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        (f"step, {FED}", "n = values.results"),
        (f"fetches=step, {FED}", "n = values.results"),
        (f"[loss, step], {FED}", "n = values.results[1]"),
        (f"[loss, step], {FED}", "_, n = values.results"),
        (f"{{'loss': loss, 'step': step}}, {FED}", "n = values.results['step']"),
    ],
)
def test_a_rate_that_a_hook_sets_by_the_step_it_fetched_goes_by_all_ranks(asked: str, read: str) -> None:
    assert hooked(asked, read, "n > 80") == "n > max(1, 80 // hvd.size())"


def test_a_hook_ends_training_after_as_many_rows() -> None:
    source = HOOKED.replace("self.rate = 0.01", "context.request_stop()")
    asked = f"tf.train.SessionRunArgs(step, {FED})"
    text = plan_of(source.format(base=HOOK, asked=asked, read="n = values.results", test="n >= 80")).text
    assert "        if any_rank(n >= max(1, 80 // hvd.size())):\n" in text


def test_a_formula_over_a_hook_s_step_is_told_the_steps_of_all_ranks() -> None:
    source = HOOKED.replace("if {test}:\n            self.rate = 0.01", "self.rate = {test}")
    asked = f"tf.train.SessionRunArgs(step, {FED})"
    text = plan_of(
        source.format(base=HOOK, asked=asked, read="n = values.results", test="0.1 * 0.9 ** n")
    ).text
    assert "        self.rate = 0.1 * 0.9 ** (n * hvd.size())\n" in text


COUNTED = OPEN + "n = 0\nfor a in batches():\n    sess.run(train, {x: a})\n    n += 1\n"


@pytest.mark.parametrize(
    ("name", "divided"),
    [
        ("'m%d' % (n // 100)", "'m%d' % (n // max(1, 100 // hvd.size()))"),
        ("'m%d' % ((n - 1) // 100 + 1)", "'m%d' % ((n - 1) // max(1, 100 // hvd.size()) + 1)"),
        ("join('d', f'm{n // 100}')", "join('d', f'm{n // max(1, 100 // hvd.size())}')"),
        ("'m%d' % (n // 50)", "'m%d' % (n // max(1, 50 // hvd.size()))"),  # epochs, two to an event
        # Other numbers:
        ("'m%d' % (n // 2)", "'m%d' % (n // 2)"),
        ("'m%d' % (k // 100)", "'m%d' % (k // 100)"),
        ("'m%d' % (n / 100)", "'m%d' % (n / 100)"),
        ("'m%d' % n", "'m%d' % n"),
    ],
)
def test_the_number_of_an_event_is_counted_as_it_comes(name: str, divided: str) -> None:
    """On two ranks the saves of steps 50 and 100 of a rank would have one name."""
    event = "    if n % 100 == 0:\n        keep({})\n"
    text = plan_of(LOSS + TRAIN.format("None") + COUNTED + event.format(name)).text
    assert event.replace("n % 100", "n % max(1, 100 // hvd.size())").format(divided) in text


def test_a_number_outside_of_the_event_counts_alike() -> None:
    more = "    if n % 100 == 0:\n        keep(n)\n    show(n // 100)\n"
    text = plan_of(LOSS + TRAIN.format("None") + COUNTED + more).text
    assert "    show(n // max(1, 100 // hvd.size()))\n" in text


@pytest.mark.parametrize(
    ("run", "test"),
    [
        ("n = sess.run([train, step], {x: a})[1] + 1", "n % 100 == 0"),
        ("sess.run(train, {x: a})\n    n = sess.run(step) + 1", "n % 100 == 0"),
        ("sess.run(train, {x: a})\n    k = sess.run(step)\n    n = k - 1", "n % 100 == 0"),
    ],
)
def test_a_name_for_the_step_after_or_before_is_divided(run: str, test: str) -> None:
    assert becomes(STEP + TRAIN.format("step"), run, test) == "n % max(1, 100 // hvd.size()) == 0"


@pytest.mark.parametrize("made", ["a.shape[0] + 1", "sess.run(step) + a.shape[0]", "sess.run(loss) + 1"])
def test_a_name_for_another_sum_is_left(made: str) -> None:
    run = f"sess.run(train, {{x: a}})\n    n = {made}"
    assert becomes(STEP + TRAIN.format("step"), run, "n % 100 == 0") == "n % 100 == 0"


TURNS = (
    "for i in range({}):\n    step = i + 1\n    sess.run(train, {{x: draw()}})\n    if {}:\n        keep()\n"
)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("step % 100 == 0", "step % max(1, 100 // hvd.size()) == 0"),
        ("step == 100", "step == max(1, 100 // hvd.size())"),
        ("step > 100", "step > max(1, 100 // hvd.size())"),
    ],
)
def test_a_name_for_how_many_turns_there_were_is_divided(test: str, after: str) -> None:
    text = plan_of(LOSS + TRAIN.format("None") + OPEN + TURNS.format(500, test)).text
    assert f"    if {after}:\n" in text


def test_it_counts_the_steps_of_all_ranks_where_the_turn_does() -> None:
    resumed = "path = tf.train.latest_checkpoint('a')\nstart = int(path[9:]) if path else 0\n"
    kept = TURNS.replace("keep()", "tf.train.Saver().save(sess, 'a/m', global_step=step)")
    text = plan_of(
        LOSS + TRAIN.format("None") + OPEN + resumed + kept.format("start, 500", "step % 100 == 0")
    ).text
    assert "    step = i + hvd.size()\n" in text
    assert "    if step % 100 < hvd.size() and hvd.rank() == 0:\n" in text


VARIABLE = "step = tf.Variable(0, trainable=False, name='steps')\n"
STOPS = """\
for i in range(500):
    _, n = sess.run([train, step], {x: draw()})
    if n % 100 == 0:
        score = sess.run(loss, {x: draw()})
        if score > best:
            bad += 1
            if bad > 3:
                break
        else:
            bad, best = 0, score
"""


def test_a_variable_that_is_the_global_step_is_the_same_on_all_ranks() -> None:
    """Only what is measured then is agreed on, not in each step."""
    begin = VARIABLE + TRAIN.format("step") + OPEN + "bad, best = 0, 9.0\n"
    text = plan_of(LOSS + begin + STOPS).text
    assert "    if n * hvd.size() % 100 < hvd.size():\n        score = mean_over_ranks(" in text
    assert "from_root(" not in text


def test_another_variable_is_each_rank_s_own() -> None:
    begin = VARIABLE + TRAIN.format("None") + OPEN + "bad, best = 0, 9.0\n"
    refused(LOSS + begin + STOPS, "HVD205")


@pytest.mark.parametrize(
    ("every", "test", "becomes"),
    [
        ("tf.constant(10, tf.int64)", "every", "tf.maximum(every // hvd.size(), 1)"),
        ("tf.shape(x)[0] // 2", "every", "tf.maximum(every // hvd.size(), 1)"),
        (
            "tf.constant(10)",
            "tf.cast(every, tf.int64)",
            "tf.maximum(tf.cast(every, tf.int64) // hvd.size(), 1)",
        ),
        # near misses: what is a number while the graph is built
        ("10", "every", "max(1, every // hvd.size())"),
        ("int(tf.flags.FLAGS.every)", "every", "max(1, every // hvd.size())"),
    ],
)
def test_a_number_that_only_the_graph_knows_is_compared_in_it(every: str, test: str, becomes: str) -> None:
    """`max` of a tensor asks for its truth, which it has none of: the program would end where it begins."""
    shown = (
        f"every = {every}\nshown = tf.cond(tf.equal(step % {test}, 0), lambda: tf.print(step), tf.no_op)\n"
    )
    built = STEP + shown + "with tf.control_dependencies([shown]):\n    " + TRAIN.format("step")
    text = plan_of(LOSS + built + OPEN + "for a in batches():\n    sess.run(train, {x: a})\n").text
    assert f"tf.equal(step % {becomes}, 0)" in text


def test_a_count_of_floats_is_told_where_it_is_read_and_goes_on_as_it_did() -> None:
    counted = LOSS + (
        "step = tf.Variable(1.0, trainable=False)\n"
        "rate = tf.cond(step < 20.0, lambda: 0.01 * step, lambda: tf.train.polynomial_decay(0.1, step, 400.0))\n"
        "update = tf.assign_add(step, 1.0)\n"
        "with tf.control_dependencies([tf.train.AdamOptimizer(rate).minimize(loss), update]):\n"
        "    train = tf.no_op()\n"
    )
    text = plan_of(counted + RUN).text
    assert "tf.cond(step * hvd.size() < 20.0, lambda: 0.01 * (step * hvd.size())" in text
    assert "tf.train.polynomial_decay(0.1, step, 400.0 / hvd.size())" in text
    assert "tf.assign_add(step, 1.0)" in text  # else steps would count twice


@pytest.mark.parametrize("update", ["tf.assign_add(heat, 0.01)", "tf.assign(heat, heat + 0.01)"])
def test_a_number_that_is_no_count_goes_on_as_fast_and_its_bound_stays(update: str) -> None:
    heated = LOSS + (
        f"heat = tf.Variable(0.0, trainable=False)\nupdate = {update}\n"
        "weight = tf.cond(heat > 0.5, lambda: 1.0, lambda: 0.5)\n"
        "with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss * weight), update]):\n"
        "    train = tf.no_op()\n"
    )
    text = plan_of(heated + RUN).text
    assert "heat > 0.5," in text
    assert "0.01 * hvd.size())" in text


def test_what_is_run_to_measure_by_another_list_of_the_same_name_is_no_training() -> None:
    plan = plan_of(
        LOSS
        + "train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        + OPEN
        + """\
saver = tf.train.Saver()
first = 0
last = tf.train.latest_checkpoint('logs')
if last:
    first = int(last[last.index('model') + 5:])
    saver.restore(sess, last)
for i in range(first, 9000):
    fetched = [train]
    sess.run(fetched, {x: draw()})
    if i % EVERY == 0:
        if quick:
            fetched = [loss]
        else:
            fetched = [loss, x]
        print(sess.run(fetched, {x: held}))
"""
    )
    assert "if i % EVERY < hvd.size()" in plan.text
