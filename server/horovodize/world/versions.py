"""Versions of TensorFlow and Keras, as users and files write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

Version: TypeAlias = tuple[int, int]

# The first TensorFlow whose `tf.keras` is Keras 3, and that Keras.
FIRST_WITH_KERAS_3: Version = (2, 16)
KERAS_3: Version = (3, 0)
_FOREVER: Version = (1_000_000, 0)
_CLAUSE = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>|\^|~|=)?\s*v?(\d+(?:\.(?:\d+|\*))*)[\w.+-]*\s*")


@dataclass(frozen=True)
class Versions:
    """What is known of two packages before a script is read.

    tensorflow  as it is written: "2.15.1", or what a file asks for: ">=2.16"; "" where nothing is known
    keras       the same of the package `keras`
    source      who says so, as messages have it: "the setting `tensorflow`", "requirements.txt"; "" where nobody does
    """

    tensorflow: str = ""
    keras: str = ""
    source: str = ""


def from_on(asked: str, version: Version) -> bool:
    """Whether all versions that a text allows are this one or later. False where it says nothing."""
    return _bounds(asked)[0] >= version


def before(asked: str, version: Version) -> bool:
    """Whether all versions that a text allows are earlier than this one. False where it says nothing."""
    return _bounds(asked)[1] <= version


def _bounds(asked: str) -> tuple[Version, Version]:
    """The least version that a text allows, and one that all are below."""
    lowest, below = (0, 0), _FOREVER
    for clause in asked.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            continue
        operator, parts = match[1] or "==", match[2].split(".")
        exact = [int(p) for p in parts if p != "*"]
        least: Version = (exact[0], exact[1] if len(exact) > 1 else 0)
        after_minor: Version = (least[0], least[1] + 1)
        after_major: Version = (least[0] + 1, 0)
        match operator:
            case "==" | "===" | "=":
                low, high = least, after_minor if len(exact) > 1 else after_major
            case "~=":
                low, high = least, after_minor if len(parts) > 2 else after_major
            case "~":
                low, high = least, after_minor if len(parts) > 1 else after_major
            case "^":
                low, high = least, after_major
            case ">=" | ">":
                low, high = least, _FOREVER
            case "<":
                low, high = (0, 0), after_minor if any(exact[2:]) else least
            case "<=":
                low, high = (0, 0), after_minor
            case _:
                continue
        lowest, below = max(lowest, low), min(below, high)
    return lowest, below
