"""What a `tf.train.Supervisor` writes by itself stays on rank 0. Part of M4.

Every rank's Supervisor is the chief of its own session. Without a directory it saves and writes nothing, and has neither a
`save_path` nor a `summary_writer`: on other ranks a silent one stands for that, where the program uses it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument, says_none
from horovodize.rules.beginning import graph_queues
from horovodize.rules.drafting.draft import ON_ROOT, Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.summary.pipeline_counts import is_endless_after

_WRITER, _DIRECTORIES = "summary_writer", ("logdir", "save_path")
_GUARDED = ("add_summary", "add_graph")  # statements that come under `if hvd.rank() == 0:`
_SUMMARY_OP, _SECONDS, _WRITER_AT = 8, 11, 17  # where these stand among a Supervisor's arguments
_SUMMARIES = ("tensorflow.compat.v1.summary.", "tensorflow.summary.")
_WHAT = "Give the other ranks' Supervisors a silent writer"
_WHY = "Without a directory they have no summary writer, and the program uses it."
_NO_DIRECTORY = "only rank 0's Supervisor has a directory, so this is None on other ranks; give the directory a name of its own"
_DRAWS = (
    "for each summary that it writes by itself rank 0's Supervisor takes a batch, so its data end before the others', which "
    "wait for it forever; make it with `summary_op=None`, and write summaries in the loop"
)


def apply(draft: Draft, made: ast.Call) -> None:
    """What only rank 0's Supervisor has, where one is made."""
    for read in _reads(draft, made, *_DIRECTORIES):
        if not _is_put_out(draft, read):
            draft.refuse("HVD006", read, _NO_DIRECTORY)
    own = argument(made, _WRITER, _WRITER_AT)
    used = [r for r in _reads(draft, made, _WRITER) if not _is_guarded(draft, r)]
    if used and own is None and draft.once(_WRITER, made):
        default = f"{draft.module.text(made.func)}.USE_DEFAULT"
        writer = f"{_WRITER}={default} if {ON_ROOT} else {draft.helper('SilentWriter')}()"
        draft.change("M4", made, _WHAT, _WHY, [draft.add_argument(made, writer)])
    if _sums_up(draft, made) and _data_end(draft):
        draft.refuse("HVD006", made, _DRAWS)


def _reads(draft: Draft, made: ast.Call, *names: str) -> Iterator[ast.Attribute]:
    for n in draft.syntax.every(ast.Attribute):
        if isinstance(n, ast.Attribute) and n.attr in names and made in draft.values.calls(n.value):
            yield n


def _is_put_out(draft: Draft, read: ast.Attribute) -> bool:
    """Whether a read is given to what comes under `if hvd.rank() == 0:`, `saver.save(session, supervisor.save_path)`."""
    calls = (a for a in draft.syntax.ancestors(read) if isinstance(a, ast.Call))
    return any(draft.facts.effects.output_calls.of(c) is not None for c in calls)


def _is_guarded(draft: Draft, read: ast.Attribute) -> bool:
    method = draft.syntax.parent[read]
    return isinstance(method, ast.Attribute) and method.attr in _GUARDED


def _sums_up(draft: Draft, made: ast.Call) -> bool:
    """Whether a Supervisor writes summaries by itself, every so many seconds."""
    directory, op = argument(made, "logdir", 7), argument(made, "summary_op", _SUMMARY_OP)
    seconds = argument(made, "save_summaries_secs", _SECONDS)
    if directory is None or says_none(directory) or (op is not None and says_none(op)):
        return False
    if isinstance(seconds, ast.Constant) and not seconds.value:
        return False
    ops = (n for n in draft.module.calls if n.startswith(_SUMMARIES) and "FileWriter" not in n)
    return op is not None or next(ops, None) is not None


def _data_end(draft: Draft) -> bool:
    """Whether what the graph draws its batches from may come to an end."""
    limits = [argument(q, "num_epochs", 1) for q in graph_queues.all_of(draft) if _is_source(draft, q)]
    if any(e is not None and not says_none(e) for e in limits):
        return True
    known = feeding(draft)
    return any(not is_endless_after(known.pipelines, feed, feed) for feed in known.graph_feeds)


def _is_source(draft: Draft, queue: ast.Call) -> bool:
    return draft.names.last(queue.func).endswith("input_producer")


__all__ = ["apply"]
