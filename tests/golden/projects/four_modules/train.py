import data
from model import Net
from optim import make_optimizer
from step import train_step

model = Net()
optimizer = make_optimizer("sgd")
for epoch in range(2):
    for x, y in data.load(8):
        loss = train_step(model, optimizer, x, y)
    print(epoch, float(loss))
model.save_weights("net.weights.h5")
