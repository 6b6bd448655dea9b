"""The probe and the contract catch what they are for: programs distributed by hand pass, and each broken in one way fails
for that very reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.training.contract import Expectation, Fault, check_ranks, equivalent, same_alone
from tests.training.running import Outcome, train
from tests.training.text_contract import rest_untouched, valid_and_stable

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]
FOLDER = Path(__file__).with_name("broken")
EXPECTED = {
    "keras": Expectation(),
    "train_step": Expectation(),
    "tape": Expectation(epochs=2),
    "plain": Expectation(epochs=2),
}


@dataclass(frozen=True)
class Broken:
    """One mutation of a program: the texts to replace, and the one invariant that then fails.

    says   a pattern that a message must match
    limit  seconds until a stall is given up"""

    name: str
    program: str
    replace: tuple[tuple[str, str], ...]
    invariant: str
    says: str
    limit: float = 120


def take(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{text.count(old)} times in the program: {old}"
    return text.replace(old, new)


BROKEN = [
    Broken(
        "no broadcast",
        "keras",
        (("    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n", ""),),
        "I4",
        "after the first step, rank 1: trained",
    ),
    Broken(
        "unscaled rate",
        "keras",
        (("SGD(0.05 * hvd.size())", "SGD(0.05)"), ("0.02) * hvd.size()", "0.02)")),
        "I6",
        "starts at",
    ),
    Broken(
        "rate scaled twice", "keras", (("0.02) * hvd.size()", "0.02) * hvd.size() ** 2"),), "I6", "starts at"
    ),
    Broken(
        "scheduler undoes the scaling later",
        "keras",
        (("(0.05 if epoch < 1 else 0.02) * hvd.size()", "0.05 * hvd.size() if epoch < 1 else 0.02"),),
        "I6",
        r"rates \[0\.1",
    ),
    Broken(
        "two writers",
        "keras",
        (("if hvd.rank() == 0:\n    callbacks", "if True:\n    callbacks"),),
        "I5",
        "losses.csv is written by ranks",
    ),
    Broken(
        "no writer",
        "keras",
        (("if hvd.rank() == 0:\n    callbacks", "if hvd.rank() < 0:\n    callbacks"),),
        "I5",
        "together write",
    ),
    Broken(
        "a file written unseen",
        "keras",
        (("    print(len", "    __import__('os').system('touch unseen.txt')\n    print(len"),),
        "I5",
        "did not see by whom",
    ),
    Broken(
        "early stopping on rank 0",
        "keras",
        (
            (
                '    tf.keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=100, patience=2),\n'
                "]\nif hvd.rank() == 0:\n",
                "]\nif hvd.rank() == 0:\n"
                '    callbacks.append(tf.keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=100, patience=2))\n',
            ),
        ),
        "I3",
        "",
        limit=40,
    ),
    Broken(
        "uneven batches",
        "keras",
        ((".shard(hvd.size(), hvd.rank())", ".skip(hvd.rank() * 176).take(176 if hvd.rank() == 0 else 80)"),),
        "I3",
        "",
        limit=40,
    ),
    Broken(
        "data not divided",
        "keras",
        ((".shard(hvd.size(), hvd.rank())", ""),),
        "I7",
        "512 examples an epoch over all ranks",
    ),
    Broken(
        "the same half for all",
        "keras",
        ((".shard(hvd.size(), hvd.rank())", ".take(256 // hvd.size())"),),
        "I7",
        "128 of 256 examples an epoch are seen by no rank",
    ),
    Broken(
        "all ranks print",
        "keras",
        (
            ('    print(len(history.history["loss"]), "epochs")\n', ""),
            ("if hvd.rank() == 0:\n    model", 'print("done")\nif hvd.rank() == 0:\n    model'),
        ),
        "C6",
        "rank 1 prints",
    ),
    Broken(
        "optimizer not wrapped",
        "keras",
        (
            (
                "hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.05 * hvd.size()))",
                "tf.keras.optimizers.SGD(0.05 * hvd.size())",
            ),
        ),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "tape not wrapped in train_step",
        "train_step",
        (("tape = DistributedGradientTape(tape)", "pass"),),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "optimizer wrapped instead of the tape",
        "train_step",
        (
            ("tape = DistributedGradientTape(tape)", "pass"),
            (
                "tf.keras.optimizers.Adam(0.01 * hvd.size())",
                "hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.01 * hvd.size()))",
            ),
        ),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "tape not wrapped",
        "tape",
        (("    tape = hvd.DistributedGradientTape(tape)\n", ""),),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "broadcast with every step",
        "tape",
        (("    if first:\n", "    if True:\n"),),
        "I4",
        "broadcasts run with",
    ),
    Broken(
        "broadcast never",
        "tape",
        (("first = True\n", "first = False\n"),),
        "I4",
        "after the first step, rank 1: trained",
    ),
    Broken(
        "statistics not broadcast",
        "tape",
        (
            (
                "    hvd.broadcast_variables(model.variables",
                "    hvd.broadcast_variables(model.trainable_variables",
            ),
        ),
        "I4",
        "after the first step, rank 1: others",
    ),
    Broken(
        "statistics drift apart",
        "tape",
        (("hvd.broadcast_variables(model.variables, root_rank=0)\nif", "if"),),
        "I4",
        "at the end, rank 1: others",
    ),
    Broken("schedule not scaled", "tape", (("0.01 * hvd.size()", "0.01"),), "I6", "starts at 0.01"),
    Broken("schedule not compressed", "tape", (("10 // hvd.size()", "10"),), "I6", "the schedule gives"),
    Broken(
        "two summary writers",
        "tape",
        (("if hvd.rank() == 0 else tf.summary.create_noop_writer()", ""),),
        "I5",
        "logs is written by",
    ),
    Broken(
        "gradients summed",
        "plain",
        (("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)"),),
        "I10",
        "differs by",
    ),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Trains an original once for all that compares with it."""
    known: dict[str, Outcome] = {}

    def get(program: str) -> Outcome:
        if program not in known:
            known[program] = train(
                FOLDER / f"{program}_original.py", tmp_path_factory.mktemp(program) / "run"
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
    run = train(script, folder / "ranks", ranks=2, limit=limit)
    faults = check_ranks(original, run, EXPECTED[program])
    if program == "plain":
        faults += equivalent([reference(folder)], run, 1e-5)
    return faults


@pytest.mark.parametrize("program", EXPECTED)
def test_programs_distributed_by_hand_keep_the_contract(
    program: str, original: Callable[[str], Outcome], tmp_path: Path
) -> None:
    script = FOLDER / f"{program}_by_hand.py"
    faults = same_alone(original(program), train(script, tmp_path / "alone"), EXPECTED[program])
    faults += faults_of(script, program, original(program), tmp_path)
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name.replace(" ", "-"))
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
    assert {fault.invariant for fault in faults} == {broken.invariant}, told
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
