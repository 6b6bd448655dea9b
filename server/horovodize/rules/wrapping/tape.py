"""G1 tape, K7 train_step: the tape averages the gradients over all ranks.

What it does   After `with tf.GradientTape(…) as tape:` comes `tape = hvd.DistributedGradientTape(tape)`. Where the gradient
               is taken inside the `with`, the tape is wrapped where it is made (a second tape can't compute what the first
               still records: RuntimeError, measured); a tape that also takes gradients that must stay local is wrapped at
               the call that trains. A Keras model's own `train_step` (K7) is wrapped the same way.
               Gradients of lists in a list, or of a dictionary, which a distributed tape can't take, are asked for in
               one list (`tf.nest`). Gradients that move the variables, which are moved back before the update (SAM), are
               averaged, too. Random numbers that change gradients or weights after that are rank 0's on all ranks:
               `g + hvd.broadcast(tf.random.normal(g.shape), root_rank=0)`.
Why            Each rank computes gradients of its own batch; applied as they are, the models drift apart silently.
Before         with tf.GradientTape() as tape:
                   loss = loss_fn(y, model(x))
               grads = tape.gradient(loss, model.trainable_variables)
After          with tf.GradientTape() as tape:
                   loss = loss_fn(y, model(x))
               tape = hvd.DistributedGradientTape(tape)
               grads = tape.gradient(loss, model.trainable_variables)
Leaves alone   Tapes whose gradients reach no optimizer: a gradient penalty's, a saliency map's.
Refuses        Gradients of which no tape can be found (implicit gradients, another module's function), and what `jacobian`
               gives, which a distributed tape does not average: HVD006. Gradients that are changed, once they are averaged,
               by what a rank computes of its own rows (`g * reward`). An optimizer that applies a tape's gradients and
               minimizes too (HVD006).
Source         Seed 2.4.1, with items. Errata: the seed knows `tf.GradientTape()` without arguments and one tape a `with`,
               and wraps every tape. An optimizer wrapper alone does not average inside a `train_step` (horovod#2893,
               measured).
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.scaling import strong
from horovodize.rules.weights import drifting
from horovodize.rules.weights.step_state import is_nested, is_one_variable
from horovodize.rules.wrapping import after_averaging
from horovodize.source import Edit
from horovodize.summary.site_kinds import Update

_WHY = "Gradients are averaged over all ranks before they are applied."
_ONE = "Horovod's tape averages lists of gradients only."
_WHAT = "Wrap the tape in Horovod's"
_NESTED = "Horovod's tape averages lists of gradients only; give the variables that these lists are made of as one list"
_MIXED = "this optimizer applies gradients of a tape and minimizes too; take all its gradients from tapes"
# What is the same when it is asked for again.
_PLAIN = (ast.Name, ast.Attribute, ast.List, ast.Tuple, ast.Dict, ast.Constant, ast.expr_context)


def apply(draft: Draft) -> None:
    _refuse_mixed(draft)
    for update in draft.sites.updates:
        if update.method == "apply_gradients" and not update.gradients:
            draft.refuse(
                "HVD006",
                update.call,
                "the tape that these gradients come from can't be found in this file, so nothing averages them over "
                "the ranks; take the gradients here",
            )
    training = [call for call in draft.sites.training_gradients if _averaged(draft, call)]
    for call in training:
        source = argument(call, "sources", 1)
        if source is not None and is_one_variable(draft, source):
            edits = (
                *Edit.around(draft.module.span(source), "[", "]"),
                *Edit.around(draft.module.span(call), "", "[0]"),
            )
            draft.change(_rule(draft, call), call, "Ask the tape for a list of one gradient", _ONE, edits)
        elif source is not None and is_nested(draft, source):
            _flatten(draft, call, source)
    for with_statement, name, calls in _grouped(draft, training):
        if with_statement is None:
            for call in calls:
                _wrap_at_call(draft, call)
        else:
            wrap = f"{name} = {CORE}.DistributedGradientTape({name}{_operation(draft, calls)})"
            rule = _rule(draft, calls[0])
            draft.change(rule, calls[0], _WHAT, _WHY, [draft.after(with_statement, [wrap], level=-1)])
    after_averaging.keep_alike(draft)
    if draft.sites.own_steps:
        drifting.ask_of_drifting(draft, None)


def _flatten(draft: Draft, call: ast.Call, source: ast.expr) -> None:
    """`tape.gradient(loss, [a, b])` → `tf.nest.pack_sequence_as([a, b], tape.gradient(loss, tf.nest.flatten([a, b])))`."""
    again = draft.module.text(source)
    if any(not isinstance(n, _PLAIN) for n in ast.walk(source)) or argument(call, "output_gradients", 2):
        draft.refuse("HVD006", source, _NESTED)
        return
    nest = f"{draft.tensorflow()}.nest"
    edits = (
        *Edit.around(draft.module.span(source), f"{nest}.flatten(", ")"),
        *Edit.around(draft.module.span(call), f"{nest}.pack_sequence_as({again}, ", ")"),
    )
    draft.change(_rule(draft, call), call, "Ask the tape for one list of gradients", _ONE, edits)


def _averaged(draft: Draft, call: ast.Call) -> bool:
    """Whether a distributed tape averages what a call gives: of all that tapes compute, `gradient` only."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "gradient":
        draft.refuse(
            "HVD006",
            call,
            f"`{call.func.attr}` of a distributed tape is not averaged by Horovod, so the ranks' models would "
            "differ; use `gradient`",
        )
        return False
    return True


def _refuse_mixed(draft: Draft) -> None:
    """An optimizer that applies a tape's gradients and minimizes too: the one has the tape wrapped, the other itself."""
    applying = [u for u in draft.sites.updates if u.method == "apply_gradients"]
    for update in draft.sites.updates:
        if update.method == "minimize" and any(
            _is_same_optimizer(draft, update, other) for other in applying
        ):
            draft.refuse("HVD006", update.call, _MIXED)


def _is_same_optimizer(draft: Draft, one: Update, other: Update) -> bool:
    """Whether two updates may be of one optimizer: of one `train_step`, of a name of one function, or made by one call."""
    if one.step_of is not None or other.step_of is not None:
        return one.step_of is other.step_of
    a, b = one.optimizer, other.optimizer
    if a is None or b is None:
        return True
    named = draft.syntax.function(a) is draft.syntax.function(b) and ast.unparse(a) == ast.unparse(b)
    return named or not set(draft.values.calls(a)).isdisjoint(draft.values.calls(b))


def _operation(draft: Draft, calls: list[ast.Call]) -> str:
    """What a tape is told besides: whether gradients are added up rather than averaged."""
    return strong.operation(draft, [u.call for c in calls for u in _updates_by(draft, c)])


def _rule(draft: Draft, call: ast.Call) -> str:
    return "K7" if any(u.step_of is not None for u in _updates_by(draft, call)) else "G1"


def _updates_by(draft: Draft, gradient: ast.Call) -> list[Update]:
    """The updates that a gradient reaches: of one by which variables are moved and moved back, those of its function."""
    if gradient in draft.sites.moving_gradients:
        function = draft.syntax.function(gradient)
        return [u for u in draft.sites.updates if draft.syntax.function(u.call) is function]
    return [u for u in draft.sites.updates if gradient in u.gradients]


def _grouped(draft: Draft, training: list[ast.Call]) -> list[tuple[ast.With | None, str, list[ast.Call]]]:
    """The training gradients by the `with` that makes their tape; None where the wrapper has to stand at the call."""
    by_with: dict[tuple[ast.With, str], list[ast.Call]] = {}
    at_call: list[ast.Call] = []
    for call in training:
        maker = _maker(draft, call)
        if maker is None:
            at_call.append(call)
        else:
            by_with.setdefault(maker, []).append(call)
    found: list[tuple[ast.With | None, str, list[ast.Call]]] = []
    for (statement, name), calls in by_with.items():
        others = [g for g in _gradients_of(draft, statement, name) if g not in calls]
        inside = any(draft.syntax.inside(c, statement) for c in calls)
        if others:
            at_call += calls
        elif inside or not draft.can_insert(statement):
            _wrap_where_made(draft, statement, name, calls[0])
        else:
            found.append((statement, name, calls))
    return [*found, *([(None, "", at_call)] if at_call else [])]


def _maker(draft: Draft, call: ast.Call) -> tuple[ast.With, str] | None:
    """The one `with` that binds the name on which `gradient` is called, in the same function."""
    assert isinstance(call.func, ast.Attribute)
    tape = call.func.value
    if not isinstance(tape, ast.Name):
        return None
    scopes = draft.module.scopes
    latest = next(iter(scopes.reaching(tape)), None)
    if latest is None or latest.kind != "with" or not isinstance(latest.statement, ast.With):
        return None
    if draft.syntax.function(latest.statement) is not draft.syntax.function(call):
        return None
    return (latest.statement, tape.id) if scopes.dominates(latest, tape) else None


def _gradients_of(draft: Draft, statement: ast.With, name: str) -> list[ast.Call]:
    """Every `gradient` or `jacobian` call on the tape that a `with` makes, under this name."""
    found = []
    for call in draft.sites.method_calls("gradient", "jacobian", "batch_jacobian"):
        assert isinstance(call.func, ast.Attribute)
        tape = call.func.value
        if isinstance(tape, ast.Name) and tape.id == name:
            if any(b.statement is statement for b in draft.module.scopes.reaching(tape)):
                found.append(call)
    return found


def _wrap_where_made(draft: Draft, statement: ast.With, name: str, call: ast.Call) -> None:
    """A gradient taken while the tape still records: only the recording tape itself may compute it."""
    for item in statement.items:
        if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name:
            edits = Edit.around(
                draft.module.span(item.context_expr),
                f"{CORE}.DistributedGradientTape(",
                f"{_operation(draft, [call])})",
            )
            draft.change(_rule(draft, call), item.context_expr, _WHAT, _WHY, edits)


def _wrap_at_call(draft: Draft, call: ast.Call) -> None:
    assert isinstance(call.func, ast.Attribute)
    op = _operation(draft, [call])
    edits = Edit.around(draft.module.span(call.func.value), f"{CORE}.DistributedGradientTape(", f"{op})")
    draft.change(_rule(draft, call), call, _WHAT, _WHY, edits)


RULE = Rule("G1", "wrap the tape", apply, __doc__ or "")
TRAIN_STEP = Rule("K7", "wrap the tape of a model's own train_step", apply, __doc__ or "")
