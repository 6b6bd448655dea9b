"""What was found out about files, kept on disk from one session to the next, for any number of servers at once.

    glances    of a file by its path, size and time of writing: a file that was not written since need not be read
    summaries  of a file by what it holds
    scripts    the summary of a script together with what it imports, by its path, with what those files held

Everything is kept under the version of horovodize and the options that it was found under, so that nothing out of date is
found. A damaged cache is thrown away; one that cannot be written is done without."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from horovodize import __version__
from horovodize.options import Options
from horovodize.workspace.file_summary import FileSummary
from horovodize.workspace.glance import Glance

_MOST = 20_000  # summaries, and scripts
_MOST_GLANCES = 200_000
_PATIENCE = 1.0  # seconds to wait for another server
_AT_ONCE = 200  # entries are written in one go
_LAYOUT = 3  # of the tables, and of what is kept in them
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS glances (path TEXT PRIMARY KEY, used INTEGER, stamp TEXT, glance TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS summaries (key BLOB PRIMARY KEY, used INTEGER, summary TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS scripts (key BLOB PRIMARY KEY, used INTEGER, asked TEXT, summary TEXT) WITHOUT ROWID;
"""
_TABLES = {"glances": _MOST_GLANCES, "summaries": _MOST, "scripts": _MOST}

# For each file that a script's imports may lead to: what it held; None: there was none.
Asked = dict[str, str | None]
# Of a file: when it was written, in nanoseconds, and its size in bytes.
Stamp = tuple[int, int]
_T = TypeVar("_T")


def default_folder() -> Path:
    """Where caches of a user are."""
    named = os.environ.get("HOROVODIZE_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "horovodize"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "horovodize"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "horovodize"


class Cache:
    """The cache of this user. Writes are gathered: `flush` puts them on disk."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or default_folder()) / "index.sqlite3"
        self._database: sqlite3.Connection | None = None
        self._session = 0
        self._waiting: list[tuple[str, tuple[object, ...]]] = []
        try:
            self._open()
        except (sqlite3.OperationalError, OSError):  # held by another server for too long; no place for it
            self._database = None
        except sqlite3.Error:
            self._throw_away()

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            (layout,) = database.execute("PRAGMA user_version").fetchone()
            if layout != _LAYOUT:
                for (table,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                ).fetchall():
                    database.execute(f'DROP TABLE IF EXISTS "{table}"')
                database.execute(f"PRAGMA user_version = {_LAYOUT}")
            database.executescript(_SCHEMA)
            (last,) = database.execute(
                "SELECT max(used) FROM (SELECT max(used) AS used FROM summaries UNION SELECT max(used) FROM glances)"
            ).fetchone()
        except sqlite3.Error:
            database.close()
            raise
        self._database, self._session = database, int(last or 0) + 1

    def _throw_away(self) -> None:
        """Starts again after damage; goes on without a cache if that fails, too."""
        self.close()
        with contextlib.suppress(sqlite3.Error, OSError):
            for end in ("", "-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
            self._open()

    # ------------------------------------------------------------------ glances

    def glances(self, folder: str) -> dict[str, tuple[Stamp, Glance]]:
        """The glances at files below a folder."""
        start = folder.rstrip(os.sep) + os.sep

        def read(database: sqlite3.Connection) -> dict[str, tuple[Stamp, Glance]]:
            rows = database.execute(
                "SELECT path, stamp, glance FROM glances WHERE path >= ? AND path < ?",
                (start, start[:-1] + chr(ord(os.sep) + 1)),
            )
            return {path: _glance(stamp, glance) for path, stamp, glance in rows}

        return self._reading(read) or {}

    def put_glance(self, path: str, stamp: Stamp, glance: Glance) -> None:
        try:
            path.encode()
        except UnicodeEncodeError:
            return  # a name that is no text
        written, size = stamp
        about = [__version__, glance.digest, glance.tensorflow, glance.runs, *glance.imports]
        row = (path, self._session, f"{written} {size}", json.dumps(about))
        self._put("INSERT OR REPLACE INTO glances VALUES (?, ?, ?, ?)", row)

    # ------------------------------------------------------------------ summaries

    def get(self, digest: str, options: Options) -> FileSummary | None:
        """The summary of a file by itself; `digest` is that of what it holds."""
        key = _key(digest, options)

        def read(database: sqlite3.Connection) -> FileSummary | None:
            row = database.execute("SELECT summary FROM summaries WHERE key = ?", (key,)).fetchone()
            return FileSummary.from_json(json.loads(row[0])) if row is not None else None

        found = self._reading(read)
        if found is not None:
            self._put("UPDATE summaries SET used = ? WHERE key = ?", (self._session, key))
        return found

    def put(self, digest: str, options: Options, summary: FileSummary) -> None:
        row = (_key(digest, options), self._session, json.dumps(summary.to_json()))
        self._put("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", row)

    def get_script(self, path: str, options: Options) -> tuple[Asked, FileSummary] | None:
        """What is known of a script together with what it imports, and what those files held."""
        key = _key(path, options)

        def read(database: sqlite3.Connection) -> tuple[Asked, FileSummary] | None:
            row = database.execute("SELECT asked, summary FROM scripts WHERE key = ?", (key,)).fetchone()
            return (
                (dict(json.loads(row[0])), FileSummary.from_json(json.loads(row[1])))
                if row is not None
                else None
            )

        found = self._reading(read)
        if found is not None:
            self._put("UPDATE scripts SET used = ? WHERE key = ?", (self._session, key))
        return found

    def put_script(self, path: str, options: Options, asked: Asked, summary: FileSummary) -> None:
        row = (_key(path, options), self._session, json.dumps(asked), json.dumps(summary.to_json()))
        self._put("INSERT OR REPLACE INTO scripts VALUES (?, ?, ?, ?)", row)

    # ------------------------------------------------------------------ the database

    def _reading(self, read: Callable[[sqlite3.Connection], _T]) -> _T | None:
        if self._database is None:
            return None
        try:
            return read(self._database)
        except sqlite3.OperationalError:  # another server writes for too long
            return None
        except (sqlite3.Error, ValueError, KeyError, TypeError):
            self._throw_away()
            return None

    def _put(self, statement: str, row: tuple[object, ...]) -> None:
        if self._database is not None:
            self._waiting.append((statement, row))
            if len(self._waiting) >= _AT_ONCE:
                self.flush()

    def flush(self) -> None:
        """Writes what was put in since, all or nothing."""
        waiting, self._waiting = self._waiting, []
        if self._database is None or not waiting:
            return
        try:
            with _transaction(self._database):
                for statement, row in waiting:
                    self._database.execute(statement, row)
        except sqlite3.OperationalError:  # the disk is full, or another server writes for too long
            return
        except sqlite3.Error:
            self._throw_away()

    def trim(self, most: int | None = None) -> None:
        """Forgets what was not used for longest, down to so many entries of each kind."""
        self.flush()
        if self._database is None:
            return
        with contextlib.suppress(sqlite3.Error):
            for table, usual in _TABLES.items():
                name, bound = "path" if table == "glances" else "key", usual if most is None else most
                (count,) = self._database.execute(f"SELECT count(*) FROM {table}").fetchone()
                if count > bound:
                    self._database.execute(
                        f"DELETE FROM {table} WHERE {name} IN (SELECT {name} FROM {table} ORDER BY used LIMIT ?)",
                        (count - bound,),
                    )

    def clear(self) -> None:
        """Forgets everything."""
        self._waiting.clear()
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                for table in _TABLES:
                    self._database.execute(f"DELETE FROM {table}")

    def close(self) -> None:
        """Writes what waits, and lets go of the files."""
        self.flush()
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _glance(stamp: str, glance: str) -> tuple[Stamp, Glance]:
    written, size = stamp.split()
    version, digest, tensorflow, runs, *imports = json.loads(glance)
    known = (int(written), int(size)) if version == __version__ else (-1, -1)
    return known, Glance(str(digest), bool(tensorflow), bool(runs), tuple(map(sys.intern, imports)))


def _key(about: str, options: Options) -> bytes:
    text = f"{_LAYOUT} {__version__} {options}\0{about}"
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=20).digest()
