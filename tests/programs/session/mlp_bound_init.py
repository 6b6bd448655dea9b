import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

data = input_data.read_data_sets("data/mnist", one_hot=True)

#######################
# what is computed
#######################
image = tf.placeholder(tf.float32, [None, 784], name='image')
label = tf.placeholder(tf.float32, [None, 10], name='label')
keep = tf.placeholder(tf.float32)

hidden = tf.layers.dense(image, 12, activation=tf.nn.relu)
hidden = tf.nn.dropout(hidden, keep)
logits = tf.layers.dense(hidden, 10)

loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=label))
train_op = tf.train.AdamOptimizer(0.005).minimize(loss)
hits = tf.equal(tf.argmax(logits, 1), tf.argmax(label, 1))
accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))

#######################
# how it is trained
#######################
init = tf.global_variables_initializer()
sess = tf.Session()
sess.run(init)

batch_size = 20
steps = data.train.num_examples // batch_size

for epoch in range(1, 3):
    total = 0.0
    for step in range(steps):
        x, y = data.train.next_batch(batch_size)
        _, l = sess.run([train_op, loss],
                        feed_dict={image: x,
                                   label: y,
                                   keep: 0.8})
        total += l
    print('epoch %d: mean loss %.3f' % (epoch, total / steps),
          'validation %.2f' % sess.run(accuracy, {image: data.validation.images,
                                                  label: data.validation.labels,
                                                  keep: 1.0}))

print('test %.2f' % sess.run(accuracy, {image: data.test.images, label: data.test.labels, keep: 1.0}))
sess.close()
