"""The interpreter that Horovod is built for, and what is missing to build for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from horovodize.building.recipe import HOROVOD
from horovodize.world.surroundings import TENSORFLOW_PACKAGES

# Run by the interpreter: metadata only, nothing of TensorFlow is imported.
_ASK = """
import importlib.metadata as m, importlib.util as u, json, sys, sysconfig
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return ""
print(json.dumps({
    "executable": sys.executable, "version": sys.version_info[:2],
    "platform": sysconfig.get_platform(), "headers": sysconfig.get_paths()["include"],
    "implementation": sys.implementation.name, "missing": [n for n in ("pip", "venv") if u.find_spec(n) is None],
    "versions": {name: version(name) for name in sys.argv[1:]},
}))
"""


class BuildError(Exception):
    """Why Horovod isn't built: a sentence for the user that says what to do."""


@dataclass(frozen=True)
class Target:
    """An interpreter. `tensorflow`: the version that is installed there, "" where none is; `python`: such as (3, 11)."""

    executable: str
    python: tuple[int, int]
    platform: str
    headers: Path
    tensorflow: str
    without: tuple[str, ...] = ()  # modules that Debian packs separately: pip, venv

    @property
    def tags(self) -> str:
        """As the folder of a kept wheel names it: "cp311-linux-x86_64"."""
        return f"cp{self.python[0]}{self.python[1]}-{self.platform}"

    @property
    def name(self) -> str:
        return f"Python {self.python[0]}.{self.python[1]} ({self.executable})"


def target_of(python: str) -> Target:
    """What an interpreter, or the folder of its environment, says of itself. Raises BuildError where it can't be run."""
    path = os.path.expanduser(python)
    if os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    command = shutil.which(path)
    if command is None:
        raise BuildError(f"there is no Python at {python}")
    try:
        asked = subprocess.run(
            [os.path.abspath(command), "-c", _ASK, *TENSORFLOW_PACKAGES],
            capture_output=True,
            text=True,
            timeout=60,
            env=without_python_variables(),
            check=True,
        )
        said = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as e:
        raise BuildError(f"{python} doesn't work as a Python 3.8 or newer") from e
    if sys.platform == "win32" or said["platform"].startswith("win"):
        raise BuildError("Horovod has no build for Windows; use WSL, and a Python there")
    if said["implementation"] != "cpython":
        raise BuildError(f"{python} is {said['implementation']}; TensorFlow and Horovod need CPython")
    return Target(
        executable=said["executable"],
        python=(said["version"][0], said["version"][1]),
        platform=said["platform"],
        headers=Path(said["headers"]),
        tensorflow=next((version for version in said["versions"].values() if version), ""),
        without=tuple(said["missing"]),
    )


def without_python_variables() -> dict[str, str]:
    """Our environment for another interpreter: without what would show it our modules."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


# ---------------------------------------------------------------------- what is missing


def missing_for(target: Target, *, alone: bool = False) -> list[str]:
    """What building needs and isn't there, by the names of Debian's packages. `alone`: an environment is made for it."""
    version = f"python{target.python[0]}.{target.python[1]}"
    missing = [tool for tool in ("cmake", "g++", "make") if shutil.which(tool) is None]
    if not (target.headers / "Python.h").is_file():
        missing.append(f"{version}-dev")
    if "pip" in target.without and not alone:
        missing.append("python3-pip")
    if "venv" in target.without and alone:
        missing.append(f"{version}-venv")
    return missing


def say_missing(missing: list[str]) -> str:
    """What to do about it, as a sentence."""
    if sys.platform == "darwin":
        how = "xcode-select --install; brew install cmake"
    else:
        how = f"on Debian and Ubuntu: sudo apt-get install {' '.join(missing)}"
    return f"to build Horovod {HOROVOD}, first install {', '.join(missing)} ({how})"
