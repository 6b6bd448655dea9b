"""Functions and classes that rules call, written into the head of the distributed file.

{tf} and {name} are filled in here, the markers of Horovod by `Draft.finish`; docstrings become comments. In a TF1 graph a
tensor has no value before a session runs it: what ranks agree on there goes through a small graph and a session of its own.
"""

from __future__ import annotations

from horovodize.rules.drafting.draft import CORE, HVD, ON_ROOT, RANK, SIZE

# Of a dataset that doesn't know its length: groups of one element for each rank. Elements of different shapes can't be batched.
_WHOLE_GROUPS = (
    "        specs = {tf}.nest.flatten(dataset.element_spec)",
    "        if all(s.shape.is_fully_defined() for s in specs if isinstance(s, {tf}.TensorSpec)):",
    f"            dataset = dataset.batch({SIZE}, drop_remainder=True).unbatch()",
    "        else:",
    f"            groups = dataset.enumerate().window({SIZE}, drop_remainder=True)",
    "            dataset = groups.flat_map(lambda *group: {tf}.data.Dataset.zip(group)).map(lambda i, element: element)",
)

# Fewer elements than ranks: each takes one, some the same, as also `shard` and `shard_batches` give them. All of them on each
# rank would be as many steps as before, each with a rate for the batches of all ranks.
_ONE_EACH = (
    f"    if 0 < count < {SIZE}:",
    f"        dataset, count = dataset.repeat().take({SIZE}), {SIZE}",
)

# The same where elements are counted in the end.
_OWN = f"dataset.repeat().shard({SIZE}, {RANK})"

_WINDOWS = (
    f"    groups = dataset.enumerate().window({SIZE}, drop_remainder=True)",
    "    groups = groups.flat_map(lambda *group: {tf}.data.Dataset.zip(group)).map(lambda i, element: element)",
)

# Horovod makes a class of the same name in a module of its own, where nobody finds it who loads a `.keras` file.
_NAMED_AS_KERAS = (
    f"    optimizer = {HVD}.DistributedOptimizer(saved)",
    "    type(optimizer).__module__ = type(saved).__module__",
)

SILENT = ("class {name}:{comment}",)
STANDS_FOR = "  # stands for a writer on ranks that write nothing: only rank 0 does"
DOES_NOTHING = ("    def __getattr__(self, method):", "        return lambda *args, **kwargs: None")

_A_SEQUENCE = (  # of Keras 2: Keras 3 has its own set up, too
    "",
    "    def __init__(self, sequence):",
    f"        self.sequence, self.rank, self.size = sequence, {RANK}, {SIZE}",
)
_A_RANKS_BATCHES = (
    "    def __len__(self):",
    "        return max(1, len(self.sequence) // self.size)",
    "",
    "    def __getitem__(self, index):",
    "        return self.sequence[(index * self.size + self.rank) % len(self.sequence)]",
    "",
)

HELPERS = {
    "ScaledSchedule": (
        "class {name}({tf}.keras.optimizers.schedules.LearningRateSchedule):",
        '    """size() times the rate of another schedule."""',
        "",
        "    def __init__(self, schedule):",
        "        self.schedule = schedule",
        "",
        "    def __call__(self, step):",
        "        return self.schedule(step) * {growth}",
    ),
    "AllRanksSchedule": (
        "class {name}({tf}.keras.optimizers.schedules.LearningRateSchedule):",
        '    """The rate of another schedule at the steps of all ranks together, for a batch that is size() times larger."""',
        "",
        "    def __init__(self, schedule):",
        "        self.schedule = schedule",
        "",
        "    def __call__(self, step):",
        f"        return self.schedule(step * {SIZE}){{times_growth}}",
    ),
    "shard": (
        "def {name}(rows):",
        '    """This rank\'s share of some rows: every size()-th, equally many on each rank, at least one."""',
        f"    return rows[{RANK} % max(1, len(rows)) : max(1, len(rows) // {SIZE}) * {SIZE} : {SIZE}]",
    ),
    "share_rows": (
        "def {name}(rows):",
        '    """This rank\'s part of the rows that every step sees; all where ranks can\'t get equally many."""',
        "    count = int(rows.shape[0]) if hasattr(rows, {quote}shape{quote}) else len(rows)",
        f"    return rows if count % {SIZE} else rows[{RANK} :: {SIZE}]",
    ),
    "split_rows": (
        "def {name}(rows):",
        '    """This rank\'s part of the rows that every step sees, for a loss that adds them up."""',
        f"    return rows[{RANK} :: {SIZE}]",
    ),
    "share_batch": (
        "def {name}(size):",
        '    """This rank\'s part of a batch size that is that of all ranks together."""',
        f"    if size % {SIZE}:",
        f"        told = f{{quote}}a batch of {{{{size}}}} rows cannot be divided evenly among {{{{{SIZE}}}}} ranks{{quote}}",
        "        raise ValueError(told)",
        f"    return size // {SIZE}",
    ),
    "share_parts": (
        "def {name}(batch):",
        '    """This rank\'s rows of a batch, also of lists and dicts; all, where ranks can\'t get equally many."""',
        "    if isinstance(batch, dict):",
        "        return {{key: {name}(part) for key, part in batch.items()}}",
        "    if isinstance(batch, (list, tuple)):",
        "        return tuple({name}(part) for part in batch)",
        "    shape = getattr(batch, {quote}shape{quote}, ())",
        f"    return batch[{RANK} :: {SIZE}] if len(shape) and shape[0] % {SIZE} == 0 else batch",
    ),
    "split_parts": (
        "def {name}(batch):",
        '    """This rank\'s rows of a batch, for a loss that adds them up: of each array in lists, tuples and dicts."""',
        "    if isinstance(batch, dict):",
        "        return {{key: {name}(part) for key, part in batch.items()}}",
        "    if isinstance(batch, (list, tuple)):",
        "        return tuple({name}(part) for part in batch)",
        f"    return batch[{RANK} :: {SIZE}] if len(getattr(batch, {{quote}}shape{{quote}}, ())) else batch",
    ),
    "share_batches": (
        "def {name}(dataset):",
        '    """This rank\'s rows of each batch of a dataset; all of them, where ranks can\'t get equally many."""',
        "",
        "    def own(rows):",
        f"        even = {{tf}}.equal({{tf}}.shape(rows)[0] % {SIZE}, 0)",
        f"        return {{tf}}.cond(even, lambda: rows[{RANK} :: {SIZE}], lambda: rows)",
        "",
        "    return dataset.map(lambda *batch: {tf}.nest.map_structure(own, batch if len(batch) > 1 else batch[0]))",
    ),
    "SharedSequence": (
        "class {name}({tf}.keras.utils.Sequence):",
        '    """This rank\'s rows of each batch of a sequence; `share` takes them from a batch."""',
        "",
        "    def __init__(self, sequence, share):",
        "        self.sequence, self.share = sequence, share",
        "",
        "    def __len__(self):",
        "        return len(self.sequence)",
        "",
        "    def __getitem__(self, index):",
        "        return self.share(self.sequence[index])",
        "",
        "    def on_epoch_end(self):",
        "        self.sequence.on_epoch_end()",
    ),
    "rounds": (
        "def {name}(items):",
        '    """Each turn: an item that all ranks count by (at the end the last), and this rank\'s own."""',
        f"    turns = max(1, len(items) // {SIZE})",
        f"    own = items[{RANK} % max(1, len(items)) : turns * {SIZE} : {SIZE}]",
        "    return list(zip([*items[: turns - 1], *items[-1:]], own))",
    ),
    "shard_dataset": (  # of one that knows its length, or that it has no end
        "def {name}(dataset):",
        '    """This rank\'s share of a dataset: every size()-th element, equally many on each rank."""',
        "    count = int({tf}.data.experimental.cardinality(dataset))",
        "    dataset = dataset.repeat() if count >= 0 else dataset",
        f"    return dataset.shard({SIZE}, {RANK}).take(max(1, count // {SIZE}) if count >= 0 else -1)",
    ),
    "shard_finite": (  # of one that surely has a `len`
        "def {name}(dataset):",
        '    """This rank\'s share of a dataset: every size()-th element, equally many on each rank."""',
        f"    return {_OWN}.take(max(1, len(dataset) // {SIZE}))",
    ),
    "shard_stream": (
        "def {name}(dataset):",
        '    """This rank\'s share of a dataset: every size()-th element, equally many on each rank."""',
        "    count = int({tf}.data.experimental.cardinality(dataset))",
        "    if count >= 0:",
        f"        return {_OWN}.take(max(1, count // {SIZE}))",
        "    if count == {tf}.data.experimental.UNKNOWN_CARDINALITY:",
        *_WHOLE_GROUPS,
        f"    return dataset.shard({SIZE}, {RANK})",
    ),
    "shard_steps": (  # of one whose elements are the batches of a loop's steps: groups cost nothing beside these
        "def {name}(dataset):",
        '    """This rank\'s share of a dataset: every size()-th element, equally many on each rank."""',
        "    count = int({tf}.data.experimental.cardinality(dataset))",
        *_ONE_EACH,
        *_WINDOWS,
        f"    return groups.shard({SIZE}, {RANK})",
    ),
    "shard_records": (
        "def {name}(dataset):",
        '    """This rank\'s share of a dataset: every size()-th element, filled up to equally many."""',
        f"    padded = dataset.concatenate(dataset.repeat().take({RANK}))",
        f"    return padded.shard({SIZE}, {RANK})",
    ),
    "shard_batches": (
        "def {name}(batches):",
        '    """Every size()-th of some batches, and equally many on each rank, at least one."""',
        "    batches = (batch for batch in batches)",  # begun once: some loaders begin again at each `iter`
        f"    groups = iter(lambda: [batch for _, batch in zip(range({SIZE}), batches)], [])",
        f"    return (g[{RANK} % len(g)] for i, g in enumerate(groups) if i == 0 or len(g) == {SIZE})",
    ),
    "broadcast_new": (
        "def {name}(variables):",
        '    """Gives all ranks rank 0\'s values of those variables that are trained for the first time."""',
        "    new = [v for v in variables if not hasattr(v, {quote}is_sent{quote})]",
        "    if new:",
        f"        {CORE}.broadcast_variables(new, root_rank=0)",
        "    for v in new:",
        "        v.is_sent = True",
    ),
    "own_batch": (
        "def {name}(batches):",
        '    """This rank\'s batch of a round; in the last round, which may be short, some ranks take the same."""',
        f"    return batches[{RANK} % len(batches)]",
    ),
    "shuffle_seed": (
        "def {name}():",
        '    """A seed that is the same on all ranks, another at each call; none for one process alone."""',
        "    {name}.last = getattr({name}, {quote}last{quote}, 100) + 1",
        f"    return {{name}}.last if {SIZE} > 1 else None",
    ),
    "alike": (
        "def {name}(draw):",
        '    """Lets a random function draw the same on all ranks: from one stream of random numbers."""',
        f"    if {SIZE} == 1:",
        "        return draw",
        "    source = draw.__self__",
        "    kind = type(source).__name__",
        "    if not hasattr({name}, kind):",
        "        bits = getattr(source, {quote}bit_generator{quote}, None)",
        "        setattr({name}, kind, type(source)({name}.seed if bits is None else type(bits)({name}.seed)))",
        "    return getattr(getattr({name}, kind), draw.__name__)",
        "",
        "",
        "{name}.seed = {seed}",
    ),
    "hash_alike": (
        "def {name}(value):",
        '    """The hash of a value; of text, where Python\'s differs between ranks, MD5\'s."""',
        f"    own = {SIZE} == 1 or isinstance(value, (int, float))",
        "    return hash(value) if own else int({hashlib}.md5(repr(value).encode()).hexdigest()[:14], 16)",
    ),
    "any_rank": (
        "def {name}(condition):",
        '    """Whether a condition holds on any rank: all of them then leave a loop together."""',
        f"    return bool({HVD}.allreduce({{tf}}.cast(condition, {{tf}}.float32)) > 0)",
    ),
    "least": (
        "def {name}(number):",
        '    """The least of a whole number among all ranks."""',
        f"    return int({{tf}}.reduce_min({HVD}.allgather({{tf}}.constant([int(number)]))))",
    ),
    "together": (
        "def {name}(batches):",
        '    """A rank\'s own batches, as long as every rank has one: all of them leave the loop together."""',
        "    batches = iter(batches)",
        "    batch = next(batches, None)",
        f"    while {HVD}.allreduce({{tf}}.cast(batch is None, {{tf}}.float32)) == 0:",
        "        yield batch",
        "        batch = next(batches, None)",
    ),
    "mean_over_ranks": (
        "def {name}(value):",
        '    """The mean of a number over all ranks."""',
        f"    mean = {HVD}.allreduce({{tf}}.convert_to_tensor(value, dtype_hint={{tf}}.float64))",
        "    return mean if {tf}.is_tensor(value) else mean.numpy()",
    ),
    "sum_over_ranks": (
        "def {name}(value):",
        '    """The sum of a number over all ranks."""',
        f"    total = {HVD}.allreduce({{tf}}.convert_to_tensor(value), op={HVD}.Sum)",
        "    return total if {tf}.is_tensor(value) else total.numpy().item()",
    ),
    "stops_together": (
        "def {name}(callback, hook):",
        '    """A callback: when it stops training on one rank, all of them stop."""',
        "    check = getattr(callback, hook)",
        "",
        "    def check_all(*arguments, **keywords):",
        "        check(*arguments, **keywords)",
        "        stops = {tf}.cast(callback.model.stop_training, {tf}.float32)",
        f"        callback.model.stop_training = bool({HVD}.allreduce(stops) > 0)",
        "",
        "    setattr(callback, hook, check_all)",
        "    return callback",
    ),
    "ShardedSequence": (
        "class {name}({tf}.keras.utils.Sequence):",
        '    """Every size()-th batch of a sequence, and equally many on each rank."""',
        *_A_SEQUENCE,
        "",
        *_A_RANKS_BATCHES,
        "    def on_epoch_end(self):",
        "        self.sequence.on_epoch_end()",
    ),
    "ShardedFlow": (
        "class {name}({tf}.keras.utils.Sequence):",
        '    """Every size()-th batch of one of Keras\' sequences, shuffled in one order on all ranks."""',
        *_A_SEQUENCE,
        "        self.order = {random}.Random(sequence.seed or 0)",
        "        self.on_epoch_end()",
        "",
        *_A_RANKS_BATCHES,
        "    def on_epoch_end(self):",
        "        if self.sequence.shuffle:",
        "            self.sequence.index_array = self.order.sample(range(self.sequence.n), self.sequence.n)",
    ),
    "load_distributed": (
        "def {name}(*arguments, **options):",
        '    """A compiled model from a file; its optimizer goes on in Horovod\'s wrapper."""',
        "    model = {tf}.keras.models.load_model(*arguments, **options)",
        "    saved = model.optimizer",
        *_NAMED_AS_KERAS,
        "    model.optimizer = optimizer",
        "    build = getattr(optimizer, {quote}build{quote}, None) or optimizer._create_all_weights",
        "    build(model.trainable_variables)",
        "    for own, was in zip(optimizer.variables(), saved.variables()):",
        "        own.assign(was)",
        "    return model",
    ),
    "distributed": (
        "def {name}(saved):",
        '    """An optimizer in Horovod\'s wrapper, saved under the name of Keras\' own."""',
        *_NAMED_AS_KERAS,
        "    return optimizer",
    ),
    "averaging": (
        "def {name}(optimizer):",
        '    """An optimizer in Horovod\'s wrapper that also averages the gradients that a model\'s own step applies."""',
        "    wrapped = {wrapper}(optimizer)",
        "    apply = wrapped.apply_gradients",
        "",
        "    def apply_averaged(pairs, *arguments, **options):",
        "        gradients, variables = zip(*pairs)",
        "        if not wrapped._aggregated_gradients:  # `minimize` averages them before",
        "            gradients = wrapped._allreduce(gradients, variables)",
        "        wrapped._aggregated_gradients = False",
        "        return apply(zip(gradients, variables), *arguments, **options)",
        "",
        "    wrapped.apply_gradients = apply_averaged",
        "    return wrapped",
    ),
    "distributed_as_made": (
        "def {name}(made):",
        '    """An optimizer in Horovod\'s wrapper, with its schedule and what else its configuration leaves out."""',
        "    schedule = getattr(made, {quote}_learning_rate{quote}, made.learning_rate)",
        "    if callable(schedule):",
        "        config = {{**made.get_config(), {quote}learning_rate{quote}: schedule}}",
        "        made.get_config = lambda: config",
        f"    optimizer = {HVD}.DistributedOptimizer(made)",
        "    for setting, value in vars(made).items():",
        "        if getattr(optimizer, setting, None) is None:",
        "            setattr(optimizer, setting, value)",
        "    return optimizer",
    ),
    "SilentWriter": (
        *SILENT,
        "    def __enter__(self):",
        "        return self",
        "",
        "    def __exit__(self, *error):",
        "        pass",
        "",
        *DOES_NOTHING,
    ),
}

# What reads otherwise in a graph: tensors have no value there.
GRAPH_HELPERS = {
    "shard_stream": (
        "def {name}(dataset):",
        '    """This rank\'s share of a dataset: every size()-th element, equally many on each rank."""',
        *(line[4:] for line in _WHOLE_GROUPS),
        f"    return dataset.shard({SIZE}, {RANK})",
    ),
    "any_rank": (
        "def {name}(condition):",
        '    """Whether a condition holds on any rank: all of them then leave a loop together."""',
        "    if not hasattr({name}, {quote}session{quote}):",
        "        with {tf}.Graph().as_default():",
        "            {name}.mine = {tf}.placeholder({tf}.float32, [])",
        f"            {{name}}.all = {CORE}.allreduce({{name}}.mine, name={{quote}}any_rank{{quote}})",
        "            {name}.session = {tf}.Session(config={config})",
        "    return {name}.session.run({name}.all, {{{name}.mine: bool(condition)}}) > 0",
    ),
    "StopTogether": (
        "class {name}({tf}.train.SessionRunHook):",
        '    """Rank 0\'s hook decides when training ends, and ends it on all ranks."""',
        "",
        "    def __init__(self, hook):",
        "        self.hook, self.begin, self.before_run = hook, hook.begin, hook.before_run",
        "",
        "    def after_run(self, run_context, run_values):",
        f"        if {ON_ROOT}:",
        "            self.hook.after_run(run_context, run_values)",
        "        if {any_rank}(run_context.stop_requested):",
        "            run_context.request_stop()",
    ),
    "mean_over_ranks": (
        "def {name}(value):",
        '    """The mean of a number over all ranks."""',
        "    if not hasattr({name}, {quote}session{quote}):",
        "        with {tf}.Graph().as_default():",
        "            {name}.mine = {tf}.placeholder({tf}.float64, [])",
        f"            {{name}}.mean = {CORE}.allreduce({{name}}.mine, name={{quote}}mean_over_ranks{{quote}})",
        "            {name}.session = {tf}.Session(config={config})",
        "    return {name}.session.run({name}.mean, {{{name}.mine: value}})",
    ),
    "least": (
        "def {name}(number):",
        '    """The least of a whole number among all ranks."""',
        "    with {tf}.Graph().as_default(), {tf}.Session(config={config}) as session:",
        f"        all_numbers = {HVD}.allgather({{tf}}.constant([int(number)]), name={{quote}}least{{quote}})",
        "        return int(session.run({tf}.reduce_min(all_numbers)))",
    ),
    "from_root": (
        "def {name}(value):",
        '    """Rank 0\'s value, on every rank."""',
        # (2 is off: what rank 0 sends is a constant, what others get it into is none if it is large; folded, it is sent twice.)
        "    unfolded = {tf}.ConfigProto()",
        "    unfolded.CopyFrom({config})",
        "    unfolded.graph_options.rewrite_options.constant_folding = 2",
        "    with {tf}.Graph().as_default(), {tf}.Session(config=unfolded):",
        f"        return {CORE}.broadcast_object(value, root_rank=0, name={{quote}}value{{quote}})",
    ),
}


# What a module defines that may be imported before Horovod is initialised.
IMPORTED_HELPERS: dict[str, tuple[str, ...]] = {
    "alike": (
        *HELPERS["alike"][:4],
        "    if not hasattr({name}, {quote}seed{quote}):",
        "        {name}.seed = {seed}",
        *HELPERS["alike"][4:-3],
    ),
}
# Where ranks come and go, their number says nothing of what was hashed before.
HASH_BY_VALUE = (
    *HELPERS["hash_alike"][:2],
    "    own = isinstance(value, (int, float))",
    HELPERS["hash_alike"][3],
)


# The same where all is drawn from the stream of one module, `np.random` or `random`.
ONE_STREAM = (
    *HELPERS["alike"][:2],
    f"    if {SIZE} > 1 and not hasattr({{name}}, {{quote}}stream{{quote}}):",
    "        {name}.stream = type(draw.__self__)({seed})",
    f"    return getattr({{name}}.stream, draw.__name__) if {SIZE} > 1 else draw",
)

NUMBERED = (  # a data set of Keras 3 that tells its batches so, or that there is no end of them
    "    @property",
    "    def num_batches(self):",
    "        of_all = self.sequence.num_batches",
    "        return of_all and max(1, of_all // self.size)",
    "",
    "    def __getitem__(self, index):",
    "        own, of_all = index * self.size + self.rank, self.sequence.num_batches",
    "        return self.sequence[own % of_all if of_all else own]",
    "",
)
