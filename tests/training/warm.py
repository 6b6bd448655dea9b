"""Keeps TensorFlow and Horovod imported, and runs jobs in forks of itself: importing is most of what a short run costs.

Reads jobs from standard input and answers on standard output, a line of JSON each:

    {"run": "probe" | "horovodrun", "arguments": […], "folder": …, "environment": {…}, "output": …, "limit": …}
    {"status": exit status}

A job runs in a process group of its own, in `folder`, with its output in the file `output`. After `limit` seconds it is
stopped. "horovodrun" is the command of that name: the ranks that it starts are new processes, which import for
themselves. Nothing is initialized before the fork, so a job starts as a new process does."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

STOPPED = "\n[stopped: over the time limit]\n"


def serve() -> None:
    import horovod.tensorflow.keras  # noqa: F401
    import tensorflow  # noqa: F401
    from horovod.common.util import gloo_built
    from horovod.runner import launch  # noqa: F401

    gloo_built()  # asks a process that imports TensorFlow, and remembers
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


def become(job: dict[str, Any]) -> None:
    """What the forked process does. Never returns."""
    status = 1
    try:
        os.setsid()
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.chdir(job["folder"])
        os.environ.clear()
        os.environ.update(job["environment"])
        sys.argv = [job["run"], *job["arguments"]]
        status = main_of(job["run"])()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)


def main_of(name: str) -> Any:
    if name == "horovodrun":
        from horovod.runner.launch import run_commandline

        return run_commandline
    import probe

    return probe.main


if __name__ == "__main__":
    serve()
