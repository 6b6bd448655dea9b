"""Runs programs that go on from their files, one after another, in TensorFlow's own Python, alone or on real ranks:
`run_again.py PROGRAMS.json FILES OUT STOP`.

Each rank of each program has a folder of its own, `FILES/NUMBER/RANK`. A run is stopped after STOP rows of all ranks; 0: never.
What a program's `TAKEN` and `WEIGHTS` hold then, or how it failed, is written to `OUT/RANK-NUMBER.json`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


class Stopped(BaseException):
    """Ends a program as a signal would: nothing catches it."""


class Taken(list[Any]):
    """What a program takes: its `list()`. Stops it at a number of rows."""

    def __init__(self, most: float) -> None:
        super().__init__()
        self.left = most

    def append(self, taken: Any) -> None:
        super().append(taken)
        self.left -= len(taken[0])
        if self.left <= 0:
            raise Stopped


def run(text: str, rank: int, folder: Path, most: float) -> Any:
    """What came of a program; `most`: of how many rows it takes the step that is its last."""
    import numpy as np
    import tensorflow as tf

    tf.keras.backend.clear_session()
    for seed in (tf.random.set_seed, np.random.seed, random.seed):
        seed(rank)
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    names: dict[str, Any] = {"__name__": "__main__", "list": lambda: Taken(most)}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Stopped):
            exec(compile(text, "program.py", "exec"), names)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return {"taken": names["TAKEN"], "weights": names.get("WEIGHTS")}


def main() -> None:
    rank, size = 0, 1
    if "HOROVOD_RANK" in os.environ:
        import horovod.tensorflow as hvd

        hvd.init()
        rank, size = hvd.rank(), hvd.size()
    files, out, stop = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    for number, program in enumerate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        came = run(program, rank, files / str(number) / str(rank), stop / size if stop else float("inf"))
        (out / f"{rank}-{number}.json").write_text(json.dumps(came), encoding="utf-8")
        if isinstance(came, str):
            os._exit(1)  # the others may wait for it


if __name__ == "__main__":
    main()
