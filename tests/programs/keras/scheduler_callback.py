import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential, callbacks, layers, optimizers

np.random.seed(1234)

NUM_CLASSES = 3
n = 450
y = np.random.randint(NUM_CLASSES, size=n)
x = np.eye(NUM_CLASSES)[y] + 0.4 * np.random.randn(n, NUM_CLASSES)
y = tf.keras.utils.to_categorical(y, NUM_CLASSES)


def step_decay(epoch):
  rate = 0.1
  if epoch >= 2:
    rate = 0.05
  if epoch >= 3:
    rate = 0.01
  return rate


model = Sequential()
model.add(layers.Dense(12, activation='relu', input_shape=(NUM_CLASSES,)))
model.add(layers.Dense(NUM_CLASSES, activation='softmax'))

sgd = optimizers.legacy.SGD(lr=0.1, momentum=0.9, nesterov=True)
model.compile(loss='categorical_crossentropy', optimizer=sgd, metrics=['accuracy'])

lrate = callbacks.LearningRateScheduler(step_decay)
show = callbacks.LambdaCallback(
  on_epoch_end=lambda epoch, logs: print('epoch', epoch, 'loss', round(float(logs['loss']), 4)))

model.fit(x, y, epochs=4, batch_size=15, verbose=0, callbacks=[lrate, show])

score = model.evaluate(x, y, verbose=0)
print('Train loss:', score[0])
print('Train accuracy:', score[1])
model.save_weights('final_weights.h5')
