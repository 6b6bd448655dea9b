"""What every trainer does; what a step is, is left to those derived from it."""

import settings

from . import optimizers


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = optimizers.make("sgd", rate)
        self.best = float("inf")

    @property
    def network(self):
        return self.model

    def fit(self, rows):
        bad = 0
        for epoch in range(settings.EPOCHS):
            total = 0.0
            for x, y in rows:
                total += float(self.step(x, y))
            print("epoch", epoch, "loss", total)
            if total < self.best:
                self.best, bad = total, 0
                self.save()
            else:
                bad += 1
                if bad >= settings.PATIENCE:
                    break

    def step(self, x, y):
        raise NotImplementedError

    def save(self):
        self.network.save_weights(settings.WEIGHTS)


def describe(trainer):
    from training import Regression

    return "a regression" if isinstance(trainer, Regression) else "a trainer"
