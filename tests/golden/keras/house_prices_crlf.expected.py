import pandas as pd
from tensorflow import keras
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from tensorflow.keras import layers

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')

table = pd.read_csv('houses.csv').dropna()
features, prices = table.drop(columns=['price']).values, table['price'].values

inputs = keras.Input(shape=(features.shape[1],))
hidden = layers.Dense(64, activation='relu')(inputs)
outputs = layers.Dense(1)(hidden)
model = keras.Model(inputs=inputs, outputs=outputs)

base = 0.01
optimizer = keras.optimizers.SGD(lr=(base + 0.002) * hvd.size(), momentum=0.9,
                                 nesterov=True)
optimizer = hvd.DistributedOptimizer(optimizer)
model.compile(loss='mse', \
              optimizer=optimizer, \
              metrics=['mae'])

if table.shape[0] > 100:
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    share = slice(hvd.rank(), len(features) // hvd.size() * hvd.size(), hvd.size())
    history = model.fit(features[share], prices[share], epochs=50,
                        batch_size=32, verbose=2 if hvd.rank() == 0 else 0, callbacks=callbacks)
    if hvd.rank() == 0:
        print('last loss', \
              history.history['loss'][-1])
