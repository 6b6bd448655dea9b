import numpy as np
import pandas as pd
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.compat.v1.ConfigProto()
config.gpu_options.allow_growth = True
config.gpu_options.visible_device_list = str(hvd.local_rank())


def shard(rows):  # this rank's share of some rows: every size()-th, equally many on each rank, at least one
    return rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // hvd.size()) * hvd.size() : hvd.size()]


FEATURES = ['length', 'width']

train = pd.read_csv('train.csv')
test = pd.read_csv('test.csv')
train_y, test_y = train.pop('species'), test.pop('species')

columns = [tf.feature_column.numeric_column(key=key) for key in FEATURES]
classifier = tf.compat.v1.estimator.DNNClassifier(
    hidden_units=[30, 10],
    feature_columns=columns,
    optimizer=lambda: hvd.DistributedOptimizer(tf.compat.v1.train.AdamOptimizer(
        learning_rate=tf.compat.v1.train.exponential_decay(
            0.01 * hvd.size(), tf.compat.v1.train.get_global_step(), 1000 / hvd.size(), 0.96))),
    n_classes=3,
    config=tf.compat.v1.estimator.RunConfig(session_config=config))

train_input = tf.compat.v1.estimator.inputs.pandas_input_fn(shard(train), shard(train_y), batch_size=16, num_epochs=None, shuffle=True)
classifier.train(train_input, max_steps=2000 // hvd.size(), hooks=[hvd.BroadcastGlobalVariablesHook(0)])


def test_input():
    return tf.data.Dataset.from_tensor_slices((dict(test), test_y)).batch(16)


evaluation = classifier.evaluate(input_fn=test_input)
if hvd.rank() == 0:
    print('\nTest set accuracy: {accuracy:0.3f}\n'.format(**evaluation))
for prediction in classifier.predict(test_input):
    if hvd.rank() == 0:
        print(np.argmax(prediction['probabilities']))
