"""Shuffles of datasets that ranks take their parts of: all in one order. Part of D1."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument, has_unpacking, position
from horovodize.rules.drafting.decisions import Agreed, How
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding, is_none
from horovodize.rules.rows import gone_through, pipeline_orders
from horovodize.rules.together import told_draws

_DRAWS = "tensorflow.random.uniform"  # draws by the seed that shuffles without one of their own go by
_GRAPH_SEEDS = ("tensorflow.compat.v1.set_random_seed", "tensorflow.compat.v1.random.set_random_seed")


def shuffle_alike(draft: Draft, place: ast.expr) -> None:
    """Seeds the shuffles of what is divided at `place`: of a pipeline, of those that a generator goes through."""
    for source in gone_through.behind(draft, place):
        _shuffle_alike(draft, source)


def _shuffle_alike(draft: Draft, place: ast.expr) -> None:
    for step in feeding(draft).pipelines.steps(place):
        _seed(draft, step, "shuffle", 1)
        _seed(draft, step, "rejection_resample", 3)
    for made in feeding(draft).pipelines.trail(place):
        for origin in draft.values.origins(made):
            if isinstance(origin.node, ast.Call):
                _seed_source(draft, origin.node)
    pipeline_orders.keep(draft, place)


def _seed(draft: Draft, call: ast.Call, method: str, position: int) -> None:
    """A shuffle before the division gets a seed: all ranks must divide the same order."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == method and argument(call, "seed", position) is None:
        _add_seed(draft, call)


def _seed_source(draft: Draft, call: ast.Call) -> None:
    """The sources that shuffle files or rows: by `seed`, by `shuffle_seed`, and tensorflow_datasets by its `ReadConfig`."""
    last, shuffle = draft.names.last(call.func), argument(call, "shuffle")
    if isinstance(shuffle, ast.Constant) and not shuffle.value:
        return
    if (last in ("list_files", "sample_from_datasets") and argument(call, "seed", 2) is None) or (
        last.endswith("_dataset_from_directory") and argument(call, "seed") is None
    ):
        _add_seed(draft, call)
    elif last == "timeseries_dataset_from_array" and shuffle is not None and argument(call, "seed") is None:
        _add_seed(draft, call)
    elif last in ("make_csv_dataset", "make_batched_features_dataset"):
        if argument(call, "shuffle_seed") is None:
            _add_seed(draft, call, "shuffle_seed={}")
    elif draft.names.of(call.func) == "tensorflow_datasets.load" and isinstance(call.func, ast.Attribute):
        files = argument(call, "shuffle_files", 4)
        off = is_none(files) or (isinstance(files, ast.Constant) and files.value is False)
        if not off and argument(call, "read_config", 8) is None:
            module = draft.module.text(call.func.value)
            _add_seed(draft, call, f"read_config={module}.ReadConfig(shuffle_seed={{}})")


def _add_seed(draft: Draft, call: ast.Call, seed: str = "seed={}") -> None:
    if has_unpacking(call) or draft.module.calls_of(*_GRAPH_SEEDS):
        return
    if draft.uniform.draws.is_seeded(_DRAWS, call):
        return
    if not draft.decide(call.func, Agreed("D1", How.SEED)):
        return
    why = "Every rank takes its part of the same order; unseeded, the parts would overlap and leave elements out."
    edit = draft.add_argument(call, seed.format(_own_seed(draft, call)))
    draft.change("D1", call, "Shuffle alike on all ranks", why, [edit])


def _own_seed(draft: Draft, call: ast.Call) -> str:
    """Another seed for each shuffle: two data sets of as many rows that are shuffled by one seed come in one order, so that
    what is paired at random would be the same pairs in each pass. Where a line shuffles again, another each time."""
    shuffles = (c for c in draft.sites.method_calls("shuffle") if position(c) < position(call))
    receivers = (c.func.value for c in shuffles if isinstance(c.func, ast.Attribute))
    before = [e for e in receivers if feeding(draft).pipelines.is_dataset(e)]
    return told_draws.own_seed(draft, call, len(before))
