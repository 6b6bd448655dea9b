"""`verify` tells thirty-four broken distributions from right ones, and calls no right one broken."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from horovodize.options import Options
from horovodize.running.prepared import Prepared, prepare
from horovodize.verifying.runs import Run
from horovodize.verifying.verdict import Verdict, verify
from tests.training import chosen
from tests.verifying.breaking import BROKEN, ROOT, Broken
from tests.verifying.breaking_further import FURTHER
from tests.verifying.warm import WarmTrainer

ALL = [*BROKEN, *FURTHER]
TRAINED = ALL if chosen.ALL else BROKEN
ALONE: dict[str, Run] = {}
training = pytest.mark.training
patient = pytest.mark.timeout(600)


@cache
def prepared(program: str) -> Prepared:
    return prepare(ROOT / f"{program}.py", Options())


def verified(program: str, text: str, folder: Path) -> Verdict:
    original = (ROOT / f"{program}.py").read_text(encoding="utf-8-sig")
    trainer = WarmTrainer(original, text, folder, ALONE, beside=tuple(prepared(program).beside))
    return verify(program, trainer, [2], seeds=1)


@pytest.mark.parametrize("broken", ALL, ids=lambda one: one.name.replace(" ", "-"))
def test_each_is_broken_in_a_place_of_its_own(broken: Broken) -> None:
    compile(broken.text(prepared(broken.program).main.text), broken.name, "exec", dont_inherit=True)


@training
@patient
@pytest.mark.parametrize("program", sorted({one.program for one in TRAINED}))
def test_what_they_are_made_of_trains_the_same(program: str, tmp_path: Path) -> None:
    found = verified(program, prepared(program).main.text, tmp_path)
    assert found.alike, found.judged[0].conclusion


@training
@patient
@pytest.mark.parametrize("broken", TRAINED, ids=lambda one: one.name.replace(" ", "-"))
def test_a_broken_one_is_told_for_its_reason(broken: Broken, tmp_path: Path) -> None:
    found = verified(broken.program, broken.text(prepared(broken.program).main.text), tmp_path)
    assert found.alike == bool(broken.unseen)
    assert broken.says in found.judged[0].conclusion
