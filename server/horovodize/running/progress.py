"""How far training is, read from the bar that rank 0 draws: what Keras (`verbose=1`) and tqdm write over and over in one line.

Nothing in the script is watched for it, so only what a bar says is known: a step, of how many, and a loss. How many rows a step
has is not."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Keras 2: "12/100 [==>…] - ETA: 3s - loss: 0.5"; Keras 3: "12/100 ━━━━ 3s 40ms/step - loss: 0.5";
# tqdm: " 12%|█▏  | 12/100 [00:01<00:09, 9.9it/s, loss=0.5]"
_BAR = re.compile(r"(?:^|\|)\s*(?P<step>\d+)/(?P<total>\d+|Unknown)\s+(?=\[|[━╸╺]|- )")
_LOSS = re.compile(r"(?<![\w])loss[:=]\s*(?P<loss>[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf))(?=[\s,\]]|$)")
_EPOCH = re.compile(r"^Epoch (?P<epoch>\d+)/(?P<epochs>\d+)\s*$")
_MEASURED = 1.0  # seconds of an epoch, before which its speed says nothing


@dataclass(frozen=True)
class Bar:
    """`total` is 0 where the bar doesn't know it; `loss` is as it is written there, "" where it isn't: with Keras the mean over
    the epoch so far, on rank 0."""

    step: int
    total: int
    loss: str = ""


def read_bar(text: str) -> Bar | None:
    """The last bar in what was written of a line; None where it holds none."""
    parts = [part for part in re.split(r"[\r\b]+", _CODES.sub("", text)) if part.strip()]
    found = _BAR.search(parts[-1]) if parts else None
    if found is None:
        return None
    loss = _LOSS.search(parts[-1])
    total = found["total"]
    return Bar(
        int(found["step"]), int(total) if total.isdecimal() else 0, loss["loss"] if loss is not None else ""
    )


class Progress:
    """Follows the bars of rank 0. Times are in seconds, by any clock."""

    def __init__(self) -> None:
        self._epoch = self._epochs = 0
        self._began = 0.0  # when this epoch's header came
        self._whole: float | None = None  # how long the last epoch took, with what is done between epochs
        self._first: tuple[float, Bar] | None = None
        self._last: tuple[float, Bar] | None = None

    def line(self, text: str, now: float) -> None:
        """A whole line has come."""
        found = _EPOCH.match(text)
        if found is not None:
            epoch, epochs = int(found["epoch"]), int(found["epochs"])
            follows = (epoch, epochs) == (self._epoch + 1, self._epochs)
            self._whole = now - self._began if follows else None
            self._epoch, self._epochs, self._began = epoch, epochs, now
        self._first = self._last = None

    def part(self, text: str, now: float) -> str:
        """An unfinished line has grown: what to show, "" where it holds no bar."""
        bar = read_bar(text)
        if bar is None:
            return ""
        if self._first is None or bar.step < self._first[1].step or bar.total != self._first[1].total:
            self._first = (now, bar)
        self._last = (now, bar)
        return self._text(bar)

    def _text(self, bar: Bar) -> str:
        said = [f"step {bar.step:,}" + (f" of {bar.total:,}" if bar.total else "")]
        if self._epochs > 1:
            said[0] += f", epoch {self._epoch} of {self._epochs}"
        if bar.loss:
            said.append(f"loss {bar.loss}")
        speed = self._speed()
        if speed:
            said.append(f"{speed:.3g} steps a second")
            said += self._left(bar, speed)
        return " · ".join(said)

    def _speed(self) -> float:
        """Steps a second since this bar's first; 0 where it's too early to say."""
        if self._first is None or self._last is None:
            return 0.0
        seconds = self._last[0] - self._first[0]
        return (self._last[1].step - self._first[1].step) / seconds if seconds >= _MEASURED else 0.0

    def _left(self, bar: Bar, speed: float) -> list[str]:
        """Of all epochs only where one has been measured: what is done between them takes time, too."""
        if not bar.total:
            return []
        here = (bar.total - bar.step) / speed
        to_come = self._epochs - self._epoch
        if to_come <= 0:
            return [f"about {_duration(here)} left"]
        if self._whole is None:
            return [f"about {_duration(here)} left in this epoch"]
        return [f"about {_duration(here + to_come * self._whole)} left"]


def _duration(seconds: float) -> str:
    """ "12 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
