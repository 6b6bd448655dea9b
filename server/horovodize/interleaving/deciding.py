"""Who decides a step's test or number of turns: all ranks alike, or each for itself."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.facts.facts import Facts
from horovodize.interleaving.actions import Action, Attempt, Change, Choice, Holds, Turns
from horovodize.interleaving.by_rank import ByRank
from horovodize.interleaving.numbered_loops import bounds, rank_counts
from horovodize.interleaving.own_answers import OwnAnswers, Taken


def taken_by(choice: Choice, answers: OwnAnswers) -> Taken:
    """Who decides a test whose answer isn't to be seen. Ranks on other hosts have other files: that counts where some of them
    would wait for the others. (What is loaded from a file of all hosts is the usual way to begin alike.)"""
    taken = answers.of_test(choice.test)
    if taken is Taken.ALIKE and answers.is_asked_again(choice.test):
        return Taken.OWN
    waits = taken is Taken.ALIKE and Holds.COLLECTIVE in choice.holds and not choice.free
    waits |= taken is Taken.ALIKE and choice.skips
    asks = answers.asks_whether_there if Holds.EQUALS in choice.holds else answers.depends_on_host
    return Taken.OWN if waits and asks(choice.test) else taken


def begins_horovod(facts: Facts, test: ast.expr, answer: bool) -> bool:
    """Whether Horovod is begun where a test is answered so: what is done there, several ranks do, whatever else decides."""
    around = facts.module.syntax.parent.get(test)
    if not isinstance(around, ast.If):
        return False
    arm = around.body if answer else around.orelse
    return any(facts.module.syntax.inside(start, part) for start in facts.horovod.starts for part in arm)


def is_set_apart(choice: Choice, everyone: Sequence[ByRank]) -> bool:
    """Whether what leads to a collective or out of a block is decided by something that some ranks alone have set again."""
    if not choice.holds & (Holds.COLLECTIVE | Holds.ENDS) or Holds.EQUALS in choice.holds:
        return False  # `if step == 1:`, before a broadcast: that is asked before anything is set
    known = [by_rank.set_by(choice.test) for by_rank in everyone]
    return any(one < other for one in known for other in known)


def may_differ(action: Action, everyone: Sequence[ByRank], answers: OwnAnswers) -> bool:
    """Whether ranks may go on differently from a step."""
    match action:
        case Choice(test=test):
            seen = {by_rank.truth(test) for by_rank in everyone}
            own = None in seen and (taken_by(action, answers) is Taken.OWN or is_set_apart(action, everyone))
            return len(seen) > 1 or own
        case Turns(loop=loop):
            counts = {rank_counts(by_rank, loop) for by_rank in everyone}
            if None not in counts:
                return len(counts) > 1
            bound = bounds(loop)
            settings = {by_rank.set_by(bound) for by_rank in everyone} if bound is not None else set()
            return len(settings) > 1 or answers.of_turns(loop) is Taken.OWN
        case Attempt(risk=risk):
            return risk is not None
        case Change(own=own):
            return own is not None
    return False
