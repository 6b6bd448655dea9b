import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    """Rises, then falls with the square root of the step."""

    def __init__(self, width, warmup=4000):
        super().__init__()
        self.width = tf.cast(width, tf.float32)
        self.warmup = warmup

    def __call__(self, step):
        step = step * hvd.size()
        step = tf.cast(step, tf.float32)
        return tf.math.rsqrt(self.width) * tf.math.minimum(tf.math.rsqrt(step), step * self.warmup ** -1.5) * hvd.size()


class Trainer(object):
    def __init__(self, model, directory):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(WarmUp(128), beta_2=0.98)
        self.checkpoint = tf.train.Checkpoint(model=model, optimizer=self.optimizer)
        self.manager = tf.train.CheckpointManager(self.checkpoint, directory, max_to_keep=3)
        self.writer = tf.summary.create_file_writer(directory) if hvd.rank() == 0 else tf.summary.create_noop_writer()

    @tf.function
    def step(self, source, target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(source) - target))
        tape = hvd.DistributedGradientTape(tape)
        grads = tape.gradient(loss, self.model.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 5.0)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def fit(self, dataset, epochs):
        if self.manager.latest_checkpoint:
            self.checkpoint.restore(self.manager.latest_checkpoint)
            if hvd.rank() == 0:
                print('restored', self.manager.latest_checkpoint)
        first_batch = True
        for epoch in range(epochs):
            for number, (source, target) in enumerate(dataset):
                loss = self.step(source, target)
                if first_batch:  # from here on every rank holds rank 0's variables
                    hvd.broadcast_variables([*self.model.variables, *self.optimizer.variables()], root_rank=0)
                    first_batch = False
                if not number % max(1, 50 // hvd.size()) and hvd.rank() == 0:
                    print(f'{epoch}.{number}: {loss:.4f}')
            with self.writer.as_default():
                tf.summary.scalar('loss', loss, step=epoch)
            path = self.manager.save() if hvd.rank() == 0 else None
            if hvd.rank() == 0:
                print('saved', path)


def main():
    pairs = tf.data.Dataset.from_tensor_slices((hvd.broadcast_object(tf.random.normal([640, 8])), hvd.broadcast_object(tf.random.normal([640, 8]))))
    pairs = pairs.shard(hvd.size(), hvd.rank()).take(len(pairs) // hvd.size())
    trainer = Trainer(tf.keras.Sequential([tf.keras.layers.Dense(8)]), 'translator')
    trainer.fit(pairs.batch(32), 3)


if __name__ == '__main__':
    main()
