"""What the tests of the rules for TensorFlow 1's sessions share: programs around the part that a test is about."""

from __future__ import annotations

from .pairs import TF

LOSS = (
    TF
    + "x = tf.placeholder(tf.float32, [None, 1])\nw = tf.get_variable('w', [1, 1])\nloss = tf.reduce_mean(x * w)\n"
)
BUILT = LOSS + "train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
INIT = "sess.run(tf.global_variables_initializer())\n"
LOOP = "for i in range(500):\n    sess.run(train, {x: draw()})\n"
# A session that is opened, initialised, and trains.
RUN = "sess = tf.Session()\n" + INIT + LOOP
# What S4 adds after INIT (without comments).
SENT = "sess.run(hvd.broadcast_global_variables(root_rank=0))\n"
