"""The user's settings: read from what an editor sends, checked, with a message for each that is wrong.

Editors send them nested or with dots in the names, with or without `horovodize` around them, at the start
(`initializationOptions`), when asked (`workspace/configuration`) or when they change: all of that is read
here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from horovodize.configuration import FileSettings, matches
from horovodize.options import CHOICES, SETTINGS, Options, is_version

SECTION = "horovodize"
_HINT = "HVD001"  # has a setting of its own


class WhileTyping(str, Enum):
    """What is reported of a document with changes that are not saved yet."""

    SOFT = "soft"
    SAME = "same"
    OFF = "off"


class LogLevel(str, Enum):
    """The least important messages that go to the client's log."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    DEBUG = "debug"


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    while_typing      `diagnostics.whileTyping`: while a document is being edited, its restrictions are
    reported less
                      loudly ("soft"), as after saving ("same"), or only after saving ("off")
    not_distributed   `diagnostics.notDistributed`: hint at loops that could be distributed (HVD001)
    options           the engine's own settings, each by its name in camelCase: `splitData`
    code_lens         `codeLens`: say above each training loop what kind it is
    inlay_hints       `inlayHints`: show what size() ranks make of rates, steps and batches
    log_level         `logLevel`: what goes to the client's log
    closed_files      `diagnostics.closedFiles`: report on files of the workspace that are not open, too
    exclude           `exclude`: files that are left out of the workspace, as patterns of a `.gitignore`; None: not said
    python            `python`: the interpreter, or its environment, that the scripts run with; "" where it is not said
    select, ignore    only these findings are reported, and not these: codes, their beginnings, or names
    """

    while_typing: WhileTyping = WhileTyping.SOFT
    not_distributed: bool = True
    options: Options = field(default_factory=Options)
    code_lens: bool = True
    inlay_hints: bool = False
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    log_level: LogLevel = LogLevel.INFO
    closed_files: bool = False
    exclude: tuple[str, ...] | None = None
    python: str = ""

    def wants(self, code: str, name: str) -> bool:
        """Whether findings of a code, with its name, are reported."""
        if code == _HINT:
            return self.not_distributed
        if any(matches(pattern, code, name) for pattern in self.ignore):
            return False
        return self.select is None or any(matches(pattern, code, name) for pattern in self.select)


@dataclass(frozen=True)
class Reading:
    """Settings as they were understood: `wrong` has a message for each value that was not, `unknown` the
    names of settings that are not the server's (a client may have its own)."""

    settings: Settings
    wrong: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def read(*layers: object) -> Reading:
    """The settings that come of several layers, later ones over earlier ones; None and absent values change
    nothing."""
    wrong: list[str] = []
    given: dict[str, object] = {}
    for layer in layers:
        given.update(_flat(layer, wrong))

    while_typing = _choice(given, "diagnostics.whileTyping", Settings.while_typing, wrong)
    not_distributed = _switch(given, "diagnostics.notDistributed", Settings.not_distributed, wrong)
    closed_files = _switch(given, "diagnostics.closedFiles", Settings.closed_files, wrong)
    code_lens = _switch(given, "codeLens", Settings.code_lens, wrong)
    inlay_hints = _switch(given, "inlayHints", Settings.inlay_hints, wrong)
    log_level = _choice(given, "logLevel", Settings.log_level, wrong)
    select = _list(given, "select", "codes", wrong)
    ignore = _list(given, "ignore", "codes", wrong) or ()
    exclude = _list(given, "exclude", "patterns", wrong)
    for name, patterns in (("select", select or ()), ("ignore", ignore)):
        wrong += [
            f"{SECTION}.{name}: {p!r} is no code or name of a finding" for p in patterns if not _is_known(p)
        ]
    switches = {
        option.name: _switch(given, _camel_case(option.name), bool(option.default), wrong)
        for option in dataclasses.fields(Options)
        if option.name in SETTINGS and option.name != "tensorflow" and option.name not in CHOICES
    }
    words = {name: _word(given, name, choices, wrong) for name, choices in CHOICES.items()}
    said: dict[str, Any] = {**switches, **words, "tensorflow": _version(given, wrong)}
    options = Options(**said)
    settings = Settings(
        while_typing,
        not_distributed,
        options,
        code_lens,
        inlay_hints,
        select,
        ignore,
        log_level,
        closed_files,
        exclude,
        _path(given, "python", wrong),
    )
    return Reading(settings, tuple(wrong), tuple(sorted(given)))


def layer_of(file: FileSettings) -> dict[str, object]:
    """The settings of a `pyproject.toml` as a layer: the editor's go over them."""
    options = {_camel_case(name): value for name, value in file.options.items()}
    listed = {"select": file.select, "ignore": file.ignore, "exclude": file.exclude}
    return {**options, **listed, "python": file.python or None}


def _flat(layer: object, wrong: list[str]) -> dict[str, object]:
    if layer is None:
        return {}
    if not isinstance(layer, Mapping):
        wrong.append(f"{SECTION}: settings have to be an object, not {layer!r}; ignored")
        return {}
    names: dict[str, object] = {}

    def visit(prefix: str, value: object) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                visit(f"{prefix}.{key}" if prefix else str(key), inner)
        elif value is not None:
            names[prefix.removeprefix(SECTION + ".")] = value

    visit("", layer)
    return names


def _switch(given: dict[str, object], name: str, default: bool, wrong: list[str]) -> bool:
    value = given.pop(name, None)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    wrong.append(_message(name, value, "true or false", str(default).lower()))
    return default


def _word(given: dict[str, object], name: str, choices: tuple[str, ...], wrong: list[str]) -> str:
    """One of several words, of which the first is the default."""
    value = given.pop(name, None)
    if value is None:
        return choices[0]
    if isinstance(value, str) and value in choices:
        return value
    wrong.append(_message(name, value, f"one of {', '.join(choices)}", choices[0]))
    return choices[0]


_E = TypeVar("_E", WhileTyping, LogLevel)


def _choice(given: dict[str, object], name: str, default: _E, wrong: list[str]) -> _E:
    value = given.pop(name, None)
    choices = list(type(default))
    for choice in choices:
        if value == choice.value:
            return choice
    if value is not None:
        names = [f'"{choice.value}"' for choice in choices]
        expected = f"{', '.join(names[:-1])} or {names[-1]}"
        wrong.append(_message(name, value, expected, default.value))
    return default


def _list(given: dict[str, object], name: str, of: str, wrong: list[str]) -> tuple[str, ...] | None:
    value = given.pop(name, None)
    if value is None:
        return None
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    wrong.append(_message(name, value, f"a list of {of}", "none"))
    return None


def _is_known(pattern: str) -> bool:
    """Whether a pattern means any finding."""
    from horovodize.restrictions import RESTRICTIONS  # loaded where somebody chooses among them

    return any(matches(pattern, code, restriction.name) for code, restriction in RESTRICTIONS.items())


def _version(given: dict[str, object], wrong: list[str]) -> str:
    value = given.pop("tensorflow", None)
    if value in (None, "") or (isinstance(value, str) and is_version(value)):
        return str(value or "")
    wrong.append(_message("tensorflow", value, 'a version like "2.15"', "none"))
    return ""


def _path(given: dict[str, object], name: str, wrong: list[str]) -> str:
    value = given.pop(name, None)
    if value is None or isinstance(value, str):
        return value or ""
    wrong.append(_message(name, value, "a path", "none"))
    return ""


def _message(name: str, value: object, expected: str, used: str) -> str:
    return f"{SECTION}.{name}: {value!r} is not {expected}; {used} is used"


def _camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)
