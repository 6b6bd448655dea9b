"""What the tests of the facts about steps share: a program around a step, and what is said of it."""

from __future__ import annotations

from horovodize.facts import facts_of
from horovodize.facts.feeds.steps import Step
from horovodize.source import Document
from horovodize.summary import summarize

TAPE = """\
import numpy as np
import tensorflow as tf
X = np.random.rand(64, 3)
Y = np.random.rand(64, 1)
w = tf.Variable(tf.zeros([3, 1]))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf
x_all = np.random.rand(64, 3)
y_all = np.random.rand(64, 1)
x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, [None, 1])
rate = tf.placeholder(tf.float32, [])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
"""
KERAS = """\
import numpy as np
import tensorflow as tf
x = np.random.rand(64, 3)
y = np.random.rand(64, 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


def steps_of(source: str) -> list[Step]:
    """The steps of a program, in the order of the text."""
    summary = summarize(Document(source))
    facts = facts_of(summary)
    sites = [*facts.feeding.taken_steps(), *(f.fit.call for f in facts.feeding.fits)]
    return [facts.steps.of(site) for site in sorted(sites, key=lambda c: (c.lineno, c.col_offset))]


def step_of(source: str) -> Step:
    """The only step of a program."""
    (step,) = steps_of(source)
    return step


def own_step_of(source: str) -> Step:
    """The first step that a model's own `train_step` takes in a program."""
    summary = summarize(Document(source))
    facts = facts_of(summary)
    return facts.steps.of(min((u.call for u in facts.steps.sites.updates), key=lambda call: call.lineno))
