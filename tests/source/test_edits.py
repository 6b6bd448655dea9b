"""Edits of different rules at one place come out in the right order; what can't fit together raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.source import Edit, EditConflict, Move, Span, compose, line_edits
from horovodize.source.edits import apply


def after(text: str, *edits: Edit | Move) -> str:
    return apply(text, compose(text, edits))


def wrap(text: str, part: str, before: str, behind: str, level: int = 0) -> tuple[Edit, ...]:
    start = text.index(part)
    return Edit.around(Span(start, start + len(part)), before, behind, level)


# ---------------------------------------------------------------------- order at one offset


@pytest.mark.parametrize("reverse", [False, True], ids=["inner first", "outer first"])
def test_wraps_of_nested_spans_nest_whoever_comes_first(reverse: bool) -> None:
    text = "f(a)"
    edits = [*wrap(text, "a", "[", "]"), *wrap(text, "f(a)", "<", ">")]
    assert after(text, *(reversed(edits) if reverse else edits)) == "<f([a])>"


@pytest.mark.parametrize("reverse", [False, True])
def test_spans_that_start_or_end_together_nest(reverse: bool) -> None:
    text = "a + b"
    edits = [*wrap(text, "a", "[", "]"), *wrap(text, "a + b", "<", ">"), *wrap(text, "b", "{", "}")]
    assert after(text, *(reversed(edits) if reverse else edits)) == "<[a] + {b}>"


def test_wraps_of_the_same_span_are_balanced() -> None:
    text = "opt"
    edits = [*wrap(text, "opt", "(", ")", level=0), *wrap(text, "opt", "[", "]", level=1)]
    assert after(text, *edits) == "([opt])"
    assert after(text, *reversed(edits)) == "([opt])"


def test_wraps_of_the_same_span_and_level_are_balanced() -> None:
    text = "opt"
    assert after(text, *wrap(text, "opt", "(", ")"), *wrap(text, "opt", "[", "]")) == "([opt])"


def test_what_closes_one_anchor_comes_before_what_opens_the_next() -> None:
    text = "ab"
    assert after(text, *wrap(text, "b", "{", "}"), *wrap(text, "a", "[", "]")) == "[a]{b}"


def test_a_suffix_comes_before_an_insertion_of_nobodys() -> None:
    text = "f(x)"
    edits = [Edit.insert(3, ", y=1"), *Edit.around(Span(2, 3), "", " * n")]
    assert after(text, *edits) == "f(x * n, y=1)"
    assert after(text, *reversed(edits)) == "f(x * n, y=1)"


def test_insertions_at_one_offset_follow_their_levels() -> None:
    edits = [Edit.insert(1, "c", None, 2), Edit.insert(1, "a", None, -1), Edit.insert(1, "b", None, 0)]
    assert after("()", *edits) == "(abc)"


def test_an_insertion_stands_before_a_replacement_at_its_offset() -> None:
    assert after("x = old", Edit(Span(4, 7), "new"), Edit.insert(4, "very ")) == "x = very new"


def test_an_insertion_may_stand_right_behind_a_replacement() -> None:
    assert after("abc", Edit(Span(0, 2), "X"), Edit.insert(2, "-")) == "X-c"


def test_the_same_edit_twice_counts_once() -> None:
    assert (
        after("ab", Edit.insert(1, "-"), Edit.insert(1, "-"), Edit(Span(0, 1), "A"), Edit(Span(0, 1), "A"))
        == "A-b"
    )


# ---------------------------------------------------------------------- conflicts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Edit(Span(0, 3), "x"), Edit(Span(2, 4), "y")),
        (Edit(Span(0, 3), "x"), Edit(Span(0, 3), "y")),
        (Edit(Span(0, 4), ""), Edit(Span(1, 2), "y")),
        (Edit(Span(0, 3), "x"), Edit.insert(1, "y")),
    ],
)
def test_overlapping_replacements_raise(one: Edit, other: Edit) -> None:
    for edits in ([one, other], [other, one]):
        with pytest.raises(EditConflict):
            compose("abcdef", edits)


def test_touching_replacements_do_not_conflict() -> None:
    assert after("abcd", Edit(Span(0, 2), "x"), Edit(Span(2, 4), "y")) == "xy"


# ---------------------------------------------------------------------- moves


def test_a_move_leaves_something_in_its_place() -> None:
    text = "print(step(x))\n"
    assert after(text, Move(Span(6, 13), 0, "loss = ", "\n", "loss")) == "loss = step(x)\nprint(loss)\n"


def test_a_move_takes_the_edits_inside_it_along() -> None:
    text = "print(step(x))\n"
    edits = [Edit.insert(12, " * n", Span(11, 12)), Move(Span(6, 13), 0, "loss = ", "\n", "loss")]
    for order in (edits, list(reversed(edits))):
        assert after(text, *order) == "loss = step(x * n)\nprint(loss)\n"


def test_what_goes_around_the_moved_text_stays_where_it_was() -> None:
    text = "print(step(x))\n"
    guard = Edit.insert(0, "if root:\n    ", Span(0, 14))
    moved = after(text, guard, Move(Span(6, 13), 0, "loss = ", "\n", "loss", Span(0, 14), level=-5))
    assert moved == "loss = step(x)\nif root:\n    print(loss)\n"


def test_a_move_inside_a_moved_text_moves_first() -> None:
    text = "print(f(g(x)))\n"
    inner = Move(Span(8, 12), 0, "a = ", "\n", "a")
    outer = Move(Span(6, 13), 0, "b = ", "\n", "b", level=1)
    for order in ([inner, outer], [outer, inner]):
        assert after(text, *order) == "a = g(x)\nb = f(a)\nprint(b)\n"


def test_an_edit_across_the_border_of_a_move_raises() -> None:
    with pytest.raises(EditConflict):
        compose("print(step(x))\n", [Edit(Span(4, 8), "?"), Move(Span(6, 13), 0, "", "", "y")])


# ---------------------------------------------------------------------- against a reference


@st.composite
def texts_with_edits(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """A text and edits that do not overlap: replacements between cuts, insertions at others."""
    text = draw(st.text(alphabet="ab\n😀", min_size=1, max_size=30))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    edits: list[Edit] = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        edits.append(Edit(Span(start, end), draw(st.text(alphabet="xyz", max_size=4))))
    free = [o for o in range(len(text) + 1) if not any(e.span.start <= o < e.span.end for e in edits)]
    for offset in draw(st.lists(st.sampled_from(free), max_size=4, unique=True)) if free else []:
        edits.append(Edit.insert(offset, draw(st.text(alphabet="+-", min_size=1, max_size=3))))
    return text, draw(st.permutations(edits))


def reference(text: str, edits: list[Edit]) -> str:
    """What the edits mean, character by character: at each offset first what is inserted there, then what replaces the text
    that starts there, then the character, unless it is replaced."""
    replaced = {o for e in edits for o in range(e.span.start, e.span.end)}
    result = []
    for offset in range(len(text) + 1):
        result += [e.new_text for e in edits if e.span == Span(offset, offset)]
        result += [e.new_text for e in edits if e.span.start == offset < e.span.end]
        if offset < len(text) and offset not in replaced:
            result.append(text[offset])
    return "".join(result)


@given(texts_with_edits())
def test_edits_mean_what_the_reference_says(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    ordered = compose(text, edits)
    assert apply(text, ordered) == reference(text, edits)


@given(texts_with_edits())
def test_joined_edits_give_the_same_text_in_any_order(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    joined = line_edits(text, compose(text, edits))
    starts = [e.span for e in joined]
    assert len({s.start for s in starts}) == len(starts), "two edits at one offset: a client may swap them"
    result = text
    for edit in reversed(joined):  # as a client that applies from the end does
        result = result[: edit.span.start] + edit.new_text + result[edit.span.end :]
    assert result == reference(text, edits)


@st.composite
def nested_wraps(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """Balanced brackets around spans of a text that nest or lie apart."""
    text = "abcdefgh"
    spans: list[Span] = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, 7))
        span = Span(start, draw(st.integers(start + 1, 8)))
        if all(span in o or o in span or span.end <= o.start or o.end <= span.start for o in spans):
            spans.append(span)
    edits = [e for span in dict.fromkeys(spans) for e in Edit.around(span, "(", ")")]
    return text, draw(st.permutations(edits))


@given(nested_wraps())
def test_wraps_of_spans_are_balanced_around_their_own_text(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    wanted = {(e.anchor.start, e.anchor.end) for e in edits if e.anchor}
    result, opened, found, at = after(text, *edits), list[int](), set(), 0
    for character in result:
        if character == "(":
            opened.append(at)
        elif character == ")":
            found.add((opened.pop(), at))
        else:
            at += 1
    assert not opened
    assert found == wanted
    assert result.replace("(", "").replace(")", "") == text
