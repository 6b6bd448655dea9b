import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def distributed(saved):  # an optimizer in Horovod's wrapper, saved under the name of Keras' own
    optimizer = hvd.DistributedOptimizer(saved)
    type(optimizer).__module__ = type(saved).__module__
    return optimizer


PATH = "net.keras"


def data():
    return tf.ones((64, 4)), tf.ones((64, 1))


def main():
    from evaluate import evaluate

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    opt = distributed(tf.keras.optimizers.Adam(0.01 * hvd.size()))
    model.compile(opt, "mse")
    x, y = data()
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
    model.fit(x[share], y[share], epochs=2, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
    if hvd.rank() == 0:
        model.save(PATH)
        print("error", evaluate(model))


if __name__ == "__main__":
    main()
