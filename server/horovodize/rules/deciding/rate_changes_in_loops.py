"""Settings of training that a rank would change alone: part of G4.

`if loss > best: rate = rate / 2` needs no collective, so nothing stalls; but ranks that go on with different rates train
different models. So do ranks that set weights back (`if loss > best: model.set_weights(kept)`) or freeze layers. What is
decided so is decided for all of them. Weights that each rank chose by itself, the best of its own losses, are rank 0's where
the model gets them back: steps of one's own send weights once, when training begins.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from horovodize import catalogue
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.files.kept import CHECKPOINTS
from horovodize.python.syntax import CALLABLES, Loop, argument, arguments, end, position
from horovodize.rules.deciding import chosen_for_steps, deciding_averages
from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.other_names import sets_value
from horovodize.rules.rates import rates_by_step
from horovodize.rules.resuming import resume
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import Cause, agree, agree_value, cause_of, differing
from horovodize.rules.wrapping import gradient_factors
from horovodize.rules.wrapping.after_averaging import ASSIGNS, is_trained
from horovodize.rules.wrapping.optimizers import rate_argument, trained_optimizers
from horovodize.summary.undone_steps import base

_WHAT = "Change what training depends on, on all ranks together"
_WHY = "Ranks that train with different settings train different models."
_DOUBT = "each rank decides this by values of its own: now all of them do it when one of them does"
_CHOSEN = "Go on with the weights that rank 0 chose"
_WHY_CHOSEN = "Each rank chose them by its own losses: with others, the ranks would train different models."
_OWN = (
    "each rank chose these weights by values of its own, and nothing sends rank 0's: where all ranks come here, add "
    "`hvd.broadcast_variables(model.variables, root_rank=0)` (of `horovod.tensorflow`) after it"
)
_RATES = ("learning_rate", "lr")
_SET_VALUE = "tensorflow.keras.backend.set_value"
_BY_FILES = (Source.FILES, Source.FAILURE)
# Names, as they are written, and statements that set what training goes by.
_Steering: TypeAlias = set[str | ast.AST]
_FILLING = ("append", "appendleft", "add", "insert", "extend", "update", "pop", "popleft", "remove", "clear")
_WEIGHTS = ("set_weights", "load_weights", "restore")


def keep_alike(draft: Draft, loop: Loop, sites: set[ast.AST]) -> None:
    """Makes ranks agree where one would change a setting of training in a loop."""
    fed = _fed(draft, sites) | _set_from(draft) | gradient_factors.settings(draft)
    for decision in _decisions(draft, loop):
        if not _is_agreed(draft, decision) and cause_of(draft, decision.test, loop) is not Cause.COUNT:
            _keep_alike(draft, decision, fed)


def keep_hooks_alike(draft: Draft, sites: set[ast.AST]) -> None:
    """The same in hooks of sessions, which run with each step."""
    fed: _Steering | None = None
    for decision in draft.syntax.every(ast.If):
        assert isinstance(decision, ast.If)
        cls = draft.syntax.method_class(draft.syntax.function(decision))
        if cls is None or not any(catalogue.is_hook(base) for base in draft.values.ancestors(cls)):
            continue
        if not _is_agreed(draft, decision) and differing(draft, decision.test):
            fed = _fed(draft, sites) | _set_from(draft) if fed is None else fed
            _keep_alike(draft, decision, fed)


def _keep_alike(draft: Draft, decision: ast.If, fed: _Steering) -> None:
    """Lets all ranks decide alike where something under an `if` changes a setting of training."""
    inside = [] if draft.drive.in_traced(decision) else _done_by(draft, decision)
    if not any(_sets(draft, n, fed) for n in inside) and not (
        any(_sets_weights(draft, n) or _chooses(draft, n) for n in inside)
        and _is_measured(draft, decision.test)
    ):
        return
    resume.agree_on_restored(draft, decision.test)
    if not differing(draft, decision.test):
        return
    if not means.decide_alike(draft, decision.test) and not deciding_averages.decide_alike(
        draft, decision.test
    ):
        agree(draft, decision.test, _DOUBT, _WHY, _WHAT)


def keep_weights_alike(draft: Draft) -> None:
    """Weights that a model is given back outside of callbacks, where no `fit` sends rank 0's before the next steps."""
    stepped = {ast.unparse(f.model) for f in draft.sites.fits if f.method == "train_on_batch"}
    stepped |= {
        ast.unparse(v.value)
        for u in draft.sites.updates
        if u.step_of is None
        for v in u.variables
        if isinstance(v, ast.Attribute)
    }
    for call in draft.sites.method_calls("set_weights"):
        assert isinstance(call.func, ast.Attribute)
        given = argument(call, "weights", 0)
        if given is None or ast.unparse(call.func.value) not in stepped or draft.drive.in_traced(call):
            continue
        own = [r for r in differing(draft, given) if isinstance(r, Varies) and r.kind not in _BY_FILES]
        if not own or _is_chosen_together(draft, given):
            continue
        if draft.in_graph or not agree_value(draft, given, "G4", _CHOSEN, _WHY_CHOSEN):
            draft.ask("G4", call, _CHOSEN, _WHY_CHOSEN, _OWN)


def _is_chosen_together(draft: Draft, given: ast.expr) -> bool:
    """Whether what decided that weights are kept is decided by all ranks together, and nothing else makes them differ."""
    if any(isinstance(r, Varies) for r in draft.uniform.of_values.reasons(given)):
        return False
    nodes = [n for n in draft.values.depends([given], 200) if isinstance(n, (ast.Name, ast.Attribute))]
    bound = [b for n in nodes for b in draft.values.bindings(n)]
    around = [a for b in bound for a in draft.syntax.ancestors(b.statement) if isinstance(a, ast.If)]
    varying = [a for a in around if any(isinstance(r, Varies) for r in draft.uniform.reasons(a.test))]
    return bool(varying) and all(_is_agreed(draft, a) or not differing(draft, a.test) for a in varying)


def _is_agreed(draft: Draft, decision: ast.If) -> bool:
    """Whether all ranks decide the same: by one test, or by rank 0's values from this `if` or one around it on."""
    return any(draft.was(n, Agreed) for n in (decision.test, decision, *draft.syntax.ancestors(decision)))


def _decisions(draft: Draft, loop: Loop) -> Iterator[ast.If]:
    """The `if`s of a loop, those of loops in it left out; and those of functions that it calls, where all ranks come to them
    once those before are agreed on."""
    syntax = draft.syntax
    yield from (n for n in _inside(loop) if isinstance(n, ast.If) and syntax.loops(n)[:1] == [loop])
    for n in syntax.every(ast.If):
        called = (loop in frame.loops for way in draft.drive.ways(n) for frame in way[1:])
        if not syntax.loops(n) and any(called) and draft.uniform.reached_alike(n):
            yield n


def _inside(root: ast.AST) -> list[ast.AST]:
    """What runs in a statement: not the bodies of functions that it defines."""
    found: list[ast.AST] = []
    todo = list(ast.iter_child_nodes(root))
    while todo:
        n = todo.pop()
        found.append(n)
        if not isinstance(n, (*CALLABLES, ast.ClassDef)):
            todo += ast.iter_child_nodes(n)
    return found


def _done_by(draft: Draft, decision: ast.If) -> list[ast.AST]:
    """What runs or doesn't by a decision, also in functions that are called there: `lower_rate()`."""
    found = [*_inside(decision), *_passed_over(draft, decision)]
    called, seen = [n for n in found if isinstance(n, ast.Call)], set[ast.AST]()
    while called:
        callee = draft.values.callee(called.pop())
        if isinstance(callee, CALLABLES) and callee not in seen and not _takes_steps(draft, callee):
            seen.add(callee)
            more = _inside(callee)
            found += more
            called += [n for n in more if isinstance(n, ast.Call)]
    return found


def _takes_steps(draft: Draft, function: ast.AST) -> bool:
    """Whether a function is on the way to a step: what decides that it's called is looked at as one that takes steps."""
    return any(
        draft.syntax.inside(frame.node, function)
        for update in draft.sites.updates
        for way in draft.drive.ways(update.call)
        for frame in way
    )


def _passed_over(draft: Draft, decision: ast.If) -> list[ast.AST]:
    """What does not run where a decision ends a function or a turn: `if mean < best: return`, and what comes after it."""
    ends = {type(n) for n in _inside(decision)} & {ast.Return, ast.Continue}
    loop = next(iter(draft.syntax.loops(decision)), None)
    within = draft.syntax.function(decision) if ast.Return in ends else loop
    rest = _inside(within) if ends and within is not None else []
    return [n for n in rest if isinstance(n, (ast.stmt, ast.expr)) and position(n) > end(decision)]


def _sets(draft: Draft, n: ast.AST, fed: _Steering) -> bool:
    """Whether something changes what training depends on: a rate, a variable of the graph, a number that steps are fed, or
    that gradients are multiplied with."""
    if n in fed:
        return True
    if isinstance(n, (ast.Assign, ast.AugAssign)):
        targets = [
            t for part in (n.targets if isinstance(n, ast.Assign) else [n.target]) for t in _parts(part)
        ]
        return any(
            (isinstance(t, (ast.Name, ast.Attribute)) and ast.unparse(t) in fed)
            or (isinstance(t, ast.Subscript) and ast.unparse(t.value) in fed)
            or (isinstance(t, ast.Attribute) and t.attr in _RATES)
            for t in targets
        )
    if not isinstance(n, ast.Call):
        return False
    if draft.names.of(n.func) == _SET_VALUE or sets_value(draft, n) and _is_rate(n.args[0]):
        return True
    if any(_is_rate(pair.elts[0]) for pair in set_together.pairs(draft, n)):
        return True
    if n in draft.sites.graph.all_runs and draft.in_graph:
        return any(
            isinstance(o, ast.Call)
            and draft.names.last(o.func) in ("assign", "assign_add", "assign_sub", "group")
            for fetched in n.args[:1]
            for o in draft.sites.graph.operations(fetched)
        )
    func = n.func
    if isinstance(func, ast.Attribute) and func.attr in _FILLING and ast.unparse(func.value) in fed:
        return True  # `bad.append(epoch)`, of `rate * 0.5 ** len(bad)`
    return isinstance(func, ast.Attribute) and func.attr == "assign" and _is_rate(func.value)


def _parts(target: ast.expr) -> list[ast.expr]:
    """`rate` and `bad` of `rate, bad = rate / 2, 0`."""
    return list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _sets_weights(draft: Draft, n: ast.AST) -> bool:
    """Whether something sets weights, what an optimizer keeps of them, or which of them are trained."""
    if isinstance(n, ast.Assign):
        return any(isinstance(t, ast.Attribute) and t.attr == "trainable" for t in n.targets)
    if not isinstance(n, ast.Call) or not isinstance(n.func, ast.Attribute):
        return False
    return n.func.attr in _WEIGHTS or (n.func.attr in ASSIGNS and _is_trained(draft, n))


def _chooses(draft: Draft, n: ast.AST) -> bool:
    """Whether another optimizer, or another network, is set for later steps: `opt = fine`."""
    if not isinstance(n, ast.Assign) or draft.in_graph:
        return False
    read = chosen_for_steps.chosen(draft)
    return any(chosen_for_steps.is_chosen(draft, t, read) for part in n.targets for t in _parts(part))


def _is_trained(draft: Draft, assigns: ast.Call) -> bool:
    """Whether a variable is set that steps train, or one of the optimizer's, but not by a step itself."""
    if draft.in_graph or any(assigns in step.calls for step in draft.sites.hand_updates):
        return False
    assert isinstance(assigns.func, ast.Attribute)
    updates = draft.sites.updates
    trained = {ast.unparse(base(v)) for u in updates for v in u.variables}
    trained |= {ast.unparse(u.call.func.value) for u in updates if isinstance(u.call.func, ast.Attribute)}
    kept = assigns.func.value
    for made in draft.values.calls(kept.value) if isinstance(kept, ast.Attribute) else ():
        if isinstance(kept, ast.Attribute) and draft.names.of(made.func) in CHECKPOINTS:
            held = argument(made, kept.attr)  # `checkpoint.step`, which holds the networks, too
            return held is not None and is_trained(draft, held, trained)
    return not _is_rate(kept) and is_trained(draft, kept, trained)


def _is_measured(draft: Draft, test: ast.expr) -> bool:
    """Whether ranks decide by what each of them measured, not by files that one may not have."""
    return not any(isinstance(r, Varies) and r.kind in _BY_FILES for r in differing(draft, test))


def _is_rate(e: ast.expr) -> bool:
    return (
        isinstance(e, (ast.Name, ast.Attribute)) and (e.id if isinstance(e, ast.Name) else e.attr) in _RATES
    )


def _fed(draft: Draft, sites: set[ast.AST]) -> _Steering:
    """Names of rates that steps are given: in a feed, or as an argument on the way to a step."""
    found: set[str] = set()
    for site in sites:
        for way in draft.drive.ways(site):
            for frame in way:
                if isinstance(frame.node, ast.Call):
                    given = arguments(frame.node)
                    found |= {n.id for n in draft.values.depends(given, 200) if isinstance(n, ast.Name)}
    rates = (
        [(t.call, t.class_name) for t in trained_optimizers(draft) if t.call is not None]
        if draft.in_graph
        else []
    )
    made = [rate for call, name in rates if (rate := rate_argument(call, name)) is not None]
    given_as = [n for rate in made for e in rates_by_step.fed(draft, rate) for n in ast.walk(e)]
    named = {name for name in found if "lr" in name.lower() or "rate" in name.lower()}
    return {*named, *(ast.unparse(n) for n in given_as if isinstance(n, (ast.Name, ast.Attribute)))}


def _set_from(draft: Draft) -> _Steering:
    """Names, also of attributes, that a setting is set from: `self.rate` of `K.set_value(optimizer.lr, self.rate)`."""
    given = [argument(c, "value", 1) for c in draft.module.calls_of(_SET_VALUE)]
    given += [pair.elts[1] for pair in set_together.pairs(draft)]
    for call in draft.sites.method_calls("assign"):
        if isinstance(call.func, ast.Attribute) and _is_rate(call.func.value):
            given.append(argument(call, "value", 0))
    for s in draft.syntax.every(ast.Assign):
        if any(isinstance(t, ast.Attribute) and t.attr in _RATES for part in s.targets for t in _parts(part)):
            given.append(s.value)
    made_of = (n for e in given if e is not None for n in ast.walk(e))
    return {ast.unparse(n) for n in made_of if isinstance(n, (ast.Name, ast.Attribute))}
