import argparse

import numpy as np
import tensorflow.compat.v1 as tf
from nets import Net, make_session, save

tf.disable_v2_behavior()


def main(args):
    random = np.random.RandomState(0)
    x = random.rand(96, 3).astype("float32")
    y = x.sum(1, keepdims=True)
    net = Net(args.rate)
    with make_session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            net.fit(sess, x, y, args.batch_size)
        save(sess, "./net.ckpt")
        return sess.run(tf.trainable_variables())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.02)
    variables = main(parser.parse_args())
