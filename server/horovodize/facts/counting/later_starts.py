"""Which numbers stand for steps that were taken before: a count that begins at one goes on where an earlier run stopped.

    step = start_epoch * steps_per_epoch
    step = 20000
    step = args.start_step                   # the number in the name of a file

Those are steps of one process, whatever the number of ranks that go on from there."""

from __future__ import annotations

import ast

from horovodize.facts.counting.occasions import Occasions
from horovodize.facts.counting.variable_additions import within
from horovodize.facts.differences import command_line
from horovodize.python.module import Module
from horovodize.summary.feeding import Feeding

_FEW = 16  # a number up to this one is where a first run begins, too: 0, 1, the few batches of a warm-up
_DEPTH = 4  # of `int(…)`: a number may be made of its last value
_EPOCHS = ("on_epoch_begin", "on_epoch_end")


class LaterStarts:
    """The numbers of one module that stand for steps taken before."""

    def __init__(self, module: Module, feeding: Feeding, occasions: Occasions) -> None:
        self.module, self.values, self.feeding, self.occasions = module, module.values, feeding, occasions

    def is_one(self, start: ast.expr) -> bool:
        """Whether a count that begins at a number goes on from steps that were taken before it."""
        return self._comes_of_many(start, _DEPTH) and not self._comes_again(start)

    def _comes_of_many(self, e: ast.expr, depth: int) -> bool:
        made = [o.node for o in self.values.origins(e) if not o.path]
        return any(self._is_many(n, depth) for n in made if isinstance(n, ast.expr))

    def _is_many(self, e: ast.expr, depth: int) -> bool:
        """A number of many steps that is written out, steps in each of the epochs before, or what a user says."""
        match e:
            case ast.Constant(value=value):
                return type(value) is int and value > _FEW
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                one, other = map(self.feeding.kinds.constant, (left, right))
                if one is not None and other is not None:
                    return one * other > 1
                return one != 0 and other != 0 and not any(map(_is_real, (left, right)))
            case ast.Attribute():
                return command_line.holds_options(self.module, e.value)
            case ast.Subscript(value=words):
                return self.module.names.of(words) == "sys.argv"
            case ast.Call() if depth:
                inner = within(self.module.names.last(e.func), e)  # `int(args.start_step)`
                return inner is not None and self._comes_of_many(inner, depth - 1)
            case _:
                return False

    def _comes_again(self, start: ast.expr) -> bool:
        """Whether a loop, or `fit` with each epoch, comes to the place again: the count begins again there."""
        hook = self.occasions.hooks.around(start)
        if hook is not None and (hook.is_of_batches or hook.name in _EPOCHS):
            return True
        return any(frame.loops for way in self.occasions.drive.ways(start) for frame in way)


def _is_real(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and not isinstance(e.value, int)
