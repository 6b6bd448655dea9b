"""What M1, M4 and E1 share: session hooks, and directories that only rank 0 may write to."""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.python.syntax import argument, has_unpacking, position
from horovodize.rules.callbacks import unseen_hooks
from horovodize.rules.callbacks.callback_lists import elements, extended, in_place, only_on_root
from horovodize.rules.drafting.decisions import Left
from horovodize.rules.drafting.draft import CORE, ON_ROOT, Draft
from horovodize.rules.estimators.early_stopping import end_together
from horovodize.rules.numbers.shares import is_none
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import can_agree, differing, doubt_of
from horovodize.source import Edit

BASE = "tensorflow.compat.v1.train.SessionRunHook"
_BROADCAST = f"{CORE}.BroadcastGlobalVariablesHook(0)"
_WHAT = "Broadcast rank 0's variables before anything else"
_WHY = "Every rank initialises its own random weights, and only rank 0 restores a checkpoint; all start from rank 0's."
_WHY_WRITER = "It writes files or prints: rank 0 does, the others would write over it."
_WHAT_TOGETHER = "End the training on all ranks together"
_WHY_TOGETHER = "A rank that ends alone leaves the others waiting for its gradients: all end together."
_ALONE = "this may end the training of one rank while the others wait for it"
_IN_ONE_TEST = "decide it in one `if` at the end of the method, without `else` and `return`"
_COUNT_RUNS = (
    "the graph's step that a run gives may be that before or after it, another one on each rank: count the runs in the hook "
    "(`self.runs += 1`), and go by that"
)
_MEASURED_ALONE = (
    "this hook ends the training by what each rank has measured for itself: one would stop and the others wait for it; "
    "leave it out, or give a number of steps"
)


def broadcast_first(draft: Draft, rule: str, call: ast.Call, index: int) -> ast.expr | None:
    """Puts Horovod's broadcast hook before the hooks that a call is given, and returns those.

    Hooks run in their order: `StopAtStepHook(num_steps=n)` reads the global step, which may have to be rank 0's."""
    given = argument(call, "hooks", index)
    if given is None and any(isinstance(a, ast.Starred) for a in call.args):
        draft.refuse(
            "HVD006", call, "`*` may pass hooks, which a broadcast has to come before; give `hooks=…`"
        )
        return None
    if given is None:
        doubt = (
            "`**` may pass hooks too: then this call fails; pass them by name" if has_unpacking(call) else ""
        )
        alone = not call.args and not call.keywords  # then S3 puts the config into the same empty parentheses
        end = ", " if alone else ""
        edits = [draft.add_argument(call, f"hooks=[{_BROADCAST}]{end}", level=-1 if alone else 0)]
        draft.change(rule, call, _WHAT, _WHY, edits, doubt)
    elif is_none(given):
        draft.change(rule, given, _WHAT, _WHY, [Edit(draft.module.span(given), f"[{_BROADCAST}]")])
    else:
        draft.change(rule, given, _WHAT, _WHY, extended(draft, given, [_BROADCAST], BASE, in_place))
        return given
    return None


def place_hooks(draft: Draft, rule: str, given: ast.expr) -> None:
    """Leaves the hooks of a list that write or print to rank 0. Those of an Estimator that would stop one rank alone stop all
    ranks; others are refused."""
    for element in elements(draft, given):
        if not draft.decide(element, Left(rule)):
            continue
        roles = {role_of(draft, o.node) for o in draft.values.origins(element)}
        if roles == {"writes"}:
            only_on_root(draft, rule, element, "hook", _WHY_WRITER)
            for made in draft.values.calls(element):
                make_on_root(draft, rule, made, element)
        elif "decides alone" in roles:
            alike = rule == "E1" and roles == {"decides alone"} and end_together(draft, rule, element)
            if not alike:
                draft.refuse("HVD006", element, _MEASURED_ALONE)
        elif "writes" in roles:
            draft.note(
                rule, element, "some of these hooks write files: every rank will; give those on their own"
            )
        elif "unknown" in roles:
            unseen_hooks.ask(draft, rule, element, "hook")
        for made in draft.values.calls(element):
            _note_nan(draft, rule, made)


def role_of(draft: Draft, node: ast.AST) -> str:
    """What a hook does, by the expression that makes it: a role of the catalogue, or "own" for a class of this module."""
    if not isinstance(node, ast.Call):
        return "unknown"
    name = draft.names.of(node.func)
    if name is not None:
        return catalogue.hook_role(name)
    callee = draft.values.callee(node)
    if isinstance(callee, ast.ClassDef):
        roles = {catalogue.hook_role(base) for base in draft.values.ancestors(callee)}
        if unseen_hooks.inherits(draft, callee, catalogue.hook_role):
            return "unknown"
        return "writes" if "writes" in roles and not _stops(draft, callee) else "own"
    return "unknown"


def _stops(draft: Draft, cls: ast.ClassDef) -> bool:
    """Whether a class, or a base of it in this module, ends training."""
    family = draft.values.family(cls)
    return any(draft.syntax.owner(call) in family for call in draft.sites.method_calls("request_stop"))


def make_on_root(draft: Draft, rule: str, made: ast.Call, element: ast.expr) -> None:
    """A hook that opens its file when it is made is made on rank 0 only."""
    if made is element or not catalogue.hook_writes_when_made(draft.names.of(made.func) or ""):
        return
    if not isinstance(draft.syntax.parent.get(made), (ast.Assign, ast.AnnAssign)):
        draft.refuse("HVD006", made, "this hook writes a file when it is made; make it where it is passed")
    elif draft.once("made on root", made):
        edits = Edit.around(draft.module.span(made), "", f" if {ON_ROOT} else None")
        draft.change(rule, made, "Make this hook on rank 0", _WHY_WRITER, edits)


def _note_nan(draft: Draft, rule: str, made: ast.Call) -> None:
    """`NanTensorHook(loss, fail_on_nan_loss=False)` ends the run of one rank without an error."""
    fails = argument(made, "fail_on_nan_loss", 1)
    if draft.names.last(made.func) == "NanTensorHook" and isinstance(fails, ast.Constant) and not fails.value:
        draft.note(
            rule,
            made,
            "a rank whose loss is NaN ends alone, one step before the others, which then end with an error",
        )


# ---------------------------------------------------------------------- hooks that stop


def stop_together(draft: Draft, rule: str) -> bool:
    """`if loss < 0.1: run_context.request_stop()` in a hook of the user's own: all ranks stop when one wants to. Whether there
    is such a hook: all ranks must then run their sessions equally often."""
    found = False
    for call in draft.sites.method_calls("request_stop"):
        function = draft.syntax.function(call)
        owner = draft.syntax.method_class(function)
        if function is None or owner is None or not _is_hook(draft, owner):
            continue
        found = True
        tests = draft.syntax.conditions(call)
        own = [(t.test, arm) for t, arm in tests if _may_differ(draft, t.test)]
        if not own and not draft.syntax.loops(call):
            continue
        if own and all(means.decide_alike(draft, test) for test, _ in own):
            continue
        outer = draft.syntax.parent[own[0][0]] if own else None
        if len(own) == 1 and isinstance(outer, ast.If) and own[0][1] == "body" and _is_come_to(draft, outer):
            if draft.once("any rank", outer):
                edits = Edit.around(draft.module.span(outer.test), f"{draft.helper('any_rank')}(", ")")
                draft.change(
                    rule, outer.test, _WHAT_TOGETHER, _WHY_TOGETHER, edits, doubt_of(draft, outer.test)
                )
        else:
            told = any(_is_told(draft, test) for test, _ in own) and len(own) > 1
            draft.refuse("HVD006", call, f"{_ALONE}; {_COUNT_RUNS if told else _IN_ONE_TEST}")
    return found


def _is_hook(draft: Draft, owner: ast.ClassDef) -> bool:
    return any(catalogue.is_hook(base) for base in draft.values.ancestors(owner))


def _may_differ(draft: Draft, test: ast.expr) -> bool:
    """Whether ranks may decide a test in a hook differently; also by the graph's step, which a run may give before or after it
    has counted that run."""
    return _is_told(draft, test) or bool(differing(draft, test))


def _is_told(draft: Draft, test: ast.expr) -> bool:
    """Whether a test goes by what a run gives: `values.results`."""
    made_of = draft.values.depends([test], 400)
    return any(isinstance(n, ast.Attribute) and n.attr == "results" for n in made_of)


def _is_come_to(draft: Draft, test: ast.If) -> bool:
    """Whether all ranks come to a test in the same calls of its method, and none leaves before."""
    function = draft.syntax.function(test)
    assert function is not None
    before = [n for n in ast.walk(function) if isinstance(n, (ast.Return, ast.Raise))]
    return can_agree(draft, test) and not any(position(n) < position(test) for n in before)


# ---------------------------------------------------------------------- directories


def only_root_has(draft: Draft, rule: str, directory: ast.expr | None, what: str, why: str) -> bool:
    """`d` → `d if hvd.rank() == 0 else None`; whether there was something to change."""
    if directory is None or is_none(directory) or not draft.once("only rank 0's", directory):
        return False
    opening, closing = (
        ("(", ")") if isinstance(directory, (ast.IfExp, ast.Lambda, ast.NamedExpr)) else ("", "")
    )
    edits = Edit.around(draft.module.span(directory), opening, f"{closing} if {ON_ROOT} else None")
    draft.change(rule, directory, what, why, edits)
    return True


__all__ = [
    "BASE",
    "broadcast_first",
    "make_on_root",
    "only_root_has",
    "place_hooks",
    "role_of",
    "stop_together",
]
