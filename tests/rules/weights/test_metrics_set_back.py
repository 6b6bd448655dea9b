"""S4: what metrics keep is set back before each evaluation, on each rank by itself."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import plan_of


@pytest.mark.parametrize(("kept", "sent"), [("LOCAL_VARIABLES", 1), ("GLOBAL_VARIABLES", 2)])
def test_what_metrics_keep_is_not_sent_where_it_is_set_back(kept: str, sent: int) -> None:
    source = f"""
        import tensorflow.compat.v1 as tf
        x = tf.placeholder(tf.float32, [None, 1])
        loss = tf.reduce_mean(x * tf.get_variable('w', [1, 1]))
        train = tf.train.AdamOptimizer(0.1).minimize(loss)
        mean, update = tf.metrics.mean(loss)
        begin = tf.variables_initializer(tf.get_collection(tf.GraphKeys.{kept}))
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        for i in range(500):
            if i % 100 == 0:
                sess.run(begin)
                look()
            sess.run(train, {{x: draw()}})
        """
    assert (
        plan_of(textwrap.dedent(source)).text.count("sess.run(hvd.broadcast_global_variables(root_rank=0))")
        == sent
    )
