"""Settings: those of the nearest `pyproject.toml`, overridden by flags."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.inputs import Input
from horovodize.cli.runner import CommandError
from horovodize.configuration import ConfigurationError, FileSettings, named_settings, nearest_settings
from horovodize.files import Exclude
from horovodize.options import CHOICES, SETTINGS, Options, is_version
from horovodize.world.versions import Versions

if TYPE_CHECKING:
    from horovodize.cli.output import Console


@dataclass(frozen=True)
class Settings:
    """What holds for one file. `select` None: the default ones."""

    options: Options = field(default_factory=Options)
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()


class Configuration:
    """The settings of every file of a run. Each settings file is read once, and what it warns of is said once.

    Raises CommandError for a `--config` that can't be read."""

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self._console = console
        self._warned: set[str] = set()
        self._for_all = self._named(arguments)
        exclude: list[str] | None = getattr(arguments, "exclude", None)
        self._exclude = None if exclude is None else Exclude(exclude, os.getcwd())
        self._excludes_named: bool = getattr(arguments, "force_exclude", False)
        self._flags = {
            name: value
            for name in SETTINGS
            if (value := getattr(arguments, _flag(name).replace("-", "_"), None)) is not None
        }
        self._select = _tuple(getattr(arguments, "select", None))
        self._ignore = _tuple(getattr(arguments, "ignore", None))
        self._python: str | None = getattr(arguments, "python", None)
        self._known: dict[Path, FileSettings] = {}
        self._around: dict[tuple[Path, str], Versions] = {}

    def settings(self, folder: Path) -> Settings:
        """The settings of the files of a folder. Raises CommandError."""
        try:
            found = self._of_file(folder)
        except ConfigurationError as e:
            raise CommandError(str(e)) from e
        options = replace(Options(**found.options), **self._flags)
        if not options.tensorflow:
            options = replace(options, around=self._surroundings(folder, found.python))
        return Settings(
            options=options,
            select=found.select if self._select is None else self._select,
            ignore=(found.ignore or ()) if self._ignore is None else self._ignore,
        )

    def _surroundings(self, folder: Path, python: str) -> Versions:
        """What is known of versions around the scripts of a folder; `python` is what its settings say."""
        python = self._python or python or os.environ.get("VIRTUAL_ENV", "")
        if (folder, python) not in self._around:
            from horovodize.world.surroundings import surroundings

            self._around[folder, python] = surroundings(folder, python)
        return self._around[folder, python]

    def _named(self, arguments: argparse.Namespace) -> FileSettings | None:
        path: str | None = getattr(arguments, "config", None)
        if path is None:
            return None
        try:
            return named_settings(Path(path), Path.cwd())
        except ConfigurationError as e:
            raise CommandError(str(e)) from e

    def _of_file(self, folder: Path) -> FileSettings:
        """What the settings file says that the files of a folder go by. Raises ConfigurationError."""
        found = self._for_all if self._for_all is not None else nearest_settings(folder, self._known)
        for warning in found.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self._console.warning(warning)
        return found

    def excludes(self, source: Input) -> bool:
        """Whether flags or settings leave a file out: one of a folder, or any under `--force-exclude`."""
        if source.named and not self._excludes_named:
            return False
        if self._exclude is not None:
            return self._exclude(os.path.abspath(source.path))
        try:
            found = self._of_file(source.home)
        except ConfigurationError:
            return False  # reported when its settings are asked for
        return bool(found.exclude) and Exclude(found.exclude or (), str(found.folder))(
            os.path.abspath(source.path)
        )


# ---------------------------------------------------------------------- flags

_FLAGS = {
    "split_data": "every rank trains on its own part of the data (default: yes)",
    "comments": "a short comment at each group of inserted statements (default: yes)",
    "tensorflow": "the version of TensorFlow that the scripts run on, like 2.15 (default: that of --python, else what lock and "
    "requirement files beside a script say, else unknown)",
    "rate": "what the learning rate of larger batches is multiplied by: linear (the number of ranks, default), sqrt (its "
    "square root) or keep",
    "batch": "what a script's batch size is: per-rank (each rank takes batches of it, default) or global (all ranks together "
    "do: rate and steps stay)",
    "elastic": "training goes on when ranks die or join: horovodrun --min-np --max-np (default: no)",
    "output": "how other ranks than 0 keep quiet: guard (a condition around each statement that prints), silence (one for all "
    "of them) or auto (silence where more than three print, or fewer of many lines, default)",
    "runtime": "where the script imports our own module from, if it needs one: beside (--write puts it there, default) or "
    "package (pip install 'horovodize[runtime]' where it runs)",
    "strict": "report every restriction, also where it cannot change the result (default: no)",
}


_PYTHON = (
    "the interpreter (or its environment) that the scripts run with: its packages say which TensorFlow and Keras that is "
    "(default: VIRTUAL_ENV)"
)


def add_option_flags(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds `--name` and `--no-name` for fields of Options; unset, the settings file decides."""
    for name in names:
        if name == "tensorflow":
            parser.add_argument("--tensorflow", metavar="VERSION", type=_version, help=_FLAGS[name])
            parser.add_argument("--python", metavar="PATH", help=_PYTHON)
            continue
        if name in CHOICES:
            parser.add_argument(f"--{_flag(name)}", choices=CHOICES[name], help=_FLAGS[name])
            continue
        parser.add_argument(
            f"--{_flag(name)}",
            action=argparse.BooleanOptionalAction,
            default=None,
            help=_FLAGS[name],
        )


def _flag(name: str) -> str:
    """The flag of a setting. (`--output` has another meaning.)"""
    return "rank-output" if name == "output" else name.replace("_", "-")


def _version(text: str) -> str:
    if not is_version(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 2.15")
    return text


def _tuple(listed: list[str] | None) -> tuple[str, ...] | None:
    return None if listed is None else tuple(listed)


def codes(text: str) -> tuple[str, ...]:
    """The argument of `--select` and `--ignore`, which can be given several times."""
    return tuple(code.strip() for code in text.split(",") if code.strip())
