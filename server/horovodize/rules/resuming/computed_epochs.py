"""Epochs that are computed from what an optimizer or a graph counts: part of G6.

`model.optimizer.iterations // steps_per_epoch`, `global_step / batches`: that counts a rank's steps, of which an epoch has
fewer. What an earlier run has counted there holds for as many ranks as it had, which is said."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.plan import Decision
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.resuming import begun_within, restored_iterations
from horovodize.summary.feeding import Kind

_EPOCHS = "Compute the epoch from the steps of all ranks together"
_EPOCHS_OF_RANK = "Compute the epoch from the steps that a rank takes in one"
_WHY = "A step takes size() batches; so counted, a later run goes on at the same row, whatever its number of ranks."
_ROUNDING = ("int", "floor", "trunc")


def compute(draft: Draft, ratio: ast.BinOp) -> None:
    """`optimizer.iterations // steps_per_epoch`, where the steps of an epoch are still those of one process."""
    counter = counted.of(draft, ratio.left)
    kinds = (CounterKind.ITERATIONS, CounterKind.GLOBAL_STEP)
    if counter is None or not counted.is_whole(draft, ratio.right):
        return
    if counter.kind not in kinds and not any(
        counter is c for c, _ in draft.facts.counters.listed.begun_by_others
    ):
        return
    if any(isinstance(a, (ast.Mod, ast.JoinedStr)) for a in draft.syntax.ancestors(ratio)):
        return
    restored_iterations.tell(draft, "G6", ratio, ratio.left)
    strided = begun_within.of_a_loop_by_strides(draft, counter, ratio.right)
    if _is_whole_quotient(draft, ratio) and (strided or _leaves_out_the_rest(draft, counter, ratio.right)):
        edits = (
            begun_within.over_strides(draft, ratio.right)
            if strided
            else counted.over_ranks(draft, ratio.right, "G6")
        )
        if edits:
            draft.decide(
                ratio.left, OfAll("G6")
            )  # so divided, the epoch is that of all ranks: nothing tells it them again
            draft.change("G6", ratio, _EPOCHS_OF_RANK, _WHY, edits, decision=Decision.DIVIDED)
        return
    draft.change(
        "G6", ratio, _EPOCHS, _WHY, counted.read_as_all(draft, ratio.left, "G6"), decision=Decision.COUNTED
    )


def _is_whole_quotient(draft: Draft, ratio: ast.BinOp) -> bool:
    """`step // batches`, `int(step / batches)`"""
    around = draft.syntax.parent.get(ratio)
    rounded = isinstance(around, ast.Call) and draft.names.last(around.func) in _ROUNDING
    return isinstance(ratio.op, ast.FloorDiv) or rounded


def _leaves_out_the_rest(draft: Draft, counter: Counter, steps: ast.expr) -> bool:
    """Whether each rank takes an epoch's number of steps over size() in every epoch, without what is left of it: those steps
    count, and times size() they would fall behind, epoch after epoch."""
    written = ast.unparse(steps)
    parts = [ast.walk(d.iterable) if d.iterable is not None else () for d in counter.drivers]
    counts = [
        d.kind is Kind.RANGE or any(ast.unparse(n) == written for n in of)
        for d, of in zip(counter.drivers, parts, strict=True)
    ]
    fits = feeding(draft).fits if counter.fitted else []
    told = [argument(f.fit.call, "steps_per_epoch") for f in fits]
    counts += [n is not None and ast.unparse(n) == written for n in told]
    return (
        (bool(counts) or not counter.fitted)
        and all(counts)
        and all(_is_whole_number(draft, o.node) and not o.path for o in draft.values.origins(steps))
    )


def _is_whole_number(draft: Draft, node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(op=ast.FloorDiv()):
            return True
        case ast.Call(func=func):
            return draft.module.scopes.is_builtin(func) and draft.names.last(func) in ("int", "len")
        case _:
            return False


__all__ = ["compute"]
