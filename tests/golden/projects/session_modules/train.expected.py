import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

from net import Net
from sessions import make_session, save

hvd.init()  # each process is a rank

x, y = np.ones((64, 4)), np.ones((64, 1))
net = Net(0.001)
sess = make_session()
sess.run(tf.global_variables_initializer())
sess.run(hvd.broadcast_global_variables(root_rank=0))
for step in range(100 // hvd.size()):
    i = np.random.randint(0, 64, 8)
    _, loss = sess.run([net.train_op, net.loss], {net.x: x[i], net.y: y[i]})
    if step % max(1, 10 // hvd.size()) == 0 and hvd.rank() == 0:
        print(step, loss)
if hvd.rank() == 0:
    save(sess, "model.ckpt")
