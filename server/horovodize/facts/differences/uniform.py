"""Whether a value, or a decision, is the same on every rank: the one place that answers it.

`of` gives *uniform*, *varies* (why, and where that is read) or *unknown* (what can't be followed). What differs between
ranks:

- random numbers of any library that no seed fixes; clocks; hosts, process ids; the order of a set; what is typed in;
- what a rank computes from its own rows (a loss, a prediction, a history), its batch, a game that it plays for itself;
- files that ranks may see differently: whether one is there, what a folder holds, checkpoints, what the program writes
  itself. A file that is only read (a data set, a configuration) is the same everywhere: without that no script could be
distributed.
- whatever one of these decides: what is set under an `if`, behind an exception that one rank alone may run into, in a loop.

The same everywhere are constants, arguments and options, the environment that launchers pass on, seeds and seeded draws,
counters, lengths of undivided data, and all that is computed of such. What a call of another module gives is unknown, unless
it makes an object (settings) or data; so is what takes too long to be followed.

Values are followed backwards, over functions, attributes, containers and modules, to all that they depend on (`flow.py`). The
question may be asked at each keystroke, so each step is remembered, and a budget ends a search as *unknown*.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property

from horovodize.facts.differences.answers import Answer, Uniform, Unknown, Varies
from horovodize.facts.differences.draws import Draws
from horovodize.facts.differences.exits import exits, tests
from horovodize.facts.differences.flow import Flow, Item, Step
from horovodize.facts.differences.sources import WHETHER_THERE, Source
from horovodize.facts.feeds.dealt import Dealt
from horovodize.facts.files.kept import Kept
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, LOOPS, Loop
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.sites import Sites

__all__ = ["Answer", "Source", "Uniform", "Uniformity", "Unknown", "Varies"]

_BUDGET = 4000
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_TAKE_ALL = frozenset("list tuple set frozenset dict sum min max sorted fsum mean join extend".split())
_GRAVEST = tuple(Source)
_ITERATED = ("__iter__", "__next__")
_PASSING_ON = ("enumerate", "zip", "iter", "list", "tuple", "sorted", "reversed", "islice", "tqdm", "track")
_CALLED = ("__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__")
_TOO_MUCH = "it depends on more than can be followed"


class Uniformity:
    """What is the same on every rank, of one module (or of a script with its modules)."""

    def __init__(
        self,
        module: Module,
        sites: Sites,
        drive: Drive,
        dealt: Dealt,
        kept: Kept,
        decisions: bool = True,
        agreed: frozenset[ast.AST] = frozenset(),
    ) -> None:
        """agreed: what ranks have exchanged, and so is the same on all, whatever it is made of."""
        self.agreed = agreed
        self.module, self.sites, self.drive, self.dealt, self.kept = module, sites, drive, dealt, kept
        self.flow = Flow(self, module, sites, drive, dealt, kept, decisions)
        self._known: dict[Item, tuple[Varies | Unknown, ...]] = {}
        self._steps: dict[Item, Step] = {}
        self._reached: dict[ast.AST, Answer] = {}
        self._asked, self._comes_back = list[ast.AST](), False  # which `reach` is finding out about
        self._where: Uniformity | None = None

    @property
    def draws(self) -> Draws:
        """Which random numbers seeds fix."""
        return self.flow.calls.draws

    # ------------------------------------------------------------------ values

    def of(self, e: ast.AST) -> Answer:
        """Whether an expression has the same value on every rank that evaluates it."""
        return _gravest(self.reasons(e))

    def varies(self, e: ast.AST) -> Varies | None:
        """Why an expression is known to differ between ranks; None where it is not known to."""
        found = self.of(e)
        return found if isinstance(found, Varies) else None

    def number_of(self, e: ast.AST) -> Answer:
        """Whether what an expression gives has equally many elements on every rank."""
        return _gravest(self.number_reasons(e))

    def number_reasons(self, e: ast.AST) -> tuple[Varies | Unknown, ...]:
        """All that makes a number of elements differ between ranks, or can't be followed."""
        return self._search(Item(e, (), True))

    def decided(self, node: ast.AST) -> tuple[Varies | Unknown, ...]:
        """All by which ranks may run a statement of a function differently often."""
        step = Step()
        self.flow.control.of_statement(step, self.module.syntax.statement(node), None)
        return tuple(dict.fromkeys(r for item in step.following for r in self._search(item)))

    def reasons(self, e: ast.AST) -> tuple[Varies | Unknown, ...]:
        """All that makes a value differ between ranks, or can't be followed, the nearest first."""
        return self._search(Item(e))

    def differs_by_a_file(self, test: ast.expr) -> bool:
        """Whether ranks differ in a test by nothing but whether a file is there: `if not os.path.exists(path):`. Where training
        stands under it, rank 0's answer goes for all (G4)."""
        found = self.reasons(test)
        return bool(found) and all(
            isinstance(r, Varies)
            and isinstance(r.where, ast.Call)
            and r.kind is Source.FILES
            and self.module.names.last(r.where.func) in WHETHER_THERE
            for r in found
        )

    def goes_by_a_read_number(self, test: ast.expr) -> bool:
        """Whether ranks differ in a test by nothing but a number that files tell, and that has a name: `if begin < 10:` of
        `begin = 0`, `if last: begin = epoch_of(last)`. Where training stands under it, rank 0's number goes for all (G4)."""
        if not isinstance(test, ast.Compare) or not all(isinstance(op, _ORDERED) for op in test.ops):
            return False
        if any(not isinstance(r, Varies) or r.kind is not Source.FILES for r in self.reasons(test)):
            return False
        sides = (test.left, *test.comparators)
        return all(isinstance(e, (ast.Name, ast.Attribute)) or not self.reasons(e) for e in sides)

    @cached_property
    def of_values(self) -> Uniformity:
        """The same where only what a value is made of counts, not what decided that it was set: a counter is uniform, whatever
        decides whether it counts."""
        return Uniformity(self.module, self.sites, self.drive, self.dealt, self.kept, False, self.agreed)

    def where(self, agreed: frozenset[ast.AST]) -> Uniformity:
        """The same where ranks have agreed on some values."""
        if agreed == self.agreed:
            return self
        if self._where is None or self._where.agreed != agreed:
            self._where = Uniformity(
                self.module, self.sites, self.drive, self.dealt, self.kept, agreed=agreed
            )
        return self._where

    def _search(self, start: Item) -> tuple[Varies | Unknown, ...]:
        if type(start.node) is ast.Constant:
            return ()
        if start not in self._known:
            self._known[start] = ()  # asked for while it is being found: a seed that depends on itself
            self._known[start] = self._find(start)
        return self._known[start]

    def _find(self, start: Item) -> tuple[Varies | Unknown, ...]:
        todo, seen = deque([start]), {start}
        found: dict[Varies | Unknown, None] = {}
        while todo:
            step = self._step(todo.popleft())
            found.update(dict.fromkeys(step.found))
            for following in step.following:
                if following not in seen:
                    if len(seen) >= _BUDGET:
                        return (*found, Unknown(_TOO_MUCH, start.node))
                    seen.add(following)
                    todo.append(following)
        return tuple(found)

    def _step(self, item: Item) -> Step:
        if item.node in self.agreed:
            return Step()
        known = self._steps.get(item)
        if known is None:
            known = self._steps[item] = self.flow.step(item)
        return known

    # ------------------------------------------------------------------ places

    def reached_alike(self, node: ast.AST) -> bool:
        """Whether all ranks are known to run a node equally often, so that a collective may stand there."""
        return isinstance(self.reach(node), Uniform)

    def reach(self, node: ast.AST) -> Answer:
        """Whether all ranks run a node equally often."""
        if node in self._reached:
            return self._reached[node]
        if node in self._asked:  # what else is on the way says it
            self._comes_back = True
            return Uniform()
        self._asked.append(node)
        found = [self._reach(frame) for way in self.drive.ways(node) for frame in way]
        answer = _gravest([f for f in found if not isinstance(f, Uniform)])
        self._asked.pop()
        if not self._asked or not self._comes_back:  # else it leans on one that isn't known yet
            self._reached[node] = answer
        self._comes_back &= bool(self._asked)
        return answer

    def _reach(self, frame: Frame) -> Answer:
        """The same, from the start of the function around the node."""
        syntax, found = self.module.syntax, list[Answer]()
        child = frame.node
        for a in syntax.ancestors(frame.node):
            field = syntax.field[child]
            if isinstance(child, ast.stmt) and not isinstance(a, CALLABLES):
                found += self._left_before(child)
            if isinstance(a, ast.Lambda) and self._makes_rows(a):
                break
            if isinstance(a, ast.Lambda):
                return Unknown("it runs when a `lambda` is called", a)
            if isinstance(a, CALLABLES):
                if not isinstance(a, ast.Lambda) and a.name.startswith("__") and a.name not in _CALLED:
                    if a.name not in _ITERATED or not self._iterates(a):
                        return Unknown("Python calls it, when isn't seen", a)
                    found += [self.reach(loop) for loop in self._iterates(a)]
                if field == "body" and isinstance(child, ast.stmt):
                    found += self._left_before(child)
                break
            if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
                found.append(self.of(a.test))
            elif isinstance(a, ast.While) and field == "body":
                found.append(self.of(a.test))
            elif isinstance(a, (ast.For, ast.AsyncFor)) and field == "body":
                found.append(self._turns(a))
            elif isinstance(a, ast.ExceptHandler):
                found.append(Varies(Source.FAILURE, a))
            elif isinstance(a, ast.BoolOp) and child is not a.values[0]:
                found += [self.of(v) for v in a.values[: a.values.index(child)]]  # type: ignore[arg-type]
            elif isinstance(a, (*COMPREHENSIONS, ast.comprehension)):
                found += self._turns_of_comprehension(a, child)
            elif isinstance(a, ast.match_case):
                found.append(Unknown("it stands in a `case`", a.body[0]))
            child = a
        return _gravest([f for f in found if not isinstance(f, Uniform)])

    def _makes_rows(self, function: ast.Lambda) -> bool:
        """Whether a `lambda` makes the generator of a data set, which all ranks go through equally often."""
        call = self.module.syntax.parent[function]
        return isinstance(call, ast.Call) and self.module.names.last(call.func) == "from_generator"

    def _iterates(self, method: ast.AST) -> list[ast.AST]:
        """Where loops go through the objects whose `__iter__` or `__next__` a method is, also by `enumerate` or a bar."""
        owner = self.module.syntax.method_class(method)
        loops = self.module.syntax.every(ast.For, ast.comprehension) if owner is not None else ()
        return [
            loop.iter
            for loop in loops
            if isinstance(loop, (ast.For, ast.comprehension))
            and any(owner in self.module.values.receiver(e) for e in self._gone_through(loop.iter))
        ]

    def _gone_through(self, e: ast.expr) -> Iterator[ast.expr]:
        """What a loop goes through by going through something: `x` of `enumerate(tqdm(x))`."""
        yield e
        if isinstance(e, ast.Call) and self.module.names.last(e.func) in _PASSING_ON:
            for given in e.args:
                yield from self._gone_through(given)

    def _turns(self, loop: ast.For | ast.AsyncFor | ast.comprehension) -> Answer:
        """Whether a loop has equally many turns everywhere; what can't be seen is taken to."""
        found = self.number_of(loop.iter)
        return found if isinstance(found, Varies) and found.kind is not Source.ROWS else Uniform()

    def _turns_of_comprehension(self, a: ast.AST, child: ast.AST) -> list[Answer]:
        """Whether the part `child` of a comprehension, or of one of its `for` clauses, runs equally often everywhere."""
        if isinstance(a, ast.comprehension):
            whole = self.module.syntax.parent[a]
            clauses: list[ast.comprehension] = whole.generators  # type: ignore[attr-defined]
            before = clauses[: clauses.index(a)]
            tests = [] if child is a.iter else [a]
        elif isinstance(child, ast.comprehension):
            return []  # told when it was left
        else:
            whole, before, tests = a, a.generators, []  # type: ignore[attr-defined]
        if (before or tests) and isinstance(whole, ast.GeneratorExp) and not self._is_gone_through(whole):
            return [Unknown("it runs when a generator expression is gone through", whole)]
        clauses = [*before, *tests]
        return [self._turns(c) for c in clauses] + [
            self.of(t) for c in clauses for t in c.ifs if t is not child
        ]

    def _is_gone_through(self, generator: ast.GeneratorExp) -> bool:
        """Whether a generator expression is given to what takes all that it yields."""
        call = self.module.syntax.parent[generator]
        return isinstance(call, ast.Call) and self.module.names.last(call.func) in _TAKE_ALL

    def _left_before(self, statement: ast.stmt) -> list[Answer]:
        """Whether some rank may have left the block before a statement: a `return` under a condition of its own."""
        syntax = self.module.syntax
        if not isinstance(getattr(syntax.parent[statement], syntax.field[statement]), list):
            return []
        found: list[Answer] = []
        block = syntax.block(statement)
        for earlier in block[: block.index(statement)]:
            if isinstance(earlier, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.Try)):
                for n in walk(earlier):
                    if isinstance(n, (ast.Return, ast.Break, ast.Continue)):
                        found += self._leaves(n, earlier)
        return found

    def _leaves(self, exit_: ast.AST, around: ast.stmt) -> list[Answer]:
        """Whether a `return`, `break` or `continue` leaves the block of `around` on some ranks and not on others."""
        syntax, found = self.module.syntax, list[Answer]()
        child = exit_
        for a in syntax.ancestors(exit_):
            if isinstance(a, CALLABLES):
                return []
            if isinstance(a, LOOPS) and isinstance(exit_, (ast.Break, ast.Continue)):
                return []
            if isinstance(a, ast.If) and syntax.field[child] in ("body", "orelse"):
                found.append(self.of(a.test))
            elif isinstance(a, ast.While) and syntax.field[child] == "body":
                found.append(self.of(a.test))
            elif isinstance(a, ast.ExceptHandler):
                found.append(self.of(syntax.parent[a]))
            if a is around:
                break
            child = a
        return found

    # ------------------------------------------------------------------ loops

    def turns(self, loop: Loop) -> tuple[Varies | Unknown, ...]:
        """All by which ranks may go through a loop a different number of times: what it counts, and how it is left."""
        head = Item(loop.test) if isinstance(loop, ast.While) else Item(loop.iter, (), True)
        left = [
            r
            for leaving in exits(loop)
            for t in tests(self.module.syntax, leaving, loop)
            for r in self.reasons(t)
        ]
        return tuple(dict.fromkeys([*self._search(head), *left]))


def _gravest(found: Sequence[Answer]) -> Answer:
    differing = [f for f in found if isinstance(f, Varies)]
    if differing:
        return min(differing, key=lambda v: _GRAVEST.index(v.kind))
    return next((f for f in found if isinstance(f, Unknown)), Uniform())
