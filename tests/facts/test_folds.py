"""A splitter of scikit-learn's gives as many parts as it is told, whatever it splits."""

from __future__ import annotations

import ast

import pytest

from horovodize.distribute import distribute
from horovodize.facts import facts_of
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import os, random
import numpy as np
import tensorflow as tf
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit
from mine import KFold as Own
names = list(range(random.randint(5, 9)))
"""


def differs(splitter: str) -> bool:
    """Whether ranks may go through the parts a different number of times."""
    facts = facts_of(summarize(Document(f"{HEAD}for a, b in {splitter}:\n    print(a)\n")))
    [loop] = [n for n in ast.walk(facts.module.tree) if isinstance(n, ast.For)]
    return bool(facts.uniform.turns(loop))


@pytest.mark.parametrize(
    "splitter",
    [
        "KFold(5).split(names)",
        "KFold(n_splits=5, shuffle=True).split(names)",
        "RepeatedKFold(n_splits=5, n_repeats=2).split(names)",
        "GroupKFold().split(names, groups=names)",
        "ShuffleSplit(3, test_size=0.2).split(names)",
    ],
)
def test_as_many_as_told(splitter: str) -> None:
    assert not differs(splitter)


@pytest.mark.parametrize(
    "splitter",
    [
        "KFold(len(names)).split(np.arange(9))",
        "KFold(random.randint(2, 9)).split(names)",
        "RepeatedKFold(n_splits=5, n_repeats=random.randint(2, 9)).split(names)",
        "LeaveOneOut().split(names)",  # a part for each
        "Own(5).split(names)",
        "names",
    ],
)
def test_near_misses(splitter: str) -> None:
    assert differs(splitter)


SKIPS = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
x = np.load('x.npy')
for k, (a, b) in enumerate({}.split(names)):
    if os.path.exists('fold%d.h5' % k):
        model.load_weights('fold%d.h5' % k)
    else:
        model.fit(x[a], x[a], epochs=3)
        model.save_weights('fold%d.h5' % k)
"""


def test_a_fold_that_is_done_is_skipped_by_all() -> None:
    """It was refused (HVD205): whether all ranks come to the test was taken for a matter of the files that are listed."""
    head = HEAD.replace(
        "list(range(random.randint(5, 9)))", "sorted(os.listdir('.'))"
    )  # where weights are saved, too
    done = distribute(summarize(Document(head + SKIPS.format("KFold(5)"))))
    assert isinstance(done, Plan)
    assert "if hvd.broadcast_object(os.path.exists('fold%d.h5' % k)):" in done.text
    assert isinstance(distribute(summarize(Document(head + SKIPS.format("LeaveOneOut()")))), Refusal)
