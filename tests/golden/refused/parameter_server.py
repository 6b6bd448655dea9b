import tensorflow as tf

loss = tf.reduce_sum(tf.square(tf.get_variable("w", [3]) - 1.0))
step = tf.train.get_or_create_global_step()
train_op = tf.train.AdagradOptimizer(0.01).minimize(loss, global_step=step)
hooks = [tf.train.StopAtStepHook(last_step=1000000)]
with tf.train.MonitoredTrainingSession(master=server.target,
                                       is_chief=(FLAGS.task_index == 0),
                                       checkpoint_dir="/tmp/logs",
                                       hooks=hooks) as session:
    while not session.should_stop():
        session.run(train_op)
