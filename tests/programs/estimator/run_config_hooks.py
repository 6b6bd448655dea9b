# A configuration, a hook of one's own, a number of steps that is never passed
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.WARN)


class Peek(tf.train.SessionRunHook):
    def begin(self):
        self.seen = 0

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        self.seen += 1


def make_model(features, labels, mode):
    out = tf.layers.dense(features['x'], 1)
    loss = tf.losses.mean_squared_error(labels, out)
    step = tf.train.get_global_step()
    rate = tf.train.cosine_decay(0.1, step, 40)
    train_op = tf.train.MomentumOptimizer(rate, momentum=0.5).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op, predictions={'y': out})


def input_fn():
    rng = np.random.RandomState(6)
    x = rng.normal(size=(100, 3)).astype('float32')
    ds = tf.data.Dataset.from_tensor_slices(({'x': x}, x[:, :1] - x[:, 1:2]))
    return ds.repeat(4).batch(10)


config = tf.estimator.RunConfig(model_dir='out', save_checkpoints_steps=20, save_summary_steps=10)
estimator = tf.estimator.Estimator(make_model, config=config)
peek = Peek()
estimator.train(input_fn, hooks=[peek], max_steps=40)
