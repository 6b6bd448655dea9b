"""What tests of one number say of each other: where `first > 0` is true, `first == 0` is not."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

from horovodize.python.binding import Binding
from horovodize.python.scopes import Scopes

COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class ComparedNumbers:
    """The whole numbers that one rank has compared with constants, and how."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self._decided: dict[frozenset[Binding], list[tuple[Callable[[int, int], bool], int, bool]]] = {}

    def decided(self, test: ast.expr, answer: bool) -> None:
        """Notes how a test was answered."""
        for name, compare, number in self._read(test):
            self._decided.setdefault(name, []).append((compare, number, answer))

    def answer(self, test: ast.expr) -> bool | None:
        """How a test must be answered after those before; None where it may be either."""
        for name, compare, number in self._read(test):
            known = self._decided.get(name, ())
            tried = {n + by for n in (number, *(other for _, other, _ in known)) for by in (-1, 0, 1)}
            left = [n for n in tried if all(c(n, other) == answer for c, other, answer in known)]
            answers = {compare(n, number) for n in left}
            if known and len(answers) == 1:
                return answers.pop()
        return None

    def _read(self, test: ast.expr) -> Iterator[tuple[frozenset[Binding], Callable[[int, int], bool], int]]:
        """A name compared with a whole number, as what the name was bound to: nothing that counts on."""
        match test:
            case ast.Compare(
                left=ast.Name() as name, ops=[op], comparators=[ast.Constant(value=int() as number)]
            ):
                bound = frozenset(self.scopes.reaching(name))
                if type(op) in COMPARISONS and bound and all(b.kind == "assign" for b in bound):
                    yield bound, COMPARISONS[type(op)], number
