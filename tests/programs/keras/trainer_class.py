#!/usr/bin/env python3
"""Train a small text classifier on made-up token sequences.

usage: trainer_class.py [--epochs 3] [--batch-size 32] [--lr 0.005]
"""
import argparse
import logging

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO)
log = logging.getLogger(__name__)


class Trainer:

    def __init__(self, args):
        self.args = args
        self.optimizer = tf.keras.optimizers.Adam(learning_rate=args.lr)
        self.model = self.build()

    def build(self):
        model = tf.keras.Sequential([
            tf.keras.layers.Embedding(50, 8, input_length=12),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(1),
        ])
        model.compile(
            optimizer=self.optimizer,
            loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
            metrics=['accuracy'],
        )
        return model

    def load(self):
        rng = np.random.default_rng(0)
        tokens = rng.integers(0, 50, size=(640, 12))
        labels = (tokens.mean(axis=1) > 25).astype('float32')
        train = tf.data.Dataset.from_tensor_slices((tokens, labels))
        return train.shuffle(640).batch(self.args.batch_size)

    def train(self):
        train_ds = self.load()
        history = self.model.fit(train_ds, epochs=self.args.epochs, verbose=2)
        return history.history

    def save(self, path):
        self.model.save_weights(path)
        log.info('weights are in %s', path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--lr', type=float, default=0.005)
    args = parser.parse_args()

    trainer = Trainer(args)
    losses = trainer.train()['loss']
    print('losses:', ', '.join('%.4f' % l for l in losses))
    trainer.save('weights.h5')


if __name__ == '__main__':
    main()
