"""Puts the questions in order: what can't work without an earlier one isn't tried."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from horovodize.building.target import BuildError, target_of
from horovodize.diagnosing import hosts, interpreter, packages, two_ranks
from horovodize.diagnosing.diagnosis import Diagnosis, Line, problem, skipped
from horovodize.launching.hosts import parse


def diagnose(
    python: str,
    ranks: int = 2,
    on: str = "",
    *,
    train: bool = True,
    remote: bool = True,
    folder: Path | None = None,
) -> Diagnosis:
    """Whether an interpreter can train with Horovod.

    python    an interpreter, or the folder of its environment
    ranks     how many processes are meant to train
    on        on which hosts: "host1:4,host2:4"; "" for this one. Raises ValueError where it is not such a list
    train     whether to import TensorFlow and to train a step on two ranks of this host, too: some 15 seconds
    remote    whether to look at other hosts, by ssh
    folder    where ranks are started (default: the current folder)"""
    named = parse(on)
    try:
        executable = target_of(python).executable
        found = interpreter.packages(executable)
    except BuildError as e:
        return Diagnosis(python, (problem("Python", str(e), "name another with --python"),))
    except ValueError:
        failed = problem(
            "Python", f"{python} doesn't say which packages it has", "name another with --python"
        )
        return Diagnosis(python, (failed,))
    lines = [*packages.by_metadata(found, executable, os.environ)]
    if found.horovod:
        beside = Path(executable).parent / "horovodrun"
        other = packages.on_path(shutil.which("horovodrun"), str(beside) if beside.exists() else "")
        lines += [other] if other else []
    lines.append(packages.xla(found, os.environ))
    if train:
        lines += _trained(executable, found, hosts.ranks_here(named, ranks))
    if remote:
        lines += hosts.check(named, ranks, executable, found, folder or Path.cwd())
    return Diagnosis(executable, tuple(lines))


def _trained(executable: str, found: interpreter.Packages, local_ranks: int) -> Iterator[Line]:
    """What only shows when TensorFlow is imported and trains."""
    if lacking := packages.nothing_to_train_with(found):
        yield lacking
        return
    with tempfile.TemporaryDirectory(prefix="horovodize-doctor-") as place:
        folder = Path(place)
        seen = interpreter.look(executable, folder)
        yield from packages.by_import(seen, executable, local_ranks, _listed_gpus())
        if seen.failed:
            yield skipped(two_ranks.TOPIC, "not tried")
        else:
            yield from two_ranks.check(executable, seen, folder)


def _listed_gpus() -> int | None:
    """The GPUs of this host by `nvidia-smi`, None where there is none."""
    done = interpreter.run(["nvidia-smi", "-L"], limit=30)
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines()) if done.returncode == 0 else None
