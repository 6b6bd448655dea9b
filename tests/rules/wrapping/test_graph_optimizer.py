"""S2: optimizers of graphs are wrapped where they are made; gradients that `tf.gradients` computes are averaged."""

from __future__ import annotations

import pytest

from ..pairs import TF, changes, check, only, plan_of, refused, untouched
from ..sessions import BUILT, LOSS, RUN


def wrapped(before: str, after: str, tail: str = RUN) -> None:
    check(("S2", "C5"), LOSS, before, after, tail)


# ---------------------------------------------------------------------- near misses


def test_what_else_is_called_minimize_is_left_alone() -> None:
    plan = plan_of(
        BUILT
        + "from scipy import optimize\nbest = optimize.minimize(f, [0.0])\nclass Mine:\n    def minimize(self, f):\n"
        + "        return f\nMine().minimize(loss)\n"
        + RUN
    )
    assert len(changes(plan, "S2")) == 1
    assert "best = optimize.minimize(f, [0.0])\n" in plan.text
    assert "\nMine().minimize(loss)\n" in plan.text


def test_gradients_that_feed_no_optimizer_stay_local() -> None:
    wrapped(
        """
        slope = tf.gradients(loss, [x])[0]
        penalty = tf.reduce_mean((tf.norm(slope) - 1.0) ** 2)
        train = tf.train.AdamOptimizer(0.1).minimize(loss + penalty)
        """,
        """
        slope = tf.gradients(loss, [x])[0]
        penalty = tf.reduce_mean((tf.norm(slope) - 1.0) ** 2)
        train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size())).minimize(loss + penalty)
        """,
    )


def test_an_optimizer_that_trains_nothing_is_left_alone() -> None:
    plan = plan_of(BUILT + "other = tf.train.FtrlOptimizer(0.5)\n" + RUN)
    assert "other = tf.train.FtrlOptimizer(0.5)\n" in plan.text


def test_keras_in_a_session_of_keras_is_wrapped_by_its_own_rule() -> None:
    untouched(
        "S2",
        """
        import tensorflow as tf
        from tensorflow.keras import backend as K
        model = tf.keras.Sequential([])
        model.compile("sgd", "mse")
        model.fit(x, y)
        sess = K.get_session()
        print(sess.run(model.output, {model.input: x}))
        """,
    )


# ---------------------------------------------------------------------- where it is made


def test_in_a_chain_the_optimizer_is_wrapped_and_not_the_train_op() -> None:
    wrapped(
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)",
        "train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1 * hvd.size())).minimize(loss)",
    )


def test_bound_to_a_name() -> None:
    wrapped(
        "opt = tf.train.MomentumOptimizer(0.1, 0.9)\ntrain = opt.minimize(loss)\n",
        "opt = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.1 * hvd.size(), 0.9))\n"
        "train = opt.minimize(loss)\n",
    )


def test_clipped_gradients_come_from_the_wrapped_optimizer() -> None:
    wrapped(
        """
        opt = tf.train.RMSPropOptimizer(0.1)
        pairs = opt.compute_gradients(loss)
        clipped = [(tf.clip_by_value(g, -1.0, 1.0), v) for g, v in pairs if g is not None]
        train = opt.apply_gradients(clipped)
        """,
        """
        opt = hvd.DistributedOptimizer(tf.train.RMSPropOptimizer(0.1 * hvd.size()))
        pairs = opt.compute_gradients(loss)
        clipped = [(tf.clip_by_value(g, -1.0, 1.0), v) for g, v in pairs if g is not None]
        train = opt.apply_gradients(clipped)
        """,
    )


def test_gradients_by_hand_are_averaged_and_the_optimizer_is_not_wrapped() -> None:
    wrapped(
        """
        grads, _ = tf.clip_by_global_norm(tf.gradients(loss, [w]), 5)
        train = tf.train.AdamOptimizer(0.1).apply_gradients(zip(grads, [w]))
        """,
        """
        grads, _ = tf.clip_by_global_norm([g if g is None else hvd.allreduce(g) for g in tf.gradients(loss, [w])], 5)
        train = tf.train.AdamOptimizer(0.1 * hvd.size()).apply_gradients(zip(grads, [w]))
        """,
    )


def test_gradients_that_two_optimizers_apply_are_averaged_once() -> None:
    plan = plan_of(
        LOSS
        + "gw, gb = tf.gradients(loss, [w, b])\n"
        + "one = tf.train.AdamOptimizer(0.1).apply_gradients([(gw, w)])\n"
        + "two = tf.train.AdamOptimizer(0.2).apply_gradients([(gb, b)])\ntrain = tf.group(one, two)\n"
        + RUN
    )
    assert plan.text.count("hvd.allreduce(g)") == 1
    assert "DistributedOptimizer" not in plan.text
    assert len(changes(plan, "C5")) == 2


def test_every_optimizer_of_a_file() -> None:
    plan = plan_of(
        LOSS
        + "d = tf.train.AdamOptimizer(0.1).minimize(loss, var_list=[w])\n"
        + "g = tf.train.AdamOptimizer(0.2).minimize(-loss)\ntrain = [d, g]\n"
        + RUN
    )
    assert only(plan, "S2").count("hvd.DistributedOptimizer(") == 2


def test_an_optimizer_that_is_passed_to_what_builds_the_train_op() -> None:
    wrapped(
        """
        def built(opt, loss):
            return opt.apply_gradients(opt.compute_gradients(loss))
        kinds = {"adam": tf.train.AdamOptimizer}
        train = built(tf.train.AdamOptimizer(0.1), loss)
        """,
        """
        def built(opt, loss):
            return opt.apply_gradients(opt.compute_gradients(loss))
        kinds = {"adam": tf.train.AdamOptimizer}
        train = built(hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size())), loss)
        """,
    )


# ---------------------------------------------------------------------- refused


def test_an_optimizer_from_elsewhere_is_refused() -> None:
    refused(
        TF + "import mine\ntrain = mine.optimizer().minimize(loss)\n" + RUN, "HVD105", "can't be followed"
    )


def test_gradients_from_elsewhere_are_refused() -> None:
    refused(
        LOSS
        + "import mine\ntrain = tf.train.AdamOptimizer(0.1).apply_gradients(mine.gradients(loss))\n"
        + RUN,
        "HVD006",
        "where these gradients are computed",
    )


@pytest.mark.parametrize("attribute", ["_lr", "_learning_rate_tensor"])
def test_what_only_the_unwrapped_optimizer_has_is_refused(attribute: str) -> None:
    start = LOSS + "opt = tf.train.AdamOptimizer(0.1)\ntrain = opt.minimize(loss)\n"
    refused(start + f"print(opt.{attribute})\n" + RUN, "HVD006", f"no `{attribute}`")
    plan_of(start + "print(opt.get_name(), opt.get_slot(w, 'm'))\n" + RUN)


# ---------------------------------------------------------------------- trained without an optimizer


@pytest.mark.parametrize(
    "update",
    [
        "step = w.assign_sub(0.1 * tf.gradients(loss, w)[0])",
        "g = tf.gradients(loss, [w])\nstep = tf.assign(w, w - 0.1 * g[0])",
        "step = tf.assign(w, tf.subtract(w, 0.1 * tf.gradients(loss, w)[0]))",
        "slope = tf.reduce_mean(x)\nlower = w - 0.1 * slope\nstep = w.assign(lower)",
        "step = tf.assign_sub(w, 0.1 * tf.reduce_mean(x))",
    ],
)
def test_variables_that_are_trained_by_hand_are_refused(update: str) -> None:
    refused(BUILT + update + "\n" + RUN, "HVD006", "without an optimizer")


@pytest.mark.parametrize(
    "update",
    [
        "clip = w.assign(tf.clip_by_value(w, -1.0, 1.0))",
        "other = tf.get_variable('other', [1, 1])\ncopy = [tf.assign(other, w)]",
        "rate = tf.Variable(0.1, trainable=False)\nlower = tf.assign(rate, rate * 0.5)",
        "rate = tf.Variable(0.1)\nfed = tf.placeholder(tf.float32)\nupdate = rate.assign(fed)",
        "mean = tf.get_variable('mean', [1], trainable=False)\nkeep = mean.assign_sub(0.1 * (mean - tf.reduce_mean(x)))",
        "kept = tf.Variable(tf.zeros([1, 1]), trainable=False)\nadd = kept.assign_add(tf.gradients(loss, w)[0])",
        "seen = tf.Variable(0)\ncount = tf.assign_add(seen, tf.shape(x)[0])",
    ],
)
def test_what_else_is_assigned_is_left_alone(update: str) -> None:
    assert f"{update}\n" in plan_of(BUILT + update + "\n" + RUN).text


def test_the_rate_of_an_optimizer_inside_another_one_is_scaled() -> None:
    plan = plan_of(
        LOSS
        + "train = tf.contrib.opt.MovingAverageOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)\n"
        + RUN
    )
    assert (
        "train = hvd.DistributedOptimizer(tf.contrib.opt.MovingAverageOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size())))"
        in plan.text
    )


def test_an_optimizer_that_averages_in_one_branch_is_wrapped_for_the_other() -> None:
    source = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 8])
loss = tf.reduce_mean(tf.square(x - tf.layers.dense(x, 8)))
optimizer = tf.train.AdamOptimizer(0.001)
if clip > 0:
    weights = tf.trainable_variables()
    grads = tf.gradients(loss, weights)
    train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(grads, clip)[0], weights))
else:
    train = optimizer.minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(100):
        sess.run(train, feed_dict={x: draw(32)})
"""
    text = plan_of(source).text
    assert "optimizer = hvd.DistributedOptimizer(tf.train." in text
    assert "hvd.allreduce(g) for g in tf.gradients(loss, weights)" in text
