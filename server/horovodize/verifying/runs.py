"""What one run came to: what the probe wrote on each rank, with what the judges ask of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any

from horovodize.verifying.left import Left, kind_of

SAME = 1e-4  # how far the weights of two runs of one process may end from each other: rounding
_SAYS = re.compile(r"\w[\w.]*(Error|Exception|Exit|Interrupt)\b")
TAIL = 0.1  # the part of the steps whose losses make the first and the final loss


@dataclass(frozen=True)
class Curve:
    """The loss of one set of variables: `losses` by step, `times` in seconds."""

    losses: Sequence[float]
    times: Sequence[float]

    @property
    def first(self) -> float:
        return mean(self.losses[: self._few])

    @property
    def last(self) -> float:
        return mean(self.losses[-self._few :])

    @property
    def noise(self) -> float:
        """How far `first` and `last` may be off by chance: from how the loss varies from one step to the next."""
        apart = [abs(b - a) for a, b in pairwise(self.losses)]
        return (
            mean(apart) / 1.13 / sqrt(self._few) if apart else 0.0
        )  # 1.13: mean distance of two draws, in deviations

    @property
    def mean_and_error(self) -> tuple[float, float]:
        """The mean over all steps, and how far it may be off by chance."""
        middle, count = mean(self.losses), len(self.losses)
        spread = sum((loss - middle) ** 2 for loss in self.losses) / max(1, count - 1)
        return middle, sqrt(spread / max(1, count))

    @property
    def _few(self) -> int:
        return max(1, int(len(self.losses) * TAIL))

    def smoothed(self, points: int) -> list[float]:
        """The loss at `points` equal parts of the way, each the mean over a tenth of the steps before it."""
        count = len(self.losses)
        found = []
        for point in range(1, points + 1):
            end = max(1, round(count * point / points))
            found.append(mean(self.losses[max(0, end - max(1, count // 10)) : end]))
        return found


@dataclass(frozen=True)
class Validated:
    """The rows that Keras' loops validate on: how often each, and how large the batches are."""

    rows: Counter[str]
    batches: Sequence[int]

    @property
    def is_even(self) -> bool:
        """Whether each row comes as often as each other, so that none is drawn."""
        return max(self.rows.values()) == min(self.rows.values())


@dataclass(frozen=True)
class Rank:
    """What the probe wrote on one rank."""

    report: dict[str, Any]

    @property
    def number(self) -> int:
        return int(self.report["rank"])

    @property
    def optimizers(self) -> list[dict[str, Any]]:
        """Those that have stepped, in the order of their first steps."""
        return list(self.report["optimizers"])

    @cached_property
    def steps(self) -> list[int]:
        return [optimizer["steps"] for optimizer in self.optimizers]

    @cached_property
    def curves(self) -> list[Curve]:
        pairs = zip(self.report["objectives"], self.report["times"], strict=False)
        return [Curve(losses, times) for losses, times in pairs]

    @cached_property
    def _place(self) -> dict[str, Any]:
        """Where rows are seen best: where training takes them, else the data set that was gone through most."""
        examples = self.report["examples"]
        nothing: dict[str, Any] = {"rows": {}, "batches": [], "marks": [], "fresh": []}
        trained = [
            examples.get("keras"),
            examples.get("sessions"),
            *examples.get("functions", ()),
            examples.get("eager"),
        ]
        found = max(
            (place for place in trained if place), key=lambda place: len(place["batches"]), default=nothing
        )
        if found["batches"]:
            return found
        return max(examples.get("datasets", ()), key=lambda place: len(place["batches"]), default=nothing)

    @property
    def parts(self) -> int:
        """Of how many arrays its rows are, where these can be told apart."""
        return len(self._place.get("parts", ()))

    def of_part(self, number: int) -> Rank:
        """As if its rows were of one array only."""
        return Rank({**self.report, "examples": {"eager": self._place["parts"][number]}})

    @property
    def rows(self) -> Counter[str]:
        """How often each row was trained on; empty where they can't be seen."""
        return Counter(self._place["rows"])

    @property
    def validated(self) -> Validated:
        place = self.report["examples"].get("validated") or {"rows": {}, "batches": []}
        return Validated(Counter(place["rows"]), place["batches"])

    @property
    def batches(self) -> list[int]:
        return list(self._place["batches"])

    @property
    def marks(self) -> list[str]:
        """One for each batch: batches of the same rows have the same. Empty where they can't be seen."""
        return list(self._place["marks"])

    @property
    def first_pass(self) -> int:
        """How many batches came before any row came again: all of a pass, where each row comes once in it."""
        pairs = enumerate(zip(self._place["fresh"], self.batches, strict=True))
        return next((at for at, (fresh, rows) in pairs if fresh < rows), len(self.batches))

    def begin(self, batches: int) -> set[str]:
        """The different rows of its first batches."""
        return set(list(self.rows)[: sum(self._place["fresh"][:batches])])

    @property
    def weights(self) -> list[list[float]]:
        """The trained variables at the end, a list for each optimizer (those kept, where none was seen)."""
        if self.optimizers:
            return [_values(optimizer["at_end"]["trained"]) for optimizer in self.optimizers]
        return [_values(self.report["kept"])] if self.report["kept"] else []

    def written(self, others: Container[str] = ()) -> tuple[dict[str, int], set[str]]:
        """How often each kind of file was written (names without numbers and what was drawn), and which files are this rank's
        copies: named by its number, one of `others` without it."""
        found: Counter[str] = Counter()
        copies = set()
        for path, times in self.report["files"].get("times", {}).items():
            if re.search(r"\.tmp|tempstate|_temp/", path):
                continue
            kind = kind_of(path)
            if kind not in others and any(kind_of(p) in others for p in _without_rank(path, self.number)):
                copies.add(path)
            else:
                found[kind] += times
        return dict(found), copies

    @property
    def training_seconds(self) -> float:
        """From the second to the last step: the first holds what is traced and built. 0 where steps are not seen."""
        begin, end = self.training
        return end - begin

    @property
    def training(self) -> tuple[float, float]:
        """When the second and the last step were, in seconds since 1970; the same where that is not seen."""
        times = max((curve.times for curve in self.curves), key=len, default=())
        clock = self.report["clock"]
        return (times[1] + clock, times[-1] + clock) if len(times) > 2 else (0.0, 0.0)


@dataclass(frozen=True)
class Run:
    """A run on `size` ranks: exit status, seconds, what it said, files that lay in its folder afterwards and had not before.

    stalled        it was ended at its time limit, or by Horovod because a rank waited in vain
    communication  seconds of the training in which a collective was under way, or waited for, on rank 0
    left           what these files hold"""

    size: int
    ranks: list[Rank]
    status: int
    seconds: float
    output: str
    files: list[str] = field(default_factory=list)
    stalled: bool = False
    communication: float | None = (
        None  # seconds in which a collective was under way, or waited for, on rank 0
    )
    left: Left = field(default_factory=Left)

    @property
    def complete(self) -> bool:
        return (
            self.status == 0
            and len(self.ranks) == self.size
            and not any(r.report["error"] for r in self.ranks)
        )

    @property
    def stopped(self) -> bool:
        """Whether it was ended after a number of steps that was asked for."""
        return any(rank.report["stopped"] for rank in self.ranks)

    @cached_property
    def rows(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for rank in self.ranks:
            found.update(rank.rows)
        return found

    @property
    def parts(self) -> int:
        """Of how many arrays the rows of every rank are."""
        return min((rank.parts for rank in self.ranks), default=0)

    def of_part(self, number: int) -> Run:
        """As if rows were of one array only."""
        return replace(self, ranks=[rank.of_part(number) for rank in self.ranks])

    def written_unseen(self) -> list[str]:
        """The files in its folder that no rank was seen to write: another program did, which ranks have started."""
        written = [
            rank.report["files"].get(kind, ())
            for rank in self.ranks
            for kind in ("files", "prefixes", "log_dirs")
        ]
        seen = tuple(path for paths in written for path in paths)
        return [path for path in self.files if not path.startswith(seen) and "__pycache__" not in path]

    @property
    def outside(self) -> set[str]:
        """The paths that were written to outside the folder that it ran in."""
        return {path for rank in self.ranks for path in rank.report["files"].get("outside", ())}

    @property
    def curves(self) -> list[Curve]:
        """The losses: the mean over the ranks."""
        every = [rank.curves for rank in self.ranks]
        found = []
        for of_ranks in zip(*every, strict=False):
            losses = [mean(column) for column in zip(*(c.losses for c in of_ranks), strict=False)]
            found.append(Curve(losses, of_ranks[0].times))
        return found

    def why(self) -> str:
        """What went wrong, in a line or a few."""
        errors = [rank.report["error"] for rank in self.ranks if rank.report["error"]]
        own = [e for e in errors if "HorovodInternalError" not in e and "shut down" not in e]
        if self.stalled and not own and not self._waited_in_vain:
            return f"it doesn't end within the time limit{self._stood()}: raise --limit, or end it sooner with --steps"
        if self.stalled and not own:
            return f"it stalls: a rank waits for another that never comes to the same collective{self._standing()}"
        if own or errors:
            told = (own or errors)[0]
            return f"it fails{_place(told) if self.size == 1 else ''}: {_last_line(told)}"
        said = [line for line in self.output.strip().splitlines() if line.strip()]
        return f"it ends with status {self.status}" + (f": {said[-1][:200]}" if said else "")

    @property
    def _waited_in_vain(self) -> bool:
        """Whether Horovod told that ranks wait for others, which it does well within the time limit."""
        return tells_of_stall(self.output)

    def _stood(self) -> str:
        """Where it stood then, as the probe's timer shows it: innermost first."""
        _, _, shown = self.output.partition("Timeout (")
        frames = [] if not shown else _frames(shown)
        return _told_place(frames[0]) if frames else ""

    def _standing(self) -> str:
        lines = re.findall(r"(?:Missing|Stalled) ranks:\s*.*|\[.*\] \[ready ranks: .*\]", self.output)
        return f" ({' '.join(lines[0].split())[:160]})" if lines else ""


def tells_of_stall(output: str) -> bool:
    """Whether Horovod tells in what a run printed that ranks wait for others."""
    return "Missing ranks:" in output or "Stalled ranks" in output


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else float("nan")


def repeats(one: Run, other: Run) -> bool:
    """Whether two runs of the same script with the same seed end with the same weights, as far as arithmetic goes."""
    pairs = zip(one.ranks[0].weights, other.ranks[0].weights, strict=False)
    return all(distance(a, b) <= SAME for a, b in pairs)


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        return float("inf")
    length = sum(a * a for a in one) ** 0.5
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 / max(length, 1e-9))


def _without_rank(path: str, rank: int) -> list[str]:
    """A path without the rank's number, for each place that may be it: "backup-1/log" was "backup/log"."""
    places = re.finditer(rf"[-_.]?(?:rank[-_.]?)?(?<!\d){rank}(?!\d)", path)
    cut = (path[: place.start()] + path[place.end() :] for place in places)
    return [re.sub(r"/{2,}", "/", rest).lstrip("/") for rest in cut]


def _values(variables: Sequence[dict[str, Any]]) -> list[float]:
    return [value for variable in variables for value in variable["values"]]


def _frames(text: str) -> list[tuple[str, str]]:
    """The files, and lines in them, of the script and its modules in a traceback."""
    found = re.findall(r'File "([^"]+)", line (\d+)', text)
    return [
        (path, line)
        for path, line in found
        if not re.search(r"/lib/python|-packages/|/verifying/probe/|^<", path)
    ]


def _told_place(frame: tuple[str, str]) -> str:
    path, line = frame
    return f" ({path.replace(chr(92), '/').rpartition('/')[2]}:{line})"


def _place(error: str) -> str:
    frames = _frames(error)
    return _told_place(frames[-1]) if frames else ""


def _last_line(error: str) -> str:
    """What an error says, in a line: what comes last; where AutoGraph puts it all behind "in user code:", within that."""
    lines = error.strip().splitlines()
    said = [line.strip() for line in lines if _SAYS.match(line)]
    if said and said[-1].endswith("in user code:"):
        said = [line.strip() for line in lines if _SAYS.match(line.lstrip())]
    return (said[-1] if said else lines[-1].strip())[:300]
