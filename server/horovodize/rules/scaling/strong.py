"""Strong scaling, part of K4, G4, S5: where every step sees all rows, rows are divided, and neither rate nor steps touched.

What it does   The rows that come into every step are given to `share_rows(…)` where they are fed: each rank takes its part of
               them, and the average of the gradients is that of all rows. The rate, the number of steps, schedules and
               whatever else is counted in steps stay as they are. Of a loss that is a sum over rows, the gradients are added
               up (`op=hvd.Sum`).
Why            With all rows in every step there is no larger batch to take: ranks that see the same rows at size() times the
               rate diverge, where one process converges.
Before         for step in range(1000):
                   sess.run(train_op, feed_dict={X: x_all, Y: y_all})
After          for step in range(1000):
                   sess.run(train_op, feed_dict={X: share_rows(x_all), Y: share_rows(y_all)})
               A placeholder of the size of all rows is left open. Rows that gradients are taken with respect to are divided
               once, before the loop.
Leaves alone   Rows of which ranks can't get equally many, for a mean: every rank then computes all of them, which is right and
               no faster, as the note at the step says. Rows that are constants of a graph, and those of a program that is
               made for their number (a state, a placeholder whose size is read), which is said.
Asks           A loss of which it can't be seen whether it is a mean over rows, and a compiled model with a layer that is not in
               the file. Batch normalization, whose statistics are those of a rank's rows. `fit` for a number of steps on data
               that can't be seen: each step may get all of it.
Refuses        Rows that the loss or a layer of the program's own joins with each other (by a graph's adjacency matrix or its
               edges, say), also where `fit` gives them to a model made of such layers, or of layers from elsewhere that take an
               input as wide as the rows are many beside another one; rows that come second in a matrix product, or that are set
               against weights of as many rows, as in a matrix factorization; sparse tensors (HVD006). Steps that no rows come
               into, and those that train the input itself: every rank would compute the same. Rows that gradients are taken
               with respect to, and that are shown as a whole later.
Source         Beyond the seed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from enum import Enum
from weakref import WeakKeyDictionary

from horovodize.facts.feeds.over_rows import Over
from horovodize.facts.feeds.steps import Feed, Step
from horovodize.python.syntax import position
from horovodize.rules.drafting.decisions import Shared, Unit
from horovodize.rules.drafting.draft import HVD, RANK, SIZE, Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.scaling import row_sizes, rows_given_back, watched_rows
from horovodize.source import Edit
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.site_kinds import Compile, Fit

_SLICED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
_WHAT = "Divide the rows among the ranks"
_OPEN = "Leave the number of rows open"
_WHY = "Strong scaling: each step uses all rows, so rows are divided and rate and steps stay."
_CHOSEN = (
    "strong scaling: each step uses all rows, so rows are divided and rate and steps stay (where ranks can't get equally many, "
    "each computes all of them); a loss that a step gives is that of a rank's rows"
)
_MEAN = "every step sees the same data; rows are divided, rate and steps stay; right for a loss that is a mean over rows"
_UNSEEN_LAYER = (
    "every step sees the same data; rows are divided, rate and steps stay; right if `{}`, which this file doesn't show, treats "
    "each row by itself"
)
_NORMALIZED = (
    "every step sees the same data; rows are divided, rate and steps stay; batch normalization then takes its statistics "
    "from a rank's rows"
)
_WHY_UNSEEN = "Ranks that take size() times the rate on the same rows train something else."
_UNSEEN = "the data of this step can't be followed; if this is all of the data, don't scale the rate"
_WHY_BOTH = "A larger rate goes with a larger batch; steps on all of the data have none."
_BOTH = (
    "every rank takes these steps on all of the data, and those of {} on its share, by one optimizer: its larger rate "
    "holds for both; give them an optimizer each"
)
_WATCHED = (
    "every step sees the same data, and gradients are taken with respect to these rows, which are used elsewhere, too: give "
    "the loop a name of its own for them"
)
_FOR_ONE_NUMBER = (
    "every step sees the same data, and this is made for their number of rows, so each rank computes all of them: right, and "
    "no faster; leave it open (`None`) to divide them"
)
_FOR_THESE_ROWS = (
    "every step sees the same data, and this is made for their number of rows, so each rank computes all of them: right, and "
    "no faster"
)
_SET_BESIDE = (
    "what a step on all of the data gives is set beside all rows here, so each rank computes all of them: right, and no "
    "faster; run that apart from the training to divide its rows"
)
_SAME = "every rank would compute the same"
_PART_OF_THE_GRAPH = (
    "these rows are part of the graph, so each rank computes all of them: right, and no faster; feed them to a placeholder to "
    "divide them"
)
NORMALIZING = {
    "BatchNormalization",
    "batch_normalization",
    "batch_norm",
    "batch_normalization_v1",
    "moments",
}


class Scaling(Enum):
    """How the ranks share the work of a step."""

    WEAK = "another batch on each rank, a larger rate, fewer steps"
    STRONG = "the rows of each step are divided, rate and steps stay"
    GLOBAL = "the rows of each batch are divided, rate and steps stay"
    SAME = "every rank takes all steps on all of the data: rate and steps stay"


_left: WeakKeyDictionary[Draft, set[ast.AST]] = WeakKeyDictionary()
_fits: WeakKeyDictionary[Draft, dict[Compile, list[ast.Call]]] = WeakKeyDictionary()


# ---------------------------------------------------------------------- what is decided


def scaling(draft: Draft, site: ast.Call) -> Scaling:
    """How the step of a place that trains is scaled."""
    step = draft.facts.steps.of(site)
    if step.feed in (Feed.WHOLE, Feed.ONE_BATCH):
        return Scaling.STRONG if draft.options.split_data else Scaling.SAME
    if site in _left.get(draft, ()) or draft.facts.steps.game(site) is not None:
        return Scaling.SAME
    if draft.options.split_data and draft.facts.undivided.trains_on_all(site):
        return Scaling.SAME
    return Scaling.GLOBAL if draft.options.keeps_batch else Scaling.WEAK


def leave(draft: Draft, steps: Iterable[ast.AST]) -> None:
    """Keeps the rate of steps that are not divided: a larger rate, fewer steps and a rank's batches go together."""
    _left.setdefault(draft, set()).update(steps)


def leave_loop(draft: Draft, driver: Driver) -> bool:
    """The same for a loop that is not divided, where its data are not, either. Whether that is so."""
    known = draft.facts.feeding
    fed = known.next_calls(driver) + ([driver.iterable] if driver.iterable is not None else [])
    fed += known.graph_feeds if draft.in_graph else []
    if any(draft.was(e, Shared) for f in fed for e in known.pipelines.trail(f)):
        return False
    leave(draft, driver.steps)
    return True


def grows(draft: Draft, optimizer: ast.expr | None) -> bool:
    """Whether the rate of an optimizer (None: of any update by hand) grows with the number of ranks."""
    sites = sites_of(draft, optimizer)
    found = {scaling(draft, site) for site in sites}
    whole = [site for site in sites if draft.facts.steps.of(site).feed is Feed.WHOLE]
    if whole and Scaling.WEAK in found and optimizer is not None:
        draft.refuse(
            "HVD006",
            whole[0],
            "this optimizer takes some steps on all of the data and some on batches: on several ranks they need different "
            "rates; give them an optimizer each",
        )
    return _grows(draft, found)


def _grows(draft: Draft, found: Collection[Scaling]) -> bool:
    """Whether a rate grows by the steps that are taken with it; of steps that no call takes here, by what was left whole."""
    return Scaling.WEAK in found if found else not _left.get(draft)


def factor(draft: Draft, optimizer: ast.expr | None) -> str:
    """What a rate is multiplied by, as text to put after it; nothing where it stays."""
    return f" * {draft.growth}" if draft.growth and grows(draft, optimizer) else ""


def model_factor(draft: Draft, model: ast.expr) -> str:
    """The same for the optimizer that a model comes with."""
    found = [scaling(draft, f.call) for f in draft.sites.fits if _same_model(draft, f.model, model)]
    return f" * {draft.growth}" if draft.growth and _grows(draft, found) else ""


def doubt(draft: Draft, optimizer: ast.expr | None) -> str:
    """What to ask of a rate that grows where it can't be seen that each step gets a batch; nothing where it can."""
    for site in sites_of(draft, optimizer):
        step = draft.facts.steps.of(site)
        if step.feed is Feed.UNSEEN and step.vague:
            return f"{_UNSEEN} ({draft.line_words(step.vague[0], optimizer or site)})"
    return ""


def ask_of_unseen(draft: Draft, rule: str) -> None:
    """Asks about steps that are taken for steps on batches, though it can't be seen, where no rate was asked about: it may be
    that of a schedule. Runs after the rates are scaled."""
    asked = any(_UNSEEN in change.doubt for change in draft.changes)
    for site in () if asked or not draft.growth else sites_of(draft, None):
        step = draft.facts.steps.of(site)
        if step.feed is Feed.UNSEEN and step.vague and scaling(draft, site) is Scaling.WEAK:
            draft.ask(rule, step.vague[0], "Check what each step is taken on", _WHY_UNSEEN, _UNSEEN)
            return


def ask_of_both(draft: Draft, rule: str) -> None:
    """Asks about an optimizer that takes steps on a rank's share and others on all of the data: its rate grows for both."""
    if not draft.growth:
        return
    optimizers = [u.optimizer for u in draft.sites.updates if u.optimizer is not None]
    for optimizer in (*optimizers, *(o for c in draft.sites.compiles for o in c.optimizers)):
        kinds = {site: scaling(draft, site) for site in sites_of(draft, optimizer)}
        left = [site for site, kind in kinds.items() if kind is Scaling.SAME]
        if left and Scaling.WEAK in kinds.values() and draft.once("both", left[0]):
            other = next(site for site, kind in kinds.items() if kind is Scaling.WEAK)
            divided = draft.line_words(other, left[0])
            draft.ask(rule, left[0], "Check the rate of these steps", _WHY_BOTH, _BOTH.format(divided))


def sites_of(draft: Draft, optimizer: ast.expr | None) -> list[ast.Call]:
    """The places at which an optimizer takes steps; all of the module's, where that can't be told."""
    sites, values = draft.sites, draft.values
    every = (
        [u.call for u in sites.updates]
        + [r.call for r in sites.graph.trainings]
        + [f.call for f in sites.fits]
    )
    if optimizer is None:
        return every
    made, text = set(values.calls(optimizer)), ast.unparse(optimizer)

    def same(other: ast.expr | None) -> bool:
        if other is optimizer or isinstance(optimizer, ast.Constant):
            return other is optimizer
        if other is None:
            return False
        its = set(values.calls(other))
        if isinstance(other, ast.Call) or (made and its):  # two that are made alike are two, also by one name
            return bool(made & its)
        return ast.unparse(other) == text

    found = [u.call for u in sites.updates if same(u.optimizer)]
    for compiled in sites.compiles:
        if any(same(o) for o in compiled.optimizers):
            found += _fits_of(draft)[compiled]
    ops = {c for c in sites.graph_minimizes if same(sites.optimizer_of(c))}
    for run in sites.graph.trainings:
        if ops and ops & set(sites.graph.operations(sites.graph.fetches(run.call))):
            found.append(run.call)
    if found or not any(same(o) for c in sites.compiles for o in c.optimizers):
        return found or every
    others = {call for calls in _fits_of(draft).values() for call in calls}
    return [call for call in every if call not in others]  # of a model that is compiled and never fitted


def _fits_of(draft: Draft) -> dict[Compile, list[ast.Call]]:
    """The fits that follow each `compile`; found once."""
    if draft not in _fits:
        _fits[draft] = {
            c: [f.call for f in draft.sites.fits if _is_compiled_for(draft, c, f)]
            for c in draft.sites.compiles
        }
    return _fits[draft]


def _is_compiled_for(draft: Draft, compiled: Compile, fit: Fit) -> bool:
    """Whether a `compile` may be the last one of its model before a `fit`: one just above it, in its block, is the only one."""
    if not _same_model(draft, fit.model, compiled.model):
        return False
    block = draft.syntax.block(draft.syntax.statement(fit.call))
    above = [
        c
        for c in draft.sites.compiles
        if draft.syntax.statement(c.call) in block
        and position(c.call) < position(fit.call)
        and _same_model(draft, fit.model, c.model)
    ]
    return not above or max(above, key=lambda c: position(c.call)) is compiled


def _same_model(draft: Draft, one: ast.expr, other: ast.expr) -> bool:
    if ast.unparse(one) == ast.unparse(other):
        return True
    return bool(set(draft.values.calls(one)) & set(draft.values.calls(other)))


def operation(draft: Draft, sites: list[ast.Call]) -> str:
    """What a wrapper of gradients is told about steps: nothing, or that they are to be added up."""
    added_up = {
        _is_added_up(draft, s) for s in sites if scaling(draft, s) in (Scaling.STRONG, Scaling.GLOBAL)
    }
    return f", op={HVD}.Sum" if added_up == {True} else ""


def _is_added_up(draft: Draft, site: ast.Call) -> bool:
    """Whether the rows of a step are divided, and its loss is a sum over them."""
    if scaling(draft, site) is Scaling.GLOBAL:
        return draft.facts.batches.of(site).over is Over.SUM
    step = draft.facts.steps.of(site)
    return step.over is Over.SUM and not stays_whole(draft, step)


# ---------------------------------------------------------------------- the rows


def divide(draft: Draft, rule: str, steps: list[ast.Call]) -> bool:
    """Divides the rows of steps that see all of them each time; refuses what has no rows to divide. Whether that was it."""
    found = [draft.facts.steps.of(site) for site in steps]
    feeds = {step.feed for step in found}
    if feeds <= {Feed.NONE, Feed.INPUT}:
        for step in found:
            draft.refuse("HVD006", step.node, _without_rows(step))
        return True
    if feeds != {Feed.WHOLE}:
        return False
    for step in found:
        _share(draft, rule, step)
    return True


def takes_one_batch(draft: Draft, rule: str, steps: list[ast.Call]) -> bool:
    """Whether steps take all rows of a data set as one batch, whose rows are divided where they come from; asks where it can't
    be seen what their loss is over these."""
    found = [step for step in map(draft.facts.steps.of, steps) if step.feed is Feed.ONE_BATCH]
    for step in found:
        if step.over in (Over.MEAN, Over.SUM):
            draft.note(rule, step.site, _CHOSEN)
        else:
            draft.ask(rule, step.site, _WHAT, _WHY, _MEAN)
    return bool(found)


def _without_rows(step: Step) -> str:
    return step.reason if _SAME in step.reason else f"{step.reason}: {_SAME}"


def _share(draft: Draft, rule: str, step: Step) -> None:
    if not draft.options.split_data or not draft.once("share rows", step.site):
        return
    held = _is_held(draft, step)
    fixed = row_sizes.made_for_one_number(draft, step) if not held else None
    if fixed is not None:
        draft.note(rule, fixed, _FOR_THESE_ROWS if step.over is Over.COUPLED else _FOR_ONE_NUMBER)
        return
    hindrance = _hindrance(draft, step)
    if hindrance is not None:
        node, message = hindrance
        draft.refuse("HVD006", node, f"every step sees the same data, and {message}")
        return
    if held:
        draft.note(rule, step.site, _PART_OF_THE_GRAPH)
        return
    beside = rows_given_back.set_beside(draft, step)
    if beside is not None:
        draft.note(rule, beside, _SET_BESIDE)
        return
    draft.note(rule, step.site, _CHOSEN)
    for placeholder, edit in row_sizes.to_open(draft, step):
        if draft.once("open rows", placeholder):
            draft.change(rule, placeholder, _OPEN, _WHY, [edit])
    doubt = doubt_of_rows(draft, step)
    helper = "split_rows" if step.over is Over.SUM else "share_rows"
    names = watched_rows.watched(draft)
    for rows in step.rows:
        if draft.was(rows, Shared) or _divide_before(draft, rule, step, rows, names, helper):
            continue
        if draft.decide(rows, Shared(rule, Unit.ROWS)):
            edits = Edit.around(draft.module.span(rows), *_part_of(draft, rows, helper))
            draft.change(rule, rows, _WHAT, _WHY, edits, doubt=doubt)


def _part_of(draft: Draft, rows: ast.expr, helper: str) -> tuple[str, str]:
    """What stands around rows to divide them: of a sum's, no more than a slice."""
    if helper == "split_rows" and isinstance(rows, _SLICED) and _each(draft, rows, "") == ("", ")"):
        return "", f"[{RANK} :: {SIZE}]"
    return _each(draft, rows, f"{draft.helper(helper)}(")


def _each(draft: Draft, rows: ast.expr, share: str) -> tuple[str, str]:
    """What stands around rows; or around a name whose list or dictionary holds several arrays of them."""
    kind = draft.facts.feeding.kinds.of(rows, with_targets=True) if isinstance(rows, ast.Name) else None
    if kind is Kind.ARRAYS:  # `fit(graph, …)`
        return f"[{share}part) for part in ", "]"
    if kind is Kind.MAPPING:
        return f"{{key: {share}part) for key, part in ", ".items()}"
    return share, ")"


def _divide_before(draft: Draft, rule: str, step: Step, rows: ast.expr, names: set[str], helper: str) -> bool:
    """Divides rows that gradients are taken with respect to, once, before the loop; whether they are such."""
    found = list(watched_rows.named_in(rows, names))
    for name in found:
        if not draft.once(f"divide before {ast.unparse(name)}", draft.module.tree):
            continue
        edits = watched_rows.divided_before(draft, step.site, name, draft.helper(helper))
        if edits is None:
            draft.refuse("HVD006", name, _WATCHED)
        else:
            draft.change(rule, name, _WHAT, _WHY, edits, doubt=doubt_of_rows(draft, step))
    return bool(found)


def stays_whole(draft: Draft, step: Step) -> bool:
    """Whether rows are not divided: the program is made for their number, sets what the step gives beside all of them, or they
    are constants of a graph."""
    fixed = row_sizes.made_for_one_number(draft, step) is not None or _is_held(draft, step)
    return fixed or rows_given_back.set_beside(draft, step) is not None


def _is_held(draft: Draft, step: Step) -> bool:
    """Whether the rows of a step are constants of a graph. Where those of one rank are zeros, TensorFlow folds the gradient,
    and with it the collective, into a constant: that rank would leave the others waiting."""
    return draft.in_graph and any(
        not draft.syntax.inside(rows, step.site) and not isinstance(draft.syntax.parent.get(rows), ast.Dict)
        for rows in step.rows
    )


def doubt_of_rows(draft: Draft, step: Step) -> str:
    """What to ask where rows are divided; nothing where their loss is a mean or a sum over them."""
    if any(draft.names.last(c.func) in NORMALIZING for c in draft.syntax.calls):
        return _NORMALIZED
    fit = next((f for f in draft.sites.fits if f.call is step.site), None)
    steps = draft.facts.steps
    layer = steps.compiled.unseen_layer(fit.model) if fit is not None else steps.unseen_layer(step.site)
    if step.over in (Over.MEAN, Over.SUM) and not step.vague and (layer is None or fit is not None):
        return ""
    return _UNSEEN_LAYER.format(ast.unparse(layer.func)) if layer is not None else _MEAN


def _hindrance(draft: Draft, step: Step) -> tuple[ast.AST, str] | None:
    """What keeps rows from being divided."""
    if step.over is Over.COUPLED:
        return (
            step.site,
            "its loss joins rows with each other, does not have them first, or sets them against weights of as many rows: they "
            "can't be divided",
        )
    if step.over is Over.SUM_AND_MORE:
        return (
            step.site,
            "its loss is a sum over rows and something beside it, which would be added up on all ranks: divide the loss by the "
            "number of rows",
        )
    sparse = row_sizes.sparse(draft, step)
    if sparse is not None:
        return sparse, "a sparse tensor is fed, whose rows can't be divided; feed a dense one"
    for rows in step.rows:
        if outputs_of(draft).is_early(rows):
            return rows, "these rows come before Horovod is there; make them after the imports"
        if draft.module.scopes.root(rows) is not draft.module.scopes.root(step.site):
            return step.site, "its rows come from another file"
    return None
