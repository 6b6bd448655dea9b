"""Which files may train together with others, judged by names alone: a script that trains, with any file that it imports;
another one, with a file about TensorFlow that its imports may lead to."""

from __future__ import annotations

import os
from collections.abc import Mapping

from horovodize.workspace.glance import Glance


class Neighbours:
    """The files of some folders, by path, as their imports may name them."""

    def __init__(self, glances: Mapping[str, Glance] | None = None) -> None:
        glances = glances or {}
        self._all = {name for path in glances for name in _names_of(path)}
        self._training = _leading_to_tensorflow(glances)

    def may_run_others(self, path: str, glance: Glance, *, trains: bool) -> bool:
        """Whether a file may train with what it imports. `trains`: it has a loop of its own."""
        names = self._all if trains else self._training
        runs = trains or (glance.runs and not is_test(path))
        return runs and not names.isdisjoint(glance.imports)


def is_test(path: str) -> bool:
    """Whether a file is one that pytest or unittest collect tests from, by its name: what it runs, it runs to test it."""
    name = os.path.basename(path)
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


def _names_of(path: str) -> tuple[str, ...]:
    """What an import that leads to a file may name: it, or the package that it is in."""
    folder, name = os.path.split(path)
    return (name.removesuffix(".py"), os.path.basename(folder))


def _leading_to_tensorflow(glances: Mapping[str, Glance]) -> set[str]:
    """The names by which a file that is about TensorFlow may be reached, directly or through others."""
    names = {name for path, glance in glances.items() if glance.tensorflow for name in _names_of(path)}
    waiting = [(path, glance) for path, glance in glances.items() if not glance.tensorflow and glance.imports]
    found = True
    while found:
        reached = [path for path, glance in waiting if not names.isdisjoint(glance.imports)]
        found = bool(reached)
        gone = set(reached)
        waiting = [pair for pair in waiting if pair[0] not in gone]
        names.update(name for path in reached for name in _names_of(path))
    return names
