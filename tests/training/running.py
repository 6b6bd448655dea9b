"""Runs a script under the probe: alone, or on several ranks under horovodrun."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).with_name("probe.py")
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


def python() -> Path:
    """The interpreter that has TensorFlow and Horovod."""
    named = os.environ.get("HOROVODIZE_TF_PYTHON")
    if not named:
        pytest.fail("HOROVODIZE_TF_PYTHON is not set: run through `make test` (or `make training`)")
    return Path(named).absolute()


def train(
    script: Path,
    folder: Path,
    *,
    ranks: int = 1,
    args: Sequence[str] = (),
    seed: int = SEED,
    seed_per_rank: bool = True,
    shared_order: bool = False,
    limit: float = LIMIT,
    horovodrun: bool = True,
) -> Outcome:
    """Trains `script` in the directory `folder` (made if needed), with a report of each rank.

    With one rank it is a plain process. Ranks start from different seeds (rank 0 from `seed`) unless told otherwise.
    `shared_order`: TensorFlow's seed is common to them, as it is where none is set.
    `limit` is in seconds: a rank that takes longer says where it stands and ends."""
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the directory: what a script writes is all that lies in it.
    reports = folder.parent / f"{folder.name}.report-{time.monotonic_ns()}"
    command = [
        str(python()),
        str(PROBE),
        "--report",
        str(reports),
        "--seed",
        str(seed),
        "--limit",
        str(limit),
    ]
    command += ["--seed-per-rank"] if seed_per_rank else []
    command += ["--shared-order"] if shared_order else []
    command += ["--", str(script), *args]
    if ranks > 1:
        command = [str(python().with_name("horovodrun")), "--gloo", "-np", str(ranks), *command]
    started = time.monotonic()
    status, output = _run(command, folder, _environment(limit), limit + 30)
    seconds = time.monotonic() - started
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(reports.glob("rank-*.json"))]
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return Outcome(ranks, found, status, seconds, output, files)


def _environment(limit: float) -> Mapping[str, str]:
    added = {
        "PATH": f"{python().parent}{os.pathsep}{os.environ.get('PATH', '')}",
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


def _run(command: list[str], folder: Path, environment: Mapping[str, str], limit: float) -> tuple[int, str]:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # horovodrun ends its ranks
        try:
            output, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        output += "\n[stopped: over the time limit]"
    return process.returncode, output
