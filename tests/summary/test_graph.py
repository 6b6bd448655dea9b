"""Graphs: which runs of a session train, initialise or restore, and which only look like it."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.summary.sites import Sites

from .reading import module

START = """\
import tensorflow as tf
loss = tf.reduce_mean(tf.get_variable("w", [3]))
opt = tf.train.AdamOptimizer(0.1)
train = opt.minimize(loss)
init = tf.global_variables_initializer()
sess = tf.Session()
"""


def runs(source: str, start: str = START) -> list[tuple[str, str, str | None]]:
    """The runs of a program: kind, text and session of each."""
    m = module(start + textwrap.dedent(source))
    return [
        (r.kind, m.text(r.call), m.text(r.session) if r.session is not None else None)
        for r in Sites(m).graph.runs
    ]


def kinds(source: str, start: str = START) -> list[str]:
    return [kind for kind, _, _ in runs(source, start)]


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "source",
    [
        "sess.run(loss)",
        "loss.eval(session=sess)",
        "evaluate = sess.make_callable([loss])\nevaluate()",
        "import subprocess\nsubprocess.run(train)",
        "server.run(port=80)",
        "sess.run(tf.gradients(loss, [x]))",
        "fetches = [loss]\nfetches.append(accuracy)\nsess.run(fetches)",
        "checkpoint = tf.train.Checkpoint()\ncheckpoint.restore(path)",
        "sess.run(tf.local_variables_initializer())",
        "sess.run(iterator.initializer)",
        "frame.eval('a + b')",
        "with tf.control_dependencies([loss]):\n    done = tf.no_op()\nsess.run(done)",
        "ops, losses = [], []\nops.append(train)\nlosses.append(loss)\nfor op, l in zip(ops, losses):\n    sess.run(l)",
        "pairs = []\npairs.append((train, loss))\nfor op, l in pairs:\n    sess.run(l)",
        "parts = []\nparts.append({'op': train, 'loss': loss})\nfor part in parts:\n    sess.run(part['loss'])",
        "parts = []\nparts.append([train, loss])\nfor part in parts:\n    sess.run(part[1])",
        "ops = []\nothers = []\nops.append(train)\nothers.append(loss)\nfor op in others:\n    sess.run(op)",
        "ops = {}\nops['a'] = train\nfor name in ops.keys():\n    sess.run(name)",
    ],
)
def test_what_neither_trains_nor_initialises(source: str) -> None:
    assert runs(source) == []


def test_a_module_without_sessions_runs_nothing() -> None:
    assert kinds("train.run()\n", START.replace("sess = tf.Session()\n", "")) == []


# ---------------------------------------------------------------------- training


@pytest.mark.parametrize(
    "source",
    [
        "sess.run(train)",
        "sess.run([train, loss])",
        "sess.run((loss, train), feed_dict={})",
        "sess.run(fetches={'train': train})",
        "train.run()",
        "both = tf.group(train, loss)\nsess.run(both)",
        "with tf.control_dependencies([train]):\n    done = tf.identity(loss)\nsess.run(done)",
        "with tf.control_dependencies([train]):\n    done = tf.identity(loss)\ndone.eval()",
        "ema = tf.train.ExponentialMovingAverage(0.9)\nwith tf.control_dependencies([train]):\n    kept = ema.apply([w])\n"
        "sess.run(kept)",
        "ops = [loss]\nops.append(train)\nsess.run(ops)",
        "ops = {'loss': loss}\nops['train'] = train\nsess.run(ops)",
        "ops = {'loss': loss, 'train': train}\nsess.run(ops['train'])",
        "step = sess.make_callable([train, loss], [x, y])\nstep(1, 2)",
        "handle = sess.partial_run_setup([loss, train], [x])\nsess.partial_run(handle, train, {x: 1})",
        "def run(ops):\n    return sess.run(ops)\nrun([train, loss])",
        "def built():\n    return opt.minimize(loss)\nsess.run(built())",
        "step = opt.apply_gradients(opt.compute_gradients(loss))\nsess.run(step)",
        "tf.get_default_session().run(train)",
        "ops = []\nops.append(train)\nfor op in ops:\n    sess.run(op)",
        "ops = []\nops.append(train)\nfor k, (op, l) in enumerate(zip(ops, losses)):\n    sess.run([op, l])",
        "ops = {}\nops['a'] = train\nfor name, op in ops.items():\n    sess.run(op)",
        "ops = {}\nops['a'] = train\nfor op in ops.values():\n    sess.run([op])",
        "pairs = []\npairs.append((train, loss))\nfor op, l in pairs:\n    sess.run(op)",
        "parts = []\nparts.append({'op': train, 'loss': loss})\nfor part in parts:\n    sess.run(part['op'])",
        "class Net:\n    def __init__(self):\n        self.ops = []\n        self.ops.append(train)\n"
        "    def fit(self):\n        for op in self.ops:\n            sess.run(op)",
    ],
)
def test_what_trains(source: str) -> None:
    assert kinds(source) == ["train"]


def test_a_method_that_is_read_as_an_attribute() -> None:
    model = """
    class Model:
        def __init__(self):
            self._train = opt.minimize(loss)
        @{decorator}
        def train_op(self):
            return self._train
    def epoch(model, op=None):
        fetches = {{"loss": loss}}
        if op is not None:
            fetches["op"] = op
        return sess.run(fetches)
    model = Model()
    epoch(model, model.train_op)
    """
    assert kinds(model.format(decorator="property")) == ["train"]
    assert kinds(model.format(decorator="lazy_property")) == ["train"]
    assert kinds(model.format(decorator="staticmethod")) == []


def test_the_function_that_trains_is_where_it_is_called_and_not_where_it_is_made() -> None:
    source = "step = sess.make_callable(train)\nfor i in range(9):\n    step()\n"
    assert runs(source) == [("train", "step()", "sess")]


def test_a_model_from_elsewhere_is_known_by_what_its_train_ops_are_called() -> None:
    start = START.replace("train = opt", "class Net:\n    def build(self):\n        self.train_op = opt")
    assert kinds("import mine\nmodel = mine.load()\nsess.run(model.train_op)\n", start) == ["train"]
    assert kinds("import mine\nmodel = mine.load()\nsess.run(model.predictions)\n", start) == []


# ---------------------------------------------------------------------- initialising and restoring


@pytest.mark.parametrize(
    "source",
    [
        "sess.run(init)",
        "init.run()",
        "sess.run([init, tf.tables_initializer()])",
        "sess.run(tf.initialize_all_variables())",
        "sess.run(tf.variables_initializer([w]))",
        "both = tf.group(init, tf.local_variables_initializer())\nboth.run(session=sess)",
    ],
)
def test_what_initialises(source: str) -> None:
    assert kinds(source) == ["initialize"]


def test_what_restores() -> None:
    assert runs("saver = tf.train.Saver()\nsaver.restore(sess, path)\n") == [
        ("restore", "saver.restore(sess, path)", "sess")
    ]
    assert kinds("def load(saver):\n    saver.restore(sess, path)\n") == ["restore"]


def test_the_session_of_a_run() -> None:
    assert runs(
        "with tf.Session() as other:\n    other.run(init)\ntrain.run(session=sess)\ntrain.run()\n"
    ) == [
        ("initialize", "other.run(init)", "other"),
        ("train", "train.run(session=sess)", "sess"),
        ("train", "train.run()", None),
    ]
