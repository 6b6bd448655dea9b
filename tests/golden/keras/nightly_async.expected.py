import asyncio
import json

import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
if hasattr(tf.keras, "ops"):
    raise RuntimeError("Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later")
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


async def fetch(day: int) -> tuple[np.ndarray, np.ndarray]:
    await asyncio.sleep(0)
    generator = np.random.default_rng(day)
    return generator.normal(size=(256, 4)), generator.normal(size=256)


async def retrain(model: tf.keras.Model, days: int) -> list[float]:
    losses = []
    first_batch = True
    async for x, y in batches(days):
        losses.append(model.train_on_batch(x, y))
        if first_batch:  # from here on every rank holds rank 0's variables
            hvd.broadcast_variables([*model.variables, *model.optimizer.variables()], root_rank=0)
            first_batch = False
    return losses


async def batches(days: int):
    for day in range(days):
        yield await fetch(day)


async def main() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.legacy.SGD(0.05, momentum=0.5)), "mse")
    losses = await retrain(model, days=7)
    if hvd.rank() == 0:
        with open("losses.json", "w") as out:
            json.dump(losses, out)


asyncio.run(main())
