"""The ranges that the loops around a step go through, in all functions on the way there: if a file says where one starts or
ends, all ranks take rank 0's numbers (G4, G6)."""

from __future__ import annotations

import ast

from horovodize.summary.call_paths import Drive
from horovodize.summary.feeding import Feeding


def ranges_around(drive: Drive, feeding: Feeding, node: ast.AST) -> frozenset[ast.AST]:
    loops = (loop for way in drive.ways(node) for frame in way for loop in frame.loops)
    through = [loop.iter for loop in loops if not isinstance(loop, ast.While)]
    return frozenset(e for e in through if feeding.kinds.is_range(feeding.inside(e)))


__all__ = ["ranges_around"]
