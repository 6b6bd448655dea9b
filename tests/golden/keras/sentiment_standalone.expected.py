from keras.datasets import imdb
import sys
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from keras.layers import LSTM, Dense, Embedding
from keras.models import Sequential
from keras.preprocessing import sequence

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')
sys.stdout = sys.stdout if hvd.rank() == 0 else open('/dev/null', 'w', errors='replace')

max_features = 20000
# cut texts after this number of words (among top max_features most common words)
maxlen = 80

print('Loading data...')
if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
    imdb.load_data(num_words=max_features)
hvd.broadcast(0, root_rank=0, name='downloaded')
(x_train, y_train), (x_test, y_test) = imdb.load_data(num_words=max_features)
x_train = sequence.pad_sequences(x_train, maxlen=maxlen)
x_test = sequence.pad_sequences(x_test, maxlen=maxlen)

model = Sequential()
model.add(Embedding(max_features, 128))
model.add(LSTM(128))
model.add(Dense(1, activation='sigmoid'))

# try using different optimizers and different optimizer configs
model.compile(loss='binary_crossentropy',
              optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Nadam(learning_rate=0.001 * hvd.size())),
              metrics=['accuracy'])

print('Train...')
share = slice(hvd.rank(), len(x_train) // hvd.size() * hvd.size(), hvd.size())
model.fit(x_train[share], y_train[share],
          batch_size=32,
          epochs=15,
          validation_data=(x_test, y_test),
          callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()])
score, acc = model.evaluate(x_test, y_test,
                            batch_size=32)
print('Test score:', score)
print('Test accuracy:', acc)
