import tensorflow as tf
import horovod.tensorflow as hvd


def make_session():
    config = tf.ConfigProto(allow_soft_placement=True)
    config.gpu_options.visible_device_list = str(hvd.local_rank())
    config.gpu_options.allow_growth = True
    return tf.Session(config=config)


def save(sess, path):
    tf.train.Saver().save(sess, path)
    print("saved to", path)
