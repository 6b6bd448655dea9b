"""One rank of a run: `python rank.py DIR COMMAND…`. Its output goes to `DIR/rank-N.txt`, how it ended to `DIR/rank-N.json`.

A file of the standard library, which any Python 3.8 runs: it is started by a launcher, in the user's environment. Where DIR
isn't there (another machine), the output stays what the launcher makes of it."""

import json
import os
import signal
import subprocess
import sys
import time

# As horovodrun (Gloo), Open MPI, MPICH and Slurm name a process's rank.
_NAMES = ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def rank() -> int:
    return next((int(os.environ[name]) for name in _NAMES if os.environ.get(name, "").isdigit()), 0)


def main() -> int:
    folder, command = sys.argv[1], sys.argv[2:]
    base = os.path.join(folder, f"rank-{rank()}")
    there = os.path.isdir(folder)
    if there:
        with open(base + ".pid", "w") as file:
            file.write(str(os.getpid()))
        output = os.open(base + ".txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
    # The folder marks the process and all that it starts: who ends the run finds them by it when we are gone.
    process = subprocess.Popen(
        command, env=dict(os.environ, HOROVODIZE_RANK=str(rank()), HOROVODIZE_RUN=folder)
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda got, frame: process.send_signal(got))
    status = process.wait()
    if there:
        with open(base + ".part", "w") as file:
            json.dump({"status": status, "at": time.time(), "host": os.uname().nodename}, file)
        os.replace(base + ".part", base + ".json")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
