"""Trains batch by batch, by hand."""
import numpy as np
from tensorflow.keras.layers import Dense, LeakyReLU
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam as A

batch_size = 24
epochs = 3

rs = np.random.RandomState(99)
X = rs.rand(480, 10).astype("float32")
Y = (X[:, :5].sum(axis=1) > X[:, 5:].sum(axis=1)).astype("float32")

net = Sequential()
net.add(Dense(16, input_dim=10))
net.add(LeakyReLU(0.2))
net.add(Dense(1, activation="sigmoid"))
net.compile(loss="binary_crossentropy", optimizer=A(0.01), metrics=["accuracy"])

steps = len(X) // batch_size
for epoch in range(epochs):
    order = np.random.permutation(len(X))
    total = 0.0
    for step in range(steps):
        picked = order[step * batch_size:(step + 1) * batch_size]
        loss, acc = net.train_on_batch(X[picked], Y[picked])
        total += loss
    print("epoch %d: loss %.4f, last accuracy %.2f" % (epoch + 1, total / steps, acc))

net.save("net.keras")
