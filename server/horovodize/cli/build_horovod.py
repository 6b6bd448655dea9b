"""Build Horovod for the TensorFlow of a Python environment, and keep the wheel: Horovod's last release comes without wheels,
and doesn't build for TensorFlow 2.19 and later as it is. Prints the wheel's path; installs nothing in that environment."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from pathlib import Path

    from horovodize.building.target import Target
    from horovodize.cli.output import Console

HELP = "build Horovod for your TensorFlow"
EXAMPLES = """\
horovodize build-horovod --python .venv
horovodize build-horovod --tensorflow 2.21.0 --output wheels
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tensorflow",
        metavar="VERSION",
        help="build for this version, such as 2.21.0 (default: the one installed for --python). If another is installed there, "
        "a temporary environment gets this one",
    )
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        help="the interpreter, or the folder of its environment (default: VIRTUAL_ENV, else the one that runs this)",
    )
    parser.add_argument(
        "--output", metavar="DIR", help="copy the wheel there; it's kept in the cache in any case"
    )
    parser.add_argument("--jobs", metavar="N", type=_jobs, default=0,
                        help="compilers at once (default: what cores and memory allow, 2 GB each, 8 at most)")  # fmt: skip
    parser.add_argument("--list-missing", action="store_true",
                        help="only print what has to be installed first, one Debian package a line")  # fmt: skip


def run(arguments: argparse.Namespace, console: Console) -> int:
    from horovodize.building.target import BuildError

    try:
        return _run(arguments, console)
    except BuildError as e:
        raise CommandError(str(e)) from e


def _run(arguments: argparse.Namespace, console: Console) -> int:
    from dataclasses import replace

    from horovodize.building import build
    from horovodize.building.target import BuildError, missing_for, say_missing, target_of

    target = target_of(arguments.python or os.environ.get("VIRTUAL_ENV") or sys.executable)
    if not target.tensorflow and not arguments.tensorflow:
        raise BuildError(
            f"{target.name} has no TensorFlow: install it there first, name another with --python, or say --tensorflow VERSION"
        )
    wanted = build.chosen(target, arguments.tensorflow)
    wheel = build.kept_wheel(replace(target, tensorflow=wanted))
    missing = [] if wheel else missing_for(target, alone=wanted != target.tensorflow)
    if arguments.list_missing:
        console.write("".join(f"{package}\n" for package in missing))
        return ExitStatus.OK
    if missing:
        raise BuildError(say_missing(missing))
    if wheel is None:
        with build.with_tensorflow(target, wanted, console.message) as having:
            wheel = _built(having, arguments.jobs, console)
    else:
        console.message(f"Horovod for TensorFlow {wanted} was built before.")
    wheel = _copied(wheel, arguments.output)
    console.message(_next(wheel, target, wanted))
    console.line(str(wheel))
    return ExitStatus.OK


def _built(target: Target, jobs: int, console: Console) -> Path:
    from horovodize.building import build, recipe

    if remark := build.not_tried(target.tensorflow):
        console.message(f"Note: {remark}")
    if own := recipe.own_settings(os.environ):
        console.message(f"With your settings {', '.join(f'{name}={value}' for name, value in own.items())}")
    start = time.monotonic()
    wheel = build.build(target, console.message, jobs)
    console.message(f"Built in {(time.monotonic() - start) / 60:.1f} minutes.")
    return wheel


def _copied(wheel: Path, output: str | None) -> Path:
    import shutil
    from pathlib import Path

    if not output:
        return wheel
    try:
        Path(output).mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(wheel, output))
    except OSError as e:
        raise CommandError(f"can't write to {output}: {e.strerror or e}") from e


def _next(wheel: Path, target: Target, tensorflow: str) -> str:
    """What to do with a wheel, once it is there."""
    here = target.tensorflow == tensorflow
    python = target.executable if here else f"PYTHON-WITH-TENSORFLOW-{tensorflow}"
    # horovodrun imports distutils, which Python 3.12 no longer has by itself.
    also = ' "setuptools<81"' if target.python >= (3, 12) else ""
    check = f"{os.path.dirname(target.executable)}/horovodrun" if here else "horovodrun"
    return f"Next: {python} -m pip install {wheel}{also}\nThen: {check} --check-build"


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of compilers")
    return int(text)
