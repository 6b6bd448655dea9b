"""How long servers take to answer: after a change, after a start, a hover, a code action. And what they hold in memory.

Servers take turns, change by change, so that a busy moment of the machine meets all of them; medians are told."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.client import Client, Message, cpu, memory
from tests.bench.places import Edit, edits, hover_position, loop_position
from tests.bench.scripts import training_script
from tests.bench.servers import Server, client_capabilities

_SLOW_TIME = 10.0  # seconds after which a server that is not instant need not repeat an edit
_TIME = 40.0  # the same of one that should be
_SLOW_STARTS = 3
_EDITORS_PAUSE = 0.3  # seconds: VS Code waits that long before it asks for a hover
_SLOW_LINES = 1500  # in longer files, servers that are not instant are asked for diagnostics only


@dataclass
class Taken:
    """How long one kind of question took, time by time, and how long the server's process computed for all of them, in ms."""

    times: list[float] = field(default_factory=list)
    computed: float = 0.0

    def add(self, client: Client, ask: Callable[[], float]) -> float:
        """Asks and notes how long that took."""
        before = cpu(client.pid)
        took = ask()
        self.computed += 1000 * (cpu(client.pid) - before)
        self.times.append(took)
        return took

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def own(self) -> float:
        """How long the server's process computed for one, on average."""
        return self.computed / len(self.times)


@dataclass
class Times:
    """What was measured of one server in one file, in ms; the key of `changes` is the kind of edit."""

    changes: dict[str, Taken] = field(default_factory=lambda: defaultdict(Taken))
    opened: Taken = field(default_factory=Taken)  # didOpen to diagnostics, in a server that has started
    hover_at_once: Taken = field(default_factory=Taken)  # after a change and its diagnostics
    hover: Taken = field(default_factory=Taken)  # the same, as long after the change as editors wait
    hover_again: Taken = field(default_factory=Taken)
    lens: Taken = field(default_factory=Taken)  # after a change, at once
    actions: Taken = field(default_factory=Taken)  # after a change, as a light bulb asks for them
    resolved: Taken = field(
        default_factory=Taken
    )  # the edit of "Distribute with Horovod", which is the first that is asked for
    memory: float = 0.0  # MiB, at the end

    def change(self, what: str) -> float:
        return self.changes[what].median


@dataclass
class Start:
    """From the start of the process, in ms."""

    initialized: list[float] = field(default_factory=list)  # `initialize` answered
    diagnosed: list[float] = field(default_factory=list)  # the first diagnostics of a document opened at once


class _Opened:
    """A document open in one server."""

    def __init__(self, client: Client, path: Path, text: str) -> None:
        self.client, self.uri, self.version, self._text = client, path.as_uri(), 0, text
        self.there = {"textDocument": {"uri": self.uri}}
        self.found: list[Message] = []

    def open(self) -> float:
        """ms until the diagnostics are here."""
        self.version = 1
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self._text}
        took, self.found = self.client.timed_diagnostics(
            "textDocument/didOpen", {"textDocument": item}, self.uri, 1
        )
        return took

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
            opened[server.name] = document = _Opened(client, path, text)
            document.open()  # may have to load something: that is what a start is measured for
        for edit in places:
            trying = [s for s in servers if s.instant or edit is places[0]]
            _changes(trying, opened, edit, times, repetitions)
        for server in servers:
            if server.instant or lines < _SLOW_LINES:
                turns = repetitions if server.instant else 1
                _questions(opened[server.name], text, places[0], times[server.name], turns)
            times[server.name].memory = memory(opened[server.name].client.pid)
        for _ in range(min(repetitions, 5)):
            for server in servers:
                if server.instant:
                    document = opened[server.name]
                    document.close()
                    times[server.name].opened.add(document.client, document.open)
    return times


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
                kept = (
                    taken if turn or not server.instant else Taken()
                )  # the first of the fast ones: warming up
                document = opened[server.name]
                took = kept.add(document.client, lambda: document.change(edit, back=back))  # noqa: B023 - called at once
                spent[server.name] += took / 1000


def _questions(document: _Opened, text: str, edit: Edit, times: Times, repetitions: int) -> None:
    """Hovers, code lenses, code actions and the edit of one, each the first after a change and its diagnostics."""
    client, can = document.client, document.client.capabilities
    hover = {**document.there, "position": hover_position(text)}
    loop = loop_position(text)
    backs = itertools.cycle((False, True))

    def change(pause: float) -> None:
        document.change(edit, back=next(backs))
        client.drain(pause)

    def ask(taken: Taken, method: str, params: object) -> Any:
        result = []

        def timed() -> float:
            took, found = client.timed(method, params)
            result.append(found)
            return took

        taken.add(client, timed)
        return result[0]

    end = time.perf_counter() + _TIME
    for _ in range(repetitions):
        if time.perf_counter() > end:
            break
        if can.get("hoverProvider"):
            change(0.0)
            ask(times.hover_at_once, "textDocument/hover", hover)
            change(_EDITORS_PAUSE)
            ask(times.hover, "textDocument/hover", hover)
            ask(times.hover_again, "textDocument/hover", hover)
        if can.get("codeLensProvider"):
            change(0.0)
            ask(times.lens, "textDocument/codeLens", document.there)
        if can.get("codeActionProvider"):
            wanted = {"start": loop, "end": loop}
            asked = {**document.there, "range": wanted, "context": {"diagnostics": [], "triggerKind": 2}}
            change(_EDITORS_PAUSE)
            ask(times.actions, "textDocument/codeAction", asked)
            change(0.0)
            found = client.request("textDocument/codeAction", asked) or ()
            ours = [action for action in found if action["title"].startswith("Distribute with Horovod")]
            if ours and "edit" not in ours[0]:
                assert ask(times.resolved, "codeAction/resolve", ours[0])["edit"]


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
                    _Opened(client, path, text).open()
                    diagnosed = (time.perf_counter() - client.started) * 1000
                if turn:  # the first one may compile its modules
                    found[server.name].initialized.append(answered)
                    found[server.name].diagnosed.append(diagnosed)
    return found
