"""What two or three runs of a script show, one beside the other: a stall, a race, weights that part."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, permutations

from horovodize.interleaving.actions import Change, Deed, Exit, Together, Touch
from horovodize.interleaving.execution import Decided, Did, Happened, Left, Run

_ENDING = "has nothing more to do with the others"
_LEAVING = frozenset(how.value for how in Exit)
_SENT = (
    "weights",
    "variable",
)  # how what a broadcast of variables sends begins: also "weights of the optimizer"
_LONG = 50  # characters of a test that are shown


class Trouble(Enum):
    """What goes wrong."""

    STALL = "stall"
    RACE = "race"
    DIVERGENCE = "divergence"


@dataclass(frozen=True)
class Moment:
    """One step of an interleaving: `where`, and what `rank` does there."""

    rank: int
    where: ast.AST
    what: str


@dataclass(frozen=True)
class Verdict:
    """Something that goes wrong at `where`, `with_` another place, and the steps that lead there."""

    trouble: Trouble
    where: ast.AST
    other: ast.AST | None
    moments: tuple[Moment, ...]
    detail: str = ""

    @property
    def what(self) -> object:
        """What makes two of them one: the decision that leads to a stall, what is downloaded, else the place."""
        first = self.moments[0]
        if self.trouble is Trouble.STALL:
            return first.where if not isinstance(first.where, ast.Pass) else self.where
        return self.detail if first.what.startswith(Deed.FETCH.value) else self.where


def partings(runs: Sequence[Run]) -> Iterator[Verdict]:
    """How these runs part: the first stall; without one, the first divergence."""
    through = _meetings(runs)
    stalls = list(_stall(runs, through))
    yield from stalls
    if not stalls:  # what a run that stands still would have sent later isn't seen
        yield from _divergence(runs, through)


# ---------------------------------------------------------------------- stalls


def _togethers(run: Run) -> list[tuple[int, Together]]:
    """The collectives of a run, with their places in it; none after a `join`, which takes part in all that come."""
    found: list[tuple[int, Together]] = []
    for i, happened in enumerate(run.happened):
        if isinstance(happened, Did) and isinstance(happened.action, Together):
            if happened.action.name == "join":
                break
            if happened.action.members is None or run.rank in happened.action.members:
                found.append((i, happened.action))
    return found


def _joins(run: Run) -> bool:
    return any(
        isinstance(h, Did) and isinstance(h.action, Together) and h.action.name == "join"
        for h in run.happened
    )


def _meetings(runs: Sequence[Run]) -> list[int]:
    """How many collectives each run comes through, as the others come to them in the same order."""
    lists = [[t for _, t in _togethers(run)] for run in runs]
    through = [0] * len(runs)
    while True:
        heads = [
            mine[number] if number < len(mine) else None for mine, number in zip(lists, through, strict=True)
        ]
        met = next((here for here in heads if here is not None and not _missing(here, heads)), None)
        if met is None:
            return through
        for rank in _ranks_of(met, heads):
            through[rank] += 1


def _ranks_of(here: Together, heads: Sequence[Together | None]) -> list[int]:
    """The ranks for which a collective waits."""
    return [rank for rank in range(len(heads)) if here.members is None or rank in here.members]


def _missing(here: Together, heads: Sequence[Together | None]) -> list[int]:
    """Those of them that are elsewhere."""
    alike = [t is not None and (t.name, t.members) == (here.name, here.members) for t in heads]
    return [rank for rank in _ranks_of(here, heads) if not alike[rank]]


def _stall(runs: Sequence[Run], through: Sequence[int]) -> Iterator[Verdict]:
    if any(run.failed or run.cut or _joins(run) for run in runs):
        return
    heads = [
        togethers[met][1] if len(togethers) > met else None
        for togethers, met in zip(map(_togethers, runs), through, strict=True)
    ]
    since = [list(_since(run, met)) for run, met in zip(runs, through, strict=True)]
    waits = [(rank, here, _missing(here, heads)) for rank, here in enumerate(heads) if here is not None]
    for rank, here, missing in waits:
        ended = next((runs[r] for r in missing if heads[r] is None), None)
        if ended is not None:
            moments = (*_with_end(since[ended.rank], _end_of(ended)), *since[rank], _waits(runs[rank], here))
            yield Verdict(Trouble.STALL, here.node, None, moments, f"rank {ended.rank} never comes")
            return
    for rank, here, missing in waits:
        for other in missing:
            there = heads[other]
            assert there is not None
            both = [(rank, here), (other, there)]
            both.sort(key=lambda pair: not since[pair[0]])  # who decided something comes first
            moments = tuple(m for r, action in both for m in (*since[r], _waits(runs[r], action)))
            yield Verdict(Trouble.STALL, both[0][1].node, both[1][1].node, moments, "")
            return


def _with_end(moments: Sequence[Moment], end: Moment) -> Sequence[Moment]:
    """Where a rank leaves a block and parts from the others in one place, that is one step."""
    if moments and moments[-1].where is end.where and moments[-1].what in _LEAVING:
        return (*moments[:-1], Moment(end.rank, end.where, f"{moments[-1].what}, {_ENDING}, and ends"))
    return (*moments, end)


def _since(run: Run, met: int) -> Iterator[Moment]:
    """What a rank decided for itself after the last collective that all came to, and before the next."""
    togethers = _togethers(run)
    start = togethers[met - 1][0] if met else -1
    end = togethers[met][0] if len(togethers) > met else len(run.happened)
    before, later = run.happened[: start + 1], run.happened[start + 1 : end]
    if not any(map(_leads, later)):  # a loop that was begun before it, or a step that was left out
        last = next((i for i in reversed(range(len(before))) if _leads(before[i])), len(before))
        later = [
            *before[last : last + 1],
            *(h for h in before[last + 1 : last + 2] if isinstance(h, Left)),
            *later,
        ]
    for happened in later:
        if isinstance(happened, Decided) and happened.leads:
            yield Moment(run.rank, happened.node, _decision(happened))
        elif isinstance(happened, Left) and happened.how is not Exit.RETURN:
            yield Moment(run.rank, happened.node, happened.how.value)


def _decision(decided: Decided) -> str:
    if isinstance(decided.node, (ast.For, ast.AsyncFor, ast.While)):
        return f"the loop has {decided.answer}"
    text = " ".join(ast.unparse(decided.node).split())
    text = text if len(text) <= _LONG else text[: _LONG - 1] + "…"
    return (
        f"runs into an exception in `{text}`"
        if decided.answer == "an exception"
        else f"`{text}` is {decided.answer}"
    )


def _last_of_others(run: Run) -> Happened | None:
    togethers = _togethers(run)
    met = togethers[-1][0] if togethers else -1
    later = run.happened[met + 1 :]
    if not later:
        return run.happened[met] if togethers else None
    decided = next((i for i, h in enumerate(later) if _leads(h)), None)
    if decided is None:
        return run.happened[met] if togethers else later[-1]
    left = next((h for h in later[decided:] if isinstance(h, Left)), None)
    return left or later[-1]


def _leads(happened: Happened) -> bool:
    return isinstance(happened, Decided) and happened.leads


def _waits(run: Run, action: Together) -> Moment:
    return Moment(run.rank, action.node, "waits here for the others")


def _end_of(run: Run) -> Moment:
    """Where a rank parts from the others: where it leaves a block by its last decision, or at its last collective."""
    last = _last_of_others(run)
    where: ast.AST = ast.Pass()
    if isinstance(last, Did):
        where = last.action.node
    elif last is not None:
        where = last.node
    return Moment(run.rank, where, f"{_ENDING} after this, and ends")


# ---------------------------------------------------------------------- races


@dataclass(frozen=True)
class _Touched:
    rank: int
    touch: Touch
    path: str
    before: frozenset[str]  # folders that this rank itself has made
    in_mode: bool


def races(runs: Sequence[Run]) -> Iterator[Verdict]:
    """Pairs of steps on one file, of two ranks between the same two collectives, whose order changes what happens."""
    segments: dict[int, list[_Touched]] = {}
    for run in runs:
        number, made, has = 0, set[str](), set[str]()
        for happened in run.happened:
            if not isinstance(happened, Did):
                continue
            match happened.action:
                case Together():
                    number += 1
                case Touch(deed=Deed.READ) if happened.path in has:
                    pass  # it has downloaded that itself before, or found it there
                case Touch(deed=deed) as touch:
                    if deed is Deed.FETCH:
                        has.add(happened.path)
                    touched = _Touched(run.rank, touch, happened.path, frozenset(made), happened.in_mode)
                    segments.setdefault(number, []).append(touched)
                    if deed in (Deed.MAKE, Deed.ENSURE):
                        made.add(happened.path)
    fetched: set[str] = set()  # before the last collective: it is there
    for _, all_touched in sorted(segments.items(), key=lambda item: item[0]):
        present = frozenset(fetched)
        fetched.update(t.path for t in all_touched if t.touch.deed is Deed.FETCH)
        for one, two in combinations(all_touched, 2):
            if one.rank == two.rank or one.path in present:
                continue
            if one.in_mode and two.in_mode and _do_the_same(all_touched, one, two):
                continue
            pair = (one, two) if _conflict(one, two) else (two, one) if _conflict(two, one) else None
            if pair is not None:
                yield Verdict(
                    Trouble.RACE,
                    pair[0].touch.node,
                    pair[1].touch.node,
                    tuple(Moment(t.rank, t.touch.node, f"{t.touch.deed.value} `{t.path}`") for t in pair),
                    pair[0].path,
                )


def _do_the_same(touched: Sequence[_Touched], one: _Touched, two: _Touched) -> bool:
    """Whether either of two ranks does what the other does."""
    done = {(t.rank, t.touch.node) for t in touched}
    return (one.rank, two.touch.node) in done and (two.rank, one.touch.node) in done


def _conflict(one: _Touched, two: _Touched) -> bool:
    """Whether the first disturbs the second."""
    first, second = one.touch.deed, two.touch.deed
    if one.path == two.path:
        if one.touch.node is two.touch.node and first is Deed.REMOVE:
            return one.touch.alone
        return (first, second) in _DISTURBING
    inside = two.path.startswith(one.path + "/")
    if first is Deed.UNPACK:
        return inside and second in (Deed.READ, Deed.LOOK)
    if first is Deed.REMOVE:
        return inside
    made = first in (Deed.MAKE, Deed.ENSURE) and second is Deed.WRITE and two.touch.needs_folder
    return inside and made and not any(two.path.startswith(f + "/") for f in two.before)


_DISTURBING = {
    (Deed.WRITE, Deed.WRITE),
    (Deed.WRITE, Deed.READ),
    (Deed.WRITE, Deed.LOOK),
    (Deed.MAKE, Deed.LOOK),
    (Deed.MAKE, Deed.MAKE),
    (Deed.MAKE, Deed.ENSURE),
    (Deed.FETCH, Deed.FETCH),
    (Deed.FETCH, Deed.READ),
    (Deed.UNPACK, Deed.UNPACK),
    (Deed.UNPACK, Deed.READ),
    (Deed.UNPACK, Deed.LOOK),
    (Deed.REMOVE, Deed.READ),
    (Deed.REMOVE, Deed.LOOK),
    (Deed.REMOVE, Deed.WRITE),
    (Deed.REMOVE, Deed.MAKE),
    (Deed.REMOVE, Deed.ENSURE),
    (Deed.REMOVE, Deed.REMOVE),
}


# ---------------------------------------------------------------------- divergence


def _divergence(runs: Sequence[Run], through: Sequence[int]) -> Iterator[Verdict]:
    """What a rank changed and another did not, before both trained on. Not where some ranks train without the others."""
    if any(t.members is not None for run in runs for _, t in _togethers(run)):
        return
    changed = [list(_changed(run, met)) for run, met in zip(runs, through, strict=True)]
    told: set[ast.AST] = set()
    for one, two in permutations(range(len(runs)), 2):
        last_sent = max((n for n, (_, t) in enumerate(changed[one]) if t.equals), default=-1)
        for number, ((mine, train), (theirs, _)) in enumerate(zip(changed[one], changed[two], strict=False)):
            alike = {t.node for t in theirs if t.own is None} | told
            own = [c for c in mine if c.node not in alike] if train.trains else []
            for change in own:
                if change.what.startswith(_SENT) and number < last_sent:
                    continue  # as Horovod's guide has it: one step, then the broadcast
                told.add(change.node)
                moments = (
                    *_own_decisions(runs[one], change),
                    Moment(runs[one].rank, change.node, f"changes the {change.what}"),
                    *_other_way(change, runs[two], train, theirs),
                )
                yield Verdict(Trouble.DIVERGENCE, change.node, train.node, moments, change.what)


def _other_way(change: Change, run: Run, train: Together, theirs: Sequence[Change]) -> Iterator[Moment]:
    """What another rank does meanwhile."""
    if any(c.node is change.node for c in theirs) and change.own is not None:
        text = " ".join(ast.unparse(change.own).split())
        yield Moment(run.rank, change.node, f"changes it, too, by a `{text}` of its own")
        yield Moment(run.rank, train.node, "trains on with that")
    else:
        yield Moment(run.rank, train.node, "trains on as before")


def _changed(run: Run, met: int) -> Iterator[tuple[list[Change], Together]]:
    """At each collective that all came to, what was changed since the last that made all ranks equal."""
    changes: list[Change] = []
    number = 0
    for happened in run.happened:
        if not isinstance(happened, Did):
            continue
        match happened.action:
            case Change() as change:
                changes.append(change)
            case Together(equals=equals) as together:
                if number >= met:
                    return
                number += 1
                if equals:
                    changes = [c for c in changes if not c.what.startswith(_SENT)]
                if together.name == "broadcast_optimizer_state":
                    changes = [c for c in changes if c.what == "weights"]
                yield list(changes), together


def _own_decisions(run: Run, change: Change) -> Iterator[Moment]:
    decided: list[Moment] = []
    for happened in run.happened:
        if isinstance(happened, Decided):
            decided.append(Moment(run.rank, happened.node, _decision(happened)))
        elif isinstance(happened, Did) and happened.action is change:
            break
    yield from decided[-1:]
