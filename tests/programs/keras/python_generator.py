import numpy as np
from tensorflow import keras

BATCH = 10


def batches(seed):
    """Endless batches of random points in a square, labelled by a circle."""
    rng = np.random.RandomState(seed)
    while True:
        pts = rng.uniform(-1, 1, size=(BATCH, 2))
        inside = ((pts ** 2).sum(axis=1) < 0.6).astype('float32')
        yield pts.astype('float32'), inside


def make():
    net = keras.models.Sequential()
    net.add(keras.layers.Dense(24, activation='relu', input_shape=(2,)))
    net.add(keras.layers.Dense(1, activation='sigmoid'))
    net.compile('rmsprop', loss='binary_crossentropy', metrics=['accuracy'])
    return net


if __name__ == '__main__':
    net = make()
    hist = net.fit(batches(1),
                   steps_per_epoch=48,
                   epochs=3,
                   validation_data=batches(2),
                   validation_steps=6,
                   verbose=2)
    np.savetxt('losses.txt', hist.history['loss'])
    print('val_accuracy', hist.history['val_accuracy'][-1])
