"""Places of an earlier version are found again in a later one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from horovodize.lsp.drift import Drift
from horovodize.source import Span

TEXTS = st.text(alphabet="ab\n", max_size=20)


def test_before_inside_and_after_the_replacement() -> None:
    drift = Drift.between("first\nsecond\nthird\n", "first\nse(cond\nthird\n")
    assert drift.forward(Span(0, 5)) == Span(0, 5)
    assert drift.forward(Span(6, 12)) is None
    assert drift.forward(Span(13, 18)) == Span(14, 19)
    assert drift.back(2) == 2
    assert drift.back(8) is None
    assert drift.back(14) == 13


@given(TEXTS, TEXTS, st.integers(0, 20), st.integers(0, 20))
def test_a_span_that_is_found_again_has_the_same_text(
    earlier: str, now: str, start: int, length: int
) -> None:
    drift = Drift.between(earlier, now)
    assert now == earlier[: drift.old.start] + now[drift.new.start : drift.new.end] + earlier[drift.old.end :]
    start = min(start, len(earlier))
    span = Span(start, min(start + length, len(earlier)))
    found = drift.forward(span)
    if found is not None:
        assert earlier[span.start : span.end] == now[found.start : found.end]


@given(TEXTS, TEXTS, st.integers(0, 19))
def test_an_offset_goes_back_to_the_same_character(earlier: str, now: str, offset: int) -> None:
    back = Drift.between(earlier, now).back(offset)
    if back is not None and offset < len(now):
        assert earlier[back] == now[offset]
