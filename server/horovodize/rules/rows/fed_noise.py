"""Noise that a model is given and that a seed fixes: part of D3.

The generator of a GAN learns from noise as others learn from rows. Where a seed has every rank draw the same noise, size()
ranks teach it what one would, at size() times the rate. Noise that is added to rows is none of this: the rows differ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.sources import SEED_GENERATOR, SEEDS
from horovodize.python.random_generators import MAKERS
from horovodize.python.syntax import FUNCTIONS, Function, argument, arguments, has_unpacking
from horovodize.rules.drafting.decisions import Apart
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.numbers.shares import draws_for_all
from horovodize.rules.rows import seeds_apart
from horovodize.rules.rows.shuffle_order import SHARED
from horovodize.rules.scaling import strong
from horovodize.rules.together.any_rank_test import draw_alike

_WHY = "Ranks that give a model the same noise teach it no more than one does, at size() times the rate."
_ASKED = (
    "with this seed every rank gives the model the same noise in {}: seed each rank differently before training, for "
    "example with `{}`"
)
# What gives the same numbers in another form.
_FORMS = (
    "astype",
    "reshape",
    "cast",
    "convert_to_tensor",
    "float32",
    "constant",
    "array",
    "asarray",
    "Variable",
)
# What puts numbers beside others: noise, and the labels that a generator is to make rows for.
_JOINS = ("concatenate", "concat", "hstack", "column_stack")
_DEPTH = 3
_FAR = 400  # nodes that what a session is given is made of


def apply(draft: Draft) -> None:
    for place, calls in _training(draft):
        drawing = [c for c in calls if draft.uniform.draws.draws(c)]
        noise = [c for c in drawing if not seeds_apart.is_order(draft, c) and _is_fed(draft, c, _DEPTH)]
        for seed in draft.module.calls_of(*SEEDS, *MAKERS, SEED_GENERATOR) if noise else ():
            if draft.was(seed, Apart) or not draft.uniform.draws.gives_seed(seed):
                continue
            fixed = [c for c in noise if _fixes(draft, seed, c)]
            if fixed and seeds_apart.only_measures(draft, seed):
                continue
            if fixed and any(_draws_alike(draft, c, seed) for c in calls if draws_for_all(draft, c)):
                continue  # said with the seeds
            if fixed:
                _order_alike(
                    draft, [c for c in drawing if seeds_apart.is_order(draft, c) and _fixes(draft, seed, c)]
                )
            if fixed and not seeds_apart.set_apart(draft, place, drawing, seed, _WHY):
                example = seeds_apart.example(draft, seed)
                draft.ask(
                    "D3",
                    seed,
                    seeds_apart.WHAT,
                    _WHY,
                    _ASKED.format(draft.line_words(fixed[0], seed), example),
                )
        _seed_unseeded(draft, noise, drawing)


def _seed_unseeded(draft: Draft, noise: list[ast.Call], drawing: list[ast.Call]) -> None:
    """`SeedGenerator()`, whose seed Keras draws from Python's stream: fixed where the script seeds that."""
    if not any(
        "random." in SEEDS[draft.names.of(c.func) or ""] and draft.uniform.draws.gives_seed(c)
        for c in draft.module.calls_of(*SEEDS)
    ):
        return
    for made in draft.module.calls_of(SEED_GENERATOR):
        fixed = [c for c in noise if _fixes(draft, made, c)]
        if arguments(made) or has_unpacking(made) or not fixed or not draft.decide(made, Apart("D3")):
            continue
        if seeds_apart.only_draws_for(draft, made, drawing):
            edit = draft.add_argument(made, f"{RANK} if {SIZE} > 1 else None")
            draft.change("D3", made, seeds_apart.WHAT, _WHY, [edit])
        else:
            example = f"{draft.module.text(made.func)}(hvd.rank())"
            doubt = _ASKED.format(draft.line_words(fixed[0], made), example)
            draft.ask("D3", made, seeds_apart.WHAT, _WHY, doubt)


def _draws_alike(draft: Draft, dealt: ast.Call, seed: ast.Call) -> bool:
    """Whether what all ranks deal out alike is drawn by a seed, as far as can be seen."""
    todo: list[ast.AST | None] = [*_dealing(draft, dealt)]
    seen = set[ast.AST | None]()
    while todo:
        called = todo.pop()
        if called in seen:
            continue
        seen.add(called)
        if called is None:
            return True
        calls = [n for n in ast.walk(called) if isinstance(n, ast.Call)]
        if any(_fixes(draft, seed, c) for c in calls):
            return True
        todo += [f for c in calls if (f := draft.values.callee(c)) is not None]
    return False


def _dealing(draft: Draft, dealt: ast.Call) -> list[ast.AST | None]:
    """What runs where a batch is dealt, None where that can't be seen; of `next(batches)`, the generator that was made."""
    if isinstance(dealt.func, ast.Name) and dealt.func.id == "next" and len(dealt.args) == 1:
        batches = dealt.args[0]
        made = draft.module.scopes.reaching(batches) if isinstance(batches, ast.Name) else ()
        # (What such a call gives is a generator: its origins are what that yields.)
        return [draft.values.callee(b.value) if isinstance(b.value, ast.Call) else None for b in made] or [
            None
        ]
    return [draft.values.callee(dealt)]


def _order_alike(draft: Draft, orders: list[ast.Call]) -> None:
    """Lets orders of rows come from a stream of their own: the seed that they go by will be another on each rank."""
    if all(draft.uniform.reached_alike(c) and not draft.drive.in_traced(c) for c in orders):
        for call in orders:
            draw_alike(draft, call, "D3", "Draw the same on all ranks", SHARED, seeded=True)


def _training(draft: Draft) -> Iterator[tuple[ast.stmt, list[ast.Call]]]:
    """The statements that train on a rank's own rows, as far out as they repeat, and the calls that their steps make."""
    known = draft.facts.feeding
    for driver in known.drivers:
        if any(strong.scaling(draft, step) is strong.Scaling.WEAK for step in driver.steps):
            place = seeds_apart.outermost(draft, driver.loop)
            if place is not None:
                yield place, known.calls_in(place)
    steps = list(dict.fromkeys(c for f in _own_steps(draft) for c in _calls(draft, f)))
    for fed in known.fits if steps else ():
        if strong.scaling(draft, fed.fit.call) is strong.Scaling.WEAK:
            place = seeds_apart.outermost(draft, draft.syntax.statement(fed.fit.call))
            if place is not None:
                yield place, steps


def _own_steps(draft: Draft) -> list[Function]:
    own = (draft.syntax.function(u.call) for u in draft.sites.updates if u.step_of is not None)
    return list(dict.fromkeys(f for f in own if f is not None))


def _in_a_step(draft: Draft, call: ast.Call) -> bool:
    """Whether a call is made in a step that is given its rows: no rows are drawn there."""
    return draft.drive.in_traced(call) or draft.syntax.function(call) in _own_steps(draft)


def _calls(draft: Draft, step: Function) -> Iterator[ast.Call]:
    """The calls in a model's own step, and in the functions and methods that it calls."""
    yield from (n for n in ast.walk(step) if isinstance(n, ast.Call))
    if isinstance(step, ast.stmt):
        yield from draft.facts.feeding.calls_in(step)


def _fixes(draft: Draft, seed: ast.Call, draw: ast.Call) -> bool:
    """Whether a seed decides what a call draws."""
    name = draft.names.of(draw.func) or ""
    made = draft.names.of(seed.func) or ""
    if made in SEEDS:
        return name.startswith(SEEDS[made]) and argument(draw, "seed") is None
    if made == SEED_GENERATOR:
        given = argument(draw, "seed")
        return given is not None and seed in draft.values.calls(given)
    return isinstance(draw.func, ast.Attribute) and seed in draft.values.calls(draw.func.value)


def _is_fed(draft: Draft, e: ast.expr, depth: int) -> bool:
    """Whether a model, or what can't be seen, is called with a value alone: `generator(noise)`."""
    if depth == 0:
        return False
    child, parent = e, draft.syntax.parent[e]
    if isinstance(parent, ast.Attribute) and parent.attr in _FORMS:
        called = draft.syntax.parent[parent]
        return isinstance(called, ast.Call) and _is_fed(draft, called, depth)
    if isinstance(parent, (ast.List, ast.Tuple)) and isinstance(parent.ctx, ast.Load):
        return _is_fed(draft, parent, depth)
    if isinstance(parent, ast.keyword):
        parent = draft.syntax.parent[parent]
    if isinstance(parent, ast.Return) and (made_by := draft.syntax.function(parent)) is not None:
        calls = (c for c in draft.syntax.calls if draft.values.callee(c) is made_by)
        return any(_in_a_step(draft, c) and _is_fed(draft, c, depth - 1) for c in calls)
    if isinstance(parent, ast.Call) and parent.func is not child:
        if draft.names.last(parent.func) in (*_FORMS, *_JOINS):
            return _is_fed(draft, parent, depth)
        callee = draft.values.callee(parent)
        if isinstance(callee, FUNCTIONS):
            return any(_is_fed(draft, n, depth - 1) for n in _parameter(draft, callee, parent, child))
        return draft.names.of(parent.func) is None and not draft.module.scopes.is_builtin(parent.func)
    if isinstance(parent, ast.Dict):
        return child in parent.values and _is_fed_to_a_graph(draft, parent)
    if isinstance(parent, ast.Assign) and parent.value is child:
        names = [t.id for t in parent.targets if isinstance(t, ast.Name)]
        function = draft.syntax.function(parent) or draft.module.tree
        uses = [
            n
            for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names
        ]
        return any(_comes_from(draft, n, parent) and _is_fed(draft, n, depth) for n in uses)
    return False


def _is_fed_to_a_graph(draft: Draft, feed: ast.Dict) -> bool:
    """Whether steps of a session's graph are fed with what a dictionary holds: `sess.run(g_step, {z: noise})`."""
    given = [e for run in draft.sites.graph.trainings for e in arguments(run.call)]
    return feed in draft.values.depends(given, _FAR)


def _comes_from(draft: Draft, name: ast.Name, made: ast.Assign) -> bool:
    return any(b.statement is made for b in draft.module.scopes.reaching(name))


def _parameter(draft: Draft, function: Function, call: ast.Call, given: ast.AST) -> list[ast.Name]:
    """The uses of the parameter that a function gets an argument by."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and draft.syntax.method_class(function) is not None:
        parameters = parameters[1:]
    by_name = [k.arg for k in call.keywords if k is given or k.value is given]
    by_place = [p for p, a in zip(parameters, call.args, strict=False) if a is given]
    names = {*by_name, *by_place}
    return [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names
    ]
