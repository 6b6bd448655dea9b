"""A canned Estimator that makes its optimizer by itself."""
import numpy as np
import tensorflow as tf

BATCH = 12
STEPS = 16

tf.logging.set_verbosity(tf.logging.WARN)
x = np.random.RandomState(3).uniform(-1, 1, size=(96, 2)).astype(np.float32)
y = (x[:, 0] > x[:, 1]).astype(np.int32)


def train_input():
    ds = tf.data.Dataset.from_tensor_slices(({'a': x[:, 0], 'b': x[:, 1]}, y))
    return ds.repeat().batch(BATCH)


def test_input():
    return tf.data.Dataset.from_tensor_slices(({'a': x[:, 0], 'b': x[:, 1]}, y)).batch(BATCH)


columns = [tf.feature_column.numeric_column('a'), tf.feature_column.numeric_column('b')]
mean = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
deep = tf.estimator.DNNClassifier([8], columns, loss_reduction=mean)
deep.train(train_input, steps=STEPS)
print('{accuracy:.2f}'.format(**deep.evaluate(test_input)))
