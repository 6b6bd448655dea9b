"""Updates by the gradients of plain tapes, which nothing averages (a part of HVD304)."""

from __future__ import annotations

import ast

from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.python.syntax import FUNCTIONS, LOOPS, argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import stands_alone, tapes
from horovodize.restrictions.horovod.plain_optimizers import is_plain, wrappers_of
from horovodize.restrictions.violation import Fix
from horovodize.source import Edit
from horovodize.summary.site_kinds import Update

_OF_GRAPHS = ("tensorflow.gradients", "tensorflow.compat.v1.gradients")
_ESTIMATORS = ("tensorflow.estimator.Estimator", "tensorflow.compat.v1.estimator.Estimator")
_BUILTINS = ("zip", "list", "tuple", "enumerate", "len", "map", "filter", "reversed", "sorted")


def wrap_tape(context: Context, update: Update) -> Fix | None:
    """`tape = hvd.DistributedGradientTape(tape)` before the statement that takes the gradients, if that is after the `with`."""
    name, call = tapes(context), update.gradients[0]
    statement = context.syntax.statement(call)
    if name is None or len(update.gradients) != 1 or not stands_alone(context, statement):
        return None
    tape = call.func.value if isinstance(call.func, ast.Attribute) else None
    bindings = context.scopes.reaching(tape) if isinstance(tape, ast.Name) else []
    if not isinstance(tape, ast.Name) or len(bindings) != 1 or bindings[0].kind != "with":
        return None
    if context.syntax.inside(call, bindings[0].statement) or isinstance(statement, LOOPS):
        return None
    text = f"{tape.id} = {name}.DistributedGradientTape({tape.id})"
    after = context.document.newline + context.document.indentation(statement)
    return Fix("Average the gradients", (Edit.insert(context.module.span(statement).start, text + after),))


_SETTING = ("assign", "assign_add", "assign_sub", "set_weights")
AVERAGING = ("allreduce", "grouped_allreduce", "allgather", "allgather_object", "reducescatter")


def are_own(context: Context, update: Update) -> bool:
    """Whether the gradients are surely those of plain tapes, as they are."""
    pairs = argument(update.call, "grads_and_vars", 0) or argument(update.call, "grads", 0)
    return pairs is not None and are_of_plain_tapes(context, update, gradients_of(context, pairs))


def are_of_plain_tapes(context: Context, update: Update, gradients: ast.expr) -> bool:
    """Whether these are what an update's plain tapes give, and nothing averages them on the way."""
    sources = sources_of(context, gradients) if update.gradients else []
    return bool(sources) and all(c in update.gradients and _is_of_plain_tape(context, c) for c in sources)


def sources_of(context: Context, gradients: ast.expr) -> list[ast.Call]:
    """The calls that give gradients, or average them, as they come to a place."""
    return context.sites.flow.flow_from(gradients, lambda c: _ends(context, c))


def gradients_of(context: Context, pairs: ast.expr) -> ast.expr:
    """Of gradients that are paired with variables where they are applied, the gradients: what made the model is not asked."""
    paired = isinstance(pairs, ast.Call) and context.is_builtin(pairs.func, "zip") and len(pairs.args) == 2
    return pairs.args[0] if isinstance(pairs, ast.Call) and paired else pairs


def _ends(context: Context, call: ast.Call) -> bool:
    """Whether a call gives gradients, or something that can't be followed to them."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in ("gradient", "jacobian"):
        return True
    name = context.names.of(func)
    if name is not None:
        return not name.startswith(("tensorflow.", "numpy.", "argparse."))
    if context.is_builtin(func, *_BUILTINS) or (
        isinstance(func, ast.Attribute) and func.attr in ("append", "extend", "parse_args")
    ):
        return False
    return context.values.callee(call) is None


def _is_of_plain_tape(context: Context, gradient: ast.Call) -> bool:
    assert isinstance(gradient.func, ast.Attribute)
    use, never = context.facts.horovod, context.facts.never_run
    origins = context.values.origins(gradient.func.value)
    # A wrapped tape is none where all calls leave it out: `step(x, y, averaged=False)`.
    left = [
        o for o in origins if o.call is None or not use.is_call(o.call, *TAPES) or not never.is_at(o.call)
    ]
    return bool(left) and all(o.call is not None and o.call in context.sites.tapes for o in left)


def may_be_handed_on(context: Context, call: ast.Call) -> bool:
    """Whether a function that stands around a call, an Estimator's model, say, is given to what runs it."""
    around = [a for a in context.syntax.ancestors(call) if isinstance(a, (*FUNCTIONS, ast.ClassDef))]
    if context.facts.horovod.is_whole and around and context.module.loads.get(around[-1].name):
        return True
    models = [argument(made, "model_fn", 0) for made in context.module.calls_of(*_ESTIMATORS)]
    given = {o.node for e in models if e is not None for o in context.values.origins(e)}
    ways = [way for way in context.ways(call) if any(frame.function in given for frame in way)]
    return bool(ways)


def applies_plain(context: Context, call: ast.Call) -> str:
    """Why a graph's `apply_gradients` surely averages nothing; "" where it may."""
    pairs = argument(call, "grads_and_vars", 0)
    if pairs is None or not isinstance(call.func, ast.Attribute):
        return ""
    sources = context.sites.flow.flow_from(pairs, lambda c: _ends_in_graph(context, c))
    if not sources or not all(context.names.of(c.func) in _OF_GRAPHS or _computes(c) for c in sources):
        return ""
    plain = all(
        context.names.of(c.func) in _OF_GRAPHS or is_plain(context, c.func.value)  # type: ignore[attr-defined]
        for c in sources
    )
    wrappers = wrappers_of(context, call.func.value)
    if not plain or wrappers is None:
        return ""
    return (
        "the optimizer averages what it computes itself, not what it is given"
        if any(wrappers)
        else "nothing averages them"
    )


def _computes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "compute_gradients"


def _ends_in_graph(context: Context, call: ast.Call) -> bool:
    """The same as `_ends`, for graphs."""
    name = context.names.of(call.func) or ""
    if name in _OF_GRAPHS or _computes(call):
        return True
    return "trainable_variables" not in name and "get_collection" not in name and _ends(context, call)


def averages_nothing(context: Context, update: Update) -> bool:
    """Whether a script that shows all it does with Horovod averages neither gradients nor weights anywhere, and these gradients
    come of plain tapes, on whatever way: over variables that add them up, say."""
    use = context.facts.horovod
    if not use.shows_training or use.calls(*TAPES, *WRAPPERS) or not update.gradients:
        return False
    if any(c.trains for c in context.facts.collectives.all.values()):
        return False
    if not all(_is_of_plain_tape(context, gradient) for gradient in update.gradients):
        return False
    return not averages_weights(context) and not use.depends_on(update.call, *AVERAGING)


def averages_weights(context: Context) -> bool:
    """Whether a script averages the weights themselves, after updates that each rank makes alone:
    `v.assign(hvd.allreduce(v))`."""
    setting = [n for name in _SETTING for n in context.module.loads.get(name)]
    calls = (context.syntax.parent.get(n) for n in setting)
    given = [e for c in calls if isinstance(c, ast.Call) for e in c.args]
    return any(context.facts.horovod.depends_on(e, *AVERAGING) for e in given)
