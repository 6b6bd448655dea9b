import data
import tensorflow as tf
import horovod.tensorflow as hvd
from model import Net
from optim import make_optimizer
from step import train_step

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

model = Net()
optimizer = make_optimizer("sgd")
first_batch = True
for epoch in range(2):
    for x, y in data.load(8):
        loss = train_step(model, optimizer, x, y)
        if first_batch:  # from here on every rank holds rank 0's variables
            hvd.broadcast_variables([*model.variables, *optimizer.variables()], root_rank=0)
            first_batch = False
    if hvd.rank() == 0:
        print(epoch, float(loss))
if hvd.rank() == 0:
    model.save_weights("net.weights.h5")
