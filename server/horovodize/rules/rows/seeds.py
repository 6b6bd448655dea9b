"""D3 seeds and orders: ranks that draw at random must draw differently, ranks that share rows must go by one order.

What it does   Where each rank draws its batches at random from all of the data by a fixed seed, the seed becomes one of each
               rank's own: `np.random.RandomState(7 + hvd.rank())`, or its key: `seed=(7 + hvd.rank(), step)`; one that data and
               weights are made from as well is given again just before the loop, on several ranks only; likewise where a
               sequence that `fit` is given draws each batch, whatever its number. So do the seeds of a
               graph whose steps draw their rows themselves, or noise that a model is given alone. Where each rank takes
               its part of rows that were made, shuffled, split or selected at random without a seed before, all of them draw
               that from one stream of random numbers, give what draws (`KMeans(4)`) one seed, or take rank 0's (an order, a few
               numbers that are drawn once). So they do with
               an order that is drawn by a seed, where each rank draws from the same stream for rows of its own, too, and with
               the order of a set by which rows are numbered (`list(set(text))`): it is another in each process. Where rounds
               of `fit` gather their rows by draws or by what a model says with dropout (active learning), and where draws keep
               rows for validation, all take rank 0's. So they do with files in the order in which a disk lists them, and with
               numbers that are drawn once for training to compute with and are no variables: frequencies, masks, an order of
               features. Text that Python's `hash` numbers (Keras' `one_hot` does) is hashed alike.
Why            The ranks' batches have to differ for their average to be worth more than one of them: with the same seed, size()
               ranks learn what one would, at size() times the rate. What they take their parts of has to be the same.
Before         order = np.random.permutation(len(x))
               for i in range(0, len(x), 32):
                   step(x[order[i : i + 32]])
After          order = hvd.broadcast_object(np.random.permutation(len(x)))
Leaves alone   Seeds of programs whose data is divided, of loops that are not, and of batches that are dealt out.
               Noise of the shape of the rows. Lists of files that are sorted.
Asks           Whether ranks are seeded differently, where a seed decides something in the loop as well, or the loop starts
               again and again. Orders of rows by what a model with batch-norm statistics says of them.
Source         Beyond the seed (horovod#223, 1252).
"""

from __future__ import annotations

import ast

from horovodize.facts.counting.cursors import deals
from horovodize.facts.differences.sources import SEEDS
from horovodize.python.random_generators import MAKERS
from horovodize.rules.deciding import chosen_networks
from horovodize.rules.drafting.decisions import Apart
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.loops.drawing import has_rows
from horovodize.rules.numbers.shares import begins, draws_for_all, feeding
from horovodize.rules.rows import (
    drawing_sequences,
    fed_noise,
    graph_noise,
    graph_seeds,
    hashed_text,
    listed_files,
    made_rows,
    measured_orders,
    orders_of_tensors,
    seeds_apart,
    shuffle_order,
)
from horovodize.rules.scaling import strong
from horovodize.summary.feeding import Driver, Kind

_FAR = 2000  # nodes that what selects rows is made of
_DECIDES = (
    "with this seed every rank draws the same batches, and what decides about the steps, which has to be the same: draw the "
    "batches by a generator of their own, and seed that with `hvd.rank()`"
)
_BESIDE = "with this seed every rank draws the same numbers, beside batches that differ"


def apply(draft: Draft) -> None:
    if not begins(draft, "D3"):
        return
    fed_noise.apply(draft)
    for driver in feeding(draft).drivers:
        if _draws_its_rows(draft, driver) and not feeding(draft).next_calls(driver):
            _report(draft, driver)
            graph_seeds.apply(draft, driver)
        elif has_rows(driver):
            _ask_beside(draft, driver)
    graph_noise.apply(draft)
    drawing_sequences.apply(draft)
    shuffle_order.apply(draft)
    measured_orders.apply(draft)
    made_rows.apply(draft)
    shuffle_order.seed_tensors(draft)
    orders_of_tensors.tell(draft)
    listed_files.keep_order(draft)
    hashed_text.apply(draft)


def _draws_its_rows(draft: Draft, driver: Driver) -> bool:
    """Whether a loop only counts, `for step in range(n)`, `while step < n`, or goes through numbers that are written out, rates
    say, so that each of its steps gets rows by itself; also by what is told its number, and draws."""
    counts = driver.iterable is None or driver.kind is Kind.RANGE or _is_written_out(draft, driver.iterable)
    selects = driver.indexed or deals(feeding(draft), driver)
    return counts and (not selects or draft.facts.drawn_rows.are_drawn(driver))


def _ask_beside(draft: Draft, driver: Driver) -> None:
    """Asks of seeds by which a loop selects rows at random beside those that it goes through, which are divided."""
    if any(strong.scaling(draft, step) is not strong.Scaling.WEAK for step in driver.steps):
        return
    selecting = [
        n.slice
        for n in feeding(draft).trained_on(driver)
        if isinstance(n, ast.Subscript) and draft.syntax.inside(n, driver.loop)
    ]
    made_of = draft.values.depends(selecting, _FAR) if selecting else ()
    drawing = [
        n
        for n in made_of
        if isinstance(n, ast.Call) and draft.syntax.inside(n, driver.loop) and not draws_for_all(draft, n)
    ]
    for n in feeding(draft).trained_on(driver):  # `batch = sequence[i]`
        if isinstance(n, ast.Subscript) and draft.syntax.inside(n, driver.loop):
            drawing += drawing_sequences.calls(draft, n.value)
    for call in draft.module.calls_of(*SEEDS, *MAKERS):
        if _seeds(draft, driver, call, drawing):
            _ask(draft, driver, call)


def _is_written_out(draft: Draft, iterable: ast.expr) -> bool:
    made = [o.node for o in draft.values.origins(iterable)]
    return bool(made) and all(
        isinstance(e, (ast.List, ast.Tuple)) and all(map(_is_number, e.elts)) for e in made
    )


def _is_number(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float))


def _report(draft: Draft, driver: Driver) -> None:
    if all(strong.scaling(draft, step) is not strong.Scaling.WEAK for step in driver.steps):
        return
    inside = [n for s in driver.loop.body for n in ast.walk(s) if isinstance(n, ast.Call)]
    dealt = [n for n in inside if draws_for_all(draft, n)]
    drawing = [n for n in inside if not any(draft.syntax.inside(n, d) for d in dealt)]
    drawing = drawing_sequences.with_called(draft, drawing)
    for call in dict.fromkeys(drawing):
        key = draft.uniform.draws.key(call)
        if key is not None and not dealt and not seeds_apart.key_apart(draft, driver, call, key):
            _ask(draft, driver, call)
    choosing = chosen_networks.draws_choosing(draft) if drawing else set[ast.Call]()
    for call in draft.module.calls_of(*SEEDS, *MAKERS):
        if _seeds(draft, driver, call, [c for c in drawing if c in choosing]):
            if _seeds(draft, driver, call, [c for c in drawing if c not in choosing]):
                _ask(draft, driver, call, decides=True)
        elif _seeds(draft, driver, call, drawing):
            if dealt and _seeds(draft, driver, call, _selecting(draft, driver, drawing, dealt)):
                _ask(draft, driver, call)  # what is dealt are no rows, but a number that goes down, say
                continue
            if dealt:
                if not draft.was(call, Apart):
                    draft.note("D3", call, _BESIDE)
                continue
            if seeds_apart.seed_apart(draft, driver, call):
                continue
            by_it = [c for c in drawing if _seeds(draft, driver, call, [c])]
            _ask(draft, driver, call, seeds_apart.decides(draft, driver.loop, by_it))


def _selecting(
    draft: Draft, driver: Driver, drawing: list[ast.Call], dealt: list[ast.Call]
) -> list[ast.Call]:
    """The draws by which steps select their rows from what isn't dealt out itself: `x[order[i : i + 32]]` beside
    `keep = next(schedule)`."""
    taken = [part for n in feeding(draft).trained_on(driver) if (part := _taken(draft, n)) is not None]
    given = [by for rows, by in taken if set(dealt).isdisjoint(draft.values.depends([rows], _FAR))]
    made_of = set(draft.values.depends(given, _FAR)) if given else set()
    return [call for call in drawing if call in made_of]


def _taken(draft: Draft, n: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """(rows, by what some of them are selected) of `x[order]`, `tf.gather(x, order)`, `np.take(x, order, axis=0)`"""
    if isinstance(n, ast.Subscript):
        return n.value, n.slice
    if isinstance(n, ast.Call) and draft.names.last(n.func) in ("gather", "take") and len(n.args) > 1:
        return n.args[0], n.args[1]
    return None


def _ask(draft: Draft, driver: Driver, call: ast.Call, decides: bool = False) -> None:
    if decides:
        draft.ask("D3", call, seeds_apart.WHAT, seeds_apart.WHY, _DECIDES)
        return
    again = seeds_apart.outermost(draft, driver.loop) is None  # it would draw the same each time
    where = "once, before all training" if again else "just before that loop"
    draft.ask(
        "D3",
        call,
        seeds_apart.WHAT,
        seeds_apart.WHY,
        f"with this seed every rank draws the same batches in the loop of {draft.line_words(driver.loop, call)}: seed "
        f"each rank differently {where}, for example with `{seeds_apart.example(draft, call)}`",
    )


def _seeds(draft: Draft, driver: Driver, call: ast.Call, drawing: list[ast.Call]) -> bool:
    """Whether a call may give a seed to what some others draw from in a loop: not one of a run that only tests."""
    name = draft.names.of(call.func) or ""
    if name in MAKERS:
        seeds = _drawn_from(draft, call, drawing) and not seeds_apart.only_measures(draft, call)
    else:
        seeds = any(_draws_from(draft, draft.names.of(d.func) or "", SEEDS[name]) for d in drawing)
    seeds = seeds and draft.uniform.draws.may_give_seed(call)
    return seeds and not draft.facts.exclusive.apart(call, driver.loop)


def _draws_from(draft: Draft, name: str, seeded: tuple[str, ...]) -> bool:
    return name.startswith(seeded) and draft.uniform.draws.is_drawn(name)


def _drawn_from(draft: Draft, maker: ast.Call, drawing: list[ast.Call]) -> bool:
    return any(
        isinstance(d.func, ast.Attribute) and maker in draft.values.calls(d.func.value) for d in drawing
    )


RULE = Rule("D3", "report seeds that make all ranks draw the same", apply, __doc__ or "")
