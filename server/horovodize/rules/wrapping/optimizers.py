"""The optimizers that train: from the places that use one back to where it is made. Shared by C5, K1 and K2."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from horovodize import catalogue
from horovodize.facts.differences.answers import Varies
from horovodize.facts.rates.saved_models import names_keras_files
from horovodize.python.syntax import argument, says_none
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import HVD, Draft
from horovodize.rules.rates import unseen_schedules
from horovodize.rules.together.any_rank_test import agree_value, differing
from horovodize.rules.wrapping import unseen_steps
from horovodize.rules.wrapping.asked_models import is_made_to_be_asked
from horovodize.source import Edit
from horovodize.summary.site_kinds import Compile

Sink = Literal["compile", "update", "graph"]

_AGREE = "Choose the same optimizer on every rank"
_WHY_AGREE = "Ranks that update with different optimizers train apart."
KERAS_OPTIMIZER = "tensorflow.keras.optimizers.Optimizer"
_MODULES = ("tensorflow.keras.optimizers", "tensorflow.keras.optimizers.legacy")
_BY_NAME = ("tensorflow.keras.optimizers.get", "tensorflow.keras.optimizers.deserialize")


@dataclass(frozen=True, eq=False)
class Trained:
    """One origin of an optimizer that trains.

    used_at      the expression at the place that trains (argument of `compile`, receiver of `apply_gradients`)
    origin       what it was followed to: a constructor call, a string constant, or something that can't be followed
    class_name   canonical name of the class, where known
    sink         how it is used
    outermost    the wrapping optimizer's construction, where one is around this one (LossScaleOptimizer), else `call`
    """

    used_at: ast.expr
    origin: ast.AST
    class_name: str | None
    sink: Sink
    outermost: ast.Call | None

    @property
    def call(self) -> ast.Call | None:
        """The constructor call."""
        return self.origin if isinstance(self.origin, ast.Call) and self.class_name is not None else None

    @property
    def string(self) -> str | None:
        """The Keras name ("adam"), where the optimizer is given by one."""
        if isinstance(self.origin, ast.Constant) and isinstance(self.origin.value, str):
            return self.origin.value
        return None


def trained_optimizers(draft: Draft) -> list[Trained]:
    """Every optimizer origin that reaches a place that trains, in the order of those places. One that can't be seen is given
    for each place: what is done about it is done there."""
    found: list[Trained] = []
    seen: set[tuple[ast.AST, Sink]] = set()
    compiles = sorted(
        draft.sites.compiles, key=is_of_base
    )  # an optimizer is seen to where its model is compiled
    compiles = [c for c in compiles if not is_made_to_be_asked(draft, c)]
    uses: list[tuple[ast.expr, Sink]] = [(o, "compile") for c in compiles for o in c.optimizers]
    uses += [(u.optimizer, "update") for u in draft.sites.updates if u.optimizer is not None]
    uses += [(o, "graph") for o in draft.sites.graph_optimizers]
    uses += [(o, "graph") for o in draft.sites.read_estimators.optimizers]
    for expression, sink in uses:
        for trained in _followed(draft, expression, sink):
            if trained.outermost is None or (trained.origin, sink) not in seen:
                seen.add((trained.origin, sink))
                found.append(trained)
    return found


def is_of_base(site: Compile) -> bool:
    """`super().compile(optimizer)`: a model's own `compile` passes on what it is given where the model is compiled."""
    model = site.model
    return isinstance(model, ast.Call) and isinstance(model.func, ast.Name) and model.func.id == "super"


def _followed(draft: Draft, used_at: ast.expr, sink: Sink) -> Iterator[Trained]:
    for end in draft.facts.optimizers.arrivals(used_at):
        node, outermost = end.node, end.outermost
        if says_none(node):
            continue
        if isinstance(node, ast.Call) and catalogue.makes_optimizer(draft.names.of(node.func) or ""):
            for code in ("HVD103", "HVD105", "HVD107"):
                draft.answer(code, node)
            whole = None if end.part else outermost or node  # `optimizer, schedule = create_optimizer(…)`
            yield Trained(used_at, node, draft.names.of(node.func), sink, whole)
            continue
        if isinstance(node, ast.Call) and not end.part:
            if draft.module.is_optimizer(node):
                yield Trained(used_at, node, _class_name(draft, node), sink, outermost or node)
                continue
            if is_chosen_class(draft, node) and rate_argument(node, KERAS_OPTIMIZER) is not None:
                draft.answer("HVD103", node)
                yield Trained(used_at, node, KERAS_OPTIMIZER, sink, outermost or node)
                continue
            if draft.names.of(node.func) in _BY_NAME and node.args and _is_text(node.args[0]):
                yield Trained(used_at, node, None, sink, node)
                continue
        yield Trained(used_at, node, None, sink, None)


def is_by_name(draft: Draft, made: ast.AST) -> bool:
    """`keras.optimizers.get("adam")`, `.deserialize(config)`"""
    return isinstance(made, ast.Call) and draft.names.of(made.func) in _BY_NAME


def agree_on_choices(draft: Draft) -> None:
    """Has all ranks pick the same optimizer of several, where a key or a condition may differ between them. Runs after the
    rules that make draws the same on all ranks."""
    used = [o for c in draft.sites.compiles for o in c.optimizers]
    used += [u.optimizer for u in draft.sites.updates if u.optimizer is not None]
    for ends in (draft.facts.optimizers.arrivals(e) for e in used):
        for end in ends if len(ends) > 1 else ():
            tests = [c.test for c, _ in draft.syntax.conditions(end.node)]
            for test in (*end.keys, *tests):
                _agree_on(draft, end.node, test)


def _agree_on(draft: Draft, optimizer: ast.AST, test: ast.expr) -> None:
    """Makes what one optimizer is chosen by the same on all ranks."""
    reason = next((r for r in differing(draft, test) if isinstance(r, Varies)), None)
    if draft.was(test, Agreed) or (reason is not None and agree_value(draft, test, "C5", _AGREE, _WHY_AGREE)):
        draft.answer("HVD107", optimizer)
    elif reason is not None:
        draft.refuse("HVD107", test, f"ranks may choose different optimizers here: {reason.why}")


def is_chosen_class(draft: Draft, call: ast.Call) -> bool:
    """Whether an optimizer is made by a class of Keras that only the run knows: `getattr(tf.keras.optimizers, name)(…)`."""
    made = call.func
    return (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Name)
        and made.func.id == "getattr"
        and bool(made.args)
        and draft.names.of(made.args[0]) in _MODULES
    )


def _is_text(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and isinstance(e.value, str)


def _class_name(draft: Draft, call: ast.Call) -> str:
    """The TensorFlow class that is constructed: the nearest base for a class of this module."""
    name = draft.names.of(call.func)
    if name is not None:
        return name
    made = draft.values.made_by(call)
    if draft.values.callee(call) is None and rate_argument(call, None) is None:
        made = {n for n in made if catalogue.default_rate(n) is None}  # which class it is decides the default
    known = sorted(n for n in made if catalogue.default_rate(n) is not None)
    of_tf1 = any(n.startswith(("tensorflow.compat.v1.", "tensorflow.contrib.")) for n in made)
    base = "tensorflow.compat.v1.train.Optimizer" if of_tf1 else "tensorflow.keras.optimizers.Optimizer"
    return known[0] if known else base


_LONG = 88  # columns of a line that gets no wrapper around what it has


def rate_argument(call: ast.Call, class_name: str | None) -> ast.expr | None:
    """The learning rate that a construction is given."""
    value = argument(call, "learning_rate") or argument(call, "lr")
    if value is not None:
        return value
    known = catalogue.cls(class_name) if class_name else None
    index = 0
    if known is not None:
        names = [p for p in known.parameters if p in ("learning_rate", "lr")]
        index = known.parameters.index(names[0]) if names else 0
    elif class_name is not None and class_name.rsplit(".", 1)[-1] in ("AdamW", "SGDW"):
        index = 1  # the add-ons' weight decay comes first
    return argument(call, "learning_rate", index)


def wrap(draft: Draft, rule: str, call: ast.Call, why: str, op: str = "") -> None:
    """Wraps an optimizer where it is made, once: in place, or by a line of its own where that is easier to read (after several
    lines, or a long one). `op`: what Horovod is told besides, after a comma."""
    if not draft.once("wrapped", call):
        return
    what, by = "Wrap the optimizer in Horovod's", f"{HVD}.DistributedOptimizer"
    if rule == "K1":
        rate = rate_argument(call, _class_name(draft, call))
        by = keras_wrapper(
            draft, draft.names.of(call.func) or "", of_unseen=unseen_schedules.is_rate(draft, rate)
        )
    statement = draft.syntax.statement(call)
    if (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and (call.lineno != call.end_lineno or len(draft.document.lines.content(call.lineno - 1)) > _LONG)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], (ast.Name, ast.Attribute))
        and not draft.syntax.conditions(call)  # one arm of several: a statement in each would say it twice
        and draft.can_insert(statement)
    ):
        name = draft.module.text(statement.targets[0])
        draft.change(
            rule,
            call,
            what,
            why,
            [draft.after(statement, [f"{name} = {by}({name}{op})"])],
        )
    else:
        draft.change(
            rule,
            call,
            what,
            why,
            Edit.around(draft.module.span(call), f"{by}(", f"{op})"),
        )


def keras_wrapper(draft: Draft, made_by: str = "", *, of_unseen: bool = False) -> str:
    """What a compiled model's optimizer is wrapped by. Horovod makes it again from its configuration: of some (`made_by`: the
    name of what makes it) that lacks settings, which are carried over, as a schedule of a class that can't be seen is
    (`of_unseen`). In a `.keras` file stands the class that Horovod makes, which can't be loaded again (measured with 2.15):
    where a program names such files, the class gets the name of Keras' own."""
    as_made = ""
    if not draft.keras_3 and (of_unseen or catalogue.forgets_settings(made_by)):
        as_made = draft.helper("distributed_as_made")
    if unseen_steps.are_compiled(draft):
        return draft.helper("averaging")  # which wraps by the other helper, if there is one
    if as_made:
        return as_made
    if not draft.keras_3 and names_keras_files(draft.module):
        return draft.helper("distributed")
    return f"{HVD}.DistributedOptimizer"
