"""Shares of a data set that are equally large on all ranks, though each takes another: `shard(hvd.size(), hvd.rank())` of a
multiple of the ranks' number, or cut to it."""

from __future__ import annotations

import ast


def of(call: ast.Call) -> ast.expr | None:
    """The data set of which a call gives such a share: `rows.shard(n, rank).take(len(rows) // n)`,
    `rows.take(count // n * n).shard(n, rank)`; None for anything else."""
    match call:
        case ast.Call(
            func=ast.Attribute(
                attr="take", value=ast.Call(func=ast.Attribute(attr="shard", value=rows), args=[ranks, _])
            ),
            args=[ast.BinOp(op=ast.FloorDiv(), right=by)],
        ) if _same(ranks, by):
            return rows
        case ast.Call(
            func=ast.Attribute(
                attr="shard", value=ast.Call(func=ast.Attribute(attr="take", value=rows), args=[count])
            ),
            args=[ranks, _],
        ) if _is_multiple(count, ranks):
            return rows
    return None


def _is_multiple(count: ast.expr, ranks: ast.expr) -> bool:
    """`count // n * n`"""
    match count:
        case ast.BinOp(op=ast.Mult(), left=ast.BinOp(op=ast.FloorDiv(), right=by), right=times):
            return _same(by, ranks) and _same(times, ranks)
    return False


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


__all__ = ["of"]
