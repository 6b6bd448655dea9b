"""Rows that ranks take alike though they are divided, or are no data set (a part of HVD320)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import batches_alike
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.rate_not_scaled import averaging
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit


def of_hosts(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Rows that ranks choose by their number within a host, of as many shares as there are ranks on all of them."""
    for index in batches_alike.of_local_ranks(context):
        if not context.facts.rank_tests.may_be_guarded(index):
            yield restriction.at(
                context,
                index,
                "`local_rank()` counts the processes of one host: on several, ranks take the same rows here, and no rank takes "
                "the others; use `rank()`",
                fixes=[_by_rank(context, index)],
            )


def of_shares(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Shares of all ranks, of which each takes the same one."""
    for index in batches_alike.of_one_share(context):
        if not context.facts.rank_tests.may_be_guarded(index):
            yield restriction.at(
                context,
                index,
                f"every rank takes share {context.text(index)} here, and no rank takes the others: give each its own, by "
                "`hvd.rank()`",
            )


def _by_rank(context: Context, index: ast.expr) -> Fix | None:
    """`hvd.local_rank()` → `hvd.rank()`"""
    if not isinstance(index, ast.Call) or not isinstance(index.func, ast.Attribute):
        return None
    return Fix(
        "Use the rank among all",
        (Edit(context.module.span(index.func), f"{context.text(index.func.value)}.rank"),),
    )


def of_arrays(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Batches of arrays, of the script's own generators and of Keras'."""
    for site, data in batches_alike.flowing(context):
        if context.facts.horovod.runs(site) and not context.facts.rank_tests.may_be_guarded(site):
            yield restriction.at(
                context,
                site,
                f"every rank takes the same pictures of `{context.text(data)}` in the same order, and all compute the same "
                "gradients: give each a seed of its own, with `hvd.rank()` in it",
            )
    for site, data in (
        *batches_alike.fed(context),
        *batches_alike.generated(context),
        *batches_alike.of_inputs(context),
    ):
        if context.facts.horovod.runs(site) and not context.facts.rank_tests.may_be_guarded(site):
            yield restriction.at(
                context,
                site,
                f"every rank takes the same rows by `{context.text(data)}`, and all compute the same gradients: let each take "
                "rows of its own, by `hvd.rank()`, or draw them by a seed of its own",
                severity=None if _is_rate_scaled(context) else Severity.INFORMATION,
            )


def _is_rate_scaled(context: Context) -> bool:
    """Whether some rate grows with the number of ranks. Else ranks train as one process would, and do it several times."""
    use = context.facts.horovod
    return any(use.most(first_rate(context, rate)) for _, rates in averaging(context) for rate in rates)
