"""What each rank sets by its own rows with its steps, and what later losses are made with: part of G2.

A weight of the loss that follows the losses (the balance of two networks, the share of a penalty, how strongly rows are
changed), statistics of a layer of one's own, a queue of earlier outputs. Each rank would train for another aim. A number is
averaged where it is set; of anything else only the user knows whether an average means something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.own_layers import methods_called
from horovodize.facts.files.kept import first_value
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, Function, Loop, argument, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import number_settings
from horovodize.rules.numbers.carried_numbers import (
    REDUCING,
    Read,
    begins_as,
    bindings,
    carries,
    ever_bound,
    is_filled,
    is_number,
    is_reduced,
    is_whole,
    part_of,
    turns_of,
    written_out,
)
from horovodize.rules.numbers.number_settings import Setting
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import differing
from horovodize.rules.weights import steering_decisions
from horovodize.rules.weights.target_networks import losses_of, made_of

WHAT = "Keep what the loss is made with the same on all ranks"
WHY = "Ranks whose losses are made with other numbers train for other aims."
DRIFTS = (
    "each rank sets this by its own rows with each step, and the loss is made with it: it differs more and more between the "
    "ranks; average what it is set by with `hvd.allreduce`, or let all ranks set it by all rows with `hvd.allgather`"
)
BETWEEN = (
    "each rank sets this by what it measured itself, and later losses are made with it: take the mean of what was measured "
    "(`hvd.allreduce`), or what rank 0 sets (`hvd.broadcast_object`)"
)
AVERAGED = "each rank sets this by its own rows, and later losses are made with it: now it is the mean over all ranks"
VARIABLE_OF_BACKEND = "tensorflow.keras.backend.variable"
_VARIABLES = ("tensorflow.Variable", "tensorflow.compat.v1.Variable", VARIABLE_OF_BACKEND)
_SETTING = ("assign", "assign_add", "assign_sub", "load")
_MODELS = ("tensorflow.keras.Sequential", "tensorflow.keras.Model")
_NEAR = 120  # nodes that such a value is made of
_FAR = 2000  # nodes that a loss is made of


def keep_alike(draft: Draft) -> None:
    """Averages the numbers that are set without a `tf.Variable`: `k = k + 0.001 * float(real - fake)`."""
    games = any(draft.facts.steps.game(u.call) for u in draft.sites.updates)
    later = list(_set_for_later(draft))
    alike = set[ast.AST]()  # the statements that are seen to
    for read, b in [*_carried(draft), *later]:
        text = ast.unparse(read)
        alone = steering_decisions.deciding(draft, b, turns_of(draft, b.statement))
        if (read, b) not in later and not begins_as(draft, b, read, is_number):
            if alone and begins_as(draft, b, read, is_whole):
                steering_decisions.decide_alike(draft, b, alone)
            elif b.value is not None and begins_as(draft, b, read, is_filled):
                alike |= {b.statement} if _ask_of_statistics(draft, b, b.value, text) else set()
            continue
        own = not games and b.value is not None and _by_own_rows(draft, b, text)
        if not (alone or own) or not draft.once("steered", b.anchor):
            continue
        if alone:
            steering_decisions.decide_alike(draft, b, alone)
        else:
            alike.add(b.statement)
            _average(draft, b)
    for b in _set_between_steps(draft) if not games else ():
        if b.statement in alike or _goes_on_from(draft, b, alike):
            continue
        if draft.once("steered", b.anchor):
            alike.add(b.statement)
            draft.ask("G2", b.statement, WHAT, WHY, BETWEEN)


def keep_fed_alike(draft: Draft) -> None:
    """The same of numbers that a session is fed beside rows: `{x: rows, w: weight}`, `weight = 0.9 * weight + 0.1 * a / b`."""
    for text, b in fed_numbers(draft):
        names = (n for n in ast.walk(b.value or b.statement) if isinstance(n, (ast.Name, ast.Attribute)))
        is_result = any(
            b.value is run.call for run in draft.sites.graph.trainings
        )  # that is fed the last one
        if is_result or any(ast.unparse(n) != text and differing(draft, n) for n in names):
            if draft.once("steered", b.anchor) and _average(draft, b):
                for read in _fed(draft):  # so no rank needs to ask for rank 0's before each step
                    if ast.unparse(read) == text and _is_set_alike(draft, read, b):
                        draft.settled |= {(read, r.where) for r in draft.uniform.of_values.reasons(read)}


def _is_set_alike(draft: Draft, read: Read, averaged: Binding) -> bool:
    """Whether nothing but what is averaged makes ranks read another number."""
    others = [b.value for b in ever_bound(draft, read) if b is not averaged and b.value is not None]
    return not any(isinstance(draft.uniform.of_values.of(value), Varies) for value in others)


def fed_numbers(draft: Draft) -> Iterator[tuple[str, Binding]]:
    """The numbers that sessions are fed and that steps carry on, and where they do."""
    loops = {loop for call in _runs(draft) for way in draft.drive.ways(call) for f in way for loop in f.loops}
    for read in _fed(draft):
        for b in ever_bound(draft, read):
            if b.value is not None and carries(draft, b, read, loops):
                if begins_as(draft, b, read, is_number):
                    yield ast.unparse(read), b


def _runs(draft: Draft) -> list[ast.Call]:
    """The runs of sessions that train, or set a variable."""
    runs = [run.call for run in draft.sites.graph.trainings]
    return runs + [
        call for call in draft.sites.graph.all_runs if call not in runs and _sets_a_variable(draft, call)
    ]


def _fed(draft: Draft) -> list[ast.Name | ast.Attribute]:
    """The names and fields that such runs are fed, in the order of the text."""
    given = [e for call in _runs(draft) if (e := draft.facts.steps.feeds.given(call)) is not None]
    dicts = [o.node for e in given for o in draft.values.origins(e) if isinstance(o.node, ast.Dict)]
    fed = {value for d in dicts for value in d.values}
    return sorted((e for e in fed if isinstance(e, (ast.Name, ast.Attribute))), key=position)


def _sets_a_variable(draft: Draft, run: ast.Call) -> bool:
    """Whether a session sets a variable, by which later losses may go: `sess.run(set_weight, {w: weight})`."""
    made = [n for n in draft.values.depends(run.args[:1], 400) if isinstance(n, ast.Call)]
    return any(draft.names.last(n.func) in _SETTING for n in made)


def numbers(draft: Draft) -> Iterator[tuple[str, Binding]]:
    """The numbers that later losses are made with and that steps carry on, and where they do."""
    for read, b in _carried(draft):
        if begins_as(draft, b, read, is_number):
            yield ast.unparse(read), b


def variables(draft: Draft) -> Iterator[Setting]:
    """Where variables of one number are set that losses are made with."""
    used = made_by(draft, used_in_losses(draft))
    for setting in number_settings.of_variables(draft) if not draft.in_graph else ():
        kept = setting.kept
        if isinstance(kept, (ast.Name, ast.Attribute)) and is_one_number(draft, kept):
            if made_of(draft, kept) & used or is_of_backend(draft, kept):
                yield setting


def is_of_backend(draft: Draft, e: ast.expr) -> bool:
    """`K.variable(0.0)`, which programs make for the graphs of their models, losses among them."""
    return any(draft.names.of(c.func) == VARIABLE_OF_BACKEND for c in draft.values.calls(e))


def _carried(draft: Draft) -> Iterator[tuple[Read, Binding]]:
    loops = training_loops(draft)
    for read in sorted(_read(draft), key=position) if loops and not draft.in_graph else ():
        for b in bindings(draft, read):
            if carries(draft, b, read, loops):
                yield read, b


def _set_for_later(draft: Draft) -> Iterator[tuple[Read, Binding]]:
    """Numbers that a turn sets after its steps, for those of the next: `weight = np.mean(a) / np.mean(b)` after an epoch.
    What is set before the steps of a turn is of their rows."""
    loops = training_loops(draft)
    for read in sorted(_read(draft), key=position) if loops and not draft.in_graph else ():
        found = bindings(draft, read) if not isinstance(read, ast.Attribute) else ()
        for b in found:
            # (Rows or a state that is handed on are no number: their mean over ranks would mean nothing.)
            value = part_of(b)
            is_set = b.kind == "assign" and value is not None and is_reduced(draft, value)
            if is_set and turns_of(draft, b.statement) & loops and not carries(draft, b, read, loops):
                begun = len(found) == 1 and _is_after(draft, b.statement, read)  # first set by a turn, too
                if begun or begins_as(draft, b, read, is_number):
                    yield read, b


def _set_between_steps(draft: Draft) -> Iterator[Binding]:
    """What means of a rank's own rows say, as `weights` by the `history` of its losses, and later losses are made with: set
    outside the loop of the steps, or in it after what reads it; not what each step sets first, as of its rows."""
    loops = training_loops(draft)
    innermost = {loop for u in draft.sites.updates for loop in loops_next_to(draft, u.call)}
    innermost |= {loop for tape in draft.sites.tapes for loop in loops_next_to(draft, tape)} & loops
    for read in sorted(_read(draft), key=position) if loops and not draft.in_graph else ():
        for b in bindings(draft, read) if isinstance(read, ast.Name) else ():
            turns = turns_of(draft, b.statement)
            if b.kind != "assign" or b.value is None or not turns & loops:
                continue
            if turns & innermost and not _is_after(draft, b.statement, read):
                continue
            behind = _behind(draft, b.value)
            calls = (n for n in behind if isinstance(n, ast.Call))
            named = (n for n in behind if isinstance(n, (ast.Name, ast.Attribute)))
            if any(draft.names.last(c.func) in REDUCING for c in calls):
                if is_own(draft, b.value) or any(is_of_drawn_rows(draft, n) for n in named):
                    yield b


def _behind(draft: Draft, e: ast.expr) -> list[ast.AST]:
    """What a value is made of, what was put into lists included."""
    near = list(draft.values.depends([e], _NEAR))
    lists = [n for n in near if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return [*near, *draft.values.depends([a for n in lists for a in draft.sites.flow.appended(n)], _NEAR)]


def _goes_on_from(draft: Draft, b: Binding, statements: set[ast.AST]) -> bool:
    """Whether something is made of what one of some statements sets."""
    names = (n for n in draft.values.depends([b.value], _NEAR) if isinstance(n, ast.Name)) if b.value else ()
    return any(o.statement in statements for n in names for o in draft.module.scopes.reaching(n))


def _is_after(draft: Draft, statement: ast.AST, read: ast.expr) -> bool:
    """Whether a statement comes after what reads it, in a turn of a loop around both."""
    around = [loop for loop in draft.syntax.loops(statement) if draft.syntax.inside(read, loop)]
    return bool(around) and isinstance(statement, ast.stmt) and position(statement) > position(read)


def is_own(draft: Draft, e: ast.expr) -> bool:
    """Whether a value is computed from a rank's own rows."""
    found = draft.uniform.of_values.reasons(e)
    return any(isinstance(r, Varies) and r.kind is Source.ROWS for r in found)


def made_by(draft: Draft, nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """What the names among some nodes were set to."""
    return {made for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) for made in made_of(draft, n)}


def used_in_losses(draft: Draft) -> set[ast.AST]:
    """What the losses are made of, what layers of this file compute included."""
    found, todo = set[ast.AST](), [*losses_of(draft), *_given_to_keras(draft), *_given_by_keras(draft)]
    while todo and len(found) < _FAR:
        new = [n for n in draft.values.depends(todo) if n not in found]
        found.update(new)
        todo = [
            e
            for n in new
            if isinstance(n, ast.Call)
            for m in _layers(draft, n)
            for e in draft.values.returned(m)
        ]
        todo = [e for e in todo if e not in found]
    return found


def _given_to_keras(draft: Draft) -> Iterator[ast.expr]:
    """What the loss of a step that Keras takes is made with, beside its model: its rows, and how much each of them counts.
    `model.train_on_batch([x, k * ones], y, sample_weight=w)`"""
    for fit in draft.sites.fits:
        if fit.method == "train_on_batch":
            names = ("x", "y", "sample_weight", "class_weight")
            given = (argument(fit.call, name, i) for i, name in enumerate(names))
            yield from (e for e in given if e is not None)


def _given_by_keras(draft: Draft) -> Iterator[ast.expr]:
    """What layers of this file give within the models that such steps train."""
    for model in {
        ast.unparse(f.model): f.model for f in draft.sites.fits if f.method == "train_on_batch"
    }.values():
        for method in methods_called(draft.module, model):
            yield from draft.values.returned(method)


def _layers(draft: Draft, call: ast.Call) -> Iterator[Function]:
    """The methods that calling an object of this file runs, or one of Keras' made of layers of this file: `augment(x)`."""
    if isinstance(call.func, (ast.Name, ast.Attribute)):
        for made in draft.values.calls(call.func):
            if draft.names.of(made.func) in _MODELS:
                yield from methods_called(draft.module, made)
            cls = draft.values.callee(made)
            for owner in draft.values.family(cls) if isinstance(cls, ast.ClassDef) else ():
                yield from (
                    s for s in owner.body if isinstance(s, FUNCTIONS) and s.name in ("call", "__call__")
                )


def is_one_number(draft: Draft, variable: ast.expr) -> bool:
    """Whether a variable begins with a number: it stays one."""
    calls = [made for made in made_of(draft, variable) if isinstance(made, ast.Call)]
    begins = [first_value(made) for made in calls if draft.names.of(made.func) in _VARIABLES]
    weights = [made for made in calls if draft.names.last(made.func) == "add_weight"]
    return (
        bool(begins or weights)
        and all(e is not None and is_number(draft, e) for e in begins)
        and all(_is_number_of_layer(draft, made) for made in weights)
    )


def _is_number_of_layer(draft: Draft, made: ast.Call) -> bool:
    """`self.add_weight(name="step", shape=(), initializer="zeros", trainable=False)`, also by `initializers.Constant(0.5)`"""
    shape, begins, trained = (argument(made, name) for name in ("shape", "initializer", "trainable"))
    is_scalar = shape is None or (isinstance(shape, (ast.Tuple, ast.List)) and not shape.elts)
    is_steady = isinstance(begins, ast.Constant) and begins.value in ("zeros", "ones", "zero", "one")
    if isinstance(begins, ast.Call):  # of Keras' classes
        is_steady = draft.names.last(begins.func).lower() in ("constant", "zeros", "ones")
    return is_scalar and is_steady and isinstance(trained, ast.Constant) and trained.value is False


# ---------------------------------------------------------------------- numbers of Python's


def loops_next_to(draft: Draft, step: ast.AST) -> set[Loop]:
    """The innermost loops that come by a place, as by a step."""
    found = (next((loop for f in way for loop in f.loops), None) for way in draft.drive.ways(step))
    return {loop for loop in found if loop is not None}


def training_loops(draft: Draft) -> set[Loop]:
    steps = [u.call for u in draft.sites.updates]
    steps += [f.call for f in draft.sites.fits if f.method == "train_on_batch"]
    return {loop for call in steps for way in draft.drive.ways(call) for f in way for loop in f.loops}


def _read(draft: Draft) -> set[Read]:
    """The names, and the items of dictionaries, that the losses are made of."""
    found = (n for n in used_in_losses(draft) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)))
    return {
        n
        for n in found
        if isinstance(n.ctx, ast.Load) and (not isinstance(n, ast.Subscript) or _is_item(n.slice))
    }


def _is_item(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def _ask_of_statistics(draft: Draft, b: Binding, value: ast.expr, name: str) -> bool:
    """Asks about a running mean, or a variance, that inputs are normalised by: `mean = 0.9 * mean + 0.1 * rows.mean(0)`. Not
    about a state that a network hands on."""
    reduced = any(
        isinstance(n, ast.Call) and draft.names.last(n.func) in REDUCING
        for n in draft.values.depends([value], 400)
    )
    place = draft.syntax.function(b.statement) or draft.module.tree
    asked = reduced and _by_own_rows(draft, b, name)
    if asked and draft.once("statistics of rows", place):
        draft.ask("G2", b.statement, WHAT, WHY, DRIFTS)
    return asked


def _by_own_rows(draft: Draft, b: Binding, name: str) -> bool:
    """Whether more than a number's value so far makes its next one a rank's own: limits (`min(max(k, 0), 1)`) do not."""
    parts = list(written_out(draft, b, name))
    last = [n for n in parts if isinstance(n, ast.expr) and ast.unparse(n) == name]
    aside = {inner for n in last for inner in ast.walk(n)}
    return any(
        isinstance(n, (ast.Name, ast.Attribute))
        and isinstance(n.ctx, ast.Load)
        and n not in aside
        and (is_own(draft, n) or is_of_drawn_rows(draft, n))
        for n in parts
    )


def is_of_drawn_rows(draft: Draft, e: ast.Name | ast.Attribute) -> bool:
    """Whether a value is computed from rows that each rank draws for itself, or selects them: `i` of `x[i].mean()`."""
    reasons = draft.uniform.of_values.reasons(e)
    draws = {r.where for r in reasons if isinstance(r, Varies) and r.kind is Source.CHANCE}
    if not draws:
        return False
    around = [a for a in draft.syntax.ancestors(e) if isinstance(a, ast.Subscript)]
    selecting = [a.slice for a in around if draft.syntax.inside(e, a.slice)]
    selecting += [n.slice for n in draft.values.depends([e], 200) if isinstance(n, ast.Subscript)]
    return any(not draws.isdisjoint(draft.values.depends([s], 200)) for s in selecting)


def _average(draft: Draft, b: Binding) -> bool:
    """Averages what a statement sets, or asks about it; whether it is averaged."""
    statement = b.statement
    reached = not draft.drive.in_traced(statement) and draft.uniform.reached_alike(statement)
    averaged = reached and means.average(draft, b, "G2", WHAT, WHY, AVERAGED)
    if not averaged:
        draft.ask("G2", statement, WHAT, WHY, DRIFTS)
    return averaged


__all__ = [
    "AVERAGED",
    "DRIFTS",
    "VARIABLE_OF_BACKEND",
    "WHAT",
    "WHY",
    "fed_numbers",
    "is_of_backend",
    "is_one_number",
    "is_own",
    "keep_alike",
    "keep_fed_alike",
    "loops_next_to",
    "made_by",
    "numbers",
    "training_loops",
    "used_in_losses",
    "variables",
]
