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
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from horovodize.options import CHOICES, SETTINGS, is_version

_LARGEST = 1_000_000  # bytes of a pyproject.toml
_TOOLS = re.compile(rb"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*[\"']?([\w-]+)", re.M)  # the names of tables of tools
_ALIKE = 0.75  # as `difflib` measures; "horovod" and "horovodise" are alike, "hatch" is not
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
    warnings what a user may have meant otherwise: tables of similar names, which aren't read
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    folder: Path | None = None
    python: str = ""
    warnings: tuple[str, ...] = ()


def named_settings(path: Path, folder: Path) -> FileSettings:
    """The settings of a file that the user names; paths in it count from `folder`. Raises ConfigurationError, also where there
    is no such file or it has no table."""
    table = read_table(path)
    if table is None:
        found = path.is_file()
        what = "; ".join(misspelt(path)) or f"{path}: there is no [tool.horovodize] in it"
        raise ConfigurationError(what if found else f"{path}: no such file")
    return settings_of(table, path, folder)


def nearest_settings(folder: Path, known: dict[Path, FileSettings]) -> FileSettings:
    """The settings for the files of a folder: of the nearest `pyproject.toml` upwards that has the table. `known` keeps those
    of the folders that were looked at. Raises ConfigurationError."""
    if folder not in known:
        path = folder / "pyproject.toml"
        table = read_table(path)
        if table is not None:
            known[folder] = settings_of(table, path)
        else:
            above = FileSettings() if folder.parent == folder else nearest_settings(folder.parent, known)
            warnings = misspelt(path)
            known[folder] = replace(above, warnings=(*warnings, *above.warnings)) if warnings else above
    return known[folder]


def misspelt(path: Path) -> tuple[str, ...]:
    """Warnings of tables in a file whose names look like ours: `[tool.horovodise]`."""
    from horovodize.files import read_regular

    data = read_regular(path, _LARGEST) or b""
    names = dict.fromkeys(name.decode() for name in _TOOLS.findall(data) if name[:1].lower() == b"h")
    if not names:
        return ()
    from difflib import get_close_matches

    return tuple(
        f"{_shown(path)}: [tool.{name}] is not read; did you mean [tool.horovodize]?"
        for name in names
        if name != "horovodize" and get_close_matches("horovodize", [name.lower()], cutoff=_ALIKE)
    )


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


def settings_of(table: Mapping[str, Any], path: Path, folder: Path | None = None) -> FileSettings:
    """What a table of a file says. Paths in it count from `folder`, which is the file's own where it is None.

    Raises ConfigurationError for an unknown key and an invalid value."""
    folder = path.absolute().parent if folder is None else folder
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
            python = os.path.join(folder, os.path.expanduser(value))
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
        folder,
        python,
    )


def matches(pattern: str, code: str, name: str) -> bool:
    """Whether a pattern of `select` or `ignore` means a code: "HVD105", "HVD1", "aliased-optimizer", "ALL"."""
    return pattern.upper() == "ALL" or code.startswith(pattern.upper()) or pattern == name


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
