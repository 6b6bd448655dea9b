import tensorflow as tf

from net import Net

net = Net(0.001)
with tf.Session() as sess:
    tf.train.Saver().restore(sess, "model.ckpt")
    print(sess.run(net.loss, {net.x: [[1, 2, 3, 4]], net.y: [[1]]}))
