"""Batches that are the same on all ranks, of what is no data set: arrays that a session or a step is fed with, and Keras'
generators of pictures (part of HVD320)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.facts.differences.answers import Uniform, Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.steps import Feed
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, argument, has_unpacking, says_none
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.downloaded_copies import names_a_copy

_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")
_OF_DATA_SETS = "tensorflow.keras.datasets."
_SHOWN = re.compile(r"^(print|info|debug|warning|warn|error|log|format|str|repr)$")
_PINNED = re.compile(r"visible_device|^CUDA_")
_DEPTH = 4
_INPUTS = ("numpy_input_fn", "pandas_input_fn")


def fed(context: Context) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where a step is given the same batch on every rank, and that batch: also rows that each step draws, by a seed for all
    ranks. Not where the rank may divide it later."""
    if not all(_decides_no_rows(context, read, _DEPTH) for read in _ranks(context)):
        return
    trained = {fit.call for fit in context.sites.fits if fit.method != "train_on_batch"}
    feeds = (
        (Feed.BATCH,) if context.sites.builds_graph else (Feed.BATCH, Feed.DRAW)
    )  # a graph draws by seeds of its own
    for loop in context.loops:
        site = loop.node
        if (
            not isinstance(site, ast.Call)
            or site in trained
            or context.facts.steps.of(site).feed not in feeds
        ):
            continue
        batches = [e for e in context.facts.steps.of(site).batches if isinstance(e, ast.expr)]
        if batches and len(batches) == len(context.facts.steps.of(site).batches):
            if not any(_is_data_set(context, e) for e in batches) and all(
                is_alike(context, e) for e in batches
            ):
                yield batches[0], batches[0]


def generators_of(context: Context, data: ast.expr) -> list[Function]:
    """The generator functions of the script's own of which one gives some data; none where something else may."""
    bound = context.scopes.reaching(data) if isinstance(data, ast.Name) else []
    made = [b.value if b.kind == "assign" and not b.path else None for b in bound] or [data]
    found = [context.values.callee(c) if isinstance(c, ast.Call) else None for c in made]
    functions = [f for f in found if isinstance(f, FUNCTIONS)]
    yields = all(any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(f)) for f in functions)
    return functions if yields and len(functions) == len(made) else []


def generated(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Where a `fit` is given batches by a generator of the script's own that yields the same ones on every rank."""
    if not all(_decides_no_rows(context, read, _DEPTH) for read in _ranks(context)):
        return
    for fit in context.sites.fits:
        data = argument(fit.call, "x", 0) or argument(fit.call, "generator", 0)
        if data is None or not (functions := generators_of(context, data)):
            continue
        given = [
            e
            for n in ast.walk(data)
            if isinstance(n, ast.Call)
            for e in (*n.args, *(k.value for k in n.keywords))
        ]
        gives = [
            n.value
            for f in functions
            for n in ast.walk(f)
            if isinstance(n, ast.Yield) and n.value is not None
        ]
        if gives and all(is_alike(context, e) for e in (*given, *gives)):
            yield fit.call, data


def of_inputs(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Where an Estimator trains on arrays that come in their own order, and are the same on every rank."""
    if not all(_decides_no_rows(context, read, _DEPTH) for read in _ranks(context)):
        return
    for training in context.sites.read_estimators.trainings:
        made = context.values.calls(training.input_fn) if training.input_fn is not None else []
        for call in made:
            shuffled, rows = argument(call, "shuffle", 4), argument(call, "x", 0)
            if context.names.last(call.func) not in _INPUTS or rows is None or not _is_false(shuffled):
                continue
            parts = [v for v in rows.values if v is not None] if isinstance(rows, ast.Dict) else [rows]
            if parts and all(is_alike(context, e) for e in parts):
                yield training.call, rows


def _is_false(e: ast.expr | None) -> bool:
    return isinstance(e, ast.Constant) and e.value is False


def flowing(context: Context) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where a `fit` is given pictures by one of Keras' generators, in an order that is the same on every rank."""
    for fit in context.sites.fits:
        data = argument(fit.call, "x", 0) or argument(fit.call, "generator", 0)
        made = context.values.calls(data) if data is not None else []
        if data is None or not is_flow(context, data):
            continue
        if _is_in_one_order(context, made[0]) and isinstance(context.facts.uniform.of(data), Uniform):
            if not any(
                _is_by_rank(context, e) for e in (*made[0].args, *(k.value for k in made[0].keywords))
            ):
                yield fit.call, data


def is_flow(context: Context, data: ast.expr) -> bool:
    """Whether a `fit` is given pictures by one of Keras' generators, which never ends."""
    made = context.values.calls(data)
    return len(made) == 1 and context.names.last(made[0].func) in _FLOWS


def of_local_ranks(context: Context) -> Iterator[ast.expr]:
    """Where ranks take the rows of the first host's ranks by their number within a host: `shard(hvd.size(), hvd.local_rank())`,
    `rows[hvd.local_rank()::hvd.size()]`."""
    shards = (
        (argument(c, "num_shards", 0), argument(c, "index", 1)) for c in context.sites.method_calls("shard")
    )
    parts = (n.slice for n in context.syntax.every(ast.Subscript) if isinstance(n, ast.Subscript))
    strides = ((at.step, at.lower) for at in parts if isinstance(at, ast.Slice))
    yield from _local_blocks(context)
    yield from _parts_of_local_ranks(context)
    for number, index in (*shards, *strides):
        if number is not None and index is not None and _is_of_all_ranks(context, number):
            if _is_only(context, index, "local_rank"):
                yield index


def _local_blocks(context: Context) -> Iterator[ast.expr]:
    """The same of blocks: `rows[hvd.local_rank() * n : (hvd.local_rank() + 1) * n]`, of n rows that all ranks share."""
    use = context.facts.horovod
    for node in context.syntax.every(ast.Subscript):
        part = node.slice
        if (
            not isinstance(part, ast.Slice)
            or part.step is not None
            or part.lower is None
            or part.upper is None
        ):
            continue
        bounds = (part.lower, part.upper)
        if not all(
            use.depends_on(b, "local_rank", limit=60) and use.depends_on(b, "size", limit=60) for b in bounds
        ):
            continue
        if any(use.depends_on(b, "rank", "local_size", "cross_rank", "cross_size", limit=60) for b in bounds):
            continue
        read = next((n for n in ast.walk(part.lower) if use.is_call(n, "local_rank")), None)
        yield read if isinstance(read, ast.expr) else part.lower


def _parts_of_local_ranks(context: Context) -> Iterator[ast.expr]:
    """The same of `np.split(rows, hvd.size())[hvd.local_rank()]`."""
    for node in context.syntax.every(ast.Subscript):
        made = context.values.calls(node.value)
        if len(made) == 1 and context.names.of(made[0].func) in ("numpy.array_split", "numpy.split"):
            number = argument(made[0], "indices_or_sections", 1)
            if (
                number is not None
                and _is_of_all_ranks(context, number)
                and _is_only(context, node.slice, "local_rank")
            ):
                yield node.slice


def of_one_share(context: Context) -> Iterator[ast.expr]:
    """Where every rank takes the same one of as many shares as there are ranks: `shard(hvd.size(), 0)`, also by a function that
    is given both numbers."""
    use = context.facts.horovod
    for call in context.sites.method_calls("shard"):
        number, index = argument(call, "num_shards", 0), argument(call, "index", 1)
        for n, i in _given(context, number, index) if number is not None and index is not None else ():
            if (
                isinstance(i, ast.Constant)
                and type(i.value) is int
                and use.depends_on(n, "size", "local_size", limit=60)
            ):
                yield i


def _given(context: Context, number: ast.expr, index: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The number of shares and which one is taken, as they are written; of a function's parameters, what each call passes."""
    yield number, index
    function = context.syntax.function(index)
    if not isinstance(function, ast.FunctionDef) or not all(
        isinstance(e, ast.Name) and [b.kind for b in context.scopes.reaching(e)] == ["parameter"]
        for e in (number, index)
    ):
        return
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    for call in context.syntax.calls:
        if context.values.callee(call) is function and not has_unpacking(call):
            passed = [
                argument(call, e.id, names.index(e.id)) if isinstance(e, ast.Name) and e.id in names else None
                for e in (number, index)
            ]
            if (
                context.syntax.method_class(function) is None
                and passed[0] is not None
                and passed[1] is not None
            ):
                yield passed[0], passed[1]


def _is_of_all_ranks(context: Context, number: ast.expr) -> bool:
    return _is_only(context, number, "size")


def _is_only(context: Context, e: ast.expr, name: str) -> bool:
    """Whether a value is what Horovod gives by one of its functions, and nothing else, whatever way it takes."""
    found = context.values.origins(e)
    return bool(found) and all(not o.path and context.facts.horovod.is_call(o.node, name) for o in found)


def _is_in_one_order(context: Context, flow: ast.Call) -> bool:
    """Whether a seed or nothing says in which order pictures come. Without one, NumPy's says that."""
    seed, shuffled = argument(flow, "seed"), argument(flow, "shuffle")
    if isinstance(shuffled, ast.Constant) and shuffled.value is False:
        return True
    if seed is not None and not says_none(seed):
        return isinstance(seed, ast.Constant) or isinstance(context.facts.uniform.of(seed), Uniform)
    return False


def _is_by_rank(context: Context, e: ast.expr) -> bool:
    return context.facts.horovod.depends_on(e, "rank", "local_rank", limit=200)


def is_alike(context: Context, batch: ast.expr) -> bool:
    """Whether a batch is surely the same on every rank; where a data set of Keras lies makes no difference."""
    dealt = context.facts.dealt
    found = context.facts.uniform.reasons(batch)
    reasons = [r for r in found if not (isinstance(r, Varies) and dealt.would_deal(r.where))]
    if not found:
        return isinstance(context.facts.uniform.of(batch), Uniform)
    return all(
        isinstance(reason, Varies)
        and reason.kind is Source.HOST
        and reason.where is not None
        and names_a_copy(context, reason.where)
        for reason in reasons
    )


def _is_data_set(context: Context, e: ast.expr) -> bool:
    return context.facts.feeding.kinds.pipelines.is_dataset(e)


def _ranks(context: Context) -> list[ast.expr]:
    """Where a script asks for its rank."""
    named = (n for name in ("rank", "local_rank") for n in context.module.loads.get(name))
    return [n for n in named if (context.names.of(n) or "").startswith("horovod.")]


def _decides_no_rows(context: Context, read: ast.AST, depth: int) -> bool:
    """Whether a rank is only compared, shown, written into a name of a file, or says which GPU is taken."""
    child, around = read, context.syntax.parent.get(read)
    while around is not None and not isinstance(around, (ast.stmt, *CALLABLES)):
        if isinstance(around, ast.Compare | ast.JoinedStr | ast.FormattedValue):
            return True
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mod) and child is around.right:
            if isinstance(around.left, ast.Constant | ast.JoinedStr):
                return True
        if isinstance(around, ast.Call) and child is not around.func:
            last = context.names.last(around.func)
            return bool(_SHOWN.search(last) or _PINNED.search(last))
        child, around = around, context.syntax.parent.get(around)
    if isinstance(around, ast.Assign) and depth and len(around.targets) == 1:
        return _is_kept_for_that(context, around, around.targets[0], depth)
    return isinstance(around, ast.If | ast.While | ast.Expr | ast.Assert)


def _is_kept_for_that(context: Context, kept: ast.Assign, target: ast.expr, depth: int) -> bool:
    """The same of a name that a rank is kept under."""
    if isinstance(target, ast.Attribute | ast.Subscript):
        return bool(_PINNED.search(context.text(target)))
    if not isinstance(target, ast.Name):
        return False
    reads = [n for n in context.module.loads.get(target.id) if isinstance(n, ast.Name)]
    later = [n for n in reads if any(b.statement is kept for b in context.scopes.reaching(n))]
    return all(_decides_no_rows(context, n, depth - 1) for n in later)
