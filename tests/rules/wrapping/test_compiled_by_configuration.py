"""K1: a model that Keras 3 compiles by a configuration has an optimizer that averages nothing."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from horovodize.summary import summarize

PROGRAM = """\
import keras
import numpy as np
x, y = np.load("x.npy"), np.load("y.npy")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y)
other = {made}
{compiled}
{trained}
"""
CONFIGURED = "other.compile_from_config(model.get_compile_config())"


@pytest.mark.parametrize(
    "made",
    [
        "keras.models.load_model('m.keras', compile=False)",
        "keras.Sequential([keras.layers.Dense(1)])",
        "keras.models.clone_model(model)",
    ],
)
def test_one_that_is_trained_is_refused(made: str) -> None:
    """Each rank trained another model, without a word."""
    found = distribute(
        summarize(Document(PROGRAM.format(made=made, compiled=CONFIGURED, trained="other.fit(x, y)")))
    )
    assert isinstance(found, Refusal)
    assert [r.code for r in found.reasons] == ["HVD105"]


@pytest.mark.parametrize(
    ("compiled", "trained"),
    [(CONFIGURED, "other.evaluate(x, y)"), ("other.compile('sgd', 'mse')", "other.fit(x, y)")],
)
def test_others_are_distributed(compiled: str, trained: str) -> None:
    made = "keras.models.load_model('m.keras', compile=False)"
    found = distribute(summarize(Document(PROGRAM.format(made=made, compiled=compiled, trained=trained))))
    assert isinstance(found, Plan)
