"""The catalogue against the real TensorFlow: is the data what it would be today, and are names the same objects?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from horovodize import catalogue
from horovodize.catalogue import canonical, cls, default_rate, function, is_a, optimizer_for_string

HERE = Path(__file__).parent
CATALOGUE = Path(catalogue.__file__).parent
sys.path.insert(0, str(HERE))

from spellings import SPELLINGS, TWINS  # noqa: E402  (a neighbour, wherever pytest was started)


@pytest.fixture(scope="module")
def interpreter() -> str:
    found = os.environ.get("HOROVODIZE_TF_PYTHON")
    if not found:
        pytest.fail("HOROVODIZE_TF_PYTHON names no interpreter that has TensorFlow: run through make test")
    return found


def run(interpreter: str, *arguments: str, text: str = "") -> str:
    done = subprocess.run(
        [interpreter, *arguments], input=text, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def real(interpreter: str) -> dict[str, Any]:
    """What ``tensorflow_probe.py`` saw."""
    answer: dict[str, Any] = json.loads(
        run(
            interpreter,
            str(HERE / "tensorflow_probe.py"),
            str(CATALOGUE / "generate.py"),
            text=json.dumps(SPELLINGS),
        )
    )
    return answer


@pytest.mark.timeout(600)
def test_the_data_is_what_the_generator_makes(interpreter: str) -> None:
    made = run(interpreter, str(CATALOGUE / "generate.py"))
    assert made == (CATALOGUE / "data.json").read_text(encoding="utf-8")


def test_every_spelling_exists(real: dict[str, Any]) -> None:
    assert len(set(SPELLINGS)) >= 200
    assert [name for name, thing in real["spelled"].items() if thing is None] == []


def test_spellings_are_one_name_exactly_if_they_are_one_object(real: dict[str, Any]) -> None:
    spelled = {name: thing for name, thing in real["spelled"].items() if not name.startswith(TWINS)}
    assert len(spelled) >= 200
    assert_names_are_objects(spelled)


def test_catalogued_public_names_are_one_name_exactly_if_they_are_one_object(real: dict[str, Any]) -> None:
    catalogued = {
        name: thing
        for name, thing in real["public"].items()
        if thing is not None and not name.startswith(TWINS) and (cls(name) or function(name))
    }
    assert len(catalogued) > 1500
    assert_names_are_objects(catalogued)


def assert_names_are_objects(things: dict[str, int]) -> None:
    names: dict[int, set[str]] = defaultdict(set)
    objects: dict[str, set[int]] = defaultdict(set)
    for name, thing in things.items():
        names[thing].add(canonical(name))
        objects[canonical(name)].add(thing)
    assert [found for found in names.values() if len(found) > 1] == []
    shared = {name for name, found in objects.items() if len(found) > 1}
    assert {name: [n for n in things if canonical(n) == name] for name in shared} == {}


def test_twins_have_the_name_of_their_successor(real: dict[str, Any]) -> None:
    public = real["public"]
    twins = [name for name in public if name.startswith(TWINS) and (cls(name) or function(name))]
    differing = [name for name in twins if public[name] != public.get(name.replace("compat.v1.", ""))]
    assert len(differing) > 20
    for name in twins:
        modern = name.replace("compat.v1.", "")
        if modern in public:
            assert canonical(name) == canonical(modern), name


def test_classes_derive_from_what_they_really_derive_from(real: dict[str, Any]) -> None:
    # Said to derive from Keras' optimizer base although they do not (``supplement.ALSO_DERIVED``).
    ours = "tensorflow.keras.optimizers.Optimizer"
    checked = 0
    for name, bases in real["bases"].items():
        if name.startswith(TWINS) or cls(name) is None:
            continue
        checked += 1
        expected = set(bases)
        if ".legacy." in name or name.endswith(".LossScaleOptimizer"):
            assert is_a(name, ours)
            expected.add(ours)
        families = {
            "tensorflow.keras.optimizers.Optimizer",
            "tensorflow.keras.optimizers.schedules.LearningRateSchedule",
            "tensorflow.keras.callbacks.Callback",
            "tensorflow.keras.layers.Layer",
            "tensorflow.keras.Model",
            "tensorflow.data.Dataset",
            "tensorflow.compat.v1.train.Optimizer",
            "tensorflow.compat.v1.train.SessionRunHook",
        }
        assert {family for family in families if is_a(name, family)} == expected, name
    assert checked > 500


def test_every_optimizer_layer_and_callback_is_catalogued(real: dict[str, Any]) -> None:
    metrics = ("metrics.", ".dtensor.")
    for name, bases in real["bases"].items():
        if bases and not any(part in name for part in metrics):
            assert cls(name) is not None, name


def test_default_rates(real: dict[str, Any]) -> None:
    rates = {name: rate for name, rate in real["rates"].items() if rate is not None}
    assert len(rates) > 15
    for name, rate in rates.items():
        assert default_rate(name) == pytest.approx(rate, rel=1e-6), name


def test_strings(real: dict[str, Any]) -> None:
    for text, thing in real["strings"].items():
        name = optimizer_for_string(text)
        assert name is not None
        assert real["public"][name] == thing, text
