"""Models that an option compiles again with a plain optimizer, after they were compiled with a wrapped one (a part of HVD304).

model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
if args.fine:
    model.compile(tf.keras.optimizers.SGD(0.001 * hvd.size()), "mse")"""

from __future__ import annotations

import ast
import re

from horovodize.python.syntax import position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.plain_optimizers import is_plain, wrappers_of
from horovodize.summary.site_kinds import Compile

# What a test asks for that may be whether there are several ranks.
_OF_RANKS = re.compile(
    r"horovod|hvd|dist|size|rank|single|multi|parallel|worker|gpu|alone|local|world|mpi|cluster",
    re.IGNORECASE,
)


def compiled_by_option(
    context: Context, fit: ast.Call, compiles: list[Compile]
) -> tuple[Compile, ast.If] | None:
    """What compiles a model with a plain optimizer last before a `fit`, under a test beside it, and that test. All other places
    compile it with a wrapped one, before."""
    plain = [c for c in compiles if c.optimizers and all(is_plain(context, e) for e in c.optimizers)]
    wrapped = [c for c in compiles if c not in plain]
    if len(plain) != 1 or not wrapped:
        return None
    (again,) = plain
    if not all(
        c.optimizers and all(all(wrappers_of(context, e) or [False]) for e in c.optimizers) for c in wrapped
    ):
        return None
    test = _test_beside(context, again.call, fit)
    if test is None or test.orelse or _OF_RANKS.search(ast.unparse(test.test)):
        return None
    if context.facts.rank_tests.may_be_guarded(again.call) or context.facts.never_run.is_at(again.call):
        return None
    return (again, test) if all(_is_before(context, c, test) for c in wrapped) else None


def _test_beside(context: Context, again: ast.Call, fit: ast.Call) -> ast.If | None:
    """The `if` before a `fit` in its block whose own statements compile the model."""
    syntax = context.syntax
    block, fitted = syntax.block(syntax.statement(fit)), syntax.statement(fit)
    statement = syntax.statement(again)
    for s in block[: block.index(fitted)]:
        if isinstance(s, ast.If) and statement in s.body:
            return s
    return None


def _is_before(context: Context, compiled: Compile, test: ast.If) -> bool:
    """Whether a model is compiled before a test: where it is built, in a function of its own, or above it."""
    syntax = context.syntax
    if syntax.function(compiled.call) is not syntax.function(test):
        made = context.values.calls(compiled.model)
        return bool(made) and all(syntax.function(m) is syntax.function(compiled.call) for m in made)
    return position(compiled.call) < position(test)


__all__ = ["compiled_by_option"]
