"""What hangs on a test of a count of steps: part of G5."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.augmented import augmented
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, LOOPS, arguments, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import named_tests, set_for_turns
from horovodize.rules.numbers.ever_set import ever_set
from horovodize.rules.numbers.training_steps import steps_of
from horovodize.rules.weights.target_networks import losses_of
from horovodize.source.nodes import walk
from horovodize.summary.turn_picks import picked_by

FEW = 16  # up to so many steps, a ratio between updates, or a look at the first of them
_OF_LOSSES = 2000  # nodes that a loss is made of
_FETCHED = 400  # nodes that are looked at behind what a session is to fetch
_HANDED = 3  # functions that hand a step what it is given
_JUMPS = (ast.Continue, ast.Return)


def is_ratio(draft: Draft, test: ast.expr, modulo: ast.expr) -> bool:
    """Whether `step % M` tells which updates go with which: every M-th step trains something, too, and M is small; every
    M-th step applies the gradients that all of them added up; it sets how many steps an inner loop takes; or it picks what each
    step is fed, of two data sets, say."""
    divisor = (
        modulo.right
        if isinstance(modulo, ast.BinOp)
        else modulo.args[1]
        if isinstance(modulo, ast.Call) and len(modulo.args) > 1
        else None
    )
    known = draft.facts.feeding.kinds.constant(divisor) if divisor is not None else None
    few = known is None or known <= FEW
    if picked_by(draft.facts.feeding, test, alternating=not few) is not None or _sets_turns(draft, test):
        return True
    if _makes_loss_of_turn(draft, test) or set_for_turns.is_made_for_loss(draft, test):
        return True
    either_way = _trains_either_way(draft, test)
    if either_way is not None:
        return not either_way
    return trains(draft, test) and (few or applies_gathered(draft, test))


def _makes_loss_of_turn(draft: Draft, test: ast.expr) -> bool:
    """Whether a test decides what the loss of its own turn is made of: `if step % 16 == 0: loss += penalty`. As many updates in
    a hundred have that then as before; what stays for the turns after it, `weight *= 0.9`, comes by the rows that are seen."""
    decision = draft.syntax.statement(test)
    if not isinstance(decision, ast.If) or not draft.syntax.inside(test, decision.test):
        return False
    settings = [n for n in _nodes(decision.body) if isinstance(n, (ast.Assign, ast.AugAssign))]
    otherwise = {t for n in _nodes(decision.orelse) if isinstance(n, ast.Assign) for t in _targets(n)}
    of_turn = [n for n in settings if all(t in otherwise or _is_of_turn(draft, n, t) for t in _targets(n))]
    return bool(of_turn) and (_makes_losses(draft, list[ast.AST](of_turn)) or _is_fed(draft, of_turn))


def _is_fed(draft: Draft, settings: list[ast.Assign | ast.AugAssign]) -> bool:
    """Whether a session's run that trains is fed what is set: `feed[weight] = 2.0`, and not set again before."""
    after = [run.call for run in draft.sites.graph.trainings if position(run.call) > position(settings[0])]
    fed = [e for call in after for e in arguments(call)[1:]]
    made_of = set(draft.values.depends(fed, _FETCHED)) if fed else set()
    given = {b.statement for n in made_of if isinstance(n, ast.Name) for b in draft.module.scopes.reaching(n)}
    return any(given & {s, *_begun(draft, s)} for s in settings)


def _begun(draft: Draft, setting: ast.Assign | ast.AugAssign) -> set[ast.AST]:
    """Where what a setting changes a part of was made: `feed = {…}` of `feed[weight] = 2.0`."""
    targets = setting.targets if isinstance(setting, ast.Assign) else [setting.target]
    whole = [t.value for t in targets if isinstance(t, ast.Subscript)]
    return {b.statement for n in whole if isinstance(n, ast.Name) for b in draft.module.scopes.reaching(n)}


def _nodes(block: list[ast.stmt]) -> list[ast.AST]:
    return [n for s in block for n in ast.walk(s)]


def _targets(setting: ast.Assign | ast.AugAssign) -> list[str]:
    """The names that are set; of anything else, which stays, its text."""
    targets = setting.targets if isinstance(setting, ast.Assign) else [setting.target]
    return [ast.unparse(t) for t in targets]


def _is_of_turn(draft: Draft, setting: ast.Assign | ast.AugAssign, name: str) -> bool:
    """Whether each turn sets a name before, so that what is set here doesn't stay."""
    targets = setting.targets if isinstance(setting, ast.Assign) else [setting.target]
    whole = [t.value if isinstance(t, ast.Subscript) else t for t in targets]
    target = next((t for t in whole if isinstance(t, ast.Name) and t.id == name.partition("[")[0]), None)
    loops, function = draft.syntax.loops(setting), draft.syntax.function(setting)
    turn = loops[0] if loops else function
    if target is None or turn is None:
        return False
    around = [setting, *(p for p in draft.syntax.ancestors(setting) if draft.syntax.inside(p, turn))]
    blocks = [(draft.syntax.block(p), p) for p in around if isinstance(p, ast.stmt) and p is not turn]
    before = {turn, *(earlier for block, p in blocks for earlier in block[: block.index(p)])}
    return any(b.statement in before and b.kind != "augment" for b in ever_set(draft, target))


def is_round(draft: Draft, test: ast.AST, number: ast.expr, most: ast.expr) -> bool:
    """Whether a count that begins again where it is tested tells the same: `n += 1`, `if n == 5: train_other(); n = 0`."""
    known = draft.facts.feeding.kinds.constant(most)
    if not isinstance(test, ast.expr) or (known is not None and known > FEW):
        return False
    return _begins_again(draft, number) and trains(draft, test) and not _trains_either_way(draft, test)


def is_cycle_of_events(draft: Draft, number: ast.expr) -> bool:
    """Whether a count begins again where it is tested, `if n == 10: n = 0`, and no test of it decides what is trained: then it
    is no look at the first steps."""
    text, home = ast.unparse(number), draft.syntax.function(number)
    if not is_set_back(draft, number) or not _begins_again(draft, number):
        return False
    read = (n for n in draft.syntax.every(ast.If) if draft.syntax.function(n) is home)
    tests = [n.test for n in read if any(ast.unparse(part) == text for part in walk(n.test))]
    return not any(trains(draft, test) or decides(draft, test) for test in tests)


def is_set_back(draft: Draft, number: ast.expr) -> bool:
    """Whether a count is set to a number that is written out, under a test of it: `if n == 10: n = 0`."""
    decision = draft.syntax.statement(number)
    if not isinstance(decision, ast.If) or not draft.syntax.inside(number, decision.test):
        return False
    bound = ever_set(draft, number) if isinstance(number, (ast.Name, ast.Attribute)) else []
    begun = [b for b in bound if any(draft.syntax.inside(b.statement, s) for s in decision.body)]
    return any(isinstance(_given(b), ast.Constant) for b in begun)


def _begins_again(draft: Draft, number: ast.expr) -> bool:
    """Whether a loop that moves a number on also sets it to one that is written out, or has a name; of a distance from an
    earlier step, `step - last`, whether it sets that."""
    if isinstance(number, ast.BinOp) and isinstance(number.op, ast.Sub):
        since, now = number.right, ast.unparse(number.left)
        bound = ever_set(draft, since) if isinstance(since, (ast.Name, ast.Attribute)) else []
        return any(b.value is not None and ast.unparse(b.value) == now for b in bound)
    if not isinstance(number, (ast.Name, ast.Attribute)):
        return False
    bound = ever_set(draft, number)
    moved = [
        loop
        for b in bound
        if augmented(b.statement) is not None
        for loop in draft.syntax.loops(b.statement)[:1]
    ]
    plain = (ast.Constant, ast.Name, ast.Attribute)
    return any(
        b.kind == "assign" and isinstance(_given(b), plain) and draft.syntax.inside(b.statement, loop)
        for b in bound
        for loop in moved
    )


def _given(b: Binding) -> ast.expr | None:
    """What a name is set to, also as one of several: `0` of `losses, n = [], 0`."""
    value = b.value
    for place in b.path:
        whole = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        value = whole[place] if 0 <= place < len(whole) else None
    return value


def _sets_turns(draft: Draft, test: ast.expr) -> bool:
    """Whether a test sets how many turns an inner loop trains for: `n_critic = 100 if step % 500 == 0 else 5`, then `for _ in
    range(n_critic)`, or `while j < n_critic`. Each turn sees the rows of all ranks: coming more often, it would take more of
    them."""
    sites = set[ast.AST](steps_of(draft))
    statement = draft.syntax.statement(test)
    arms = [*statement.body, *statement.orelse] if isinstance(statement, ast.If) else [statement]
    set_here = {
        (t.id, draft.syntax.function(s))
        for s in arms
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    loops = (a for a in draft.syntax.ancestors(statement) if isinstance(a, LOOPS))
    around = next(loops, None)
    return any(
        around is not None
        and loop is not around
        and draft.syntax.inside(loop, around)
        and any(
            isinstance(n, ast.Name) and (n.id, draft.syntax.function(loop)) in set_here
            for n in ast.walk(loop.iter if isinstance(loop, ast.For) else loop.test)
        )
        and any(draft.drive.reaches(inner, sites) for inner in loop.body)
        for loop in draft.syntax.every(ast.For, ast.While)
    )


def _trains_either_way(draft: Draft, test: ast.expr) -> bool | None:
    """Whether both arms take the same step, one of them with something beside it: `if step % 50 == 0: train(); save()`, and
    `else: train()`. False where they give it other things, a weight of the loss, say; None where they train otherwise."""
    decision = next(named_tests.decisions(draft, test), None)
    if decision is None or not decision.orelse:
        return None
    arms = (decision.body, decision.orelse)
    one, two = (_trained_in(draft, arm) for arm in arms)
    if not one or one != two:
        return None
    return _fed_in(draft, arms[0], one) == _fed_in(draft, arms[1], two)


def _fed_in(draft: Draft, arm: list[ast.stmt], updates: set[ast.AST]) -> set[str]:
    """What the steps among some statements are given, as text: not how they are told to go."""
    runs = {r.call for r in draft.sites.graph.trainings}
    own = {
        t.id: ast.unparse(s.value)
        for s in arm
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    return {text for s in arm for text in _given_to_steps(draft, s, updates | runs, own, _HANDED)}


def _given_to_steps(
    draft: Draft, place: ast.AST, updates: set[ast.AST], known: dict[str, str], depth: int
) -> Iterator[str]:
    """What the steps in a place are given, as text: by a function that calls them, what that gives them.

    known: what names stand for there"""
    runs = {r.call for r in draft.sites.graph.trainings}
    for n in ast.walk(place):
        if not isinstance(n, ast.Call) or not (n in updates or draft.drive.reaches(n, updates)):
            continue
        given = [e for e in (*n.args[n in runs :], *(k.value for k in n.keywords)) if not _only_tells(e)]
        texts = [known.get(text := ast.unparse(e), text) for e in given]
        function = draft.values.callee(n)
        inner = isinstance(function, FUNCTIONS) and all(
            u is not n and draft.syntax.function(u) is not function for u in updates
        )
        if not inner or not depth or not isinstance(function, FUNCTIONS):
            yield from texts
            continue
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        names = names[draft.syntax.method_class(function) is not None :]
        passed = dict(zip(names, (known.get(t := ast.unparse(e), t) for e in n.args), strict=False))
        for s in function.body:
            yield from _given_to_steps(draft, s, updates, passed, depth - 1)


def _only_tells(given: ast.expr) -> bool:
    """Whether an argument is none of the data, `verbose=True`: no weight of the loss, either."""
    if isinstance(given, ast.Constant):
        return not isinstance(given.value, (int, float)) or isinstance(given.value, bool)
    return isinstance(given, ast.List) and not given.elts


def _trained_in(draft: Draft, arm: list[ast.stmt]) -> set[ast.AST]:
    """The updates that some statements make; in a graph the train ops that they run."""
    graph = draft.sites.graph
    calls = [r.call for r in graph.trainings if any(draft.syntax.inside(r.call, s) for s in arm)]
    ops = graph.train_ops & set(draft.values.depends([c.args[0] for c in calls if c.args], _FETCHED))
    updates = {u.call for u in draft.sites.updates if any(draft.drive.reaches(s, {u.call}) for s in arm)}
    return ops | updates


def applies_gathered(draft: Draft, test: ast.expr) -> bool:
    """Whether what is decided by a test applies gradients that are taken whatever it decides: not by which optimizer, where
    one of two applies them in any case."""
    if _applies_either_way(draft, test):
        return False
    places = [*decided(draft, test)]
    places += [f for s in places for f in _handed_on(draft, s)]
    runs = [
        r.call for r in draft.sites.graph.trainings if any(draft.drive.reaches(s, {r.call}) for s in places)
    ]
    if runs:
        ops, gathered = draft.sites.graph.train_ops, draft.sites.flow.accumulators
        return all(gathered.are_applied_in(run, ops) for run in runs)
    return any(
        update.gradients
        and any(draft.drive.reaches(s, {update.call}) for s in places)
        and not any(draft.drive.reaches(s, set(update.gradients)) for s in places)
        for update in draft.sites.updates
    )


def _applies_either_way(draft: Draft, test: ast.expr) -> bool:
    """Whether either answer applies them: `opt = adam if step < 200 else sgd`; `adam.apply…` in one arm, `sgd…` in another."""
    for a in draft.syntax.ancestors(test):
        if isinstance(a, ast.IfExp) and draft.syntax.inside(test, a.test):
            return not any(isinstance(arm, ast.Constant) and not arm.value for arm in (a.body, a.orelse))
    statement = draft.syntax.statement(test)
    arms = (statement.body, statement.orelse) if isinstance(statement, ast.If) else ()
    return bool(arms) and all(_trained_in(draft, arm) for arm in arms)


def turns_of_what_is_shown(draft: Draft, test: ast.expr) -> int:
    """After how many turns there is what an event reads: that of updates which come every few turns, as alone
    (`if step % 5 == 0: g_loss = …`); 1 where all of it is always there."""
    event = draft.syntax.statement(test)
    read = [n for s in decided(draft, test) for n in ast.walk(s) if isinstance(n, ast.Name)]
    found = [1]
    for name in read if isinstance(event, ast.If) else ():
        bindings = draft.module.scopes.reaching(name) if isinstance(name.ctx, ast.Load) else []
        turns = [
            _turns_of(draft, b.statement, event)
            for b in bindings
            if not draft.syntax.inside(b.statement, event)
        ]
        found += [max(turns)] if turns and all(turns) else []
    return max(found)


def _turns_of(draft: Draft, statement: ast.AST, event: ast.AST) -> int:
    """How many turns there are between two times that a statement runs, where it goes with updates; 0 if it comes else, or with
    those that an event goes with."""
    for decision, _ in draft.syntax.conditions(statement):
        if draft.syntax.inside(event, decision):
            continue
        modulos = [
            n for n in ast.walk(decision.test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)
        ]
        if len(modulos) == 1 and is_ratio(draft, decision.test, modulos[0]):
            return draft.facts.feeding.kinds.constant(modulos[0].right) or 0
    return 0


def trains(draft: Draft, test: ast.expr) -> bool:
    """Whether what is decided by a test is whether, or how, a step trains."""
    sites = set[ast.AST](steps_of(draft))
    places = decided(draft, test)
    return any(draft.drive.reaches(p, sites) for s in places for p in (s, *_handed_on(draft, s)))


def _handed_on(draft: Draft, place: ast.AST) -> list[ast.AST]:
    """The functions that are given to something: `tf.cond(test, self.apply, …)`."""
    given = [
        a
        for n in ast.walk(place)
        if isinstance(n, ast.Call)
        for a in arguments(n)
        if isinstance(a, (ast.Name, ast.Attribute))
    ]
    return [o.node for a in given for o in draft.values.origins(a) if isinstance(o.node, FUNCTIONS)]


def decided(draft: Draft, test: ast.expr, depth: int = 2) -> list[ast.AST]:
    """The statements that run, or not, by a test."""
    hooked = _of_fit(draft, test)
    if hooked:
        return hooked
    statement = draft.syntax.statement(test)
    if isinstance(statement, (ast.If, ast.While)) and draft.syntax.inside(test, statement.test):
        block = draft.syntax.block(statement)
        rest = block[block.index(statement) + 1 :] if isinstance(statement.body[-1], _JUMPS) else []
        return [*statement.body, *statement.orelse, *rest]
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if depth and (isinstance(statement, ast.Return) or isinstance(draft.syntax.parent[test], ast.Lambda)):
        read = named_tests.decisions(draft, test)  # `is_due(step)`
        return [statement, *(s for n in read for s in decided(draft, n.test, depth - 1))]
    if not isinstance(target, ast.Name) or not depth:
        return [statement]
    uses = [
        n
        for n in ast.walk(draft.syntax.function(statement) or draft.module.scopes.root(statement))
        if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)
    ]
    return [statement, *(s for use in uses for s in decided(draft, use, depth - 1))]


def _of_fit(draft: Draft, test: ast.expr) -> list[ast.AST]:
    """The parts of a lambda that run, or not, by a test, where `fit` calls it with each batch: nothing reads what it gives."""
    hook = draft.facts.hooks.around(test)
    if hook is None or not isinstance(hook.function, ast.Lambda):
        return []
    inside = [test, *(a for a in draft.syntax.ancestors(test) if draft.syntax.inside(a, hook.function.body))]
    for a in inside:
        if isinstance(a, ast.IfExp) and a.test in inside:
            return [a.body, a.orelse]
    for a in inside:
        if isinstance(a, ast.BoolOp):
            return [part for part in a.values if part not in inside]
    return [hook.function.body]


def decides(draft: Draft, test: ast.expr) -> bool:
    """Whether a test decides how training goes on, rather than what is shown of its first steps."""
    places = decided(draft, test)
    nodes = [n for s in places for n in ast.walk(s)]
    if trains(draft, test) or _makes_losses(draft, nodes):
        return True
    return any(
        isinstance(n, (ast.Break, ast.Return, ast.Raise))
        or (isinstance(n, ast.Attribute) and n.attr in ("lr", "learning_rate", "stop_training"))
        or (isinstance(n, ast.Name) and n.id in ("lr", "learning_rate"))
        for n in nodes
    )


def _makes_losses(draft: Draft, nodes: list[ast.AST]) -> bool:
    """Whether something is set among some nodes that a loss is made of: `if step < 8: loss = loss * 0.1`."""
    settings = [n for n in nodes if isinstance(n, (ast.Assign, ast.AugAssign))]
    set_here = {moved.value if (moved := augmented(n)) is not None else n.value for n in settings}
    return bool(set_here) and any(n in set_here for n in draft.values.depends(losses_of(draft), _OF_LOSSES))
