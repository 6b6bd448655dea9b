"""State that layers and losses of the user's own keep by the rows they see: the codebook of a quantizer, the centres of a
center loss, a running mean. Part of K3 and G2.

    def call(self, x, training=None):
        if training:
            self.mean.assign(0.9 * self.mean + 0.1 * tf.reduce_mean(x, 0))

Such state follows no gradient, so nobody averages it: on each rank it follows that rank's rows. What is only used outside of
training is batch-norm statistics by another name, and all ranks go on with rank 0's when training ends (`statistics`). What
training computes with is asked about.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from horovodize.python.once import once
from horovodize.python.syntax import FUNCTIONS, Function, argument, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights import drifting
from horovodize.rules.weights.target_networks import FILLS, MOVES
from horovodize.source.nodes import walk

_LAYER = "tensorflow.keras.layers.Layer"
_KEEPERS = {_LAYER, "tensorflow.keras.losses.Loss"}
_STEPS = (
    "call",
    "__call__",
    "train_step",
)  # what `fit` runs of a layer, a loss or a model, under names of Keras
_ASSIGNS = ("assign", "assign_add", "assign_sub")
_IN_PARTS = (*FILLS, *MOVES)  # `self.centers.scatter_sub(changes)`
_MADE = ("add_weight", "add_variable", "Variable", "variable", "get_variable")
# Functions that set a variable, which they take first, to or by what comes next.
_SETTING = {
    "tensorflow.keras.backend.update",
    "tensorflow.keras.backend.update_add",
    "tensorflow.keras.backend.update_sub",
    "tensorflow.keras.backend.moving_average_update",
    "tensorflow.compat.v1.assign",
    "tensorflow.compat.v1.assign_add",
    "tensorflow.compat.v1.assign_sub",
    "tensorflow.python.training.moving_averages.assign_moving_average",
}
_UPDATE = "add_update"  # of old Keras
_SIZES = ("shape", "get_shape", "int_shape", "size", "rank", "ndim", "len")
_GIVING = ("call", "__call__")
_LOSSES = ("add_loss", "gradient", "minimize")
_REDUCTIONS = ("allreduce", "grouped_allreduce", "allgather", "broadcast")
_FAR = 600
_WHAT = "Keep what layers set by rows the same on all ranks"
_WHY = "Ranks that compute with other numbers train for other aims."
_DRIFTS = (
    "each rank sets this by its own rows with each step, and training computes with it: it differs more and more between "
    "the ranks; set it by a mean over all ranks, `hvd.allreduce`, or by the rows of all, `hvd.allgather` (of "
    "`horovod.tensorflow`), and raise the decay of a moving average to the power of the number of ranks"
)


class Set(NamedTuple):
    """Where a layer sets its state: what it sets, as it is written; what to, or what a function makes that of; the call."""

    kept: str
    by: list[ast.expr]
    call: ast.Call


def keeps(draft: Draft) -> bool:
    """Whether a layer of the user's own sets state by the rows it sees: a model's own, which a loss is none of."""
    owners = (draft.syntax.method_class(method) for methods, _ in _layers(draft) for method in methods[:1])
    return any(owner is not None and _LAYER in draft.values.ancestors(owner) for owner in owners)


def apply(draft: Draft, rule: str = "K3") -> None:
    """Asks about state that training computes with."""
    for methods, found in _layers(draft):
        owners = {draft.syntax.method_class(method) for method in methods}
        runs = [methods, *(_run_by_a_step(draft, owner) for owner in owners if owner is not None)]
        wanted = {kept for run in runs for kept in read_in_training(draft, run)}
        for one in found:
            in_step = drifting.is_in_train_step(draft, one.call)  # K7 averages it, or asks
            if one.kept not in wanted or in_step or _is_asked(draft, one.call):
                continue
            if draft.once("drifts", one.call):
                draft.ask(rule, one.call, _WHAT, _WHY, _DRIFTS)


def _is_asked(draft: Draft, call: ast.Call) -> bool:
    """Whether `memories` has asked about what a call fills in."""
    in_parts = isinstance(call.func, ast.Attribute) and call.func.attr in _IN_PARTS
    return in_parts and not draft.once("memory", draft.syntax.statement(call))


@once
def _layers(draft: Draft) -> list[tuple[list[Function], list[Set]]]:
    """(the methods that a step runs, where they set state by rows) of each layer or loss that does."""
    layers: list[tuple[list[Function], list[Set]]] = []
    module = draft.module
    if not module.loads.get(*_ASSIGNS, *_IN_PARTS, _UPDATE) and not module.calls_of(*_SETTING):
        if not module.calls_called(_UPDATE):
            return []  # nothing is ever set
    for methods in run_by_steps(draft):
        found = [one for method in methods for one in sets(draft, method) if set_by_rows(draft, methods, one)]
        if found:
            layers.append((methods, found))
    return layers


def run_by_steps(draft: Draft, names: Sequence[str] = _STEPS) -> Iterator[list[Function]]:
    """The methods that a step runs of each layer and loss; names: those that Keras runs."""
    yield from (_run_by_a_step(draft, cls, names) for cls in draft.syntax.classes if _is_layer(draft, cls))
    yield from ([function] for function in _loss_functions(draft))


def _loss_functions(draft: Draft) -> Iterator[Function]:
    """The functions of this file that models are compiled with as losses: `loss=center_loss`, `loss={"a": mse, "b": own}`."""
    seen = set[ast.AST]()
    for site in draft.sites.compiles:
        match argument(site.call, "loss", 1):
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
                pass
            case None:
                parts = []
            case loss:
                parts = [loss]
        for made in (o.node for part in parts for o in draft.values.origins(part) if not o.path):
            if isinstance(made, FUNCTIONS) and made not in seen:
                seen.add(made)
                yield made


def _run_by_a_step(draft: Draft, cls: ast.ClassDef, names: Sequence[str] = _STEPS) -> list[Function]:
    """`call`, and the methods that it calls of its object, or of the layers that this holds."""
    own = {s.name: s for s in cls.body if isinstance(s, FUNCTIONS)}
    found = [own[name] for name in names if name in own]
    for method in found:  # grows
        for n in walk(method):
            if not isinstance(n, ast.Call) or not isinstance(n.func, ast.Attribute):
                continue
            called = own.get(n.func.attr) or draft.values.callee(n)
            if isinstance(called, FUNCTIONS) and called not in found:
                owner = draft.syntax.method_class(called)
                if owner is not None and _is_layer(draft, owner):
                    found.append(called)
    return found


def _is_layer(draft: Draft, cls: ast.ClassDef) -> bool:
    """Whether a class is a layer or a loss. Metrics are layers to Keras, too, but training computes with none."""
    bases = draft.values.ancestors(cls)
    return not _KEEPERS.isdisjoint(bases) and not any(".metrics." in base for base in bases)


def sets(draft: Draft, method: Function) -> Iterator[Set]:
    calls = [n for n in walk(method) if isinstance(n, ast.Call)]
    yield from _updates(draft, calls)
    for call in calls:
        held: ast.expr | None = None
        if draft.names.of(call.func) in _SETTING and len(call.args) > 1:
            held, by = call.args[0], [call.args[1]]
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _ASSIGNS:
            given = argument(call, "delta" if "_" in call.func.attr else "value", 0)
            held, by = call.func.value, [given] if given is not None else []
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _IN_PARTS:
            held, by = call.func.value, arguments(call)
        else:
            held = next((e for i, e in enumerate(call.args) if _is_set_by(draft, call, i)), None)
            by = [e for e in call.args if e is not held]
        if isinstance(held, (ast.Attribute, ast.Name)) and is_variable(draft, held):
            yield Set(ast.unparse(held), by, call)


def _updates(draft: Draft, calls: list[ast.Call]) -> Iterator[Set]:
    """`self.add_update([(self.k, new)])`, the pairs of old Keras."""
    for call in calls:
        if draft.names.last(call.func) != _UPDATE or not call.args:
            continue
        given = call.args[:1]
        if isinstance(given[0], ast.Name):
            given = [*given, *draft.sites.flow.appended(given[0])]
        for pair in (n for n in draft.values.depends(given, _FAR) if isinstance(n, ast.Tuple)):
            held = pair.elts[0] if len(pair.elts) == 2 else None
            if isinstance(held, ast.Attribute) and is_variable(draft, held):
                yield Set(ast.unparse(held), [pair.elts[1]], call)


def _is_set_by(draft: Draft, call: ast.Call, index: int) -> bool:
    """Whether a function of this file sets what it is given at a position: `mix(self.mean, value)`."""
    callee = draft.values.callee(call)
    if not isinstance(callee, FUNCTIONS):
        return False
    names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)]
    name = names[1:] if draft.syntax.method_class(callee) is not None else names
    methods = (n for n in walk(callee) if isinstance(n, ast.Attribute) and n.attr in _ASSIGNS)
    return index < len(name) and any(ast.unparse(m.value) == name[index] for m in methods)


def is_variable(draft: Draft, held: ast.Attribute | ast.Name) -> bool:
    """Whether an attribute is a weight that the layer makes itself: not its optimizer's rate, nor a metric; or whether a name
    stands for a variable."""
    if isinstance(held, ast.Name):
        made: list[ast.expr | None] = [o.call for o in draft.values.origins(held) if not o.path]
    else:
        made = [b.value for b in draft.values.attribute_bindings(held)]
    return any(isinstance(m, ast.Call) and draft.names.last(m.func) in _MADE for m in made)


def set_by_rows(draft: Draft, methods: list[Function], one: Set) -> bool:
    """Whether state is computed from the rows that a step gives a layer, and not averaged over ranks."""
    found = list(draft.values.depends(one.by, _FAR))
    if any(isinstance(n, ast.Call) and draft.names.last(n.func) in _REDUCTIONS for n in found):
        return False
    return any(isinstance(n, ast.Name) and _is_rows(draft, methods, n) for n in found)


def _is_rows(draft: Draft, methods: list[Function], name: ast.Name) -> bool:
    """Whether a name is what a step gives a layer, of which more is wanted than its shape."""
    function = draft.syntax.function(name)
    if not isinstance(function, FUNCTIONS) or function not in methods or name.id in ("training", "mask"):
        return False
    given = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    given = given[1:] if draft.syntax.method_class(function) is not None else given
    if name.id not in given or not any(b.kind == "parameter" for b in draft.module.scopes.reaching(name)):
        return False
    around = draft.syntax.parent[name]
    if isinstance(around, ast.Attribute):
        return around.attr not in _SIZES
    return not (isinstance(around, ast.Call) and draft.names.last(around.func) in _SIZES)


def _attributes(draft: Draft, by: list[ast.expr]) -> set[str]:
    return {
        ast.unparse(n) for n in draft.values.depends(by, _FAR) if isinstance(n, (ast.Attribute, ast.Name))
    }


def read_in_training(draft: Draft, methods: list[Function]) -> set[str]:
    """The attributes, as they are written, that a step computes outputs, losses and gradients from in training."""
    given: list[ast.AST] = []
    for n in (n for method in methods for n in walk(method)):
        if isinstance(n, ast.Return) and n.value is not None:
            function = draft.syntax.function(n)
            own = isinstance(function, FUNCTIONS) and draft.syntax.method_class(function) is not None
            if isinstance(function, FUNCTIONS) and (function.name in _GIVING or not own):
                given.append(n.value)
        elif isinstance(n, ast.Call) and draft.names.last(n.func) in _LOSSES:
            given += arguments(n)
    wanted = [n for n in given if not _is_outside_of_training(draft, n)]
    found = [n for n in draft.values.depends(wanted, _FAR) if isinstance(n, (ast.Attribute, ast.Name))]
    read = {ast.unparse(n) for n in found if not _is_outside_of_training(draft, n)}
    before = set[str]()
    while read != before:  # what is set from what is set
        before = set(read)
        for one in (one for method in methods for one in sets(draft, method)):
            if one.kept in read:
                read |= _attributes(draft, one.by)
    return read


def _is_outside_of_training(draft: Draft, n: ast.AST) -> bool:
    """Whether a place is reached only where a layer does not train: `if not training:`, or what `if training:` leaves over."""
    child = n
    for a in draft.syntax.ancestors(n):
        if isinstance(a, FUNCTIONS):
            return False
        field = draft.syntax.field[child]
        if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
            is_negated = isinstance(a.test, ast.UnaryOp) and isinstance(a.test.op, ast.Not)
            test = a.test.operand if isinstance(a.test, ast.UnaryOp) else a.test
            if isinstance(test, ast.Name) and test.id == "training" and is_negated is (field == "body"):
                return True
        child = a
    return False
