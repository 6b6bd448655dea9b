"""Loops in whose every turn training begins anew, as what is trained is made there: one of several tasks, a fold, a candidate.

What such a loop goes through is no batch of one training, so ranks don't deal it out: they take each turn together, or the
gradients of different trainings would be averaged."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Loop, Syntax, argument
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.sites import Sites


def begun_anew(syntax: Syntax, way: tuple[Frame, ...], made: Collection[ast.AST]) -> frozenset[Loop]:
    """The loops of a way in whose every turn one of the calls runs that make what is trained."""
    found = set[Loop]()
    for i, frame in enumerate(way):
        deeper = {f.function for f in way[:i]}
        for loop in frame.loops:
            if any(
                syntax.inside(m, loop) or (syntax.function(m) in deeper and syntax.function(m)) for m in made
            ):
                found.add(loop)
    return frozenset(found)


def initialized_anew(sites: Sites, drive: Drive, way: tuple[Frame, ...]) -> frozenset[Loop]:
    """The loops of a way in whose every turn a session gives its variables new values, as for one of several folds or tasks:
    `for fold in folds: sess.run(tf.global_variables_initializer()); …`. What only some turns do begins no training there."""
    begin = {run.call for run in sites.graph.runs if run.kind == "initialize"}
    if not begin:
        return frozenset()
    always = set[ast.AST](c for c in begin if not drive.module.syntax.conditions(c))
    return frozenset(
        loop
        for frame in way
        for loop in frame.loops
        if any(c in begin or drive.reaches(c, always) for c in _always_called(loop.body))
    )


def _always_called(block: list[ast.stmt]) -> Iterator[ast.Call]:
    """The calls of a block that each of its runs comes to: not those under conditions and in loops."""
    for statement in block:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _always_called(statement.body)
        elif isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
            yield from (n for n in walk(statement) if isinstance(n, ast.Call))


def models_of(module: Module, sites: Sites, site: ast.Call) -> frozenset[ast.AST]:
    """The calls that make the models which an update trains; none where some of what it trains isn't seen to be a model's."""
    update = next((u for u in sites.updates if u.call is site), None)
    given = [argument(g, "sources", 1) for g in update.gradients] if update is not None else []
    if not given or not all(isinstance(e, ast.Attribute) and e.attr in OF_MODEL for e in given):
        return frozenset()
    made = [_made(module, e.value) for e in given if isinstance(e, ast.Attribute)]
    return frozenset(call for calls in made for call in calls) if all(made) else frozenset()


def _made(module: Module, model: ast.expr) -> list[ast.AST]:
    """The calls that make a model, and those of the functions that give it: `learner = make()`."""
    made: list[ast.AST] = []
    for call in module.values.calls(model):  # a layer is made with its model: `model.get_layer("body")`
        is_part = isinstance(call.func, ast.Attribute) and call.func.attr == "get_layer"
        made += module.values.calls(call.func.value) if is_part else [call]  # type: ignore[attr-defined]
    bound = module.scopes.reaching(model) if isinstance(model, ast.Name) else []
    for call in (b.value for b in bound if isinstance(b.value, ast.Call) and not b.path):
        callee = module.values.callee(call)
        if isinstance(callee, FUNCTIONS) and made and all(module.syntax.inside(m, callee) for m in made):
            made.append(call)
    return made


__all__ = ["begun_anew", "initialized_anew", "models_of"]
