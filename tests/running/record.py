"""Records how the scripts of `failing/` end under the real Horovod: `record.py PYTHON [NAME…]`.

What is kept in `recorded/NAME/`: what each rank said, how it ended, where ranks stood in a stall, and the source map of that
day: so the recordings stay true when rules change. Paths are those of no machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from horovodize.running.prepared import prepare
from horovodize.running.ranks import interpreter
from horovodize.running.staged import MAP, stage
from horovodize.running.stalls import ask_where

HERE = Path(__file__).parent
RANKS = {"missing_file": 3, "same_everywhere": 4, "in_callback": 1}


def record(name: str, script: Path, python: str) -> None:
    with tempfile.TemporaryDirectory(prefix="record-") as temporary:
        project = Path(temporary, "project")
        shutil.copytree(script.parent, project, ignore=shutil.ignore_patterns("__pycache__"))
        os.chdir(project)
        staged = stage(prepare(project / script.name), Path(temporary, "run"))
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", TF_ENABLE_ONEDNN_OPTS="0")
        environment |= {"HOROVOD_STALL_CHECK_TIME_SECONDS": "4", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "12"}
        environment.pop("PYTHONPATH", None)
        ranks = RANKS.get(name, 2)
        begun, asked = time.monotonic(), list[float]()

        def ask() -> None:
            if name.startswith("stall") and not asked and time.monotonic() - begun > 80:
                asked.append(time.monotonic())
                ask_where(staged.log)

        result = staged.run(ranks, python=python, environment=environment, on_idle=ask, limit=95)
        into = HERE / "recorded" / name
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)

        def kept(text: str) -> str:
            text = re.sub(r"[^\s\"',]*/lib/python3[^/\s\"']*/site-packages", "/python/site-packages", text)
            text = re.sub(r"[^\s\"',]*/lib/python3\.\d+/", "/python/lib/", text)
            text = text.replace(str(HERE.parents[1] / "server"), "/horovodize").replace(temporary, "/tmp")
            return re.sub(r"0x[0-9a-f]+", "0x7f", text)

        for rank in range(ranks):
            (into / f"rank-{rank}.txt").write_text(kept(result.output.get(rank, "")), encoding="utf-8")
        for path in staged.stacks.iterdir():
            if text := path.read_text():
                (into / f"{path.name}.txt").write_text(kept(text), encoding="utf-8")
        (into / "map.json").write_text(
            kept((staged.root / MAP).read_text(encoding="utf-8")), encoding="utf-8"
        )
        first = min(result.ended.values(), default=0)
        ended = {str(rank): round(at - first, 1) for rank, at in sorted(result.ended.items())}
        told = {"ranks": ranks, "status": result.status, "statuses": result.statuses, "ended": ended}
        (into / "result.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        print(name, told, f"{result.seconds:.0f} s", "over the limit" if result.over_limit else "")


def main() -> None:
    failing = {path.stem: path for path in sorted((HERE / "failing").glob("*.py"))}
    failing["project"] = HERE / "failing" / "project" / "train.py"
    for name in sys.argv[2:] or failing:
        record(name, failing[name], interpreter(sys.argv[1]))


if __name__ == "__main__":
    main()
