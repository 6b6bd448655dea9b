import tensorflow as tf
import numpy as np
import pickle

def make_data(seed, n):
    r = np.random.RandomState(seed)
    x = r.rand(n, 4).astype('float32')
    return x, np.argmax(x, axis=1)

x_train, y_train = make_data(0, 360)
x_valid, y_valid = make_data(1, 90)

batch_size = 18
epochs = 3

model = tf.keras.Sequential([
    tf.keras.layers.Dense(24, activation='relu', input_shape=(4,)),
    tf.keras.layers.Dense(4, activation='softmax'),
])
adam = tf.keras.optimizers.Adam(learning_rate=0.02)
scce = tf.keras.losses.SparseCategoricalCrossentropy()
ckpt = tf.train.Checkpoint(model=model, optimizer=adam)

best, best_path = np.inf, None
log = []
for epoch in range(epochs):
    order = np.random.permutation(len(x_train))
    for start in range(0, len(x_train), batch_size):
        rows = order[start:start + batch_size]
        with tf.GradientTape() as tape:
            loss_value = scce(y_train[rows], model(x_train[rows], training=True))
            grads = tape.gradient(loss_value, model.trainable_weights)
        adam.apply_gradients(zip(grads, model.trainable_weights))

    valid_loss = float(scce(y_valid, model(x_valid, training=False)))
    log.append(valid_loss)
    print('epoch', epoch, 'valid', round(valid_loss, 4))
    if valid_loss < best:
        best = valid_loss
        best_path = ckpt.save('best/ckpt')

print('restoring', best_path)
ckpt.restore(best_path).assert_consumed()
print('valid again', float(scce(y_valid, model(x_valid))))
with open('log.pkl', 'wb') as handle:
    pickle.dump(log, handle)
