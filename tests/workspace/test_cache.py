"""The cache on disk: goes by what files hold, survives damage, rivals and a full disk, and has a bound."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from horovodize.options import Options
from horovodize.workspace import FileSummary, State, summarize_file
from horovodize.workspace.cache import Cache
from horovodize.workspace.glance import Glance, glance_at

KERAS = b"import tensorflow as tf\n\ntf.keras.Sequential([]).fit(tf.ones((8, 3)), tf.ones((8, 1)))\n"
BROKEN = FileSummary(State.UNREADABLE, "x")


def test_it_goes_by_content_options_and_version(tmp_path, monkeypatch):
    cache, summary = Cache(tmp_path), summarize_file(KERAS, "a.py")
    cache.put("digest", Options(), summary)
    cache.flush()
    assert cache.get("digest", Options()) == summary
    assert cache.get("other", Options()) is None
    assert cache.get("digest", Options(strict=True)) is None
    monkeypatch.setattr("horovodize.workspace.cache.__version__", "99")
    assert cache.get("digest", Options()) is None


def test_glances_are_those_of_a_folder(tmp_path):
    cache, glance = Cache(tmp_path), glance_at(KERAS)
    for path in ("/a/x.py", "/a/b/y.py", "/ab/z.py", "/b/w.py"):
        cache.put_glance(path, (1, 2), glance)
    cache.flush()
    assert cache.glances("/a") == dict.fromkeys(("/a/x.py", "/a/b/y.py"), ((1, 2), glance))


def test_glances_of_another_version_are_not_believed(tmp_path, monkeypatch):
    """What a glance tells from the bytes may be more in the next version: such a file is read again."""
    cache = Cache(tmp_path)
    cache.put_glance("/a/x.py", (1, 2), glance_at(KERAS))
    cache.flush()
    monkeypatch.setattr("horovodize.workspace.cache.__version__", "99")
    ((stamp, _),) = cache.glances("/a").values()
    assert stamp != (1, 2)


def test_a_script_comes_with_what_its_imports_held(tmp_path):
    cache, asked = Cache(tmp_path), {"/a/b.py": "digest", "/a/c.py": None}
    cache.put_script("/a/a.py", Options(), asked, BROKEN)
    cache.flush()
    assert cache.get_script("/a/a.py", Options()) == (asked, BROKEN)
    assert cache.get_script("/a/a.py", Options(comments=False)) is None


@pytest.mark.parametrize("damage", [b"no database", b"", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_cache_is_thrown_away(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put("a", Options(), FileSummary())
    cache.close()
    (tmp_path / "index.sqlite3").write_bytes(damage)
    cache = Cache(tmp_path)
    assert cache.get("a", Options()) is None
    cache.put("a", Options(), BROKEN)
    cache.flush()
    assert cache.get("a", Options()) == BROKEN


def test_a_damaged_entry_is_not_believed(tmp_path):
    cache = Cache(tmp_path)
    cache.put("a", Options(), FileSummary())
    cache.put_glance("/a/a.py", (1, 2), Glance("", True, True, ()))
    cache.flush()
    with sqlite3.connect(tmp_path / "index.sqlite3") as database:
        database.execute("UPDATE summaries SET summary = '{\"loops\": 3}'")
        database.execute("UPDATE glances SET glance = '[]'")
    assert cache.glances("/a") == {}
    cache = Cache(tmp_path)
    assert cache.get("a", Options()) is None
    cache.put("a", Options(), FileSummary())
    cache.flush()
    assert cache.get("a", Options()) == FileSummary()


def test_a_cache_of_another_layout_is_made_anew(tmp_path):
    with sqlite3.connect(tmp_path / "index.sqlite3") as database:
        database.execute("CREATE TABLE summaries (key BLOB, other TEXT)")
    cache = Cache(tmp_path)
    cache.put("a", Options(), BROKEN)
    cache.flush()
    assert cache.get("a", Options()) == BROKEN


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(Path(tmp_path / "file" / "cache"))
    cache.put("a", Options(), FileSummary())
    cache.flush()
    assert cache.get("a", Options()) is None


def test_another_server_that_writes_is_not_in_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr("horovodize.workspace.cache._PATIENCE", 0.01)
    cache, other = Cache(tmp_path), sqlite3.connect(tmp_path / "index.sqlite3", isolation_level=None)
    cache.put("a", Options(), BROKEN)
    cache.flush()
    other.execute("BEGIN EXCLUSIVE")
    cache.put("b", Options(), BROKEN)
    cache.flush()  # is lost, and no harm done
    late = Cache(tmp_path)
    assert late.get("b", Options()) is None
    other.execute("ROLLBACK")
    assert cache.get("a", Options()) == BROKEN
    assert Cache(tmp_path).get("a", Options()) == BROKEN


def test_a_server_that_is_killed_while_it_writes_harms_nothing(tmp_path):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom horovodize.options import Options\n"
        "from horovodize.workspace import FileSummary\n"
        "from horovodize.workspace.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for i in range(500):\n    cache.put(str(i), Options(), FileSummary())\n"
        "cache._database.execute('BEGIN IMMEDIATE')\n"
        "cache._database.execute('DELETE FROM summaries')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert killed.returncode != 0
    cache = Cache(tmp_path)
    assert cache.get("3", Options()) == FileSummary()


def test_a_cache_has_a_bound_and_keeps_what_was_used_last(tmp_path):
    cache = Cache(tmp_path)
    for i in range(10):
        cache.put(str(i), Options(), FileSummary())
    cache.close()
    cache = Cache(tmp_path)
    assert cache.get("3", Options()) is not None
    cache.trim(4)
    kept = [i for i in range(10) if cache.get(str(i), Options()) is not None]
    assert len(kept) == 4
    assert 3 in kept


def test_all_of_it_can_be_forgotten(tmp_path):
    cache = Cache(tmp_path)
    cache.put("a", Options(), FileSummary())
    cache.put_glance("/a/a.py", (1, 2), Glance("", True, True, ()))
    cache.flush()
    cache.clear()
    assert cache.get("a", Options()) is None
    assert cache.glances("/a") == {}
