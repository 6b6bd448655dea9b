"""Finding the Python files and notebooks of a folder, as git would list them.

`.gitignore` files count from the repository's top down to the file; deeper ones win, and in one file the last pattern that
matches. Virtual environments, caches and links are passed over: what a link leads to is found where it really is, or does
not belong to the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from horovodize.files.gitignore import GitIgnore

SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", ".tox", ".nox", ".eggs", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache",
        ".ipynb_checkpoints", "__pycache__", "__pypackages__", "node_modules", "site-packages",
    }
)  # fmt: skip
SUFFIXES = (".py", ".ipynb")


def walk(root: Path) -> Iterator[Path]:
    """The Python files and notebooks below a folder, by name. Folders that cannot be read are passed over."""
    ignores = _inherited(root)
    if ignores and _ignored(ignores, root.absolute(), is_folder=True):
        ignores = []  # the user named an ignored folder: then that is what they want
    yield from _walk(root, ignores)


_Ignores = list[tuple[Path, GitIgnore]]  # outermost first


def _walk(folder: Path, ignores: _Ignores) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if ".git" in names:
        ignores = []  # another repository: rules of the one around it do not reach in
    if ".gitignore" in names:
        ignores = [*ignores, *_read(folder)]
    for entry in entries:
        if entry.is_symlink():
            continue
        path = folder / entry.name
        if entry.is_dir():
            if entry.name in SKIPPED or os.path.exists(os.path.join(path, "pyvenv.cfg")):
                continue
            if not (ignores and _ignored(ignores, path.absolute(), is_folder=True)):
                yield from _walk(path, ignores)
        elif (
            entry.name.endswith(SUFFIXES)
            and entry.is_file()
            and not (ignores and _ignored(ignores, path.absolute(), is_folder=False))
        ):
            yield path


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
    try:
        text = (folder / ".gitignore").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return [(folder.absolute(), GitIgnore(text))]


def _ignored(ignores: _Ignores, path: Path, *, is_folder: bool) -> bool:
    for folder, patterns in reversed(ignores):
        verdict = patterns.verdict(path.relative_to(folder).as_posix(), is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False
