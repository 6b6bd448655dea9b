import tensorflow as flow
import tensorflow
import horovod.tensorflow as hvd_hvd

from feed import batches
from model import net as make_net

hvd_hvd.init()  # each process is a rank, and gets one GPU
gpus = tensorflow.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tensorflow.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tensorflow.config.experimental.set_visible_devices(gpus[hvd_hvd.local_rank()], "GPU")

hvd = "a name that is taken"
model = make_net()
opt = flow.optimizers.RMSprop(0.01 * hvd_hvd.size())
first_batch = True
for x, y in batches():
    with flow.GradientTape() as tape:
        loss = flow.reduce_mean((model(x) - y) ** 2)
    tape = hvd_hvd.DistributedGradientTape(tape)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first_batch:  # from here on every rank holds rank 0's variables
        hvd_hvd.broadcast_variables([*model.variables, *opt.variables()], root_rank=0)
        first_batch = False
