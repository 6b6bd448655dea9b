"""Two paths that end otherwise are two files, though they are in one folder. Near misses first: what may be one file."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts import facts_of
from horovodize.facts.files.path_forms import PathForms
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import os, sys
import pathlib
from elsewhere import args, name
BASE = "./project/data"
PATHS = {"train": "data/train.csv", "model": "data/model.h5"}
HERE = pathlib.Path(__file__).parent
LAST = "model.h5" if args.new else "train.csv"
"""

MAY_BE_ONE = [
    ("'a/x.npy'", "'a/x.npy'"),
    ("'x.npy'", "'x'"),  # as `np.save` writes it
    ("os.path.join(BASE, 'x.npy')", "os.path.join(BASE, name)"),
    ("os.path.join(BASE, name)", "os.path.join(BASE, 'x.npy')"),
    ("os.path.join(BASE, 'logs', 'x.csv')", "os.path.join(BASE, 'logs')"),  # a folder, and a file in it
    ("os.path.join(BASE, name, 'x.csv')", "os.path.join(BASE, 'logs')"),
    ("f'{name}.csv'", "f'{BASE}/{name}-{args.run}.csv'"),
    ("f'{name}.csv'", "'x.csv'"),
    ("'x.csv'", "'%s.csv' % name"),
    ("args.data", "'x.csv'"),
    ("PATHS[name]", "PATHS['model']"),
    ("os.path.join(BASE, LAST)", "os.path.join(BASE, 'train.csv')"),
    ("f'{name}/model-100.index'", "BASE + '/model'"),
    ("os.path.join(*name)", "'x.csv'"),
    ("'state.json'", "'state.json' + '.tmp'"),  # which is renamed
]
APART = [
    ("os.path.join(BASE, 'train.csv')", "os.path.join(BASE, 'model.h5')"),
    ("f'{BASE}/train.csv'", "f'{BASE}/model.h5'"),
    ("BASE + '/train.csv'", "BASE + '/run-%d.h5' % name"),
    ("PATHS['train']", "PATHS['model']"),
    ("HERE / 'train.csv'", "HERE / 'model.h5'"),
    ("HERE.joinpath('train.csv')", "str(HERE / 'out' / 'x.csv')"),
    ("os.path.join(args.folder, 'train.csv')", "os.path.join(args.folder, 'model.h5')"),
    ("os.path.join(BASE, name, 'x.csv')", "os.path.join(BASE, 'model.h5')"),
    ("'{}/a.txt'.format(BASE)", "'{}/b.txt'.format(BASE)"),
    (
        "'data/news/news.train.txt'",
        "os.path.join('data/news', 'news.words.txt')",
    ),  # in a folder of its first name
]


def apart(read: str, written: str) -> bool:
    text = f"{HEAD}import tensorflow as tf\na = {read}\nb = {written}\n"
    module = facts_of(summarize(Document(text, "train.py"))).module
    a, b = (s.value for s in module.tree.body[-2:] if isinstance(s, ast.Assign))
    return PathForms(module).are_apart(a, b)


@pytest.mark.parametrize(("read", "written"), MAY_BE_ONE)
def test_what_may_be_one_file(read: str, written: str) -> None:
    assert not apart(read, written)


@pytest.mark.parametrize(("read", "written"), APART)
def test_what_are_two_files(read: str, written: str) -> None:
    assert apart(read, written)
