import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))


def xavier(fan_in, fan_out):
    low = -np.sqrt(6.0 / (fan_in + fan_out))
    return tf.random_uniform((fan_in, fan_out), minval=low, maxval=-low, dtype=tf.float32)


class Autoencoder(object):
    def __init__(self, n_input, n_hidden, optimizer=tf.train.AdamOptimizer()):
        self.weights = {
            "w1": tf.Variable(xavier(n_input, n_hidden)),
            "w2": tf.Variable(tf.zeros([n_hidden, n_input], dtype=tf.float32)),
        }
        self.x = tf.placeholder(tf.float32, [None, n_input])
        self.hidden = tf.nn.softplus(tf.matmul(self.x, self.weights["w1"]))
        self.reconstruction = tf.matmul(self.hidden, self.weights["w2"])
        self.cost = 0.5 * tf.reduce_sum(tf.pow(tf.subtract(self.reconstruction, self.x), 2.0))
        self.optimizer = optimizer.minimize(self.cost)

        init = tf.global_variables_initializer()
        self.sess = tf.Session(config=config)
        self.sess.run(init)
        self.sess.run(hvd.broadcast_global_variables(root_rank=0))

    def partial_fit(self, X):
        cost, opt = self.sess.run((self.cost, self.optimizer), feed_dict={self.x: X})
        return cost

    def calc_total_cost(self, X):
        return self.sess.run(self.cost, feed_dict={self.x: X})


def get_random_block_from_data(data, batch_size):
    start_index = np.random.randint(0, len(data) - batch_size)
    return data[start_index:(start_index + batch_size)]


X_train, X_test = np.load("train.npy"), np.load("test.npy")
n_samples = len(X_train)
training_epochs = 20
batch_size = 128

autoencoder = Autoencoder(n_input=784, n_hidden=200,
                          optimizer=hvd.DistributedOptimizer(tf.train.AdamOptimizer(learning_rate=0.001 * hvd.size())))

for epoch in range(training_epochs):
    total_batch = int(n_samples / batch_size)
    for i in range(max(1, total_batch // hvd.size())):
        batch_xs = get_random_block_from_data(X_train, batch_size)
        cost = autoencoder.partial_fit(batch_xs)
    if hvd.rank() == 0:
        print("Epoch:", "%d," % (epoch + 1), "cost of the last batch:", cost)

if hvd.rank() == 0:
    print("Total cost: " + str(autoencoder.calc_total_cost(X_test)))
