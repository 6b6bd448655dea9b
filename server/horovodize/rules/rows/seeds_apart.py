"""Seeds that every rank adds its number to, so that ranks draw batches of their own: part of D3.

A seed that only the batches depend on gets `+ hvd.rank()` where it stands. One that data and weights are made from as well
is given again, with several ranks only, just before the loop that draws.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from horovodize.facts.differences.sources import SEED_GENERATOR
from horovodize.python.binding import Binding
from horovodize.python.random_generators import MAKERS
from horovodize.python.syntax import (
    COMPREHENSIONS,
    Function,
    argument,
    arguments,
    end,
    has_unpacking,
    is_main_guard,
    position,
)
from horovodize.rules.drafting.decisions import Agreed, Apart, Decided
from horovodize.rules.drafting.draft import RANK, SIZE, Draft, needs_parentheses
from horovodize.rules.rows import restored_draws
from horovodize.rules.weights import steered
from horovodize.source import Edit
from horovodize.summary.feeding import Driver

WHAT = "Seed each rank differently"
WHY = "Ranks that draw the same batches learn no more than one does, at size() times the rate."
# What makes a seed of several numbers.
_SEQUENCES = (
    "numpy.random.SeedSequence",
    "numpy.array",
    "tensorflow.constant",
    "tensorflow.convert_to_tensor",
    "tensorflow.stack",
)
_ORDERS = ("shuffle", "permutation", "permuted")  # each pass deals out all rows


def key_apart(draft: Draft, driver: Driver, call: ast.Call, key: ast.expr) -> bool:
    """Makes the ranks draw differently by keys that change with the steps of a loop: `seed=(7, step)`; False where that can't
    be done here. What is drawn to decide something, all ranks draw alike."""
    number = _number_in(draft, key)
    if draft.was(call, Decided) or _is_steady(draft, key) or decides(draft, driver.loop, [call]):
        return True
    if number is None or number is key:
        return False
    draft.decide(call, Apart("D3"))
    draft.change("D3", key, WHAT, WHY, _plus_rank(draft, number))
    return True


def seed_apart(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Makes the ranks draw differently in a loop that draws by a seed, `np.random.seed(7)` or `np.random.RandomState(7)`; False
    where that can't be done here: not where what is drawn decides something, or is the order in which rows are dealt out."""
    loop = outermost(draft, driver.loop)
    if loop is None:
        return draft.was(call, Apart)
    drawing = [c for c in draft.facts.feeding.calls_in(loop) if draft.uniform.draws.draws(c)]
    return set_apart(draft, loop, drawing, call)


def set_apart(
    draft: Draft, loop: ast.stmt, drawing: Collection[ast.Call], call: ast.Call, why: str = WHY
) -> bool:
    """The same before a loop, or what else trains, in which those calls draw."""
    if draft.was(call, Apart):
        return True
    seed = _seed_alone(call)
    where = _where(draft, call, seed, loop) if seed is not None else None
    number = _number_in(draft, seed) if seed is not None else None
    if seed is None or where is None or number is None:
        return False
    if any(is_order(draft, c) and not draft.was(c, Agreed) for c in drawing) or decides(draft, loop, drawing):
        return False
    restored = restored_draws.is_restored(draft, call)
    if only_draws_for(draft, call, drawing) and draft.uniform.draws.gives_seed(call) and not restored:
        if draft.decide(call, Apart("D3")):
            draft.change("D3", seed, WHAT, why, _plus_rank(draft, number))
        return True
    if draft.names.of(call.func) == SEED_GENERATOR:
        return False  # made again, it would be another one than the one that is drawn by
    made = (draft.names.of(call.func) or "") in MAKERS
    if draft.syntax.inside(call, loop):  # a library's, again in each turn: before the loop it would be undone
        if made or restored or _draws_after(draft, loop, drawing):
            return False
        if draft.decide(call, Apart("D3")):
            draft.change("D3", seed, WHAT, why, _plus_rank(draft, number))
        return True
    name = _name(draft, call, loop, drawing) if made else ""
    if (made and not name) or not _stands_before(draft, call, seed, loop):
        return False
    if _draws_after(draft, loop, drawing):
        return False
    text = draft.module.text(seed)
    text = f"({text})" if needs_parentheses(seed) else text
    given = f"{draft.module.text(call.func)}({_sum_with(text, RANK)})"
    again = f"{name} = {given}" if name else given
    if restored and (again := restored_draws.seeded_by_state(draft, call, name) or "") == "":
        return False
    first = _first_drawing(draft, loop, drawing)
    if first is None:
        return False
    if not draft.decide(call, Apart("D3")):
        return True
    lines = [f"if {SIZE} > 1{where}:", f"    {again}"]
    draft.change("D3", call, WHAT, why, [draft.before(first, lines)])
    return True


def _draws_after(draft: Draft, loop: ast.stmt, drawing: Collection[ast.Call]) -> bool:
    """Whether something else is drawn after a loop: that would differ, too."""
    calls = (c for c in draft.syntax.calls if c not in drawing and position(c) > end(loop))
    return any(draft.uniform.draws.draws(c) for c in calls)


def _first_drawing(draft: Draft, loop: ast.stmt, drawing: Collection[ast.Call]) -> ast.stmt | None:
    """Where drawing for a loop begins: at the loop, or at a statement before it that calls a function which draws for it, too,
    `x = sample()`, where that draws again every few steps. None where something else is drawn between them."""
    block = draft.syntax.block(loop)
    inside: set[ast.AST] = {c for c in drawing if not draft.syntax.inside(c, loop)}
    before = block[: block.index(loop)]
    again = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    first = next(
        (i for i, s in enumerate(before) if _sets(s, again) and inside and draft.drive.reaches(s, inside)),
        None,
    )
    if first is None:
        return loop
    calls = (c for s in before[first:] for c in ast.walk(s) if isinstance(c, ast.Call))
    others = any(draft.uniform.draws.has_stream(c) and c not in inside for c in calls)
    return None if others else before[first]


def _sets(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement sets one of these names."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(n, ast.Name) and n.id in names for t in targets for n in ast.walk(t))


def _seed_alone(call: ast.Call) -> ast.expr | None:
    """The seed of a call that is given nothing else: `default_rng(7)`, `default_rng(seed=7)`."""
    given = arguments(call)
    is_named_so = all(k.arg == "seed" for k in call.keywords)
    return given[0] if len(given) == 1 and is_named_so and not has_unpacking(call) else None


def _where(draft: Draft, call: ast.Call, seed: ast.expr, loop: ast.stmt) -> str | None:
    """The tests by which a seed is given, to be repeated elsewhere: " and args.seed is not None"; None where that can't be,
    or where the seed may be None."""
    tests, is_number = list[str](), draft.uniform.draws.gives_seed(call)
    for decision, arm in draft.syntax.conditions(call):
        is_number = is_number or (arm == "body" and _excludes_none(decision.test, seed))
        if is_main_guard(decision) or draft.syntax.inside(loop, decision):
            continue
        if arm != "body" or not _means_the_same(draft, decision.test, loop):
            return None
        text = draft.module.text(decision.test)
        tests.append(
            f" and ({text})" if isinstance(decision.test, (ast.BoolOp, ast.IfExp)) else f" and {text}"
        )
    return "".join(tests) if is_number else None


def _excludes_none(test: ast.expr, seed: ast.expr) -> bool:
    """`if args.seed:`, `if args.seed is not None:`, `if args.seed >= 0:`"""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_excludes_none(part, seed) for part in test.values)
    tested = test.left if isinstance(test, ast.Compare) and len(test.ops) == 1 else test
    if ast.unparse(tested) != ast.unparse(seed):
        return False
    return tested is test or not isinstance(test.ops[0], (ast.Is, ast.Eq))  # type: ignore[attr-defined]


def _means_the_same(draft: Draft, e: ast.expr, loop: ast.stmt) -> bool:
    """Whether an expression of settings has the same value just before a loop."""
    plain = (ast.Name, ast.Attribute, ast.Constant, ast.BoolOp, ast.UnaryOp, ast.Compare)
    scopes = draft.module.scopes
    for n in (n for n in ast.walk(e) if isinstance(n, ast.expr)):
        if not isinstance(n, plain):
            return False
        if isinstance(n, ast.Name) and scopes.lookup(n.id, n) is not scopes.lookup(n.id, loop):
            return False
        if isinstance(n, ast.Name) and len(scopes.reaching(n)) > 1:
            return False
        if isinstance(n, ast.Attribute) and draft.values.attribute_bindings(n):
            return False
    return True


def seed_generator(draft: Draft, generator: Function) -> bool:
    """Makes a generator without end, which draws by a generator of random numbers that it makes by a seed, draw differently on
    each rank; False where it is not such a one."""
    body = list(ast.walk(generator))
    endless = draft.facts.generators.is_endless(generator)
    makers = [n for n in body if isinstance(n, ast.Call) and (draft.names.of(n.func) or "") in MAKERS]
    draws = [
        n
        for n in body
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and set(makers) & set(draft.values.calls(n.func.value))
    ]
    seed = _seed_alone(makers[0]) if len(makers) == 1 else None
    if not endless or seed is None or not draws:
        return False
    if draft.syntax.loops(makers[0]) or any(is_order(draft, d) for d in draws):
        return False
    if any(not draft.syntax.loops(d) for d in draws) or decides(draft, generator, draws):
        return False
    number = _number_in(draft, seed)
    if number is not None and draft.decide(makers[0], Apart("D3")):
        draft.change("D3", seed, WHAT, WHY, _plus_rank(draft, number))
    return number is not None


def is_order(draft: Draft, draw: ast.Call) -> bool:
    """Whether what is drawn is an order of rows, which are dealt out by it."""
    return draft.names.last(draw.func) in _ORDERS


def _number_in(draft: Draft, seed: ast.expr) -> ast.expr | None:
    """What of a seed the rank can be added to: itself, or of a sequence of numbers (`[7, step]`) one that no step changes, so
    that no rank draws what another one draws in another step. None where there is no such number."""
    if isinstance(seed, ast.Call) and draft.names.of(seed.func) in _SEQUENCES and seed.args:
        return _number_in(draft, seed.args[0])
    if isinstance(seed, (ast.List, ast.Tuple)):
        return next((e for e in seed.elts if _is_steady(draft, e)), None)
    return None if _is_sequence(draft, seed) else seed


def _is_sequence(draft: Draft, seed: ast.expr) -> bool:
    """Whether a seed is several numbers: a rank can't be added to it."""
    nodes = [o.node for o in draft.values.origins(seed) if not o.path]
    return any(
        isinstance(n, (ast.List, ast.Tuple))
        or (isinstance(n, ast.Call) and draft.names.of(n.func) in _SEQUENCES)
        for n in nodes
    )


def _is_steady(draft: Draft, e: ast.expr) -> bool:
    """Whether a number stays what it is in all loops."""
    if any(isinstance(n, (*COMPREHENSIONS, ast.Starred)) for n in draft.values.depends([e], 200)):
        return False
    unseen = any(b.kind == "parameter" and not draft.values.passed(b) for b in _bound(draft, e))
    return not unseen and not _moves(draft, e)


def _moves(draft: Draft, e: ast.expr) -> bool:
    """Whether loops change what a number is made of."""
    return any(b.kind in ("item", "augment") or draft.syntax.loops(b.statement) for b in _bound(draft, e))


def _bound(draft: Draft, e: ast.expr) -> Iterator[Binding]:
    """What gives the names of a value, and of what it is made of, their values."""
    for n in draft.values.depends([e], 200):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            yield from draft.module.scopes.reaching(n)
        elif isinstance(n, ast.Attribute):
            yield from draft.values.attribute_bindings(n)


def _is_of_several(draft: Draft, seed: ast.expr) -> bool:
    """Whether several numbers come to a seed: `rows(seed=0)` to train by, `rows(seed=1)` to validate."""
    numbers = (o.node.value for o in draft.values.origins(seed) if isinstance(o.node, ast.Constant))
    return len({n for n in numbers if n is not None}) > 1


def _plus_rank(draft: Draft, seed: ast.expr) -> tuple[Edit, ...]:
    """`7` → `7 + hvd.rank()`. One that steps change, `7 + step`, is spread first: rank 1 would draw in one step what rank 0
    draws in the next. So is one that several numbers come to: rank 1 would train on what rank 0 validates on."""
    if _moves(draft, seed) or _is_of_several(draft, seed):
        return draft.times(seed, f"{SIZE} + {RANK}")
    if is_zero(seed):
        return (Edit(draft.module.span(seed), RANK),)
    opening, closing = ("(", ")") if needs_parentheses(seed) and not isinstance(seed, ast.BinOp) else ("", "")
    return Edit.around(draft.module.span(seed), opening, f"{closing} + {RANK}")


def is_zero(seed: ast.expr) -> bool:
    """Whether a seed is written as 0, to which nothing need be added."""
    return isinstance(seed, ast.Constant) and type(seed.value) is int and seed.value == 0


def _sum_with(text: str, rank: str) -> str:
    return rank if text == "0" else f"{text} + {rank}"


def only_measures(draft: Draft, maker: ast.Call) -> bool:
    """Whether a generator of random numbers is made again each time that a loop measures with it, and no loss is made with what
    it gives: all ranks measure with the same, `RandomState(0).randn(500, 2)` of a picture that is drawn every 100 steps."""
    made_again = any(frame.loops for way in draft.drive.ways(maker) for frame in way)
    if not made_again or draft.in_graph or draft.sites.fits or not draft.sites.updates:
        return False
    used = steered.used_in_losses(draft)
    return maker not in used and not any(
        c in used
        for c in draft.syntax.calls
        if isinstance(c.func, ast.Attribute) and maker in draft.values.calls(c.func.value)
    )


def outermost(draft: Draft, place: ast.stmt) -> ast.stmt | None:
    """The outermost loop around a statement that trains, or that itself; None where its function is called in a loop, and would
    seed again each time."""
    ways = draft.drive.ways(place)
    if any(frame.loops for way in ways for frame in way[1:]) or draft.drive.in_traced(place):
        return None
    around = draft.syntax.loops(place)
    return around[-1] if around else place


def example(draft: Draft, call: ast.Call) -> str:
    """A seed that differs between ranks: `np.random.seed(7 + hvd.rank())`."""
    if draft.uniform.draws.key(call) is not None:
        return "seed=(7 + hvd.rank(), step)"
    given = arguments(call)
    seed = draft.module.text(given[0]) if given else "0"
    own = _sum_with(seed, "hvd.rank()")
    if given and isinstance(given[0], (ast.List, ast.Tuple)):
        own = f"{seed[:-1]}, hvd.rank(){seed[-1]}"
    elif given and _is_sequence(draft, given[0]):
        own = f"[*{seed}, hvd.rank()]"
    return f"{draft.module.text(call.func)}({own})"


def _name(draft: Draft, maker: ast.Call, loop: ast.stmt, drawing: Collection[ast.Call]) -> str:
    """The variable that a generator of random numbers is made for, if all that draws from it in a loop draws by that name; ""
    where something else holds it."""
    statement = draft.syntax.statement(maker)
    if not isinstance(statement, ast.Assign) or statement.value is not maker or len(statement.targets) > 1:
        return ""
    target, function = statement.targets[0], draft.syntax.function(maker)
    if not isinstance(target, ast.Name) or draft.syntax.function(loop) is not function:
        return ""
    drawn_from = [
        c.func.value
        for c in drawing
        if isinstance(c.func, ast.Attribute) and maker in draft.values.calls(c.func.value)
    ]
    by_name = (isinstance(e, ast.Name) and e.id == target.id for e in drawn_from)
    return target.id if drawn_from and all(by_name) else ""


def only_draws_for(draft: Draft, maker: ast.Call, drawing: Collection[ast.Call]) -> bool:
    """Whether a generator of random numbers is only drawn from for the batches of a loop."""
    made = draft.names.of(maker.func) or ""
    if made == SEED_GENERATOR:
        seeding = [argument(c, "seed") for c in draft.syntax.calls]
        uses = [
            c
            for c, by in zip(draft.syntax.calls, seeding, strict=True)
            if by and maker in draft.values.calls(by)
        ]
    elif made in MAKERS:
        seeding = []
        uses = [
            c
            for c in draft.syntax.calls
            if isinstance(c.func, ast.Attribute) and maker in draft.values.calls(c.func.value)
        ]
    else:
        return False
    given = [
        a
        for c in draft.syntax.calls
        for a in arguments(c)
        if isinstance(a, (ast.Name, ast.Attribute)) and a not in seeding and maker in draft.values.calls(a)
    ]
    return bool(uses) and not given and all(use in drawing for use in uses)


def _stands_before(draft: Draft, call: ast.Call, seed: ast.expr, loop: ast.stmt) -> bool:
    """Whether a seed of a whole library, or of a generator with a name, can be given again before a loop: its number means
    there what it means here."""
    plain = isinstance(seed, ast.Constant) and isinstance(seed.value, int)
    statement = draft.syntax.statement(call)
    alone = isinstance(statement, (ast.Expr, ast.Assign)) and statement.value is call
    named = isinstance(seed, ast.Name) and draft.syntax.function(call) in (None, draft.syntax.function(loop))
    option = isinstance(seed, ast.Attribute) and _means_the_same(draft, seed, loop)
    return alone and (plain or named or option) and draft.can_insert(loop)


def decides(draft: Draft, root: ast.AST, drawing: Collection[ast.Call]) -> bool:
    """Whether something in a loop is decided by what is drawn: ranks have to draw that alike."""
    tests = [n.test for n in ast.walk(root) if isinstance(n, (ast.If, ast.IfExp, ast.While))]
    counts = [n.iter for n in ast.walk(root) if isinstance(n, ast.For)]
    tests += [e for e in counts if draft.facts.feeding.kinds.is_range(e)]
    if any(n in drawing for e in counts for n in ast.walk(e)):
        return True
    return any(n in drawing for test in tests for n in draft.values.depends(_uncounted(draft, test), 2000))


def _uncounted(draft: Draft, test: ast.expr) -> list[ast.expr]:
    """What a test compares, but for counts of steps: `step` of `_, step = session.run([train, global_step], feed)` comes with
    what was drawn for the step, not by it."""
    match test:
        case ast.Compare():
            parts = [test.left, *test.comparators]
        case ast.BoolOp():
            parts = test.values
        case ast.UnaryOp():
            parts = [test.operand]
        case ast.BinOp():
            parts = [test.left, test.right]
        case _:
            return [] if draft.facts.counters.of(test) is not None else [test]
    return [p for part in parts for p in _uncounted(draft, part)]


__all__ = [
    "WHAT",
    "WHY",
    "decides",
    "example",
    "is_order",
    "is_zero",
    "key_apart",
    "only_draws_for",
    "only_measures",
    "outermost",
    "seed_apart",
    "seed_generator",
    "set_apart",
]
