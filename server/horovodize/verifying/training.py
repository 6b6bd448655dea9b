"""Trains a script under the probe, in a scratch copy of its folder."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from horovodize.options import Options
from horovodize.running.prepared import Prepared, prepare
from horovodize.running.ranks import CannotRun, run_ranks
from horovodize.running.scratch import scratch_copy
from horovodize.verifying.left import Left, left_in
from horovodize.verifying.runs import Rank, Run, tells_of_stall
from horovodize.verifying.speed import time_in_collectives
from horovodize.verifying.verdict import CouldNotRun

PROBE = Path(__file__).parent / "probe" / "probe.py"


@dataclass
class Trainer:
    """Trains the original, and its distribution: what the engine makes of it, or a file that somebody has written.

    folder  where scratch copies and reports lie; the caller removes it
    limit   seconds that one run may take"""

    script: Path
    folder: Path
    python: str
    options: Options
    distributed: Path | None = None
    arguments: Sequence[str] = ()
    steps: int = 0
    data_limit: int = 0
    limit: float = 600
    launcher: str = "horovodrun"
    touched: list[Path] = field(default_factory=list)
    taken: int = (
        0  # steps of the last run; twice as many are enough to see whether it goes on without learning
    )

    def __post_init__(self) -> None:
        script = self.distributed or self.script
        self.prepared: Prepared = prepare(script, self.options, distributed=self.distributed is None)

    def __call__(self, which: str, size: int, seed: int) -> Run:
        """Raises CouldNotRun."""
        place = Path(tempfile.mkdtemp(prefix=f"{which.replace(' ', '-')}-{size}-", dir=self.folder))
        script, _, gradients = which.partition(" ")
        if script == "original":
            scratch = scratch_copy(self.script, place / "copy", distributed=False)
        else:
            scratch = scratch_copy(
                self.prepared.script, place / "copy", distributed=True, prepared=self.prepared
            )
        reports = place / "reports"
        command = [str(PROBE), "--report", str(reports), "--root", str(scratch.root), "--seed", str(seed)]
        command += [
            "--limit",
            str(self.limit),
            "--steps",
            str(self.steps or (2 * self.taken if gradients == "untrained" else 0)),
            "--data-limit",
            str(self.data_limit),
        ]
        command += ["--gradients", gradients] if gradients else []
        command += ["--", str(scratch.script), *self.arguments]
        before = files_of(scratch.root)
        started = time.monotonic()
        timeline = place / "timeline.json"
        try:
            result = run_ranks(
                command,
                size,
                python=self.python,
                folder=scratch.cwd,
                launcher=self.launcher,
                environment={**os.environ, **environment(self.limit), "HOROVOD_TIMELINE": str(timeline)},
                limit=self.limit + 30,
            )
        except CannotRun as e:
            raise CouldNotRun(str(e)) from e
        if result.interrupted:
            raise KeyboardInterrupt
        self.touched += scratch.touched
        output = "".join(result.output.values())
        files = [path for path, state in files_of(scratch.root).items() if before.get(path) != state]
        seconds = time.monotonic() - started
        run = read_run(
            reports, max(size, 1), result.status, seconds, output, files, result.over_limit, timeline,
            left_in(scratch.root, files),
        )  # fmt: skip
        self.taken = max((len(curve.losses) for rank in run.ranks for curve in rank.curves), default=0)
        return run


def read_run(
    reports: Path,
    size: int,
    status: int,
    seconds: float,
    output: str,
    files: Sequence[str],
    over_limit: bool,
    timeline: Path | None = None,
    left: Left | None = None,
) -> Run:
    """A run of which each rank has left its report in a folder."""
    ranks = [Rank(json.loads(path.read_text(encoding="utf-8"))) for path in reports.glob("rank-*.json")]
    stalled = over_limit or "Timeout (" in output or tells_of_stall(output)
    ranks.sort(key=lambda rank: rank.number)
    in_collectives = None
    if timeline is not None and size > 1 and ranks:
        in_collectives = time_in_collectives(timeline, *ranks[0].training)
    return Run(size, ranks, status, seconds, output, sorted(files), stalled, in_collectives, left or Left())


def environment(limit: float) -> dict[str, str]:
    """What lets runs be compared, and lets Horovod say where ranks wait in vain."""
    return {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "HOROVOD_STALL_CHECK_TIME_SECONDS": str(max(10, int(limit / 6))),
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(max(20, int(limit / 3))),
    }


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of a folder, with what tells whether they are written again."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}
