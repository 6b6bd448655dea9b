"""One function makes the data for training and for testing, from records whose number no batch and no number of ranks divides."""
import numpy as np
import tensorflow as tf

BATCH = 8


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def write(path, rows):
    with tf.io.TFRecordWriter(path) as writer:
        for x in rows:
            features = {"x": floats(x), "y": floats([x.sum()])}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def parse(record):
    found = tf.io.parse_single_example(
        record, {"x": tf.io.FixedLenFeature([3], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)}
    )
    return found["x"], found["y"]


def make_dataset(path, training):
    ds = tf.data.TFRecordDataset(path).map(parse)
    if training:
        ds = ds.shuffle(64)
    return ds.batch(BATCH).prefetch(2)


rng = np.random.RandomState(0)
write("train.tfrecord", rng.normal(size=(145, 3)))
write("test.tfrecord", rng.normal(size=(21, 3)))

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
model.fit(make_dataset("train.tfrecord", True), validation_data=make_dataset("test.tfrecord", False), epochs=2, verbose=2)
