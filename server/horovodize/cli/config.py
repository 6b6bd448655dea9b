"""Settings: `[tool.horovodize]` of the nearest `pyproject.toml`, overridden by flags.

[tool.horovodize]
split-data = true            # every field of `Options`, with hyphens
comments = true
strict = false
tensorflow = "2.15"          # where it is known what the scripts run on
select = ["HVD1"]            # of `check`
ignore = ["HVD105"]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from horovodize.cli.runner import CommandError
from horovodize.options import Options, is_version

_LISTS = ("select", "ignore")


@dataclass(frozen=True)
class Settings:
    """What holds for one file. `select` None: the default ones."""

    options: Options = field(default_factory=Options)
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()


class Configuration:
    """The settings of every file of a run. Each `pyproject.toml` is read once."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._flags = {
            f.name: value for f in fields(Options) if (value := getattr(arguments, f.name, None)) is not None
        }
        self._select: tuple[str, ...] | None = getattr(arguments, "select", None)
        self._ignore: tuple[str, ...] | None = getattr(arguments, "ignore", None)
        self._known: dict[Path, Settings] = {}

    def settings(self, folder: Path) -> Settings:
        """The settings of the files of a folder. Raises CommandError."""
        found = self._from_files(folder)
        return replace(
            found,
            options=replace(found.options, **self._flags),
            select=found.select if self._select is None else self._select,
            ignore=found.ignore if self._ignore is None else self._ignore,
        )

    def _from_files(self, folder: Path) -> Settings:
        if folder not in self._known:
            table = read_table(folder / "pyproject.toml")
            if table is not None:
                self._known[folder] = settings_of(table, folder / "pyproject.toml")
            elif folder.parent == folder:
                self._known[folder] = Settings()
            else:
                self._known[folder] = self._from_files(folder.parent)
        return self._known[folder]


def read_table(path: Path) -> Mapping[str, Any] | None:
    """The `[tool.horovodize]` of a file; None when there is no such file or table. Raises CommandError."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if b"horovodize" not in data:  # saves reading, and complaining about, other people's files
        return None
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise CommandError(f"{_shown(path)}: {e}") from e
    tool = document.get("tool")
    table = tool.get("horovodize") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise CommandError(f"{_shown(path)}: tool.horovodize must be a table")
    return table


def settings_of(table: Mapping[str, Any], path: Path) -> Settings:
    """Raises CommandError for a key or a value that means nothing."""
    switches = {f.name.replace("_", "-"): f.name for f in fields(Options)}
    options: dict[str, Any] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for key, value in table.items():
        if key in switches:
            if key == "tensorflow":
                if not isinstance(value, str) or not is_version(value):
                    raise CommandError(f'{_shown(path)}: tool.horovodize.{key} must be a version like "2.15"')
            elif not isinstance(value, bool):
                raise CommandError(f"{_shown(path)}: tool.horovodize.{key} must be true or false")
            options[switches[key]] = value
        elif key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise CommandError(f"{_shown(path)}: tool.horovodize.{key} must be a list of codes")
            lists[key] = tuple(value)
        else:
            known = ", ".join(sorted([*switches, *_LISTS]))
            raise CommandError(f"{_shown(path)}: unknown setting tool.horovodize.{key} (there are: {known})")
    return Settings(Options(**options), lists.get("select"), lists.get("ignore", ()))


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


# ---------------------------------------------------------------------- flags

_FLAGS = {
    "split_data": "every rank trains on its own part of the data (default: yes)",
    "comments": "a short comment at each group of inserted statements (default: yes)",
    "tensorflow": "the version of TensorFlow that the scripts run on, like 2.15 (default: unknown)",
    "strict": "report every restriction, also where it cannot change the result (default: no)",
}


def add_option_flags(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds `--name` and `--no-name` for fields of Options; unset, the settings file decides."""
    for name in names:
        if name == "tensorflow":
            parser.add_argument("--tensorflow", metavar="VERSION", type=_version, help=_FLAGS[name])
            continue
        parser.add_argument(
            "--" + name.replace("_", "-"),
            action=argparse.BooleanOptionalAction,
            default=None,
            help=_FLAGS[name],
        )


def _version(text: str) -> str:
    if not is_version(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no version like 2.15")
    return text


def codes(text: str) -> tuple[str, ...]:
    """The argument of `--select` and `--ignore`."""
    return tuple(code.strip() for code in text.split(",") if code.strip())
