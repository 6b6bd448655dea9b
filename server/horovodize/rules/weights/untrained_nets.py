"""Random networks that Keras' training looks at and does not train: what gives its targets, or measures its loss. Part of K3.

Each rank's has its own random weights, so each rank would be given another task. They take rank 0's where they are made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, argument
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.weights.target_networks import called_with_weights, made_of, may_be_new

_WHAT = "Give every rank rank 0's weights of a network that is not trained"
_WHY = "Ranks whose networks have other random weights are given other targets, or another loss."
_LATE = (
    "this network is not trained, and has its own random weights on each rank: broadcast them when it has them, by "
    "`hvd.broadcast_variables({name}.variables, root_rank=0)`"
)


def broadcast_untrained(draft: Draft) -> None:
    """Broadcasts what `fit` and `train_on_batch` depend on and do not train."""
    fits = draft.sites.fits
    if not fits or draft.in_graph:
        return
    values = draft.values
    used = set(values.depends(list(_seen_by_training(draft)), 4000))
    trained = set(values.depends([f.model for f in fits], 4000))
    trained |= {made for f in fits for made in made_of(draft, f.model)}
    trained |= {n for u in draft.sites.updates for v in u.variables for n in values.depends([v], 400)}
    for e, call in called_with_weights(draft):
        made = set(values.calls(e))
        if call not in used or made & trained:
            continue
        if not any(is_loaded(draft, c, e) for c in made):
            _broadcast(draft, e, made)


def _seen_by_training(draft: Draft) -> Iterator[ast.AST]:
    """What training is given: rows, targets, and what the losses of its models return."""
    for fit in draft.sites.fits:
        for name, index in (("x", 0), ("y", 1), ("sample_weight", None)):
            given = argument(fit.call, name, index)
            if given is not None:
                yield given
    for compiled in draft.sites.compiles:
        loss = argument(compiled.call, "loss", 1)
        for origin in draft.values.origins(loss) if loss is not None else ():
            if isinstance(origin.node, CALLABLES):
                yield from draft.values.returned(origin.node)


def is_loaded(draft: Draft, made: ast.Call, e: ast.expr) -> bool:
    """Whether weights come from a file, the same one on all ranks."""
    name = draft.names.of(made.func) or ""
    if ".applications." in name:
        return not may_be_new(draft.module, argument(made, "weights"))
    if name.endswith((".load_model", "hub.load", "KerasLayer")):
        return True
    text = ast.unparse(e)
    loads = (c.func for c in draft.sites.method_calls("load_weights", "set_weights"))
    return any(isinstance(f, ast.Attribute) and ast.unparse(f.value) == text for f in loads)


def _broadcast(draft: Draft, e: ast.expr, made: set[ast.Call]) -> None:
    binding = _binding(draft, e)
    name = ast.unparse(e)
    key = binding.statement if binding is not None else next(iter(made))
    if not draft.once("untrained network", key):
        return
    if binding is None or not all(draft.facts.built.at_once(c) for c in made):
        draft.ask("K3", e, _WHAT, _WHY, _LATE.format(name=name))
        return
    lines = draft.lines_of(
        f"{CORE}.broadcast_variables({name}.variables, root_rank=0)",
        comment="Horovod: every rank takes rank 0's weights of what is not trained.",
    )
    assert isinstance(binding.statement, ast.stmt)
    draft.change("K3", binding.statement, _WHAT, _WHY, [draft.after(binding.statement, lines)])


def _binding(draft: Draft, e: ast.expr) -> Binding | None:
    """Where a network gets its name, if all ranks come to that one place and lines can stand after it."""
    found = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(found) != 1 or found[0].kind != "assign" or found[0].path:
        return None
    statement = found[0].statement
    if not isinstance(statement, ast.stmt) or not draft.can_insert(statement):
        return None
    alike = draft.uniform.reached_alike(statement) and not draft.drive.in_traced(statement)
    return found[0] if alike else None


__all__ = ["broadcast_untrained", "is_loaded"]
