"""How long servers take to answer: after a change, after a start, a hover, a code action. And what they hold in memory.

Servers take turns, change by change, so that a busy moment of the machine meets all of them; medians are told."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.client import Client, memory
from tests.bench.places import Edit, edits, hover_position, loop_position
from tests.bench.scripts import training_script
from tests.bench.servers import Server, client_capabilities

_SLOW_TIME = 10.0  # seconds after which a server that is not instant need not repeat an edit
_TIME = 40.0  # the same of one that should be
_SLOW_STARTS = 3
_EDITORS_PAUSE = 0.3  # seconds: VS Code waits that long before it asks for a hover
_SLOW_LINES = 1500  # in longer files, servers that are not instant are asked for diagnostics only


@dataclass
class Times:
    """What was measured of one server in one file, in ms; the key of `changes` is the kind of edit."""

    changes: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    opened: list[float] = field(default_factory=list)  # didOpen to diagnostics, in a server that has started
    hover_at_once: list[float] = field(default_factory=list)  # after a change and its diagnostics
    hover: list[float] = field(default_factory=list)  # the same, as long after the change as editors wait
    hover_again: list[float] = field(default_factory=list)
    lens: list[float] = field(default_factory=list)  # after a change, at once
    actions: list[float] = field(default_factory=list)  # after a change, as a light bulb asks for them
    resolved: list[float] = field(
        default_factory=list
    )  # the edit of "Distribute with Horovod", which is the first that is asked for
    memory: float = 0.0  # MiB, at the end

    def change(self, what: str) -> float:
        return statistics.median(self.changes[what])


@dataclass
class Start:
    """From the start of the process, in ms."""

    initialized: list[float] = field(default_factory=list)  # `initialize` answered
    diagnosed: list[float] = field(default_factory=list)  # the first diagnostics of a document opened at once


class _Opened:
    """A document open in one server."""

    def __init__(self, client: Client, path: Path, text: str) -> None:
        self.client, self.uri, self.version = client, path.as_uri(), 1
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.opening, found = client.timed_diagnostics(
            "textDocument/didOpen", {"textDocument": item}, self.uri, 1
        )
        self.there = {"textDocument": {"uri": self.uri}}
        self.found = found

    def close(self) -> None:
        self.client.notify("textDocument/didClose", self.there)
        self.client.drain(0.2)  # diagnostics are taken back: not an answer to what comes next

    def change(self, edit: Edit, *, back: bool) -> float:
        """ms until the diagnostics are here."""
        self.version += 1
        identifier = {"uri": self.uri, "version": self.version}
        params = {"textDocument": identifier, "contentChanges": [edit.change(back=back)]}
        took, self.found = self.client.timed_diagnostics(
            "textDocument/didChange", params, self.uri, self.version
        )
        return took


@contextmanager
def _session(server: Server, folder: Path, cache: Path) -> Iterator[Client]:
    with Client(server.command, folder, cache) as client:
        client.initialize(client_capabilities(server))
        yield client


def answers(servers: Sequence[Server], lines: int, repetitions: int) -> dict[str, Times]:
    """Times of each server, by name, in a training script of so many lines."""
    text = training_script(lines)
    places = edits(text)
    times = {server.name: Times() for server in servers}
    with ExitStack() as stack:
        opened: dict[str, _Opened] = {}
        for server in servers:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            cache = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            path = folder / "train.py"
            path.write_text(text)
            client = stack.enter_context(_session(server, folder, cache))
            client.drain(0.5)  # whatever it does after a start
            opened[server.name] = _open_often(client, path, text, times[server.name], server, repetitions)
        for edit in places:
            trying = [s for s in servers if s.instant or edit is places[0]]
            _changes(trying, opened, edit, times, repetitions)
        for server in servers:
            if server.instant or lines < _SLOW_LINES:
                turns = repetitions if server.instant else 1
                _questions(opened[server.name], text, places[0], times[server.name], turns)
            times[server.name].memory = memory(opened[server.name].client.pid)
    return times


def _open_often(
    client: Client, path: Path, text: str, times: Times, server: Server, repetitions: int
) -> _Opened:
    document = _Opened(
        client, path, text
    )  # the first may have to load something: that is what a start is measured for
    for _ in range(min(repetitions, 5) if server.instant else 0):
        document.close()
        document = _Opened(client, path, text)
        times.opened.append(document.opening)
    if not times.opened:
        times.opened.append(document.opening)
    return document


def _changes(
    servers: Sequence[Server],
    opened: dict[str, _Opened],
    edit: Edit,
    times: dict[str, Times],
    repetitions: int,
) -> None:
    spent: dict[str, float] = defaultdict(float)
    for turn in range(repetitions):
        for server in servers:
            taken = times[server.name].changes[edit.what]
            if spent[server.name] > (_TIME if server.instant else _SLOW_TIME):
                continue
            for back in (False, True):
                took = opened[server.name].change(edit, back=back)
                if turn or not server.instant or repetitions == 1:  # the first of the fast ones: warming up
                    taken.append(took)
                spent[server.name] += took / 1000


def _questions(document: _Opened, text: str, edit: Edit, times: Times, repetitions: int) -> None:
    """A hover, code lenses, code actions and the edit of one, each the first after a change and its diagnostics."""
    client, can = document.client, document.client.capabilities
    hover = {**document.there, "position": hover_position(text)}
    loop = loop_position(text)
    end = time.perf_counter() + _TIME
    for turn in range(repetitions):
        if time.perf_counter() > end:
            break
        back = bool(turn % 2)
        if can.get("hoverProvider"):
            for pause, taken in ((0.0, times.hover_at_once), (_EDITORS_PAUSE, times.hover)):
                document.change(edit, back=back)
                client.drain(pause)
                taken.append(client.timed("textDocument/hover", hover)[0])
                back = not back
            times.hover_again.append(client.timed("textDocument/hover", hover)[0])
        if can.get("codeLensProvider"):
            document.change(edit, back=back)
            times.lens.append(client.timed("textDocument/codeLens", document.there)[0])
            back = not back
        if can.get("codeActionProvider"):
            document.change(edit, back=back)
            asked = {
                **document.there,
                "range": {"start": loop, "end": loop},
                "context": {"diagnostics": document.found[:1], "triggerKind": 2},
            }
            took, found = client.timed("textDocument/codeAction", asked)
            times.actions.append(took)
            ours = [action for action in found or () if action["title"].startswith("Distribute with Horovod")]
            if ours and "edit" not in ours[0]:
                took, resolved = client.timed("codeAction/resolve", ours[0])
                assert resolved["edit"], resolved
                times.resolved.append(took)
            back = not back
        if back is bool(turn % 2):  # an odd number of questions: the text is as it was
            document.change(edit, back=back)


def starts(servers: Sequence[Server], lines: int, repetitions: int) -> dict[str, Start]:
    """How long servers take to start, by name."""
    text = training_script(lines)
    found = {server.name: Start() for server in servers}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        path = Path(folder) / "train.py"
        path.write_text(text)
        for turn in range(repetitions + 1):
            for server in servers:
                if not server.instant and turn > _SLOW_STARTS:
                    continue
                with Client(server.command, Path(folder), Path(cache)) as client:
                    answered = client.initialize(client_capabilities(server))
                    _Opened(client, path, text)
                    diagnosed = (time.perf_counter() - client.started) * 1000
                if turn:  # the first one may compile its modules
                    found[server.name].initialized.append(answered)
                    found[server.name].diagnosed.append(diagnosed)
    return found
