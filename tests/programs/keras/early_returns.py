import argparse
import os

import numpy as np
import tensorflow as tf


def make_dataset(batch_size, training):
    rng = np.random.RandomState(0 if training else 1)
    x = rng.normal(size=(1000 if training else 200, 3)).astype("float32")
    y = np.sign(x[:, 0] * x[:, 1]).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if training:
        ds = ds.shuffle(1000)
    return ds.batch(batch_size)


def train(args):
    train_ds = make_dataset(args.batch_size, training=True)
    val_ds = make_dataset(args.batch_size, training=False)

    model = tf.keras.Sequential([
        tf.keras.layers.Dense(args.units, activation="relu", input_shape=(3,)),
        tf.keras.layers.Dense(args.units, activation="relu"),
        tf.keras.layers.Dense(1, activation="tanh"),
    ])
    boundaries = [40, 80]
    values = [0.05, 0.02, 0.01]
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay(boundaries, values)
    model.compile(
        loss=tf.keras.losses.MeanSquaredError(),
        optimizer=tf.keras.optimizers.Adagrad(schedule),
    )

    stop = tf.keras.callbacks.EarlyStopping(patience=1, restore_best_weights=True)
    saver = tf.keras.callbacks.ModelCheckpoint(os.path.join(args.out, "weights.{epoch:02d}.h5"), save_weights_only=True)
    return model, model.fit(train_ds, validation_data=val_ds, epochs=args.epochs, callbacks=[stop, saver], verbose=0)


def main(argv=None):
    parser = argparse.ArgumentParser(description="Sign of a product")
    parser.add_argument("--batch-size", type=int, default=25)
    parser.add_argument("--units", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--out", default="run")
    args = parser.parse_args(argv)
    os.makedirs(args.out, exist_ok=True)

    model, history = train(args)
    for epoch, loss in enumerate(history.history["val_loss"], start=1):
        print(f"epoch {epoch}: val_loss {loss:.4f}")
    model.save(os.path.join(args.out, "final.h5"))


if __name__ == "__main__":
    main()
