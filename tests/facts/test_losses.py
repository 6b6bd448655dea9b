"""What a loss is over rows: shares of a mean average, shares of a sum add up, others do neither."""

from __future__ import annotations

import pytest

from horovodize.facts.losses import Over

from .steps_of import TAPE, step_of

HEAD = (
    TAPE[: TAPE.index("def train_step")]
    + "mse = tf.keras.losses.MeanSquaredError()\nn = X.shape[0]\nnet = model\n"
)


def over(loss: str, before: str = "") -> Over:
    """What a loss of the prediction `p` and the targets `Y` is, of `X`."""
    return step_of(
        f"{HEAD}{before}for _ in range(9):\n    with tf.GradientTape() as tape:\n        p = net(X)\n        loss = {loss}\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
    ).over


@pytest.mark.parametrize(
    "loss",
    [
        "tf.sqrt(tf.reduce_mean(tf.square(p - Y)))",
        "tf.reduce_mean(p) * tf.reduce_mean(Y - p)",
        "tf.exp(tf.reduce_mean(p - Y))",
        "tf.reduce_mean(p - Y) + tf.reduce_sum(p - Y)",
        "unseen(p, Y)",
    ],
)
def test_what_shares_do_not_add_up_to(loss: str) -> None:
    assert over(loss) is Over.UNKNOWN


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_mean(tf.matmul(p, p, transpose_b=True))",
        "tf.reduce_mean(tf.matmul(tf.transpose(p), Y))",
        "tf.reduce_mean(tf.nn.softmax(p, axis=0) * Y)",
        "tf.reduce_mean(tf.cumsum(p - Y))",
        "tf.reduce_mean(tf.matmul(w, X, transpose_a=True))",
    ],
)
def test_rows_that_are_joined(loss: str) -> None:
    assert over(loss) is Over.COUPLED


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_mean(tf.square(p - Y))",
        "tf.reduce_mean(tf.reduce_sum(tf.square(p - Y), axis=1))",
        "tf.reduce_mean(tf.square(p - Y), axis=0)",
        "mse(Y, p)",
        "mse(Y, p) + 0.1 * tf.nn.l2_loss(w)",
        "mse(Y, p) + tf.add_n(net.losses)",
        "tf.reduce_mean(tf.keras.losses.mse(Y, p))",
        "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=Y, logits=p))",
        "-tf.reduce_mean(Y * tf.math.log(p))",
        "0.5 * tf.reduce_mean(tf.square(p - Y))",
        "tf.reduce_sum(tf.square(p - Y)) / tf.cast(tf.shape(p)[0], tf.float32)",
    ],
)
def test_means(loss: str) -> None:
    assert over(loss) is Over.MEAN


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_sum(tf.square(p - Y))",
        "tf.reduce_sum(tf.pow(p - Y, 2)) / (2 * n)",
        "tf.reduce_sum(tf.reduce_mean(tf.square(p - Y), axis=1))",
        "tf.nn.l2_loss(p - Y)",
        "tf.keras.losses.mse(Y, p)",
        "tf.square(p - Y)",
    ],
)
def test_sums(loss: str) -> None:
    assert over(loss) is Over.SUM


def test_a_sum_and_a_penalty_would_add_the_penalty_up() -> None:
    assert over("tf.reduce_sum(tf.square(p - Y)) + tf.nn.l2_loss(w)") is Over.SUM_AND_MORE


def test_a_loss_in_a_function_of_its_own() -> None:
    before = "def cost(guess, truth):\n    error = guess - truth\n    return tf.reduce_mean(error * error)\n"
    assert over("cost(p, Y)", before) is Over.MEAN
    assert over("cost(p, Y)", before.replace("reduce_mean", "reduce_sum")) is Over.SUM
