import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

mnist = tf.keras.datasets.mnist
if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
    mnist.load_data()
hvd.broadcast(0, root_rank=0, name="downloaded")
(x_train, y_train), (x_test, y_test) = mnist.load_data()
x_train, x_test = x_train / 255.0, x_test / 255.0
train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shard(hvd.size(), hvd.rank()).take(len(x_train) // hvd.size()).shuffle(10000).batch(32)
test_ds = tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(32)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.flatten = tf.keras.layers.Flatten()
        self.norm = tf.keras.layers.BatchNormalization()
        self.out = tf.keras.layers.Dense(10)

    def call(self, x, training=False):
        return self.out(self.norm(self.flatten(x), training=training))


net = Net()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())
train_loss = tf.keras.metrics.Mean(name="train_loss")
test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = net(images, training=True)
        loss = loss_object(labels, predictions)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))

    train_loss(loss)


@tf.function
def test_step(images, labels):
    test_accuracy(labels, net(images))


first_batch = True
for epoch in range(5):
    # start anew at each epoch
    train_loss.reset_states()
    test_accuracy.reset_states()

    for images, labels in train_ds:
        train_step(images, labels)
        if first_batch:  # from here on every rank holds rank 0's variables
            hvd.broadcast_variables([*net.variables, *optimizer.variables()], root_rank=0)
            first_batch = False
    hvd.broadcast_variables(net.non_trainable_variables, root_rank=0)  # rank 0's batch-norm statistics, not averaged

    for images, labels in test_ds:
        test_step(images, labels)

    if hvd.rank() == 0:
        print(
            f"Epoch {epoch + 1}, "
            f"loss: {train_loss.result()}, "
            f"accuracy: {test_accuracy.result() * 100}"
        )
