"""Orders of rows that TensorFlow, Keras 3 or another library draws, from no stream that all ranks could draw from: part of D3.

`order = keras.random.shuffle(np.arange(n))`, `tf.argsort(tf.random.uniform([n]))`: where a loop then deals rows out by it, all
ranks take rank 0's. Runs after the rules that let all ranks draw alike.
"""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.plan import Decision
from horovodize.python.module import Module
from horovodize.rules.drafting import told
from horovodize.rules.drafting.decisions import Agreed, Decided, How, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded, outputs_of
from horovodize.rules.rows import drawn_orders
from horovodize.rules.rows.shuffle_order import SHARED
from horovodize.rules.rows.shuffled_feeds import Feeds
from horovodize.rules.together import told_draws
from horovodize.source import Edit
from horovodize.summary.kinds import SEQUENCE

_LIBRARIES = ("tensorflow.random.", "tensorflow.keras.random.", "scipy.stats.", "torch.")
_ORDERS = ("shuffle", "permutation", "randperm", "random_shuffle", "stateless_shuffle")
_SORTING = ("argsort", "top_k", "sort")
_GENERATORS = ("uniform", "normal", "uniform_full_int")  # methods of TensorFlow's generators
_MAKERS = (
    "tensorflow.random.Generator.from_seed",
    "tensorflow.random.Generator.from_non_deterministic_state",
    "tensorflow.random.get_global_generator",
)
_OF_SEEDS = (Source.CHANCE, Source.CLOCK, Source.HOST)  # what seeds a draw for one rank, and no seed at all
_ENDS = ("on_epoch_end", "on_epoch_begin")
_OWN_ORDER = (
    "each rank draws this order for itself here and then takes its part: in an epoch some rows are seen twice and some not at "
    "all; draw it by a seed that is the same on all ranks"
)


def tell(draft: Draft) -> None:
    shared = any(c.decision is Decision.SHARED for c in draft.changes) or any(draft.having(Shared))
    if not shared or draft.in_graph:
        return
    calls = [*draft.module.calls_which(_draws), *_of_generators(draft)]
    feeds = Feeds(draft) if calls else None
    for call in calls:
        order = _order(draft, call)
        if feeds is None or order is None or draft.was(call, Decided) or draft.drive.in_traced(call):
            continue
        if (
            not feeds.orders(call)
            or feeds.is_drawn_elsewhere(call)
            or not drawn_orders.is_dealt_out(draft, call)
        ):
            continue
        if not _differs(draft, call):
            continue
        if not (told_draws.is_met_by_all(draft, call) or _is_drawn_at_ends_of_epochs(draft, call)):
            draft.note("D3", call, _OWN_ORDER)
        elif draft.decide(call, Agreed("D3", How.ROOT)):
            edits = Edit.around(draft.module.span(order), *told.around(draft, order), level=1)
            draft.change("D3", call, "Draw the same on all ranks", SHARED, edits)


def _draws(module: Module, call: ast.Call) -> bool:
    return (module.names.of(call.func) or "").startswith(_LIBRARIES)


def _of_generators(draft: Draft) -> list[ast.Call]:
    """What methods of TensorFlow's generators draw."""
    if not draft.module.calls_of(*_MAKERS):
        return []
    found = draft.sites.method_calls(*_GENERATORS)
    makers = ((call, draft.uniform.draws.maker(call)) for call in found)
    return [
        c for c, m in makers if m is not None and (draft.names.of(m.func) or "").startswith("tensorflow.")
    ]


def _order(draft: Draft, call: ast.Call) -> ast.expr | None:
    """The whole of what is drawn, `tf.argsort(tf.random.uniform([n])).numpy()`, if it is an order; else None."""
    is_order = draft.names.last(call.func) in _ORDERS
    found: ast.expr = call
    around = draft.syntax.parent[found]
    while isinstance(around, (ast.Attribute, ast.Call)):
        is_order |= isinstance(around, ast.Call) and draft.names.last(around.func) in _SORTING
        found, around = around, draft.syntax.parent[around]
    return found if is_order else None


def _is_drawn_at_ends_of_epochs(draft: Draft, call: ast.Call) -> bool:
    """Whether a sequence draws its order when it is made, and in `on_epoch_end`, which what deals out its batches calls in the
    thread of `fit` (see `told_by_threads`), on all ranks as often."""
    if not Guarded(draft).collective(call) or outputs_of(draft).is_early(call):
        return False
    for way in draft.drive.ways(call):
        functions = [f.function for f in way if f.function is not None]
        owners = {draft.syntax.method_class(f) for f in functions}
        owner = owners.pop() if len(owners) == 1 else None
        if owner is None or SEQUENCE not in draft.values.ancestors(owner):
            return False
        if way[-1].function is not None and getattr(way[-1].function, "name", "") not in _ENDS:
            return False
    return True


def _differs(draft: Draft, call: ast.Call) -> bool:
    """Whether each rank draws for itself: no seed makes it the same on all, or one of its own does, `seed=[os.getpid(), 0]`."""
    return any(isinstance(r, Varies) and r.kind in _OF_SEEDS for r in draft.uniform.reasons(call))
