"""Runs of several ranks without TensorFlow and Horovod: by a launcher of the tests'."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).parent / "launcher.py"


@pytest.fixture
def launcher() -> str:
    """The value of `--launcher`, but for the number of ranks, which comes behind it."""
    return f"{sys.executable} {LAUNCHER}"
