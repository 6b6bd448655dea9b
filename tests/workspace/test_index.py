"""The index of a folder: which files it reads, what it makes of them together, and that it stays right."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from horovodize.files import Exclude
from horovodize.options import Options
from horovodize.workspace import FileSummary, Index, State
from horovodize.workspace.cache import Cache
from horovodize.workspace.index import Rules

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"
KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones((8, 3)), tf.ones((8, 1)))
"""
TAPE = """\
import tensorflow as tf


def train(model, data, optimizer):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
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


@pytest.fixture
def project(tmp_path):
    """A project of four modules, without what is expected of it."""
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    return Path(shutil.copytree(PROJECTS / "four_modules", tmp_path / "project", ignore=ignored))


def scanned(folder, **more):
    index = Index(**more)
    index.add(str(folder))
    return index, list(index.steps())


def summaries(index, folder):
    return {os.path.relpath(path, folder): summary for path, summary in index.summaries(str(folder))}


def done(index):
    """Has the index do what is to be done. Whether there was anything."""
    return bool(list(index.steps()))


@pytest.fixture
def read(monkeypatch):
    """The files that are summarised from now on, by name, as they are."""
    names = []
    from horovodize.workspace import reading

    summarize_file, describe_script = reading.summarize_file, reading.describe_script

    def file(data, path, options):
        names.append(os.path.basename(path))
        return summarize_file(data, path, options)

    def script(examined, *rest):
        names.append(f"{os.path.basename(examined.script.path)} with others")
        return describe_script(examined, *rest)

    monkeypatch.setattr(reading, "summarize_file", file)
    monkeypatch.setattr(reading, "describe_script", script)
    return names


def test_what_trains_and_what_cannot_be_read_is_found(folder):
    exclude = Exclude(["skipped"], str(folder))
    index, progress = scanned(folder, rules=lambda path: Rules(Options(), exclude(path)))
    found = summaries(index, folder)
    assert sorted(found) == ["broken.py", "done.py", "sub/deep.py", "train.py"]
    (loop,) = found["train.py"].loops
    assert (loop.kind, loop.place.start.line, loop.function) == ("Keras", 4, "")
    assert [(role.role, role.name) for role in loop.roles] == [("model", "model")]
    assert found["done.py"].state is State.DISTRIBUTED
    assert found["train.py"].state is State.DISTRIBUTABLE
    assert found["broken.py"].state is State.UNREADABLE
    assert progress[-1].done == progress[-1].total == 5


def test_files_that_say_nothing_of_tensorflow_are_not_parsed(folder, read):
    scanned(folder)
    assert "plain.py" not in read
    assert "train.py" in read


def test_a_changed_a_new_and_a_deleted_file(folder):
    index, _ = scanned(folder)
    (folder / "train.py").write_text("x = 1\n")
    (folder / "new.py").write_text(KERAS)
    (folder / "sub" / "deep.py").unlink()
    assert index.changed([str(folder / name) for name in ("train.py", "new.py", "sub/deep.py")])
    done(index)
    assert sorted(summaries(index, folder)) == ["broken.py", "done.py", "new.py", "skipped/train.py"]
    assert not index.changed(["/elsewhere/train.py"])
    index.forget(str(folder))
    assert index.summaries(str(folder)) == []
    assert index.idle


def test_a_folder_that_is_deleted_and_one_that_comes(folder):
    index, _ = scanned(folder)
    (folder / "sub").rename(folder / "moved")
    assert index.changed([str(folder / "sub"), str(folder / "moved")])
    done(index)
    found = summaries(index, folder)
    assert "moved/deep.py" in found
    assert "sub/deep.py" not in found


def test_new_files_are_ignored_as_others_are(folder):
    index, _ = scanned(folder)
    (folder / "ignored" / "new.py").write_text(KERAS)
    index.changed([str(folder / "ignored" / "new.py")])
    done(index)
    assert "ignored/new.py" not in summaries(index, folder)
    (folder / ".gitignore").write_text("sub/\n")
    assert index.changed([str(folder / ".gitignore")])
    done(index)
    found = summaries(index, folder)
    assert {"ignored/new.py", "ignored/train.py"} <= found.keys()
    assert "sub/deep.py" not in found


def test_only_what_changed_is_read_again(folder, read):
    index, _ = scanned(folder)
    read.clear()
    (folder / "train.py").write_text(KERAS + "\n")
    index.changed([str(folder / "train.py"), str(folder / "done.py")])
    done(index)
    assert read == ["train.py"]


def test_a_file_that_is_written_as_it_was_is_not_read_again(folder, read):
    index, _ = scanned(folder)
    read.clear()
    os.utime(folder / "train.py", (1_000_000_000, 1_000_000_000))
    index.changed([str(folder / "train.py")])
    done(index)
    assert read == []
    assert "train.py" in summaries(index, folder)


def test_what_is_kept_has_a_bound(folder, tmp_path, monkeypatch):
    tables = dict.fromkeys(("glances", "summaries", "scripts"), 2)
    monkeypatch.setattr("horovodize.workspace.cache._TABLES", tables)
    for path in folder.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))  # what was written just now is not kept
    scanned(folder, cache=Cache(tmp_path / "cache"))
    with sqlite3.connect(tmp_path / "cache" / "index.sqlite3") as database:
        counts = {t: database.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}
    assert counts == {"glances": 2, "summaries": 2, "scripts": 0}


def test_thousands_of_changes_at_once_are_one(folder, read):
    """As when another branch is checked out."""
    names = [f"many/file_{i}.py" for i in range(2000)]
    (folder / "many").mkdir()
    for name in names:
        (folder / name).write_text("x = 1\n")
    index, _ = scanned(folder)
    read.clear()
    for name in names:
        (folder / name).write_text("x = 22\n")
    (folder / names[7]).write_text(KERAS)
    for _ in range(3):
        index.changed([str(folder / name) for name in names])
    done(index)
    assert read == ["file_7.py"]
    assert names[7] in summaries(index, folder)


# ---------------------------------------------------------------------- scripts of several files


def test_a_script_trains_with_what_it_imports(project):
    index, _ = scanned(project)
    found = summaries(index, project)["train.py"]
    assert found.state is State.DISTRIBUTABLE
    assert [os.path.basename(path) for path in found.project] == ["data.py", "optim.py", "step.py"]
    (loop,) = found.loops
    assert loop.kind == "GradientTape"
    assert {os.path.basename(role.place.file) for role in loop.roles} >= {"", "data.py", "optim.py"}


@pytest.mark.parametrize("name", ["step.py", "optim.py"])
def test_a_change_is_seen_where_it_is_imported(project, read, name):
    index, _ = scanned(project)
    read.clear()
    (project / name).write_text("import tensorflow as tf\n")
    index.changed([str(project / name)])
    done(index)
    assert read == [name, "train.py with others"]
    found = summaries(index, project).get("train.py")
    assert found is None or str(project / name) not in found.project


def test_a_module_that_comes_later_is_seen(project):
    (project / "step.py").rename(project / "kept")
    index, _ = scanned(project)
    assert "train.py" not in summaries(index, project)
    (project / "kept").rename(project / "step.py")
    index.changed([str(project / "step.py")])
    done(index)
    assert summaries(index, project)["train.py"].loops


def test_a_change_that_nobody_imports_concerns_nobody_else(project, read):
    (project / "other.py").write_text(KERAS)
    index, _ = scanned(project)
    read.clear()
    (project / "other.py").write_text(KERAS + "\n")
    index.changed([str(project / "other.py")])
    done(index)
    assert read == ["other.py"]


@pytest.mark.parametrize("name", ["test_train.py", "train_test.py"])
def test_a_test_is_no_script(project, read, name):
    """What runs a loop to test it does not train with it."""
    text = (project / "train.py").read_text()
    (project / "train.py").rename(project / name)
    scanned(project)
    assert f"{name} with others" not in read
    (project / "main.py").write_text(text)
    index, _ = scanned(project)
    assert "main.py with others" in read
    assert summaries(index, project)["main.py"].loops


def test_a_library_of_functions_is_no_script(project, read):
    (project / "library.py").write_text("import tensorflow as tf\nimport model\n\n\ndef f():\n    pass\n")
    scanned(project)
    assert "library.py" in read
    assert "library.py with others" not in read


def test_files_may_import_each_other(tmp_path):
    (tmp_path / "a.py").write_text("import b\n" + KERAS)
    (tmp_path / "b.py").write_text("import a\n" + TAPE)
    index, _ = scanned(tmp_path)
    assert summaries(index, tmp_path)["a.py"].loops
    (tmp_path / "b.py").unlink()
    index.changed([str(tmp_path / "b.py")])
    done(index)
    assert list(summaries(index, tmp_path)) == ["a.py"]


# ---------------------------------------------------------------------- the next session


def test_a_second_time_nothing_is_summarised_again(folder, project, tmp_path, read):
    for top in (folder, project):
        cache = Cache(tmp_path / "cache")
        first, _ = scanned(top, cache=cache)
        cache.close()
        assert read
        read.clear()
        again, _ = scanned(top, cache=Cache(tmp_path / "cache"))
        assert read == []
        assert summaries(again, top) == summaries(first, top) != {}


def test_a_script_is_read_again_when_a_module_has_changed_since(project, tmp_path, read):
    cache = Cache(tmp_path / "cache")
    scanned(project, cache=cache)
    cache.close()
    (project / "optim.py").write_text("import tensorflow as tf\n")
    read.clear()
    scanned(project, cache=Cache(tmp_path / "cache"))
    assert read == ["optim.py", "train.py with others"]


def test_files_that_were_not_written_since_are_not_opened(folder, tmp_path, monkeypatch):
    for path in folder.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    cache = Cache(tmp_path / "cache")
    first, _ = scanned(folder, cache=cache)
    cache.close()
    monkeypatch.setattr("horovodize.workspace.index._bytes", lambda path: pytest.fail(f"{path} is read"))
    again, _ = scanned(folder, cache=Cache(tmp_path / "cache"))
    assert summaries(again, folder) == summaries(first, folder)


def test_a_summary_is_the_same_after_a_way_through_json(project):
    index, _ = scanned(project)
    for _, summary in index.summaries(str(project)):
        assert FileSummary.from_json(summary.to_json()) == summary


@pytest.fixture
def parses(monkeypatch):
    """How many texts were parsed from now on, by what they begin with."""
    from horovodize.source import Document

    counts = Counter()
    parse = Document._parse

    def counted(document):
        counts[document.text.partition("\n")[0]] += 1
        return parse(document)

    monkeypatch.setattr(Document, "_parse", counted)
    return counts


def library(folder, scripts, modules=12, last="x = 1\n"):
    """Scripts that each import a chain of modules, which end with some text."""
    folder.mkdir()
    chain = [f"# module\nfrom m{i + 1} import *\n" for i in range(modules - 1)]
    for i, text in enumerate((*chain, f"# module\n{last}")):
        (folder / f"m{i}.py").write_text(text)
    for i in range(scripts):
        (folder / f"s{i}.py").write_text(f"# script\nfrom m0 import *\nprint({i})\nmain({i})\n")
    return folder


@pytest.mark.parametrize(
    "last",
    [
        "import tensorflow as tf\n\n\ndef main(i):\n    print(tf.constant(i))\n",
        "import torch  # not tensorflow\n\n\ndef main(i):\n    torch.optim.Adam(i).minimize(i)\n",
    ],
)
def test_twice_as_many_scripts_read_their_modules_once(tmp_path, parses, last):
    counts = []
    for scripts in (10, 20):
        parses.clear()
        scanned(library(tmp_path / str(scripts), scripts, last=last))
        counts.append((parses["# module"], parses["# script"]))
    assert counts[0][0] == counts[1][0] == 12 + 1  # the one about TensorFlow by itself, too
    assert counts[1][1] == 2 * counts[0][1] == 2 * 10


def test_modules_without_a_loop_of_their_own_are_linked_where_a_script_trains_with_them(tmp_path):
    model = "import tensorflow as tf\n\n\ndef main(i):\n    tf.keras.Sequential([]).fit([i], [i], epochs=2)\n"
    folder = library(tmp_path / "all", 3, last=model)
    index, _ = scanned(folder)
    assert [name for name in summaries(index, folder) if name.startswith("s")] == ["s0.py", "s1.py", "s2.py"]
