import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))

tf.disable_v2_behavior()
w = tf.Variable(0.0)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1 * hvd.size())).minimize((w * tf.random_normal([]) - 3.0) ** 2)
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(hvd.broadcast_global_variables(root_rank=0))
    for _ in range(100 // hvd.size()):
        sess.run(train)
