import tensorflow as flow

from feed import batches
from model import net as make_net

hvd = "a name that is taken"
model = make_net()
opt = flow.optimizers.RMSprop(0.01)
for x, y in batches():
    with flow.GradientTape() as tape:
        loss = flow.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
