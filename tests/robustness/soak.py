"""A long day: changes by the thousand, with questions, saves, and files that change on disk between them. `make soak` makes
100,000 and says how the server's memory went; a test makes a few thousand."""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.robustness.buffer import Buffer
from tests.robustness.mutation import seeds, some_characters, without_a_line
from tests.robustness.wire import Wire, at, served

ROUND = 10  # changes of one document, after which its text is what it was
MIB = 1 << 20


@dataclass
class Course:
    """How a soak went: after so many changes, the server's resident memory in bytes; and seconds in all."""

    memory: list[tuple[int, int]] = field(default_factory=list)
    questions: int = 0
    seconds: float = 0.0

    @property
    def growth(self) -> float:
        """The memory of the last quarter to that of the second one, by their medians: the first one is for warming up."""
        sizes = [size for _, size in self.memory]
        quarter = len(sizes) // 4
        return statistics.median(sizes[-quarter:]) / statistics.median(sizes[quarter : 2 * quarter])

    def __str__(self) -> str:
        sizes = " ".join(f"{size / MIB:.1f}" for _, size in self.memory)
        asked = f"{self.memory[-1][0]:,} changes, {self.questions:,} questions, {self.seconds:,.0f} s"
        return f"{asked}; MiB: {sizes}; last quarter to second quarter: {self.growth:.3f}"


class _Day:
    """Somebody at work in a folder."""

    def __init__(self, wire: Wire, folder: Path, chance: random.Random) -> None:
        self.wire, self.folder, self.chance = wire, folder, chance
        self.course = Course()
        self.versions: dict[str, int] = {}
        texts = [text for text in seeds() if len(text) < 2500 and "\r" not in text]
        for number, text in enumerate(chance.sample(texts, 12)):
            (folder / f"script_{number}.py").write_text(text, newline="")
        self.paths = sorted(folder.glob("*.py"))
        wire.initialize(folder)
        wire.indexed()

    def change(self, path: Path) -> int:
        """Changes a document and takes the changes back; how many changes that were."""
        uri, text = path.as_uri(), path.read_bytes().decode()
        buffer, undone = Buffer(text), list[tuple[int, int, str]]()
        if uri not in self.versions or self.chance.random() < 0.1:
            if uri in self.versions:
                self.wire.close(uri)
            self.versions[uri] = 1
            self.wire.open(uri, text)
        for _ in range(ROUND // 2):
            start, end, new = _replacement(buffer.text, self._next(buffer.text))
            undone.append((start, start + len(new), buffer.text[start:end]))
            self._send(uri, buffer, start, end, new)
            self._ask(uri, buffer)
        for start, end, old in reversed(undone):
            self._send(uri, buffer, start, end, old)
        assert buffer.text == text
        self.wire.diagnostics(uri, self.versions[uri])
        return ROUND

    def _next(self, text: str) -> str:
        """Texts without carriage returns, so that an offset has a position."""
        lines = text.split("\n")
        at_line = self.chance.randrange(len(lines) + 1)
        lines[at_line:at_line] = [self.chance.choice(["", "# note", f"x{self.chance.randrange(10**6)} = 1"])]
        kinds = [
            lambda: "\n".join(lines),
            lambda: some_characters(text, self.chance).replace("\r", ""),
            lambda: without_a_line(text, self.chance),
        ]
        return self.chance.choice(kinds)()

    def _send(self, uri: str, buffer: Buffer, start: int, end: int, new: str) -> None:
        self.versions[uri] += 1
        self.wire.change(uri, self.versions[uri], buffer.replace_span(start, end, new))

    def _ask(self, uri: str, buffer: Buffer) -> None:
        """One of the questions that an editor asks, now and then."""
        place = buffer.position(self.chance.randrange(len(buffer.text) + 1))
        document = {"textDocument": {"uri": uri}}
        around = {"start": place, "end": place}
        context = {"diagnostics": []}
        questions: list[tuple[str, object]] = [
            ("textDocument/hover", at(uri, place["line"], place["character"])),
            ("textDocument/codeAction", {**document, "range": around, "context": context}),
            ("textDocument/codeLens", document),
            (
                "textDocument/inlayHint",
                {**document, "range": {"start": {"line": 0, "character": 0}, "end": place}},
            ),
            ("workspace/symbol", {"query": "fit"}),
            ("horovodize/workspaceSummary", {}),
            ("workspace/executeCommand", {"command": "horovodize.preview", "arguments": [uri]}),
        ]
        if self.chance.random() < 0.5:
            self.wire.result(*self.chance.choice(questions))
            self.course.questions += 1

    def files_change(self) -> None:
        """A file is saved, one appears, one goes."""
        path = self.chance.choice(self.paths)
        self.wire.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        other = self.folder / f"other_{self.chance.randrange(5)}.py"
        kind = 3 if other.exists() else 1
        if kind == 3:
            other.unlink()
        else:
            other.write_text(f"import tensorflow as tf\nx = {self.chance.random()}\n")
        self.wire.notify(
            "workspace/didChangeWatchedFiles", {"changes": [{"uri": other.as_uri(), "type": kind}]}
        )


def _replacement(old: str, new: str) -> tuple[int, int, str]:
    """The span to be replaced, and by what, to lead from one text to another."""
    start = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )
    tail = 0
    while tail < min(len(old), len(new)) - start and old[-tail - 1] == new[-tail - 1]:
        tail += 1
    return start, len(old) - tail, new[start : len(new) - tail]


def soak(wire: Wire, folder: Path, changes: int, told: Callable[[str], None] = lambda line: None) -> Course:
    """Makes so many changes. The server lives, logs no error, and is asked at the end whether all is as it was."""
    day = _Day(wire, folder, random.Random(changes))
    start, made, step = time.monotonic(), 0, max(changes // 40, ROUND)
    while made < changes:
        made += day.change(day.chance.choice(day.paths))
        if made % (5 * ROUND) == 0:
            day.files_change()
        if made % step < ROUND:
            day.course.memory.append((made, wire.resident()))
            told(f"{made:9,} changes  {wire.resident() / MIB:6.1f} MiB")
    day.course.seconds = time.monotonic() - start
    assert not wire.logged_errors, wire.logged_errors[0]
    for path in day.paths:
        if path.as_uri() in day.versions:
            (found,) = wire.result(
                "workspace/executeCommand", {"command": "horovodize.preview", "arguments": [path.as_uri()]}
            )[:1]
            assert found.get("oldText") in (None, path.read_bytes().decode())
    return day.course


def main() -> int:
    """Status 1 when memory grew by more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("changes", type=int, nargs="?", default=100_000)
    changes = parser.parse_args().changes
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "work"
        folder.mkdir()
        with served(env={"HOROVODIZE_CACHE_DIR": f"{temporary}/cache"}) as wire:
            course = soak(wire, folder, changes, lambda line: print(line, flush=True))
    print(course)
    return 0 if course.growth < 1.1 else 1


if __name__ == "__main__":
    sys.exit(main())
