"""What was prepared, put where it can run: the distributed texts in a folder of their own, the user's files as they are.

The script runs in the user's folder, under its own name; so it reads and writes there what it would read and write there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from horovodize import runtime
from horovodize.running.mapping import source_map
from horovodize.running.prepared import Prepared
from horovodize.running.ranks import Heard, RunResult, run_ranks
from horovodize.running.source_map import SourceMap
from horovodize.running.stalls import WARNING, ask_where

START = Path(__file__).parent / "start.py"
MAP = "source-map.json"


@dataclass(frozen=True)
class Staged:
    """root    the folder with the texts, the map (`MAP`), the table for `start.py`, and what ranks say of where they stand
    folder  the user's folder to run in"""

    root: Path
    folder: Path
    prepared: Prepared
    map: SourceMap

    @property
    def stacks(self) -> Path:
        return self.root / "stacks"

    @property
    def log(self) -> Path:
        """Where ranks write, unless it's to be elsewhere."""
        return self.root / "ranks"

    def stood(self) -> dict[int, str]:
        """What each rank said of where it stands, when it was asked."""
        found = {}
        for path in self.stacks.glob("stack-*"):
            found[int(path.name.removeprefix("stack-"))] = path.read_text(encoding="utf-8", errors="replace")
        return found

    def run(
        self,
        ranks: int,
        arguments: Sequence[str] = (),
        *,
        python: str,
        hosts: str | None = None,
        launcher: str = "horovodrun",
        environment: Mapping[str, str] | None = None,
        on_line: Heard | None = None,
        on_part: Heard | None = None,
        on_idle: Callable[[], None] | None = None,
        limit: float | None = None,
        log: Path | None = None,
        elastic: Sequence[str] = (),
    ) -> RunResult:
        """As `run_ranks`; `arguments` are the script's."""
        log = log or self.log

        def heard(rank: int | None, line: str) -> None:
            if WARNING in line:
                ask_where(log)
            if on_line is not None:
                on_line(rank, line)

        command: list[str | Path] = [START, self.root / "table.json", *arguments]
        return run_ranks(
            command, ranks, python=python, folder=self.folder, hosts=hosts, launcher=launcher, environment=environment,
            on_line=heard, on_part=on_part, on_idle=on_idle, limit=limit, log=log,
            elastic=elastic,
        )  # fmt: skip


def stage(prepared: Prepared, into: Path, folder: Path | None = None) -> Staged:
    """Writes what a run needs into a folder, which is made if needed. `prepared` is not refused. `folder`: where to run (by
    default in the current one, a notebook in its own). Raises OSError."""
    root = Path(os.path.realpath(into))
    top = Path(os.path.commonpath([file.target.parent for file in prepared.files]))
    places = {file.target: root / file.target.relative_to(top) for file in prepared.files}
    for file in prepared.files:
        place = places[file.target]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
    script = prepared.main.target
    for name in prepared.beside:
        (places[script].parent / name).write_text(runtime.text_of(name), encoding="utf-8")
    staged = Staged(
        root,
        folder or (prepared.script.parent if prepared.script.suffix == ".ipynb" else Path.cwd()),
        prepared,
        source_map(prepared, places),
    )
    staged.stacks.mkdir(exist_ok=True)
    staged.map.write(root / MAP)
    table = {
        "script": str(script),
        "files": {str(target): str(place) for target, place in places.items()},
        "beside": str(places[script].parent) if prepared.beside else "",
        "stacks": str(staged.stacks),
    }
    (root / "table.json").write_text(json.dumps(table), encoding="utf-8")
    return staged
