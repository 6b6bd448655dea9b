import tensorflow as tf

print(tf.reduce_sum(tf.range(10)))
