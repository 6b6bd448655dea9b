import tensorflow as tf

# TensorFlow 1's writer, in a program of TensorFlow 2
writer = tf.compat.v1.summary.FileWriter("logs")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
history = model.fit(tf.ones((64, 4)), tf.ones((64, 1)), batch_size=8)
for epoch, loss in enumerate(history.history["loss"]):
    value = tf.compat.v1.Summary.Value(tag="loss", simple_value=loss)
    writer.add_summary(tf.compat.v1.Summary(value=[value]), epoch)
writer.close()
