"""S5 steps: the steps of a session's loop are divided among the ranks, and each rank gets batches of its own.

What it does   `for step in range(n)` around `sess.run(train_op)` becomes `range(n // hvd.size())`; where the loop's variable
               selects the batch, and in loops over batches, rank r takes the batches r, r + size(), … A number of steps that
               is also what a sum of losses is divided by is divided where it is given its name. Of an object that deals out
               batches (`mnist.train.next_batch(100)`), all ranks draw the same batches, and each trains on its own of every
               size(). Datasets behind iterators are divided by D1.
Why            Every step averages size() batches, so an epoch is over after 1/size() of the steps. All ranks must take
               equally many: one that takes more waits for the others forever.
Before         for i in range(total_batch):
                   batch_x, batch_y = mnist.train.next_batch(batch_size)
                   sess.run(train_op, feed_dict={x: batch_x, y: batch_y})
After          for i in range(total_batch // hvd.size()):
                   batch_x, batch_y = [mnist.train.next_batch(batch_size) for _ in range(hvd.size())][hvd.rank()]
                   sess.run(train_op, feed_dict={x: batch_x, y: batch_y})
Leaves alone   The loop over epochs. Loops that only evaluate. Steps that come from a game, or that are fed by queues
               (`tf.train.shuffle_batch`): that is said.
Refuses        Training in threads (HVD006): they take turns differently on every rank, and ranks wait for each other's steps.
               Queues that the program fills with as many rows as each rank comes to by itself, if its loop goes by their
               number (HVD205).
Asks           As G4. Queues that give all ranks the same rows in the same order: unshuffled, by a seed that can't be seen, of
               one file; those that a thread of the program fills. Runs of what can't be seen, where a train op beside the
               others is run nowhere else.
Source         Beyond the seed, which divides no steps of a Session.
"""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.steps import Feed
from horovodize.python.syntax import Loop, argument
from horovodize.rules.beginning import graph_queues
from horovodize.rules.drafting.decisions import Agreed, How
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.loops.loop_steps import divide_loops
from horovodize.rules.numbers.shares import begins, feeding, is_none
from horovodize.rules.rows import graph_seeds
from horovodize.rules.scaling import strong

_SOURCES = ("string_input_producer", "slice_input_producer")
_UNDIVIDED = "this queue is not divided: every rank reads all of it, in an order of its own; give each rank its own files"
_WHY_QUEUES = "Ranks that take the same rows in the same order average what is the same already."
_TAKING = ("dequeue", "dequeue_many", "dequeue_up_to")
_MADE = ("FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue")
_FILLED = (
    "every rank fills this queue by itself: unless it draws its rows at random, by no seed, all ranks train on the same ones; "
    "let it go through `rows[hvd.rank()::hvd.size()]`"
)
_UNEQUAL = (
    "each rank puts another number of rows into this queue, and its loop goes by that number: a rank with fewer rows waits for "
    "more, which never come, and the others wait for it; let all ranks put in as many"
)
_WHAT_RUN = "Check whether this run trains"
_WHY_RUN = "Where it does, its loop has to be divided: each rank would take all of its steps, at a rate for size() batches."
_PERHAPS = (
    "it can't be seen what this runs, and a train op of this file is run nowhere else: if it trains, divide its loop and its "
    "batches among the ranks by hand, or run the train op by its name"
)
_SAME_ROWS = (
    "every rank reads the same rows here in the same order; give each its own, as `files[hvd.rank()::hvd.size()]`, or let "
    "the queue shuffle without a seed"
)


def apply(draft: Draft) -> None:
    divide_loops(draft)
    if not begins(draft, "S5"):
        return
    _unseen_datasets(draft)
    _unseen_runs(draft)
    _perhaps_training(draft)
    _queues(draft)
    _filled_by_hand(draft)


def _queues(draft: Draft) -> None:
    """Queues of TensorFlow 1: each rank fills its own. Where nothing is drawn there, all ranks get the same rows."""
    queues = graph_queues.all_of(draft)
    in_order = all(_is_in_order(draft, queue) for queue in queues)
    for queue in queues:
        if not in_order:
            graph_seeds.tell_queues_apart(draft, queues)  # by one seed, all ranks would shuffle alike
            draft.note("S5", queue, _UNDIVIDED)
        elif draft.names.last(queue.func) in _SOURCES or not any(
            draft.names.last(q.func) in _SOURCES for q in queues
        ):
            draft.ask("S5", queue, "Give every rank its own rows", _WHY_QUEUES, _SAME_ROWS)


def _filled_by_hand(draft: Draft) -> None:
    """Queues that a thread of the program fills: `self.x, self.y = queue.dequeue()`."""
    for call in draft.sites.method_calls(*_TAKING):
        assert isinstance(call.func, ast.Attribute)
        made = [c for c in draft.values.calls(call.func.value) if draft.names.last(c.func) in _MADE]
        feeds = {draft.facts.steps.of(run.call).feed for run in draft.sites.graph.trainings}
        if not made or not feeds & {Feed.BATCH, Feed.UNSEEN}:
            continue
        if _goes_by_what_was_put_in(draft):
            draft.refuse("HVD205", call, _UNEQUAL)
        elif any(
            draft.names.last(c.func) == "RandomShuffleQueue" and is_none(argument(c, "seed", 6)) for c in made
        ):
            draft.note("S5", call, _UNDIVIDED)
        else:
            draft.ask("S5", call, "Give every rank its own rows", _WHY_QUEUES, _FILLED)


def _goes_by_what_was_put_in(draft: Draft) -> bool:
    """Whether a loop that takes steps on what was put into a queue before it has as many turns as a rank's own rows say, which
    are more on some ranks: nor have these put in as many rows."""
    graph = draft.sites.graph
    puts = [c for c in graph.all_runs if any(_puts(draft, n) for n in graph.operations(graph.fetches(c)))]
    ways = (way for run in graph.trainings for way in draft.drive.ways(run.call))
    return any(
        draft.syntax.function(c) is draft.syntax.function(loop) and not draft.syntax.inside(c, loop)
        for loop in {loop for way in ways for f in way for loop in f.loops}
        for c in (puts if _has_turns_of_its_own(draft, loop) else ())
    )


def _has_turns_of_its_own(draft: Draft, loop: Loop) -> bool:
    if not isinstance(loop, ast.While):
        return False
    agreed, found = draft.decision(loop.test, Agreed), draft.uniform.reasons(loop.test)
    together = agreed is not None and agreed.how is How.TOGETHER
    return together or any(isinstance(r, Varies) and r.kind is Source.ROWS for r in found)


def _puts(draft: Draft, n: ast.AST) -> bool:
    return isinstance(n, ast.Call) and draft.names.last(n.func) in ("enqueue", "enqueue_many")


def _is_in_order(draft: Draft, queue: ast.Call) -> bool:
    """Whether a queue gives its items in the same order on all ranks: it draws none, or by a seed; or has one file."""
    last, seed = draft.names.last(queue.func), graph_queues.seed(draft, queue)
    if seed is not None and not graph_seeds.is_number(draft, seed):
        return True
    if last not in _SOURCES:
        return not last.startswith("shuffle")
    shuffle = argument(queue, "shuffle", 2)
    files = [o.node for o in draft.values.origins(queue.args[0])] if queue.args else []
    one = all(isinstance(n, ast.List) and len(n.elts) == 1 for n in files) and last == "string_input_producer"
    return (isinstance(shuffle, ast.Constant) and shuffle.value is False) or (bool(files) and one)


def _unseen_datasets(draft: Draft) -> None:
    """Datasets that another file makes stay whole."""
    known = feeding(draft)
    for iterated in known.graph_iterated:
        if not known.pipelines.is_dataset(iterated):
            draft.note(
                "S5",
                iterated,
                "this dataset is made in another file, so it is not divided: unless it is shuffled, every rank gets the same "
                "batches; divide it there with `shard(hvd.size(), hvd.rank())`",
            )


def _unseen_runs(draft: Draft) -> None:
    """Train ops that no session runs, as far as can be seen: their loop is not divided."""
    graph = draft.sites.graph
    if graph.train_ops and not graph.trainings and graph.sessions:
        strong.leave(draft, graph.train_ops)
        draft.note(
            "S5",
            next(c for c in draft.syntax.calls if c in graph.train_ops),
            "which session runs this can't be seen, so its loop is not divided: every rank trains on all of it, and all "
            "ranks must take equally many steps",
        )


def _perhaps_training(draft: Draft) -> None:
    """Asks about runs in loops that may be those of a train op which is run nowhere else, beside training that is seen: its
    rate grows with all others."""
    graph = draft.sites.graph
    if not graph.trainings:
        return
    fetched = {n for run in graph.all_runs for n in graph.operations(graph.fetches(run))}
    idle = graph.train_ops - fetched
    known = {run.call for run in graph.runs}
    for run in graph.all_runs if idle and idle < graph.train_ops else ():  # else known by their names alone
        loops = any(frame.loops for way in draft.drive.ways(run) for frame in way)
        if run not in known and loops and _may_be_any(draft, graph.fetches(run)):
            draft.ask("S5", run, _WHAT_RUN, _WHY_RUN, _PERHAPS)


def _may_be_any(draft: Draft, fetches: ast.expr) -> bool:
    """Whether it can't be seen what is fetched: a parameter that nobody passes, an item or a field of what is not made here."""
    parts = fetches.elts if isinstance(fetches, (ast.List, ast.Tuple)) else [fetches]
    nodes = [o.node for part in parts for o in draft.values.origins(part)]
    return any(
        isinstance(n, (ast.arg, ast.Name))
        or (
            isinstance(n, (ast.Attribute, ast.Subscript))
            and not (draft.names.of(n) or "").startswith("tensorflow.")
        )
        for n in nodes
    )


RULE = Rule("S5", "divide the steps of a session's loop among the ranks", apply, __doc__ or "")
