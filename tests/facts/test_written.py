"""Files that the program writes, found again by a pattern: another rank may not have them."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts import facts_of
from horovodize.source import Document
from horovodize.summary import summarize

PROGRAM = """\
import glob
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
found = sorted(glob.glob({pattern!r}))
x = np.load("x.npy")
for epoch in range(9):
    model.fit(x, x)
    {write}
"""


@pytest.mark.parametrize(
    ("write", "pattern", "differs"),
    [
        ("np.savez(f'ep-{epoch:02d}.npz', x)", "ep-*.npz", True),
        ("np.save('run/ep-%04d.npy' % epoch, x)", "run/ep-*.npy", True),
        ("open('ep-{}.txt'.format(epoch), 'w').write('x')", "ep-?.txt", True),
        ("model.save(f'ep-{epoch}.keras')", "*.keras", True),
        ("np.savez(f'ep-{epoch:02d}.npz', x)", "rows-*.npz", False),
        ("np.savez(f'ep-{epoch:02d}.npz', x)", "data/*.csv", False),
    ],
)
def test_a_pattern_finds_what_the_program_writes(write: str, pattern: str, differs: bool) -> None:
    facts = facts_of(summarize(Document(PROGRAM.format(write=write, pattern=pattern), "train.py")))
    name = next(n for n in facts.module.syntax.every(ast.Call) if ast.unparse(n).startswith("sorted"))
    assert bool(facts.uniform.of_values.reasons(name)) is differs


def test_data_that_the_program_makes_first_are_the_same() -> None:
    first = "for k in range(5):\n    np.savez(f'part-{k}.npz', x=k)\nfound = sorted("
    program = PROGRAM.format(write="pass", pattern="part-*.npz").replace("found = sorted(", first)
    facts = facts_of(summarize(Document(program, "train.py")))
    name = next(n for n in facts.module.syntax.every(ast.Call) if ast.unparse(n).startswith("sorted"))
    assert not facts.uniform.of_values.reasons(name)
