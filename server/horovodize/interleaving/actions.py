"""What a script does, as far as other ranks notice: a program of steps, made of the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, Flag, auto
from functools import cached_property
from typing import TypeAlias


class Deed(Enum):
    """What is done to a file or folder."""

    READ = "reads"
    LOOK = "looks for"
    WRITE = "writes"
    MAKE = "makes the folder"  # which must not be there
    ENSURE = "makes the folder, unless it is there,"
    REMOVE = "removes"
    FETCH = "downloads"  # unless it is there
    UNPACK = "unpacks an archive into"


class Exit(Enum):
    """How a block is left before its end."""

    RETURN = "returns"
    BREAK = "leaves the loop"
    CONTINUE = "goes on with the next turn"
    END = "ends"
    RAISE = "fails"
    STOP = "stops training"


class Holds(Flag):
    """What is among some steps, those in others included."""

    NOTHING = 0
    COLLECTIVE = auto()
    EQUALS = auto()  # one that makes all ranks' weights equal
    OF_OTHERS = auto()  # what others may wait for, or part by
    ENDS = auto()  # what leaves a block, or may


class Step:
    """What every step has. `parts`: the steps in it."""

    @property
    def parts(self) -> Block:
        return ()

    @cached_property
    def holds(self) -> Holds:
        """What it is, and what is in it: found once, as each rank asks for it in each of its ways."""
        return self._own | held(self.parts)

    @property
    def _own(self) -> Holds:
        return Holds.NOTHING


@dataclass(frozen=True, eq=False)
class Together(Step):
    """A collective: no rank goes on before every rank is here. `name` says which: two of one name may meet. `trains`: it
    averages gradients, so the ranks' weights should be the same. `equals`: after it they are, whatever was before.
    `members`: the ranks of its process set; None: all."""

    node: ast.AST
    name: str
    trains: bool = False
    equals: bool = False
    members: frozenset[int] | None = None

    @property
    def _own(self) -> Holds:
        return Holds.COLLECTIVE | Holds.OF_OTHERS | (Holds.EQUALS if self.equals else Holds.NOTHING)


@dataclass(frozen=True, eq=False)
class Touch(Step):
    """Something is done to the file or folder whose path is `path`. `needs_folder`: it fails where the folder
    around isn't there. `alone`: it fails where another rank has done it already."""

    node: ast.AST
    deed: Deed
    path: ast.expr | str
    needs_folder: bool = False
    alone: bool = False


@dataclass(frozen=True, eq=False)
class Change(Step):
    """What is trained is changed, other than by training: its weights, or the rate. `own`: the value that it is set to, where
    that is another one on each rank."""

    node: ast.AST
    what: str
    own: ast.expr | None = None

    @property
    def _own(self) -> Holds:
        return Holds.OF_OTHERS


@dataclass(frozen=True, eq=False)
class Choice(Step):
    """A test, and what is done where it is true, and where not. `free`: it may be answered either way, though one makes all
    ranks' weights equal. `skips`: it does nothing but leave out a training that follows, `if done: continue`."""

    test: ast.expr
    yes: Block
    no: Block
    free: bool = False
    skips: bool = False

    @property
    def parts(self) -> Block:
        return (*self.yes, *self.no)


@dataclass(frozen=True, eq=False)
class Turns(Step):
    """A loop, and what follows where it was not left by `break`."""

    loop: ast.For | ast.AsyncFor | ast.While
    body: Block
    after: Block = ()

    @property
    def parts(self) -> Block:
        return (*self.body, *self.after)

    @cached_property
    def changes_again(self) -> bool:
        """Whether it may send weights in one turn, change them in the next, and train with them in the one after that."""
        inner = held(self.body)
        return bool(inner & Holds.EQUALS) and any(isinstance(a, Change) for a in everything(self.body))


@dataclass(frozen=True, eq=False)
class Stop(Step):
    """`stop_training` is set: the `fit` around ends with its epoch."""

    node: ast.AST

    @property
    def _own(self) -> Holds:
        return Holds.OF_OTHERS | Holds.ENDS


@dataclass(frozen=True, eq=False)
class Epochs(Step):
    """The epochs of a `fit` after the first one: before each, the script's own callbacks run."""

    training: Together
    hooks: Block

    @property
    def parts(self) -> Block:
        return (*self.hooks, self.training)


@dataclass(frozen=True, eq=False)
class Batches(Step):
    """What a `fit` does with each batch: a model's own step, which it comes to again and again."""

    body: Block

    @property
    def parts(self) -> Block:
        return self.body


@dataclass(frozen=True, eq=False)
class Leave(Step):
    """A block is left: `node` says where."""

    node: ast.AST
    how: Exit

    @property
    def _own(self) -> Holds:
        return Holds.ENDS | (Holds.OF_OTHERS if self.how in (Exit.END, Exit.RAISE) else Holds.NOTHING)


@dataclass(frozen=True, eq=False)
class Risk(Step):
    """Something at which one rank alone may run into an exception."""

    node: ast.expr


@dataclass(frozen=True, eq=False)
class Attempt(Step):
    """`try`. `handler` is one that goes on after an exception into which one rank alone may run at `risk`, an expression in the
    body; without such a risk, None. `last` runs in any case."""

    risk: ast.expr | None
    handler: ast.ExceptHandler | None
    body: Block
    caught: Block
    after: Block
    last: Block

    @property
    def parts(self) -> Block:
        return (*self.body, *self.caught, *self.after, *self.last)


@dataclass(frozen=True, eq=False)
class Called(Step):
    """A function of the script that is called, and what it does. `function`: which one, of several that the call may run."""

    call: ast.Call
    body: Block
    function: ast.AST | None = None

    @property
    def parts(self) -> Block:
        return self.body


Action: TypeAlias = (
    Together | Touch | Change | Choice | Turns | Stop | Epochs | Batches | Leave | Risk | Attempt | Called
)
Block: TypeAlias = Sequence["Action"]


def held(block: Block) -> Holds:
    """What is among some steps, or in one of them."""
    found = Holds.NOTHING
    for action in block:
        found |= action.holds
    return found


def equals_at_once(block: Block) -> bool:
    """Whether steps make all ranks' weights equal without another test in between."""
    for action in block:
        if isinstance(action, Together) and action.equals:
            return True
        if not isinstance(action, Choice) and equals_at_once(action.parts):
            return True
    return False


def leaves(choice: Choice) -> bool:
    """Whether one answer to a test leaves the loop around."""
    ends = (Exit.BREAK, Exit.RETURN)
    return any(isinstance(a, Leave) and a.how in ends for a in choice.parts)


def without_files(block: Block, risks: frozenset[ast.AST] = frozenset()) -> Block:
    """The same steps but what is done to files, and but the tests and loops that decide nothing else. `risks`: what a rank may
    fail at, which stays."""
    return tuple(kept for action in block if (kept := _without_files(action, risks)) is not None)


def _without_files(action: Action, risks: frozenset[ast.AST]) -> Action | None:
    match action:
        case Touch(node=node) | Risk(node=node):
            return action if node in risks else None
        case Choice(test=test, yes=yes, no=no, free=free, skips=skips):
            yes, no = without_files(yes, risks), without_files(no, risks)
            return Choice(test, yes, no, free, skips) if yes or no else None
        case Turns(loop=loop, body=body, after=after):
            body, after = without_files(body, risks), without_files(after, risks)
            return Turns(loop, body, after) if body or after else None
        case Epochs(training=training, hooks=hooks):
            return Epochs(training, without_files(hooks, risks))
        case Batches(body=body):
            body = without_files(body, risks)
            return Batches(body) if body else None
        case Called(call=call, body=body, function=function):
            body = without_files(body, risks)
            return Called(call, body, function) if body else None
        case Attempt(risk=risk, handler=handler, body=body, caught=caught, after=after, last=last):
            body = without_files(body, risks if risk is None else risks | {risk})
            caught, after, last = (without_files(part, risks) for part in (caught, after, last))
            return (
                Attempt(risk, handler, body, caught, after, last) if body or caught or after or last else None
            )
        case _:
            return action


def everything(block: Block) -> Iterator[Action]:
    """All steps, those in others included."""
    for action in block:
        yield action
        yield from everything(action.parts)
