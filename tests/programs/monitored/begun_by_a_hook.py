# Hooks of its own: one begins the data with arrays, one stops at a smoothed loss, one tells every so many steps.
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
BATCH, LAST = 8, 60


class BeginData(tf.train.SessionRunHook):
    def __init__(self, iterator, feed):
        self.iterator, self.feed = iterator, feed

    def after_create_session(self, session, coord):
        session.run(self.iterator.initializer, self.feed)


class StopWhenGood(tf.train.SessionRunHook):
    def __init__(self, loss, limit):
        self.loss, self.limit, self.mean = loss, limit, None

    def before_run(self, context):
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, context, values):
        self.mean = values.results if self.mean is None else 0.9 * self.mean + 0.1 * values.results
        if self.mean < self.limit:
            print("good enough")
            context.request_stop()


class Progress(tf.train.SessionRunHook):
    def __init__(self, every):
        self.every, self.last = every, 0

    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, context, values):
        if values.results - self.last >= self.every:
            self.last = values.results
            print("progress")


rng = np.random.RandomState(0)
rows = rng.uniform(-1, 1, (160, 3)).astype("float32")
labels = rows @ np.array([[1.0], [-2.0], [0.5]], "float32")
some_rows, some_labels = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
data = tf.data.Dataset.from_tensor_slices((some_rows, some_labels)).shuffle(160).repeat().batch(BATCH)
iterator = tf.data.make_initializable_iterator(data)
x, y = iterator.get_next()
loss = tf.losses.mean_squared_error(y, tf.layers.dense(x, 1))
step = tf.train.get_or_create_global_step()
rate = tf.train.polynomial_decay(0.02, step, LAST, 0.002)
optimizer = tf.train.GradientDescentOptimizer(rate)
gradients, variables = zip(*optimizer.compute_gradients(loss))
gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
train = optimizer.apply_gradients(zip(gradients, variables), global_step=step)

hooks = [
    BeginData(iterator, {some_rows: rows, some_labels: labels}),
    Progress(12),
    StopWhenGood(loss, 1e-9),
    tf.train.StopAtStepHook(last_step=LAST),
]
with tf.train.MonitoredTrainingSession(hooks=hooks, save_checkpoint_steps=20, checkpoint_dir="kept") as session:
    while not session.should_stop():
        session.run(train)
