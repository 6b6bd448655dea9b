# Goes on by a file of progress in JSON and a saved model, an epoch a fit; keeps the best.
import json
import os

import numpy as np
import tensorflow as tf

RUN_DIR = 'run'
TARGET_EPOCHS = 6
THIS_RUN = 3


def load_progress():
    path = os.path.join(RUN_DIR, 'progress.json')
    if os.path.isfile(path):
        with open(path) as f:
            return json.load(f)
    return {'epoch': 0, 'best': None, 'history': []}


def save_progress(p):
    with open(os.path.join(RUN_DIR, 'progress.json'), 'w') as f:
        json.dump(p, f, indent=1)


def make():
    m = tf.keras.Sequential([tf.keras.layers.Dense(4, activation='relu', input_shape=(3,)), tf.keras.layers.Dense(1)])
    m.compile(tf.keras.optimizers.SGD(0.02), 'mse')
    return m


if not os.path.isdir(RUN_DIR):
    os.mkdir(RUN_DIR)
progress = load_progress()
if progress['epoch']:
    model = tf.keras.models.load_model(os.path.join(RUN_DIR, 'last.keras'))
    print('continuing at epoch', progress['epoch'])
else:
    model = make()
rng = np.random.RandomState(0)
x = rng.normal(size=(128, 3)).astype('float32')
y = x.sum(1, keepdims=True)
end = min(TARGET_EPOCHS, progress['epoch'] + THIS_RUN)
while progress['epoch'] < end:
    h = model.fit(x[:96], y[:96], batch_size=8, validation_data=(x[96:], y[96:]), verbose=0)
    val = h.history['val_loss'][0]
    progress['history'].append(val)
    if progress['best'] is None or val < progress['best']:
        progress['best'] = val
        model.save(os.path.join(RUN_DIR, 'best.keras'))
    progress['epoch'] += 1
    model.save(os.path.join(RUN_DIR, 'last.keras'))
    save_progress(progress)
    print('epoch', progress['epoch'], '%.4f' % val)
