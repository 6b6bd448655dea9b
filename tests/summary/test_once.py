from __future__ import annotations

from horovodize.python.once import once


class Asked:
    def __init__(self) -> None:
        self.times: list[tuple[int, int]] = []

    @once
    def sum_of(self, a: int, b: int = 0) -> int | None:
        """Adds."""
        self.times.append((a, b))
        return a + b or None

    @once
    def difference(self, a: int, b: int = 0) -> int:
        self.times.append((a, -b))
        return a - b


def test_an_answer_is_found_once_for_each_question() -> None:
    asked = Asked()
    assert [asked.sum_of(1, 2), asked.sum_of(1, 2), asked.sum_of(1, b=3), asked.sum_of(1)] == [3, 3, 4, 1]
    assert asked.times == [(1, 2), (1, 3), (1, 0)]


def test_that_there_is_none_is_an_answer() -> None:
    asked = Asked()
    assert asked.sum_of(0) is None
    assert asked.sum_of(0) is None
    assert asked.times == [(0, 0)]


def test_methods_and_objects_do_not_share_answers() -> None:
    asked, other = Asked(), Asked()
    assert (asked.sum_of(3, 1), asked.difference(3, 1), other.sum_of(3, 1)) == (4, 2, 4)
    assert (asked.times, other.times) == ([(3, 1), (3, -1)], [(3, 1)])
    assert Asked.sum_of.__doc__ == "Adds."
