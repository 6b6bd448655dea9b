import tensorflow as tf

from nets import Net, Trainer


def main():
    x, y = tf.random.normal((64, 4)), tf.random.normal((64, 1))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    Trainer(Net(16)).fit(dataset, epochs=3)


if __name__ == "__main__":
    main()
