"""Learning rates: which argument of an optimizer or a schedule holds one, and what it is when nobody says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .classes import cls, is_a
from .data import load
from .makers import MAKERS
from .names import canonical

OPTIMIZER = "tensorflow.keras.optimizers.Optimizer"
V1_OPTIMIZER = "tensorflow.compat.v1.train.Optimizer"
SCHEDULE = "tensorflow.keras.optimizers.schedules.LearningRateSchedule"
_V1_TRAIN = "tensorflow.compat.v1.train."

# Keras by itself (``import keras``, releases 1 and 2 up to 2.3), which tf.keras 2 did not keep.
_STANDALONE_RATES = {"Adadelta": 1.0, "Adagrad": 0.01, "Adamax": 0.002, "Nadam": 0.002}


@dataclass(frozen=True, slots=True)
class ScheduleParameters:
    """What the parameters of a learning-rate schedule mean.

    ``rate`` holds the rate (a list of them if ``rate_is_list``) and ``other_rates`` further ones. ``steps`` count
    optimizer steps; those in ``step_lists`` hold lists of such counts. ``global_step`` holds the step itself
    (TensorFlow 1).
    """

    rate: str
    rate_is_list: bool = False
    other_rates: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    step_lists: tuple[str, ...] = ()
    global_step: str | None = None


def _schedules() -> Mapping[str, ScheduleParameters]:
    new = {
        "CosineDecay": ScheduleParameters(
            "initial_learning_rate", other_rates=("warmup_target",), steps=("decay_steps", "warmup_steps")
        ),
        "CosineDecayRestarts": ScheduleParameters("initial_learning_rate", steps=("first_decay_steps",)),
        "ExponentialDecay": ScheduleParameters("initial_learning_rate", steps=("decay_steps",)),
        "InverseTimeDecay": ScheduleParameters("initial_learning_rate", steps=("decay_steps",)),
        "PiecewiseConstantDecay": ScheduleParameters("values", rate_is_list=True, step_lists=("boundaries",)),
        "PolynomialDecay": ScheduleParameters(
            "initial_learning_rate", other_rates=("end_learning_rate",), steps=("decay_steps",)
        ),
    }
    linear = ScheduleParameters("initial_learning_rate", steps=("decay_steps",))
    plain = ScheduleParameters("learning_rate", steps=("decay_steps",), global_step="global_step")
    old = {
        "cosine_decay": plain,
        "cosine_decay_restarts": ScheduleParameters(
            "learning_rate", steps=("first_decay_steps",), global_step="global_step"
        ),
        "exponential_decay": plain,
        "inverse_time_decay": plain,
        "linear_cosine_decay": plain,
        "natural_exp_decay": plain,
        "noisy_linear_cosine_decay": plain,
        "piecewise_constant": ScheduleParameters(
            "values", rate_is_list=True, step_lists=("boundaries",), global_step="x"
        ),
        "polynomial_decay": ScheduleParameters(
            "learning_rate",
            other_rates=("end_learning_rate",),
            steps=("decay_steps",),
            global_step="global_step",
        ),
    }
    return MappingProxyType(
        {f"tensorflow.keras.optimizers.schedules.{name}": one for name, one in new.items()}
        | {
            f"tensorflow.keras.experimental.{name}": linear
            for name in ("LinearCosineDecay", "NoisyLinearCosineDecay")
        }
        | {_V1_TRAIN + name: one for name, one in old.items()}
        | {
            name: ScheduleParameters(
                "init_lr",
                other_rates=("end_lr",) if "end_lr" in parameters else (),
                steps=("num_train_steps", "num_warmup_steps"),
            )
            for name, parameters in MAKERS.items()
        }
    )


SCHEDULES = _schedules()


def schedule_parameters(name: str) -> ScheduleParameters | None:
    """What the parameters of a schedule class or a TensorFlow 1 decay function mean; None if ``name`` is neither."""
    return SCHEDULES.get(name) or SCHEDULES.get(canonical(name))


def is_optimizer(name: str) -> bool:
    """Whether ``name`` is an optimizer class, Keras' or TensorFlow 1's."""
    return is_a(name, OPTIMIZER) or is_a(name, V1_OPTIMIZER)


def rate_parameter(class_name: str) -> tuple[str, ...]:
    """What an optimizer's learning-rate parameter is called, newest name first; empty if it takes none."""
    found = cls(class_name)
    if found is None or "learning_rate" not in found.parameters or not is_optimizer(found.name):
        return ()
    return ("learning_rate", "lr") if is_a(found.name, OPTIMIZER) else ("learning_rate",)


def rate_position(class_name: str) -> int | None:
    """Where the learning rate stands by position in an optimizer's constructor, from 0; None if nowhere."""
    found = cls(class_name)
    return found.position("learning_rate") if found and is_optimizer(found.name) else None


def default_rate(class_name: str, standalone_keras: bool = False) -> float | None:
    """The learning rate of an optimizer that is given none, or None if it has to be given.

    The answer is TensorFlow 2.15's, true since 2.0. Keras installed by itself (1.x to 2.3) started Adadelta
    at 1.0, Adagrad at 0.01, Adamax and Nadam at 0.002: the answer with ``standalone_keras``.
    """
    found = cls(class_name)
    if found is None or not is_optimizer(found.name):
        return None
    family, _, last = found.name.rpartition(".")
    if standalone_keras and family == "tensorflow.keras.optimizers" and last in _STANDALONE_RATES:
        return _STANDALONE_RATES[last]
    value = found.defaults.get("learning_rate")
    return float(value) if isinstance(value, (int, float)) else None


def optimizer_for_string(text: str) -> str | None:
    """The optimizer class that ``compile(optimizer=text)`` makes, in any case; None if Keras knows no such name."""
    return load().strings.get(text.lower())


class _Strings(Mapping[str, str]):
    """The mapping behind :func:`optimizer_for_string`, for whoever wants all names; looked up in any case."""

    def __getitem__(self, text: str) -> str:
        return load().strings[text.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(load().strings)

    def __len__(self) -> int:
        return len(load().strings)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and text.lower() in load().strings


optimizer_strings: Mapping[str, str] = _Strings()
