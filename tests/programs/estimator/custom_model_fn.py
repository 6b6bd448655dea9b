"""An estimator with a model of its own."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
TRAIN_X = rng.normal(size=(160, 4)).astype(np.float32)
TRAIN_Y = TRAIN_X.argmax(axis=1).astype(np.int32)


def model_fn(features, labels, mode, params):
    net = tf.layers.dense(features, params['units'], activation=tf.nn.relu)
    logits = tf.layers.dense(net, 4)

    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=tf.argmax(logits, axis=1))

    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, axis=1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={'accuracy': accuracy})

    optimizer = tf.train.AdagradOptimizer(learning_rate=params['rate'])
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def train_input_fn():
    dataset = tf.data.Dataset.from_tensor_slices((TRAIN_X, TRAIN_Y))
    return dataset.shuffle(160).repeat().batch(16)


def eval_input_fn():
    return tf.data.Dataset.from_tensor_slices((TRAIN_X[:32], TRAIN_Y[:32])).batch(16)


def main(argv):
    classifier = tf.estimator.Estimator(model_fn=model_fn, params={'units': 6, 'rate': 0.1}, model_dir='model')
    classifier.train(input_fn=train_input_fn, steps=30)
    result = classifier.evaluate(input_fn=eval_input_fn)
    print('loss {loss:.4f} at step {global_step}'.format(**result))


if __name__ == '__main__':
    tf.app.run(main)
