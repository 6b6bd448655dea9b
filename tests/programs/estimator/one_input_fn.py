"""One function reads for training and for evaluation, and gives the batches of an iterator."""
import numpy as np
import tensorflow as tf

BATCH = 12
RATE = 0.05
rng = np.random.RandomState(3)
X = rng.normal(size=(240, 5)).astype(np.float32)
Y = (X @ rng.normal(size=(5, 1))).astype(np.float32)


def model_fn(features, labels, mode):
    predicted = tf.layers.dense(features['x'], 1)
    loss = tf.losses.mean_squared_error(labels, predicted)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    step = tf.train.get_global_step()
    train_op = tf.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(is_training, batch_size, epochs=1):
    rows = slice(0, 192) if is_training else slice(192, 240)
    dataset = tf.data.Dataset.from_tensor_slices((X[rows], Y[rows]))
    if is_training:
        dataset = dataset.shuffle(buffer_size=192)
    dataset = dataset.repeat(epochs).batch(batch_size)
    features, labels = tf.data.make_one_shot_iterator(dataset).get_next()
    return {'x': features}, labels


def main(argv):
    model = tf.estimator.Estimator(model_fn=model_fn, model_dir='model')
    for _ in range(2):
        model.train(input_fn=lambda: input_fn(True, BATCH, 2))
        result = model.evaluate(input_fn=lambda: input_fn(False, BATCH))
        print('step {global_step}, loss {loss:.4f}'.format(**result))


if __name__ == '__main__':
    tf.app.run(main)
