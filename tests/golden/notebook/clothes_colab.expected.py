try:
    from IPython.display import display
except ImportError:
    display = print

# %% [markdown]
# # Sorting clothes ✓
#
# A small network on synthetic data.

# %%
#@title Setup
# !pip install -q tensorflow-datasets
# %matplotlib inline

# %%
try:
  # %tensorflow_version only exists in Colab.
  pass  # %tensorflow_version 2.x
except Exception:
  pass
import tensorflow as tf
import sys
import horovod.tensorflow.keras as hvd

# %%
import os
import numpy as np

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
  tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
  tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')
sys.stdout = sys.stdout if hvd.rank() == 0 else open(os.devnull, 'w', errors='replace')

print(tf.__version__)

# %% [markdown]
# ## Data
# Images with labels, 10 classes.

# %%
rng = np.random.default_rng(0)
labels = rng.integers(0, 10, 256)
images = rng.normal(size=(256, 28, 28)).astype('float32') + labels[:, None, None] / 5
# less than a tenth is < 0: that's fine & wanted
images.shape

# %%
images.std();

# %%
model = tf.keras.Sequential([
    tf.keras.layers.Flatten(input_shape=(28, 28)),
    tf.keras.layers.Dense(32, activation='relu'),
    tf.keras.layers.Dense(10),
])
model.summary()

# %%
model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())),
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=['accuracy'])

# %%
# %%time
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
share = slice(hvd.rank(), len(images) // hvd.size() * hvd.size(), hvd.size())
history = model.fit(images[share], labels[share], epochs=3, validation_split=0.25, callbacks=callbacks)

# %%
print('done')

# %%
print(history.history.keys())
model.evaluate(images, labels)

# %%
# %%bash
# ls -l
# echo 'it''s over'

# %%
if hvd.rank() == 0:
  display(model.predict(images[:1]).argmax())
# !ls *.h5
if hvd.rank() == 0:
  model.save('clothes.h5')
