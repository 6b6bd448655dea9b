"""The index of a folder: which files it reads, and that it stays right."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from horovodize.options import Options
from horovodize.workspace import Cache, FileSummary, Index, State, summarize_file

KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones((8, 3)), tf.ones((8, 1)))
"""


@pytest.fixture
def folder(tmp_path):
    files = {
        "train.py": KERAS,
        "sub/deep.py": KERAS.replace("model", "net"),
        "plain.py": "x = 1\n",
        "broken.py": "import tensorflow\nx = (\n",
        "done.py": "import horovod.tensorflow.keras as hvd\n" + KERAS,
        ".gitignore": "ignored/\n",
        "ignored/train.py": KERAS,
        "skipped/train.py": KERAS,
        "notes.txt": KERAS,
    }
    top = tmp_path / "folder"
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def scanned(folder, **more):
    index = Index(**more)
    progress = list(index.scan(str(folder)))
    return index, progress


def names(index, folder):
    return {os.path.relpath(path, folder): summary for path, summary in index.modules(str(folder))}


def test_what_trains_and_what_cannot_be_read_is_found(folder):
    index, progress = scanned(folder, exclude=["skipped"])
    found = names(index, folder)
    assert sorted(found) == ["broken.py", "done.py", "sub/deep.py", "train.py"]
    (loop,) = found["train.py"].loops
    assert (loop.kind, loop.place.start.line, loop.function) == ("Keras", 4, "")
    assert [(role.role, role.name) for role in loop.roles] == [("model", "model")]
    assert found["done.py"].state is State.DISTRIBUTED
    assert found["train.py"].state is State.DISTRIBUTABLE
    assert found["broken.py"].state is State.UNREADABLE
    assert found["broken.py"].problem
    assert progress[-1].done == progress[-1].total == 5


def test_files_that_say_nothing_of_tensorflow_are_not_parsed(folder, monkeypatch):
    read = []
    monkeypatch.setattr(
        "horovodize.workspace.index.summarize_file",
        lambda data, path, options: read.append(path) or FileSummary(),
    )
    scanned(folder)
    assert str(folder / "plain.py") not in read
    assert str(folder / "train.py") in read


def test_a_changed_a_new_and_a_deleted_file(folder):
    index, _ = scanned(folder)
    (folder / "train.py").write_text("x = 1\n")
    (folder / "new.py").write_text(KERAS)
    (folder / "sub" / "deep.py").unlink()
    for name in ("train.py", "new.py", "sub/deep.py"):
        index.update(str(folder / name))
    assert sorted(names(index, folder)) == ["broken.py", "done.py", "new.py", "skipped/train.py"]
    index.update("/elsewhere/train.py")
    index.forget(str(folder))
    assert index.modules(str(folder)) == []


def test_a_folder_that_goes_away_ends_its_scan(folder):
    index = Index()
    steps = index.scan(str(folder))
    next(steps)
    index.forget(str(folder))
    assert len(list(steps)) <= 1
    assert index.folders == []


# ---------------------------------------------------------------------- cache


def test_a_second_scan_summarises_nothing_again(folder, tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")
    first, _ = scanned(folder, cache=cache)
    cache.close()

    def never(*_):
        raise AssertionError("this was summarised already")

    monkeypatch.setattr("horovodize.workspace.index.summarize_file", never)
    again, _ = scanned(folder, cache=Cache(tmp_path / "cache"))
    assert names(again, folder) == names(first, folder) != {}


def test_a_cache_goes_by_content_options_and_version(tmp_path, monkeypatch):
    cache, data, summary = Cache(tmp_path), KERAS.encode(), summarize_file(KERAS.encode(), "a.py")
    cache.put(data, Options(), summary)
    assert cache.get(data, Options()) == summary
    assert cache.get(data + b"\n", Options()) is None
    assert cache.get(data, Options(strict=True)) is None
    monkeypatch.setattr("horovodize.workspace.cache.__version__", "99")
    assert cache.get(data, Options()) is None


@pytest.mark.parametrize("damage", [b"no database", b""])
def test_a_damaged_cache_is_thrown_away(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put(b"a", Options(), FileSummary())
    cache.close()
    (tmp_path / "index.sqlite3").write_bytes(damage)
    cache = Cache(tmp_path)
    assert cache.get(b"a", Options()) is None
    cache.put(b"a", Options(), FileSummary(problem="x"))
    assert cache.get(b"a", Options()) == FileSummary(problem="x")


def test_a_damaged_entry_is_not_believed(tmp_path):
    cache = Cache(tmp_path)
    cache.put(b"a", Options(), FileSummary())
    with sqlite3.connect(tmp_path / "index.sqlite3") as database:
        database.execute("UPDATE summaries SET summary = '{\"loops\": 3}'")
    assert cache.get(b"a", Options()) is None
    cache.put(b"a", Options(), FileSummary())
    assert cache.get(b"a", Options()) == FileSummary()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(Path(tmp_path / "file" / "cache"))
    cache.put(b"a", Options(), FileSummary())
    assert cache.get(b"a", Options()) is None


def test_a_cache_has_a_bound_and_keeps_what_was_used_last(tmp_path):
    cache = Cache(tmp_path)
    for i in range(10):
        cache.put(b"%d" % i, Options(), FileSummary())
    cache.close()
    cache = Cache(tmp_path)
    assert cache.get(b"3", Options()) is not None
    cache.trim(4)
    kept = [i for i in range(10) if cache.get(b"%d" % i, Options()) is not None]
    assert len(kept) == 4
    assert 3 in kept
