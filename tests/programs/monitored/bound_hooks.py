import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

LOGS = 'logs'
STEPS = 24

rng = np.random.RandomState(2)
data_x = rng.uniform(size=(80, 2)).astype('float32')
data_y = np.sin(data_x.sum(1, keepdims=True))


def pipeline(size=8):
    data = tf.data.Dataset.from_tensor_slices((data_x, data_y))
    return data.shuffle(80).repeat().batch(size)


x, y = tf.data.make_one_shot_iterator(pipeline()).get_next()
out = tf.layers.dense(tf.layers.dense(x, 5, activation=tf.nn.tanh), 1)
loss = tf.reduce_mean(tf.square(out - y))
tf.summary.scalar('loss', loss)

step = tf.train.get_or_create_global_step()
rate = tf.train.polynomial_decay(0.1, step, STEPS, 0.01)
train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)

hooks = [tf.train.StopAtStepHook(num_steps=STEPS)]
hooks.append(tf.train.CheckpointSaverHook(LOGS, save_steps=10))
hooks.append(tf.train.SummarySaverHook(save_steps=5, output_dir=LOGS, summary_op=tf.summary.merge_all()))
config = tf.ConfigProto(allow_soft_placement=True)

with tf.train.MonitoredTrainingSession(hooks=hooks, config=config) as session:
    while not session.should_stop():
        _, at = session.run([train, step])
print('trained')
