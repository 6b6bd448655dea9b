"""The probe and the contract catch what they are for: programs distributed by hand pass, and each broken in one way fails
for that very reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.contract import Expectation, Fault, check_ranks, equivalent, same_alone
from tests.training.running import Outcome, train
from tests.training.text_contract import rest_untouched, valid_and_stable
from tests.training.variants import BROKEN, Broken
from tests.training.variants_1 import BROKEN_1

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]
FOLDER = Path(__file__).with_name("broken")
EXPECTED = {
    "keras": Expectation(),
    "train_step": Expectation(),
    "tape": Expectation(epochs=2),
    "plain": Expectation(epochs=2),
    "strong": Expectation(work="strong"),
    "session": Expectation(epochs=2),
    "monitored": Expectation(work="count"),
    "estimator": Expectation(work="count"),
}
TF1 = {"session", "monitored", "estimator"}


def take(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{text.count(old)} times in the program: {old}"
    return text.replace(old, new)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Trains an original once for all that compares with it."""
    known: dict[str, Outcome] = {}

    def get(program: str) -> Outcome:
        if program not in known:
            known[program] = train(
                FOLDER / f"{program}_original.py",
                tmp_path_factory.mktemp(program) / "run",
                tf1=program in TF1,
            )
        return known[program]

    return get


def reference(folder: Path) -> Outcome:
    """`plain` in one process, as two ranks should train it."""
    text = (FOLDER / "plain_original.py").read_text(encoding="utf-8")
    larger = folder / "larger.py"
    larger.write_text(
        take(take(text, "BATCH = 8", "BATCH = 16"), "RATE = 0.02", "RATE = 0.04"), encoding="utf-8"
    )
    return train(larger, folder / "reference")


def faults_of(script: Path, program: str, original: Outcome, folder: Path, limit: float = 120) -> list[Fault]:
    run = train(script, folder / "ranks", ranks=2, limit=limit, tf1=program in TF1)
    faults = check_ranks(original, run, EXPECTED[program])
    if program == "plain":
        faults += equivalent([reference(folder)], run, 1e-5)
    if program == "strong":
        faults += equivalent([original], run, 1e-5)
    return faults


@pytest.mark.parametrize("program", EXPECTED)
def test_programs_distributed_by_hand_keep_the_contract(
    program: str, original: Callable[[str], Outcome], tmp_path: Path
) -> None:
    script = FOLDER / f"{program}_by_hand.py"
    alone = train(script, tmp_path / "alone", tf1=program in TF1)
    faults = same_alone(original(program), alone, EXPECTED[program])
    faults += faults_of(script, program, original(program), tmp_path)
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.parametrize("broken", BROKEN + BROKEN_1, ids=lambda broken: broken.name.replace(" ", "-"))
def test_a_program_broken_in_one_way_fails_for_that_reason(
    broken: Broken, original: Callable[[str], Outcome], tmp_path: Path
) -> None:
    text = (FOLDER / f"{broken.program}_by_hand.py").read_text(encoding="utf-8")
    for old, new in broken.replace:
        text = take(text, old, new)
    script = tmp_path / "broken.py"
    script.write_text(text, encoding="utf-8")
    faults = faults_of(script, broken.program, original(broken.program), tmp_path, broken.limit)
    told = "\n".join(map(str, faults))
    assert {fault.invariant for fault in faults} == set(broken.invariant.split()), told
    assert any(re.search(broken.says, fault.message) for fault in faults), told


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "import tensorflow as tf\n",
            "import tensorflow as tf\n\ntf.keras.utils.set_random_seed(5)\n",
            "differs by",
        ),
        ("10 // hvd.size()", "9 // hvd.size()", "optimizer 0"),
        ('"loss", float(loss)', '"the loss", float(loss)', "prints"),
        ("for epoch in range(2)", "for epoch in range(1 + hvd.size(), 5)", "steps"),
        ('"saved/model"', '"saved/other"', "leaves"),
    ],
    ids=["seed", "schedule", "print", "steps", "files"],
)
def test_a_program_that_does_otherwise_alone_is_caught(
    old: str, new: str, says: str, original: Callable[[str], Outcome], tmp_path: Path
) -> None:
    script = tmp_path / "broken.py"
    script.write_text(
        take((FOLDER / "tape_by_hand.py").read_text(encoding="utf-8"), old, new), encoding="utf-8"
    )
    faults = same_alone(original("tape"), train(script, tmp_path / "alone"), EXPECTED["tape"])
    assert {fault.invariant for fault in faults} == {"I2"}
    assert any(says in fault.message for fault in faults), faults


BEFORE = b"# -*- coding: utf-8 -*-\nimport tensorflow as tf\n\nopt = tf.optimizers.SGD( 0.1 )  # plain\nprint('done')\n"
AFTER = (
    b"# -*- coding: utf-8 -*-\nimport tensorflow as tf\nimport horovod.tensorflow as hvd\n\nhvd.init()\n\n"
    b"opt = tf.optimizers.SGD( 0.1 * hvd.size() )  # plain\nif hvd.rank() == 0:\n    print('done')\n"
)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(b"  # plain", b""), "comment"),
        (lambda text: text.replace(b"'done'", b'"done"'), "string"),
        (lambda text: text.replace(b"\n", b"\r\n"), "line ends"),
        (lambda text: b"\xef\xbb\xbf" + text, "byte order mark"),
        (lambda text: text.rstrip(b"\n"), "end of the file"),
        (lambda text: text.replace(b"SGD( 0.1 * hvd.size() )", b"SGD(0.1)"), "spacing"),
    ],
    ids=["comment", "quotes", "line-ends", "mark", "end", "spacing"],
)
def test_bytes_outside_an_edit_that_change_are_caught(change: Callable[[bytes], bytes], says: str) -> None:
    assert rest_untouched(BEFORE, AFTER) == []
    assert any(says in fault.message for fault in rest_untouched(BEFORE, change(AFTER)))


def test_text_that_changes_again_or_does_not_compile_is_caught() -> None:
    assert valid_and_stable(AFTER, lambda text: text) == []
    assert [f.invariant for f in valid_and_stable(AFTER, lambda text: text + b"hvd.init()\n")] == ["I1"]
    assert [f.invariant for f in valid_and_stable(b"global x\nif True:\n", lambda text: text)] == ["I1"]
