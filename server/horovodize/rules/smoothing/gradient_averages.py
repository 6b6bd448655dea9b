"""Moving averages that gradients are changed with, or by which a step is left out, such as of their norm: part of G7.

`gradients, norm = tf.clip_by_global_norm(gradients, 2 * usual)` and `usual = 0.9 * usual + 0.1 * norm`: gradients are averaged
over the ranks, and so is their norm; what is left of an old one goes by the rows that are seen, as of other averages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.python.syntax import position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import number_settings
from horovodize.rules.numbers.carried_numbers import REDUCING, Read, begins_as, bindings, carries, is_number
from horovodize.rules.numbers.number_settings import Setting
from horovodize.rules.weights import steered
from horovodize.rules.weights.target_networks import made_of
from horovodize.rules.wrapping.after_averaging import gradients_of

_NORMS = ("norm", "global_norm", "clip_by_global_norm", "item")
_NEAR = 40  # nodes that such a number is made of
_FAR = 600  # nodes that gradients are made of


def numbers(draft: Draft) -> Iterator[tuple[str, Binding]]:
    """Numbers of Python's that steps carry on, and where they do."""
    loops = steered.training_loops(draft)
    for read in sorted(_reads(draft), key=position) if loops else ():
        for b in bindings(draft, read):
            if not carries(draft, b, read, loops) or not begins_as(draft, b, read, is_number):
                continue
            if b.value is not None and _is_of_norm(draft, b.value):
                yield ast.unparse(read), b


def variables(draft: Draft) -> Iterator[Setting]:
    """Where variables of one number are set."""
    used = {made for read in _reads(draft) for made in made_of(draft, read)}
    for setting in number_settings.of_variables(draft) if used else ():
        if isinstance(setting.kept, (ast.Name, ast.Attribute)) and steered.is_one_number(draft, setting.kept):
            if made_of(draft, setting.kept) & used and _is_of_norm(draft, setting.value):
                yield setting


def _is_of_norm(draft: Draft, value: ast.expr) -> bool:
    """Whether something goes by one number that is computed of gradients, and not by themselves, as a momentum does."""
    calls = (n for n in draft.values.depends([value], _NEAR) if isinstance(n, ast.Call))
    return any(draft.names.last(c.func) in (*REDUCING, *_NORMS) for c in calls)


def _reads(draft: Draft) -> set[Read]:
    """The names and fields that gradients are made with once they are taken, and that tests around an update read."""
    found = set[Read]()
    for update in draft.sites.updates if not draft.in_graph else ():
        gradients = gradients_of(draft, update) if update.gradients else None
        if gradients is None:
            continue
        frames = [f for way in draft.drive.ways(update.call) for f in way]
        tests = [decision.test for f in frames for decision, _ in draft.syntax.conditions(f.node)]
        taken = {n for call in update.gradients for n in draft.values.depends([call], _FAR)}
        for n in draft.values.depends([gradients, *tests], _FAR):
            if isinstance(n, (ast.Name, ast.Attribute)) and n not in taken and isinstance(n.ctx, ast.Load):
                found.add(n)
    return found
