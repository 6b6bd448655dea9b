import horovod.tensorflow.keras as hvd
import tensorflow as tf

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
