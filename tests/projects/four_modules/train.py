import argparse

import data
from model import Net
from optim import make_optimizer
from step import save, train_step

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--rate", type=float, default=0.02)
args = parser.parse_args()

model = Net()
optimizer = make_optimizer("sgd", args.rate)
for epoch in range(2):
    for x, y in data.load(args.batch_size):
        loss = train_step(model, optimizer, x, y)
    print("epoch", epoch, "loss", float(loss))
save(model, "net.weights.h5")
variables = [v.numpy() for v in model.variables]
