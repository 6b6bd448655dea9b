"""Trains for `verify` in the warm process of the training tests: importing TensorFlow is most of what a short run costs."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

from horovodize import runtime
from horovodize.verifying.left import left_in
from horovodize.verifying.runs import Run
from horovodize.verifying.training import PROBE, environment, files_of, read_run
from tests.training import running

LIMIT = 60


@dataclass
class WarmTrainer:
    """Stands for `Trainer`, for texts without files beside them but those of Horovodize (`beside`, by name)."""

    original: str
    distributed: str
    folder: Path
    alone: dict[str, Run]  # runs of originals that others have made, by text and seed
    arguments: tuple[str, ...] = ()
    limit: int = LIMIT
    world: running.World = running.KERAS_2
    beside: tuple[str, ...] = ()

    def __call__(self, which: str, size: int, seed: int) -> Run:
        script_of, _, gradients = which.partition(" ")
        text = self.original if script_of == "original" else self.distributed
        key = f"{hashlib.sha1(text.encode()).hexdigest()} {seed}"
        if which == "original" and key in self.alone:
            return self.alone[key]
        place = self.folder / f"{which}-{size}-{time.monotonic_ns()}"
        (place / "copy").mkdir(parents=True)
        script = place / "copy" / "train.py"
        script.write_text(text, encoding="utf-8")
        for name in self.beside:
            (place / "copy" / name).write_text(runtime.text_of(name), encoding="utf-8")
        arguments = ["--report", str(place / "reports"), "--root", str(place / "copy"), "--seed", str(seed)]
        arguments += ["--gradients", gradients] if gradients else []
        arguments += ["--limit", str(self.limit), "--", str(script), *self.arguments]
        before = files_of(place / "copy")
        started = time.monotonic()
        status = running.run(
            PROBE,
            arguments,
            place / "copy",
            place / "output.txt",
            ranks=size or None,
            limit=self.limit,
            world=self.world,
            variables={**environment(self.limit), "HOROVOD_TIMELINE": str(place / "timeline.json")},
        )
        files = [path for path, state in files_of(place / "copy").items() if before.get(path) != state]
        output = (place / "output.txt").read_text(encoding="utf-8", errors="replace")
        seconds = time.monotonic() - started
        over = status == 124
        run = read_run(
            place / "reports", max(size, 1), status, seconds, output, files, over, place / "timeline.json",
            left_in(place / "copy", files),
        )  # fmt: skip
        if which == "original":
            self.alone[key] = run
        return run
