"""Which argument of a schedule of TensorFlow's is the rate that training starts with."""

from __future__ import annotations

SCHEDULES = "tensorflow.keras.optimizers.schedules."
OF_GRAPHS = "tensorflow.compat.v1.train."
FIRST_RATES = {  # what gives the first rate, and where it stands; of boundaries the list of rates
    **dict.fromkeys(
        (
            SCHEDULES + name
            for name in (
                "ExponentialDecay", "CosineDecay", "CosineDecayRestarts", "PolynomialDecay", "InverseTimeDecay",
            )
        ),
        ("initial_learning_rate", 0),
    ),
    **dict.fromkeys(
        (
            OF_GRAPHS + name
            for name in (
                "exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay", "cosine_decay",
                "linear_cosine_decay", "cosine_decay_restarts",
            )
        ),
        ("learning_rate", 0),
    ),
    SCHEDULES + "PiecewiseConstantDecay": ("values", 1),
    OF_GRAPHS + "piecewise_constant": ("values", 2),
    OF_GRAPHS + "piecewise_constant_decay": ("values", 2),
}  # fmt: skip
