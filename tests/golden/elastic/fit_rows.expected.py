import numpy as np
import tensorflow as tf
import horovod_elastic as elastic
import horovod.tensorflow.keras as hvd

hvd.init()  # each process is a rank, and gets one GPU
if hasattr(tf.keras, "ops"):
    raise RuntimeError("Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later")
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def stops_together(callback, hook):  # a callback: when it stops training on one rank, all of them stop
    check = getattr(callback, hook)

    def check_all(*arguments, **keywords):
        check(*arguments, **keywords)
        stops = tf.cast(callback.model.stop_training, tf.float32)
        callback.model.stop_training = bool(hvd.allreduce(stops) > 0)

    setattr(callback, hook, check_all)
    return callback


rng = np.random.default_rng(3)
features = rng.normal(size=(384, 6)).astype("float32")
targets = (features @ rng.normal(size=(6, 2)) + 0.5).astype("float32")

dataset = elastic.rows_left(tf.data.Dataset.from_tensor_slices((features, targets)))
dataset = dataset.batch(16).prefetch(2)

model = tf.keras.Sequential([
    tf.keras.Input(shape=(6,)),
    tf.keras.layers.Dense(10, activation="tanh"),
    tf.keras.layers.Dense(2),
])
model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.02 * hvd.size())))
state = elastic.State(model, model.optimizer)  # what training goes on from when ranks die or join


@elastic.run
def train(state):
    return model.fit(
        dataset,
        epochs=5,
        verbose=2 if hvd.rank() == 0 else 0,
        callbacks=[
            hvd.callbacks.MetricAverageCallback(),
            elastic.CommitEpochs(state),
            *([tf.keras.callbacks.ModelCheckpoint("kept.h5")] if hvd.rank() == 0 else []),
            stops_together(tf.keras.callbacks.TerminateOnNaN(), "on_train_batch_end")],
        initial_epoch=state.epoch,
    )


history = train(state)
if hvd.rank() == 0:
    print("epochs:", len(history.history["loss"]))
    print("last loss", history.history["loss"][-1])
