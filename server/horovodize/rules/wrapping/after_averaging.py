"""What is done to gradients, or to weights, once the gradients are averaged: part of G1 and K7.

A tape gives all ranks the same gradients. Noise that each rank then adds for itself (Langevin dynamics, private training), or a
factor that it computes from its own rows, would make the weights differ more and more, and nobody would notice."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import CALLABLES, Loop, argument
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import CORE, HVD, Draft
from horovodize.rules.weights.target_networks import HOLDERS, makes_weights, trained_by
from horovodize.source import Edit
from horovodize.summary.site_kinds import Update
from horovodize.summary.undone_steps import base

_WHAT = "Let all ranks change the weights by rank 0's random numbers"
_WHY = (
    "Gradients are averaged before; noise of each rank's own would make their weights differ more and more."
)
_NOT_ALIKE = (
    "random numbers change the weights here after the gradients are averaged, and it isn't sure that all ranks draw them; draw "
    "them in every step"
)
_OWN_FACTOR = (
    "the gradients are averaged over all ranks before they are changed here by what each rank computes of its own, so the "
    "weights would differ between ranks; put it into the loss"
)
_SENT = "Send rank 0's weights after new ones are set"
_WHY_SENT = "Each rank makes a network with random weights of its own here; ranks that go on with them train different models."
_FRESH = (
    "each rank makes a network with random weights of its own here, and sets them into what is trained; send rank 0's after "
    "it, by `hvd.broadcast_variables(…, root_rank=0)`, where all ranks come there"
)
_SET_BACK = "Let all ranks set weights back, or none"
_FAILED = (
    "a rank whose own rows fail here sets its weights back alone, and goes on with others than the rest; let all ranks do it "
    "where one fails, by an `hvd.allreduce` of whether it did"
)
_FAR = 600  # nodes that weights are made of
ASSIGNS = ("assign", "assign_add", "assign_sub")


def keep_alike(draft: Draft) -> None:
    for update in draft.sites.updates:
        gradients = gradients_of(draft, update)
        if update.method == "apply_gradients" and update.gradients and gradients is not None:
            rule = "K7" if update.step_of is not None else "G1"
            _refuse_own_factors(draft, update, gradients)
            for draw in _draws(draft, [gradients], update.gradients):
                _share(draft, draw, rule)
    trained = trained_by(draft, [v for u in draft.sites.updates for v in u.variables])
    for call in _set_by_hand(draft):
        assert isinstance(call.func, ast.Attribute)
        for draw in _draws(draft, call.args, [*draft.sites.training_gradients, call.func.value]):
            _share(draft, draw, "G1")
        if any(made not in trained for made in fresh_weights(draft, call.args)):
            _send(draft, call)
        _ask_in_handler(draft, call)
    for call in draft.sites.method_calls("load_weights", "restore"):
        if _is_in_loops(draft, call):
            _ask_in_handler(draft, call)


def _ask_in_handler(draft: Draft, call: ast.Call) -> None:
    """`except tf.errors.InvalidArgumentError: model.set_weights(kept)`"""
    around = (a for a in draft.syntax.ancestors(call) if isinstance(a, (ast.ExceptHandler, *CALLABLES)))
    handler = next(around, None)
    if isinstance(handler, ast.ExceptHandler) and draft.once("set back", handler):
        draft.ask("G1", call, _SET_BACK, _WHY_SENT, _FAILED)


def gradients_of(draft: Draft, update: Update) -> ast.expr | None:
    """The gradients that an optimizer is given, as they are by then; None where they can't be seen."""
    given = argument(update.call, "grads_and_vars", 0) or argument(update.call, "grads", 0)
    if isinstance(update.call.func, ast.Attribute) and update.call.func.attr == "apply":
        return given  # Keras 3's: the variables come beside them
    return _gradients_in(draft, given) if given is not None else None


def _refuse_own_factors(draft: Draft, update: Update, gradients: ast.expr) -> None:
    for reason in draft.uniform.of_values.reasons(gradients):
        if not isinstance(reason, Varies) or reason.kind not in (Source.ROWS, Source.GAME):
            continue
        made_of = set(draft.values.depends([reason.where])) if isinstance(reason.where, ast.Name) else set()
        if not made_of & set(update.gradients):  # a name for the gradients themselves
            draft.refuse("HVD006", update.call, _OWN_FACTOR)
            return


def _gradients_in(draft: Draft, given: ast.expr, depth: int = 4) -> ast.expr | None:
    """The gradients of what an optimizer is given with the variables: `grads` of `zip(grads, variables)`; None where they can't
    be seen."""
    if isinstance(given, ast.Call) and given.args:
        last = draft.names.last(given.func)
        if last == "zip":
            return given.args[0]
        return _gradients_in(draft, given.args[0], depth - 1) if last in ("list", "tuple") and depth else None
    if isinstance(given, (ast.ListComp, ast.GeneratorExp)):
        return given.elt.elts[0] if isinstance(given.elt, ast.Tuple) and given.elt.elts else None
    if isinstance(given, ast.Name):
        made = [o.node for o in draft.values.origins(given) if not o.path]
        return (
            _gradients_in(draft, made[0], depth - 1)
            if depth and len(made) == 1 and isinstance(made[0], ast.expr)
            else None
        )
    return None


def _draws(draft: Draft, values: list[ast.expr], others: Iterable[ast.expr]) -> Iterator[ast.Call]:
    """The random numbers that values are made of beside gradients: those of the loss are the rank's own."""
    others = list(others)
    averaged = set(draft.values.depends([*others, *_unpacked_for(draft, others)]))
    found = {n for n in draft.values.depends(values) if n not in averaged}
    for e in values:
        reasons = draft.uniform.of_values.reasons(e)
        found |= {r.where for r in reasons if isinstance(r, Varies) and r.kind is Source.CHANCE} - averaged
    for n in sorted((n for n in found if isinstance(n, ast.Call)), key=lambda c: (c.lineno, c.col_offset)):
        drawn = draft.uniform.draws
        if _begins_variable(draft, n):
            continue
        if drawn.draws(n):
            yield n


def _unpacked_for(draft: Draft, gradients: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """What calls unpack for the functions that take gradients, so that it isn't seen which parameter gets what:
    `gradients_of(*next(batches))`."""
    for function in {draft.syntax.function(g) for g in gradients}:
        for call in draft.values.callers(function) if function is not None else ():
            yield from (a.value for a in call.args if isinstance(a, ast.Starred))
            yield from (k.value for k in call.keywords if k.arg is None)


def fresh_weights(draft: Draft, values: list[ast.expr]) -> Iterator[ast.Call]:
    """The models and layers with random weights of their own that values are made of, where they are made again each time:
    `build().get_weights()`, `clone_model(model).get_weights()`."""
    loops = _training_loops(draft)
    for n in draft.values.depends(values, _FAR):
        if isinstance(n, ast.Call) and makes_weights(draft.module, n):
            ways = draft.drive.ways(n)
            hooks = (draft.facts.hooks.of(frame.function) for way in ways for frame in way)
            if any(loop in loops for way in ways for f in way for loop in f.loops) or any(hooks):
                yield n


def _send(draft: Draft, call: ast.Call) -> None:
    """`model.set_weights(build().get_weights())`, and then rank 0's for all."""
    assert isinstance(call.func, ast.Attribute)
    held, statement = draft.module.text(call.func.value), draft.syntax.statement(call)
    alone = isinstance(statement, ast.Expr) and statement.value is call
    if not draft.once("fresh weights", statement):
        return
    alike = draft.uniform.reached_alike(statement) and not draft.drive.in_traced(statement)
    if not (alone and alike and draft.can_put_after(statement)):
        draft.ask("G1", call, _SENT, _WHY_SENT, _FRESH)
        return
    sent = f"{held}.variables" if call.func.attr == "set_weights" else f"[{held}]"
    lines = [f"{CORE}.broadcast_variables({sent}, root_rank=0)"]
    draft.change("G1", statement, _SENT, _WHY_SENT, draft.put_after(statement, lines))


def _begins_variable(draft: Draft, draw: ast.Call) -> bool:
    """Whether a variable begins with what is drawn that is broadcast: a model's own, or one that steps train."""
    for a in draft.syntax.ancestors(draw):
        if isinstance(a, ast.Call) and draft.names.of(a.func) == "tensorflow.Variable":
            owner = draft.syntax.method_class(draft.syntax.function(a))
            held = owner is not None and bool(HOLDERS & draft.values.ancestors(owner))
            return held or a in trained_by(draft, [v for u in draft.sites.updates for v in u.variables])
    return False


def _share(draft: Draft, draw: ast.Call, rule: str) -> None:
    """`tf.random.normal(shape)` → `hvd.broadcast(tf.random.normal(shape), root_rank=0)`, once."""
    if not draft.decide(draw, Agreed(rule)):
        return
    maker = draft.uniform.draws.maker(draw)
    name = draft.names.of((maker or draw).func) or ""
    of_tensorflow = name.startswith("tensorflow.")
    if not draft.uniform.reached_alike(draw) or (not of_tensorflow and draft.drive.in_traced(draw)):
        draft.refuse("HVD006", draw, _NOT_ALIKE)
        return
    around = (f"{HVD}.broadcast(", ", root_rank=0)") if of_tensorflow else (f"{CORE}.broadcast_object(", ")")
    draft.change(rule, draw, _WHAT, _WHY, Edit.around(draft.module.span(draw), *around))


def _set_by_hand(draft: Draft) -> Iterator[ast.Call]:
    """The calls in the training loops that set weights which steps train: `v.assign_add(…)`, `model.set_weights(…)`."""
    trained = _trained(draft)
    by_hand = {call for step in draft.sites.hand_updates for call in step.calls}
    for call in draft.sites.method_calls(*ASSIGNS, "set_weights"):
        assert isinstance(call.func, ast.Attribute)
        if call in by_hand or not call.args or not is_trained(draft, call.func.value, trained):
            continue
        ways = draft.drive.ways(call)
        in_own_step = any(frame.function in draft.sites.own_steps for way in ways for frame in way)
        if in_own_step or _is_in_loops(draft, call):
            yield call


def _is_in_loops(draft: Draft, call: ast.Call) -> bool:
    loops = _training_loops(draft)
    return any(loop in loops for way in draft.drive.ways(call) for frame in way for loop in frame.loops)


def _trained(draft: Draft) -> set[str]:
    """What steps train, as it is written, and the models of what has a name: `model` of `params = model.variables`."""
    variables = [v for u in draft.sites.updates for v in u.variables]
    asked = (n for n in draft.values.depends(variables, _FAR) if isinstance(n, ast.Attribute))
    models = {ast.unparse(n.value) for n in asked if n.attr in OF_MODEL}
    return models | {ast.unparse(base(v)) for v in variables}


def _training_loops(draft: Draft) -> set[Loop]:
    return {
        loop for u in draft.sites.updates for way in draft.drive.ways(u.call) for f in way for loop in f.loops
    }


def is_trained(draft: Draft, e: ast.expr, trained: set[str]) -> bool:
    """Whether a variable, or a model, is one that steps train."""
    return any(
        isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(base(n)) in trained
        for n in draft.values.depends([e], 60)
    )
