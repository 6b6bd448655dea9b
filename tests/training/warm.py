"""Keeps TensorFlow and Horovod imported, and runs jobs in forks of itself: importing is most of what a short run costs.

    python warm.py FOLDER

Keeps converted functions in FOLDER (see `converted`). Reads jobs from standard input and answers on standard output, a
line of JSON each:

    {"run": "program" | "horovodrun", "arguments": […], "folder": …, "environment": {…}, "output": …, "limit": …}
    {"status": exit status}

A job runs in a process group of its own, in `folder`, with its output in the file `output`. After `limit` seconds it is
stopped. "program" is a Python file with a `main()`, whose path the arguments start with; "horovodrun" is the command of that
name, with ranks that are forks too (see `ranks`) and run such a file. Nothing is initialized before the fork, so a job starts
as a new process does."""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import converted
import ranks

STOPPED = "\n[stopped: over the time limit]\n"


def serve(folder: Path) -> None:
    import horovod.tensorflow.keras  # noqa: F401
    import tensorflow  # noqa: F401
    from horovod.common.util import gloo_built
    from horovod.runner import launch  # noqa: F401

    gloo_built()  # asks a process that imports TensorFlow, and remembers
    converted.keep_in(folder)
    # What is imported stays: forks neither search it for garbage nor copy its pages by that, a quarter of their time.
    gc.collect()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may get between them
    for line in sys.stdin:
        answers.write(json.dumps({"status": run(json.loads(line))}) + "\n")
        answers.flush()


def run(job: dict[str, Any]) -> int:
    """Runs a job to its end. Returns its exit status."""
    process = os.fork()
    if not process:
        become(job)
    deadline = time.monotonic() + job["limit"]
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            stop(process)
            with open(job["output"], "a", encoding="utf-8") as output:
                output.write(STOPPED)
            return 124
        time.sleep(0.02)


def stop(process: int) -> None:
    for kind, patience in (
        (signal.SIGTERM, 20),
        (signal.SIGKILL, 20),
    ):  # horovodrun ends its ranks when told to stop
        os.killpg(process, kind)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if os.waitpid(process, os.WNOHANG)[0]:
                return
            time.sleep(0.1)


def become(job: dict[str, Any]) -> NoReturn:
    """What the forked process does."""

    def work() -> int:
        os.setsid()
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.chdir(job["folder"])
        if job["run"] == "program":
            return program(job["arguments"], job["environment"])
        return horovodrun(job["arguments"], job["environment"])

    to_the_end(work)


def to_the_end(work: Callable[[], int]) -> NoReturn:
    """Does the work and ends the process with the status that it returns, as the interpreter would."""
    status: int | None = 1
    try:
        status = work()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)


def horovodrun(arguments: list[str], environment: dict[str, str]) -> int:
    from horovod.runner.launch import run_commandline

    count = int(arguments[arguments.index("-np") + 1])
    ranks.prepare(count, lambda told, given: to_the_end(lambda: program(told, given)))
    start_as("horovodrun", arguments, environment)
    return int(run_commandline() or 0)


def program(words: list[str], environment: dict[str, str]) -> int:
    """Runs the `main()` of a Python file, whose path is followed by its arguments."""
    path, *arguments = words
    start_as(path, arguments, environment)
    sys.path.insert(0, str(Path(path).parent))
    sys.path.insert(0, "")  # what a probe replaces
    return int(runpy.run_path(path, run_name="program")["main"]() or 0)


def start_as(name: str, arguments: list[str], environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [name, *arguments]


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
