# -*- coding: utf-8 -*-
# Kreuzvalidierung in drei Teilen – größere Daten gibt es später
import numpy as np
import tensorflow as tf

SEED = 2023
np.random.seed(SEED)
X = np.random.rand(300, 4)
y = X.dot([1.0, -2.0, 3.0, 0.5])[:, None] + 0.1
folds = np.arange(300) % 3


def create_model(units=10):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(units, activation='relu', input_shape=(4,)),
        tf.keras.layers.Dense(1)
    ])
    model.compile(optimizer='sgd', loss='mse')
    return model


scores = []
for fold in range(3):
    model = create_model()
    x_fit, y_fit = X[folds != fold], y[folds != fold]
    model.fit(x_fit, y_fit, epochs=2, batch_size=10, verbose=0)
    score = model.evaluate(X[folds == fold], y[folds == fold], verbose=0)
    print(f'Fold {fold}: größte Güte {score:.4f}')  # »Güte« ist hier der Fehler
    scores.append(score)

with open('scores.txt', 'w', encoding='utf-8') as out:
    out.write('\n'.join(str(s) for s in scores))
print('mean', np.mean(scores))
