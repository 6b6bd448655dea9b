"""What all tests share."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import hypothesis
import pytest

from horovodize.rules.drafting import decisions

# Two rules that decide different things of one expression are a fault; users are asked instead.
decisions.raising = True

# Speed is measured by `make bench`: no example fails because the machine was busy for a moment.
hypothesis.settings.register_profile("horovodize", deadline=None)
hypothesis.settings.load_profile("horovodize")

# A test makes many objects and soon lets go of them: looking for garbage as often as Python does takes a third of the time.
gc.set_threshold(200_000, 50, 100)


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: no search for garbage goes through them again."""
    gc.collect()
    gc.freeze()


# What versions the machine has around is not to decide what tests see.
os.environ.pop("VIRTUAL_ENV", None)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def tf_python() -> Path:
    """The Python that has TensorFlow and Horovod (`horovodrun` is beside it). `make training` makes it.

    A test that needs it is marked `training`; without it, such a test fails: it must never pass by not running."""
    named = os.environ.get("HOROVODIZE_TF_PYTHON")
    if not named or not Path(named).exists():
        pytest.fail(
            "HOROVODIZE_TF_PYTHON names no Python: run these tests with `make training`", pytrace=False
        )
    return Path(named)
