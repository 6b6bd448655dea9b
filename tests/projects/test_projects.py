"""Projects of several modules, distributed and trained on two ranks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from horovodize.distribute_project import distribute_script, files
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.source.edits import apply

HERE = Path(__file__).parent
PROJECTS = {  # the files that must change
    # functions and classes of other modules; a package whose `__init__` names them; a class in one module that does what those
    # derived from it in others do, with star and relative imports, a cycle, constants and an optimizer from a factory
    "four_modules": {"data.py", "optim.py", "step.py", "train.py"},
    "session_package": {"nets/net.py", "nets/sessions.py", "train.py"},
    "trainer_package": {
        "rows.py", "train.py", "training/base.py", "training/optimizers.py", "training/regression.py"
    },
}  # fmt: skip
LIMIT = 120.0  # seconds

projects = pytest.mark.parametrize("name", PROJECTS)


def load(path: str) -> Document | None:
    file = Path(path)
    return Document.from_bytes(file.read_bytes(), path) if file.is_file() else None


def distribute(folder: Path) -> set[str]:
    """Distributes the project in a folder; the names of the files that changed."""
    script = load(str(folder / "train.py"))
    assert script is not None
    plan = distribute_script(script, load)
    assert isinstance(plan, Plan), plan
    assert plan.sure
    for file in files(plan):
        Path(file.document.path).write_text(apply(file.document.text, file.edits), encoding="utf-8")
    return {Path(file.document.path).relative_to(folder).as_posix() for file in files(plan)}


def copied(name: str, to: Path) -> Path:
    return Path(shutil.copytree(HERE / name, to, ignore=shutil.ignore_patterns("__pycache__")))


@projects
def test_what_changes(name: str, tmp_path: Path) -> None:
    assert distribute(copied(name, tmp_path / "project")) == PROJECTS[name]


class Run:
    """One run of a project; the reports of its ranks."""

    def __init__(
        self, python: Path, folder: Path, *arguments: str, ranks: int = 1, seeds: str = "one"
    ) -> None:
        reports = folder.parent / f"{folder.name}.reports"
        reports.mkdir()
        command = [str(python), str(HERE / "run.py"), str(reports), seeds, *arguments]
        if ranks > 1:
            command = [str(python.parent / "horovodrun"), "--gloo", "-np", str(ranks), *command]
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(
            command,
            cwd=folder,
            env={
                **kept,
                "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
                "TF_NUM_INTRAOP_THREADS": "1",
            },
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.said = done.stdout
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        self.ranks = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(reports.glob("rank-*.json"))]
        assert len(self.ranks) == ranks

    @property
    def variables(self) -> list[object]:
        return [pytest.approx(flat(v), abs=1e-5) for v in self.ranks[0]["variables"]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.variables == [flat(v) for v in other.ranks[0]["variables"]]

    __hash__ = None  # type: ignore[assignment]


def flat(value: object) -> list[float]:
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]  # type: ignore[list-item]


@pytest.mark.training
@pytest.mark.timeout(4 * LIMIT)
@projects
def test_two_ranks_train_what_one_process_does_on_batches_of_both(
    name: str, tmp_path: Path, tf_python: Path
) -> None:
    before = copied(name, tmp_path / "before")
    both = copied(name, tmp_path / "both")
    after, two, own = (copied(name, tmp_path / f) for f in ("after", "two", "own"))
    for folder in (after, two, own):
        distribute(folder)

    one = Run(tf_python, before)
    assert one == Run(tf_python, after), "one process no longer does what it did"

    ranks = Run(tf_python, two, ranks=2)
    first, second = ranks.ranks
    assert ranks == Run(tf_python, both, "--batch-size", "16", "--rate", "0.04")
    assert ranks != one
    assert first["variables"] == second["variables"]
    assert first["written"] == one.ranks[0]["written"] != []
    assert second["written"] == []
    assert ranks.said.count("saved") == 1

    first, second = Run(tf_python, own, ranks=2, seeds="own").ranks
    assert first["variables"] == second["variables"], "ranks that start apart do not end alike"
