# A checkpoint keeps the step and an optimizer whose rate goes by its own count; the manager says when to save: 120 steps, up to 60 in one run.
import numpy as np
import tensorflow as tf

STEPS, IN_ONE_RUN = 120, 60

rng = np.random.RandomState(21)
x = rng.normal(size=(240, 4)).astype("float32")
y = x @ np.array([[1.0], [-1.0], [2.0], [0.5]], "float32")
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(240, seed=5).repeat().batch(12)

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
step = tf.Variable(0, dtype=tf.int64)
optimizer = tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(0.05, STEPS))
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
manager = tf.train.CheckpointManager(checkpoint, "kept", max_to_keep=3, step_counter=step, checkpoint_interval=20)
if manager.restore_or_initialize():
    print("goes on")

begun = int(step)
for features, targets in rows:
    if step >= STEPS or step >= begun + IN_ONE_RUN:
        break
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(features) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    step.assign_add(1)
    if manager.save():
        print("saved")
manager.save(check_interval=False)
print("ends")
