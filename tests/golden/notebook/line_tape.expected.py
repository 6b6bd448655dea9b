# %% [markdown]
# # A line, by hand

# %%
# %load_ext autoreload
# %autoreload 2
# %env CUDA_VISIBLE_DEVICES=0

# %%
import os
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
	tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
	tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard_dataset(dataset):  # this rank's share of a dataset: every size()-th element, equally many on each rank
	return dataset.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(dataset) // hvd.size()))

# %%

# %%
class Line(tf.keras.Model):
	def __init__(self):
		super().__init__()
		self.dense = tf.keras.layers.Dense(1)

	def call(self, x):
		return self.dense(x)

line = Line()
if hvd.rank() == 0:
	print(line.name)

# %%
optimizer = tf.keras.optimizers.SGD(0.05 * hvd.size())
loss_of = tf.keras.losses.MeanSquaredError()

# %%
x = np.linspace(-1, 1, 96).reshape(-1, 1).astype("float32")
y = 3 * x + 1
batches = shard_dataset(tf.data.Dataset.from_tensor_slices((x, y))).batch(8)

# %%
@tf.function
def train_step(x, y):
	with tf.GradientTape() as tape:
		loss = loss_of(y, line(x))
	tape = hvd.DistributedGradientTape(tape)
	gradients = tape.gradient(loss, line.trainable_variables)
	optimizer.apply_gradients(zip(gradients, line.trainable_variables))
	return loss

# %% [raw]
# a raw cell

# %%
first_batch = True
for epoch in range(5):
	for x_batch, y_batch in batches:
		loss = train_step(x_batch, y_batch)
		if first_batch:  # from here on every rank holds rank 0's variables
			hvd.broadcast_variables([*line.variables, *optimizer.variables()], root_rank=0)
			first_batch = False
	if hvd.rank() == 0:
		print(f"epoch {epoch}: loss {loss:.4f}")
if hvd.rank() == 0:
	line.save_weights("line.h5")

# %%
# train_step?

# %%
line.get_weights()
