"""C6: a file that keeps what every rank computes, for the next run, is asked for by all ranks together."""

from __future__ import annotations

import pytest

from ..pairs import FIT, MODEL, plan_of

HEAD = "import os, pathlib\nimport numpy as np\n" + MODEL + "model.compile('sgd', 'mse')\n"


def made(body: str) -> str:
    return plan_of(HEAD + body + FIT).text


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("os.path.exists('r.npy')", "not any_rank(not os.path.exists('r.npy'))"),
        ("pathlib.Path('r.npy').is_file()", "not any_rank(not pathlib.Path('r.npy').is_file())"),
        ("os.path.isfile('r.npy') and fresh", "not any_rank(not (os.path.isfile('r.npy') and fresh))"),
    ],
)
def test_ranks_read_what_all_of_them_have(test: str, asked: str) -> None:
    arms = "    x = np.load('r.npy')\nelse:\n    x = work()\n    np.save('r.npy', x)\n"
    assert f"if {asked}:\n" in made(f"fresh = len(y) > 3\nif {test}:\n{arms}")


def test_the_other_way_round_one_that_lacks_it_is_enough() -> None:
    arms = "    x = work()\n    np.save('r.npy', x)\nelse:\n    x = np.load('r.npy')\n"
    assert "if any_rank(not os.path.exists('r.npy')):\n" in made(f"if not os.path.exists('r.npy'):\n{arms}")


def test_a_function_that_returns_what_it_finds() -> None:
    rows = "def rows(path):\n    if os.path.exists(path):\n        return np.load(path)\n    x = work()\n"
    rows += "    np.save(path, x)\n    return x\nx = rows('r.npy')\n"
    assert "    if not any_rank(not os.path.exists(path)):\n" in made(rows)


def test_what_all_have_asked_for_is_not_waited_for_again() -> None:
    rows = "def rows():\n    if not os.path.exists('r.npy'):\n        x = work()\n"
    rows += "        np.save('r.npy', x)\n        return x\n"
    plan = plan_of(HEAD + rows + "    return np.load('r.npy')\nx = rows()\n" + FIT)
    assert "    if any_rank(not os.path.exists('r.npy')):\n" in plan.text
    assert not [n for n in plan.notes if "still be writing" in n.message]


def test_writing_in_a_function() -> None:
    body = "def keep(path):\n    x = work()\n    np.save(path, x)\n    return x\npath = 'r.npy'\n"
    body += "if os.path.exists(path):\n    x = np.load(path)\nelse:\n    x = keep(path)\n"
    assert "if not any_rank(not os.path.exists(path)):\n" in made(body)


@pytest.mark.parametrize(
    "body",
    [
        "if not os.path.exists('r.npy'):\n    np.save('r.npy', work())\nx = np.load('r.npy')\n",  # one writes, all wait
        "if os.path.exists('r.npy'):\n    x = np.load('r.npy')\nelse:\n    x = work()\n",  # it is never written
        "if os.path.exists('r.npy'):\n    x = np.load('r.npy')\nelse:\n    x = work()\nnp.save('s.npy', x)\n",
        "if not os.path.exists('r.npy'):\n    np.save('r.npy', work())\n",  # it is never read
        "if os.path.exists('r.npy'):\n    x = np.load('r.npy')\nx = work()\nnp.save('r.npy', x)\n",  # it doesn't hang on it
    ],
)
def test_what_no_rank_reads_too_early_is_not_agreed(body: str) -> None:
    assert "any_rank" not in made(body)


def test_a_rank_that_may_ask_alone_is_said() -> None:
    batches = (
        "class Batches(tf.keras.utils.Sequence):\n    def __getitem__(self, i):\n        path = f'{i}.npy'\n"
    )
    batches += "        if os.path.exists(path):\n            return np.load(path)\n        x = work(i)\n"
    batches += "        np.save(path, x)\n        return x\nmodel.fit(Batches())\n"
    plan = plan_of(HEAD + batches)
    assert "any_rank" not in plan.text
    assert any("reads half of it" in n.message for n in plan.notes)


GENERATED = """\
def batches(n):
    while True:
        for i in range(n):
            path = f"{i}.npy"
            if os.path.exists(path):
                x = np.load(path)
            else:
                x = work(i)
                np.save(path, x)
            yield x
"""


@pytest.mark.parametrize(
    "training",
    [
        "model.fit(batches(9), steps_per_epoch=9)\n",
        "drawn = batches(9)\nmodel.fit(drawn, steps_per_epoch=9)\n",
        "model.fit(tf.data.Dataset.from_generator(lambda: batches(9), tf.float32).batch(8))\n",
    ],
)
def test_ranks_never_wait_in_a_generator_that_keras_draws_from(training: str) -> None:
    """It runs in a thread of its own, beside the steps: their collectives come in another order on each rank."""
    plan = plan_of(HEAD + GENERATED + training)
    assert "any_rank" not in plan.text
    assert 'name="saved"' not in plan.text
    assert any("reads half of it" in n.message for n in plan.notes)


def test_a_path_that_is_nothing_yet() -> None:
    """It ended in an error: a name that begins as an empty string."""
    body = "path = ''\nif os.path.exists(path):\n    x = np.load(path)\nnp.save('r.npy', x)\n"
    assert "np.save('r.npy', x)" in made(body)
