"""The rates of optimizers that a checkpoint keeps: part of C5 and G2.

An optimizer's rate is a variable that is kept with its state, multiplied by the number of ranks of the run that saved it.
What an optimizer is made with counts only until a checkpoint is read: a run of another number of ranks goes on with a rate of
so many, which is said. Where only rank 0's host has the files, the other ranks would go on with another rate, and their weights
would part: all get rank 0's with its variables. A schedule is no variable: it is made with each run's own number of ranks.
Before a `fit`, all take rank 0's: its callback sends the optimizer's variables, of which Keras 2's rate is none."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.files.kept import RESTORING
from horovodize.python.syntax import CALLABLES, argument, is_main_guard
from horovodize.rules.drafting.decisions import Scheduled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.numbers.number_settings import Setting
from horovodize.rules.rates.schedule import is_schedule
from horovodize.rules.resuming import restoring
from horovodize.rules.scaling import strong
from horovodize.rules.scaling.strong import Scaling, scaling, sites_of
from horovodize.rules.wrapping.optimizers import KERAS_OPTIMIZER, Trained, rate_argument, trained_optimizers
from horovodize.summary.site_kinds import Fit

SAID = (
    "the rate of this optimizer is kept here, multiplied by the number of ranks: go on with as many ranks as the run had that "
    "saved the checkpoint, or set the rate once it is restored"
)
SCHEDULE_SAID = (
    "the schedule of the run that saved this model comes with it, its rates and steps scaled for as many ranks: go on with "
    "as many, or compile the model with a new optimizer"
)
_AGREE = "Go on with rank 0's rate on all ranks"
_WHY_AGREE = "Ranks on other hosts may have no checkpoint, or an older one: with rates of their own their weights would part."
_HDF5 = (".h5", ".hdf5")


def is_sent(draft: Draft, optimizer: ast.expr) -> bool:
    """Whether an optimizer's rate is sent with its variables: a number that a checkpoint keeps and that is restored, which is
    none of Keras 2's variables."""
    if draft.keras_3 or draft.options.elastic:
        return False
    made = set(draft.values.calls(optimizer))
    return any(t.call in made or t.outermost in made for t in _restored(draft))


def agree_before_fits(draft: Draft) -> None:
    """`model.optimizer.learning_rate = …` before a `fit` whose model may come from a file with its optimizer."""
    reading = draft.facts.kept.restored or draft.sites.method_calls("load_weights")
    for fit in draft.sites.fits if reading or draft.module.calls_called("load_model") else ():
        _tell_of_schedule(draft, fit)
        reads = [r for r in _reads(draft, fit) if restoring.may_come_before(draft, r, fit.call)]
        if draft.in_sessions:
            # Keras of TensorFlow 1 loads weights alone, and sends all variables of its session
            reads = [r for r in reads if draft.names.last(r.func) == "load_model"]
        statement = draft.syntax.statement(fit.call)
        if not reads or not isinstance(fit.model, (ast.Name, ast.Attribute)):
            continue
        if strong.scaling(draft, fit.call) is Scaling.WEAK and not _is_scheduled(draft):
            draft.note("C5", reads[0], SAID)
        for loop in draft.syntax.loops(fit.call):
            bound = draft.module.scopes.reaching(fit.model) if isinstance(fit.model, ast.Name) else []
            if not any(draft.syntax.inside(n, loop) for n in (*reads, *(b.anchor for b in bound))):
                statement = loop
        rate = f"{draft.module.text(fit.model)}.optimizer.learning_rate"
        if draft.keras_3 or draft.in_sessions or draft.options.elastic or not draft.can_insert(statement):
            continue  # Keras 3 has it among the optimizer's variables
        if draft.once(f"rate {rate}", statement):
            line = f"{rate} = {from_root(draft)}(float({rate}))"
            draft.change("G6", fit.call, _AGREE, _WHY_AGREE, [draft.before(statement, [line])])


def _tell_of_schedule(draft: Draft, fit: Fit) -> None:
    """Says that a whole model that is read has the schedule of the run that saved it."""
    if strong.scaling(draft, fit.call) is not Scaling.WEAK or not draft.having(Scheduled):
        return
    trained = _compiled_with(draft, fit)
    scheduled = any(t.call is not None and not _has_number(draft, t) for t in trained)
    for read in draft.module.calls_called("load_model") if scheduled else ():
        if read in draft.values.calls(fit.model) and draft.once("kept schedule", read):
            draft.note("C5", read, SCHEDULE_SAID)


def _compiled_with(draft: Draft, fit: Fit) -> list[Trained]:
    """The optimizers that the model of a `fit` is compiled with."""
    written, made = ast.unparse(fit.model), set(draft.values.calls(fit.model))
    compiled = [
        s
        for s in draft.sites.compiles
        if ast.unparse(s.model) == written or made.intersection(draft.values.calls(s.model))
    ]
    return [t for t in trained_optimizers(draft) if any(t.used_at in s.optimizers for s in compiled)]


def _reads(draft: Draft, fit: Fit) -> Iterator[ast.Call]:
    """What may read the optimizer of a model from files before it is fitted: a checkpoint that holds the model, the whole
    model, weights that TensorFlow saves with it (in files of HDF5 they are alone)."""
    values, kept = draft.values, draft.facts.kept
    written, made = ast.unparse(fit.model), set(values.calls(fit.model))
    trained = _compiled_with(draft, fit)
    if not trained or not all(_has_number(draft, t) for t in trained):
        return
    if any(e for e in kept.all if e in kept.restored or made.intersection(values.calls(e)) & kept.restored):
        yield from draft.sites.method_calls(*RESTORING)
    yield from (c for c in draft.module.calls_called("load_model") if c in made)
    for call in draft.sites.method_calls("load_weights"):
        holder = call.func.value if isinstance(call.func, ast.Attribute) else call
        same = ast.unparse(holder) == written or made.intersection(values.calls(holder))
        if same and not _names_hdf5(draft, call):
            yield call


def _names_hdf5(draft: Draft, call: ast.Call) -> bool:
    texts = [n.value for n in draft.values.depends([*call.args], 200) if isinstance(n, ast.Constant)]
    return any(isinstance(t, str) and t.endswith(_HDF5) for t in texts)


def _has_number(draft: Draft, trained: Trained) -> bool:
    if trained.call is None or KERAS_OPTIMIZER not in draft.values.made_by(trained.call):
        return trained.string is not None  # others have no `learning_rate`
    rate = rate_argument(trained.call, trained.class_name)
    return rate is None or _is_number(draft, rate)


def _is_scheduled(draft: Draft) -> bool:
    """Whether a callback sets the rate for each epoch by its number alone."""
    for call in draft.module.calls_called("LearningRateScheduler"):
        given = argument(call, "schedule", 0)
        functions = [o.node for o in draft.values.origins(given) if not o.path] if given is not None else []
        if functions and all(isinstance(f, CALLABLES) and len(f.args.args) == 1 for f in functions):
            return True
    return False


def tell(draft: Draft, settings: Iterable[Setting]) -> None:
    """Says that a restored rate is of as many ranks as saved it, unless it is set again before training goes on.

    settings: where rates are set"""
    restored = list(_restored(draft)) if draft.growth else []
    set_again = [s for s in settings if _sets_again(draft, s)] if restored else []
    for kept in draft.facts.kept.all if restored else ():
        made = set(draft.values.calls(kept))
        if not any(t.call in made or t.outermost in made for t in restored):
            continue
        if any(
            made & set(draft.values.calls(s.kept.value))
            for s in set_again
            if isinstance(s.kept, ast.Attribute)
        ):
            continue
        restores = draft.sites.method_calls(*RESTORING)
        if not any(
            restoring.may_come_before(draft, r, site) for r in restores for site in sites_of(draft, kept)
        ):
            continue
        is_weak = any(scaling(draft, site) is Scaling.WEAK for site in sites_of(draft, kept))
        if is_weak and draft.once("kept rate", kept):
            draft.note("C5", kept, SAID)


def _sets_again(draft: Draft, setting: Setting) -> bool:
    """Whether a rate is set to one that isn't made of the restored one, in any case: in each turn of a loop that trains, or
    right after a checkpoint is read."""
    syntax = draft.syntax
    if setting.is_scaled:
        return False
    drivers = [d.loop for d in draft.facts.feeding.drivers]
    reads = draft.sites.method_calls(*RESTORING)
    for way in draft.drive.ways(setting.place):
        tests = [test for frame in way for test, _ in syntax.conditions(frame.node)]
        if not all(map(is_main_guard, tests)):
            continue
        loops = [loop for frame in way for loop in frame.loops]
        if any(driver is loop or syntax.inside(driver, loop) for driver in drivers for loop in loops):
            return True
        if any(restoring.may_come_before(draft, read, setting.place) for read in reads):
            return True
    return False


def _restored(draft: Draft) -> Iterator[Trained]:
    """The optimizers that train with a number as their rate and that a checkpoint gives back."""
    restored = draft.facts.kept.restored
    for trained in trained_optimizers(draft) if restored else ():
        if trained.call is not None and (trained.call in restored or trained.outermost in restored):
            if _has_number(draft, trained):
                yield trained


def _is_number(draft: Draft, rate: ast.expr) -> bool:
    """Whether a rate isn't a schedule, by all that can be seen of it."""
    if isinstance(rate, ast.Lambda):
        return False
    made = [o.call for o in draft.values.origins(rate) if o.call is not None]
    return not any(is_schedule(draft, c) or (draft.names.last(c.func) or "")[:1].isupper() for c in made)


__all__ = ["agree_before_fits", "is_sent", "tell"]
