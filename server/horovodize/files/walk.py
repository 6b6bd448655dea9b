"""Finding the Python files and notebooks of a folder, as git would list them.

`.gitignore` files count from the repository's top down to the file; deeper ones win, and in one file the last pattern that
matches. Virtual environments, caches and links are passed over: what a link leads to is found where it really is, or does
not belong to the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from horovodize.files.gitignore import GitIgnore
from horovodize.files.reading import read_regular

SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", ".tox", ".nox", ".eggs", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache",
        ".ipynb_checkpoints", "__pycache__", "__pypackages__", "node_modules", "site-packages",
    }
)  # fmt: skip
SUFFIXES = (".py", ".ipynb")
_LARGEST = 1_000_000  # bytes of a .gitignore


def walk(root: Path) -> Iterator[Path]:
    """The Python files and notebooks below a folder, by name. Folders that cannot be read are passed over."""
    ignores = _inherited(root)
    if ignores and _ignored(ignores, root.absolute(), is_folder=True):
        ignores = []  # the user named an ignored folder: then that is what they want
    yield from _walk(root, ignores)


def lists(root: Path, path: Path) -> bool:
    """Whether `walk` would come by a path below a folder, were a file there."""
    ignores = _inherited(root)
    if ignores and _ignored(ignores, root.absolute(), is_folder=True):
        ignores = []
    folder, parts = root, path.relative_to(root).parts
    for number, name in enumerate(parts, 1):
        ignores = _own(folder, ignores)
        folder = folder / name
        is_folder = number < len(parts)
        if os.path.islink(folder) or (is_folder and _skipped(folder)):
            return False
        if ignores and _ignored(ignores, folder.absolute(), is_folder=is_folder):
            return False
    return path.name.endswith(SUFFIXES)


_Ignores = list[tuple[Path, GitIgnore]]  # outermost first


def _walk(root: Path, ignores: _Ignores) -> Iterator[Path]:
    waiting = [
        _entries(root, ignores)
    ]  # folders that have been begun, innermost last: they may be nested deeply
    while waiting:
        for path, is_folder, beside in waiting[-1]:
            if is_folder:
                waiting.append(_entries(path, beside))
                break
            yield path
        else:
            waiting.pop()


def _entries(folder: Path, ignores: _Ignores) -> Iterator[tuple[Path, bool, _Ignores]]:
    """What counts of a folder's files and folders, by name: whether it is a folder, and what is ignored beside it."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if ".git" in names or ".gitignore" in names:
        ignores = _own(folder, ignores)
    for entry in entries:
        if entry.is_symlink():
            continue
        path = folder / entry.name
        is_folder = entry.is_dir()
        if is_folder:
            if _skipped(path):
                continue
        elif not (entry.name.endswith(SUFFIXES) and entry.is_file()):
            continue
        if not (ignores and _ignored(ignores, path.absolute(), is_folder=is_folder)):
            yield path, is_folder, ignores


def _skipped(folder: Path) -> bool:
    return folder.name in SKIPPED or os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def _own(folder: Path, ignores: _Ignores) -> _Ignores:
    """The ignore files for what is in a folder, given those for the folder itself."""
    if os.path.lexists(folder / ".git"):
        ignores = []  # another repository: rules of the one around it do not reach in
    return [*ignores, *_read(folder)]


def _inherited(root: Path) -> _Ignores:
    """The ignore files above a folder, up to the top of its repository; none when it is in no repository."""
    found: _Ignores = []
    folder = root.absolute()
    if (folder / ".git").exists():
        return []
    for parent in folder.parents:
        found = [*_read(parent), *found]
        if (parent / ".git").exists():
            return found
    return []


def _read(folder: Path) -> _Ignores:
    data = read_regular(folder / ".gitignore", _LARGEST)
    if data is None:
        return []
    return [(folder.absolute(), GitIgnore(data.decode("utf-8", "surrogateescape")))]


def _ignored(ignores: _Ignores, path: Path, *, is_folder: bool) -> bool:
    for folder, patterns in reversed(ignores):
        verdict = patterns.verdict(path.relative_to(folder).as_posix(), is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False
