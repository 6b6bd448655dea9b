"""What went wrong in a run, for its user: which rank failed first, with what, in which of their lines; equal failures once."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from horovodize.running.source_map import SourceMap
from horovodize.running.tracebacks import place, rewrite_traceback, user_lines

START = "Traceback (most recent call last):"
_CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
# What TensorFlow and Horovod log, and Python says when it ends: no part of an error's message.
_LOGGED = re.compile(
    r"^(?:\[?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] |\[\d+\]<std|WARNING:tensorflow:|terminate called|"
    r".*resource_tracker: |Exception ignored in)"
)
_QUOTES = re.compile(
    r"Detected at node|<stack traces|Node: |\d+ root error|Original stack|Traceback|Graph execution"
)
# What is said on a rank whose neighbour is gone.
_FOLLOWS = re.compile(
    r"Horovod has been shut down|HorovodInternalError|Connection (?:reset|closed) by peer|Connection closed|"
    r"Broken pipe|Read (?:error|timeout)|Socket closed|Timed out waiting|Application timeout caused pair closure|"
    r"background loop uncaught exception"
)
_HINTS = (
    (
        re.compile("^SIGKILL"),
        "on Linux this is mostly the kernel ending a process when memory runs out (`dmesg` says so): smaller batches, fewer "
        "ranks on this machine, or data that isn't read whole on each rank",
    ),
    (
        re.compile("^SIGSEGV"),
        "native code crashed: most often a library that was built for another TensorFlow; `horovodrun --check-build` shows "
        "what Horovod was built for",
    ),
    (re.compile("^SIGABRT"), "native code gave up; what the rank said last may tell why (--log keeps it)"),
    (re.compile("^SIGBUS"), "most often a full /dev/shm"),
    (
        re.compile(r"^FileNotFoundError|NotFoundError.*No such file"),
        "each rank reads its files itself: they have to be there on each host, under the same name",
    ),
    (
        re.compile(r"MemoryError|ResourceExhaustedError|OOM when allocating"),
        "each rank has memory of its own: {ranks} ranks on one machine need it {ranks} times",
    ),
    (
        re.compile(r"Tensor had (?:NaN|Inf)|has NaN|CheckNumerics"),
        "does it train alone? Then look at the learning rate, which is multiplied by the number of ranks: try --rate keep",
    ),
)


@dataclass(frozen=True)
class RankEnd:
    """How one rank ended.

    text     its last traceback, rewritten; "" where it left none
    error    the traceback's last exception, in one line; or what else is known of the end
    follows  it only fell because another one did
    where    the place in the user's files, as messages call it
    at       when, in seconds since 1970; None where nobody knows"""

    rank: int
    text: str
    error: str
    follows: bool
    where: str
    at: float | None

    @property
    def alike(self) -> tuple[str, str]:
        """What is equal for ranks that failed alike: numbers in messages may differ."""
        return re.sub(r"\d+", "0", self.text), re.sub(r"\d+", "0", self.error)


@dataclass(frozen=True)
class Failure:
    """Ranks that failed alike; `first` is how the one ended that stands for them."""

    ranks: Sequence[int]
    first: RankEnd
    hint: str = ""


@dataclass(frozen=True)
class Failures:
    """What failed, those that caused it first; and the ranks that only followed."""

    causes: Sequence[Failure]
    followed: Sequence[Failure]
    size: int

    def lines(self) -> list[str]:
        """For a terminal."""
        found: list[str] = []
        for number, failure in enumerate(self.causes):
            everybody = len(failure.ranks) == self.size
            who = named(failure.ranks)
            if everybody and self.size > 1:
                who = "both ranks" if self.size == 2 else f"all {self.size} ranks"
            if number:
                how = "failed, too"
            elif everybody:
                how = "failed alike" if self.size > 1 else "failed"
            else:
                how = "failed first" if len(failure.ranks) == 1 else "failed first, and alike"
            where = f" at {failure.first.where}" if failure.first.where else ""
            found.append(f"{who} {how}{where}: {failure.first.error}")
            if failure.first.text:
                found += ["", *(f"    {line}".rstrip() for line in failure.first.text.split("\n")), ""]
            if failure.hint:
                found.append(f"  what to do: {failure.hint}")
        for failure in self.followed:
            found.append(f"{named(failure.ranks)} then ended: {failure.first.error}")
        return found


def named(ranks: Sequence[int]) -> str:
    """ "rank 2", "ranks 0, 1 and 3", "ranks 0–7"."""
    ranks = sorted(ranks)
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]}–{ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def failures(
    output: Mapping[int, str],
    source_map: SourceMap,
    *,
    statuses: Mapping[int, int] | None = None,
    ended: Mapping[int, float] | None = None,
    full: bool = False,
) -> Failures:
    """What failed in a run. `output`: what each rank said. `statuses`: how ranks ended, where that is known (negative: by a
    signal); without it, a rank that left a traceback failed."""
    ends = []
    for rank, text in sorted(output.items()):
        status = statuses.get(rank) if statuses is not None else None
        if statuses is not None and status == 0:
            continue
        end = _end(rank, text, status, (ended or {}).get(rank), source_map, full)
        if end is not None:
            ends.append(end)
    if ends and all(end.follows for end in ends):  # nobody left who caused it: then those who say the most
        ends = [end if not end.text else _as_cause(end) for end in ends]
    causes = _grouped([end for end in ends if not end.follows], len(output))
    return Failures(causes, _grouped([end for end in ends if end.follows], len(output)), len(output))


def _as_cause(end: RankEnd) -> RankEnd:
    from dataclasses import replace

    return replace(end, follows=False)


def _end(
    rank: int, text: str, status: int | None, at: float | None, source_map: SourceMap, full: bool
) -> RankEnd | None:
    block = last_traceback(text)
    if block:
        error = _error(block)
        origins = user_lines(_last_of_chain(block), source_map)
        own = [origin for origin in origins if not origin.inserted] or origins
        where = place(own[-1]) if own else ""
        if own and own[-1].change is not None:
            where += f", in what rule {own[-1].change.rule} inserted"
        elif own and own[-1] is not origins[-1]:
            where += ", in what was inserted there"
        rewritten = rewrite_traceback(block, source_map, full=full)
        return RankEnd(rank, rewritten, error, _FOLLOWS.search(error) is not None, where, at)
    if status is None:
        return None
    if status in (-signal.SIGTERM, 128 + signal.SIGTERM, -signal.SIGINT):
        return RankEnd(rank, "", "it was ended with the others", True, "", at)
    if status < 0:
        number = signal.Signals(-status) if -status in set(signal.Signals) else None
        name = number.name if number is not None else f"signal {-status}"
        follows = number == signal.SIGABRT and _FOLLOWS.search(text[-3000:]) is not None
        return RankEnd(rank, "", f"{name} ended it", follows, "", at)
    last = next((line for line in reversed(text.split("\n")) if line.strip() and not _LOGGED.match(line)), "")
    said = f"; it said: {last.strip()}" if last else ""
    return RankEnd(rank, "", f"the script ended with exit status {status}{said}", False, "", at)


def _grouped(ends: Sequence[RankEnd], size: int) -> list[Failure]:
    groups: dict[tuple[str, str], list[RankEnd]] = {}
    for end in sorted(ends, key=lambda end: (end.at is None, end.at or 0.0, end.rank)):
        groups.setdefault(end.alike, []).append(end)
    found = []
    for group in groups.values():
        first = group[0]
        hint = next((text for pattern, text in _HINTS if pattern.search(first.error)), "")
        found.append(Failure([end.rank for end in group], first, hint.format(ranks=size)))
    return found


# ---------------------------------------------------------------------- reading


def last_traceback(text: str) -> str:
    """The last traceback in what a rank said, with those that it is chained to, and its message; "" where there is none."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line.rstrip() == START]
    if not starts:
        return ""
    begin = starts[-1]
    for earlier in reversed(starts[:-1]):
        if not _belongs(lines[earlier:begin]):
            break
        begin = earlier
    end = starts[-1] + 1
    while end < len(lines) and (lines[end].startswith(" ") or not lines[end].strip()):
        end += 1
    end += 1  # the exception's own line; its message may have more
    while end < len(lines) and not _LOGGED.match(lines[end]):
        end += 1
    return "\n".join(lines[begin:end]).rstrip()


def _belongs(lines: Sequence[str]) -> bool:
    """Whether a traceback, with what comes after it, goes on in the next one: chained to it, or quoted by TensorFlow."""
    between = [line for line in lines if line.strip()]
    if between[-1].strip() in _CHAINED:
        return True
    said = [line for line in between[1:] if not line.startswith(" ")]
    return bool(said) and "errors_impl." in said[0] and not any(_LOGGED.match(line) for line in said)


def _last_of_chain(block: str) -> str:
    """The last traceback of a chain, without what its message quotes of other stacks."""
    lines = block.split("\n")
    begin = max(i for i, line in enumerate(lines) if line.rstrip() == START)
    end = begin + 1
    while end < len(lines) and (lines[end].startswith(" ") or not lines[end].strip()):
        end += 1
    own = "\n".join(lines[begin:end])
    # TensorFlow's own quotation of the place says more: it is inside of what was called here.
    quoted = "\n".join(lines[end:])
    return (
        own if "in user code:" not in quoted and "defined at (most recent call last)" not in quoted else block
    )


def _error(block: str) -> str:
    """The exception of a traceback in one line."""
    lines = block.split("\n")
    begin = max(i for i, line in enumerate(lines) if line.rstrip() == START)
    at = begin + 1
    while at < len(lines) and (lines[at].startswith(" ") or not lines[at].strip()):
        at += 1
    if at >= len(lines):
        return "it failed"
    error = _short(lines[at].strip())
    # What it says may stand behind stacks that the message quotes.
    if error.endswith(":") or "defined at (most recent call last)" in error:
        kind = error.partition(":")[0]
        rest = lines[at + 1 :]
        own = [line.strip() for line in rest if re.match(rf"\s*(?:{re.escape(kind)}|[A-Z]\w*Error): ", line)]
        other = [
            line.strip()
            for line in rest
            if line.strip() and not line[0].isspace() and not _QUOTES.match(line)
        ]
        said = next(iter(own[-1:] + other), "")
        error = f"{kind}: {said.removeprefix(kind + ': ')}"
    return error


def _short(error: str) -> str:
    """An error without the modules that its class is in."""
    return re.sub(r"^(?:\w+\.)+(?=[A-Z_]\w*)", "", error)
