"""What is asked of an interpreter: first what its packages say of themselves, then what they say when they are imported."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from horovodize.building.target import without_python_variables
from horovodize.world.surroundings import TENSORFLOW_PACKAGES

INSIDE = Path(__file__).parent
_LIMIT = 180  # seconds for an import of TensorFlow, on a cold disk
PACKAGES = (*TENSORFLOW_PACKAGES, "keras", "tf-keras", "horovod", "setuptools")

# Metadata only; nothing of TensorFlow is imported. For Python 3.8 and later, also run on other hosts.
ASK = """
import importlib.metadata as m, importlib.util as u, json, os, sys
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return ""
spec = u.find_spec("horovod")
built_for = ""
if spec and spec.origin:
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "metadata.json")) as f:
            built_for = json.load(f).get("tensorflow") or ""
    except (OSError, ValueError):
        pass
print(json.dumps({"python": list(sys.version_info[:3]), "built_for": built_for,
                  "distutils": u.find_spec("distutils") is not None,
                  "versions": {name: version(name) for name in sys.argv[1:]}}))
"""


@dataclass(frozen=True)
class Packages:
    """What an interpreter has, by the metadata of its packages.

    python      such as "3.11.2"
    versions    of a package, "" where it is missing
    built_for   the TensorFlow that Horovod was built for, as Horovod noted it; "" where it didn't
    distutils   whether that module, which horovodrun imports, is there"""

    python: str
    versions: Mapping[str, str]
    built_for: str = ""
    distutils: bool = True

    @property
    def tensorflow(self) -> str:
        return next((self.versions[name] for name in TENSORFLOW_PACKAGES if self.versions.get(name)), "")

    @property
    def horovod(self) -> str:
        return self.versions.get("horovod", "")


@dataclass(frozen=True)
class Seen:
    """What TensorFlow and Horovod said when they were imported.

    failed      what could not be imported: "tensorflow", "keras", "horovod"; "python" where the process died
    built       of each controller and library, whether Horovod was built with it"""

    failed: str = ""
    error: str = ""
    keras: str = ""
    keras_package: str = ""
    gpus: int = 0
    built: Mapping[str, bool] = field(default_factory=dict)


def packages_of(text: str) -> Packages:
    """What ASK printed. Raises ValueError where it isn't that."""
    try:
        said: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
        python = ".".join(str(part) for part in said["python"])
        return Packages(python, said["versions"], said["built_for"], said["distutils"])
    except (IndexError, KeyError, TypeError, AttributeError) as e:
        raise ValueError(text) from e


def packages(executable: str) -> Packages:
    """Raises ValueError where the interpreter doesn't answer."""
    return packages_of(run([executable, "-c", ASK, *PACKAGES], limit=60).stdout)


def look(executable: str, folder: Path) -> Seen:
    """Has an interpreter import TensorFlow and Horovod. `folder`: one for the report, empty."""
    report = folder / "look.json"
    done = run([executable, str(INSIDE / "inside_look.py"), str(report)], limit=_LIMIT)
    try:
        said = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Seen("python", last_line(done.stderr) or f"the process ended with status {done.returncode}")
    known = {
        name: said[name]
        for name in ("failed", "error", "keras", "keras_package", "gpus", "built")
        if name in said
    }
    return Seen(**known)


def horovodrun(executable: str) -> list[str]:
    """The command that starts ranks under an interpreter: the one beside it, else the module."""
    beside = Path(executable).parent / "horovodrun"
    return [str(beside)] if os.access(beside, os.X_OK) else [executable, "-m", "horovod.runner.launch"]


def environment(executable: str, **added: str) -> dict[str, str]:
    """The environment of a process under an interpreter: its folder is first on the PATH, our modules aren't seen."""
    path = os.pathsep.join([os.path.dirname(executable), os.environ.get("PATH", os.defpath)])
    return without_python_variables() | {"PATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"} | added


def run(command: Sequence[str], *, limit: float, **added: str) -> subprocess.CompletedProcess[str]:
    """Runs a command, and all that it starts ends with it. Status 124: after `limit` seconds; 127: no such command."""
    if shutil.which(command[0]) is None:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: not found")
    with subprocess.Popen(
        command,
        env=environment(command[0], **added),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        out = err = ""
        try:
            out, err = process.communicate(timeout=limit)
        except BaseException as e:  # also Ctrl-C: no process stays
            _end(process)
            if not isinstance(e, subprocess.TimeoutExpired):
                raise
            with contextlib.suppress(subprocess.TimeoutExpired):  # whoever left the group may hold the pipes
                out, err = process.communicate(timeout=5)
            return subprocess.CompletedProcess(
                command, 124, out, f"{err}\nno answer within {limit:.0f} seconds"
            )
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process and its group: first asks, since horovodrun has groups of its own to end, then insists."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
