"""`[tool.horovodize]` of the nearest `pyproject.toml`: what the command line and the language server both go by.

[tool.horovodize]
split-data = true            # every field of `Options`, with hyphens
comments = true
strict = false
tensorflow = "2.15"          # where it is known what the scripts run on
python = ".venv"             # else: the interpreter (or its environment) that they run with, from this file's folder
rate = "linear"              # what the rate of larger batches grows by: "linear", "sqrt" or "keep"
batch = "per-rank"           # what a batch size is that of: "per-rank", or "global", of all ranks together
output = "auto"              # how ranks other than 0 keep quiet: "guard" each statement, "silence" all at once, or "auto"
select = ["HVD1"]            # which findings are reported
ignore = ["HVD105"]
exclude = ["old/", "*_pb2.py"]  # files of folders that are left out: patterns as in a .gitignore here
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from horovodize.options import CHOICES, SETTINGS, is_version

_LARGEST = 1_000_000  # bytes of a pyproject.toml
_LISTS = {"select": "codes", "ignore": "codes", "exclude": "patterns"}


class ConfigurationError(ValueError):
    """A settings file that can't be read, or says what means nothing. The text is for the user."""


@dataclass(frozen=True)
class FileSettings:
    """What a table says.

    options  the fields of `Options` that it has, by their names
    select   codes, their beginnings or names of the findings to report; None: not said
    ignore   of those not to report; None: not said
    exclude  files that are left out of folders, as patterns of a `.gitignore` in `folder`; None: not said
    folder   where the file is
    python   the interpreter, or its environment, that the scripts run with; "" where it is not said
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    folder: Path | None = None
    python: str = ""


def nearest_settings(folder: Path, known: dict[Path, FileSettings]) -> FileSettings:
    """The settings for the files of a folder: of the nearest `pyproject.toml` upwards that has the table. `known` keeps those
    of the folders that were looked at. Raises ConfigurationError."""
    if folder not in known:
        path = folder / "pyproject.toml"
        table = read_table(path)
        if table is not None:
            known[folder] = settings_of(table, path)
        elif folder.parent == folder:
            known[folder] = FileSettings()
        else:
            known[folder] = nearest_settings(folder.parent, known)
    return known[folder]


def read_table(path: Path) -> Mapping[str, Any] | None:
    """The `[tool.horovodize]` of a file; None when there is no such file or table. Raises ConfigurationError."""
    from horovodize.files import read_regular  # a language server's first answer does not need it

    data = read_regular(path, _LARGEST)
    if (
        data is None or b"horovodize" not in data
    ):  # saves reading, and complaining about, other people's files
        return None
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ConfigurationError(f"{_shown(path)}: {e}") from e
    tool = document.get("tool")
    table = tool.get("horovodize") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{_shown(path)}: tool.horovodize must be a table")
    return table


def settings_of(table: Mapping[str, Any], path: Path) -> FileSettings:
    """What a table of a file says. Raises ConfigurationError for a key or a value that means nothing."""
    switches = {name.replace("_", "-"): name for name in SETTINGS}
    options: dict[str, Any] = {}
    python = ""
    lists: dict[str, tuple[str, ...]] = {}
    for key, value in table.items():
        where = f"{_shown(path)}: tool.horovodize.{key}"
        if key in switches:
            if key == "tensorflow":
                if not isinstance(value, str) or not is_version(value):
                    raise ConfigurationError(f'{where} must be a version like "2.15"')
            elif key in CHOICES:
                if value not in CHOICES[key]:
                    raise ConfigurationError(f"{where} must be one of {', '.join(CHOICES[key])}")
            elif not isinstance(value, bool):
                raise ConfigurationError(f"{where} must be true or false")
            options[switches[key]] = value
        elif key == "python":
            if not isinstance(value, str):
                raise ConfigurationError(f"{where} must be the path of a Python or of its environment")
            python = os.path.join(path.absolute().parent, os.path.expanduser(value))
        elif key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise ConfigurationError(f"{where} must be a list of {_LISTS[key]}")
            lists[key] = tuple(value)
        else:
            known = ", ".join(sorted([*switches, *_LISTS, "python"]))
            raise ConfigurationError(
                f"{_shown(path)}: unknown setting tool.horovodize.{key} (there are: {known})"
            )
    return FileSettings(
        options,
        lists.get("select"),
        lists.get("ignore"),
        lists.get("exclude"),
        path.absolute().parent,
        python,
    )


def matches(pattern: str, code: str, name: str) -> bool:
    """Whether a pattern of `select` or `ignore` means a code: "HVD105", "HVD1", "aliased-optimizer", "ALL"."""
    return pattern.upper() == "ALL" or code.startswith(pattern.upper()) or pattern == name


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
