"""Lists of variables that are sent one after the other, in as few lines as they fit: part of G2.

`hvd.broadcast_variables([*generator.variables, *discriminator.variables], root_rank=0)` rather than a line for each."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.rules.drafting.draft import CORE


def lines(lists: Sequence[str], width: int) -> list[str]:
    """The lines that send lists of variables, in their order: each as many of them as fit, at least one.

    lists: texts of expressions, `model.variables`
    width: columns of a line, without its indentation"""
    rows: list[list[str]] = []
    for one in lists:
        if rows and len(_line([*rows[-1], one]).replace(CORE, "hvd")) <= width:
            rows[-1].append(one)
        else:
            rows.append([one])
    return [_line(row) for row in rows]


def _line(lists: Sequence[str]) -> str:
    text = lists[0]
    if len(lists) > 1:
        parts = [ast.parse(one, mode="eval").body for one in lists]
        elements = [
            e for part in parts for e in (part.elts if isinstance(part, ast.List) else [ast.Starred(part)])
        ]
        text = ast.unparse(ast.List(elements))
    return f"{CORE}.broadcast_variables({text}, root_rank=0)"
