import tensorflow as tf

model = tf.keras.Sequential()
print "building"
model.compile("sgd", "mse")
