"""What is said of TensorFlow's and Keras' versions outside of a script. In this order; who first knows is believed:

1. the packages of an interpreter that the user names (the command line's `--python`, else VIRTUAL_ENV; the server's setting),
   by the names of their `.dist-info` folders;
2. lock files beside the script, then in the folders above it up to the top of its project;
3. there, what `requirements*.txt`, `setup.py`, `pyproject.toml`, `environment.yml` and their like ask for, unless they
   contradict each other. One that allows Keras 2 and 3 says nothing.

The setting `tensorflow` comes before all of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from horovodize.files import read_regular
from horovodize.world.asked_for import LOCKS, REQUIREMENTS, requirement
from horovodize.world.versions import FIRST_WITH_KERAS_3, Versions, before, from_on

_LARGEST = 20_000_000  # bytes of a lock file
_MARKS = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")  # what stands at the top of a project
# `-r base.txt`, `--constraint=limits.txt  # ours`
_INCLUDED = re.compile(rb"^\s*(-r|--requirement|-c|--constraint)\b[ \t=]*([^#\r\n]+)", re.MULTILINE)
TENSORFLOW_PACKAGES = (
    "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-rocm",
    "intel-tensorflow",
)  # fmt: skip


def surroundings(folder: Path, python: str = "") -> Versions:
    """What is known for the scripts of a folder. `python`: an interpreter, or the folder of its environment."""
    found = installed(python) if python else Versions()
    return found if found.tensorflow else required(folder)


# ---------------------------------------------------------------------- an interpreter


def installed(python: str) -> Versions:
    """The versions that an interpreter's packages have; nothing where there are none."""
    path = Path(os.path.abspath(os.path.expanduser(python)))
    root = path
    if not path.is_dir():
        root = path.parent.parent if path.parent.name in ("bin", "Scripts") else path.parent
    for packages in _package_folders(root, path):
        versions: dict[str, str] = {}
        try:
            names = sorted(entry.name for entry in os.scandir(packages) if entry.name.endswith(".dist-info"))
        except OSError:
            continue
        for name in names:
            package, _, version = name.removesuffix(".dist-info").partition("-")
            versions[_normal(package)] = version
        found = _of(versions, str(root))
        if found.tensorflow:
            return found
    return Versions()


def _package_folders(root: Path, python: Path) -> list[Path]:
    """Where the packages of an environment may be. Of several Pythons there, those of the one that is named."""
    found = [*root.glob("lib/python3*/site-packages"), *root.glob("lib/python3*/dist-packages")]
    found += [*root.glob("local/lib/python3*/dist-packages"), root / "Lib" / "site-packages"]
    version = re.search(r"python(3\.\d+)", os.path.realpath(python).replace("\\", "/").rpartition("/")[2])
    if version is not None:
        own = [folder for folder in found if f"python{version[1]}" in folder.parts]
        found = own or found
    return sorted(found)


# ---------------------------------------------------------------------- files


def required(folder: Path) -> Versions:
    """What the files of the nearest folder ask for that ask for TensorFlow at all, or for Keras."""
    for place in _folders(Path(os.path.abspath(folder))):
        for pattern, read in LOCKS.items():
            for path in sorted(place.glob(pattern)):
                found = _of(_read(path, read), path.name)
                if found.tensorflow or found.keras:
                    return found
        asked = [
            _of(_read(path, read), path.name)
            for pattern, read in REQUIREMENTS.items()
            for path in sorted(place.glob(pattern))
        ]
        asked = [found for found in asked if found.tensorflow or found.keras]
        telling = [found for found in asked if any(_kind(found.tensorflow)) or found.keras] or asked
        if len({(found.tensorflow, found.keras) for found in telling}) == 1:
            return telling[0]
        if asked:
            return Versions()
    return Versions()


def _folders(folder: Path) -> Iterable[Path]:
    """A folder and those above it, up to the top of its project; only the folder where there is no project."""
    above = [folder, *folder.parents]
    top = next((i for i, place in enumerate(above) if any((place / mark).exists() for mark in _MARKS)), 0)
    return above[: top + 1]


def _read(path: Path, read: Callable[[str], Mapping[str, str]]) -> dict[str, str]:
    """The packages of a file, each with what is asked for; none where it can't be understood."""
    try:
        data = _with_others(path, set()) if path.suffix == ".txt" else (read_regular(path, _LARGEST) or b"")
        if not re.search(rb"tensorflow|keras", data, re.IGNORECASE):
            return {}
        return {_normal(name): asked for name, asked in read(data.decode("utf-8")).items()}
    # Somebody else's file; a TOML error is a ValueError.
    except (ValueError, TypeError, AttributeError, SyntaxError, RecursionError, MemoryError):
        return {}


def _with_others(path: Path, seen: set[Path]) -> bytes:
    """The lines of a file of requirements, with those of the files that it includes (`-r base.txt`). Of `-c constraints.txt`
    only what concerns packages that are asked for."""
    path = Path(os.path.abspath(path))
    if path in seen:
        return b""
    seen.add(path)
    found = read_regular(path, _LARGEST) or b""
    own, limits = found, b""
    for match in _INCLUDED.finditer(found):
        name = os.fsdecode(match[2].strip().strip(b"\"'"))
        other = _with_others(path.parent / name, seen)
        if match[1] in (b"-r", b"--requirement"):
            own += b"\n" + other
        else:
            limits += b"\n" + other
    asked = {_name_of(line) for line in own.splitlines()}
    return own + b"\n" + b"\n".join(line for line in limits.splitlines() if _name_of(line) in asked)


def _name_of(line: bytes) -> str:
    return _normal(requirement(line.decode("utf-8", "replace"))[0])


def _of(packages: Mapping[str, str], source: str) -> Versions:
    asked = [packages[name] for name in TENSORFLOW_PACKAGES if packages.get(name)]
    tensorflow = (
        asked[0] if len({_kind(a) for a in asked}) == 1 else ""
    )  # this for one system, that for another
    keras = packages.get("keras", "")
    return Versions(tensorflow, keras, source if tensorflow or keras else "")


def _kind(tensorflow: str) -> tuple[bool, bool]:
    """Whether it is known to have Keras 3, and whether it is known to have Keras 2."""
    return from_on(tensorflow, FIRST_WITH_KERAS_3), before(tensorflow, FIRST_WITH_KERAS_3)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
