"""The lattice of loop kinds: joining is a join."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.summary import LoopKind, join

kinds = st.sampled_from(list(LoopKind))
LOOPS = [
    k
    for k in LoopKind
    if k not in (LoopKind.NONE, LoopKind.MULTIPLE, LoopKind.HOROVOD, LoopKind.OTHER_FRAMEWORK)
]


@given(kinds, kinds, kinds)
def test_joining_is_associative(a: LoopKind, b: LoopKind, c: LoopKind) -> None:
    assert join([join([a, b]), c]) == join([a, join([b, c])]) == join([a, b, c])


@given(st.lists(kinds).flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_joining_is_commutative(case: tuple[list[LoopKind], list[LoopKind]]) -> None:
    assert join(case[0]) == join(case[1])


@given(st.lists(kinds, min_size=1))
def test_joining_is_idempotent(found: list[LoopKind]) -> None:
    assert join([*found, *found]) == join(found)
    assert join([join(found), *found]) == join(found)


@given(kinds)
def test_none_is_the_bottom(kind: LoopKind) -> None:
    assert join([kind, LoopKind.NONE]) == kind
    assert join([kind]) == kind


@given(st.sampled_from(LOOPS), st.sampled_from(LOOPS))
def test_two_kinds_are_several(a: LoopKind, b: LoopKind) -> None:
    assert join([a, b]) == (a if a == b else LoopKind.MULTIPLE)
    assert join([a, LoopKind.MULTIPLE]) == LoopKind.MULTIPLE


@given(st.lists(kinds))
def test_horovod_absorbs_everything(found: list[LoopKind]) -> None:
    assert join([*found, LoopKind.HOROVOD]) == LoopKind.HOROVOD
    assert join([*found, LoopKind.OTHER_FRAMEWORK]) in (LoopKind.OTHER_FRAMEWORK, LoopKind.HOROVOD)


def test_nothing_is_none() -> None:
    assert join([]) == LoopKind.NONE


@pytest.mark.parametrize("kind", list(LoopKind))
def test_every_kind_can_be_said(kind: LoopKind) -> None:
    assert kind.label
    assert kind.value == kind.value.lower()
