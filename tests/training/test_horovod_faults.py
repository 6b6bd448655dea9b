"""The findings about code that uses Horovod, on two real ranks: a faulty program shows its fault, the right one does not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from horovodize.restrictions import check
from horovodize.restrictions.violation import Violation
from horovodize.source import Document, compose
from horovodize.source.edits import apply
from horovodize.summary import summarize
from tests.training.horovod_faults.cases import (
    BEGUN_BESIDE,
    CASES,
    FAILS,
    HARMLESS,
    SECOND_MACHINE,
    STALLING_MODULES,
    STALLS,
)
from tests.training.running import environment, python, train

pytestmark = pytest.mark.training
INFORMATIONS = ("HVD308", "HVD321", "HVD323", "HVD325")
PAIRS = [(code, right, faulty) for code, pairs in CASES.items() for right, faulty in pairs]
FIXED = (
    "HVD302",
    "HVD303",
    "HVD304",
    "HVD305",
    "HVD306",
    "HVD308",
    "HVD309",
    "HVD310",
    "HVD312",
    "HVD314",
    "HVD316",
    "HVD317",
    "HVD319",
    "HVD321",
    "HVD325",
    "HVD326",
)
_ERRORS = {  # that end programs with these faults
    "HVD305": "RecursionError",
    "HVD306": "FailedPreconditionError",
    "HVD326": "InvalidArgumentError",
}
SECONDS = 9.0  # then a rank that waits says where, and ends


def _codes(text: str, of: str = "") -> set[str]:
    """What is found in a text: warnings, what these programs show besides, and what one is about (`of`)."""
    return {v.code for v in _found(text) if v.severity.value == "warning" or v.code in (*INFORMATIONS, of)}


def _found(text: str) -> list[Violation]:
    return check(summarize(Document(text, "train.py")))


def _fixed(code: str, text: str) -> list[str]:
    """The text after the fix of a finding, if it has one."""
    fixes = [fix for v in _found(text) if v.code == code for fix in v.fixes]
    return [apply(text, compose(text, fix.edits)) for fix in fixes]


@pytest.mark.parametrize("part", range(3))
def test_each_faulty_program_shows_its_fault_and_the_right_one_does_not(part: int, tmp_path: Path) -> None:
    pairs = PAIRS[part::3]
    texts = tmp_path / "texts.json"
    mended = {faulty: _fixed(code, faulty) for code, _, faulty in pairs}
    every = list(dict.fromkeys(t for _, right, faulty in pairs for t in (right, faulty, *mended[faulty])))
    texts.write_text(json.dumps(every))
    script = Path(__file__).parent / "horovod_faults" / "one_after_another.py"
    outcome = train(script, tmp_path / "run", ranks=2, args=[str(texts)])
    assert outcome.complete, outcome.why()
    shown = dict(zip(every, json.loads((tmp_path / "run" / "shown.json").read_text()), strict=True))
    for code, right, faulty in pairs:
        assert _codes(right, code) == set(), code
        assert _codes(faulty, code) == {code}
        assert not _is_faulty(code, shown[right]), (code, shown[right])
        assert _is_faulty(code, shown[faulty]), (code, shown[faulty])
        for text in mended[faulty]:
            assert not _is_faulty(code, shown[text]), (code, text, shown[text])


def test_what_is_harmless_is_not_found(tmp_path: Path) -> None:
    assert _codes(HARMLESS) == set()
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps([HARMLESS]))
    script = Path(__file__).parent / "horovod_faults" / "one_after_another.py"
    outcome = train(script, tmp_path / "run", ranks=2, args=[str(texts)])
    assert outcome.complete, outcome.why()
    (shown,) = json.loads((tmp_path / "run" / "shown.json").read_text())
    one, other = shown["shown"]
    assert shown["apart"] == 0
    assert one == other  # slots, too
    assert one[0] == 1.5  # of 0 and 1: their mean, and that of twice as much
    assert len(one) > 10


def test_a_faulty_program_of_each_code_that_has_a_fix_is_mended_by_it() -> None:
    faulty = [*((code, text) for code, _, text in PAIRS), ("HVD302", SECOND_MACHINE[0])]
    assert {code for code, text in faulty if _fixed(code, text)} >= {*FIXED}


def _is_faulty(code: str, shown: dict[str, Any]) -> bool:
    """Whether a program shows the fault of a code."""
    if "error" in shown:
        return shown["error"] == _ERRORS.get(code)
    match code:
        case "HVD303":  # what TensorFlow takes: all memory of all that a process sees
            return len({gpu for gpus in shown["gpus"] for gpu in gpus}) < sum(map(len, shown["gpus"]))
        case "HVD307":
            return bool(shown["sent"] > 1)
        case "HVD308" | "HVD309" | "HVD310":
            return any(abs(rate - 0.02) > 1e-6 for rate in shown["shown"])
        case "HVD312":
            return len(set(shown["shown"])) == 2
        case "HVD317":  # the step is 0.29 long; of two ranks, the sum is twice the average
            return bool(min(shown["shown"]) > 0.4)
        case "HVD319":
            return bool(shown["shown"][0] < 100)
        case "HVD314":  # what the ranks have for themselves: rank 0 finds its own again
            return bool(shown["shown"][0] > 1e-4)
        case "HVD321":
            return bool(shown["shown"] != [4, 4])
        case "HVD325":  # the rate that the schedule ends at
            return bool(max(shown["shown"]) > 1e-4)
        case "HVD332":
            return "missing" in shown["shown"]
        case "HVD320":
            return bool(shown["shown"][0] == shown["shown"][1])
    return bool(shown["apart"] > 1e-4)


@pytest.mark.parametrize("case", STALLS)
def test_ranks_of_a_stalling_program_wait_until_horovod_ends_it(case: str, tmp_path: Path) -> None:
    assert case.partition(":")[0] in _codes(STALLS[case])
    script = tmp_path / "stalls.py"
    script.write_text(STALLS[case])
    outcome = train(script, tmp_path / "run", ranks=2, limit=SECONDS)
    assert not outcome.complete
    said = outcome.output + outcome.why()
    assert any(words in said for words in ("Timeout", "Stalled", "has been shut down")), said


@pytest.mark.parametrize("code", STALLING_MODULES)
def test_ranks_of_a_stalling_program_of_modules_wait_until_horovod_ends_it(code: str, tmp_path: Path) -> None:
    modules, reported = STALLING_MODULES[code]
    assert {name for name, text in modules.items() if code in _codes(text)} == {reported}
    for name, text in modules.items():
        (tmp_path / name).write_text(text)
    outcome = train(tmp_path / "train.py", tmp_path / "run", ranks=2, limit=SECONDS)
    assert not outcome.complete
    said = outcome.output + outcome.why()
    assert any(words in said for words in ("Timeout", "Stalled", "has been shut down")), said


def test_horovod_may_begin_in_a_module_that_is_imported_before_it_is_used(tmp_path: Path) -> None:
    for name, text in BEGUN_BESIDE.items():
        (tmp_path / name).write_text(text)
    for name, complete in (("right.py", True), ("late.py", False)):
        assert "HVD301" not in _codes(BEGUN_BESIDE[name])  # another module may begin it
        outcome = train(tmp_path / name, tmp_path / f"run-{name}", ranks=2)
        assert outcome.complete is complete, outcome.why()
        assert complete or "Horovod has not been initialized" in outcome.output + outcome.why()


@pytest.mark.parametrize("case", FAILS)
def test_a_failing_program_says_so_and_the_right_one_ends(case: str, tmp_path: Path) -> None:
    code, (right, faulty, words) = case.partition(":")[0], FAILS[case]
    assert (code in _codes(right), code in _codes(faulty)) == (False, True)
    script = tmp_path / "right.py"
    script.write_text(right)
    outcome = train(script, tmp_path / "right", ranks=2)
    assert outcome.complete, outcome.why()
    for text in (faulty, *_fixed(code, faulty)):
        script = tmp_path / "faulty.py"
        script.write_text(text)
        outcome = train(script, tmp_path / f"run-{text == faulty}", ranks=2)
        assert outcome.complete == (text != faulty), outcome.why()
        assert (words in outcome.output + outcome.why()) == (text == faulty)


def test_the_second_machine_has_no_device_of_the_second_rank_and_one_of_its_first(tmp_path: Path) -> None:
    """Two machines of one device each, by two names of this one: the second rank is the first of its machine."""
    faulty, words = SECOND_MACHINE
    assert _codes(faulty) == {"HVD302"}
    (mended,) = _fixed("HVD302", faulty)
    assert _codes(mended) == set()
    for number, text in enumerate((faulty, mended)):
        script = tmp_path / f"{number}.py"
        script.write_text(text)
        machines = ["-H", "localhost:1,127.0.0.1:1", "--network-interfaces", "lo"]
        done = subprocess.run(
            [
                str(python().with_name("horovodrun")),
                "--gloo",
                "-np",
                "2",
                *machines,
                str(python()),
                str(script),
            ],
            cwd=tmp_path,
            env=environment(60),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = done.stdout + done.stderr
        assert (done.returncode == 0) == (text == mended), said
        assert (words in said) == (text == faulty), said
