"""Download, change, build, keep."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from horovodize.building import recipe
from horovodize.building.target import BuildError, Target, target_of, without_python_variables
from horovodize.world.versions import Version

Say = Callable[[str], None]
_TAIL = 40  # lines of a log that are shown


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "horovodize"


def kept_wheel(target: Target) -> Path | None:
    """The wheel that was built before for an interpreter and its TensorFlow."""
    return next(iter(sorted(_place(target).glob("horovod-*.whl"))), None)


def _place(target: Target) -> Path:
    return cache_folder() / recipe.key(target.tensorflow, target.tags, os.environ)


def version_of(tensorflow: str) -> Version:
    """The first two numbers of a TensorFlow's version. Raises BuildError where it has none."""
    parts = tensorflow.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        raise BuildError(f"{tensorflow!r} is not a version of TensorFlow such as 2.21.0")
    return int(parts[0]), int(parts[1])


def build(target: Target, say: Say, jobs: int = 0) -> Path:
    """The wheel of Horovod for an interpreter that has TensorFlow: the kept one, else it is built, and kept.

    `jobs`: compilers at once; 0 for as many as cores and memory allow. Raises BuildError."""
    version = version_of(target.tensorflow)
    place = _place(target)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise BuildError(f"can't write to {place}: {e.strerror}") from e
    with _only_one(place), tempfile.TemporaryDirectory(prefix="horovodize-build-") as folder:
        if (wheel := kept_wheel(target)) is not None:
            say(f"Horovod {recipe.HOROVOD} for TensorFlow {target.tensorflow}: taken from {place}")
            return wheel
        if not jobs:
            jobs = recipe.jobs_for(recipe.cores(), recipe.free_memory())
        work = _Work(Path(folder), target, place / "build.log")
        say(f"Downloading Horovod {recipe.HOROVOD} …")
        source = work.source()
        try:
            recipe.change(source, version, jobs)
        except recipe.NotAsExpected as e:
            raise BuildError(str(e)) from e
        how = ", without its operations for XLA" if version >= recipe.FIRST_WITHOUT_XLA_HEADERS else ""
        say(
            f"Building it for TensorFlow {target.tensorflow} and {target.name}{how}: "
            f"{jobs} at a time; {_TIMES}; log in {work.log} …"
        )
        wheel = work.wheel(source)
        kept = place / wheel.name
        shutil.move(str(wheel), kept)
        return kept


_TIMES = "seven minutes of processor time"


class _Work:
    """One build: a folder that goes when it is done, and a log that stays."""

    def __init__(self, folder: Path, target: Target, log: Path) -> None:
        self.folder, self.target, self.log = folder, target, log
        self.log.write_bytes(b"")
        # Beside the interpreter's packages, not among them: its environment stays as it is.
        self.tools = folder / "tools"
        around = without_python_variables()
        bin_folder = os.path.dirname(target.executable)
        self.environment = recipe.settings(around) | {
            "PYTHONPATH": str(self.tools),
            "PATH": os.pathsep.join([bin_folder, around.get("PATH", os.defpath)]),
        }

    def source(self) -> Path:
        """Downloads the source distribution and unpacks it."""
        self._pip("install", "--quiet", "--target", str(self.tools), *recipe.tools_for(self.target.python))
        name = f"horovod=={recipe.HOROVOD}"
        self._pip("download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
                  "--dest", str(self.folder), name)  # fmt: skip
        archive = self.folder / f"horovod-{recipe.HOROVOD}.tar.gz"
        try:
            with tarfile.open(archive) as packed:
                if hasattr(tarfile, "data_filter"):
                    packed.extractall(self.folder, filter="data")
                else:
                    packed.extractall(self.folder)
        except (OSError, tarfile.TarError) as e:
            raise BuildError(
                f"pip downloaded no source of Horovod {recipe.HOROVOD} that can be unpacked: {e}"
            ) from e
        return self.folder / f"horovod-{recipe.HOROVOD}"

    def wheel(self, source: Path) -> Path:
        """Builds. The interpreter's TensorFlow has to be seen: no build isolation."""
        made = self.folder / "made"
        self._pip(
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--no-cache-dir",
            "--wheel-dir",
            str(made),
            str(source),
        )
        wheel = next(iter(made.glob("horovod-*.whl")), None)
        if wheel is None:
            raise BuildError(f"pip built no wheel; see {self.log}")
        return wheel

    def _pip(self, verb: str, *arguments: str) -> None:
        command = [
            self.target.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--no-input",
            verb,
            *arguments,
        ]
        if run(command, self.environment, self.folder, self.log) != 0:
            raise BuildError(f"{_end_of(self.log, _TAIL)}\npip {verb} failed; all of its output: {self.log}")


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> int:
    """Runs a command, with its output at the end of a log; gives its status."""
    with log.open("ab") as output:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        ).returncode


def _end_of(log: Path, lines: int) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


@contextlib.contextmanager
def _only_one(place: Path) -> Iterator[None]:
    """One builds, others wait for it."""
    import fcntl

    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# ---------------------------------------------------------------------- another TensorFlow than the interpreter's


def chosen(target: Target, wanted: str | None) -> str:
    """The TensorFlow to build for: what an interpreter has, where that is meant ("2.21" is 2.21.0), else what is wanted."""
    if not wanted or target.tensorflow == wanted or target.tensorflow.startswith(f"{wanted}."):
        return target.tensorflow
    version_of(wanted)
    return wanted


@contextlib.contextmanager
def with_tensorflow(target: Target, version: str, say: Say) -> Iterator[Target]:
    """An interpreter that has this TensorFlow: the one given, where it does; else a new environment for as long as it takes."""
    if target.tensorflow == version:
        yield target
        return
    with tempfile.TemporaryDirectory(prefix="horovodize-tensorflow-") as folder:
        package = (
            "tensorflow-cpu" if target.platform == "linux-x86_64" else "tensorflow"
        )  # their headers are the same
        has = f"TensorFlow {target.tensorflow}" if target.tensorflow else "no TensorFlow"
        say(f"{target.name} has {has}: installing {package} {version} in a temporary environment …")
        exact = version if version.count(".") >= 2 else f"{version}.*"
        environment, log = without_python_variables(), Path(folder) / "log"
        for command in (
            [target.executable, "-m", "venv", folder],
            [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", f"{package}=={exact}"],
        ):
            if run(command, environment, Path(folder), log) != 0:
                raise BuildError(
                    f"{_end_of(log, 10)}\nTensorFlow {version} can't be installed for {target.name}"
                )
        yield target_of(f"{folder}/bin/python")


def not_tried(tensorflow: str) -> str:
    """A remark on a TensorFlow for which nobody has tried this; "" where that was done."""
    first, last = recipe.TRIED_FROM, recipe.TRIED_TO
    if first <= version_of(tensorflow) <= last:
        return ""
    return (
        f"the recipe was tried for TensorFlow {first[0]}.{first[1]} to {last[0]}.{last[1]}; "
        f"for {tensorflow} it may fail"
    )
