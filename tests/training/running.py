"""Runs a script under the probe: alone, or on several ranks under horovodrun."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
LIMIT = 120.0
SEED = 20
Report = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """One run: `reports` by rank (those that were written), exit status, seconds, what it said, and the `files` that lay
    in its directory after it."""

    size: int
    reports: list[Report]
    status: int
    seconds: float
    output: str
    files: list[str]

    @property
    def complete(self) -> bool:
        return (
            self.status == 0 and len(self.reports) == self.size and not any(r["error"] for r in self.reports)
        )

    def why(self) -> str:
        """What went wrong, for people."""
        errors = [f"rank {r['rank']}: {r['error']}" for r in self.reports if r["error"]]
        told = "\n".join(errors) or self.output[-3000:]
        return f"exit status {self.status} after {self.seconds:.0f} s, {len(self.reports)} of {self.size} reports\n{told}"


@dataclass(frozen=True)
class World:
    """A TensorFlow with Horovod.

    variable  of the environment: names the interpreter that has it
    part      of `make test`, which sets that variable
    options   with which programs are distributed for it
    numbers   how many of a program's numbers of ranks are tried; None: all"""

    variable: str
    part: str
    options: tuple[str, ...] = ()
    numbers: int | None = None

    @property
    def python(self) -> Path:
        named = os.environ.get(self.variable)
        if not named:
            pytest.fail(f"{self.variable} is not set: run through `make test` (or `make {self.part}`)")
        return Path(named).absolute()


KERAS_2 = World("HOROVODIZE_TF_PYTHON", "training")
KERAS_3 = World("HOROVODIZE_KERAS3_PYTHON", "keras3", ("--tensorflow", "2.21"), numbers=1)


def python() -> Path:
    """The interpreter that has TensorFlow 2.15 and Horovod."""
    return KERAS_2.python


def train(
    script: Path,
    folder: Path,
    *,
    ranks: int = 1,
    args: Sequence[str] = (),
    tf1: bool = False,
    seed: int = SEED,
    seed_per_rank: bool = True,
    shared_order: bool = False,
    limit: float = LIMIT,
    before: Path | None = None,
    world: World = KERAS_2,
) -> Outcome:
    """Trains `script` in the directory `folder` (made if needed), with a report of each rank.

    With one rank it is a plain process, without horovodrun. Ranks start from different seeds (rank 0 from `seed`) unless
    told otherwise.
    `tf1`: `import tensorflow` gives the script TensorFlow 1.
    `shared_order`: TensorFlow's seed is common to them, as it is where none is set.
    `limit` is in seconds: a rank that takes longer says where it stands and ends.
    `before`: a Python file whose `install()` comes before the script, and whose presence has losses noted step by step."""
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the directory: what a script writes is all that lies in it.
    reports = folder.parent / f"{folder.name}.report-{time.monotonic_ns()}"
    output = reports.with_suffix(".txt")
    arguments = ["--report", str(reports), "--seed", str(seed), "--limit", str(limit)]
    arguments += ["--seed-per-rank"] if seed_per_rank else []
    arguments += ["--tf1"] if tf1 else []
    arguments += ["--shared-order"] if shared_order else []
    arguments += ["--before", str(before)] if before else []
    arguments += ["--", str(script), *args]
    before = _files(folder)
    started = time.monotonic()
    several = ranks if ranks > 1 else None
    status = run(HERE / "probe.py", arguments, folder, output, ranks=several, limit=limit, world=world)
    seconds = time.monotonic() - started
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(reports.glob("rank-*.json"))]
    files = sorted(path for path, state in _files(folder).items() if before.get(path) != state)
    said = output.read_text(encoding="utf-8", errors="replace")
    return Outcome(ranks, found, status, seconds, said, files)


def run(
    program: Path,
    arguments: Sequence[str],
    folder: Path,
    output: Path,
    *,
    ranks: int | None = None,
    limit: float = LIMIT,
    world: World = KERAS_2,
    variables: Mapping[str, str] | None = None,
) -> int:
    """Runs a Python file that has a `main()` in the directory `folder`, with what it says in the file `output`. Returns its
    exit status.

    With a number of ranks, each of them runs it under horovodrun; without one, a plain process. `limit` is in seconds.
    `variables` of the environment are beside those of `environment`."""
    words = [str(program), *arguments]
    if ranks is not None:
        words = ["--gloo", "-np", str(ranks), str(world.python), *words]
    return warm(world).run(
        {
            "run": "program" if ranks is None else "horovodrun",
            "arguments": words,
            "folder": str(folder),
            "environment": {**environment(limit, world), **(variables or {})},
            "output": str(output),
            "limit": limit + 30,
        }
    )


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of a directory, with what tells whether they are written again."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def environment(limit: float, world: World = KERAS_2) -> dict[str, str]:
    added = {
        # Ranks look every 5 ms for what to average, not every 1 ms: four on two cores spent a fifth of their time on looking.
        "HOROVOD_CYCLE_TIME": "5",
        "PATH": f"{world.python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_NUM_INTRAOP_THREADS": "1",
        # One rank waits for the others in vain: say so, then end, rather than wait for the time limit.
        "HOROVOD_STALL_CHECK_TIME_SECONDS": str(int(limit / 6)),
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(int(limit / 3)),
    }
    removed = ("PYTHONPATH", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")
    return {**{k: v for k, v in os.environ.items() if k not in removed}, **added}


class _Warm:
    """The process of `warm.py` for a world, started when first needed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._process: subprocess.Popen[str] | None = None

    def run(self, job: dict[str, Any]) -> int:
        if self._process is None:
            kept = tempfile.TemporaryDirectory(prefix="horovodize-warm-")
            atexit.register(kept.cleanup)
            self._process = subprocess.Popen(
                [str(self._world.python), str(HERE / "warm.py"), kept.name],
                env=environment(LIMIT, self._world),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            atexit.register(self._process.kill)
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(
                f"{self._world.python} {HERE / 'warm.py'} ended: does it import TensorFlow and Horovod?"
            )
        return int(json.loads(answer)["status"])


@cache
def warm(world: World = KERAS_2) -> _Warm:
    """The warm process of a world, one for each process that tests."""
    return _Warm(world)
