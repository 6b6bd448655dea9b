"""Training with `horovod.torch`: gradients that nothing averages (HVD304), the same
batches on all ranks (HVD320), and samplers that divide by another rank (HVD323)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument, arguments, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import unused_wrappers
from horovodize.restrictions.horovod.numbers_of_steps import OF_A_HOST, found_on_a_host
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit

_AVERAGING = (
    "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "grouped_allreduce", "grouped_allreduce_",
    "grouped_allreduce_async", "grouped_allreduce_async_", "sparse_allreduce_async",
)  # fmt: skip
_SENDING = (
    "broadcast_parameters", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object",
    "broadcast_optimizer_state",
)  # fmt: skip
_SEEDS = ("torch.manual_seed", "torch.random.manual_seed")
_CLIPPING = (
    "torch.nn.utils.clip_grad_norm_",
    "torch.nn.utils.clip_grad_value_",
    "torch.nn.utils.clip_grad_norm",
)
_SAMPLER = "torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler"
_LOADER = "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"
_OTHER_WAYS = ("torch.nn.parallel.DistributedDataParallel", "torch.distributed.init_process_group")
_LIMIT = 400


def not_averaged(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """HVD304: optimizers that step by the gradients of one rank, and gradients that are clipped while they are averaged."""
    found = list(_plain_steps(context, restriction))
    yield from _clipped_early(context, restriction)
    yield from found or unused_wrappers.find(context, restriction)


def _plain_steps(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Steps of optimizers that nothing wraps."""
    use = context.facts.horovod
    if not use.is_whole or not use.calls("rank", "size", *_SENDING) or context.module.calls_of(*_OTHER_WAYS):
        return
    if use.calls(*_AVERAGING) and context.module.loads.get("grad"):
        return  # it may average them itself
    for step in _steps(context):
        arrivals = [a.node for a in context.facts.optimizers.arrivals(step.func.value)]  # type: ignore[attr-defined]
        plain = [a for a in arrivals if isinstance(a, ast.Call) and _is_of_torch(context, a)]
        if not arrivals or len(plain) < len(arrivals) or not use.runs(step):
            continue
        if context.facts.rank_tests.may_be_guarded(step):
            continue
        yield restriction.at(
            context,
            step,
            "each rank trains a model of its own here: nothing averages the gradients; wrap the optimizer in "
            "`hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())`",
            related=[context.related(plain[0], "made here, and never wrapped")],
        )


def _steps(context: Context) -> Iterator[ast.Call]:
    """The calls of optimizers' `step`."""
    for node in context.module.loads.get("step"):
        call = context.syntax.parent.get(node)
        if isinstance(node, ast.Attribute) and isinstance(call, ast.Call) and call.func is node:
            yield call


def _is_of_torch(context: Context, made: ast.Call) -> bool:
    name = context.names.of(made.func) or ""
    return name.startswith("torch.optim.") and not name.startswith("torch.optim.lr_scheduler.")


def _clipped_early(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """`clip_grad_norm_` between `backward` and the `step` of a wrapped optimizer, while Horovod averages what it clips."""
    collectives = set(context.facts.collectives.all)
    steps = [c for c in _steps(context) if c in collectives]
    for clip in context.module.calls_of(*_CLIPPING):
        function = context.syntax.function(clip)
        after = [s for s in steps if context.syntax.function(s) is function and position(s) > position(clip)]
        if not after or any(
            context.syntax.function(n) is function
            for word in ("synchronize", "skip_synchronize")
            for n in context.module.loads.get(word)
        ):
            continue
        if context.facts.rank_tests.may_be_guarded(clip) or not _goes_before(context, clip, after[0]):
            continue
        yield restriction.at(
            context,
            clip,
            "this clips while Horovod averages: each rank clips gradients of its own, or nothing; call "
            "`optimizer.synchronize()` before it, and step `with optimizer.skip_synchronize():`",
            related=[context.related(after[0], "waits for the averages only here")],
        )


def _goes_before(context: Context, clip: ast.AST, step: ast.AST) -> bool:
    """Whether a place comes to be run before another one of the same turn."""
    return bool(
        set(context.syntax.loops(clip)) & set(context.syntax.loops(step))
    ) or not context.syntax.loops(step)


def same_batches(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """HVD320: a loader that draws the same order on all ranks, of the same rows."""
    use = context.facts.horovod
    if not use.shows_training or not use.wrapped:
        return
    seeded = any(
        c.args and isinstance(c.args[0], ast.Constant) and use.runs(c)
        for c in context.module.calls_of(*_SEEDS)
    )
    for loader in context.module.calls_of(*_LOADER):
        words = {
            k for e in loader.keywords for k in (_unpacked(context, e.value) if e.arg is None else {e.arg})
        }
        if None in words or words & {"sampler", "batch_sampler", "generator"} or len(loader.args) != 1:
            continue
        shuffled = argument(loader, "shuffle")
        ordered = shuffled is None or (isinstance(shuffled, ast.Constant) and shuffled.value is False)
        if not (ordered or (seeded and isinstance(shuffled, ast.Constant))):
            continue
        if not use.runs(loader) or context.facts.rank_tests.may_be_guarded(loader):
            continue
        if not _trains(context, loader) or not _is_seen(context, loader.args[0]):
            continue
        if _is_by_rank(context, loader) or (not ordered and not _draws_nothing_else(context)):
            continue
        yield restriction.at(
            context,
            loader,
            "every rank takes the same rows in the same order, and all compute the same gradients: give the loader a "
            "`DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())`",
        )


def _unpacked(context: Context, given: ast.expr) -> set[str | None]:
    """The keywords that `**given` may hand on; with None where some can't be seen: only dictionaries that are written out, and
    that nothing else reads or fills."""
    held = [o.node for o in context.values.origins(given) if not o.path]
    loads = context.module.loads.get(given.id) if isinstance(given, ast.Name) else []
    if not held or any(not isinstance(context.syntax.parent.get(n), ast.keyword) for n in loads):
        return {None}
    keys = [k for d in held for k in (d.keys if isinstance(d, ast.Dict) else [None])]
    return {k.value if isinstance(k, ast.Constant) and isinstance(k.value, str) else None for k in keys}


def _is_seen(context: Context, data: ast.expr) -> bool:
    """Whether a data set is surely one of torchvision's or of tensors: classes of a script's own may take rows by the rank."""
    made = context.values.calls(data)
    names = [context.names.of(c.func) or "" for c in made]
    known = (
        "torchvision.datasets.",
        "torch.utils.data.TensorDataset",
        "torch.utils.data.dataset.TensorDataset",
    )
    return bool(names) and all(name.startswith(known) for name in names)


def _is_by_rank(context: Context, loader: ast.Call) -> bool:
    """Whether the rank says which rows a loader takes, not only where they lie."""
    made = context.values.calls(loader.args[0])
    given = [e for c in made for e in arguments(c) if e is not argument(c, "root", 0)]
    given += [k.value for k in loader.keywords]
    return any(context.facts.horovod.depends_on(e, "rank", "local_rank", limit=_LIMIT) for e in given)


def _draws_nothing_else(context: Context) -> bool:
    """Whether no rank seeds by its number."""
    return not any(
        context.facts.horovod.depends_on(e, "rank", "local_rank", limit=100)
        for c in context.module.calls_of(*_SEEDS)
        for e in c.args
    )


def _trains(context: Context, loader: ast.Call) -> bool:
    """Whether a loop goes through a loader and steps."""
    steps = {s for s in _steps(context) if s in context.facts.collectives.all}
    for step in steps:
        for way in context.ways(step):
            for frame in way:
                for turn in frame.loops:
                    if isinstance(turn, ast.For) and loader in context.values.depends([turn.iter], _LIMIT):
                        return True
    return False


def uneven_shards(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """HVD323: samplers that are told another number of ranks than there are, or another rank, and epochs that begin at one that
    each host finds for itself."""
    use = context.facts.horovod
    yield from _begun_elsewhere(context, restriction)
    for sampler in context.module.calls_of(*_SAMPLER):
        parts, rank = argument(sampler, "num_replicas", 1), argument(sampler, "rank", 2)
        if parts is None or rank is None:
            if not use.wrapped or context.module.calls_of(_OTHER_WAYS[1]) or not use.is_whole:
                continue
            if (
                len(sampler.args) == 1
                and not any(k.arg is None for k in sampler.keywords)
                and use.runs(sampler)
            ):
                yield restriction.at(
                    context,
                    sampler,
                    "without `num_replicas` and `rank` this asks `torch.distributed`, which Horovod doesn't start, and fails: "
                    "give it `num_replicas=hvd.size(), rank=hvd.rank()`",
                    severity=Severity.WARNING,
                )
            continue
        of_host, of_all = _is_call(context, rank, "local_rank"), _is_call(context, parts, "size")
        of_hosts_share = _is_call(context, rank, "rank") and _is_call(context, parts, "local_size")
        if (of_host and of_all) or of_hosts_share:
            wrong = rank if of_host else parts
            right = "rank" if of_host else "size"
            yield restriction.at(
                context,
                wrong,
                f"ranks of several machines take the same rows here, and some rows are taken by none: use `{right}()`",
                severity=Severity.WARNING,
                fixes=[_by(context, wrong, right)],
            )


def _begun_elsewhere(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """Loops through epochs of which a file says the first, and no rank sends it."""
    ways = (way for s in _steps(context) if s in context.facts.collectives.all for way in context.ways(s))
    for loop in dict.fromkeys(loop for way in ways for frame in way for loop in frame.loops):
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
            continue
        counts = loop.iter.args if context.is_builtin(loop.iter.func, "range") else []
        file = next((f for e in counts if (f := found_on_a_host(context, e)) is not None), None)
        if file is not None and not context.facts.rank_tests.may_be_guarded(loop):
            told = [context.related(file, "whether it is there decides")]
            yield restriction.at(context, loop.iter, OF_A_HOST, related=told)


def _is_call(context: Context, e: ast.expr, name: str) -> bool:
    """Whether an expression surely is what Horovod's function of this name gives."""
    given = [o.node for o in context.values.origins(e) if not o.path]
    return bool(given) and all(context.facts.horovod.is_call(n, name) for n in given)


def _by(context: Context, call: ast.expr, name: str) -> Fix | None:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    text = context.document.source(call.func.value)
    return Fix(f"Use `{name}()`", (Edit(context.module.span(call.func), f"{text}.{name}"),))
