"""What is counted by `local_size()`, which knows of one host's processes only: rates (a part of HVD308), and the steps of an
epoch (a part of HVD321)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.horovod.horovod_use import rates_of
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.counts_of_turns import numbers
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Violation
from horovodize.source import Edit

_OTHERS = ("size", "cross_size", "cross_rank")
_LIMIT = 100


def rates(
    context: Context, restriction: Restriction, averaging: Iterable[tuple[ast.Call, list[ast.expr]]]
) -> Iterator[Violation]:
    """Rates that grow with the processes of one host, while all are averaged. Adasum wants that where NCCL adds up a host's.
    `averaging`: what else trains on all ranks' gradients, and its rates, as a plain optimizer that a wrapped tape feeds."""
    if context.module.loads.get("Adasum"):
        return
    wrapped = context.facts.horovod.wrapped
    of_tapes = [given for made, given in averaging if made not in wrapped]
    for given in (*(_rates(context, wrapper) for wrapper in wrapped), *of_tapes):
        for rate in given:
            yield from _counted(context, restriction, rate, "the rate doesn't grow with all ranks", ast.Mult)


def _rates(context: Context, wrapper: ast.Call) -> Iterator[ast.expr]:
    """The rates of the optimizer that a call wraps."""
    inner = context.facts.horovod.inside(wrapper)
    for made in context.values.calls(inner) if inner is not None else ():
        if (context.names.of(made.func) or "").startswith("torch.optim."):
            rate = argument(made, "lr")
            yield from [rate] if rate is not None else []
        elif context.module.is_optimizer(made):
            yield from rates_of(made)


def steps(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Steps that the processes of one host share, while all take them."""
    for _, counts in numbers(context):
        for count in counts:
            why = "each of them does more than its share of the steps"
            yield from _counted(context, restriction, count, why, ast.FloorDiv, ast.Div)


def _counted(
    context: Context, restriction: Restriction, number: ast.expr, why: str, *operators: type[ast.operator]
) -> Iterator[Violation]:
    """Where a number is scaled by `local_size()`, and nothing else in it knows of other hosts."""
    use = context.facts.horovod
    if use.depends_on(number, *_OTHERS, limit=_LIMIT):
        return
    for node in context.values.depends([number], _LIMIT):
        if isinstance(node, ast.BinOp) and isinstance(node.op, operators) and use.runs(node):
            for side in (node.right, node.left) if ast.Mult in operators else (node.right,):
                read = next((o.node for o in context.values.origins(side) if not o.path), None)
                if read is not None and use.is_call(read, "local_size"):
                    yield restriction.at(
                        context,
                        read,
                        f"`local_size()` counts the processes of one host: with several, {why}; use `size()`",
                        fixes=[_fix(context, read)],
                    )
                    return


def _fix(context: Context, read: ast.AST) -> Fix | None:
    """`hvd.local_size()` → `hvd.size()`"""
    if not isinstance(read, ast.Call) or not isinstance(read.func, ast.Attribute):
        return None
    text = context.text(read.func.value)
    return Fix("Use the number of all ranks", (Edit(context.module.span(read.func), f"{text}.size"),))
