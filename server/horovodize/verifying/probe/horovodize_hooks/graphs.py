"""What one run of a session reaches in its graph: steps, collectives, sources of data, checkpoints.

Only read: nothing is added to the graph, since new operations would change the seeds of those that come after."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tensorflow.python.framework import tensor_util

from horovodize_hooks.collectives import KINDS, describe, sums

SOURCES = re.compile(r"(IteratorGetNext|QueueDequeue|ReaderRead)")  # operations that hand out examples
VARIABLES = {"VariableV2", "Variable", "VarHandleOp", "TemporaryVariable"}
READS = {"ReadVariableOp", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Identity"}
BRANCHES = {"If", "Case", "StatefulPartitionedCall", "While"}
Feeds = list[tuple[Any, Any]]  # tensors and the values given for them
HOROVOD = {f"Horovod{''.join(part.title() for part in kind.split('_'))}": kind for kind in KINDS}


@dataclass(frozen=True)
class Reach:
    """The part of a graph that a run executes.

    operations   their names
    collectives  Horovod's, as `Collectives.log` has them, in an order that is the same on all ranks
    sums         how many of these add up without dividing
    sources      tensors that operations which hand out examples yield
    prefixes     tensors that name the checkpoints which are written
    files        tensors that name other files which are written"""

    operations: frozenset[str] = frozenset()
    collectives: tuple[tuple[str, str], ...] = ()
    sums: int = 0
    sources: tuple[Any, ...] = ()
    prefixes: tuple[Any, ...] = ()
    files: tuple[Any, ...] = ()


def reach(starts: Iterable[Any], fed: Iterable[Any]) -> Reach:
    """starts: the operations that were asked for; fed: the tensors that are given, behind which nothing runs."""
    operations = upstream(starts, {tensor.name for tensor in fed})
    ordered = [operation for _, operation in sorted(operations.items())]
    sources = [t for o in ordered if SOURCES.match(o.type) for t in o.outputs]
    return Reach(
        frozenset(operations),
        tuple(found for operation in ordered for found in _collectives(operation)),
        sum(_adds_up(operation) for operation in ordered),
        tuple(
            t for t in sources if t.dtype.is_numpy_compatible and t.dtype.name not in ("resource", "variant")
        ),
        tuple(_inputs(ordered, {"SaveV2": 0, "MergeV2Checkpoints": 1})),
        tuple(_inputs(ordered, {"WriteFile": 0})),
    )


def upstream(starts: Iterable[Any], fed: set[str]) -> dict[str, Any]:
    """All operations that the given ones need, themselves too, by name; `fed` names tensors behind which to stop."""
    found: dict[str, Any] = {}
    waiting = list(starts)
    while waiting:
        operation = waiting.pop()
        if operation.name in found:
            continue
        found[operation.name] = operation
        waiting += [tensor.op for tensor in operation.inputs if tensor.name not in fed]
        waiting += operation.control_inputs
    return found


def _inputs(operations: Iterable[Any], places: dict[str, int]) -> list[Any]:
    return [o.inputs[places[o.type]] for o in operations if o.type in places]


def _collectives(operation: Any) -> list[tuple[str, str]]:
    if operation.type in HOROVOD:
        return [(HOROVOD[operation.type], describe(list(operation.inputs)))]
    return [(kind, "") for kind in _inside(operation.graph, _functions(operation.node_def), set())]


def _adds_up(operation: Any) -> bool:
    """Whether it's an allreduce whose result is the sum over ranks."""
    given = operation.node_def.attr
    if "allreduce" not in HOROVOD.get(operation.type, "") or "reduce_op" not in given:
        return False
    factors = (given[name].f for name in ("prescale_factor", "postscale_factor") if name in given)
    return sums(given["reduce_op"].i, *factors)


def _functions(node: Any) -> list[str]:
    """Names of the functions that an operation calls."""
    values = node.attr.values()
    return [v.func.name for v in values if v.func.name] + [f.name for v in values for f in v.list.func]


def _inside(graph: Any, names: list[str], seen: set[str]) -> list[str]:
    found = []
    for name in names:
        function = None if name in seen else graph._get_function(name)
        seen.add(name)
        for node in function.cached_definition.node_def if function else ():
            found += [HOROVOD[node.op]] if node.op in HOROVOD else _inside(graph, _functions(node), seen)
    return found


@dataclass
class Rate:
    """A learning rate in a graph: a constant, or a tensor that is evaluated as the step would.

    schedule  it follows from how many steps were made"""

    tensor: Any
    schedule: bool = False
    constant: float | None = None
    _needs: frozenset[str] = frozenset()
    _pure: bool = True

    @classmethod
    def of(cls, tensor: Any) -> Rate:
        # Not `constant_value`: it forbids to feed the tensor, and scripts feed constants.
        constant = tensor.op.type == "Const"
        needs = upstream([tensor.op], set())
        counters = [o for o in needs.values() if o.type in VARIABLES and o.get_attr("dtype").is_integer]
        stateful = {o.type for o in needs.values() if o.op_def is None or o.op_def.is_stateful}
        return cls(
            tensor,
            bool(counters),
            float(tensor_util.MakeNdarray(tensor.op.get_attr("value"))) if constant else None,
            frozenset(needs),
            stateful <= VARIABLES | READS | BRANCHES,
        )

    def fed_by(self, feeds: Feeds) -> Feeds:
        """Those of the feeds that it depends on."""
        return [(tensor, value) for tensor, value in feeds if tensor.op.name in self._needs]

    def value(self, run: Callable[[Any, Feeds], Any], feeds: Feeds) -> float:
        """The rate now. run: evaluates a tensor with feeds. Not a number if evaluating could change something."""
        given = self.fed_by(feeds)
        if self.constant is not None and not given:
            return self.constant
        if not self._pure:
            return float("nan")
        return float(run(self.tensor, given))


def rate_of(optimizer: Any, added: Iterable[Any]) -> Rate | None:
    """The rate that an optimizer's update uses. added: the operations that `apply_gradients` made."""
    for operation in added:
        definition = operation.op_def
        if definition is None or "Apply" not in operation.type:
            continue
        names = [argument.name for argument in definition.input_arg]
        for name in ("lr", "alpha"):
            if name in names and len(names) == len(operation.inputs):
                return Rate.of(operation.inputs[names.index(name)])
    for name in ("_learning_rate_tensor", "_lr_t"):
        tensor = getattr(optimizer, name, None)
        if tensor is not None:
            return Rate.of(tensor)
    return None
