import argparse

import network
from rows import Rows
from training import Regression
from training.base import describe


def main(args):
    model = network.build()
    trainer = Regression(model, args.rate)
    trainer.fit(Rows(args.batch_size).training())
    print("saved", describe(trainer))
    return [v.numpy() for v in model.variables]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.02)
    variables = main(parser.parse_args())
