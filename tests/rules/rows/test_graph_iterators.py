"""D1: of the datasets that iterators of a TensorFlow 1 graph give, those are divided that are trained on, whatever they are
called."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import tensorflow.compat.v1 as tf
D = tf.data.Dataset
big, small = D.from_tensor_slices((a, b)).batch(8), D.from_tensor_slices((c, d)).batch(8)
"""
MODEL = """\
x, y = it.get_next()
loss = tf.reduce_mean((x @ tf.get_variable("w", [4, 1]) - y) ** 2)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
s = tf.Session()
s.run(tf.global_variables_initializer())
"""
SET = (
    "it = tf.data.Iterator.from_structure(tf.data.get_output_types(big), tf.data.get_output_shapes(big))\n"
    + MODEL
)
SET += "go, look = it.make_initializer(big), it.make_initializer(small)\n"
CHOSEN = (
    "h = tf.placeholder(tf.string, [])\nit = tf.data.Iterator.from_string_handle(h, big.output_types)\n"
    + MODEL
)
CHOSEN += "i, j = tf.data.make_one_shot_iterator(big), small.make_initializable_iterator()\n"
SHARE = "shard_records(D.from_tensor_slices(({})))"
BIG, SMALL = SHARE.format("a, b"), SHARE.format("c, d")


def divided(source: str) -> list[bool]:
    text = plan_of(HEAD + source).text
    return [BIG in text, SMALL in text]


def looped(first: str, body: str, again: str = "") -> str:
    return f"for epoch in range(9):\n    {first}\n    for k in range(32):\n        {body}\n    {again}\n"


@pytest.mark.parametrize(
    "source",
    [
        SET + looped("s.run(go)", "s.run(train)", "s.run(look)\n    print(s.run(loss))"),
        SET + looped("s.run(go)", "s.run([train, loss])", "if epoch % 2:\n        s.run(look)\n        print(s.run(loss))"),
        SET + "def measure():\n    s.run(look)\n    return s.run(loss)\ndef epoch():\n    s.run(go)\n"
        "    for k in range(32):\n        s.run(train)\nprint(measure())\n"
        "for e in range(9):\n    epoch()\n    print(measure())\n",
        CHOSEN + "p, q = s.run([i.string_handle(), j.string_handle()])\n"
        + looped("s.run(j.initializer)", "s.run(train, {h: p})", "print(s.run(loss, {h: q}))"),
        CHOSEN + "p, q = s.run(i.string_handle()), s.run(j.string_handle())\n"
        + looped("s.run(j.initializer)", "s.run([train, loss], feed_dict={h: p})", "print(loss.eval({h: q}))"),
    ],
)  # fmt: skip
def test_what_a_model_is_only_measured_by_stays_whole(source: str) -> None:
    assert divided(source) == [True, False]


@pytest.mark.parametrize(
    "source",
    [
        SET + looped("s.run(go)", "s.run(train)", "s.run(look)\n    s.run(train)"),
        SET + looped("s.run(go if epoch else look)", "s.run(train)"),
        SET + looped("if epoch:\n        s.run(go)\n    else:\n        s.run(look)", "s.run(train)"),
        SET + looped("s.run(go)", "s.run(train)", "s.run(look)\n    for k in range(9):\n        s.run([loss, train])"),
        CHOSEN + "p, q = s.run([i.string_handle(), j.string_handle()])\n"
        + looped("s.run(j.initializer)", "s.run(train, {h: p})", "s.run(train, {h: q})"),
        CHOSEN + "p, q = s.run([i.string_handle(), j.string_handle()])\n"
        + looped("s.run(j.initializer)", "s.run(train, {h: p if epoch % 2 else q})"),
    ],
)  # fmt: skip
def test_all_that_is_trained_on_is_divided(source: str) -> None:
    assert divided(source) == [True, True]


@pytest.mark.parametrize("began", ["go if training else look", "begin"])
def test_one_function_that_trains_and_measures_divides_what_is_not_called_to_measure(began: str) -> None:
    """Of the data to measure by, each rank measured its part, and rank 0 chose the best model by its own."""
    told = "training" if "training" in began else "training, begin"
    epoch = f"def epoch({told}):\n    s.run({began})\n"
    epoch += "    for k in range(9):\n        s.run([loss, train] if training else [loss])\n"
    first, then = ("True", "False") if told == "training" else ("True, go", "False, look")
    source = SET + epoch + f"for e in range(9):\n    epoch({first})\n    epoch({then})\n"
    text = plan_of((HEAD + source).replace("small", "held_out_test")).text
    assert [BIG in text, SMALL in text] == [True, False]
    assert divided(source) == [True, True]


def test_what_is_trained_on_is_divided_whatever_it_is_called() -> None:
    source = SET.replace("big", "train_val") + looped(
        "s.run(go)", "s.run(train)", "s.run(look)\n    s.run(loss)"
    )
    assert BIG in plan_of(HEAD.replace("big", "train_val") + source).text


BY_ARRAYS = (
    """\
import tensorflow.compat.v1 as tf
a, b = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
data = tf.data.Dataset.from_tensor_slices((a, b)).batch(8)
it = data.make_initializable_iterator()
"""
    + MODEL
)
MEASURED = "though nothing is trained on it"


def test_a_share_that_is_measured_by_is_asked_about() -> None:
    tail = "s.run(it.initializer, {a: other, b: others})\nprint(s.run(loss))\n"
    plan = plan_of(BY_ARRAYS + looped("s.run(it.initializer, {a: rows, b: labels})", "s.run(train)") + tail)
    [asked] = [c for c in plan.changes if MEASURED in c.doubt]
    assert plan.document.text[asked.span.start :].startswith("s.run(it.initializer, {a: other")


@pytest.mark.parametrize("again", ["", "s.run(it.initializer, {a: other, b: others})\n    s.run(train)"])
def test_what_begins_training_is_not_asked_about(again: str) -> None:
    plan = plan_of(BY_ARRAYS + looped("s.run(it.initializer, {a: rows, b: labels})", "s.run(train)", again))
    assert not [c for c in plan.changes if MEASURED in c.doubt]


MEASURED_BESIDE = """\
import tensorflow.compat.v1 as tf
def make(part):
    return tf.data.TFRecordDataset(part + ".records").map(decode).batch(32)
def test(part, path):
    loss = tf.reduce_mean(model(make(part).make_one_shot_iterator().get_next()) ** 2)
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, path)
        return sess.run(loss)
def train(path):
    loss = tf.reduce_mean(model(make("a").repeat().make_one_shot_iterator().get_next()) ** 2)
    step = tf.train.AdamOptimizer(0.001).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(2000):
            sess.run(step)
        return tf.train.Saver().save(sess, "model")
path = None
for epoch in range(20):
    path = train(path)
    print(test("b", path))
"""


def test_what_a_loop_that_trains_only_measures_by_is_whole() -> None:
    """Each rank measured by its own part of the rows, and its number was taken for that of all."""
    text = plan_of(MEASURED_BESIDE).text
    assert "model(make(part).make_one_shot_iterator()" in text
    assert 'make("a", share=' in text


def test_what_a_hook_of_a_session_begins_is_that_of_the_training() -> None:
    """A session that has hooks calls them itself: nothing is seen to go on from there, but nothing else begins the data."""
    session = """\
class Begin(tf.train.SessionRunHook):
    def after_create_session(self, session, coord):
        session.run(it.initializer, {a: rows, b: labels})
with tf.train.MonitoredTrainingSession(hooks=[Begin(), tf.train.StopAtStepHook(last_step=100)]) as s:
    while not s.should_stop():
        s.run(train)
"""
    plan = plan_of(BY_ARRAYS + session)
    assert "shard_records(tf.data.Dataset.from_tensor_slices((a, b)))" in plan.text
    assert not [c for c in plan.changes if MEASURED in c.doubt]


IN_EPOCHS = """\
import tensorflow as tf
def read(names, training):
    rows = tf.data.TextLineDataset(names)
    if training:
        rows = rows.shuffle(100)
    return rows.batch(8), 5
rows, count = read(['a.txt'], True)
held_out, _ = read(['b.txt'], False)
iterator = {}
loss = tf.reduce_mean(tf.layers.dense(tf.strings.to_number(iterator.get_next())[:, None], 1))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(10):
        {}
        for i in range(count):
            sess.run(train)
"""


def test_a_shuffle_that_begins_again_in_each_epoch_is_drawn_again() -> None:
    """By a number as its seed, all epochs came in one order."""
    program = IN_EPOCHS.format("tf.data.make_initializable_iterator(rows)", "sess.run(iterator.initializer)")
    seed = "tf.random.uniform([], 0, 2**31 - 1, tf.int64, seed=0) if hvd.size() > 1 else None"
    assert f"rows.shuffle(100, seed={seed})" in plan_of(program).text


def test_a_shuffle_that_begins_once_gets_a_number() -> None:
    """A one-shot iterator can't hold a tensor that is drawn."""
    program = IN_EPOCHS.format("tf.data.make_one_shot_iterator(rows)", "pass")
    assert "rows.shuffle(100, seed=0 if hvd.size() > 1 else None)" in plan_of(program).text
