import threading

import tensorflow as tf

from worlds import World

sess = tf.Session()
coord = tf.train.Coordinator()


class Worker(object):
    def __init__(self, name):
        self.world = World(name)
        self.state = tf.placeholder(tf.float32, [None, 4])
        self.value = tf.layers.dense(self.state, 1)
        self.loss = tf.reduce_mean(self.value ** 2)
        self.step = tf.train.RMSPropOptimizer(0.001).minimize(self.loss)

    def work(self):
        for i in range(1000):
            sess.run(self.step, {self.state: self.world.look()})


workers = [Worker("W_%i" % i) for i in range(4)]
sess.run(tf.global_variables_initializer())
threads = []
for worker in workers:
    job = lambda: worker.work()
    t = threading.Thread(target=job)
    t.start()
    threads.append(t)
coord.join(threads)
