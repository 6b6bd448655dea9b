"""Constants of the experiment."""

EPOCHS = 2
UNITS = 8
PATIENCE = 3
WEIGHTS = "best.weights.h5"
