"""Networks, or layers, that only some steps go through: part of G4.

`if random() > 0.2: h = block(h)` (stochastic depth), `if loss < 1: loss += critic(h)`: a rank that leaves one out has no
gradient for its variables. Ranks send their gradients in order; where one has fewer, the others wait for it, or get those of
other variables of the same shape. So all ranks leave out the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import CALLABLES, LOOPS, Loop, end, position
from horovodize.rules.deciding import deciding_averages
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import agree, can_agree, differing
from horovodize.rules.weights.steered import training_loops, used_in_losses

_WHAT = "Go through the same networks on all ranks"
_WHY = "Ranks that leave out another network have other gradients, and wait for each other, or mix them up."
_DOUBT = "each rank decides this by its own rows: now all of them do it when one of them does"
_OWN = (
    "each rank decides for itself here what the loss goes through, and the gradients of ranks would not match; decide by "
    "something that is the same on every rank"
)
_SHAPES = ("get_shape", "int_shape", "shape")
_AT_LEAST = 3  # after rows and two dimensions of theirs, which batches may have for themselves
_TRAINED = ("tensorflow.keras.layers.Layer", "tensorflow.keras.Model", "tensorflow.Module")
_WITHOUT_WEIGHTS = (
    "Activation", "Add", "AlphaDropout", "Average", "CenterCrop", "Concatenate", "Cropping", "Dot", "Dropout", "ELU", "Flatten",
    "Gaussian", "Global", "InputLayer", "Lambda", "LeakyReLU", "Masking", "Max", "Min", "Multiply", "Permute", "ReLU", "Random",
    "RepeatVector", "Rescaling", "Reshape", "Resizing", "Softmax", "Spatial", "Subtract", "Thresholded", "UpSampling",
    "ZeroPadding",
)  # fmt: skip


def tests(draft: Draft) -> Iterator[ast.expr]:
    """The tests by which a loss goes through a network or not, where each step runs them as Python does."""
    yield from (place.test for place in _decisions(draft) if not _may_be_traced(draft, place))


def decide_alike(draft: Draft) -> None:
    """Lets ranks decide together what each would by its own rows; what they draw is drawn alike by then. A graph that is made
    once with what a rank drew, or found in its rows, can't agree on it."""
    for place in _decisions(draft):
        test, traced = place.test, _may_be_traced(draft, place)
        kinds = (Source.ROWS, Source.CHANCE) if traced else (Source.ROWS,)
        reasons = (r for part in _besides_features(test) for r in differing(draft, part))
        own = [r for r in reasons if isinstance(r, Varies) and r.kind in kinds]
        if not own or draft.was(test, Agreed):
            continue
        if traced or not can_agree(draft, test):
            draft.refuse("HVD205", test, _OWN)
        elif not means.decide_alike(draft, test) and not deciding_averages.decide_alike(draft, test):
            agree(draft, test, _DOUBT, _WHY, _WHAT)


def _besides_features(test: ast.expr) -> Iterator[ast.expr]:
    """What a test compares, but for how many features rows have, each as many: `x.shape[-1] != self.channels`. How many rows
    there are, and how long they are, each batch has for itself."""
    match test:
        case ast.BoolOp(values=parts):
            pass
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case _:
            if not _is_number_of_features(test):
                yield test
            return
    for part in parts:
        yield from _besides_features(part)


def _is_number_of_features(e: ast.expr) -> bool:
    """`x.shape[-1]`, `x.shape[3]`, `x.get_shape().as_list()[-1]`"""
    match e:
        case ast.Subscript(value=shape, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            pass
        case ast.Subscript(value=shape, slice=ast.Constant(value=int(at))) if at >= _AT_LEAST:
            pass
        case _:
            return False
    while isinstance(shape, ast.Call) and isinstance(shape.func, ast.Attribute):
        if shape.func.attr in _SHAPES:
            return True
        shape = shape.func.value
    return isinstance(shape, ast.Attribute) and shape.attr == "shape"


def _decisions(draft: Draft) -> Iterator[ast.If | ast.IfExp]:
    """What decides in a step of the program's own whether its loss goes through a network. Where a graph goes by a tensor,
    gradients are zeros for what its other branch would have."""
    if draft.in_graph or not any(u.gradients and u.step_of is None for u in draft.sites.updates):
        return
    loops = training_loops(draft)
    for place in sorted(_places(draft), key=position):
        home = draft.syntax.function(place)
        if not _is_watched(draft, place) and (home is None or _holds_a_step(draft, home, loops)):
            continue  # outside of a tape: no gradient goes through it
        if _may_be_traced(draft, place) and _is_of_tensors(draft, place.test):
            continue
        once, other = _branches(draft, place)
        if _networks(draft, once) ^ _networks(draft, other):
            yield place


def _is_watched(draft: Draft, place: ast.AST) -> bool:
    """Whether a tape looks on where something stands."""
    around = (item for a in draft.syntax.ancestors(place) if isinstance(a, ast.With) for item in a.items)
    made = (item.context_expr for item in around)
    return any(isinstance(e, ast.Call) and draft.names.last(e.func) == "GradientTape" for e in made)


def _holds_a_step(draft: Draft, function: ast.AST, loops: set[Loop]) -> bool:
    """Whether a function takes gradients, or goes through rows, rather than computing a part of a loss."""
    taken = any(draft.syntax.inside(g, function) for u in draft.sites.updates for g in u.gradients)
    return taken or any(draft.syntax.inside(loop, function) for loop in loops)


def _places(draft: Draft) -> set[ast.If | ast.IfExp]:
    """The decisions in functions, or loops, that losses are computed in."""
    used = used_in_losses(draft)
    within = {draft.syntax.function(n) for n in used}
    found = set[ast.If | ast.IfExp]()
    for n in draft.syntax.every(ast.If, ast.IfExp):
        assert isinstance(n, (ast.If, ast.IfExp))
        if draft.syntax.function(n) in within and any(
            c in used for c in ast.walk(n) if isinstance(c, ast.Call)
        ):
            found.add(n)
        elif isinstance(n, ast.If) and any(isinstance(s, ast.Continue) for s in n.body):
            if draft.syntax.function(n) in within:
                found.add(n)
    return found


def _branches(draft: Draft, place: ast.If | ast.IfExp) -> tuple[list[ast.AST], list[ast.AST]]:
    """What runs where a test holds, and where it doesn't."""
    if isinstance(place, ast.IfExp):
        return [place.body], [place.orelse]
    other: list[ast.AST] = list(place.orelse)
    if any(isinstance(s, ast.Continue) for s in place.body):
        loop = next(iter(draft.syntax.loops(place)), None)
        after = loop.body if isinstance(loop, LOOPS) else []
        other += [s for s in after if position(s) > end(place)]
    return list(place.body), other


def _networks(draft: Draft, branch: list[ast.AST]) -> set[str]:
    """The networks and layers that are called there, as text."""
    calls = (n for s in branch for n in _inside(s) if isinstance(n, ast.Call))
    return {ast.unparse(c.func) for c in calls if _is_network(draft, c.func)}


def _inside(root: ast.AST) -> Iterator[ast.AST]:
    todo = [root]
    while todo:
        n = todo.pop()
        yield n
        if not isinstance(n, (*CALLABLES, ast.ClassDef)):
            todo += ast.iter_child_nodes(n)


def _is_network(draft: Draft, called: ast.expr) -> bool:
    """Whether what is called is a layer or a model with weights, or one of several."""
    made = list(draft.values.calls(called))
    if isinstance(called, (ast.Name, ast.Subscript)):
        made += [n for e in _groups(draft, called) for n in ast.walk(e) if isinstance(n, ast.Call)]
    return any(_has_weights(draft, call) for call in made)


def _has_weights(draft: Draft, made: ast.Call) -> bool:
    if not any(base in draft.values.made_by(made) for base in _TRAINED):
        return False
    if draft.names.last(made.func).startswith(_WITHOUT_WEIGHTS):
        return False
    parts = made.args[0].elts if made.args and isinstance(made.args[0], (ast.List, ast.Tuple)) else []
    calls = [c for part in parts for c in draft.values.calls(part)]
    return not calls or any(_has_weights(draft, c) for c in calls)


def _groups(draft: Draft, called: ast.Name | ast.Subscript) -> Iterator[ast.AST]:
    """The lists that a name goes through, `for block in self.blocks:`, or that it is picked from."""
    bound = draft.module.scopes.reaching(called) if isinstance(called, ast.Name) else []
    held = [b.value for b in bound if b.kind == "item" and b.value is not None]
    held += [called.value] if isinstance(called, ast.Subscript) else []
    for e in held:
        yield from (o.node for o in draft.values.origins(e))


def _may_be_traced(draft: Draft, place: ast.AST) -> bool:
    """Whether a graph is made of a place, also as a part of a model that a traced step calls."""
    if draft.drive.in_traced(place):
        return True
    of_a_class = draft.syntax.method_class(draft.syntax.function(place)) is not None
    return of_a_class and any(draft.drive.in_traced(u.call) for u in draft.sites.updates)


def _is_of_tensors(draft: Draft, test: ast.expr) -> bool:
    calls = [n for n in draft.values.depends([test], 100) if isinstance(n, ast.Call)]
    return any((draft.names.of(c.func) or "").startswith("tensorflow.") for c in calls)


__all__ = ["decide_alike", "tests"]
