"""Runs programs one after another on real ranks, in TensorFlow's own Python: `horovodrun … on_ranks.py PROGRAMS.json OUT`.

They may import what is in `OUT`. Each rank draws other numbers. What a program's `TAKEN` holds then, or how it failed, is
written to `OUT/RANK-NUMBER.json`."""

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


def run(text: str, rank: int, path: Path) -> Any:
    """What came of a program."""
    import numpy as np
    import tensorflow as tf

    tf.keras.backend.clear_session()
    for seed in (tf.random.set_seed, np.random.seed, random.seed):
        seed(rank)
    names: dict[str, Any] = {"__name__": "__main__"}
    path.write_text(text, encoding="utf-8")  # AutoGraph reads it
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, str(path), "exec"), names)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return names["TAKEN"]


def main() -> None:
    import horovod.tensorflow as hvd

    hvd.init()
    out = Path(sys.argv[2])
    sys.path.insert(0, str(out))
    for number, program in enumerate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        came = run(program, hvd.rank(), out / f"{hvd.rank()}-{number}.py")
        (out / f"{hvd.rank()}-{number}.json").write_text(json.dumps(came), encoding="utf-8")
        if isinstance(came, str):
            os._exit(1)  # the others may wait for it


if __name__ == "__main__":
    main()
