"""HVD306 of PyTorch: weights that each rank draws for itself, and that nothing sends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import arguments, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Violation

_SENDING = (
    "broadcast_parameters", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object",
)  # fmt: skip
_SEEDS = ("torch.manual_seed", "torch.random.manual_seed", "torch.cuda.manual_seed_all")
_OTHER_WAYS = ("torch.nn.parallel.DistributedDataParallel", "torch.distributed.init_process_group")
_WEIGHTS = ("parameters", "named_parameters", "state_dict", "data", "weight", "bias")
_NUMBERS = ("torch.tensor", "torch.Tensor", "torch.LongTensor", "torch.FloatTensor", "torch.IntTensor")
_OF_OTHERS = ("torch.", "torchvision.", "horovod.", "apex.", "tqdm.")
_LIMIT = 200


def find(context: Context, restriction: Restriction) -> Iterator[Violation]:
    use = context.facts.horovod
    if use.calls("TorchState") or context.module.calls_of(*_SEEDS, *_OTHER_WAYS):
        return
    if any(_may_send_weights(context, call) for call in use.calls(*_SENDING)):
        return
    if any(_loads_for_all(context, n) for n in context.module.loads.get("load_state_dict")):
        return
    if context.module.loads.get("from_pretrained") or not (use.shows_training or _is_kept(context)):
        return
    trained = [c for c in context.facts.collectives.all.values() if c.name == "training"]
    for wrapper in use.wrapped[:1]:
        if trained and use.runs(wrapper) and not context.facts.rank_tests.may_be_guarded(wrapper):
            yield restriction.at(
                context,
                wrapper,
                "ranks start with different weights, and go on with different ones: send rank 0's before the first step, with "
                "`hvd.broadcast_parameters(model.state_dict(), root_rank=0)`",
            )


def _may_send_weights(context: Context, call: ast.Call) -> bool:
    """Whether a broadcast may be one of weights: not of a number, nor of what an optimizer keeps."""
    given = arguments(call)[:1]
    if context.facts.horovod.is_call(call, "broadcast_parameters") or not given:
        return True
    if isinstance(given[0], ast.Call) and context.names.of(given[0].func) in _NUMBERS:
        return False
    behind = list(context.values.depends(given, _LIMIT))
    return len(behind) >= _LIMIT or any(
        (isinstance(n, ast.Attribute) and n.attr in _WEIGHTS) or _is_unseen(context, n) for n in behind
    )


def _is_unseen(context: Context, node: ast.AST) -> bool:
    """Whether a name is a parameter that no call passes anything for, or what a loop goes through."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return False
    bound = context.scopes.reaching(node)
    return any(b.kind == "parameter" and not context.values.passed(b) or b.kind == "item" for b in bound)


def _loads_for_all(context: Context, load: ast.expr) -> bool:
    """Whether all ranks may load weights before they train: not where rank 0 does alone, nor at the end of the script."""
    if context.facts.rank_tests.deciding(load) is not None:
        return False
    steps = [c.call for c in context.facts.collectives.all.values() if c.name == "training"]
    ways = [way for step in steps for way in context.ways(step)]
    at_the_end = context.syntax.function(load) is None and all(
        position(context.syntax.statement(way[-1].node)) < position(load) for way in ways
    )
    return not (ways and at_the_end)


def _is_kept(context: Context) -> bool:
    """Whether nothing that isn't seen is given the model or the optimizer, though other modules aren't: a model doesn't send
    itself as it is made."""
    use = context.facts.horovod
    if use.is_passed_on or use.ranks_begin_elsewhere or not use.wrapped:
        return False
    models = {
        context.text(n.value)
        for word in ("parameters", "named_parameters")
        for n in context.module.loads.get(word)
        if isinstance(n, ast.Attribute)
    }
    models |= {context.text(given) for w in use.wrapped for given in arguments(w)[:1]}
    return not any(
        context.text(given) in models
        for call in context.syntax.calls
        if not _is_known(context, call)
        for given in arguments(call)
    )


def _is_known(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    return name.startswith(_OF_OTHERS) or context.values.callee(call) is not None
