"""Whether a file is below a folder, as the platform compares names: on Windows `C:\\Code` and `c:/code` are one folder."""

from __future__ import annotations

import os

# The platform's; tests put that of another one here.
flavour = os.path


def below(path: str, folder: str) -> str | None:
    """A file's path from a folder that it is below of, with `/` between names, as it is spelled; None: it isn't below it."""
    top = _ended(folder)
    start = path[: len(top)]
    if start == top or flavour.normcase(start) == flavour.normcase(top):
        return path[len(top) :].replace(flavour.sep, "/")
    return None


def is_below(path: str, folder: str) -> bool:
    top = _ended(folder)
    return path.startswith(top) or flavour.normcase(path[: len(top)]) == flavour.normcase(top)


def is_same(a: str, b: str) -> bool:
    """Whether two paths are of one file or folder, by their names."""
    return flavour.normcase(_ended(a)) == flavour.normcase(_ended(b))


def _ended(folder: str) -> str:
    """With a separator at its end, and only one."""
    return folder.rstrip(flavour.sep + (flavour.altsep or "")) + flavour.sep
