"""A copy of the folder that a script runs in: what it reads is there, and what it writes is nowhere else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from horovodize import runtime
from horovodize.files.walk import SKIPPED
from horovodize.options import Options
from horovodize.running.prepared import Prepared, PreparedFile, prepare
from horovodize.workspace.on_disk import top_of

COPIED = 16_000_000  # bytes of a file: larger ones are linked
COPIED_IN_ALL = 1_000_000_000
ENTRIES = 100_000  # files and folders: what comes after them is linked
# What scripts write, and write again: copied whatever its size.
_WRITTEN = frozenset(
    ".h5 .keras .hdf5 .index .meta .pb .ckpt .weights .log .csv .json .txt .pkl .npz".split()
)


@dataclass(frozen=True)
class Scratch:
    """A script as it runs, in a folder of its own.

    root      the folder, which stands for the user's `home`
    home      the user's folder
    script    the script in it; where `prepared.refused` says why it can't be distributed, as it is
    cwd       the folder in it to run in
    prepared  the plans, the questions, the refusals, and the texts for the source map
    linked    the user's files and folders that were too large to copy, each with its state; see `touched`"""

    root: Path
    home: Path
    script: Path
    cwd: Path
    prepared: Prepared
    linked: Sequence[tuple[Path, tuple[int, int]]] = ()

    def place_of(self, path: Path) -> Path:
        """Where in the scratch a file of the user's is."""
        return self.root / os.path.relpath(path, self.home)

    @property
    def touched(self) -> list[Path]:
        """Files and folders of the user's that are linked, and that have changed since."""
        return [path for path, state in self.linked if _state(path) != state]


def scratch_copy(
    script: Path,
    into: Path,
    *,
    distributed: bool,
    options: Options | None = None,
    cwd: Path | None = None,
    prepared: Prepared | None = None,
) -> Scratch:
    """Copies what a run of a script needs of its folder, with the script distributed, or as it is.

    into      made if needed; what it holds stays
    cwd       the user's folder to run in (default: the current one where it is the script's, below or above it in one
              project; else the script's; a notebook runs in its own)
    prepared  what `prepare` gave, to save doing it again

    Files over 16 MB are linked (unless scripts often write such ones), and so is all that comes after the first gigabyte.
    Repositories, environments and caches are left out. Raises OSError."""
    script = Path(os.path.abspath(script))
    prepared = prepared or prepare(script, options, distributed=distributed)
    home, here = _home(prepared, Path(os.path.abspath(cwd)) if cwd is not None else None)
    into.mkdir(parents=True, exist_ok=True)
    root = Path(os.path.realpath(into))
    copier = _Copier(home, root)
    copier.copy()
    for file in prepared.files:
        write_prepared(file, root / os.path.relpath(file.target, home))
    target = prepared.main.target if prepared.files else script
    place = root / os.path.relpath(target, home)
    for name in prepared.beside:
        beside = place.parent / name
        if not beside.exists():
            beside.write_text(runtime.text_of(name), encoding="utf-8")
    return Scratch(root, home, place, root / os.path.relpath(here, home), prepared, copier.linked)


def write_prepared(file: PreparedFile, place: Path) -> None:
    """Writes a prepared file, never through a link."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(file.data)


def _home(prepared: Prepared, cwd: Path | None) -> tuple[Path, Path]:
    """The user's folder to copy, and the one in it to run in."""
    own = prepared.script.parent
    folders = [own, *(path.parent for path in prepared.members)]
    if cwd is None:
        cwd = own if prepared.script.suffix == ".ipynb" else Path.cwd()
        top = top_of(own)
        # The current folder counts where it is in the project; a home folder with everything in it doesn't.
        related = cwd in (own, top) or own in cwd.parents or top in cwd.parents
        if not related or (cwd in own.parents and cwd == Path.home()):
            cwd = own
    return Path(os.path.commonpath([*folders, cwd])), cwd


class _Copier:
    """Fills a folder with what is in another."""

    def __init__(self, home: Path, root: Path) -> None:
        self.home, self.root = home, root
        self.linked: list[tuple[Path, tuple[int, int]]] = []
        self._bytes = self._entries = 0

    def copy(self) -> None:
        waiting = [self.home]
        while waiting:
            folder = waiting.pop()
            place = self.root / os.path.relpath(folder, self.home)
            place.mkdir(parents=True, exist_ok=True)
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue  # not ours to read: nor the script's
            for entry in entries:
                if self._left_out(entry):
                    continue
                self._entries += 1
                if entry.is_dir(follow_symlinks=False) and self._entries < ENTRIES:
                    waiting.append(Path(entry.path))
                else:
                    self._file(entry, place / entry.name)

    def _left_out(self, entry: os.DirEntry[str]) -> bool:
        if entry.name in SKIPPED or os.path.realpath(entry.path) == str(self.root):
            return True
        if entry.is_dir():
            return os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
        return not entry.is_file()  # a pipe, a socket, a link to nothing

    def _file(self, entry: os.DirEntry[str], place: Path) -> None:
        path = Path(entry.path)
        if place.exists() or place.is_symlink():
            return
        if not entry.is_dir():
            size = entry.stat().st_size
            small = size <= COPIED or path.suffix in _WRITTEN
            if small and self._bytes + size <= COPIED_IN_ALL:
                self._bytes += size
                shutil.copy2(path, place)
                place.chmod(place.stat().st_mode | 0o200)
                return
        target = Path(os.path.realpath(path))
        place.symlink_to(target)
        self.linked.append((path, _state(path)))


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
        return status.st_mtime_ns, status.st_size
    except OSError:
        return 0, 0
