"""What a number of the turn is used for, also by the names that are made of it: to select the data of a step, or to count.

    for i in range(n):
        step = i + 1
        train(x[(step - 1) * B : step * B])
        if step % 100 == 0: …

Here `step` does both: on ranks that take every size()-th `i`, it would select rightly and count wrongly. So a rank needs a
number of its own beside each that does both, made as that is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from horovodize.facts.counting.row_counts import is_index, is_shown
from horovodize.facts.differences.row_choices import choosing_tests
from horovodize.python.augmented import added
from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS, Function, Loop, arguments
from horovodize.python.variables import NUMBERS, is_item
from horovodize.source.nodes import names_in, names_set, walk
from horovodize.summary.feeding import Feeding
from horovodize.summary.schedules import is_from_schedule
from horovodize.summary.selecting import picks_what_trains, reads_what_is_kept, selected_inside, selects
from horovodize.summary.turn_picks import Picked, picked_by

_OF_NUMBERS = NUMBERS | {"maximum", "amin", "amax", "round", "floor", "ceil", "max"}
_DEPTH = 3  # functions that are followed, one from another
_ARRAYS = ("numpy.array", "numpy.asarray", "tensorflow.constant", "tensorflow.convert_to_tensor")
_Read = ast.Name | ast.Attribute | ast.Subscript
_ROUNDS = 4  # names that are made of one another


@dataclass(frozen=True, eq=False)
class Made:
    """`step = i + 1`: the statement, the name that it sets, and what it is made of."""

    statement: ast.stmt
    target: ast.Name
    value: ast.expr


@dataclass(frozen=True, eq=False)
class Told:
    """A call that hands the number to a function of the program that both selects and counts by it: `train_one(i)`.

    uses  what the function does with its parameter"""

    call: ast.Call
    given: ast.expr
    function: Function
    parameter: ast.arg
    uses: Uses


@dataclass(frozen=True)
class Uses:
    """What a number is used for.

    selecting  the places that read it, or a name that is made of it for both, to select
    counting   those that read it to count
    made       the names that are made of it for both
    told       the functions that use it for both
    held       the places that select by the number itself, which an object or a dictionary holds
    mixed      whether it does both in a way that can't be taken apart"""

    selecting: list[ast.Name] = field(default_factory=list)
    counting: list[ast.Name] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    held: list[ast.Attribute | ast.Subscript] = field(default_factory=list)
    mixed: bool = False


def uses_of(feeding: Feeding, loop: Loop, variable: str) -> Uses | None:
    """What the variable of a loop is used for; None where its body binds it again. (`i += 1` at the end of `for i in range(n):`
    binds nothing that a turn reads.)"""
    end = added(loop.body[-1])
    goes_on = end is not None and isinstance(end.target, ast.Name) and end.target.id == variable
    body = [n for s in (loop.body[:-1] if goes_on else loop.body) for n in walk(s)]
    of = feeding.variables.of
    named = (n for n in body if isinstance(n, ast.Name) and n.id == variable and of(n) == variable)
    if any(not isinstance(n.ctx, ast.Load) for n in named):
        return None
    return _Reading(feeding, body, variable, _DEPTH).uses()


def uses_of_moved(feeding: Feeding, body: list[ast.AST], variable: str, moves: list[ast.stmt]) -> Uses:
    """The same of a variable that the body moves on by itself, in some statements."""
    return _Reading(feeding, body, variable, _DEPTH, moves).uses()


def derived_from(loop: Loop, uses: Sequence[ast.expr]) -> set[str]:
    """The names that a loop's body sets from some expressions in it, in one step or several: from uses of its variable."""
    found: set[str] = set()
    assigns = [n for s in loop.body for n in walk(s) if isinstance(n, ast.Assign)]
    pairs = [pair for n in assigns for target in n.targets for pair in _paired(target, n.value)]
    for _ in range(3):
        for target, value in pairs:
            if names_in(value) & found or any(u in walk(value) for u in uses):
                found |= names_set(target)
    return found


@dataclass(frozen=True)
class _Setting:
    """What names are set to: (the numbers that it is made of, the names)."""

    numbers: ast.expr
    names: frozenset[str]
    made: Made | None
    moves: bool = False  # it makes another number of one that there is, `end -= 1`, `if end > n: end = n`


class _Reading:
    """A body that reads a number."""

    def __init__(
        self,
        feeding: Feeding,
        body: list[ast.AST],
        variable: str,
        depth: int,
        moves: list[ast.stmt] | None = None,
    ) -> None:
        self.feeding, self.body, self.variable, self.depth = feeding, body, variable, depth
        self.variables, self.syntax = feeding.variables, feeding.syntax
        moving = moves or []
        self.passed_over = {n for m in moving for n in walk(m)}
        self.settings = [s for n in body if n not in moving for s in self._settings(n)]
        self.derived = self._derive()

    # ------------------------------------------------------------------ names

    def _settings(self, n: ast.AST) -> Iterator[_Setting]:
        if isinstance(n, ast.Assign):
            for target, value in (p for t in n.targets for p in _paired(t, n.value)):
                made = Made(n, target, value) if isinstance(target, ast.Name) else None
                yield _Setting(value, frozenset(self.variables.set_in(target)), made)
        elif isinstance(n, ast.AugAssign):
            made = Made(n, n.target, n.value) if isinstance(n.target, ast.Name) else None
            yield _Setting(n.value, frozenset(self.variables.set_in(n.target)), made, moves=True)
        elif isinstance(n, ast.If):
            for s in _clamped(n):
                yield _Setting(n.test, frozenset(self.variables.set_in(s.targets[0])), None, moves=True)
        elif isinstance(n, (ast.For, ast.AsyncFor)):
            yield _Setting(n.iter, frozenset(self.variables.read(n.target)), None)
        elif isinstance(n, COMPREHENSIONS):
            for g in n.generators:
                yield _Setting(g.iter, frozenset(self.variables.read(g.target)), None)

    def _derive(self) -> set[str]:
        """The variable, and the names that are numbers made of it."""
        found = {self.variable}
        for _ in range(_ROUNDS):
            for s in self.settings:
                if not s.moves and any(self._name(n) in found for n in numbers_in(s.numbers)):
                    found |= s.names
        return found

    def _name(self, n: ast.AST) -> str:
        """What stands for a variable, or for an attribute or item as it is written."""
        if isinstance(n, ast.Name):
            return self.variables.of(n)
        return ast.unparse(n) if isinstance(n, ast.Attribute) or is_item(n) else ""

    # ------------------------------------------------------------------ uses

    def uses(self) -> Uses:
        """What the number is used for."""
        roots, told, inside = self._selectors()
        chosen = {n for root in roots for n in walk(root)}
        handed = {n for t in told for n in walk(t.given)}
        reads = [n for n in self.body if self._is_read(n)]
        passing = {
            n: s.names
            for s in self.settings
            if s.names & self.derived
            for n in numbers_in(s.numbers)
            if self._name(n) in self.derived
        }
        selects = inside | {self._name(n) for n in reads if n in chosen or n in handed}
        for _ in range(_ROUNDS):
            selects |= {self._name(n) for n, names in passing.items() if n not in chosen and names & selects}
        counts = {d for d in self.derived if "." in d and self._is_counted_elsewhere(d)}
        for n in (n for n in reads if n not in chosen):
            name = self._name(n)
            goes_on = n in passing and passing[n] & selects  # to a name, which is looked at by itself
            if n in handed or not (goes_on or self._is_shown(n, name)):
                counts.add(name)
        for _ in range(_ROUNDS):
            counts |= {self._name(n) for n, names in passing.items() if n not in chosen and names & counts}
        both = selects & counts & self.derived - {self.variable}
        kept = {self.variable, *both}  # those of which a rank has one of its own, and one that counts
        selecting, counting, held = list[ast.Name](), list[ast.Name](), list[ast.Attribute | ast.Subscript]()
        for n in (n for n in reads if self._name(n) in kept):
            if n in chosen or (n in passing and passing[n] & selects and not passing[n] & both):
                if isinstance(n, ast.Name):
                    selecting.append(n)
                elif isinstance(n, (ast.Attribute, ast.Subscript)):
                    held.append(n)
            elif isinstance(n, ast.Name) and not (n in handed or (n in passing and passing[n] & both)):
                counting.append(n)
        made = [s.made for s in self.settings if s.names & both and s.made is not None]
        mixed = any(not self._can_be_made(name, made) for name in both)
        return Uses(selecting, counting, made, told, held, mixed)

    def _can_be_made(self, name: str, made: list[Made]) -> bool:
        """Whether a rank's own can be made beside a name: wherever it is set, and whatever the number is there."""
        set_ = {m.statement for m in made if m.target.id == name}
        stored = [n for n in self.body if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        own = [n for n in stored if self.variables.of(n) == name]
        here = [d.test for s in set_ for d, _ in self.syntax.conditions(s) if d in self.body]
        return (
            bool(set_)
            and all(self.syntax.statement(n) in set_ for n in own)
            and not any(self.variables.mentions(test, self.derived) for test in here)
        )

    def _is_read(self, n: ast.AST) -> bool:
        if not (isinstance(n, (ast.Name, ast.Attribute)) or is_item(n)) or not isinstance(n.ctx, ast.Load):
            return False
        return n not in self.passed_over and self._name(n) in self.derived

    def _is_shown(self, n: ast.AST, name: str) -> bool:
        """Whether a name that is made of the number is read to be printed: rank 0's own is as good. Not in `np.log(step)`."""
        if name == self.variable or not isinstance(n, ast.expr) or not is_shown(self.syntax, n):
            return False
        in_text = any(isinstance(a, ast.JoinedStr) for a in self.syntax.ancestors(n))
        return in_text or isinstance(self.syntax.statement(n), ast.Expr)

    def _is_counted_elsewhere(self, attribute: str) -> bool:
        """Whether something outside the body reads an attribute other than to select by it, or to print it."""
        name, body = attribute.rpartition(".")[2], set(self.body)
        reads = (
            n for n in self.syntax.every(ast.Attribute) if n.attr == name and isinstance(n.ctx, ast.Load)
        )
        return any(
            n not in body and not is_index(self.syntax, n) and not is_shown(self.syntax, n) for n in reads
        )

    # ------------------------------------------------------------------ what selects

    def _beside_rows(self) -> Iterator[ast.AST]:
        """Rows that are made of the number beside those that are selected: `np.array([[2 * i]])`."""
        for n in self.body:
            match n:
                case ast.Call(args=[ast.List(elts=[ast.List(), *_]) as rows, *_]):
                    if self.feeding.module.names.of(n.func) in _ARRAYS:
                        yield rows

    def _selectors(self) -> tuple[list[ast.AST], list[Told], set[str]]:
        """(the expressions by which data is selected: slices, arguments of what reads a batch; the calls that do more with a
        number than that; the attributes that methods select by)."""
        roots: list[ast.AST] = [*self._picking_rows()]
        told, inside = list[Told](), set[str]()
        mentions, feeding = self.variables.mentions, self.feeding
        for n in self.body:
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load):
                if (
                    mentions(n.slice, self.derived)
                    and not is_from_schedule(feeding, n, self.body)
                    and not picks_what_trains(feeding, n, self.body)
                    and not reads_what_is_kept(feeding, n, self.body)
                ):
                    roots.append(n.slice)
            elif isinstance(n, ast.Call) and (parts := self._told_in_parts(n)) is not None:
                roots += [given for given, uses in parts if isinstance(uses, Uses)]
                told += [uses for _, uses in parts if isinstance(uses, Told)]
            elif isinstance(n, ast.Call) and selects(feeding, n, self.derived):
                roots += arguments(n)
                inside |= selected_inside(feeding, n, self.derived)
        if roots:
            roots += self._beside_rows()
        return roots + self._choosing(set(roots)), told, inside

    def _choosing(self, roots: set[ast.AST]) -> list[ast.AST]:
        """Tests that say by which of two the rows of a turn are selected, in arms that do nothing else: `if i == last: rows =
        x[i * 32 :]`. A rank's own number says so of its own rows. Not where rows stay for later turns."""
        tests = [t for n in self.body if isinstance(n, ast.If) for t in choosing_tests(self.syntax, n, roots)]
        return [t for t in tests if self.variables.mentions(t, self.derived)]

    def _picking_rows(self) -> list[ast.AST]:
        """Tests that pick the rows of a turn, `x = a if i % 2 else b`: a rank's own number does. Not where something is
        drawn."""
        tests = [n.test for n in self.body if isinstance(n, (ast.If, ast.IfExp))]
        return [
            test
            for test in tests
            if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in walk(test))
            and picked_by(self.feeding, test) is Picked.ROWS
            and not any(self.feeding.is_drawn(n) for n in walk(self.syntax.parent[test]))
        ]

    def _told_in_parts(self, call: ast.Call) -> list[tuple[ast.expr, Uses | Told]] | None:
        """What a call of a function of the program hands the number to that selects by it, or does both, argument by argument:
        `train_at(i, 0.1 * 0.99 ** i)` selects by its first. None where it neither trains nor does both by one: what reads a
        batch is told all of a rank's own."""
        given = [a for a in arguments(call) if any(self._name(n) in self.derived for n in numbers_in(a))]
        function = self.feeding.values.callee(call) if given and self.depth else None
        if not isinstance(function, FUNCTIONS):
            return None
        read = [(a, self._by_parameter(call, function, a)) for a in given]
        if any(isinstance(uses, Told) for _, uses in read) and len(given) == 1:
            return [(a, uses) for a, uses in read if uses is not None]
        steps = set[ast.AST](step for driver in self.feeding.drivers for step in driver.steps)
        if len(given) < 2 or call in steps or not self.feeding.drive.reaches(call, steps):
            return None
        return [(a, uses) for a, uses in read if uses is not None]

    def _by_parameter(self, call: ast.Call, function: Function, given: ast.expr) -> Uses | Told | None:
        """What a function does with what a call passes: its uses where it selects by that alone, `Told` where it counts by it,
        too, None where it doesn't select."""
        bound = [
            b
            for bindings in self.feeding.module.scopes.names[function].values()
            for b in bindings
            if b.kind == "parameter" and given in self.feeding.values.passed(b)
        ]
        if len(bound) != 1 or not isinstance(bound[0].anchor, ast.arg):
            return None
        body = [n for s in function.body for n in walk(s)]
        uses = _Reading(self.feeding, body, bound[0].name, self.depth - 1).uses()
        counts = any(not is_shown(self.syntax, n) for n in uses.counting)
        if uses.told or uses.mixed or (uses.selecting and counts):
            return Told(call, given, function, bound[0].anchor, uses)
        return uses if self._selects_by(body, bound[0].name) else None

    def _selects_by(self, body: list[ast.AST], parameter: str) -> bool:
        """Whether a function's body selects by a parameter."""
        roots, told, inside = _Reading(self.feeding, body, parameter, self.depth - 1)._selectors()
        return bool(roots or told or inside)


def numbers_in(e: ast.expr) -> Iterator[_Read]:
    """The names, attributes and items that a number is computed from: not an index, nor what a function other than `min` is
    given."""
    match e:
        case ast.Name() | ast.Attribute():
            yield e
        case ast.Subscript() if is_item(e):
            yield e
        case ast.BinOp(left=left, right=right):
            yield from numbers_in(left)
            yield from numbers_in(right)
        case ast.UnaryOp(operand=operand):
            yield from numbers_in(operand)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            for part in (test, body, orelse):
                yield from numbers_in(part)
        case ast.Compare(left=left, comparators=comparators):
            for part in (left, *comparators):
                yield from numbers_in(part)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for part in elts:
                yield from numbers_in(part)
        case ast.Call() if _is_of_numbers(e):
            for part in e.args:
                yield from numbers_in(part)
        case _:
            return


def _is_of_numbers(call: ast.Call) -> bool:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return called in _OF_NUMBERS


def _clamped(decision: ast.If) -> list[ast.Assign]:
    """What is set under `if end > len(x): end = len(x)`, where nothing else hangs on the test."""
    block = [*decision.body, *decision.orelse]
    set_ = [s for s in block if isinstance(s, ast.Assign)]
    return set_ if len(set_) == len(block) else []


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of each part of `a, b = c, d`."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        if len(target.elts) == len(value.elts):
            yield from zip(target.elts, value.elts, strict=True)
            return
    yield target, value


__all__ = ["Made", "Told", "Uses", "derived_from", "uses_of", "uses_of_moved"]
