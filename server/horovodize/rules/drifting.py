"""Variables that each rank sets by its own rows with its steps, and what later losses are made with: part of G2 and K7.

One number is averaged where it is set, with each step, every so many steps or after each epoch."""

from __future__ import annotations

import ast

from horovodize.rules import steered
from horovodize.rules.draft import HVD, Draft
from horovodize.rules.step_place import Place
from horovodize.rules.target_networks import ASSIGNS, FILLS, MOVES, is_in_every_turn, is_variables, made_of
from horovodize.source import Edit


def ask_of_drifting(draft: Draft, place: Place | None) -> None:
    """Averages variables of one number that each rank sets by its own rows with each step; asks about others: the codebook of
    a quantizer, statistics of a layer. Weights that are updated by hand go by averaged gradients.

    place: where a step stands; None for those that `fit` takes"""
    by_hand = {call for step in draft.sites.hand_updates for call in step.calls}
    parts = () if place is not None else (*FILLS, *MOVES)  # `memories` asks about those of loops
    sets = [
        (call, call.func.value)
        for call in draft.sites.method_calls(*ASSIGNS, *parts)
        if isinstance(call.func, ast.Attribute)
        and call.args
        and call not in by_hand
        and not draft.sites.passes(call)
        and isinstance(call.func.value, (ast.Name, ast.Attribute))
        and (is_variables(draft, call.func.value) or _is_of_keras(draft, call.func.value))
    ]
    read, before = steered.made_by(draft, steered.used_in_losses(draft)), set[ast.AST]()
    while read != before:  # what is set from what is set
        before = set(read)
        for call, kept in sets:
            if made_of(draft, kept) & read:
                read |= steered.made_by(draft, draft.values.depends(call.args, 400))
    for call, kept in sets:
        if not (any(steered.is_own(draft, e) for e in call.args) and made_of(draft, kept) & read):
            continue
        with_steps = is_in_train_step(draft, call) if place is None else is_in_every_turn(draft, call, place)
        number = steered.is_one_number(draft, kept)
        if (with_steps or (number and place is not None and _is_between_steps(draft, call))) and draft.once(
            "drifts", call
        ):
            if number and draft.uniform.reached_alike(call):
                edits = Edit.around(draft.module.span(call.args[0]), f"{_mean(draft, call, place)}(", ")")
                draft.change(_rule(place), call, steered.WHAT, steered.WHY, edits, steered.AVERAGED)
            else:
                draft.ask(_rule(place), call, steered.WHAT, steered.WHY, steered.DRIFTS)


def _is_between_steps(draft: Draft, call: ast.Call) -> bool:
    """Whether a call comes with every so many steps, or after each epoch, so that later steps go by it."""
    loops = steered.training_loops(draft)
    return any(loop in loops for way in draft.drive.ways(call) for frame in way for loop in frame.loops)


def _mean(draft: Draft, call: ast.Call, place: Place | None) -> str:
    """What averages a value there: one of Python's or NumPy's is no tensor, which `hvd.allreduce` wants."""
    traced = place is None or draft.in_graph or draft.in_sessions or draft.drive.in_traced(call)
    return (
        f"{HVD}.allreduce" if traced or _is_tensor(draft, call.args[0]) else draft.helper("mean_over_ranks")
    )


def _is_tensor(draft: Draft, e: ast.expr) -> bool:
    """Whether TensorFlow gives a value, or a part of what is computed with it: `k + 0.1 * tf.reduce_mean(found)`."""
    if isinstance(e, ast.BinOp):
        return _is_tensor(draft, e.left) or _is_tensor(draft, e.right)
    name = (draft.names.of(e.func) or "") if isinstance(e, ast.Call) else ""
    return name.startswith("tensorflow.") and not name.startswith("tensorflow.keras.")


def _is_of_keras(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression stands for variables of a model's or a layer's own: `self.add_weight(…)`, `keras.Variable(…)`."""
    made = [o.node for o in draft.values.origins(e) if not o.path]
    return bool(made) and all(
        isinstance(n, ast.Call)
        and (draft.names.of(n.func) == steered.VARIABLE_OF_KERAS or draft.names.last(n.func) == "add_weight")
        for n in made
    )


def _rule(place: Place | None) -> str:
    return "G2" if place is not None else "K7"


def is_in_train_step(draft: Draft, call: ast.Call) -> bool:
    """Whether a model's own `train_step` comes by a call in every step."""
    return any(
        way[-1].function in draft.sites.own_steps and not any(draft.syntax.conditions(f.node) for f in way)
        for way in draft.drive.ways(call)
    )


__all__ = ["ask_of_drifting", "is_in_train_step"]
