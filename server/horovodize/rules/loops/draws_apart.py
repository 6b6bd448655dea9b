"""Generators that draw other batches on each rank: part of G4, S5 and K4.

What draws its rows by no seed, or by one that each rank is given for itself, gives each rank others: nothing is dealt out."""

from __future__ import annotations

import ast

from horovodize.facts.counting.cursors import passes
from horovodize.facts.differences.sources import SEEDS
from horovodize.facts.feeds import drawn_yields
from horovodize.python.random_generators import MAKERS
from horovodize.python.syntax import FUNCTIONS, Function, arguments, position, says_none
from horovodize.rules.drafting.decisions import Apart
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import own_counts
from horovodize.rules.rows.seeds_apart import is_order, seed_generator
from horovodize.source.nodes import names_in

_YIELDS = (ast.Yield, ast.YieldFrom)
_DRAWING_METHODS = frozenset(
    "choice choices integers randint rand randn random random_sample normal uniform permutation permuted shuffle sample".split()
)


def draws_apart(draft: Draft, rule: str, generator: Function, *, of_one_seed: bool = False) -> bool:
    """Whether a generator function draws other batches on each rank, and tells none of them a number: by a stream that no seed
    fixes, or by a seed of each rank's own, which it is then given. It then counts the batches of all ranks.

    of_one_seed: whether the call that is looked at gives it one (`is_told_a_seed`), which only an edit sets apart"""
    if not _draws_its_rows(draft, generator):
        return False
    if not drawn_yields.tells_no_turns(draft.syntax, generator, lambda call: draws_itself(draft, call)):
        return False
    fixed = _fixed_draws(draft, generator)
    if fixed is None:
        return False
    makers = {draft.uniform.draws.maker(c) for c in fixed}
    apart = (not fixed and not of_one_seed) or (
        len(makers) == 1 and None not in makers and seed_generator(draft, generator)
    )
    if apart:
        draft.decide(generator, Apart(rule))
        own_counts.count_all(draft, rule, generator)
    return apart


def is_told_a_seed(draft: Draft, call: ast.Call, generator: Function) -> bool:
    """Whether a call of a generator function fixes what that draws, where other calls don't: `rows(seed=1)` to validate by,
    where `rows()` is trained on."""
    seeds = (
        m.args[0]
        for m in ast.walk(generator)
        if isinstance(m, ast.Call) and m.args and draft.names.of(m.func) in MAKERS
    )
    bound = [b for seed in seeds if isinstance(seed, ast.Name) for b in draft.module.scopes.reaching(seed)]
    given = [e for b in bound if b.kind == "parameter" for e in draft.facts.arms_of_calls.given(b, call)]
    made = [c for e in arguments(call) for c in draft.values.calls(e) if draft.names.of(c.func) in MAKERS]
    if any(draft.uniform.draws.gives_seed(c) for c in made):
        return True
    return bool(given) and not any(says_none(o.node) for e in given for o in draft.values.origins(e))


def _draws_its_rows(draft: Draft, generator: Function) -> bool:
    """Whether what a generator function draws decides which rows it yields. Of one that goes through rows in order and only
    turns or blurs them at random, every rank would get the same rows."""
    loops = list(passes(generator))
    inside = {n for loop in loops for s in loop.body for n in ast.walk(s)}
    return not loops or any(
        (n not in inside or (_orders(draft, n) and draft.syntax.conditions(n)))
        and _comes_before_rows(draft, generator, n)
        for n in ast.walk(generator)
        if isinstance(n, ast.Call) and draws_itself(draft, n)
    )


def _comes_before_rows(draft: Draft, generator: Function, drawn: ast.Call) -> bool:
    """Whether something is drawn before the first rows are yielded. An order that is drawn for the second pass, after the first
    or where a cursor begins again (`if i + n > len(x): i = 0; shuffle(x)`), leaves all ranks the same rows until then."""
    yields = [n for n in ast.walk(generator) if isinstance(n, _YIELDS)]
    if any(position(n) < position(drawn) for n in yields):
        return False
    for decision, arm in draft.syntax.conditions(drawn):
        branch = getattr(decision, arm)
        stored = (n for s in branch for n in ast.walk(s)) if isinstance(branch, list) else iter(())
        set_ = {n.id for n in stored if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if set_ & names_in(decision.test):
            return False
    return True


def draws_itself(draft: Draft, call: ast.Call) -> bool:
    """Whether a call draws, or runs a function of the program that does."""
    callee = draft.values.callee(call)
    return draft.uniform.draws.draws(call) or (
        isinstance(callee, FUNCTIONS)
        and any(isinstance(n, ast.Call) and draft.uniform.draws.draws(n) for n in ast.walk(callee))
    )


def draws_orders(draft: Draft, generator: Function) -> bool:
    """Whether a generator function draws an order of rows."""
    return any(isinstance(n, ast.Call) and _orders(draft, n) for n in ast.walk(generator))


def _orders(draft: Draft, call: ast.Call) -> bool:
    """Whether a call draws an order, or runs a function of the program that does."""
    callee = draft.values.callee(call)
    called = [n for n in ast.walk(callee) if isinstance(n, ast.Call)] if isinstance(callee, FUNCTIONS) else []
    return any(is_order(draft, c) for c in (call, *called))


def _fixed_draws(draft: Draft, generator: Function) -> list[ast.Call] | None:
    """What of that which a generator function draws a seed fixes; None where it draws nothing, or something that isn't seen."""
    known = draft.uniform.draws
    called = [draft.values.callee(c) for c in ast.walk(generator) if isinstance(c, ast.Call)]
    bodies = [generator, *(f for f in called if isinstance(f, FUNCTIONS))]
    calls = [n for body in bodies for n in ast.walk(body) if isinstance(n, ast.Call)]
    drawn = [c for c in calls if known.draws(c)]
    if not drawn or any(known.maker(c) is None and _is_method_that_draws(draft, c) for c in calls):
        return None
    # a seed counts, if only where an option says so: then all would draw the same
    seeds = [c for c in draft.module.calls_of(*SEEDS) if known.gives_seed(c) and not known.is_undone(c)]
    seeded = tuple(prefix for c in seeds for prefix in SEEDS[draft.names.of(c.func) or ""])
    return [c for c in drawn if _is_fixed(draft, c, seeded)]


def _is_fixed(draft: Draft, call: ast.Call, seeded: tuple[str, ...]) -> bool:
    """Whether a draw is of a generator that has a seed, or of a function whose name begins as those that are seeded."""
    maker = draft.uniform.draws.maker(call)
    if maker is not None:
        return draft.uniform.draws.gives_seed(maker)
    name = draft.names.of(call.func) or ""
    return name.startswith(seeded) or draft.uniform.draws.is_fixed(call, name)


def _is_method_that_draws(draft: Draft, call: ast.Call) -> bool:
    """`self.rng.choice(rows)` by its name alone."""
    if not isinstance(call.func, ast.Attribute) or draft.names.of(call.func) is not None:
        return False
    return call.func.attr in _DRAWING_METHODS and draft.values.callee(call) is None
