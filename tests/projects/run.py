"""Runs the `train.py` of the current folder and tells what became of it.

`run.py REPORTS SEEDS [ARGUMENTS]` writes `REPORTS/rank-N.json` with the script's `variables` at its end and the files that it
wrote. SEEDS is "own" for ranks that start from different seeds, "one" for ranks that start alike. Each rank works in a folder
of its own, so that it can be told who wrote what."""

import json
import os
import runpy
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

reports, seeds, *arguments = sys.argv[1:]
rank = int(os.environ.get("HOROVOD_RANK", "0"))
tf.keras.utils.set_random_seed(1 + (rank if seeds == "own" else 0))
project, folder = Path.cwd(), Path(reports, f"rank-{rank}")
folder.mkdir()
os.chdir(folder)
sys.path.insert(0, str(project))
sys.argv = ["train.py", *arguments]
result = runpy.run_path(str(project / "train.py"), run_name="__main__")
written = sorted(path.name for path in folder.iterdir())
report = {"variables": [np.asarray(v).tolist() for v in result["variables"]], "written": written}
Path(reports, f"rank-{rank}.json").write_text(json.dumps(report))
