"""What the variables of a graph are set to that a rate or a loss is made of: part of C5 and G5."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.files.kept import VARIABLES
from horovodize.rules.drafting.draft import Draft

_FAR = 400  # nodes that a value may be made of


def of(draft: Draft, value: ast.expr) -> Iterator[ast.expr]:
    """What sessions set the variables to that a value is made of: `tf.assign(rate, new)`, `rate.load(0.1 * 0.9 ** step, sess)`.
    Not of variables that count steps, nor what goes on from itself."""
    counts = draft.facts.counters.graph_counts
    for made in draft.values.depends([value], _FAR):
        if not isinstance(made, ast.Call) or draft.names.of(made.func) not in VARIABLES:
            continue
        if made in counts.global_step_variables or counts.counts(made):
            continue
        for given in (*(new for _, _, new in counts.settings(made)), *_loaded(draft, made)):
            if made not in draft.values.depends([given], _FAR):
                yield given


def _loaded(draft: Draft, made: ast.Call) -> Iterator[ast.expr]:
    for call in draft.module.calls_called("load"):
        if isinstance(call.func, ast.Attribute) and call.args and made in draft.values.calls(call.func.value):
            yield call.args[0]


__all__ = ["of"]
