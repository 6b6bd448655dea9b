"""What rules have decided of a program's expressions, in words that other rules can ask for: what is divided, scaled, agreed.

A decision answers one question about an expression, and each question is answered once: `shard(broadcast_object(rows))` has an
answer to how much of it a rank has (`Amount`) and one to whose it is (`Value`). A rule that decides the same again has nothing
more to do. One that decides something else has found a fault of ours, a `Clash`: the expression would be changed twice. What
was decided first stays, and the user is asked.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypeVar

# Whether a clash stops the program, rather than becoming a question: in tests.
raising = False


class Unit(Enum):
    """Of what each rank takes its part."""

    STEPS = "of the steps, each with a batch of its own"
    ROWS = "of the rows of each step"
    DRAWS = "of batches that are drawn: each rank draws those of all ranks and leaves the others'"
    OWN = "of batches without end: each rank draws others, and as many as it takes steps"


class How(Enum):
    """How all ranks come to the same."""

    ROOT = "they take rank 0's"
    STREAM = "they draw from one stream"
    SEED = "they draw by one seed"
    TOGETHER = "they decide together"


@dataclass(frozen=True)
class Decided:
    """What one rule decided of an expression, or of a statement.

    question  which one it answers
    words     what it says of the expression, to be read after "this"
    rule      the id of the rule, which makes no other decision of it"""

    question: ClassVar[str]
    words: ClassVar[str]
    rule: str = field(compare=False)


@dataclass(frozen=True)
class Amount(Decided):
    """How much of it a rank has, or how large it is there."""

    question = "how much"


@dataclass(frozen=True)
class Shared(Amount):
    """Each rank takes its own part of data, or of the turns of a loop."""

    words = "is dealt out to the ranks"
    unit: Unit = Unit.STEPS


@dataclass(frozen=True)
class Divided(Amount):
    """A number (of steps; of rows in a batch) is divided by the number of ranks."""

    words = "is divided by the number of ranks"
    unit: Unit = Unit.STEPS


@dataclass(frozen=True)
class Scaled(Amount):
    """A rate grows with the batch of all ranks: here, or where what this stands for is made."""

    words = "grows with the number of ranks"


@dataclass(frozen=True)
class Counted(Amount):
    """One step counts for those of all ranks: what goes on with each goes as far as in size() steps."""

    words = "counts the steps of all ranks"


@dataclass(frozen=True)
class OfAll(Decided):
    """A count that is read, and gives the steps of all ranks together there."""

    question, words = "count", "gives the steps of all ranks together"


@dataclass(frozen=True)
class Fewer(Decided):
    """A loop of which each rank takes its part of the turns."""

    question, words = "turns", "takes a rank's part of its turns"


@dataclass(frozen=True)
class ByRank(Decided):
    """An `if` whose test is joined with one of the rank: it has to stay an `if`."""

    question, words = "on which ranks", "is tested on one rank only"


@dataclass(frozen=True)
class Unseen(Decided):
    """A loop of which it can't be seen how many turns it takes; `end`: by what it goes on."""

    question, words = "end", "goes on for as many turns as before, as far as can be seen"
    end: ast.expr = field(compare=False)


@dataclass(frozen=True)
class Numbered(Decided):
    """How what counts steps goes on, of which each rank takes its part."""

    question = "numbers"


@dataclass(frozen=True)
class Strided(Numbered):
    """Each turn of a loop, or each time that a counter is counted on, counts for those of all ranks."""

    words = "counts on by the steps of all ranks"


@dataclass(frozen=True)
class InRounds(Numbered):
    """The last turn has the last number that it has alone: `last`, as text, and what it `is`, if that can be seen."""

    words = "ends with the number that it ends with alone"
    last: str = ""
    known: int | None = None


@dataclass(frozen=True)
class Value(Decided):
    """Whose value it is."""

    question = "whose"


@dataclass(frozen=True)
class Agreed(Value):
    """What ranks would come to by themselves is the same on all of them."""

    words = "is the same on all ranks"
    how: How = field(default=How.ROOT, compare=False)


@dataclass(frozen=True)
class Apart(Value):
    """What would be the same on all ranks (draws by a seed, a file) is each rank's own."""

    words = "is each rank's own"


@dataclass(frozen=True)
class Covered(Decided):
    """A draw whose outcome goes into what is agreed on as a whole; for what else it goes into, ranks draw by themselves."""

    question, words = "where it goes", "goes into what is the same on all ranks"


@dataclass(frozen=True)
class Left(Decided):
    """A statement, a callback, a hook is left to those ranks that it is for: rank 0, one of each host, or all."""

    question, words = "where", "is left to some ranks"


@dataclass(frozen=True)
class Scheduled(Decided):
    """What makes a schedule: its rates grow, and its steps are a rank's."""

    question, words = "schedule", "is a schedule for all ranks"


@dataclass(frozen=True)
class Wrapped(Decided):
    """What trains averages over the ranks where this makes it."""

    question, words = "wrapped", "averages over the ranks"


@dataclass(frozen=True)
class Asked(Decided):
    """The user is asked."""

    question, words = "doubt", "is asked about"


_Kind = TypeVar("_Kind", bound=Decided)


class Clash(Exception):
    """Two rules decide different things of one expression."""

    def __init__(self, node: ast.AST, first: Decided, second: Decided) -> None:
        self.node, self.first, self.second = node, first, second
        super().__init__(f"line {getattr(node, 'lineno', '?')}: {first} stands, {second} came later")

    @property
    def doubt(self) -> str:
        """What the user is asked."""
        return f"two changes fit here, and one was made: it {self.first.words}; the other is that it {self.second.words}"


class Decisions(ABC):
    """The decisions of one draft."""

    def __init__(self) -> None:
        self._made: dict[ast.AST, dict[str, Decided]] = {}
        self._having: dict[type[Decided], list[ast.AST]] = {}  # until the next decision
        self._begun: set[tuple[str, ast.AST]] = set()

    def decide(self, node: ast.AST, decision: Decided) -> bool:
        """Decides something of a node. Only who is told that it is new may change the text."""
        made = self._made.setdefault(node, {})
        first = made.setdefault(decision.question, decision)
        if first != decision:
            clash = Clash(node, first, decision)
            if raising:
                raise clash
            self.asked_about(clash)
        if first is decision:
            self._having.clear()
        return first is decision

    def decision(self, node: ast.AST, kind: type[_Kind]) -> _Kind | None:
        """What was decided of a node, of that kind."""
        return next((d for d in self._made.get(node, {}).values() if isinstance(d, kind)), None)

    def was(self, node: ast.AST, *kinds: type[Decided]) -> bool:
        """Whether a decision of one of these kinds was made of a node: `draft.was(count, Divided)`."""
        made = self._made.get(node)
        return made is not None and any(isinstance(d, kinds) for d in made.values())

    def having(self, kind: type[Decided]) -> list[ast.AST]:
        """The nodes of which such a decision was made, in the order in which they were first decided about."""
        known = self._having.get(kind)
        if known is None:
            known = self._having[kind] = [n for n in self._made if self.was(n, kind)]
        return known

    def once(self, what: str, node: ast.AST) -> bool:
        """True the first time that this is asked of a node: for one edit that two ways lead to. It is no decision; nobody else
        can ask for it."""
        if (what, node) in self._begun:
            return False
        self._begun.add((what, node))
        return True

    @abstractmethod
    def asked_about(self, clash: Clash) -> None:
        """Asks the user about an expression that two rules decided differently."""
