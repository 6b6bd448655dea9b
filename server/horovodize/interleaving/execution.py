"""One rank goes through a script's steps, and what it did is written down."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from horovodize.facts.horovod.chosen_by_rank import makers
from horovodize.interleaving.actions import (
    Action,
    Attempt,
    Batches,
    Block,
    Called,
    Change,
    Choice,
    Epochs,
    Exit,
    Holds,
    Leave,
    Risk,
    Stop,
    Together,
    Touch,
    Turns,
    equals_at_once,
    held,
)
from horovodize.interleaving.by_rank import ByRank
from horovodize.interleaving.compared import ComparedNumbers
from horovodize.interleaving.deciding import begins_horovod, is_set_apart, taken_by
from horovodize.interleaving.numbered_loops import bounds, rank_counts
from horovodize.interleaving.own_answers import OwnAnswers, Taken
from horovodize.python.activation import Activation
from horovodize.python.syntax import FUNCTIONS

Key: TypeAlias = tuple[object, ...]
_LONG = 400  # steps after which a run is cut: what comes later isn't compared
_MOST_STEPS = 20_000  # that are gone through, whether others notice them or not: then, too
_TURNS = 2  # of a loop whose number isn't seen
_MOST = 3  # turns, of a loop that ranks go through differently often, or that changes weights after it has sent them


class _Cut(Exception):
    """The run is long enough."""


@dataclass(frozen=True, eq=False)
class Did:
    """A step that a rank took. `path`: the file that it touched. `in_mode`: in a mode of the script, which may be one that
    never runs on several ranks."""

    action: Together | Touch | Change
    path: str = ""
    in_mode: bool = False


@dataclass(frozen=True, eq=False)
class Decided:
    """A decision that ranks may take differently: the test or loop, and how it was taken ("true", "2 turns"). `leads`: to a
    collective, or past one."""

    node: ast.AST
    answer: str
    leads: bool = True


@dataclass(frozen=True, eq=False)
class Left:
    """A block was left before its end."""

    node: ast.AST
    how: Exit


Happened: TypeAlias = Did | Decided | Left


@dataclass
class Run:
    """What one rank did, in its order. `failed`: an exception ended it, and with it the whole job. `cut`: it went on."""

    rank: int
    happened: list[Happened] = field(default_factory=list)
    failed: bool = False
    cut: bool = False


@dataclass
class Decisions:
    """How what isn't seen is decided: as `given`, else in the first way. `met` are all that were asked for, with the number of
    ways; `first` is how tests are answered in the first way."""

    given: Mapping[Key, int]
    first: dict[Key, bool]
    met: dict[Key, int] = field(default_factory=dict)

    def take(self, key: Key, ways: int) -> int:
        self.met[key] = ways
        return min(self.given.get(key, 0), ways - 1)

    def answer(self, key: Key, *, first: bool) -> bool:
        """The same of a test. `first`: how it is answered in the first way, if it wasn't asked before."""
        return self.first.setdefault(key, first) != bool(self.take(key, 2))


class Execution:
    """One rank's way through a script. `everyone`: how each of the ranks sees its expressions."""

    def __init__(
        self, rank: int, everyone: Sequence[ByRank], answers: OwnAnswers, decisions: Decisions
    ) -> None:
        self.rank, self.everyone, self.answers, self.decisions = rank, everyone, answers, decisions
        self.me = everyone[rank]
        self.run = Run(rank)
        self._times: dict[ast.AST, int] = {}
        self._compared = ComparedNumbers(answers.facts.module.scopes)
        self._failing: ast.expr | None = None
        self._stopped: Stop | None = None
        self._calls: list[ast.Call] = []  # that led here, the outermost first
        self._activations = answers.facts.drive.activations
        self._activation: Activation | None = None  # of the function that is gone through, where it's known
        self._unsure = self._modes = self._several = self._quiet = self._steps = 0

    def of(self, block: Block) -> Run:
        """Goes through a program."""
        try:
            how = self._block(block)
        except _Cut:
            self.run.cut = True
            return self.run
        self.run.failed = how is Exit.RAISE
        return self.run

    def _note(self, happened: Happened) -> None:
        if len(self.run.happened) >= _LONG:
            raise _Cut
        if self._quiet and not isinstance(happened, Did):
            return
        self.run.happened.append(happened)

    def _block(self, block: Block) -> Exit | None:
        for action in block:
            how = self._step(action)
            if how is not None:
                return how
        return None

    def _step(self, action: Action) -> Exit | None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _Cut
        match action:
            case Together():
                self._note(Did(action))
            case Touch():
                if action.node is self._failing:
                    self._failing = None
                    return Exit.RAISE
                path = None if self._unsure else self.me.text(action.path)
                if path is not None:
                    self._note(Did(action, path, self._modes > 0 and not self._several))
            case Risk(node=node):
                if node is self._failing:
                    self._failing = None
                    return Exit.RAISE
            case Change():
                if not self._unsure:
                    self._note(Did(action))
            case Leave():
                self._note(Left(action.node, action.how))
                return action.how
            case Called():
                quiet = Holds.OF_OTHERS not in action.holds
                self._quiet += quiet
                how = self._called(action)
                self._quiet -= quiet
                return how if how in (Exit.END, Exit.RAISE) else None
            case Choice():
                return self._choice(action)
            case Turns():
                return self._turns(action)
            case Stop():
                self._stopped = action
            case Epochs():
                return self._epochs(action)
            case Batches():
                return self._batches(action)
            case Attempt():
                return self._attempt(action)
        return None

    def _called(self, action: Called) -> Exit | None:
        """Goes through a function, unless this call surely runs another one: `step(x)` of what is passed for `step`."""
        before, inner = self._activation, None
        if action.function is not None:
            here = self._where(action.call)
            inner = self._activations.entered(action.call, action.function, here)
            if inner is None or self._has_another_object(action.call, action.function):
                return None
        self._activation = inner
        self._calls.append(action.call)
        how = self._block(action.body)
        self._calls.pop()
        self._activation = before
        return how

    def _has_another_object(self, call: ast.Call, method: ast.AST) -> bool:
        """Whether this rank surely runs a method of another class: `log = Writer() if hvd.rank() == 0 else Silent()`."""
        made = makers(self.answers.facts.module, call, method)
        return bool(made) and all(self.me.is_kept_from(node) for node in made)

    def _where(self, node: ast.AST) -> Activation:
        """The activation of the function that a node stands in."""
        function, now = self._activations.syntax.function(node), self._activation
        is_here = now is not None and (now.function is function or isinstance(now.function, ast.Lambda))
        return now if now is not None and is_here else self._activations.unknown(function)

    # ------------------------------------------------------------------ decisions

    def _own_key(self, node: ast.AST) -> Key:
        self._times[node] = self._times.get(node, 0) + 1
        return ("own", self.rank, node, self._times[node])

    def _choice(self, choice: Choice) -> Exit | None:
        test = choice.test
        seen = self._truth(self.me, test)
        taken = Taken.ALIKE if seen is not None else taken_by(choice, self.answers)
        if seen is None and taken is Taken.ALIKE and is_set_apart(choice, self.everyone):
            taken = Taken.OWN
        is_mode = differs = False
        if seen is None and taken is Taken.ALIKE:
            seen = self._compared.answer(test)
            if seen is not None:
                return self._block(choice.yes if seen else choice.no)
        if seen is None and taken is not Taken.OWN and equals_at_once(choice.parts) and not choice.free:
            # `if first_batch:`, before a broadcast: it is done the first time, and not again.
            self._times[test] = self._times.get(test, 0) + 1
            sends = Holds.EQUALS in held(choice.yes)
            again = self._times[test] > 1 and not self._is_decided(test, sends)
            seen = sends != again
        elif seen is None:
            key = self._own_key(test) if taken is Taken.OWN else ("alike", self.answers.text(test))
            seen = self.decisions.answer(key, first=not _ends_the_run(choice.yes))
            self._compared.decided(test, seen)
            differs = taken is Taken.OWN
            arm = choice.yes if seen else choice.no
            is_mode = (
                taken is Taken.ALIKE and self.answers.is_mode(test) and Holds.COLLECTIVE not in held(arm)
            )
        else:
            differs = any(self._truth(other, test) != seen for other in self.everyone)
        if differs:
            leads = bool(choice.holds & (Holds.COLLECTIVE | Holds.ENDS))
            self._note(Decided(test, "true" if seen else "false", leads))
        begins = begins_horovod(self.answers.facts, test, seen)
        self._unsure += taken is Taken.UNSURE
        self._modes += is_mode
        self._several += begins
        try:
            return self._block(choice.yes if seen else choice.no)
        finally:
            self._unsure -= taken is Taken.UNSURE
            self._modes -= is_mode
            self._several -= begins

    def _is_decided(self, test: ast.expr, answer: bool) -> bool:
        """Whether a test that is written alike was answered so: `if step == 5: restore()`, then `if step == 5: send()`."""
        key: Key = ("alike", self.answers.text(test))
        return key in self.decisions.first and self.decisions.answer(key, first=answer) == answer

    def _truth(self, by_rank: ByRank, test: ast.expr) -> bool | None:
        """Whether a test is true on a rank, as the calls that led here pass what it asks for: `run(rows, train=False)`; or
        whether they pass anything: `train_op is not None`."""
        seen = by_rank.truth(test)
        if seen is None:
            seen = self._truth_here(test)
        graph, scopes = self.answers.facts.module.values.graph, self.answers.facts.module.scopes
        wanted = _asked_for_none(test)
        asked = test if wanted is None else wanted[0]
        for call in reversed(self._calls):
            bound = scopes.reaching(asked) if seen is None and isinstance(asked, ast.Name) else ()
            if len(bound) != 1 or bound[0].kind != "parameter":
                return seen
            function = bound[0].statement
            if not isinstance(function, FUNCTIONS) or function not in graph.runs(call):
                return seen
            given = graph.given(call, function, bound[0].name)
            if given is None:
                return seen
            asked = given
            seen = by_rank.truth(given) if wanted is None else _is_none(given, wanted[1])
        return seen

    def _truth_here(self, test: ast.expr) -> bool | None:
        """The same by what the calls pass, also to constructors: `mode == "train"`, `self.training`."""
        if self._activation is None:
            return None
        return self._activations.truth(test, self._activation)

    def _turns(self, turns: Turns) -> Exit | None:
        number = self._number(turns.loop)
        if number == _TURNS and turns.changes_again:
            number = _MOST
        for _ in range(number):
            how = self._block(turns.body)
            if how is Exit.BREAK:
                return None
            if how not in (None, Exit.CONTINUE):
                return how
        return self._block(turns.after)

    def _epochs(self, epochs: Epochs) -> Exit | None:
        """The callbacks, and another epoch unless they stop the training; then the callbacks again, as many as `_TURNS`."""
        for _ in range(_TURNS):
            how = self._block(epochs.hooks)
            if how in (Exit.END, Exit.RAISE):
                return how
            if self._stopped is not None:
                self._note(Left(self._stopped.node, Exit.STOP))
                self._stopped = None
                return None
            self._note(Did(epochs.training))
        return None

    def _batches(self, batches: Batches) -> Exit | None:
        """One step after another: what is left out in one shows where ranks meet in the next."""
        for _ in range(_TURNS):
            how = self._block(batches.body)
            if how in (Exit.END, Exit.RAISE):
                return how
        return None

    def _number(self, loop: ast.For | ast.AsyncFor | ast.While) -> int:
        """How many turns of a loop this rank goes through: few, but more than another where it has more."""
        counts = [rank_counts(by_rank, loop) for by_rank in self.everyone]
        mine = counts[self.rank]
        if mine is not None and None not in counts:
            least = min(c for c in counts if c is not None)
            if mine == least == max(c for c in counts if c is not None):
                return min(mine, _TURNS)
            self._note(Decided(loop, f"{mine} turns"))
            return min(mine - least + min(least, 1), _MOST)
        if (bound := bounds(loop)) is not None:
            known = [by_rank.set_by(bound) for by_rank in self.everyone]
            if any(mine < known[self.rank] for mine in known) or any(
                known[self.rank] < theirs for theirs in known
            ):
                number = _TURNS - all(known[self.rank] <= theirs for theirs in known)
                self._note(
                    Decided(loop, "other bounds" if number == _TURNS else "the bounds that were set first")
                )
                return number
        if self.answers.of_turns(loop) is not Taken.OWN:
            return _TURNS
        number = _TURNS - self.decisions.take(self._own_key(loop), _TURNS)
        self._note(Decided(loop, "another turn" if number == _TURNS else "the last turn sooner"))
        return number

    def _attempt(self, attempt: Attempt) -> Exit | None:
        if attempt.risk is not None and self.decisions.take(self._own_key(attempt.risk), 2):
            self._note(Decided(attempt.risk, "an exception"))
            self._failing = attempt.risk
        how = self._block(attempt.body)
        self._failing = None
        if how is Exit.RAISE and attempt.handler is not None:
            how = self._block(attempt.caught)
        elif how is None:
            how = self._block(attempt.after)
        return self._block(attempt.last) or how


def _ends_the_run(block: Block) -> bool:
    """Whether a block does nothing but end the run: `if args.steps < 1: raise ValueError(…)`. All that comes later is done
    where that is not so."""
    match block:
        case [Leave(how=Exit.RAISE | Exit.END)]:
            return True
    return False


def _asked_for_none(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """`x` of `x is None` (True) and of `x is not None` (False)."""
    match test:
        case ast.Compare(
            left=asked, ops=[ast.Is() | ast.IsNot() as how], comparators=[ast.Constant(value=None)]
        ):
            return asked, isinstance(how, ast.Is)
    return None


def _is_none(given: ast.expr, wanted: bool) -> bool | None:
    """The answer to such a test of what is passed: of None, and of what is a part of an object, which a script passes where
    there is one."""
    if isinstance(given, ast.Constant):
        return (given.value is None) == wanted
    return not wanted if isinstance(given, ast.Attribute) else None
