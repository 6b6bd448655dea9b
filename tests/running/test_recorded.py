"""What users read when scripts fail under the real Horovod: `record.py` recorded what ranks said, `expected.txt` is what
becomes of it. HOROVODIZE_UPDATE=1 writes it anew; then look at it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from horovodize.running.failures import failures
from horovodize.running.source_map import SourceMap
from horovodize.running.stalls import Standstill, stalls, stands_of
from horovodize.running.tracebacks import rewrite_traceback

RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.name for path in RECORDED.iterdir())
# The line of the user's that each message has to name; "" where the process was gone silently.
PLACES = {
    "aborted": "", "chained": "chained.py:17", "ends_early": "", "in_callback": "in_callback.py:15",
    "in_generator": "in_generator.py:16", "in_pipeline": "in_pipeline.py:15",
    "in_session": "in_session.py:8", "inserted": "inserted.py:10",
    "killed": "", "missing_file": "missing_file.py:13", "not_a_number": "not_a_number.py:17",
    "out_of_memory": "out_of_memory.py:14", "project": "steps.py:5", "raised_in_function": "raised_in_function.py:15",
    "same_everywhere": "same_everywhere.py:17", "shape_fit": "shape_fit.py:13", "shape_function": "shape_function.py:15",
    "stall_asleep": "stall_asleep.py:16", "stall_in_callback": "stall_in_callback.py:19",
    "stall_in_loop": "stall_in_loop.py:23",
}  # fmt: skip


class Recording:
    def __init__(self, name: str) -> None:
        self.name = name
        folder = RECORDED / name
        self.map = SourceMap.read(folder / "map.json")
        told = json.loads((folder / "result.json").read_text())
        self.ranks: int = told["ranks"]
        self.statuses = {int(rank): status for rank, status in told["statuses"].items()}
        self.ended = {int(rank): at for rank, at in told["ended"].items()}
        self.output = {rank: self._text(folder / f"rank-{rank}.txt") for rank in range(self.ranks)}
        self.stacks = {rank: self._text(folder / f"stack-{rank}.txt") for rank in range(self.ranks)}

    @staticmethod
    def _text(path: Path) -> str:
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def lines(self, *, full: bool = False) -> list[str]:
        stall = stalls(self.output, self.stacks, self.map)
        found = failures(self.output, self.map, statuses=self.statuses, ended=self.ended, full=full)
        if stall is None and self.name.startswith("stall"):  # Horovod said nothing: ranks were asked
            return Standstill(stands_of(self.stacks, self.map), self.ranks, 60).lines()
        return [*(stall.lines() if stall is not None else []), *found.lines()]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_user_reads(name: str) -> None:
    said = "\n".join(Recording(name).lines()) + "\n"
    expected = RECORDED / name / "expected.txt"
    if os.environ.get("HOROVODIZE_UPDATE"):
        expected.write_text(said, encoding="utf-8")
    assert said == expected.read_text(encoding="utf-8")


def test_every_recording_has_its_place_and_its_script() -> None:
    assert set(NAMES) == set(PLACES)
    failing = Path(__file__).parent / "failing"
    for name in NAMES:
        for file in Recording(name).map.files:
            folder = failing / "project" if name == "project" else failing
            assert (folder / file.source).read_text(encoding="utf-8") == file.original


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_the_users_line_is_named(name: str, place: str) -> None:
    lines = Recording(name).lines()
    assert place in "\n".join(lines[:3])
    folder = Path(__file__).parent / "failing"
    for line in lines:  # no path of what ran, nothing of what runs it
        assert "/tmp/run/" not in line
        assert "start.py" not in line
    if place:
        file, _, number = place.partition(":")
        script = next(folder.rglob(file))
        text = script.read_text().split("\n")[int(number) - 1].strip()
        assert any(text in line or line.strip().startswith(text[:20]) for line in lines), text


@pytest.mark.parametrize("name", [name for name in NAMES if PLACES[name] and not name.startswith("stall")])
def test_full_tracebacks_have_all_frames(name: str) -> None:
    recording = Recording(name)
    folded, full = recording.lines(), recording.lines(full=True)
    frames = sum("…" in line for line in folded)
    assert not any(line.strip().startswith("… ") for line in full)
    assert len(full) > len(folded) if frames else len(full) == len(folded)


def test_the_cause_comes_before_those_that_follow() -> None:
    lines = Recording("missing_file").lines()
    assert lines[0].startswith("rank 1 failed first at missing_file.py:13: FileNotFoundError")
    assert lines[-1] == "ranks 0 and 2 then ended: it was ended with the others"


def test_a_rank_that_lost_its_neighbour_is_no_cause() -> None:
    recording = Recording("missing_file")
    shut = (
        "Traceback (most recent call last):\n"
        '  File "/tmp/run/missing_file.py", line 47, in <module>\n'
        "    model.fit(rows)\n"
        "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception"
    )
    output = {**recording.output, 0: shut}
    found = failures(output, recording.map, statuses={0: 1, 1: 1, 2: -15}, ended={0: 0.0, 1: 1.0, 2: 1.1})
    assert [failure.ranks for failure in found.causes] == [[1]]
    assert [failure.ranks for failure in found.followed] == [[0], [2]]


def test_ranks_that_all_only_follow_are_shown() -> None:
    recording = Recording("missing_file")
    shut = 'Traceback (most recent call last):\n  File "/x.py", line 1, in f\nHorovodInternalError: Connection closed by peer'
    found = failures({0: shut, 1: shut}, recording.map, statuses={0: 1, 1: 1})
    assert [failure.ranks for failure in found.causes] == [[0, 1]]


def test_text_without_tracebacks_stays() -> None:
    text = 'step 1\n  File "notes.txt" was read\n\tloss 0.5 …\n\nTraceback of my own\n'
    assert rewrite_traceback(text, Recording("chained").map) == text
