# A trainer whose state is a dictionary: epoch, step and best loss, kept in a file; the rate follows a cosine of its step.
import argparse
import math
import os
import pickle

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2, help="in one run")
parser.add_argument("--total", type=int, default=4)
parser.add_argument("--rate", type=float, default=0.04)
parser.add_argument("--batch", type=int, default=8)
args = parser.parse_args()

rng = np.random.RandomState(12)
x = rng.uniform(-1, 1, (96, 4)).astype("float32")
y = x @ np.array([[1.0], [2.0], [-1.0], [0.5]], "float32")


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
        self.optimizer = tf.keras.optimizers.SGD(args.rate)
        self.steps = args.total * (len(x) // args.batch)
        self.state = {"epoch": 0, "step": 0, "best": float("inf")}

    def load(self):
        if os.path.isfile("state.pkl"):
            with open("state.pkl", "rb") as file:
                saved = pickle.load(file)
            self.model.set_weights(saved.pop("weights"))
            self.state.update(saved)

    def save(self):
        with open("state.pkl", "wb") as file:
            pickle.dump(dict(self.state, weights=self.model.get_weights()), file)
        print("saved at", self.state["step"])

    def rate(self):
        return args.rate * 0.5 * (1 + math.cos(math.pi * self.state["step"] / self.steps))

    def update(self, rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x[rows], training=True) - y[rows]) ** 2)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.state["step"] += 1

    def run(self):
        self.load()
        self.optimizer.learning_rate.assign(self.rate())
        last = min(args.total, self.state["epoch"] + args.epochs)
        while self.state["epoch"] < last:
            order = rng.permutation(len(x))
            for i in range(0, len(x), args.batch):
                self.update(order[i : i + args.batch])
                self.optimizer.learning_rate.assign(self.rate())
            self.state["epoch"] += 1
            loss = float(tf.reduce_mean((self.model(x) - y) ** 2))
            if loss < self.state["best"]:
                self.state["best"] = loss
                self.model.save_weights("best.weights.h5")
            self.save()


Trainer().run()
