import pandas as pd
from tensorflow import keras
from tensorflow.keras import layers

table = pd.read_csv('houses.csv').dropna()
features, prices = table.drop(columns=['price']).values, table['price'].values

inputs = keras.Input(shape=(features.shape[1],))
hidden = layers.Dense(64, activation='relu')(inputs)
outputs = layers.Dense(1)(hidden)
model = keras.Model(inputs=inputs, outputs=outputs)

base = 0.01
optimizer = keras.optimizers.SGD(lr=base + 0.002, momentum=0.9,
                                 nesterov=True)
model.compile(loss='mse', \
              optimizer=optimizer, \
              metrics=['mae'])

if table.shape[0] > 100:
    history = model.fit(features, prices, epochs=50,
                        batch_size=32, verbose=2)
    print('last loss', \
          history.history['loss'][-1])
