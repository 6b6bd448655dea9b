"""Settings: those of the nearest `pyproject.toml`, overridden by flags."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from horovodize.cli.inputs import Input
from horovodize.cli.runner import CommandError
from horovodize.configuration import ConfigurationError, FileSettings, nearest_settings
from horovodize.files import Exclude
from horovodize.options import CHOICES, SETTINGS, Options, is_version
from horovodize.world.versions import Versions


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
            found = nearest_settings(folder, self._known)
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

    def excludes(self, source: Input) -> bool:
        """Whether settings leave a file of a folder out."""
        try:
            found = nearest_settings(source.home, self._known)
        except ConfigurationError:
            return False  # told when its settings are asked for
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
    "output": "how other ranks than 0 keep quiet: guard (a condition around each statement that prints), silence (one for all "
    "of them) or auto (silence where more than three print, default)",
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
        raise argparse.ArgumentTypeError(f"{text!r} is no version like 2.15")
    return text


def _tuple(listed: list[str] | None) -> tuple[str, ...] | None:
    return None if listed is None else tuple(listed)


def codes(text: str) -> tuple[str, ...]:
    """The argument of `--select` and `--ignore`, which can be given several times."""
    return tuple(code.strip() for code in text.split(",") if code.strip())
