"""Answers that are remembered over the versions of a text, as long as nothing has changed that they were found by.

An answer about a node is found by looking at nodes near it, which are replaced together with it, and by looking names up in
the tables of the whole module: what `model` is bound to, where an attribute `step` is assigned, who calls `train`. Each such
entry has a bit. Who looks one up notes it; an answer is kept with the bits of all entries that were looked up for it, and
forgotten when one of them changes. An answer that leans on itself (`x = f(x)` in a loop) depends on where one began to ask,
and so is found again for each version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

CYCLE = 1  # the answer leans on itself
CALLERS = 2  # the answer leans on who calls whom


class Reads:
    """The entries that were looked up while an answer is being found: `mask` has their bits."""

    def __init__(self) -> None:
        self.mask = 0
        self._bits: dict[str, dict[str, int]] = {}
        self._next = CALLERS << 1

    def __len__(self) -> int:
        """How many entries have ever been looked up."""
        return self._next.bit_length() - 3

    def note(self, table: str, name: str) -> None:
        """An entry of a table is looked up, whether there is one or not."""
        bits = self._bits.get(table)
        bit = bits.get(name) if bits is not None else None
        self.mask |= bit if bit is not None else self._new(table, name)

    def _new(self, table: str, name: str) -> int:
        bit = self._bits.setdefault(table, {})[name] = self._next
        self._next <<= 1
        return bit

    def of(self, table: str, names: Iterable[str]) -> int:
        """The bits of entries that anybody has looked up."""
        bits, mask = self._bits.get(table, {}), 0
        for name in names:
            mask |= bits.get(name, 0)
        return mask


class _Group(Generic[K]):
    """The questions whose answers were found by the same entries."""

    __slots__ = ("mask", "questions")

    def __init__(self, mask: int) -> None:
        self.mask = mask
        self.questions: set[K] = set()


class Memo(Generic[K, V]):
    """A function whose answers are remembered. `while_asked`: its answer to a question that comes up while the same question
    is being answered. `before`: another one, whose answers are taken where they don't lean on who calls whom."""

    def __init__(
        self, reads: Reads, answer: Callable[[K], V], while_asked: V, before: Memo[K, V] | None = None
    ) -> None:
        self._reads, self._answer, self._before = reads, answer, before
        self._known: dict[K, tuple[V, _Group[K]]] = {}
        self._groups: dict[int, _Group[K]] = {}
        self._asked = while_asked, _Group[K](CYCLE)

    def __call__(self, question: K) -> V:
        reads = self._reads
        known = self._known.get(question)
        if known is None and self._before is not None:
            known = self._before._known.get(question)
            if known is not None and known[1].mask & CALLERS:
                known = None
        if known is None:
            return self._find(question)
        reads.mask |= known[1].mask
        return known[0]

    def each(self, questions: Iterable[K]) -> list[V]:
        """The answers to several questions, without a call for each that is known."""
        found, reads = list[V](), self._reads
        for question in questions:
            known = self._known.get(question)
            if known is None:
                found.append(self(question))
            else:
                reads.mask |= known[1].mask
                found.append(known[0])
        return found

    def _find(self, question: K) -> V:
        reads = self._reads
        outside, reads.mask = reads.mask, 0
        self._known[question] = self._asked
        try:
            answer = self._answer(question)
            group = self._groups.get(reads.mask)
            if group is None:
                group = self._groups[reads.mask] = _Group(reads.mask)
            group.questions.add(question)
            self._known[question] = answer, group
        except BaseException:
            del self._known[question]
            raise
        finally:
            reads.mask |= outside
        return answer

    def outdated(self, changed: int) -> dict[K, tuple[V, int]]:
        """The answers that were found by entries that have changed, with all that they were found by."""
        groups = [g for g in self._groups.values() if g.mask & (changed | CYCLE)]
        return {question: (self._known[question][0], g.mask) for g in groups for question in g.questions}

    def forget(self, changed: int, gone: Iterable[K] = ()) -> None:
        """Forgets what was found by entries that have changed, and all about questions that nobody can ask any more."""
        for question in gone:
            known = self._known.pop(question, None)
            if known is not None:
                known[1].questions.discard(question)
        changed |= CYCLE
        for group in [g for g in self._groups.values() if g.mask & changed or not g.questions]:
            del self._groups[group.mask]
            for question in group.questions:
                del self._known[question]
