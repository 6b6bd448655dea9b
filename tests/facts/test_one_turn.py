"""Loops for batches that take one turn: their batch holds all rows, so each step sees the same. A rate times size() would be
another training."""

from __future__ import annotations

import pytest

from horovodize.facts.feeds.steps import Feed

from .steps_of import SESSION, TAPE, step_of

ROUNDS = "for epoch in range(9):\n"
WHILE = ROUNDS + "    at = 0\n    while at {test}:\n        train_step({rows})\n        at += {step}\n"
SLICES = "X[at : at + 64], Y[at : at + 64]"


@pytest.mark.parametrize(
    "loop",
    [
        WHILE.format(test="< 64", rows=SLICES, step=64),
        WHILE.format(test="< len(X)", rows=SLICES, step=64),
        "n = X.shape[0]\n" + WHILE.format(test="< n", rows=SLICES, step=80),
        WHILE.format(test="* 64 < 64", rows="X[at * 64 : (at + 1) * 64], Y[at * 64 : (at + 1) * 64]", step=1),
        "one = X[np.newaxis]\n" + WHILE.format(test="< one.shape[0]", rows="one[at], Y", step=1),
        "both = [e[np.newaxis] for e in load()]\n"
        + WHILE.format(test="< both[0].shape[0]", rows="both[0][at : at + 1], Y", step=1),
        "one = np.expand_dims(load(), axis=0)\n" + WHILE.format(test="< len(one)", rows="one[at], Y", step=1),
        ROUNDS + "    for at in range(0, 64, 64):\n        train_step(X[at : at + 64], Y[at : at + 64])\n",
    ],
)
def test_the_only_turn_sees_all_rows(loop: str) -> None:
    assert step_of(TAPE + loop).feed is Feed.WHOLE


def test_a_session_that_is_fed_the_only_graph() -> None:
    program = SESSION + (
        "graphs = load()[np.newaxis]\nsize, n = 1, graphs.shape[0]\n"
        "for epoch in range(9):\n    i = 0\n    while i * size < n:\n"
        "        sess.run(train, {x: graphs[i * size : (i + 1) * size][0], y: y_all})\n        i += 1\n"
    )
    assert step_of(program).feed is Feed.WHOLE


@pytest.mark.parametrize(
    "loop",
    [
        WHILE.format(test="< 64", rows="X[at : at + 32], Y[at : at + 32]", step=32),  # two turns
        WHILE.format(test="< 65", rows=SLICES, step=64),
        WHILE.format(test="<= 64", rows=SLICES, step=64),
        WHILE.format(test="< number()", rows=SLICES, step=64),  # not seen
        "many = load()\n" + WHILE.format(test="< many.shape[0]", rows="many[at : at + 1], Y", step=1),
        "both = [e[:, np.newaxis] for e in load()]\n"
        + WHILE.format(test="< both[0].shape[0]", rows="both[0][at : at + 1], Y", step=1),
        "many = np.expand_dims(load(), 1)\n" + WHILE.format(test="< len(many)", rows="many[at], Y", step=1),
        "at = 0\n"
        + ROUNDS
        + "    while at < 64:\n        train_step(X[at : at + 64], Y)\n        at += size\n",
        ROUNDS + "    for at in range(0, 64, 32):\n        train_step(X[at : at + 32], Y[at : at + 32])\n",
        ROUNDS + "    for at in range(0, n, 64):\n        train_step(X[at : at + 64], Y[at : at + 64])\n",
    ],
)
def test_loops_that_may_take_more_turns_are_of_batches(loop: str) -> None:
    assert step_of(TAPE + loop).feed is Feed.BATCH
