"""How a helper is written into a file: the one of `helpers` that fits there, with the names that the file uses."""

from __future__ import annotations

import ast
import re

from horovodize.rules.drafting.draft import HVD, LINE, LOCAL_RANK, Draft
from horovodize.rules.drafting.heard_ends import heard_from_fit
from horovodize.rules.drafting.helpers import (
    DOES_NOTHING,
    GRAPH_HELPERS,
    HASH_BY_VALUE,
    HELPERS,
    IMPORTED_HELPERS,
    NUMBERED,
    ONE_STREAM,
    SILENT,
    STANDS_FOR,
)
from horovodize.rules.drafting.helpers_of_lists import LIST_HELPERS


def config_text(v1: str) -> str:
    """A config for sessions that use the GPU of their process. `v1`: what TensorFlow 1 is called."""
    options = f"{v1}.GPUOptions(allow_growth=True, visible_device_list=str({LOCAL_RANK}))"
    return f"{v1}.ConfigProto(gpu_options={options})"


def config_at(draft: Draft, place: ast.AST, used: ast.expr) -> str:
    """What a session is told at a place: the config that the head of the script makes. In a function of one of its modules
    all of it, where one line does for a config's lines in each of their heads. `used`: a use of TensorFlow 1."""
    name = draft.session_config(used)
    in_script = draft.module.scopes.root(place) is draft.module.tree
    return name if in_script or draft.syntax.function(place) is None else config_text(draft.v1(used))


def helper_lines(
    draft: Draft, purpose: str, name: str, tf: str, *, imported: bool = False, has_config: bool = True
) -> list[str]:
    """The lines that define a helper. `tf` is what TensorFlow (in a graph: TensorFlow 1) is called in the file;
    `imported`: that the file is a module of a script; `has_config`: that its head makes a config for sessions."""
    table = (GRAPH_HELPERS if draft.in_sessions and purpose in GRAPH_HELPERS else HELPERS | LIST_HELPERS) | (
        IMPORTED_HELPERS if imported else {}
    )
    lines = table["shard_finite" if purpose == "shard_dataset" and draft.all_finite else purpose]
    if purpose == "alike" and draft.stream["module"] and not draft.options.elastic:
        lines = ONE_STREAM
    if purpose == "hash_alike" and draft.options.elastic:
        lines = HASH_BY_VALUE
    if purpose == "SilentWriter" and not _may_be_entered(draft):
        lines = (*SILENT, *DOES_NOTHING)
    if purpose in ("ShardedSequence", "ShardedFlow") and draft.keras_3:
        lines = _as_py_dataset(draft, lines)
    lines = heard_from_fit(draft, purpose, lines)
    if purpose in ("AllRanksSchedule", "ScaledSchedule") and "distributed_as_made" in draft.helpers:
        lines = (
            *lines,
            "",
            "    def get_config(self):",
            "        return {{}}",
        )  # the schedule itself is handed on
    config = draft.config_to_make[0] if draft.config_to_make else "None"
    if draft.config_to_make and not has_config:
        config = config_text(draft.config_to_make[1])
    names = {
        "name": name,
        "wrapper": draft.helpers.get("distributed_as_made", f"{HVD}.DistributedOptimizer"),
        "any_rank": draft.helpers.get("any_rank", "any_rank"),
        "tf": tf,
        "quote": draft.document.quote,
        "config": config,
        "growth": draft.growth,
        "times_growth": f" * {draft.growth}" if draft.growth else "",
        "comment": STANDS_FOR if draft.options.comments else "",
    }
    return _said_beside(draft, [line.format(**names, **draft.stream) for line in lines])


def _said_beside(draft: Draft, lines: list[str]) -> list[str]:
    """What a helper is for, as a comment beside its first line, if that fits: a docstring is a line more (two in a class)."""
    if '"""' not in lines[1]:
        return lines
    said = lines[1].strip().strip('"')
    if len(f"{lines[0]}  # {said}") > LINE:
        return lines
    return [draft.said(lines[0], said), *(lines[2:] if lines[2] else lines[3:])]


def _as_py_dataset(draft: Draft, lines: tuple[str, ...]) -> tuple[str, ...]:
    """A sequence of Keras 3 also says how many workers read it, and may be told when an epoch begins."""
    workers = "sequence.workers, sequence.use_multiprocessing, sequence.max_queue_size"
    begins = lines.index("    def __init__(self, sequence):") + 1
    lines = (*lines[:begins], f"        super().__init__({workers})", *lines[begins:])
    named = {f.name for f in draft.syntax.every(ast.FunctionDef)}
    if "num_batches" in named:
        first = next(i for i, line in enumerate(lines) if "__len__" in line)
        last = next(i for i, line in enumerate(lines) if "on_epoch_end" in line)
        lines = (*lines[:first], *NUMBERED, *lines[last:])
    if "on_epoch_begin" not in named and "__getitem__" in named:
        return lines
    return (*lines, "", "    def on_epoch_begin(self):", "        self.sequence.on_epoch_begin()")


def _may_be_entered(draft: Draft) -> bool:
    """Whether some `with` may be given a writer: all are but those that call what other libraries have, no writer of theirs."""
    entered = [i.context_expr for w in draft.syntax.every(ast.With) for i in w.items]
    calls = [e for e in entered if isinstance(e, ast.Call) and not draft.values.callee(e)]
    if len(calls) < len(entered):
        return True
    names = [draft.names.of(e.func) or draft.names.last(e.func) or "" for e in calls]
    return any(not name or "writer" in name.lower() for name in names)


def mentions(text: str, name: str) -> bool:
    """Whether a text reads a name: not as that of an argument, `config=…`."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|=[^=])", text) is not None
