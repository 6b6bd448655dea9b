"""Learning rates, schedules and optimizer strings."""

from __future__ import annotations

import pytest

from horovodize.catalogue import (
    cls,
    default_rate,
    function,
    is_a,
    is_optimizer,
    optimizer_for_string,
    optimizer_strings,
    rate_parameter,
    rate_position,
    schedule_parameters,
)
from horovodize.catalogue.data import load
from horovodize.catalogue.rates import OPTIMIZER, SCHEDULE, SCHEDULES

KERAS = "tensorflow.keras."
V1 = "tensorflow.compat.v1."


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("SGD", 0.01),
        ("Adam", 0.001),
        ("RMSprop", 0.001),
        ("Adadelta", 0.001),
        ("Adagrad", 0.001),
        ("Adamax", 0.001),
        ("Nadam", 0.001),
        ("Ftrl", 0.001),
        ("AdamW", 0.001),
        ("Lion", 0.0001),
        ("legacy.SGD", 0.01),
    ],
)
def test_default_rates(name: str, rate: float) -> None:
    assert default_rate(KERAS + "optimizers." + name) == rate


@pytest.mark.parametrize(
    ("name", "rate"),
    [("Adadelta", 1.0), ("Adagrad", 0.01), ("Adamax", 0.002), ("Nadam", 0.002), ("Adam", 0.001)],
)
def test_default_rates_of_keras_by_itself(name: str, rate: float) -> None:
    assert default_rate("keras.optimizers." + name, standalone_keras=True) == rate


@pytest.mark.parametrize(
    "name",
    [
        V1 + "train.GradientDescentOptimizer",  # takes one, has no default
        KERAS + "optimizers.Optimizer",
        KERAS + "mixed_precision.LossScaleOptimizer",  # wraps an optimizer that has one
        KERAS + "optimizers.schedules.CosineDecay",
        "mine.SGD",
    ],
)
def test_no_default_rate(name: str) -> None:
    assert default_rate(name) is None


def test_rate_parameters() -> None:
    assert rate_parameter(KERAS + "optimizers.SGD") == ("learning_rate", "lr")
    assert rate_parameter("keras.optimizers.SGD") == ("learning_rate", "lr")
    assert rate_parameter(V1 + "train.AdamOptimizer") == ("learning_rate",)
    assert rate_parameter(KERAS + "mixed_precision.LossScaleOptimizer") == ()
    assert rate_parameter(V1 + "train.exponential_decay") == ()
    assert rate_parameter("mine.SGD") == ()


def test_rate_positions() -> None:
    assert rate_position(KERAS + "optimizers.SGD") == 0
    assert rate_position("tensorflow_addons.optimizers.AdamW") == 1
    assert rate_position(KERAS + "optimizers.Optimizer") is None
    assert rate_position("mine.SGD") is None


def test_every_optimizer_says_where_its_rate_is_or_wraps_one() -> None:
    for name in load().classes:
        if is_optimizer(name) and not rate_parameter(name):
            found = cls(name)
            assert found is not None
            wraps = {"opt", "optimizer", "inner_optimizer"} & set(found.parameters)
            base = name.endswith(".Optimizer")
            assert wraps or base or name.endswith(".COCOB"), name


def test_every_schedule_class_is_described() -> None:
    schedules = [name for name in load().classes if is_a(name, SCHEDULE) and name != SCHEDULE]
    assert len(schedules) >= 8
    for name in schedules:
        assert schedule_parameters(name) is not None, name


def test_every_decay_function_is_described() -> None:
    decays = [name for name in load().functions if name.startswith(V1 + "train.") and "decay" in name]
    assert len(decays) == 8
    for name in [*decays, V1 + "train.piecewise_constant"]:
        assert schedule_parameters(name) is not None, name


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_schedule_descriptions_name_real_parameters(name: str) -> None:
    described = SCHEDULES[name]
    found = cls(name) or function(name)
    assert found is not None
    named = {described.rate, *described.other_rates, *described.steps, *described.step_lists}
    if described.global_step:
        named.add(described.global_step)
    assert named <= set(found.parameters)
    assert described.rate in found.parameters[:3]


def test_schedules() -> None:
    piecewise = schedule_parameters("tensorflow.train.piecewise_constant_decay")
    assert piecewise is not None
    assert (piecewise.rate, piecewise.rate_is_list) == ("values", True)
    assert piecewise.step_lists == ("boundaries",)
    assert piecewise.global_step == "x"
    polynomial = schedule_parameters("keras.optimizers.schedules.PolynomialDecay")
    assert polynomial is not None
    assert polynomial.other_rates == ("end_learning_rate",)
    assert polynomial.global_step is None
    cosine = schedule_parameters("keras.experimental.CosineDecay")
    assert cosine is not None
    assert cosine.steps == ("decay_steps", "warmup_steps")
    assert cosine.other_rates == ("warmup_target",)


@pytest.mark.parametrize("name", [SCHEDULE, KERAS + "optimizers.Adam", "mine.ExponentialDecay", ""])
def test_not_schedules(name: str) -> None:
    assert schedule_parameters(name) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("adam", "Adam"),
        ("Adam", "Adam"),
        ("SGD", "SGD"),
        ("RMSprop", "RMSprop"),
        ("nadam", "Nadam"),
        ("ftrl", "Ftrl"),
    ],
)
def test_strings_in_any_case(text: str, name: str) -> None:
    assert optimizer_for_string(text) == KERAS + "optimizers." + name
    assert optimizer_strings[text] == KERAS + "optimizers." + name
    assert text in optimizer_strings


@pytest.mark.parametrize("text", ["momentum", "adam ", "", "tf.keras.optimizers.Adam", "optimizer"])
def test_not_strings(text: str) -> None:
    assert optimizer_for_string(text) is None
    assert text not in optimizer_strings


def test_every_string_names_an_optimizer_with_a_default_rate() -> None:
    assert len(optimizer_strings) >= 11
    for name in optimizer_strings.values():
        assert is_a(name, OPTIMIZER)
        assert default_rate(name) is not None
