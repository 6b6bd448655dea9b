"""Shares of a data set that are equally large on all ranks, though each takes another: `shard(hvd.size(), hvd.rank())` of a
multiple of the ranks' number, or cut to it."""

from __future__ import annotations

import ast


def of(call: ast.Call) -> ast.expr | None:
    """The data set of which a call gives such a share: `rows.shard(n, rank).take(len(rows) // n)`,
    `rows.repeat().shard(n, rank).take(max(1, len(rows) // n))`, `rows.take(count // n * n).shard(n, rank)`; None for anything
    else."""
    match call:
        case ast.Call(
            func=ast.Attribute(
                attr="take", value=ast.Call(func=ast.Attribute(attr="shard", value=rows), args=[ranks, _])
            ),
            args=[count],
        ) if _is_a_ranks(count, ranks):
            return _once(rows)
        case ast.Call(
            func=ast.Attribute(
                attr="shard", value=ast.Call(func=ast.Attribute(attr="take", value=rows), args=[count])
            ),
            args=[ranks, _],
        ) if _is_multiple(count, ranks):
            return rows
    return None


def stride(e: ast.Subscript) -> ast.expr | None:
    """The number of ranks, `n`, that take equally many by a stride: `rows[hvd.rank() : len(rows) // n * n : n]` and
    `rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // n) * n : n]`, where n is `hvd.size()`; None of anything else."""
    match e.slice:
        case ast.Slice(
            lower=ast.Call(func=ast.Attribute(attr="rank"), args=[])
            | ast.BinOp(left=ast.Call(func=ast.Attribute(attr="rank"), args=[]), op=ast.Mod()),
            upper=ast.BinOp(left=share, op=ast.Mult(), right=ranks),
            step=ast.Call(func=ast.Attribute(attr="size"), args=[]) as step,
        ):
            return ranks if _same(ranks, step) and _is_a_ranks(share, ranks) else None
    return None


def _is_a_ranks(count: ast.expr, ranks: ast.expr) -> bool:
    """`count // n`, at least 1 of it, or all (-1) where nothing is known: `max(1, count // n) if count >= 0 else -1`"""
    match count:
        case ast.IfExp(body=known, orelse=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return _is_a_ranks(known, ranks)
        case ast.Call(func=ast.Name(id="max"), args=[ast.Constant(value=1), share], keywords=[]):
            return _is_a_ranks(share, ranks)
        case ast.BinOp(op=ast.FloorDiv(), right=by):
            return _same(ranks, by)
    return False


def _once(rows: ast.expr) -> ast.expr:
    """What is repeated without end, `rows.repeat()`: of that, as many are taken as it has shares."""
    match rows:
        case ast.Call(func=ast.Attribute(attr="repeat", value=repeated), args=[], keywords=[]):
            return repeated
    return rows


def _is_multiple(count: ast.expr, ranks: ast.expr) -> bool:
    """`count // n * n`"""
    match count:
        case ast.BinOp(op=ast.Mult(), left=ast.BinOp(op=ast.FloorDiv(), right=by), right=times):
            return _same(by, ranks) and _same(times, ranks)
    return False


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


__all__ = ["of", "stride"]
