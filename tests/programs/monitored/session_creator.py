"""The parts of a monitored session put together by hand."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
inputs = rng.normal(size=(64, 4)).astype(np.float32)
labels = (inputs[:, 0] > 0).astype(np.float32).reshape(-1, 1)

step = tf.train.get_or_create_global_step()
x, y = tf.data.Dataset.from_tensor_slices((inputs, labels)).repeat().batch(8).make_one_shot_iterator().get_next()
loss = tf.losses.sigmoid_cross_entropy(y, tf.layers.dense(x, 1))
train_op = tf.train.AdamOptimizer().minimize(loss, global_step=step)

scaffold = tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=2))
creator = tf.train.ChiefSessionCreator(scaffold, config=tf.ConfigProto(), checkpoint_dir='model')
with tf.train.MonitoredSession(
        session_creator=creator,
        hooks=[tf.train.StopAtStepHook(last_step=32),
               tf.train.CheckpointSaverHook('model', save_steps=16, scaffold=scaffold)]) as sess:
    while not sess.should_stop():
        sess.run(train_op)
