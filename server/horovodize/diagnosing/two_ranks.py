"""Trains one step on two ranks. Nothing else catches a Horovod that trains without averaging, and says nothing."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from horovodize import runtime
from horovodize.diagnosing.diagnosis import Line, note, ok, problem
from horovodize.diagnosing.interpreter import INSIDE, Seen, horovodrun, last_line, run

TOPIC = "two ranks"
_LIMIT = 240  # seconds
_SAME = 1e-6  # of weights about 1, in 32 bits
_MODULE = "horovod_keras3.py"

Report = Mapping[str, Any]


def check(executable: str, seen: Seen, folder: Path) -> Iterator[Line]:
    """Trains under an interpreter, in an empty folder."""
    script = folder / "inside_two_ranks.py"
    shutil.copyfile(INSIDE / script.name, script)
    (folder / _MODULE).write_text(runtime.text_of(_MODULE), encoding="utf-8")
    controller = "--gloo" if seen.built.get("Gloo", True) else "--mpi"
    done = run(
        [*horovodrun(executable), "-np", "2", controller, executable, str(script), str(folder)],
        limit=_LIMIT,
        HOROVOD_STALL_CHECK_TIME_SECONDS="20",
        HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="40",
    )
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("rank-*.json"))]
    if len(reports) < 2:
        said = done.stderr + done.stdout
        yield problem(TOPIC, f"{len(reports)} of 2 ranks trained to the end: {_reason(said)}", _remedy(said))
        return
    yield from judge(reports)


def judge(reports: list[Report]) -> Iterator[Line]:
    """What two ranks saw. Keras 3 makes Horovod's own optimizer average nothing: known, and answered by our module, so that it
    is a note there, and a problem anywhere else."""
    if any(report["size"] != 2 for report in reports):
        yield problem(
            TOPIC,
            "each process trained by itself, as if it were the only one",
            "Horovod lacks the controller that starts the ranks: horovodize build-horovod, then horovodrun --gloo",
        )
        return
    if any(report["sum"].get("sum") != 3.0 for report in reports):
        why = _error(reports, "sum") or "a wrong sum"
        yield problem(
            TOPIC, f"adding up over the ranks fails: {why}", "build Horovod again: horovodize build-horovod"
        )
        return
    yield _step(reports, "tape", "a step with DistributedGradientTape")
    keras_3 = "keras3" in reports[0]
    if keras_3:
        yield _step(reports, "keras3", f"a step of fit with {_MODULE}")
        if _equal(reports, "fit"):
            yield ok(TOPIC, "a step of fit with Horovod's own optimizer: equal weights")
        else:
            yield note(
                TOPIC,
                f"a step of fit with Horovod's own optimizer: {_what(reports, 'fit')}, as known of Keras 3",
                f"scripts must import {_MODULE}, which horovodize distribute writes beside them",
            )
    else:
        yield _step(reports, "fit", "a step of fit")


def _step(reports: list[Report], key: str, name: str) -> Line:
    if _equal(reports, key):
        return ok(TOPIC, f"{name} from different data: equal weights")
    return problem(
        TOPIC,
        f"{name}: {_what(reports, key)}",
        "don't train with this pair of TensorFlow and Horovod; build Horovod for it: horovodize build-horovod",
    )


def _equal(reports: list[Report], key: str) -> bool:
    """Whether a step was taken, and left the same weights on both ranks."""
    return all(
        "error" not in r[key] and r[key]["spread"] <= _SAME < r[key]["moved"] < math.inf for r in reports
    )


def _what(reports: list[Report], key: str) -> str:
    if error := _error(reports, key):
        return error
    if not all(math.isfinite(r[key][what]) for r in reports for what in ("spread", "moved")):
        return "weights are not finite after it"
    if all(r[key]["moved"] <= _SAME for r in reports):
        return "no weight changed"
    return f"weights differ between the ranks (by {max(r[key]['spread'] for r in reports):.2g}): nothing is averaged"


def _error(reports: list[Report], key: str) -> str:
    return next((" ".join(r[key]["error"].split())[:300] for r in reports if "error" in r[key]), "")


def _reason(output: str) -> str:
    """The line that says most: the last of an exception's, else the last one at all."""
    lines = [line.strip() for line in output.splitlines()]
    errors = [line for line in lines if "Error" in line and "Horovod detected" not in line]
    return " ".join((errors[0] if errors else last_line(output) or "no output").split())[:300]


def _remedy(output: str) -> str:
    if "no answer within" in output or "Stalled" in output:
        return "the ranks don't reach each other: try horovodrun --network-interfaces lo, and look for a firewall"
    return "for all of its output: horovodrun -np 2 --verbose python -c 'import horovod.tensorflow as hvd; hvd.init()'"
