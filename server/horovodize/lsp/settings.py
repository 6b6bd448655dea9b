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

from horovodize.options import Options, is_version

SECTION = "horovodize"


class WhileTyping(str, Enum):
    """What is reported of a document with changes that are not saved yet."""

    SOFT = "soft"
    SAME = "same"
    OFF = "off"


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    while_typing      `diagnostics.whileTyping`: while a document is being edited, its restrictions are
    reported less
                      loudly ("soft"), as after saving ("same"), or only after saving ("off")
    not_distributed   `diagnostics.notDistributed`: hint at loops that could be distributed (HVD001)
    options           the engine's own settings, each by its name in camelCase: `splitData`
    """

    while_typing: WhileTyping = WhileTyping.SOFT
    not_distributed: bool = True
    options: Options = field(default_factory=Options)


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

    while_typing = Settings.while_typing
    if (value := given.pop("diagnostics.whileTyping", None)) is not None:
        if value in [choice.value for choice in WhileTyping]:
            while_typing = WhileTyping(value)
        else:
            wrong.append(
                _message("diagnostics.whileTyping", value, '"soft", "same" or "off"', while_typing.value)
            )
    not_distributed = _switch(given, "diagnostics.notDistributed", Settings.not_distributed, wrong)
    switches = {
        option.name: _switch(given, _camel_case(option.name), bool(option.default), wrong)
        for option in dataclasses.fields(Options)
        if option.name != "tensorflow"
    }
    options = Options(**switches, tensorflow=_version(given, wrong))
    return Reading(Settings(while_typing, not_distributed, options), tuple(wrong), tuple(sorted(given)))


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


def _version(given: dict[str, object], wrong: list[str]) -> str:
    value = given.pop("tensorflow", None)
    if value in (None, "") or (isinstance(value, str) and is_version(value)):
        return str(value or "")
    wrong.append(_message("tensorflow", value, 'a version like "2.15"', "none"))
    return ""


def _message(name: str, value: object, expected: str, used: str) -> str:
    return f"{SECTION}.{name}: {value!r} is not {expected}; {used} is used"


def _camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)
