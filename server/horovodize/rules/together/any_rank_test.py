"""What comes out alike on all ranks: a test that all decide together, a draw from one stream, rank 0's value. Part of G4."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from horovodize.facts.differences.answers import Uniform, Unknown, Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.steps import Feed
from horovodize.facts.files.kept import VARIABLES
from horovodize.python.syntax import CALLABLES, Loop, argument
from horovodize.rules.drafting import told
from horovodize.rules.drafting.decisions import Agreed, How, Shared, Unit
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root, outputs_of
from horovodize.rules.together import told_draws
from horovodize.source import Edit

_WHAT = "Leave the loop on all ranks together"
WHY = "A rank that leaves the loop alone leaves the others waiting for it forever."
ALIKE = "all ranks must come to the same decision here: one that leaves alone stalls the others"

_MEASURED = (
    "each rank compares a value of its own here, and now all of them leave the loop when one of them would; compare the mean "
    "over all ranks, or confirm that this is meant"
)
_NO_NUMBER = {"isnan", "is_nan", "isinf", "is_inf", "isfinite", "is_finite"}


class Cause(Enum):
    """What decides a condition in a training loop."""

    COUNT = "the same on all ranks"
    VALUE = "a value of the rank's own, or one that is not seen"
    GAME = "the course of a simulation in the loop"


def cause_of(draft: Draft, test: ast.expr, loop: Loop) -> Cause:
    """What decides a test in a loop, or its head."""
    cause = Cause.COUNT
    for reason in differing(draft, test):
        if (
            isinstance(reason, Varies)
            and reason.kind is Source.GAME
            and draft.syntax.inside(reason.where, loop)
        ):
            return Cause.GAME
        cause = Cause.VALUE
    return cause


def differing(draft: Draft, e: ast.AST) -> list[Varies | Unknown]:
    """Why a value may differ between ranks, but for what has been made the same on all of them: by rules before, or by `fit`,
    whose metrics are averaged."""
    reasons: list[Varies | Unknown] = [*draft.uniform.reasons(e)] or [*_of_divided_rows(draft, e)]
    found = [r for r in reasons if not draft.was(r.where, Agreed)]
    found = [r for r in found if not (isinstance(r, Varies) and is_kept_by_fit(draft, r))]
    return [r for r in found if (e, r.where) not in draft.settled]


def _of_divided_rows(draft: Draft, e: ast.AST) -> Iterator[Varies]:
    """What a value is computed of that is the same on all ranks until its rows are divided: the loss of a step that takes all
    of them. (Gradients are averaged.)"""
    steps = [draft.facts.steps.of(u.call) for u in draft.sites.updates] if draft.options.split_data else []
    rows = {e for step in steps if step.feed is Feed.WHOLE for e in step.rows}
    made_of = list(draft.values.depends([e], 400)) if rows else []
    if not any(isinstance(n, ast.Call) and draft.names.last(n.func) == "gradient" for n in made_of):
        yield from (Varies(Source.ROWS, n) for n in made_of if n in rows)


def agree(
    draft: Draft,
    test: ast.expr,
    doubt: str = "",
    why: str = WHY,
    what: str = _WHAT,
    rule: str = "",
    *,
    of_all: bool = False,
) -> None:
    """`test` → `any_rank(test)`, once.

    of_all: that it has to hold on all ranks, rather than on one"""
    rule = rule or draft.loop_rule
    if not draft.decide(test, Agreed(rule, How.TOGETHER)):
        return
    if draft.drive.in_traced(test):
        draft.refuse("HVD205", test, ALIKE)
        return
    if draft.in_sessions:
        draft.session_config(draft.sites.any_v1)
    # rank 0 alone saves, so the others' count stays where it is
    counts_saves = any(isinstance(n, ast.Attribute) and n.attr == "save_counter" for n in ast.walk(test))
    any_rank = from_root(draft) if counts_saves else draft.helper("any_rank")
    is_plain = isinstance(test, (ast.Name, ast.Attribute, ast.Call))
    opening, closing = ("", "") if is_plain else ("(", ")")
    around = (f"not {any_rank}(not {opening}", f"{closing})")
    if counts_saves or not of_all:
        around = (f"{any_rank}(", ")")
    edits = Edit.around(draft.module.span(test), *around)
    draft.change(
        rule,
        test,
        what,
        why,
        edits,
        doubt=doubt,
    )


def doubt_of(draft: Draft, test: ast.expr) -> str:
    """What is doubtful where any rank may end a loop: not for what is no number any more, `np.isnan(loss)`, for a clock, or for
    how many rows a rank has seen."""
    asked = {draft.names.last(n.func) for n in ast.walk(test) if isinstance(n, ast.Call)}
    measured = any(
        isinstance(r, Varies) and r.kind is Source.ROWS and _is_given(draft, r.where)
        for r in differing(draft, test)
    )
    return _MEASURED if measured and not asked & _NO_NUMBER else ""


def _is_given(draft: Draft, where: ast.AST) -> bool:
    """Whether what varies is what a call gives: also by a name that is set to what a step gives, `loss = train(batch)`."""
    if not isinstance(where, ast.Name):
        return isinstance(where, (ast.Call, ast.Attribute))
    runs = {run.call for run in draft.sites.graph.trainings}
    steps: set[ast.AST] = {u.call for u in draft.sites.updates} | runs
    bound = (b.value for b in draft.module.scopes.reaching(where) if b.kind == "assign")
    return any(isinstance(v, ast.Call) and (v in runs or draft.drive.reaches(v, steps)) for v in bound)


# ---------------------------------------------------------------------- values


def alike(draft: Draft, call: ast.Call, *, seeded: bool = False) -> str:
    """The name of a helper function: `alike(random.choice)` draws the same on all ranks, without a communication at each
    draw. All ranks have to come to each such draw.

    call: the draw; seeded: that the program fixes by a seed what is drawn; if it fixes all of it, each run draws the same"""
    is_own = draft.uniform.draws.maker(call) is not None  # of a generator of the program's own
    module = "" if is_own else (draft.names.of(call.func) or "").rpartition(".")[0]
    if draft.stream.setdefault("module", module) != module:
        draft.stream["module"] = ""
    if "seed" not in draft.stream and seeded:
        draft.stream["seed"] = "0"
    elif not seeded and draft.stream.get("seed", "0") == "0":
        secrets = draft.needed_module("secrets")
        draft.stream["seed"] = f"{from_root(draft)}({secrets}.randbits(32))"
    return draft.helper("alike")


def draw_alike(draft: Draft, call: ast.Call, rule: str, what: str, why: str, *, seeded: bool = False) -> None:
    """`random.choice(x)` → `alike(random.choice)(x)`, once; or rank 0 tells what comes out. What a seed just before fixes stays
    as it is; if that seed is drawn itself, rank 0 tells it, so that what else is drawn by it still comes out as this does."""
    shared = draft.decision(call, Shared)
    is_dealt_out = shared is not None and shared.unit is Unit.DRAWS  # all ranks draw each other's there
    own_seeds = draft.uniform.draws.own_seeds(call)
    edits = () if is_dealt_out or seeded or own_seeds else tuple(told_draws.edits(draft, call))
    if not draft.decide(call, Agreed(rule, How.ROOT if edits else How.STREAM)) or is_dealt_out:
        return
    if edits and not draft.uniform.draws.is_seeded_just_before(call):
        draft.change(rule, call, what, why, edits)
        return
    if own_seeds:
        for seed in own_seeds:
            if not _is_told(draft, seed):
                agree_value(draft, seed, rule, what, why, is_reached=True)
        return
    if seeded or not draft.uniform.draws.is_seeded_just_before(call):
        edits = Edit.around(draft.module.span(call.func), f"{alike(draft, call, seeded=seeded)}(", ")")
        draft.change(rule, call, what, why, edits)


def seed_alike(draft: Draft, call: ast.Call, rule: str, what: str, why: str) -> bool:
    """`sklearn.utils.shuffle(ops)` → `shuffle(ops, random_state=…)`, a seed for each time; False for anything else. What it
    gives may be of a graph, which rank 0 can't send."""
    if draft.names.of(call.func) != "sklearn.utils.shuffle" or argument(call, "random_state") is not None:
        return False
    if draft.decide(call, Agreed(rule, How.SEED)):
        seed = told_draws.own_seed(draft, call, 0)
        draft.change(rule, call, what, why, [draft.add_argument(call, f"random_state={seed}")])
    return True


def _is_told(draft: Draft, seed: ast.expr) -> bool:
    """Whether a statement before this one, in its block, reads the same value of the name, and rank 0 tells it there."""
    if not isinstance(seed, ast.Name):
        return False
    statement, reaching = draft.syntax.statement(seed), draft.module.scopes.reaching
    block = draft.syntax.block(statement)
    earlier = block[: block.index(statement)] if statement in block else []
    return any(
        isinstance(n, ast.Name)
        and n.id == seed.id
        and draft.syntax.statement(n) in earlier
        and reaching(n) == reaching(seed)
        for n in draft.having(Agreed)
    )


def can_agree(draft: Draft, node: ast.AST, but_for: ast.expr | None = None) -> bool:
    """Whether all ranks come to a place alike, with Horovod there: they can wait for rank 0's value.

    but_for: a test that they decide alike by then"""
    if draft.drive.in_traced(node) or outputs_of(draft).is_early(node):
        return False
    if draft.drive.traced and any(draft.drive.runs_traced(way) >= 0 for way in draft.drive.ways(node)):
        return False  # a tensor of a graph, which can't be sent as an object
    answer = draft.uniform.reach(node)
    own = {r.where for r in draft.uniform.reasons(but_for)} if but_for is not None else set()
    return isinstance(answer, Uniform) or (isinstance(answer, Varies) and answer.where in own)


def is_kept_by_fit(draft: Draft, reason: Varies) -> bool:
    """Whether something is read off what `fit` gives, whose metrics are averaged over the ranks; `train_on_batch` gives a
    rank's own."""
    fits = [f.call for f in draft.sites.fits if f.method != "train_on_batch"]
    is_history = bool(fits) and draft.names.last(reason.where) == "history"
    return is_history or reason.where in fits


def agree_value(
    draft: Draft,
    e: ast.expr,
    rule: str,
    what: str,
    why: str,
    doubt: str = "",
    *,
    is_reached: bool = False,
    by: str = "",
) -> bool:
    """`e` → rank 0's value of it, on all ranks; False where some rank may not come there. A name is set again before the
    statement (a loop, say) that reads it, so that all that reads it later goes on with the same; and before others beside it
    that make something of the same value: a model of the best size.

    is_reached: that all ranks come there is known otherwise
    by: the helper that makes one of the ranks' values, where that is not rank 0's"""
    statement = draft.syntax.statement(e)
    if draft.was(e, Agreed):
        return True
    if not is_reached and not can_agree(draft, e):
        return False
    if not draft.decide(e, Agreed(rule)):
        return True  # it's asked about
    if _can_be_set(draft, e) and draft.can_insert(statement) and not _is_elif(draft, statement):
        text = draft.module.text(e)
        statement = _first_made_of(draft, e, statement)
        if _is_set_before(draft, e, statement):
            return True
        if draft.once(f"agreed {text}", statement):
            draft.agreed_before.append((e, statement))
            line = f"{text} = {draft.helper(by) if by else from_root(draft)}({text})"
            if _is_variable(draft, e) and not by:  # which checkpoints, or a `tf.function`, go on with
                line = f"{text}.assign({from_root(draft)}({text}.numpy()))"
            draft.change(rule, e, what, why, [draft.before(statement, [line])], doubt=doubt)
    elif not by and isinstance(statement, ast.While) and _is_shape_for_all_turns(draft, e, statement):
        name = draft.fresh("shape")  # asked once, rather than in each turn
        line = f"{name} = {from_root(draft)}({draft.module.text(e)})"
        taken = [draft.before(statement, [line]), Edit(draft.module.span(e), name)]
        draft.change(rule, e, what, why, taken, doubt=doubt)
    else:
        # Inside of what divides it: rank 0's rows, and of these a part.
        around = (f"{draft.helper(by)}(", ")") if by else told.around(draft, e)
        edits = Edit.around(draft.module.span(e), *around, level=1)
        draft.change(rule, e, what, why, edits, doubt=doubt)
    return True


def _is_shape_for_all_turns(draft: Draft, e: ast.expr, loop: ast.While) -> bool:
    """Whether the head of a loop reads the shape of an array that no turn binds again: `while at < rows.shape[0]:`."""
    if not isinstance(e, ast.Attribute) or e.attr != "shape" or not isinstance(e.value, ast.Name):
        return False
    bound = draft.module.scopes.reaching(e.value)
    return (
        draft.can_insert(loop)
        and bool(bound)
        and not any(draft.syntax.inside(b.statement, loop) for b in bound)
    )


def _can_be_set(draft: Draft, e: ast.expr) -> bool:
    """Whether a name, or an attribute that the program sets somewhere, can be set again: not `phase.rate` of a named tuple, nor
    a name of the module in a function, where it would become another one that has no value yet."""
    if isinstance(e, ast.Name):
        scopes, place = draft.module.scopes, draft.syntax.statement(e)
        scope, here = scopes.lookup(e.id, e), scopes.scope(place)
        return scope is here or (scope is None and isinstance(here, ast.Module)) or _is_declared(draft, e)
    if not isinstance(e, ast.Attribute):
        return False
    return any(isinstance(b.anchor, ast.Attribute) for b in draft.module.scopes.attributes.get(e.attr, ()))


def _is_set_before(draft: Draft, e: ast.expr, statement: ast.stmt) -> bool:
    """Whether a name has been given rank 0's value on the way to a statement, and nothing sets it between."""
    if not isinstance(e, ast.Name):
        return False
    syntax, function = draft.syntax, draft.syntax.function(statement)
    bound = {b.statement for b in draft.module.scopes.reaching(e)}
    for other, first in draft.agreed_before:
        block = syntax.block(first)
        after = block[block.index(first) :]
        if not isinstance(other, ast.Name) or other.id != e.id or syntax.function(first) is not function:
            continue
        if not any(syntax.inside(statement, s) for s in after) or syntax.loops(statement) != syntax.loops(
            first
        ):
            continue
        if bound and bound == {b.statement for b in draft.module.scopes.reaching(other)}:
            return True
    return False


def _is_declared(draft: Draft, e: ast.Name) -> bool:
    """`global n` in its function"""
    function = draft.syntax.function(e)
    declared = ast.walk(function) if function is not None else ()
    return any(isinstance(n, (ast.Global, ast.Nonlocal)) and e.id in n.names for n in declared)


def _is_variable(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is a `tf.Variable`, which holds a number."""
    made = draft.values.calls(e)
    return bool(made) and not draft.in_graph and all(draft.names.of(c.func) in VARIABLES for c in made)


def _first_made_of(draft: Draft, e: ast.expr, statement: ast.stmt) -> ast.stmt:
    """The first of the statements beside this one, since a name was set, that makes something of what it holds."""
    first, block = statement, draft.syntax.block(statement)
    field = isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name)
    if not (isinstance(e, ast.Name) or field) or statement not in block:
        return first
    set_by = {b.statement for b in draft.module.scopes.reaching(e)} if isinstance(e, ast.Name) else set()
    for other in reversed(block[: block.index(statement)]):
        inside = list(ast.walk(other))
        if set_by & set(inside) or not draft.can_insert(other) or (field and _may_set(e, inside)):
            break
        reads = any(
            isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == ast.unparse(e) for n in inside
        )
        if reads and isinstance(other, ast.Assign) and any(_makes(draft, n) for n in inside):
            first = other
    return first


def _may_set(field: ast.expr, inside: list[ast.AST]) -> bool:
    """Whether a statement sets a field, or its object, or calls a method of it: `state.load()`; or is what it is handed to."""
    held = ast.unparse(field).partition(".")[0]
    for n in inside:
        if isinstance(n, (ast.Name, ast.Attribute)) and not isinstance(n.ctx, ast.Load):
            if ast.unparse(n) in (held, ast.unparse(field)):
                return True
        if isinstance(n, ast.Call):
            given = [n.func.value] if isinstance(n.func, ast.Attribute) else []
            given += [*n.args, *(k.value for k in n.keywords)]
            if any(isinstance(g, ast.Name) and g.id == held for g in given):
                return True
    return False


def _makes(draft: Draft, node: ast.AST) -> bool:
    """Whether a call makes something by a function or class of the module."""
    return isinstance(node, ast.Call) and isinstance(draft.values.callee(node), (*CALLABLES, ast.ClassDef))


def agree_order(draft: Draft, where: ast.expr, rule: str, why: str) -> bool:
    """A set whose order matters → a list in rank 0's order, on all ranks; False where that can't be."""
    if isinstance(where, ast.Call) and isinstance(where.func, ast.Attribute):
        return False  # `names.pop()`: the set itself goes on differing
    if not can_agree(draft, where):
        return False
    if draft.decide(where, Agreed(rule)):
        listed = draft.syntax.parent[where]
        if (
            isinstance(listed, ast.Call)
            and draft.names.last(listed.func) == "list"
            and listed.args == [where]
        ):
            edits = Edit.around(draft.module.span(listed), f"{from_root(draft)}(", ")")
        else:
            edits = Edit.around(draft.module.span(where), f"{from_root(draft)}(list(", "))")
        draft.change(rule, where, "Go through it in rank 0's order on all ranks", why, edits)
    return True


def _is_elif(draft: Draft, statement: ast.stmt) -> bool:
    start = draft.module.span(statement).start
    return isinstance(statement, ast.If) and draft.document.text.startswith("elif", start)
