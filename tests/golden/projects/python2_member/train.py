import tensorflow as tf

from model import train

train(tf.ones((8, 3)), tf.ones((8, 1)))
