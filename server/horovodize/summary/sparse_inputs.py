"""Models that are given sparse matrices multiply by them, as by the edges of a graph: their rows belong together."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument


def takes_sparse(module: Module, model: ast.expr) -> bool:
    """Whether an input of a model is sparse: `Input((None,), sparse=True)`."""
    given = [(c, argument(c, "sparse")) for c in module.calls_called("Input", "InputLayer")]
    sparse = {c for c, e in given if isinstance(e, ast.Constant) and e.value is True}
    return bool(sparse) and any(n in sparse for n in module.values.depends([model]))
