"""The running maximum of a series: a recurrent network written out, its state carried from window to window."""
import numpy as np
import tensorflow as tf

EPOCHS = 2
LANES = 4
WINDOW = 5
UNITS = 4

series = tf.placeholder(tf.float32, [LANES, WINDOW])
highest = tf.placeholder(tf.float32, [LANES, WINDOW])
before = tf.placeholder(tf.float32, [LANES, UNITS])

with tf.variable_scope("cell"):
    w_in = tf.get_variable("w_in", [1, UNITS])
    w_state = tf.get_variable("w_state", [UNITS, UNITS])
    w_out = tf.get_variable("w_out", [UNITS, 1])

state = before
guesses = []
for t in range(WINDOW):
    state = tf.tanh(tf.matmul(series[:, t:t + 1], w_in) + tf.matmul(state, w_state))
    guesses.append(tf.matmul(state, w_out))
loss = tf.losses.mean_squared_error(highest, tf.concat(guesses, axis=1))
train_op = tf.train.AdagradOptimizer(0.3).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        x = np.random.uniform(size=(LANES, 120))
        y = np.maximum.accumulate(x, axis=1)
        carried = np.zeros((LANES, UNITS))
        for at in range(0, 120, WINDOW):
            value, carried, _ = sess.run(
                [loss, state, train_op],
                feed_dict={series: x[:, at:at + WINDOW], highest: y[:, at:at + WINDOW], before: carried})
        print("epoch", epoch, "loss", value)
