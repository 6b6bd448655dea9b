"""Runs programs as all of some pretended ranks, one after the other, in TensorFlow's own Python:
`python pretended_rows.py PROGRAMS.json SIZE OUT.json`.

What rank 0 sends is given to the others at the same place. Writes to `OUT.json`, of each program and rank, the rows of each
step and the rows that were prepared; or how it failed. The ranks' random numbers differ, as those of processes without a seed
do."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import re
import signal
import sys
import types
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

LONGEST = 60  # seconds of a program
RANK, SENT, TAKEN, PREPARED = [0], list[Any](), list[list[int]](), list[int]()


def send(value: Any, *given: Any, **named: Any) -> Any:
    """What rank 0 sends: its value, or what it sent at this place."""
    if RANK[0] == 0:
        SENT.append(copy.deepcopy(value))
        return value
    return SENT.pop(0)


def pretend(size: int) -> None:
    """Puts a Horovod in the place of the real one that has so many ranks, of which this process is one after the other."""
    hvd: Any = types.ModuleType("horovod.tensorflow")
    hvd.init = hvd.broadcast_variables = lambda *given, **named: None
    hvd.size = hvd.local_size = lambda: size
    hvd.rank = hvd.local_rank = lambda: RANK[0]
    hvd.broadcast_object = send
    hvd.DistributedGradientTape = lambda value, *given, **named: value
    hvd.allreduce = lambda value, *given, **named: tf.convert_to_tensor(value)
    horovod: Any = types.ModuleType("horovod")
    horovod.tensorflow = hvd
    sys.modules |= {"horovod": horovod, "horovod.tensorflow": hvd}


def run(text: str, rank: int) -> dict[str, Any]:
    """What a rank takes in a program."""
    tf.keras.backend.clear_session()
    tf.random.set_seed(None)
    np.random.seed(100 + rank)
    random.seed(100 + rank)
    RANK[0] = rank
    TAKEN.clear()
    PREPARED.clear()
    names: dict[str, Any] = {
        "__name__": "__main__",
        "taken": lambda rows: TAKEN.append([int(row) for row in np.asarray(rows)[:, 0]]),
        "prepared": lambda numbers: PREPARED.extend(int(number) for number in numbers),
    }
    text = re.sub(r"^(def train_step\((\w+).*\):)$", r"\1\n    taken(\2)", text, flags=re.M)
    text = re.sub(r"^(def prepare\((\w+).*\):)$", r"\1\n    prepared(\2)", text, flags=re.M)
    signal.alarm(LONGEST)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "program.py", "exec"), names)
    except Exception as e:
        return {"failed": f"{type(e).__name__}: {e}"}
    finally:
        signal.alarm(0)
    return {"taken": list(TAKEN), "prepared": len(PREPARED)}


def ring(*_: object) -> None:
    raise TimeoutError("it doesn't come to an end")


def main() -> None:
    programs, ranks, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    pretend(ranks)
    signal.signal(signal.SIGALRM, ring)
    found = []
    for program in json.loads(Path(programs).read_text(encoding="utf-8")):
        SENT.clear()
        own = [run(program, 0)]
        sent = list(SENT)
        for rank in range(1, ranks):
            SENT[:] = copy.deepcopy(sent)
            own.append(run(program, rank))
        found.append(own)
    Path(out).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
