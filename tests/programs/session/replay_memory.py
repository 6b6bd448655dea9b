"""Deep Q-learning of a walk along a line, from remembered steps drawn at random."""
import numpy as np
import tensorflow as tf

CAPACITY = 60
BATCH = 16
RENEW = 10
LENGTH = 6
memory = np.zeros((CAPACITY, 2 * LENGTH + 2))
seen = 0
learnt = 0

here = tf.placeholder(tf.float32, [None, LENGTH])
there = tf.placeholder(tf.float32, [None, LENGTH])
action = tf.placeholder(tf.int32, [None])
reward = tf.placeholder(tf.float32, [None])

with tf.variable_scope('live'):
    q = tf.layers.dense(tf.layers.dense(here, 8, tf.nn.relu), 2)
with tf.variable_scope('fixed'):
    q_there = tf.layers.dense(tf.layers.dense(there, 8, tf.nn.relu, trainable=False), 2, trainable=False)

target = reward + 0.9 * tf.reduce_max(q_there, axis=1)
chosen = tf.reduce_sum(q * tf.one_hot(action, 2), axis=1)
loss = tf.reduce_mean(tf.squared_difference(tf.stop_gradient(target), chosen))
learn_op = tf.train.AdamOptimizer(0.01).minimize(loss)

live = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='live/dense')
fixed = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='fixed/dense')
renew = [tf.assign(f, l) for f, l in zip(fixed, live)]

sess = tf.Session()
sess.run(tf.global_variables_initializer())


def remember(*parts):
    global seen
    memory[seen % CAPACITY] = np.concatenate(parts)
    seen += 1


def learn():
    global learnt
    if learnt % RENEW == 0:
        sess.run(renew)
    learnt += 1
    rows = memory[np.random.choice(CAPACITY, BATCH)]
    feed = {here: rows[:, :LENGTH], there: rows[:, -LENGTH:], action: rows[:, LENGTH], reward: rows[:, LENGTH + 1]}
    return sess.run([learn_op, loss], feed)[1]


for episode in range(8):
    place = LENGTH // 2
    for _ in range(20):
        state = np.eye(LENGTH)[place]
        if np.random.uniform() < 0.8:
            move = np.argmax(sess.run(q, {here: state[np.newaxis]}))
        else:
            move = np.random.randint(2)
        place = min(max(place + 2 * move - 1, 0), LENGTH - 1)
        remember(state, [move, float(place == LENGTH - 1)], np.eye(LENGTH)[place])
        if seen > CAPACITY:
            error = learn()
    if seen > CAPACITY:
        print('episode', episode, 'error %.4f' % error)
