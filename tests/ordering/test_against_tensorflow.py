"""The model against TensorFlow: what it never allows is never seen, and what it calls a race can be shown, both ways."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from horovodize.ordering.model import Run, known
from tests.ordering.random_graphs import STARTS, as_json, as_numbers, in_order, random_run

Seen: TypeAlias = tuple[tuple[float | None, ...], tuple[float | None, ...]]
GRAPHS = 5_000
OPTIMIZED = 300  # of them, also after TensorFlow's optimizer has been over them
TIMES = 10  # runs of a graph whose order is free


@pytest.fixture(scope="module")
def python() -> str:
    found = os.environ.get("HOROVODIZE_TF_PYTHON")
    if not found:
        pytest.fail("HOROVODIZE_TF_PYTHON names no interpreter that has TensorFlow: run through make test")
    return found


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [random_run(seed) for seed in range(GRAPHS)]


def in_tensorflow(python: str, graphs: Sequence[dict[str, Any]], *, resource: bool = True) -> list[set[Seen]]:
    """What TensorFlow shows of each graph."""
    starts = {name: known(value) for name, value in STARTS.items()}
    done = subprocess.run(
        [python, str(Path(__file__).with_name("in_tensorflow.py"))],
        input=json.dumps({"resource": resource, "starts": starts, "graphs": graphs}),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [
        {(tuple(held), tuple(fetched)) for held, fetched in outcomes} for outcomes in json.loads(done.stdout)
    ]


def allowed(run: Run) -> set[Seen]:
    return {as_numbers(outcome) for outcome in run.outcomes}


@pytest.mark.timeout(600)
def test_tensorflow_shows_nothing_that_the_model_excludes(python: str, runs: list[Run]) -> None:
    free = [as_json(run.ops.values(), run.fetches, TIMES) for run in runs]
    optimized = [as_json(run.ops.values(), run.fetches, 3, optimized=True) for run in runs[:OPTIMIZED]]
    seen = in_tensorflow(python, [*free, *optimized])
    for run, outcomes in zip([*runs, *runs[:OPTIMIZED]], seen, strict=True):
        assert outcomes <= allowed(run), run.ops
    # The comparison says something: many graphs may end differently, and some did here.
    assert sum(len(allowed(run)) > 1 for run in runs) > GRAPHS / 2
    assert sum(len(outcomes) > 1 for outcomes in seen) > GRAPHS / 100


@pytest.mark.timeout(600)
def test_tensorflow_shows_both_ends_of_every_race(python: str, runs: list[Run]) -> None:
    races = [(run, race) for run in runs for race in run.races]
    assert len(races) > GRAPHS
    graphs, wanted = [], list[Seen]()
    for run, race in races:
        for order, outcome in zip(race.orders, race.outcomes, strict=True):
            graphs.append(as_json(in_order(run, order), run.fetches, 1))
            wanted.append(as_numbers(outcome))
        assert wanted[-1] != wanted[-2]
    for outcomes, one in zip(in_tensorflow(python, graphs), wanted, strict=True):
        assert outcomes == {one}


def test_one_outcome_exactly_where_nothing_races(runs: list[Run]) -> None:
    for run in runs:
        assert (len(run.outcomes) == 1) == (not run.races)


def test_reference_variables_show_more(python: str, runs: list[Run]) -> None:
    """The model's limit, as its docstring has it: reads of reference variables see what is assigned after them."""
    some = runs[:300]
    seen = in_tensorflow(python, [as_json(run.ops.values(), run.fetches, 1) for run in some], resource=False)
    beyond = [run for run, outcomes in zip(some, seen, strict=True) if not outcomes <= allowed(run)]
    assert 0 < len(beyond) < len(some) / 2
    assert all(any(op.does.value == "read" for op in run.ops.values()) for run in beyond)
