"""Whether the ranks together train on the rows that one process does, each on its share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from horovodize.verifying.check import Check
from horovodize.verifying.runs import Run
from horovodize.verifying.scalings import Scaling, drawn_length, span
from horovodize.verifying.tolerances import Passes, spread

_BY_PART = (
    "the rows are others each time (noise, changes at random, numbers of a rank's own): they are told apart by one of their "
    "arrays"
)
_NEW_ROWS = (
    "the rows are others each time (noise, changes at random, numbers of a rank's own): only their count is compared; whether "
    "ranks share some isn't seen"
)


def rows_are_divided(alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], sooner: bool) -> Check:
    name = "the rows are divided"
    had, has = alone[0].rows, run.rows
    if run.size == 1 or run.stopped:
        return Check(name, seen=run.size == 1)
    if not had or not has:
        return Check(name, seen=False, notes=("the rows of a step can't be seen in this script",))
    broken: list[str] = []
    notes: list[str] = []
    totals = [r.rows.total() for r in alone]
    ratio = has.total() / totals[0]
    by_chance = drawn_length(alone)
    least, most = span(totals, by_chance)
    length = False
    counts = [rank.rows.total() for rank in run.ranks]
    passes, first = Passes.of(alone[0].ranks[0]), run.ranks[0]
    # What is drawn with replacement, be it by a seed of the script's own, comes unequally often.
    # Another seed may leave out others of those that fill no batch.
    left = max((missed(had, other.rows) * totals[0] for other in alone[1:]), default=0.0)
    fixed = passes.fixed and left < passes.number * passes.batch
    strong = any(one.kind == "strong" for one in scaled)
    slack = passes.slack(run.size, len(first.batches), divided=not strong) + (left if fixed else 0)
    everything = abs(has.total() - run.size * totals[0]) <= run.size * slack
    alike = len({tuple(sorted(rank.rows)) for rank in run.ranks}) == 1
    whole = len(had) == passes.batch and passes.batches > 1  # each step takes all rows
    if alike and whole and not strong:
        broken.append("every step sees all rows on every rank, but steps and rate are those of batches")
    elif not strong and (told := _repeated(alone[0], run)):
        broken.append(told)
    elif fixed and ratio > 1 and everything:
        told = f"every rank trains on all rows: together {ratio:.2g} times those alone"
        (notes if strong and whole else broken).append(told)
    elif not fixed and strong and everything:
        notes.append(f"every rank draws as many rows as one process: together {ratio:.2g} times those alone")
    elif ratio < 1 and sooner:
        notes.append(f"stops sooner, as good as alone: after {ratio:.2g} times the rows")
    elif not least - slack <= has.total() <= most + slack:
        broken.append(f"all ranks together train on {ratio:.2g} times the rows")
        length = True
    elif has.total() > 10 * sum(has[row] for row in had):
        by_part = _by_a_part(alone, run, scaled, sooner)
        broken += by_part.broken
        notes += by_part.notes
    elif _drawn_afresh(alone[0], run):
        notes.append("other ranks than 0 draw rows of their own: only their number is compared")
    elif fixed and (lacking := _seldom(had, has)) * totals[0] > slack + max(0, has.total() - totals[0]):
        broken.append(f"{lacking:.0%} of the rows are seen by no rank, or by fewer than others")
    if not broken and not strong and (told := _in_one_pass(alone[0], run)):
        broken.append(told)
    apart = float(len(first.batches)) if strong else 0.0  # a row of each step may be left over
    if max(counts) - min(counts) > max(apart, spread(first.batches, passes.rounds)):
        broken.append(f"the ranks train on different numbers of rows: {', '.join(map(str, counts))}")
    if by_chance:
        seen = ", ".join(map(str, sorted(set(totals))))
        notes.append(
            f"how long it trains differs by seed ({seen} rows alone, here {has.total()}): compared roughly"
        )
    return Check(name, tuple(broken), tuple(notes), length=length)


def _repeated(alone: Run, run: Run) -> str:
    """Whether ranks train on batches that another rank has, too, so that they see fewer different ones than one process."""
    had, marks = alone.ranks[0].marks, [rank.marks for rank in run.ranks]
    has = [mark for own in marks for mark in own]
    if not had or not has:
        return ""
    ranks = Counter(mark for own in marks for mark in set(own))
    common = sum(ranks[mark] > 1 for mark in has) / len(has)
    fewer = len(ranks) / len(has) < 0.75 * len(set(had)) / len(had)
    told = f"{len(ranks):,} different ones of {len(has):,}, alone {len(set(had)):,} of {len(had):,}"
    return f"ranks train on the same batches: {told}" if fewer and common > 0.5 else ""


def _in_one_pass(alone: Run, run: Run) -> str:
    """Whether ranks share rows within a pass in which each row comes once alone."""
    first, size = alone.ranks[0], run.size
    batches = first.first_pass // size
    if not batches or not first.batches:
        return ""
    begun = [rank.begin(min(batches, rank.first_pass)) for rank in run.ranks]
    taken = sum(map(len, begun))
    twice = taken - len(set().union(*begun))
    # Shares that are filled up to equally many hold a row of another's, or a batch, where these are dealt.
    if twice <= size - 1 + Passes.of(first).batch:
        return ""
    return f"ranks train on the same rows: {twice:,} of the {taken:,} that they begin with, alone each comes once in a pass"


def _by_a_part(alone: Sequence[Run], run: Run, scaled: Sequence[Scaling], sooner: bool) -> Check:
    """What is known of rows that are others each time, with noise or changed at random: an array of theirs that stays the same,
    such as what they are to be taken for, tells them apart where no two rows have the same. (Classes don't: the shares of two
    ranks may well have the same ones, batch by batch.)"""
    found = []
    for number in range(run.parts):
        views, view = [one.of_part(number) for one in alone], run.of_part(number)
        had, has, passes = views[0].rows, view.rows, Passes.of(views[0].ranks[0])
        known = sum(has[row] for row in had) > 0.95 * has.total()
        if passes.fixed and len(had) > 2 * passes.batch and known:
            found.append(replace(rows_are_divided(views, view, scaled, sooner), notes=(_BY_PART,)))
    if found:  # an array may hold a rank's own numbers
        return min(found, key=lambda check: len(check.broken))
    return Check("the rows are divided", notes=(_NEW_ROWS,))


def _drawn_afresh(alone: Run, run: Run) -> bool:
    """Whether rows are drawn without end by a seed of the script's own, to which ranks add theirs: hardly a row comes twice (of
    20,000 numbers of 24 bits some do), rank 0 has those that come first alone, and each other rank has rows that neither it nor
    another had."""
    had, first = alone.rows, run.ranks[0].rows
    begin = set(list(had)[: len(first)])
    once = all(len(rows) >= 0.99 * rows.total() for rows in (had, run.rows))
    goes_on = len(begin & first.keys()) >= 0.95 * len(first)
    apart = (len(had.keys() & rank.rows.keys()) <= 0.01 * len(rank.rows) for rank in run.ranks[1:])
    return once and goes_on and all(apart)


def missed(wanted: Counter[str], found: Counter[str]) -> float:
    """The part of the rows that come less often than they should, of as many rows."""
    total, its = wanted.total(), found.total()
    return sum(max(0.0, count / total - found[row] / its) for row, count in wanted.items()) if its else 1.0


def _seldom(wanted: Counter[str], found: Counter[str]) -> float:
    """The same for all ranks together. Which rows come once more than others, in a pass that ends before its last row, follows
    from the order in which ranks go through theirs."""
    lacking = missed(wanted, found)
    if not lacking or found.keys() - wanted.keys() or max(wanted.values()) - min(wanted.values()) != 1:
        return lacking
    had, has = (sorted(rows.values(), reverse=True) for rows in (wanted, found))
    has += [0] * (len(had) - len(has))
    total, its = sum(had), sum(has)
    return sum(max(0.0, one / total - other / its) for one, other in zip(had, has, strict=True))
