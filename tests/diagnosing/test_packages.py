"""What is said of an interpreter's packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from horovodize.diagnosing import State
from horovodize.diagnosing.interpreter import Packages, Seen
from horovodize.diagnosing.packages import by_import, by_metadata, on_path, xla


def packages(
    tensorflow: str = "2.15.1", keras: str = "2.15.0", horovod: str = "0.28.1", **more: Any
) -> Packages:
    versions = {
        "tensorflow-cpu": tensorflow,
        "keras": keras,
        "horovod": horovod,
        "tf-keras": more.pop("tf_keras", ""),
    }
    versions.update(more.pop("others", {}))
    return Packages(versions=versions, **{"python": "3.11.2", "built_for": tensorflow, **more})


def states(found: Packages, environment: Mapping[str, str] | None = None) -> dict[str, tuple[State, str]]:
    lines = by_metadata(found, "/env/bin/python", environment or {})
    return {line.topic: (line.state, f"{line.text} → {line.remedy}") for line in lines}


LEGACY = {"TF_USE_LEGACY_KERAS": "1"}


@pytest.mark.parametrize(
    ("found", "environment"),
    [
        (packages(), {}),
        (packages("2.21.0", "3.15.1"), {}),
        (packages("2.21.0", "3.15.1", tf_keras="2.21.0"), LEGACY),
        (packages("2.15.1", "2.15.0"), LEGACY),  # means nothing there
        (packages(others={"tensorflow": "2.15.1"}), {}),
    ],
)
def test_what_goes_together(found: Packages, environment: Mapping[str, str]) -> None:
    assert {state for state, _ in states(found, environment).values()} == {State.OK}


@pytest.mark.parametrize(
    ("found", "environment", "topic", "what"),
    [
        (packages("", "", built_for="2.15.1"), {}, "TensorFlow", "not installed"),
        (
            packages(others={"tensorflow": "2.14.1"}, built_for="2.14.1"),
            {},
            "TensorFlow",
            "overwrite each other",
        ),
        (packages("2.15.1", "3.15.1"), {}, "Keras", "'keras<3'"),
        (packages("2.21.0", "3.15.1"), LEGACY, "Keras", "'tf-keras==2.21.*'"),
        (packages("2.21.0", ""), {}, "Keras", "not installed"),
        (packages(horovod=""), {}, "Horovod", "build-horovod --python /env/bin/python"),
        (packages(built_for="2.14.0"), {}, "Horovod", "built for TensorFlow 2.14.0, not 2.15.1"),
        (packages(built_for=""), {}, "Horovod", "without TensorFlow"),
        (packages(distutils=False, python="3.12.1"), {}, "horovodrun", "Python 3.12 doesn't have"),
    ],
)
def test_what_does_not(found: Packages, environment: Mapping[str, str], topic: str, what: str) -> None:
    said = states(found, environment)
    assert [t for t, (state, _) in said.items() if state is State.PROBLEM] == [topic]
    assert what in said[topic][1]


BUILT = {"Gloo": True, "MPI": False, "NCCL": False}


def by_topic(seen: Seen, ranks: int = 2, gpus: int | None = None) -> dict[str, tuple[State, str]]:
    return {
        x.topic: (x.state, f"{x.text} → {x.remedy}") for x in by_import(seen, "/env/bin/python", ranks, gpus)
    }


@pytest.mark.parametrize(
    ("gpus", "listed", "nccl", "state", "what"),
    [
        (0, None, False, State.OK, "trains on the CPU"),
        (0, 0, False, State.OK, "trains on the CPU"),
        (2, 2, True, State.OK, "2 for 2 ranks"),
        (4, 4, True, State.OK, "4 for 2 ranks"),
        (2, 2, False, State.NOTE, "HOROVOD_GPU_OPERATIONS=NCCL"),
        (1, 1, True, State.PROBLEM, "at most 1"),
        (0, 4, True, State.PROBLEM, "nvidia-smi lists 4"),
    ],
)
def test_gpus(gpus: int, listed: int | None, nccl: bool, state: State, what: str) -> None:
    said = by_topic(Seen(gpus=gpus, built={**BUILT, "NCCL": nccl}), gpus=listed)
    assert said["GPUs"][0] is state
    assert what in said["GPUs"][1]


def test_what_can_not_be_imported() -> None:
    assert by_topic(Seen("horovod", "ImportError: undefined symbol"))["import"][1].endswith(
        "--python /env/bin/python"
    )
    assert "ends the process" in by_topic(Seen("python", "Illegal instruction"))["import"][1]
    assert by_topic(Seen(built={"Gloo": False, "MPI": False}))["controllers"][0] is State.PROBLEM


@pytest.mark.parametrize(
    ("tensorflow", "environment", "state"),
    [
        ("2.15.1", {}, State.OK),
        ("2.15.1", {"TF_XLA_FLAGS": "--tf_xla_auto_jit=-1 --tf_xla_clustering_debug"}, State.OK),
        ("2.15.1", {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}, State.NOTE),
        ("2.15.1", {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2", "HOROVOD_ENABLE_XLA_OPS": "1"}, State.OK),
        ("2.21.0", {"HOROVOD_ENABLE_XLA_OPS": "1"}, State.PROBLEM),
    ],
)
def test_xla(tensorflow: str, environment: Mapping[str, str], state: State) -> None:
    assert xla(packages(tensorflow), environment).state is state


def test_which_horovodrun_a_shell_finds() -> None:
    assert on_path("/env/bin/horovodrun", "/env/bin/horovodrun") is None
    for found, beside, what in (
        (None, "/env/bin/horovodrun", "not on the PATH"),
        ("/usr/bin/horovodrun", "/env/bin/horovodrun", "/usr/bin/horovodrun"),
        ("/usr/bin/horovodrun", "", "not beside"),
    ):
        line = on_path(found, beside)
        assert line is not None
        assert (line.state, what in line.text) == (State.NOTE, True)
