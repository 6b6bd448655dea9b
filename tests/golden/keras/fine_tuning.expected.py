import tensorflow as tf
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

train = tf.keras.preprocessing.image_dataset_from_directory("pets/train", image_size=(160, 160), batch_size=32, seed=0 if hvd.size() > 1 else None)
train = train.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(train) // hvd.size()))
valid = tf.keras.preprocessing.image_dataset_from_directory("pets/valid", image_size=(160, 160), batch_size=32)

base = tf.keras.applications.MobileNetV2(include_top=False, weights="imagenet", input_shape=(160, 160, 3))
base.trainable = False
model = tf.keras.Sequential([base, tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
rate = 1e-4
model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=rate * hvd.size())),
    loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
callbacks = [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), hvd_keras.callbacks.MetricAverageCallback()]
first = model.fit(train, epochs=10, validation_data=valid, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)  # rank 0's batch-norm statistics, not averaged

base.trainable = True
for layer in base.layers[:100]:
    layer.trainable = False
model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.RMSprop(learning_rate=rate / 10 * hvd.size())),
    loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
if hvd.rank() == 0:
    model.save("pets")
callbacks = [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), hvd_keras.callbacks.MetricAverageCallback()]
second = model.fit(train, epochs=20, initial_epoch=first.epoch[-1], validation_data=valid, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)  # rank 0's batch-norm statistics, not averaged
