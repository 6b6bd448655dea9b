import tensorflow.compat.v1 as tf


def make_session():
    config = tf.ConfigProto(allow_soft_placement=True)
    return tf.Session(config=config)


def save(sess, path):
    tf.train.Saver().save(sess, path)
    print("saved", path)
