"""The generated data, read when it is first asked for and indexed for looking names up."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import supplement

ROOT = "tensorflow."
V1 = "tensorflow.compat.v1."
# Not through importlib.resources, which takes longer to import than the data takes to read.
_FILE = os.path.join(os.path.dirname(__file__), "data.json")


@dataclass(frozen=True, slots=True)
class Data:
    """``data.json`` together with what ``supplement.py`` adds to it, by full canonical names.

    ``aliases`` leads from a spelling to the canonical name; ``v1_only`` and ``v1_differs`` hold names without
    ``tensorflow.``; ``keras_families`` holds Keras' public names by module and last part.
    """

    tensorflow: str
    aliases: dict[str, str]
    v1_only: frozenset[str]
    v1_differs: frozenset[str]
    v1_modules: frozenset[str]
    homes: dict[str, str]
    keras_families: dict[str, dict[str, str]]
    classes: dict[str, dict[str, Any]]
    functions: dict[str, str]
    strings: dict[str, str]


def _spread(by_module: dict[str, str]) -> list[str]:
    """``{"a.b": "c d"}`` as ``["a.b.c", "a.b.d"]``."""
    return [
        f"{module}.{last}" if module else last
        for module, lasts in by_module.items()
        for last in lasts.split(" ")
    ]


def _families(names: list[str], aliases: dict[str, str]) -> dict[str, dict[str, str]]:
    """Keras' public names: family (first module) → last part → canonical name, where only one has that last part."""
    families: dict[str, dict[str, str]] = {}
    clashing: set[tuple[str, str]] = set()
    for name in names:
        full = f"{ROOT}keras.{name}"
        full = aliases.get(full, full)
        family, last = name.partition(".")[0], name.rpartition(".")[2]
        if ".legacy." in name:
            family += ".legacy"
        elif ".experimental." in full:
            family += ".experimental"
        if "." not in name:
            family = ""
        known = families.setdefault(family, {}).setdefault(last, full)
        if known != full:
            clashing.add((family, last))
    for family, last in clashing:
        del families[family][last]
    return families


@cache
def load() -> Data:
    """Reads the data, once a process (under five milliseconds)."""
    with open(_FILE, encoding="utf-8") as file:
        raw: dict[str, Any] = json.load(file)
    aliases = {
        ROOT + spelling: ROOT + name
        for name, spellings in raw["aliases"].items()
        for spelling in spellings.split(" ")
    }
    aliases.update(supplement.ALIASES)
    classes: dict[str, dict[str, Any]] = {ROOT + name: entry for name, entry in raw["classes"].items()}
    for entry in classes.values():
        entry["bases"] = [ROOT + base for base in entry.get("bases", ())]
    for name, parameters in supplement.PARAMETERS.items():
        classes[name]["init"] = parameters
    for name, base in supplement.ALSO_DERIVED.items():
        classes[name]["bases"].append(base)
    for name, (parent, parameters) in supplement.CLASSES.items():
        classes.setdefault(name, {"bases": [parent], "init": parameters})
    functions = {ROOT + name: parameters for name, parameters in raw["functions"].items()}
    functions.update(supplement.FUNCTIONS)
    v1_only = frozenset(_spread(raw["v1_only"]))
    keras_names = _spread(raw["keras_names"])
    keras_names += [
        n.removeprefix(ROOT + "keras.") for n in supplement.CLASSES if n.startswith(ROOT + "keras.")
    ]
    return Data(
        tensorflow=raw["tensorflow"],
        aliases=aliases,
        v1_only=v1_only,
        v1_differs=frozenset(_spread(raw["v1_differs"])),
        v1_modules=frozenset(raw["v1_only"]) - {""},
        homes={name: ROOT + public for name, public in raw["homes"].items()},
        keras_families=_families(keras_names, aliases),
        classes=classes,
        functions=functions,
        strings={text: ROOT + name for text, name in raw["strings"].items()} | supplement.STRINGS,
    )
