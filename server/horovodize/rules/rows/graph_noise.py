"""Noise that a graph draws by a seed, and that a model is given alone: part of D3.

    tf.set_random_seed(1)
    z = tf.random_normal([64, 100])
    fake = generator(z)

As with noise that steps are fed (`fed_noise`), size() ranks with the same noise teach a generator what one would, whatever rows
the other network is fed beside. Noise that is added to rows, or drops some of them out, is none of this: the rows differ."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.rules.drafting.decisions import Apart
from horovodize.rules.drafting.draft import RANK, Draft
from horovodize.rules.numbers.shares import feeding, may_be_none
from horovodize.rules.rows import graph_seeds, seeds_apart
from horovodize.rules.scaling import strong
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver

_WHY = "Ranks that give a model the same noise teach it no more than one does, at size() times the rate."
_ASKED = (
    "with this seed every rank gives the model the same noise in {}, but by another one on each rank they would draw an order "
    "or a number apart as well: give that draw a seed of its own, and this one `+ {}`"
)
_MAYBE = "where a seed is given here, every rank gives the model the same noise in {}: let each rank have its own then, `+ {}`"
_LAYERS = frozenset(
    "dense conv1d conv2d conv3d conv2d_transpose conv3d_transpose separable_conv2d fully_connected convolution2d linear matmul "
    "Dense Conv1D Conv2D Conv2DTranspose dynamic_rnn static_rnn".split()
)
# What gives the same numbers in another form, or beside others.
_FORMS = frozenset(
    "reshape cast to_float expand_dims identity concat stack tile convert_to_tensor squeeze".split()
)
_SHUFFLING = ("shuffle", "random_shuffle", "shuffle_batch", "string_input_producer", "slice_input_producer")
_LIMIT = 2000
_DEPTH = 4


def apply(draft: Draft) -> None:
    if not draft.in_graph:
        return
    for driver in feeding(draft).drivers:
        for noise in _noise(draft, driver):
            own = graph_seeds.own_seed(noise)
            for seed in [own] if own is not None else graph_seeds.of_graphs(draft):
                _tell_apart(draft, seed, noise, of_graph=own is None)


def _tell_apart(draft: Draft, seed: ast.expr, noise: ast.Call, *, of_graph: bool) -> None:
    """Makes a seed another one on each rank; asks where it may be None, or where an order would go by it, too."""
    if draft.was(seed, Apart) or not draft.once("noise of a graph", seed):
        return
    if may_be_none(draft, seed):
        draft.ask("D3", seed, seeds_apart.WHAT, _WHY, _MAYBE.format(draft.line_words(noise, seed), RANK))
    elif of_graph and _draws_more(draft):
        draft.ask("D3", seed, seeds_apart.WHAT, _WHY, _ASKED.format(draft.line_words(noise, seed), RANK))
    else:
        graph_seeds.tell_apart(draft, seed)


def _draws_more(draft: Draft) -> bool:
    """Whether the graph shuffles, or a session runs a draw by itself, which all ranks may have to do alike."""
    shuffling = draft.module.calls_called(*_SHUFFLING)
    if feeding(draft).graph_feeds or any(not _is_of_others(draft, c) for c in shuffling):
        return True
    graph = draft.sites.graph
    trained = {run.call for run in graph.trainings}
    return any(
        isinstance(n, ast.Call) and graph_seeds.draws_rows(draft, n)
        for run in graph.all_runs
        if run not in trained
        for n in (o.node for o in draft.values.origins(graph.fetches(run)))
    )


def _is_of_others(draft: Draft, call: ast.Call) -> bool:
    """Whether a shuffle is one of NumPy's or Python's, with a stream of its own."""
    return (draft.names.of(call.func) or "").startswith(("numpy.", "random.", "sklearn."))


def _noise(draft: Draft, driver: Driver) -> Iterator[ast.Call]:
    """What the steps of a loop, which see other rows on each rank, are made of and draw, where a model is given it alone."""
    for step in driver.steps:
        if strong.scaling(draft, step) is strong.Scaling.WEAK:
            for n in draft.values.depends(step.args[:1], _LIMIT):
                if (
                    isinstance(n, ast.Call)
                    and graph_seeds.draws_rows(draft, n)
                    and _is_given(draft, n, _DEPTH)
                ):
                    yield n


def _is_given(draft: Draft, e: ast.expr, depth: int) -> bool:
    """Whether a layer, or a function of the program that has one, is called with a value, and nothing else goes with it."""
    child, parent = e, draft.syntax.parent[e]
    if isinstance(parent, ast.keyword):
        child, parent = e, draft.syntax.parent[parent]
    match parent:
        case _ if not depth:
            return False
        case ast.BinOp(left=left, right=right):
            return isinstance(right if left is child else left, ast.Constant) and _is_given(
                draft, parent, depth
            )
        case ast.List() | ast.Tuple():
            return _is_given(draft, parent, depth)
        case ast.Assign():
            return any(_is_given(draft, n, depth - 1) for n in _reads(draft, parent))
        case ast.Return():
            made_by = draft.syntax.function(parent)
            calls = [c for c in draft.syntax.calls if draft.values.callee(c) is made_by]
            return any(_is_given(draft, c, depth - 1) for c in calls)
        case ast.Call(func=func) if func is not child:
            last, callee = draft.names.last(func), draft.values.callee(parent)
            if isinstance(callee, FUNCTIONS):
                return any(_is_given(draft, n, depth - 1) for n in _parameter(draft, callee, parent, e))
            if last in _FORMS:
                return _is_given(draft, parent, depth)
            return last in _LAYERS
    return False


def _reads(draft: Draft, made: ast.Assign) -> Iterator[ast.expr]:
    """Where a name or a field is read that is set there."""
    for target in made.targets:
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        for read in draft.module.loads.get(name) if isinstance(name, str) and name else ():
            if any(b.statement is made for b in draft.values.bindings(read)):
                yield read


def _parameter(draft: Draft, function: Function, call: ast.Call, given: ast.expr) -> Iterator[ast.Name]:
    """Where a function reads the parameter that it gets an argument by."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and draft.syntax.method_class(function) is not None:
        parameters = parameters[1:]
    names = {k.arg for k in call.keywords if k.value is given}
    names |= {p for p, a in zip(parameters, call.args, strict=False) if a is given}
    for n in walk(function):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names:
            if any(b.kind == "parameter" for b in draft.module.scopes.reaching(n)):
                yield n


__all__ = ["apply"]
