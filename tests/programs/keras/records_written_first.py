"""Writes its data as records, then reads them back by a pattern."""
import os

import numpy as np
import tensorflow as tf

SHARDS, ROWS, BATCH = 4, 40, 8


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


def load(pattern):
    files = tf.data.Dataset.list_files(pattern, shuffle=False)
    return files.interleave(tf.data.TFRecordDataset, cycle_length=2).map(parse)


rng = np.random.RandomState(0)
os.makedirs("records", exist_ok=True)
for i in range(SHARDS):
    write(f"records/part-{i}.tfrecord", rng.normal(size=(ROWS, 3)))

train = load("records/part-*.tfrecord").shuffle(64).batch(BATCH)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
model.fit(train, epochs=2, verbose=2)
