"""Summaries of files, kept on disk from one session to the next: by what a file holds, so that nothing out of date is found.

A damaged cache is thrown away; one that cannot be written is done without."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
from pathlib import Path

from horovodize import __version__
from horovodize.options import Options
from horovodize.workspace.file_summary import FileSummary

_MOST = 20_000  # summaries; those that were not used for longest go
_LAYOUT = 2  # of the tables, and of what is kept in them
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS summaries (key BLOB PRIMARY KEY, used INTEGER, summary TEXT) WITHOUT ROWID"
)


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
    """Summaries by what a file holds, the version of horovodize and the options that they were made under."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or default_folder()) / "index.sqlite3"
        self._database: sqlite3.Connection | None = None
        self._session = 0
        try:
            self._open()
        except (sqlite3.Error, OSError):
            self._throw_away()

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=1.0, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute(_SCHEMA)
            (last,) = database.execute("SELECT max(used) FROM summaries").fetchone()
        except sqlite3.Error:
            database.close()
            raise
        self._database, self._session = database, int(last or 0) + 1

    def _throw_away(self) -> None:
        """Starts anew after damage; goes on without a cache if that fails, too."""
        self.close()
        with contextlib.suppress(sqlite3.Error, OSError):
            for end in ("", "-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
            self._open()

    def get(self, data: bytes, options: Options) -> FileSummary | None:
        if self._database is None:
            return None
        key = _key(data, options)
        try:
            row = self._database.execute("SELECT summary FROM summaries WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            found = FileSummary.from_json(json.loads(row[0]))
            self._database.execute("UPDATE summaries SET used = ? WHERE key = ?", (self._session, key))
        except sqlite3.OperationalError:  # another server writes for too long
            return None
        except (sqlite3.Error, ValueError, KeyError, TypeError):
            self._throw_away()
            return None
        return found

    def put(self, data: bytes, options: Options, summary: FileSummary) -> None:
        if self._database is None:
            return
        row = (_key(data, options), self._session, json.dumps(summary.to_json()))
        try:
            self._database.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", row)
        except sqlite3.OperationalError:
            return
        except sqlite3.Error:
            self._throw_away()

    def trim(self, most: int = _MOST) -> None:
        """Forgets what was not used for longest, down to so many summaries."""
        if self._database is None:
            return
        with contextlib.suppress(sqlite3.Error):
            self._database.execute(
                "DELETE FROM summaries WHERE key NOT IN (SELECT key FROM summaries ORDER BY used DESC LIMIT ?)",
                (most,),
            )

    def clear(self) -> None:
        """Forgets everything."""
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("DELETE FROM summaries")

    def close(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None


def _key(data: bytes, options: Options) -> bytes:
    made = hashlib.blake2b(f"{_LAYOUT} {__version__} {options}\0".encode(), digest_size=20)
    made.update(data)
    return made.digest()
