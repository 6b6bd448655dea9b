"""What is said of TensorFlow's and Keras' versions outside of a script. In this order; who first knows is believed:

1. the packages of an interpreter that the user names (the command line's `--python`, else VIRTUAL_ENV; the server's setting),
   by the names of their `.dist-info` folders;
2. lock files beside the script, then in the folders above it up to the top of its project;
3. there, what `requirements*.txt` and `pyproject.toml` ask for, unless they contradict each other.

The setting `tensorflow` comes before all of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from horovodize.files import read_regular
from horovodize.world.versions import Versions

_LARGEST = 20_000_000  # bytes of a lock file
_MARKS = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")  # what stands at the top of a project
TENSORFLOW_PACKAGES = (
    "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-rocm",
    "intel-tensorflow",
)  # fmt: skip
_NAME = re.compile(r"\s*([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;#)]*)")
_LOCKED = re.compile(r'^name = "([^"]+)"\s*^version = "([^"]+)"', re.MULTILINE)


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
        for pattern, read in _LOCKS.items():
            for path in sorted(place.glob(pattern)):
                found = _of(_read(path, read), path.name)
                if found.tensorflow or found.keras:
                    return found
        asked = [
            _of(_read(path, read), path.name)
            for pattern, read in _REQUIREMENTS.items()
            for path in sorted(place.glob(pattern))
        ]
        asked = [found for found in asked if found.tensorflow or found.keras]
        if len({(found.tensorflow, found.keras) for found in asked}) == 1:
            return asked[0]
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
    data = read_regular(path, _LARGEST)
    if data is None or not re.search(rb"tensorflow|keras", data, re.IGNORECASE):
        return {}
    try:
        return {_normal(name): asked for name, asked in read(data.decode("utf-8")).items()}
    except (ValueError, TypeError, AttributeError):  # somebody else's file; a TOML error is a ValueError
        return {}


def _of(packages: Mapping[str, str], source: str) -> Versions:
    tensorflow = next((packages[name] for name in TENSORFLOW_PACKAGES if packages.get(name)), "")
    keras = packages.get("keras", "")
    return Versions(tensorflow, keras, source if tensorflow or keras else "")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(text: str) -> dict[str, str]:
    return dict(_requirement(line) for line in text.splitlines() if _NAME.match(line))


def _requirement(line: str) -> tuple[str, str]:
    """`tensorflow-cpu[and-cuda] >=2.16, <2.18 ; python_version > "3.8"` → its name and its versions."""
    match = _NAME.match(line)
    return (match[1], match[2].strip()) if match else ("", "")


def _pyproject(text: str) -> dict[str, str]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    document: dict[str, Any] = tomllib.loads(text)
    found = dict(_requirement(line) for line in document.get("project", {}).get("dependencies", ()))
    poetry = document.get("tool", {}).get("poetry", {}).get("dependencies", {})
    for name, asked in poetry.items():
        found[name] = asked if isinstance(asked, str) else str(asked.get("version", ""))
    return found


def _toml_lock(text: str) -> dict[str, str]:
    return dict(_LOCKED.findall(text))


def _pipfile_lock(text: str) -> dict[str, str]:
    import json

    return {
        name: str(entry.get("version", "")) for name, entry in json.loads(text).get("default", {}).items()
    }


_LOCKS = {
    "uv.lock": _toml_lock,
    "poetry.lock": _toml_lock,
    "pdm.lock": _toml_lock,
    "Pipfile.lock": _pipfile_lock,
}
_REQUIREMENTS = {"requirements*.txt": _requirements, "pyproject.toml": _pyproject}
