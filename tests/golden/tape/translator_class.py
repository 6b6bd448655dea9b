import tensorflow as tf


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    """Rises, then falls with the square root of the step."""

    def __init__(self, width, warmup=4000):
        super().__init__()
        self.width = tf.cast(width, tf.float32)
        self.warmup = warmup

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return tf.math.rsqrt(self.width) * tf.math.minimum(tf.math.rsqrt(step), step * self.warmup ** -1.5)


class Trainer(object):
    def __init__(self, model, directory):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(WarmUp(128), beta_2=0.98)
        self.checkpoint = tf.train.Checkpoint(model=model, optimizer=self.optimizer)
        self.manager = tf.train.CheckpointManager(self.checkpoint, directory, max_to_keep=3)
        self.writer = tf.summary.create_file_writer(directory)

    @tf.function
    def step(self, source, target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(source) - target))
        grads = tape.gradient(loss, self.model.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 5.0)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def fit(self, dataset, epochs):
        if self.manager.latest_checkpoint:
            self.checkpoint.restore(self.manager.latest_checkpoint)
            print('restored', self.manager.latest_checkpoint)
        for epoch in range(epochs):
            for number, (source, target) in enumerate(dataset):
                loss = self.step(source, target)
                if not number % 50:
                    print(f'{epoch}.{number}: {loss:.4f}')
            with self.writer.as_default():
                tf.summary.scalar('loss', loss, step=epoch)
            path = self.manager.save()
            print('saved', path)


def main():
    pairs = tf.data.Dataset.from_tensor_slices((tf.random.normal([640, 8]), tf.random.normal([640, 8])))
    trainer = Trainer(tf.keras.Sequential([tf.keras.layers.Dense(8)]), 'translator')
    trainer.fit(pairs.batch(32), 3)


if __name__ == '__main__':
    main()
