"""M3 steps: a StopAtStepHook counts the steps of one rank.

What it does   `StopAtStepHook(last_step=n)` and `StopAtStepHook(num_steps=n)` become `n // hvd.size()`.
Why            Every step averages size() batches, so 1/size() of the steps see as many examples.
Before         hook = tf.train.StopAtStepHook(last_step=20000)
After          hook = tf.train.StopAtStepHook(last_step=20000 // hvd.size())
Leaves alone   Loops that end with their data. Steps counted by hand are divided by G4.
Source         Seed 2.6.1, `StopAtStepHook`. Errata: a count that may be small becomes `max(1, n // hvd.size())`; with 0 steps
               a session would still take one. `last_step` counts from the first run on: a checkpoint that was written with
               another number of ranks has counted other steps, which is said.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Fewer
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.numbers.shares import begins, change_count, counts_a_share, feeding, is_none
from horovodize.rules.resuming import restored_iterations
from horovodize.summary.feeding import Driver

_WHY = "Every step averages size() batches, so 1/size() of the steps see as many examples."


def apply(draft: Draft) -> None:
    if not begins(draft, "M3"):
        return
    for call in draft.syntax.calls:
        if draft.names.last(call.func) != "StopAtStepHook":
            continue
        for parameter, index in (("num_steps", 0), ("last_step", 1)):
            count = argument(call, parameter, index)
            if count is None or is_none(count) or counts_a_share(draft, count):
                continue
            if change_count(draft, "M3", count, why=_WHY):
                for driver in filter(_ends_with_session, feeding(draft).drivers):
                    draft.decide(driver.loop, Fewer("M3"))
                if parameter == "last_step" and restored_iterations.goes_on(draft):
                    draft.note("M3", count, restored_iterations.RESUMED)


def _ends_with_session(driver: Driver) -> bool:
    """`while not session.should_stop():`"""
    test = driver.loop.test if isinstance(driver.loop, ast.While) else None
    return test is not None and any(
        isinstance(n, ast.Attribute) and n.attr == "should_stop" for n in ast.walk(test)
    )


RULE = Rule("M3", "divide the steps of a stop hook", apply, __doc__ or "")
