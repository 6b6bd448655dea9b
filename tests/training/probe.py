"""Runs a training script as `__main__` and writes down how it trained.

    python probe.py --report DIR [--tf1] [--seed N] [--seed-per-rank] [--limit SECONDS] [--before FILE] -- SCRIPT [ARGUMENT…]

Under `horovodrun` every rank runs it and writes `DIR/rank-N.json`; without, it is rank 0 of 1. It is told nothing of
how a script was distributed. The report is written also when the script fails; not when it stalls, but then the place
where it stood is on standard error."""

from __future__ import annotations

import argparse
import builtins
import faulthandler
import json
import os
import random
import runpy
import sys
import time
import traceback
import types
from pathlib import Path
from typing import Any

# The watchers are those of `horovodize verify`.
sys.path.insert(1, str(Path(__file__).parents[2] / "server" / "horovodize" / "verifying" / "probe"))


class Echo:
    """Standard output that keeps a copy of what goes through."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def run_as_main(script: str, arguments: list[str], names: dict[str, Any]) -> str:
    """Runs a file as `python SCRIPT ARGUMENT…` would, with the given builtins. Returns what it failed with, or nothing."""
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__dict__["__builtins__"] = names
    sys.modules["__main__"] = module
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)
    except SystemExit as stop:
        return "" if stop.code in (None, 0) else f"SystemExit: {stop.code}"
    except BaseException:
        traceback.print_exc()
        return traceback.format_exc()
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seed-per-rank", action="store_true", help="rank N starts from seed + N")
    parser.add_argument(
        "--shared-order",
        action="store_true",
        help="TensorFlow's own seed is common to all ranks, as it is where none is set: shuffles that are given a seed deal "
        "the same order (Keras still initializes differently)",
    )
    parser.add_argument(
        "--tf1", action="store_true", help="`import tensorflow` gives the script TensorFlow 1"
    )
    parser.add_argument(
        "--limit", type=float, default=0, help="seconds after which to give up, showing where it stands"
    )
    parser.add_argument(
        "--before",
        type=Path,
        help="a Python file whose `install()` is called before the script, and the losses are noted",
    )
    parser.add_argument("command", nargs="+", metavar="SCRIPT [ARGUMENT…]")
    options = parser.parse_args()
    if options.limit:
        faulthandler.dump_traceback_later(options.limit, exit=True)
    rank, size = int(os.environ.get("HOROVOD_RANK", "0")), int(os.environ.get("HOROVOD_SIZE", "1"))
    script, *arguments = options.command

    import numpy as np
    import tensorflow as tf
    import tensorflow_1

    from horovodize_hooks import sessions as session_hooks
    from horovodize_hooks import steps as step_hooks
    from horovodize_hooks import values
    from horovodize_hooks.collectives import Collectives
    from horovodize_hooks.examples import Examples
    from horovodize_hooks.files import Files
    from horovodize_hooks.kept import kept
    from horovodize_hooks.losses import Losses
    from horovodize_hooks.objectives import Objectives
    from horovodize_hooks.sessions import Sessions
    from horovodize_hooks.steps import Steps

    collectives, examples, losses, objectives = Collectives(), Examples(), Losses(), Objectives()
    files, steps = Files(os.getcwd(), slow=size > 1), Steps(collectives.counts)
    seed = options.seed + (rank if options.seed_per_rank else 0)
    graph_seed = options.seed if options.shared_order else seed
    sessions = Sessions(collectives, files, graph_seed)
    if b"horovod" in Path(script).read_bytes():
        collectives.install()
    for watcher in (steps, examples, losses, files, sessions):
        watcher.install()
    names = tensorflow_1.install(graph_seed) if options.tf1 else vars(builtins)
    if options.before:
        values.most = 200  # public models are large
        session_hooks.EARLY = step_hooks.EARLY = 0
        objectives.install()
        runpy.run_path(str(options.before))["install"]()

    random.seed(seed)
    np.random.seed(seed)
    tf.keras.utils.set_random_seed(seed)
    if options.shared_order:
        tf.random.set_seed(options.seed)

    sys.stdout = output = Echo(sys.stdout)
    started = time.monotonic()
    error = run_as_main(script, arguments, names)
    seconds = time.monotonic() - started
    sys.stdout = output._stream

    report = {
        "rank": rank,
        "size": size,
        "error": error,
        "seconds": seconds,
        "stdout": "".join(output.parts),
        "optimizers": steps.report() + sessions.report(),
        "examples": {**examples.report(), "sessions": sessions.examples.report()},
        "losses": losses.report(),
        "objectives": objectives.report() + sessions.losses(),
        "collectives": collectives.log,
        "files": files.report(),
        "kept": kept(vars(sys.modules["__main__"])),
    }
    options.report.mkdir(parents=True, exist_ok=True)
    (options.report / f"rank-{rank}.json").write_text(json.dumps(report), encoding="utf-8")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
