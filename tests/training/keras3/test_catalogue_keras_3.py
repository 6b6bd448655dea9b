"""What the catalogue says of Keras 3, compared with Keras 2 and Keras 3 as they are."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from horovodize import catalogue
from tests.training.running import KERAS_2, KERAS_3

CATALOGUE = Path(catalogue.__file__).parent
pytestmark = [pytest.mark.keras3, pytest.mark.timeout(600)]


def run(python: Path, *arguments: str, text: str = "") -> str:
    command = [str(python), str(CATALOGUE / "generate_keras_3.py"), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_data_is_what_the_generator_makes() -> None:
    made = json.loads(run(KERAS_3.python, text=run(KERAS_2.python, "names")))
    kept = json.loads((CATALOGUE / "keras_3.json").read_text(encoding="utf-8"))
    assert made["gone"] == kept["gone"]
    assert made["optimizers"] == kept["optimizers"]
