"""Runs a training script as `__main__` and writes down how it trained.

    python probe.py --report DIR [--seed N] [--limit SECONDS] [--steps K] [--data-limit ROWS] -- SCRIPT [ARGUMENT…]

Under a launcher every rank runs it and writes `DIR/rank-N.json`; without one it is rank 0 of 1. It is told nothing of how a
script was distributed. The report is also written when the script fails; when it stalls, the place where it stood is on
standard error. What a version of TensorFlow or Keras doesn't let it see, it names in `unseen`."""

from __future__ import annotations

import argparse
import builtins
import faulthandler
import importlib
import json
import os
import re
import sys
import time
import traceback
import types
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parent)


class Enough(BaseException):
    """Ends a script after the steps that were asked for."""


class Echo:
    """Standard output that counts the lines that go through."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def lines(self) -> int:
        """Lines without progress bars."""
        bar = re.compile(r"\d+/(\d+|Unknown) (\[|-)|\d+[mu]?s/(step|epoch|sample)|^Epoch \d+/")
        return sum(
            bool(line.strip()) and not bar.search(line)
            for line in re.split(r"[\r\n\b]+", "".join(self.parts))
        )


class Probe:
    """The watchers of one process."""

    def __init__(self, options: argparse.Namespace, rank: int, size: int) -> None:
        self.options, self.rank, self.size = options, rank, size
        self.unseen: list[str] = []
        self.stopped = False
        self.limited: list[str] = []
        self._objectives: Any = None
        self._sessions: Any = None

    def install(self) -> None:
        from randomness import Randomness

        self.randomness = Randomness(self.options.seed + self.rank)
        self._tried("random numbers", self.randomness.install)
        self.xla = self._made("xla", "Xla")
        self.collectives = self._made(
            "collectives",
            "Collectives",
            self.xla.stop_at if self.xla else lambda kind: None,
            install=self.size > 1,
        )
        self.steps = self._made(
            "steps", "Steps", lambda: self.collectives.counts() if self.collectives else (0, 0)
        )
        self.examples = self._made(
            "examples", "Examples", lambda: self._objectives.steps if self._objectives else 0
        )
        self.arguments = self._made("arguments", "Arguments")
        self.losses = self._made("losses", "Losses")
        self.decisions = self._made("decisions", "Decisions")
        self.files = self._made("files", "Files", self.options.root or os.getcwd())
        self.averaging = self._made("averaging", "Averaging")
        self._objectives = self._made("objectives", "Objectives", self._after_step)
        if self.collectives and self.files:
            self._sessions = self._made(
                "sessions", "Sessions", self.collectives, self.files, None, self._after_step
            )
        every = self.options.check_every
        for name in ("steps", "sessions"):
            module = sys.modules.get(f"horovodize_hooks.{name}")
            if module is not None:
                module.EVERY = every  # type: ignore[attr-defined]
        values: Any = sys.modules.get("horovodize_hooks.values")
        if values is not None:
            values.most = 500
        if self.options.gradients:
            from gradients import changed

            self._tried("gradients", lambda: changed(self.options.gradients))
        if self.options.data_limit:
            from shortened import shorten

            self.limited = shorten(self.options.data_limit)

    def _made(self, module: str, name: str, *arguments: Any, install: bool = True) -> Any:
        try:
            made = getattr(importlib.import_module(f"horovodize_hooks.{module}"), name)(*arguments)
        except (ImportError, AttributeError) as e:
            self.unseen.append(f"{module}: {e}")
            return None
        if install:
            self._tried(module, made.install)
        return made

    def _tried(self, what: str, install: Any) -> None:
        try:
            install()
        except (ImportError, AttributeError) as e:
            self.unseen.append(f"{what}: {e}")

    def _after_step(self, steps: int) -> None:
        self.randomness.first_step()
        if self.options.steps and steps >= self.options.steps:
            self.stopped = True
            raise Enough

    def report(self, error: str, seconds: float, output: Echo) -> dict[str, Any]:
        optimizers = self.steps.report() if self.steps else []
        sessions = self._sessions
        objectives, times = [], []
        for source in (self._objectives, sessions):
            if source is not None:
                objectives += source.losses() if source is sessions else source.report()
                times += source.times()
        if self.xla and self.xla.seen:
            self.unseen.append("XLA: what it compiles is watched without it (jit_compile=False)")
        examples = {
            **(self.examples.report() if self.examples else {}),
            **(self.arguments.report() if self.arguments else {}),
        }
        if sessions is not None:
            optimizers += sessions.report()
            examples["sessions"] = sessions.examples.report()
        return {
            "rank": self.rank,
            "size": self.size,
            "error": "" if self.stopped else error,
            "stopped": self.stopped,
            "seconds": seconds,
            "clock": time.time() - time.monotonic(),
            "printed": output.lines(),
            "optimizers": optimizers,
            "examples": examples,
            "input_seconds": self.examples.seconds if self.examples else 0.0,
            "fits": self.losses.report()["fits"] if self.losses else [],
            "objectives": objectives,
            "times": times,
            "collectives": self.collectives.log if self.collectives else [],
            "sums": self.collectives.sums if self.collectives else 0,
            "averaging": self.averaging.steps if self.averaging else [],
            "files": self.files.report() if self.files else {},
            "decided": self.decisions.seen if self.decisions else [],
            "kept": self._kept(),
            "draws": self.randomness.drawn_in_training(),
            "drew": self.randomness.drawn_before(),
            "layers": self._layers(),
            "unseen": self.unseen,
            "limited": self.limited,
        }

    def _kept(self) -> list[Any]:
        try:
            from horovodize_hooks.kept import kept

            return kept(vars(sys.modules["__main__"]))
        except (ImportError, AttributeError) as e:
            self.unseen.append(f"variables kept: {e}")
            return []

    def _layers(self) -> list[str]:
        """Kinds of layers that make one training unlike another: statistics of batches, and what is drawn."""
        try:
            import tensorflow as tf

            from horovodize_hooks.values import instances

            found = {type(layer).__name__ for layer in instances(tf.keras.layers.Layer)}
        except (ImportError, AttributeError):
            return []
        return sorted(name for name in found if re.search("BatchNorm|Dropout|Noise|Random", name))


def run_as_main(script: str, arguments: list[str]) -> str:
    """Runs a file as `python SCRIPT ARGUMENT…` would. Returns what it failed with, or nothing."""
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)
    except Enough:
        return ""
    except SystemExit as stop:
        return "" if stop.code in (None, 0) else f"SystemExit: {stop.code}"
    except BaseException:
        return traceback.format_exc()
    return ""


def place() -> tuple[int, int]:
    """The rank and the number of ranks, as launchers tell them."""
    for rank, size in (
        ("HOROVOD_RANK", "HOROVOD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ):
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


def with_own_hashes(rank: int, size: int) -> None:
    """Begins once more with a hash seed of this rank's own: a set of texts comes in another order in each process. Rank 0 keeps
    the one that the runs alone have."""
    if rank and size > 1 and os.environ.get("PYTHONHASHSEED") == "0":
        os.environ["PYTHONHASHSEED"] = str(rank)
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), *sys.argv[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument(
        "--seed", type=int, default=1, help="where rank 0's random numbers start; rank N's at seed + N"
    )
    parser.add_argument(
        "--limit", type=float, default=0, help="seconds after which to give up, showing where it stands"
    )
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps")
    parser.add_argument("--gradients", default="", choices=("", "untrained", "rounded", "headless"),
                        help="apply others than are given: zeros, rounded otherwise, or zeros in the first step")  # fmt: skip
    parser.add_argument("--data-limit", type=int, default=0, help="rows to read of what is read whole")
    parser.add_argument(
        "--root", default="", help="the folder below which files count (default: the current one)"
    )
    parser.add_argument(
        "--check-every", type=int, default=25, help="look at the variables every so many steps"
    )
    parser.add_argument("command", nargs="+", metavar="SCRIPT [ARGUMENT…]")
    options = parser.parse_args()
    if options.limit:
        faulthandler.dump_traceback_later(options.limit, exit=True)
    if sys.version_info < (3, 10):  # noqa: UP036 (the interpreter that trains is not ours)
        sys.exit("horovodize verify needs Python 3.10 or newer where the script trains")
    script, *arguments = options.command
    probe = Probe(options, *place())
    sys.path.insert(1, HERE)
    probe.install()
    sys.path.remove(HERE)
    output = Echo(sys.stdout)
    sys.stdout = output  # type: ignore[assignment]
    started = time.monotonic()
    error = run_as_main(script, arguments)
    seconds = time.monotonic() - started
    sys.stdout = output._stream
    if error and not probe.stopped:
        sys.stderr.write(error)
    sys.path.insert(1, HERE)
    report = probe.report(error, seconds, output)
    options.report.mkdir(parents=True, exist_ok=True)
    (options.report / f"rank-{probe.rank}.json").write_text(json.dumps(report), encoding="utf-8")
    return 1 if report["error"] else 0


if __name__ == "__main__":
    with_own_hashes(*place())
    sys.exit(main())
