"""What every distributed program must satisfy, as functions from reports of the probe to faults.

    I2 the same alone     I3 no stall, the same collectives     I4 the same variables     I5 one writer a file
    I6 rates scaled once  I7 work divided                       I10 as one process with the larger batch
    P3 events as often for the rows seen
    C6 only rank 0 speaks

The two that are about text (I1, I8) are in `text_contract`. Nothing here knows how a script was distributed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from horovodize.verifying.contract import comparable
from tests.training.comparing import (
    all_numbers,
    close,
    differences,
    distinct,
    kinds,
    lines,
    reads_alike,
    short,
    stable,
)
from tests.training.running import Outcome, Report


@dataclass(frozen=True)
class Fault:
    """An invariant that does not hold, and how that shows."""

    invariant: str
    message: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.message}"


@dataclass(frozen=True)
class Expectation:
    """What about a program can't be told from its reports.

    batch        examples in a batch, where the probe does not see them (arrays sliced by hand, generators)
    epochs       passes over the data, where the script does not call `fit`; 0 if that differs: as often as an example is seen
    work         "rows" (every example is seen by one rank, as often as before), "count" (only their number is divided:
                 drawn at random, endless), "steps" (steps × batch), "whole" (not divided, which the tool says: every rank
                 trains on as many examples as one process), "strong" (every step sees all rows, of which each rank takes its
                 part: steps, rates and weights are the original's)
    spare        examples that every further rank may train on fewer: each has to fill the memory first that it draws from
    dataset      which of the datasets that are iterated by hand is the one trained on, in order of first use
    rates        "all", "first" where metrics decide about later ones, "by step" where each step has one set for it: what one
                 process would have used after the same amount of work; "in step" where a step sets it for itself
    events       parts of lines that are printed where something happens every so many steps: the ranks print as many
    schedule     "compressed" (decay steps count what one process would have done), or "either"
    first_steps  steps that an optimizer takes before the first pass through the loop is over (no more than 3)
    drawn        the rows are drawn anew in each run, so that divided rows do not end with the original's weights either: the
                 program checks itself what it has learned
    files        the distributed program writes the same files (digits aside)
    unstable     what differs from run to run: regular expressions for lines printed and for names of metrics"""

    batch: int = 0
    epochs: int = 1
    work: str = "rows"
    spare: int = 0
    dataset: int = 0
    rates: str = "all"
    schedule: str = "compressed"
    first_steps: int = 1
    drawn: bool = False
    files: bool = True
    unstable: Sequence[str] = ()
    events: Sequence[str] = ()


def same_alone(original: Outcome, alone: Outcome, expected: Expectation) -> list[Fault]:
    """I2: in one process the distributed script prints, returns, writes and ends with what the original did."""
    if not original.complete:
        return [Fault("I2", f"the original does not train: {original.why()}")]
    if not alone.complete:
        return [Fault("I2", f"does not train in one process: {alone.why()}")]
    before, after = original.reports[0], alone.reports[0]
    faults = []
    for kind in ("fits", "batches", "evaluations"):
        had, has = (stable(report["losses"][kind], expected.unstable) for report in (before, after))
        if not close(had, has, 1e-5):
            faults.append(f"{kind} return {short(has)}, not {short(had)}")
    said, says = (lines(report["stdout"], expected.unstable) for report in (before, after))
    if len(said) != len(says) or not all(map(reads_alike, said, says)):
        pairs = zip(said, says, strict=False)
        changed = next((pair for pair in pairs if not reads_alike(*pair)), (said[-1:], says[-1:]))
        faults.append(f"prints {changed[1]!r}, not {changed[0]!r} ({len(says)} and {len(said)} lines)")
    if len(before["optimizers"]) != len(after["optimizers"]):
        faults.append(f"{len(after['optimizers'])} optimizers step, not {len(before['optimizers'])}")
    faults += differences(before, after, "kept", 1e-5)
    for number, (one, other) in enumerate(zip(before["optimizers"], after["optimizers"], strict=False)):
        for value in ("steps", "first_rate"):
            if not close(one[value], other[value], 1e-6):
                faults.append(f"optimizer {number}: {value} {other[value]}, not {one[value]}")
        for part in ("trained", "others", "optimizer"):
            faults += [
                f"optimizer {number}: {difference}"
                for difference in differences(one["at_end"], other["at_end"], part, 1e-5)
            ]
    if expected.files and kinds(original.files) != kinds(alone.files):
        faults.append(f"leaves {alone.files}, not {original.files}")
    return [Fault("I2", message) for message in faults]


def no_stall(run: Outcome) -> list[Fault]:
    """I3: every rank ends in time, and all ran the same collectives in the same order."""
    if not run.complete:
        return [Fault("I3", run.why())]
    first, *others = ([comparable(*entry) for entry in report["collectives"]] for report in run.reports)
    if not first:
        return [Fault("I3", "no collective ran: the ranks train on their own")]
    for rank, log in enumerate(others, start=1):
        if log != first:
            at = next(
                (i for i, pair in enumerate(zip(first, log, strict=False)) if pair[0] != pair[1]),
                min(len(first), len(log)),
            )
            return [
                Fault(
                    "I3", f"collective {at}: rank 0 ran {first[at : at + 1]}, rank {rank} {log[at : at + 1]}"
                )
            ]
    return []


def same_variables(run: Outcome, expected: Expectation) -> list[Fault]:
    """I4: after the first step and at the end all ranks hold the same variables, broadcast once, not with every step."""
    faults = []
    first, *others = run.reports
    if not any("broadcast" in kind for kind, _ in first["collectives"]):
        faults.append("nothing is ever broadcast")
    for report in others:
        for difference in differences(first, report, "kept", 1e-6):
            faults.append(f"at the end, rank {report['rank']}: {difference}")
    for number, mine in enumerate(first["optimizers"]):
        for report in others:
            if number >= len(report["optimizers"]):
                faults.append(f"optimizer {number} steps on rank 0 only")
                continue
            its = report["optimizers"][number]
            for moment, parts, one, other in _moments(mine, its, expected.first_steps):
                for part in parts:
                    for difference in differences(one, other, part, 1e-6):
                        faults.append(f"optimizer {number}, {moment}, rank {report['rank']}: {difference}")
        later = [
            b["broadcasts"] - a["broadcasts"]
            for a, b in zip(mine["trace"][1:], mine["trace"][2:], strict=False)
        ]
        if len(later) >= 4 and sum(count > 0 for count in later) > len(later) / 2:
            faults.append(
                f"optimizer {number}: broadcasts run with {sum(c > 0 for c in later)} of {len(later)} later steps"
            )
    return [Fault("I4", message) for message in faults]


def _moments(one: Report, other: Report, first: int) -> Iterator[tuple[str, tuple[str, ...], Report, Report]]:
    """When two ranks' optimizers must hold the same, and what: all after the first steps (in sessions of TensorFlow 1
    before them) and at the end; in between what is averaged (statistics are not)."""
    starts = one.get("at_start"), other.get("at_start")
    if all(starts):
        first = 0
        yield "before the first step", ("trained", "optimizer", "others"), *starts
    for step, pair in enumerate(zip(one["early"], other["early"], strict=False), start=1):
        if step == first:
            yield "after the first step", ("trained", "optimizer", "others"), *pair
        elif step > first:
            yield f"after step {step}", ("trained", "optimizer"), *pair
    yield "at the end", ("trained", "optimizer", "others"), one["at_end"], other["at_end"]


def one_writer(original: Outcome, run: Outcome, expected: Expectation) -> list[Fault]:
    """I5: no file is written by two ranks, all that the original wrote is written, and nothing went unseen."""
    faults = []
    for kind in ("files", "prefixes", "log_dirs"):
        writers: dict[str, list[int]] = {}
        for report in run.reports:
            for path in report["files"][kind]:
                writers.setdefault(path, []).append(report["rank"])
        faults += [f"{path} is written by ranks {ranks}" for path, ranks in writers.items() if len(ranks) > 1]
    files = {path for report in run.reports for path in report["files"]["files"]}
    starts = [path for report in run.reports for path in report["files"]["prefixes"]]
    starts += [f"{path}/events.out" for report in run.reports for path in report["files"]["log_dirs"]]
    unseen = [path for path in run.files if path not in files and not path.startswith(tuple(starts))]
    if unseen:
        faults.append(f"written, but the probe did not see by whom: {unseen}")
    if expected.files and kinds(original.files) != kinds(run.files):
        faults.append(f"the ranks together write {run.files}, the original {original.files}")
    return [Fault("I5", message) for message in faults]


def rates_scaled(original: Outcome, run: Outcome, expected: Expectation) -> list[Fault]:
    """I6: every optimizer's rate is the original's times the number of ranks, from the first step to the last; the
    original's where a step trains on no more rows than alone."""
    size = 1 if expected.work in ("strong", "whole") else run.size
    before = original.reports[0]["optimizers"]
    faults = []
    for report in run.reports:
        if len(report["optimizers"]) != len(before):
            faults.append(
                f"{len(report['optimizers'])} optimizers step on rank {report['rank']}, not {len(before)}"
            )
        for number, (one, other) in enumerate(zip(before, report["optimizers"], strict=False)):
            where = f"optimizer {number}, rank {report['rank']}"
            if not isclose(other["first_rate"], one["first_rate"] * size, rel_tol=1e-3):
                faults.append(
                    f"{where}: starts at {other['first_rate']:.6g}, not {size} × {one['first_rate']:.6g}"
                )
            elif expected.rates != "first":
                compare = _scheduled if one["schedule"] or "step" in expected.rates else _assigned
                faults += [
                    f"{where}: {message}" for message in compare(one["trace"], other["trace"], size, expected)
                ]
    return [Fault("I6", message) for message in faults]


def _assigned(
    before: list[dict[str, float]], after: list[dict[str, float]], size: int, expected: Expectation
) -> list[str]:
    """Rates kept in a variable: the same sequence of values, times size."""
    had, has = (distinct(point["rate"] for point in trace) for trace in (before, after))
    if close([rate * size for rate in had], has, 1e-3):
        return []
    return [f"rates {short(has)}, not {size} × {short(had)}"]


def _scheduled(
    before: list[dict[str, float]], after: list[dict[str, float]], size: int, expected: Expectation
) -> list[str]:
    """Rates of a schedule: at each step what one process would have used after the same amount of work, times size."""
    start, begun = before[0]["iteration"], after[0]["iteration"]  # not 0 where a checkpoint was restored
    late = int(expected.rates == "in step")  # a step's own rate is seen when the next one begins
    by_step = {int(point["iteration"] - start) - late: point["rate"] for point in before}

    def off(stretch: int) -> dict[str, float] | None:
        for point in after:
            step = (int(point["iteration"] - begun) - late) * stretch
            if step in by_step and not isclose(
                point["rate"], size * by_step[step], rel_tol=0.1, abs_tol=1e-9
            ):
                return {**point, "wanted": size * by_step[step]}
        return None

    wrong = off(size)
    if wrong and expected.schedule == "either":
        wrong = off(1)
    if wrong:
        return [
            f"at step {wrong['iteration']:.0f} the schedule gives {wrong['rate']:.6g}, not {wrong['wanted']:.6g}"
        ]
    return []


def work_divided(original: Outcome, run: Outcome, expected: Expectation) -> list[Fault]:
    """I7: all ranks together train on what one process trained on, within one batch per rank and epoch."""
    before = original.reports[0]
    if expected.work == "strong":
        return _as_many_steps(original, run)
    epochs, epochs_now = (_epochs(report, expected) for report in (before, run.reports[0]))
    if expected.work == "steps":
        steps = [sum(o["steps"] for o in report["optimizers"]) for report in (before, *run.reports)]
        one, all_ranks = steps[0] / epochs, sum(steps[1:]) / epochs_now
        allowed = run.size * len(before["optimizers"])
        if abs(one - all_ranks) > allowed:
            return [
                Fault("I7", f"{all_ranks:g} steps an epoch over all ranks, not about {one:g}: {steps[1:]}")
            ]
        return []
    rows, batches = _seen(before, expected)
    if not rows:
        return [Fault("I7", 'the probe saw no examples: say `work = "steps"`')]
    allowed = run.size * max(batches) + (run.size - 1) * expected.spare
    together: Counter[str] = Counter()
    for report in run.reports:
        together.update(_seen(report, expected)[0])
    one, all_ranks = rows.total() / epochs, together.total() / epochs_now
    wanted = one * run.size if expected.work == "whole" else one
    if abs(wanted - all_ranks) > allowed:
        return [Fault("I7", f"{all_ranks:g} examples an epoch over all ranks, not about {wanted:g}")]
    if expected.work == "rows":
        missed = sum(max(0.0, rows[row] / epochs - together[row] / epochs_now) for row in rows)
        if missed > allowed:
            return [Fault("I7", f"{missed:g} of {one:g} examples an epoch are seen by no rank, or by fewer")]
    return []


def events_as_often(original: Outcome, run: Outcome, expected: Expectation) -> list[Fault]:
    """P3: what happens every so many steps happens as often as alone, give or take one."""
    faults = []
    for event in expected.events:
        alone, together = (o.reports[0]["stdout"].count(event) for o in (original, run))
        if not alone:
            faults.append(f"{event!r} does not happen in the original")
        elif abs(alone - together) > 1 or not together:
            faults.append(f"{event!r} happens {together} times, not {alone}")
    return [Fault("P3", message) for message in faults]


def _as_many_steps(original: Outcome, run: Outcome) -> list[Fault]:
    """Every rank takes the steps that one process took."""
    before = [o["steps"] for o in original.reports[0]["optimizers"]]
    return [
        Fault("I7", f"rank {report['rank']} takes {steps} steps, not {before}")
        for report in run.reports
        if (steps := [o["steps"] for o in report["optimizers"]]) != before
    ]


def equivalent(references: Sequence[Outcome], run: Outcome, tolerance: float) -> list[Fault]:
    """I10: the ranks end where one process with the larger batch ends (one of the references does: data may be dealt out
    in turns or in blocks)."""
    complaints = []
    for reference in references:
        if not reference.complete:
            return [Fault("I10", f"the reference does not train: {reference.why()}")]
        one, other = reference.reports[0], run.reports[0]
        pairs = zip(one["optimizers"], other["optimizers"], strict=True)
        found = [
            d
            for first, second in pairs
            for d in differences(first["at_end"], second["at_end"], "trained", tolerance)
        ]
        if not one["optimizers"]:  # updated by hand
            found = differences(one, other, "kept", tolerance)
        if not found:
            return []
        complaints.append(found[0])
    return [Fault("I10", f"ends elsewhere than one process with the larger batch: {'; '.join(complaints)}")]


def stays_finite(original: Outcome, run: Outcome) -> list[Fault]:
    """I10: no rank ends with weights that are not numbers, where one process did not."""
    pairs = zip(original.reports[0]["optimizers"], run.reports[0]["optimizers"], strict=False)
    return [
        Fault("I10", f"optimizer {number}: variables end as not a number")
        for number, (one, other) in enumerate(pairs)
        if all_numbers(one["at_end"]) and not all_numbers(other["at_end"])
    ]


def only_rank_0_speaks(run: Outcome) -> list[Fault]:
    """C6: other ranks print nothing."""
    return [
        Fault("C6", f"rank {report['rank']} prints {report['stdout'][:200]!r}")
        for report in run.reports
        if report["rank"] and report["stdout"].strip()
    ]


def check_ranks(original: Outcome, run: Outcome, expected: Expectation) -> list[Fault]:
    """All that is asked of a run on several ranks (I3 to I7, C6, and of I10 that it stays finite)."""
    faults = no_stall(run)
    if not run.complete:
        return faults  # the rest can't be told
    faults += same_variables(run, expected)
    faults += one_writer(original, run, expected)
    faults += rates_scaled(original, run, expected)
    faults += work_divided(original, run, expected)
    faults += events_as_often(original, run, expected)
    faults += stays_finite(original, run)
    faults += only_rank_0_speaks(run)
    return faults


def _epochs(report: Report, expected: Expectation) -> int:
    """Passes over the data. What stops early may make fewer or more than the original did."""
    trained = sum(len(history.get("loss", ())) for history in report["losses"]["fits"])
    if trained or expected.epochs:
        return trained or expected.epochs
    return max(_seen(report, expected)[0].values(), default=1)


def _seen(report: Report, expected: Expectation) -> tuple[Counter[str], list[int]]:
    examples = report["examples"]["keras"]
    if not examples["rows"]:
        examples = report["examples"]["sessions"]
    if not examples["rows"]:
        datasets = report["examples"]["datasets"]
        if expected.dataset >= len(datasets):
            return Counter(), []
        examples = datasets[expected.dataset]
    return Counter(examples["rows"]), examples["batches"]
