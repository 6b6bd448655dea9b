"""Functions of a TensorFlow 1 program that make an iterator to train by and another to measure by: part of D1.

    train_x, start = input_fn(True, rows)         train_x, start = input_fn(True, rows, share=shard_records)
    eval_x, again = input_fn(False, held_out)     eval_x, again = input_fn(False, held_out)

The dataset is divided in the function, for the calls that training is made of; what is measured stays all of it."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding


def calls_for_training(
    draft: Draft, feed: ast.expr, places: list[ast.expr]
) -> tuple[ast.FunctionDef, list[ast.Call]] | None:
    """(the function that makes an iterator over a pipeline which is divided at some places in it; its calls that what is
    trained comes from). None where all do, or it can't be seen which."""
    if not draft.in_graph or feed not in feeding(draft).graph_feeds:
        return None
    functions = {draft.syntax.function(e) for e in (feed, *places)}
    function = functions.pop()
    if (
        functions
        or not isinstance(function, ast.FunctionDef)
        or draft.syntax.method_class(function) is not None
    ):
        return None
    made, iterators = draft.values.callers(function), feeding(draft).graph_iterators
    trained = [call for call in made if iterators.is_trained_on(call)]
    return (function, trained) if trained and len(trained) < len(made) else None


__all__ = ["calls_for_training"]
