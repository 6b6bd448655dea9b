import numpy as np
import pandas as pd
import tensorflow as tf

FEATURES = ['length', 'width']

train = pd.read_csv('train.csv')
test = pd.read_csv('test.csv')
train_y, test_y = train.pop('species'), test.pop('species')

columns = [tf.feature_column.numeric_column(key=key) for key in FEATURES]
classifier = tf.compat.v1.estimator.DNNClassifier(
    hidden_units=[30, 10],
    feature_columns=columns,
    optimizer=lambda: tf.compat.v1.train.AdamOptimizer(
        learning_rate=tf.compat.v1.train.exponential_decay(
            0.01, tf.compat.v1.train.get_global_step(), 1000, 0.96)),
    n_classes=3)

train_input = tf.compat.v1.estimator.inputs.pandas_input_fn(train, train_y, batch_size=16, num_epochs=None, shuffle=True)
classifier.train(train_input, max_steps=2000)


def test_input():
    return tf.data.Dataset.from_tensor_slices((dict(test), test_y)).batch(16)


print('\nTest set accuracy: {accuracy:0.3f}\n'.format(**classifier.evaluate(input_fn=test_input)))
for prediction in classifier.predict(test_input):
    print(np.argmax(prediction['probabilities']))
