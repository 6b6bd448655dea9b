"""Which files may train together with others, judged by names alone: those that import something that is called like a file, or
a folder of files, about TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from horovodize.workspace.glance import Glance


def names_of(path: str) -> tuple[str, ...]:
    """What an import that leads to a file may name: it, or the package that it is in."""
    folder, name = os.path.split(path)
    return (name.removesuffix(".py"), os.path.basename(folder))


def leading_to_tensorflow(glances: Mapping[str, Glance]) -> set[str]:
    """The names by which a file that is about TensorFlow may be reached, directly or through others."""
    names = {name for path, glance in glances.items() if glance.tensorflow for name in names_of(path)}
    waiting = [(path, glance) for path, glance in glances.items() if not glance.tensorflow and glance.imports]
    found = True
    while found:
        reached = [path for path, glance in waiting if not names.isdisjoint(glance.imports)]
        found = bool(reached)
        gone = set(reached)
        waiting = [pair for pair in waiting if pair[0] not in gone]
        names.update(name for path in reached for name in names_of(path))
    return names


def may_run_others(glance: Glance, names: Iterable[str], *, trains: bool) -> bool:
    """Whether a file may train with what it imports. `trains`: it has a loop of its own."""
    return (trains or glance.runs) and not set(glance.imports).isdisjoint(names)
