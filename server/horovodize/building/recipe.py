"""What is changed in Horovod's source, and with which settings it is built. One recipe: `scripts/horovod.sh` uses it, too.

Only two of Horovod's sources see TensorFlow's headers. From TensorFlow 2.19 on, `xla_mpi_ops.cc` (Horovod's operations inside
XLA programs) includes headers that TensorFlow's wheel no longer has. It is left out: nothing else refers to it, and it only
serves `HOROVOD_ENABLE_XLA_OPS=1`. C++ standard and ABI come from `tf.sysconfig`, so no flags are needed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from horovodize.world.versions import Version

HOROVOD = "0.28.1"
# What setup.py takes beside TensorFlow. setuptools 70 and later broke it; earlier than 66.1 don't work on Python 3.12.
TOOLS = ("setuptools>=65.5,<70", "wheel", "cffi", "cloudpickle", "packaging", "psutil", "pyyaml")
TOOLS_FROM_PYTHON_3_12 = ("setuptools>=66.1,<70", *TOOLS[1:])
TRIED_FROM, TRIED_TO = (2, 15), (2, 21)
FIRST_WITHOUT_XLA_HEADERS: Version = (2, 19)

SETTINGS = {
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "HOROVOD_WITHOUT_PYTORCH": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "CMAKE_POLICY_VERSION_MINIMUM": "3.5",  # CMake 4 refuses the CMakeLists of Gloo without it
}
_OPPOSITES = {"HOROVOD_WITHOUT_MPI": "HOROVOD_WITH_MPI", "HOROVOD_WITH_GLOO": "HOROVOD_WITHOUT_GLOO",
              "HOROVOD_WITHOUT_PYTORCH": "HOROVOD_WITH_PYTORCH", "HOROVOD_WITHOUT_MXNET": "HOROVOD_WITH_MXNET",
              "HOROVOD_WITH_TENSORFLOW": "HOROVOD_WITHOUT_TENSORFLOW"}  # fmt: skip
_BUILDING = re.compile(r"HOROVOD_(WITH|WITHOUT|GPU|CPU|CUDA|NCCL|ROCM|BUILD|ALLOW|CCL|DDL|CMAKE)\w*$")
_XLA_SOURCE = 'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")'
_JOBS = "'-j8'"  # so many compilers at once take up to 16 GB
MEMORY_OF_A_COMPILER = 2 << 30  # bytes


class NotAsExpected(Exception):
    """Horovod's source is not the one that this recipe is for."""


def changes(tensorflow: Version, jobs: int) -> list[tuple[str, str, str]]:
    """What is changed: a file by its path in the source, what stands in it exactly once, and what replaces that."""
    made = [("setup.py", _JOBS, f"'-j{jobs}'")]
    if tensorflow >= FIRST_WITHOUT_XLA_HEADERS:
        made.append(("horovod/tensorflow/CMakeLists.txt", _XLA_SOURCE, ""))
    return made


def change(source: Path, tensorflow: Version, jobs: int) -> None:
    """Changes an unpacked source distribution in place, so that it builds for a TensorFlow with so many compilers at once.

    Raises NotAsExpected, with nothing changed, where the places to change are not there."""
    changed = []
    for name, old, new in changes(tensorflow, jobs):
        path = source / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text.count(old) != 1:
            raise NotAsExpected(
                f"{path.relative_to(source)} of Horovod {HOROVOD} is not as expected: {old} is not in it once"
            )
        changed.append((path, text.replace(old, new)))
    for path, text in changed:
        path.write_text(text, encoding="utf-8")


def settings(around: Mapping[str, str]) -> dict[str, str]:
    """The environment that Horovod is built in. What the user has set of its settings stays (`HOROVOD_GPU_OPERATIONS=NCCL`)."""
    own = {
        name: value
        for name, value in SETTINGS.items()
        if name not in around and _OPPOSITES.get(name) not in around
    }
    # With MAKEFLAGS set, setup.py says nothing of jobs; other makes' flags are not ours.
    return {name: v for name, v in around.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")} | own


def tools_for(python: Version) -> tuple[str, ...]:
    """The packages that a build needs beside TensorFlow, which isn't built for in isolation."""
    return TOOLS if python < (3, 12) else TOOLS_FROM_PYTHON_3_12


def own_settings(around: Mapping[str, str]) -> dict[str, str]:
    """What the user has set of Horovod's build settings, other than the recipe has it."""
    return {
        name: value
        for name, value in sorted(around.items())
        if _BUILDING.match(name) and value and SETTINGS.get(name) != value
    }


def key(tensorflow: str, tags: str, around: Mapping[str, str]) -> str:
    """The folder's name that a wheel is kept under: it fits only this TensorFlow, this Python, this machine, these settings."""
    name = f"horovod-{HOROVOD}-tensorflow-{tensorflow}-{tags}"
    own = own_settings(around)
    return f"{name}-{hashlib.sha256(repr(own).encode()).hexdigest()[:8]}" if own else name


def jobs_for(cores: int, memory: int | None) -> int:
    """How many compilers are to run at once; `memory`: bytes that are free, None where that is not known."""
    fitting = cores if memory is None else min(cores, memory // MEMORY_OF_A_COMPILER)
    return max(1, min(8, fitting))


def cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def free_memory() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None
