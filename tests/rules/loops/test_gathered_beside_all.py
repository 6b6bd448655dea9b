"""G4: what a rank gathers of its own steps is not put beside something of all rows without being asked about."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from .test_own_numbers import HEAD

TRAIN = "train(X[i : i + B], Y[i : i + B])"
LOOP = f"answers = []\nfor i in range(0, len(X), B):\n    answers.extend({TRAIN})\n"


def asked(program: str) -> list[str]:
    return [q.doubt for q in plan_of(HEAD + program).to_confirm if "of all rows" in q.doubt]


@pytest.mark.parametrize(
    "read",
    [
        "np.mean(np.array(answers) == Y)",
        "accuracy_score(Y, answers)",
        "classifier.fit(np.concatenate(answers), Y)",
        "np.mean((np.asarray(answers) - Y) ** 2)",
        "list(zip(answers, Y))",
        "np.mean(np.argmax(answers, 1) == np.argmax(Y, 1))",
        "roc_auc_score(y_true=Y, y_score=answers)",
    ],
)
def test_beside_all_labels(read: str) -> None:
    (doubt,) = asked(f"{LOOP}result = {read}\n")
    assert "Y` is of all rows" in doubt or "(Y, 1)` is of all rows" in doubt


@pytest.mark.parametrize(
    "gathering",
    ["answers.append({})", "answers += list({})", "answers += {}.tolist()", "answers = answers + [{}]"],
)
def test_however_it_is_gathered(gathering: str) -> None:
    loop = f"answers = []\nfor i in range(0, len(X), B):\n    {gathering.format(TRAIN)}\n"
    assert asked(f"{loop}answers = np.concatenate(answers)\nprint(np.mean(answers == Y))\n")


def test_of_what_deals_out_batches() -> None:
    program = "for e in range(3):\n    answers = []\n    for _ in range(40):\n        rows, labels = data.next_batch(8)\n"
    program += "        answers.append(train(rows, labels))\n    measure(data.labels, answers)\n"
    assert asked(program)
    assert not asked(program.replace("data.labels", "held_out.labels"))


@pytest.mark.parametrize(
    "program",
    [
        # labels that are gathered beside it
        f"answers, labels = [], []\nfor i in range(0, len(X), B):\n    answers.extend({TRAIN})\n"
        "    labels.extend(Y[i : i + B])\nprint(accuracy_score(labels, answers))\n",
        f"{LOOP}print(np.mean(answers), np.mean(Y))\n",
        f"{LOOP}np.savez('answers.npz', answers, Y)\n",
        f"{LOOP}print(accuracy_score(T, answers))\n",  # of other rows
        # gathered again by a loop that measures all rows
        f"{LOOP}answers = []\nfor i in range(0, len(X), B):\n    answers.extend(model(X[i : i + B]))\n"
        "print(np.mean(np.array(answers) == Y))\n",
        # before the loop
        f"answers = []\nprint(accuracy_score(Y, answers))\nfor i in range(0, len(X), B):\n    answers.extend({TRAIN})\n",
        # one for each epoch
        f"answers = []\nfor e in range(3):\n    for i in range(0, len(X), B):\n        a = {TRAIN}\n    answers.append(a)\n"
        "print(accuracy_score(Y, answers))\n",
        # all rows in each step
        "answers = []\nfor e in range(3):\n    answers.append(train(X, Y))\nprint(accuracy_score(Y, answers))\n",
    ],
)
def test_what_is_right_as_it_is(program: str) -> None:
    assert not asked(program)
