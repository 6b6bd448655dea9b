"""Numbers and choices that decide how training goes, and that each rank would come to by itself: part of G4.

How many epochs and steps there are, which optimizer trains and at which rate, how large layers are: ranks that draw these at
random, or go by a clock, a host or a checkpoint that only one of them has, wait for each other or train different models. All
take rank 0's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from horovodize.facts.counting.ranges_around import ranges_around
from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.exits import ends_all, exits, tests
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import (
    CALLABLES,
    LOOPS,
    Loop,
    arguments,
    is_main_guard,
    position,
)
from horovodize.rules.deciding import left_out_networks, measured_choices
from horovodize.rules.deciding.chosen_networks import choices
from horovodize.rules.deciding.deciding_values import layer_values, numbers, optimizers, repeated_by
from horovodize.rules.drafting import told
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import given_there
from horovodize.rules.output.read_back import written_first
from horovodize.rules.resuming import read_before, restored_fields, resume
from horovodize.rules.together.any_rank_test import (
    agree_order,
    agree_value,
    can_agree,
    differing,
    draw_alike,
    is_kept_by_fit,
    seed_alike,
)
from horovodize.rules.together.varying_parts import behind_range, varying_parts
from horovodize.rules.wrapping.optimizers import agree_on_choices
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame

_WHAT = "Take rank 0's value on all ranks"
_DRAW = "Draw the same on all ranks"
_WHY_STEPS = "Ranks that take different numbers of steps wait for each other forever."
_WHY_SAME = "Ranks that train with different settings train different models."
_STEPS = "ranks may take different numbers of steps here: {why}; decide by something that is the same on every rank"
_OPTIMIZERS = "ranks may train with different optimizers or rates: {why}; decide by something that is the same on every rank"
_WHY_NETWORK = "Ranks that train another network than the others wait for them forever."
_SHAPES = "ranks may build different models here: {why}; decide by something that is the same on every rank"
# What a rank's own rows or game decide is agreed on in the loop (`lockstep`).
_OF_THE_LOOP = (Source.ROWS, Source.GAME)
# Sources that are agreed on where the value is used: what else they decide (what is read from a file) stays each rank's own.
_WHERE_USED = (Source.FILES, Source.FAILURE, Source.RUN)
_DO_AS_RANK_0 = "Do on all ranks as rank 0 does"
_WHY_FILE = "Ranks that train wait forever for one that finds a file and doesn't. What rank 0 finds, each host has to have."
_LISTING = ("glob", "iglob", "rglob", "listdir", "scandir", "iterdir", "walk", "Glob", "ListDirectory")
_SAME_FILES = "Let all ranks find the same files"
_LISTED = (
    "the files that are found decide here how many steps there are: check that all ranks find the same ones"
)
_THERE = ("exists", "isfile", "is_file", "Exists")
_KEPT = (
    "whether a file is there decides here how many steps there are, as data that an earlier run has kept does: check that all "
    "ranks find it, or that none does"
)
_AMOUNTS = ("take", "skip")
_COUNTING = ("range", "trange", "tqdm", "enumerate", "zip", "min", "max")


def agree_on_values(draft: Draft, frames: Sequence[Frame]) -> None:
    """`frames`: those of the ways to what trains. Runs before tests in loops are agreed on: what is rank 0's already needs
    that no more."""
    resume.agree_on_starts(draft, frames)
    for frame in frames:
        _ask_whether(draft, frame)
    for loop in sorted({loop for frame in frames for loop in frame.loops}, key=position):  # outer ones first
        _agree_on_turns(draft, loop)
    restored_fields.agree(draft)
    for number in numbers(draft):
        _take_measured(draft, number)
        _agree(draft, number, differing(draft, number), "HVD205", _STEPS, _WHY_STEPS)
    for optimizer in optimizers(draft):
        _agree(draft, optimizer, differing(draft, optimizer), "HVD107", _OPTIMIZERS, _WHY_SAME)
    agree_on_choices(draft)
    for choice in choices(draft):
        if not measured_choices.take(draft, choice, _WHY_NETWORK):
            _agree(draft, choice, differing(draft, choice), "HVD205", measured_choices.NETWORKS, _WHY_NETWORK)
    for frozen in measured_choices.frozen(draft):
        _agree(draft, frozen, differing(draft, frozen), "HVD205", measured_choices.NETWORKS, _WHY_NETWORK)
    for test in left_out_networks.tests(draft):
        _agree(draft, test, differing(draft, test), "HVD205", measured_choices.NETWORKS, _WHY_NETWORK)
    for optimizer in optimizers(draft):
        _take_read_settings(draft, optimizer)
        given_there.settle(draft, optimizer)
        for reason in differing(draft, optimizer):
            agreed = any(draft.syntax.inside(reason.where, e) for e in draft.having(Agreed))
            if isinstance(reason, Varies) and reason.kind in _WHERE_USED and not agreed:
                draft.refuse("HVD107", optimizer, _OPTIMIZERS.format(why=reason.why))
    for layer in draft.module.layers:
        found = draft.uniform.decided(layer)
        for value in layer_values(draft, layer):
            if differing(draft, value):
                _take_chosen(draft, value)
                found = (*found, *differing(draft, value))
        for items in repeated_by(draft, layer):
            found = (*found, *draft.uniform.number_reasons(items))
        shaping = [r for r in found if isinstance(r, Varies) and r.kind not in _WHERE_USED]
        _agree(draft, layer, shaping, "HVD205", _SHAPES, _WHY_SAME)


def _take_read_settings(draft: Draft, optimizer: ast.expr) -> None:
    """Makes what an optimizer is made with rank 0's where a file may tell it: `SGD(rate)` after
    `if os.path.exists(state): rate = json.load(…)["rate"]`. Which optimizer it is, is no number."""
    for made in draft.values.calls(optimizer) if not draft.in_graph else ():
        if not draft.module.is_optimizer(made):
            continue
        for given in arguments(made):
            used = [r for r in differing(draft, given) if isinstance(r, Varies) and r.kind in _WHERE_USED]
            parts = varying_parts(draft, given, used) if used else []
            if parts and all(_is_read_number(draft, p) for p in parts):
                if all(agree_value(draft, p, draft.loop_rule, _WHAT, _WHY_SAME) for p in parts):
                    draft.settled |= {(e, r.where) for e in (optimizer, made, given) for r in used}


def _is_read_number(draft: Draft, e: ast.expr) -> bool:
    """Whether something stands for what is read or written out, and for nothing that a class makes, such as a schedule."""
    if not isinstance(e, (ast.Name, ast.Attribute, ast.Subscript)):
        return False
    made = [o.node for o in draft.values.origins(e)]
    return not any(
        isinstance(n, ast.Call)
        and (draft.names.last(n.func)[:1].isupper() or isinstance(draft.values.callee(n), ast.ClassDef))
        for n in made
    )


def _agree_on_turns(draft: Draft, loop: Loop) -> None:
    uniform = draft.uniform
    if isinstance(loop, ast.While):
        _agree_on_test(draft, loop)
        return
    for leaving in exits(loop):
        for test in tests(draft.syntax, leaving, loop):
            _draw_alike(draft, test)
    found = [r for r in uniform.number_reasons(loop.iter) if not draft.was(r.where, Agreed)]
    e = draft.facts.feeding.iterable(loop)
    if e is None or not draft.facts.feeding.kinds.is_range(e):
        used = [r for r in found if isinstance(r, Varies) and r.kind in _WHERE_USED]
        if used and all(_lists_files(draft, r) for r in used):
            draft.ask(draft.loop_rule, loop.iter, _SAME_FILES, _WHY_STEPS, _LISTED)
        elif not used or _agree_on_counts(draft, loop.iter, used):
            pass
        elif written_first(draft).issuperset(r.where for r in used):
            pass  # all ranks wait for rank 0's file, and read that
        elif any(_asks_for_file(draft, r) for r in used):
            draft.ask(draft.loop_rule, loop.iter, _SAME_FILES, _WHY_STEPS, _KEPT)
        else:
            draft.refuse("HVD205", loop.iter, _STEPS.format(why=used[0].why))
        found = [r for r in found if isinstance(r, Varies) and r not in used]
    else:
        _take_measured(draft, loop.iter)
    _agree(draft, loop.iter, found, "HVD205", _STEPS, _WHY_STEPS)


def _agree_on_counts(draft: Draft, iterable: ast.expr, used: Sequence[Varies]) -> bool:
    """Makes a number that says how much of a data set is gone through rank 0's: `dataset.take(1000 - start)`, where a
    checkpoint says how far an earlier run came. False where something else makes ranks see more or less of it."""
    counts, others = list[ast.expr](), list[ast.expr]()
    todo = [iterable]
    while todo:
        e = todo.pop()
        if isinstance(e, ast.Call) and draft.names.last(e.func) == "zip" and not e.keywords:
            todo += e.args
        elif isinstance(e, ast.Call) and draft.names.last(e.func) == "enumerate" and e.args:
            todo.append(e.args[0])
        elif draft.facts.feeding.kinds.is_range(e):
            counts.append(e)
        else:
            for call in (c for c in draft.facts.feeding.pipelines.trail(e) if isinstance(c, ast.Call)):
                given = arguments(call)
                (counts if draft.names.last(call.func) in _AMOUNTS else others).extend(given)
    reasons = draft.uniform.reasons
    deciding = [c for c in counts if set(used).intersection(reasons(c))]
    if not deciding or any(set(used).intersection(reasons(o)) for o in others):
        return False
    parts = [p for c in deciding for p in varying_parts(draft, c, used)]
    return bool(parts) and all(agree_value(draft, p, draft.loop_rule, _WHAT, _WHY_STEPS) for p in parts)


def _lists_files(draft: Draft, reason: Varies) -> bool:
    """Whether a value differs only where ranks find different files: what a folder of training data holds."""
    where = reason.where
    return isinstance(where, ast.Call) and draft.names.last(where.func) in _LISTING


def _asks_for_file(draft: Draft, reason: Varies) -> bool:
    """Whether a value differs where some ranks find a file and others don't: `if os.path.exists(path): x = load(path)`. What
    they read there is what a run before this one has written."""
    return isinstance(reason.where, ast.Call) and draft.names.last(reason.where.func) in _THERE


def _ask_whether(draft: Draft, frame: Frame) -> None:
    """A condition around training that can't be seen through: rank 0 decides for all. Those in loops, any rank does."""
    for guard in _guards(draft, frame.node):
        if draft.facts.uniform.differs_by_a_file(guard.test):
            _take_rank_0s_answer(draft, guard.test)
    for condition, _ in draft.syntax.conditions(frame.node):
        found = draft.uniform.reasons(condition.test)
        unseen = next((r for r in found if isinstance(r, Unknown)), None)
        if isinstance(condition, ast.If) and draft.facts.uniform.differs_by_a_file(condition.test):
            _take_rank_0s_answer(draft, condition.test)
            continue
        if isinstance(condition, ast.If) and _take_rank_0s_numbers(draft, frame.node, condition.test):
            continue
        if unseen is None or any(isinstance(r, Varies) for r in found) or is_main_guard(condition):
            continue
        if any(draft.syntax.inside(condition, loop) for loop in frame.loops) or draft.was(
            condition.test, Agreed
        ):
            continue
        doubt = f"{unseen.why}: check that all ranks can do here as rank 0 does"
        if not agree_value(
            draft, condition.test, draft.loop_rule, "Train on all ranks if rank 0 does", _WHY_STEPS, doubt
        ):
            draft.note(
                draft.loop_rule,
                condition.test,
                f"{unseen.why}, so ranks may not all train here, and then stall",
            )


def _guards(draft: Draft, node: ast.AST) -> Iterator[ast.If]:
    """Tests before a place, in its function and in loops there, by which a rank leaves before it comes there."""
    child = node
    for a in draft.syntax.ancestors(node):
        if isinstance(a, (*CALLABLES, *LOOPS, ast.Module)) and draft.syntax.field[child] == "body":
            if isinstance(child, ast.stmt):
                block = draft.syntax.block(child)
                earlier = (s for s in block[: block.index(child)] if isinstance(s, ast.If))
                for guard in earlier:
                    last = guard.body[-1]
                    if isinstance(last, (ast.Return, ast.Continue)) or ends_all(last, draft.names):
                        yield guard
        if isinstance(a, CALLABLES):
            return
        child = a


def _take_rank_0s_answer(draft: Draft, test: ast.expr) -> None:
    """`if os.path.exists(path): model.load_weights(path) else: model.fit(…)`"""
    if not differing(draft, test) or draft.was(test, Agreed):
        return
    if not agree_value(draft, test, draft.loop_rule, _DO_AS_RANK_0, _WHY_FILE):
        draft.refuse("HVD205", test, _STEPS.format(why=Source.FILES.value))


def _take_rank_0s_numbers(draft: Draft, node: ast.AST, test: ast.expr) -> bool:
    """`if begin < epochs: model.fit(…, initial_epoch=begin)`, where files tell how far an earlier run came. Whether the test is
    one of such a number."""
    used = [r for r in differing(draft, test) if isinstance(r, Varies)]
    if not used or not draft.facts.uniform.goes_by_a_read_number(test):
        return False
    if draft.facts.counters.stored_in(test) is not None:
        return False  # all ranks agree on it where it is restored (G6)
    ranges = ranges_around(draft.drive, draft.facts.feeding, node)
    if draft.facts.uniform.where(ranges).varies(test) is None:
        return False  # likewise where turns begin by it
    for part in varying_parts(draft, test, used):
        if not agree_value(draft, part, draft.loop_rule, _WHAT, _WHY_STEPS):
            draft.refuse("HVD205", test, _STEPS.format(why=Source.FILES.value))
    draft.settled |= {(test, r.where) for r in used}
    return True


def _draw_alike(draft: Draft, test: ast.expr) -> None:
    """Where nothing but draws decides, they come from one stream, if all ranks come to them: no rank has to ask the others.
    The draws of a game that each rank plays for itself stay its own."""
    found = differing(draft, test)
    draws = [r.where for r in found if isinstance(r, Varies) and r.kind is Source.CHANCE]
    if len(draws) < len(found):
        return
    for draw in draws:
        if isinstance(draw, ast.Call) and draft.uniform.draws.has_stream(draw) and can_agree(draft, draw):
            draw_alike(draft, draw, draft.loop_rule, _DRAW, _WHY_STEPS)


def _agree_on_test(draft: Draft, loop: ast.While) -> None:
    """What the test of a loop goes by from before the loop; what comes up in it, all ranks test together."""
    _draw_alike(draft, loop.test)
    read_before.agree_on_head(draft, loop)
    found = [r for r in differing(draft, loop.test) if isinstance(r, Varies)]
    before = [r for r in found if not draft.syntax.inside(r.where, loop) and r.kind is not Source.SIGNAL]
    used = [r for r in before if r.kind in _WHERE_USED]
    parts = (n for n in varying_parts(draft, loop.test, used) if isinstance(n, (ast.Name, ast.Attribute)))
    # of `state["step"]` nothing may come up in the loop, though of other items of `state` something does
    names = [n for n in parts if before == found or not _comes_up_in(draft, n, loop)]
    if used and names and all(agree_value(draft, n, draft.loop_rule, _WHAT, _WHY_STEPS) for n in names):
        draft.settled |= {(loop.test, r.where) for r in used}
        if used == found:  # nothing else makes it differ, in no turn
            draft.decide(loop.test, Agreed(draft.loop_rule))
    if before == found:
        _agree(draft, loop.test, [r for r in before if r not in used], "HVD205", _STEPS, _WHY_STEPS)


def _comes_up_in(draft: Draft, e: ast.expr, loop: Loop) -> bool:
    """Whether each turn of a loop gives something another value, a rank's own: rank 0's of before would hold for one test."""
    found = (r for r in differing(draft, e) if isinstance(r, Varies))
    return any(draft.syntax.inside(r.where, loop) for r in found)


# ---------------------------------------------------------------------- agreeing


def _agree(
    draft: Draft, e: ast.expr, found: Iterable[Varies | Unknown], code: str, message: str, why: str
) -> None:
    """Makes all that a decision depends on rank 0's, where it varies; refuses where that can't be done. Numbers that can't be
    followed are rank 0's, too: the user is asked."""
    found = list(found)
    varying = [r for r in found if isinstance(r, Varies)]
    if any(r.kind in _OF_THE_LOOP for r in varying):
        return
    used = [r for r in varying if r.kind in _WHERE_USED]
    for reason in varying:
        if reason in used or draft.was(reason.where, Agreed):
            continue
        if not _agree_at_source(draft, reason, why):
            draft.refuse(code, e, message.format(why=reason.why))
    unseen = [r for r in found if isinstance(r, Unknown)]
    if unseen and not varying and code == "HVD205" and message is _STEPS:
        doubt = f"{unseen[0].why}: check that it is a number, of which all ranks may take rank 0's"
        for part in (n for p in varying_parts(draft, e, unseen) for n in behind_range(draft, p, unseen)):
            agree_value(draft, part, draft.loop_rule, _WHAT, why, doubt)
    if used and code != "HVD107":  # which optimizer it is, is agreed on where it is chosen
        parts = [p for part in varying_parts(draft, e, used) for p in behind_range(draft, part, used)]
        if parts and all(_counts_from_agreed(draft, p, used) for p in parts):
            return
        if not parts or not all(agree_value(draft, p, draft.loop_rule, _WHAT, why) for p in parts):
            draft.refuse(code, e, message.format(why=used[0].why))


def _take_chosen(draft: Draft, size: ast.expr) -> None:
    """Makes the size of a layer rank 0's where each rank chooses it by what it has measured: the best of several, by the
    losses of its own rows. Not what the shape of something says."""
    varying = [r for r in differing(draft, size) if isinstance(r, Varies) and r.kind is Source.ROWS]
    for part in varying_parts(draft, size, varying) if varying else ():
        said = [o.node for o in draft.values.origins(part)]
        measures = (n for node in (part, *said) for n in ast.walk(node))
        if isinstance(part, (ast.Name, ast.Attribute)) and not any(_is_measure(draft, n) for n in measures):
            if not agree_value(draft, part, draft.loop_rule, _WHAT, _WHY_SAME):
                draft.refuse("HVD205", size, _SHAPES.format(why=varying[0].why))


def _is_measure(draft: Draft, n: ast.AST) -> bool:
    """`x.shape`, `len(x)`"""
    if isinstance(n, ast.Attribute):
        return n.attr in ("shape", "size", "ndim")
    return isinstance(n, ast.Call) and draft.names.last(n.func) in ("len", "shape", "get_shape", "int_shape")


def _take_measured(draft: Draft, e: ast.expr) -> None:
    """Makes a number of steps that is read once, before training goes by it, rank 0's where each rank has measured another
    one: by the losses of its own rows, in an earlier training, say. A game's length is asked about where it is played
    (`reached_together`)."""
    varying = [r for r in differing(draft, e) if isinstance(r, Varies)]
    measured = [r for r in varying if r.kind is Source.ROWS]
    if all(is_kept_by_fit(draft, r) for r in measured) or any(r.kind is Source.GAME for r in varying):
        return
    for part in (_selected(draft, p) for p in varying_parts(draft, e, measured)):
        if not agree_value(draft, part, draft.loop_rule, _WHAT, _WHY_STEPS):
            draft.refuse("HVD205", e, _STEPS.format(why=measured[0].why))


def _selected(draft: Draft, number: ast.expr) -> ast.expr:
    """Rows that are selected by what each rank has measured, where their number is asked for to go through them: `order` of
    `range(0, len(order), 16)`. Of rank 0's number, a rank that has selected fewer would come to its end."""
    match number:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as rows]):
            read = ast.walk(draft.syntax.statement(number))
            parts = (n.value for n in read if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load))
            measured = any(
                isinstance(r, Varies) and r.kind is Source.ROWS for r in draft.uniform.reasons(rows)
            )
            if measured and any(isinstance(p, ast.Name) and p.id == rows.id for p in parts):
                return rows
    return number


def _counts_from_agreed(draft: Draft, e: ast.expr, reasons: Sequence[Varies]) -> bool:
    """Whether a name counts the turns of a loop whose bounds are rank 0's on all ranks already."""
    if not isinstance(e, ast.Name):
        return False
    loops = [b.statement for b in draft.module.scopes.reaching(e)]
    return bool(loops) and all(
        isinstance(loop, (ast.For, ast.AsyncFor))
        and draft.facts.feeding.kinds.is_range(loop.iter)
        and all(draft.was(part, Agreed) for part in varying_parts(draft, loop.iter, reasons))
        for loop in loops
    )


def _agree_at_source(draft: Draft, reason: Varies, why: str) -> bool:
    """Makes a value that is drawn, or read off a clock, the same on all ranks where it comes from."""
    where = reason.where
    if not isinstance(where, ast.expr) or not can_agree(draft, where):
        return False
    draws = draft.uniform.draws
    if isinstance(where, ast.Call) and reason.kind is Source.CHANCE and draws.has_stream(where):
        draw_alike(draft, where, draft.loop_rule, _DRAW, why)
        return True
    if reason.kind is Source.ORDER:
        return agree_order(draft, where, draft.loop_rule, why)
    if not isinstance(where, ast.Call):
        return False
    if seed_alike(draft, where, draft.loop_rule, _DRAW, why):
        return True
    if draft.decide(where, Agreed(draft.loop_rule)):
        edits = Edit.around(draft.module.span(where), *told.around(draft, where))
        draft.change(draft.loop_rule, where, _WHAT, why, edits)
    return True
