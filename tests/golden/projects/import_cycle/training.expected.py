import tensorflow as tf
import horovod.tensorflow as hvd

import model


def run(net, dataset):
    assert isinstance(net, model.Net)
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())
    first_batch = True
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        if first_batch:  # from here on every rank holds rank 0's variables
            hvd.broadcast_variables([*net.variables, *optimizer.variables()], root_rank=0)
            first_batch = False
