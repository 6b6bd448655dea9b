"""The index of the workspace. Processes of their own read its files; what they find is taken in while nothing else is to be
done, for a few milliseconds at a time, so that every message is answered at once. The client may show how far it is, and stop
it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import diagnostics
from horovodize.lsp.project_files import Folder
from horovodize.paths import is_below
from horovodize.source import Document

if TYPE_CHECKING:
    from horovodize.files import Exclude
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.lsp.progress import Work
    from horovodize.lsp.session import OpenDocument
    from horovodize.lsp.settings import Settings
    from horovodize.workspace import FileSummary, Index, Restriction
    from horovodize.workspace.index import Progress, Rules
    from horovodize.workspace.workers import Workers

_SLICE = 0.005  # seconds
_LOOK = 0.02  # seconds from one look at what other processes have found to the next
_REST = 30.0  # seconds without work, after which these processes end
_QUIET = 0.1  # seconds without a change
_TELLING = 1.0  # seconds between what the client is told while work goes on
_TOKEN = "horovodize/index"


def make_workers(folders: list[str]) -> Workers | None:
    """The processes that read the files of some folders; None where there can be none."""
    from horovodize.workspace.workers import Workers, how_many

    number = how_many()
    return Workers(folders, number) if number else None


class BackgroundIndex:
    """The index of one connection. Nothing of it is loaded before a folder is there to be read."""

    def __init__(self, server: HorovodizeServer) -> None:
        self._server = server
        self._index: Index | None = None
        self._steps: Iterator[Progress] | None = None
        self._rules: dict[str, tuple[Settings, Exclude]] = {}  # by folder
        self._token: str | None = None
        self._tokens = 0
        self._asked = False  # the client has not said yet whether it shows progress
        self._told = 0.0
        self._done = 0  # files, when the client was last told
        self.folders: list[Folder] = []

    # ------------------------------------------------------------------ what is known

    def summaries(self, folder: str) -> list[tuple[str, FileSummary]]:
        """The files of a folder that train or can't be read, by path, as far as they are known."""
        if self._index is None:
            return []
        return [
            (path, self._index.in_project(path, summary)) for path, summary in self._index.summaries(folder)
        ]

    def restrictions_in(self, path: str) -> list[Restriction]:
        """What is found in a file, by itself and together with the scripts that run it."""
        return self._index.restrictions_in(path) if self._index is not None else []

    def files(self) -> list[str]:
        """The files that something is known of."""
        found = (
            path
            for folder in self.folders
            for own, summary in self.summaries(folder.path)
            for path in (own, *(r.place.file for r in summary.restrictions if r.place.file))
        )
        return sorted(set(found))

    def holds(self, folder: str, opened: OpenDocument) -> bool:
        """Whether an open document belongs to a folder, and nothing leaves it out."""
        path = opened.path
        if self._index is None or path is None or not is_below(path, folder):
            return False
        if self._index.holds(path):
            return True
        if path.endswith(".py") and os.path.exists(path):
            return False  # something leaves it out
        return not self._rules_of(path).excluded

    def knows(self, path: str) -> bool:
        """Whether a file is one of the workspace's that count."""
        return self._index is not None and self._index.holds(path)

    def runners(self, path: str) -> list[str]:
        """The scripts that train and run a file, by path."""
        return self._index.runners(path) if self._index is not None else []

    def is_run_distributably(self, path: str) -> bool:
        """Whether a script that runs a file can be distributed, as far as is known."""
        from horovodize.workspace import State

        summaries = [self._index.summary(runner) for runner in self.runners(path)] if self._index else []
        return any(summary is not None and summary.state is State.DISTRIBUTABLE for summary in summaries)

    def may_run_others(self, path: str, trains: bool) -> bool:
        """Whether a file may train with what it imports, as far as is known. `trains`: it has a loop of its own."""
        return self._index is not None and self._index.may_run_others(path, trains=trains)

    @property
    def complete(self) -> bool:
        return self._steps is None

    # ------------------------------------------------------------------ what is told

    def follow(self, folders: Sequence[Folder]) -> None:
        """Reads these folders, and no others any more."""
        self.folders = list(folders)
        paths = [folder.path for folder in folders]
        index = self._made() if paths else self._index
        if index is None:
            return
        gone = set(index.folders) - set(paths)
        for path in gone:
            index.forget(path)
        for path in paths:
            index.add(path)
        self._rules.clear()
        self._begin()
        if (
            gone and self._steps is None
        ):  # nothing is left to be read; what was said of those files holds no more
            self._announce()

    def changed(self, paths: Iterable[str]) -> None:
        """Files changed, on disk or in a buffer, or came or went."""
        if self._index is not None and self._index.changed(paths):
            self._rules.clear()
            self._begin()

    def buffer_changed(self, opened: OpenDocument) -> None:
        """The text of an open document has changed: scripts that import it are read again, once nobody types."""
        path = opened.path
        if path is not None and self._index is not None and self._index.askers(path) - {path}:
            self._server.later((self, path), _QUIET, lambda: self.changed([path]))

    def buffer_came_or_went(self, opened: OpenDocument) -> None:
        """From now on a buffer counts, or the disk again."""
        if opened.path is not None:
            self.changed([opened.path])
        self._server.closed_files.changed()

    def settings_changed(self) -> None:
        """What settings say of files may be different."""
        self._rules.clear()
        if self._index is not None and self._index.folders:
            self._index.look_again()
            self._begin()

    def make_anew(self) -> None:
        """Forgets everything, on disk, too, and reads the folders again."""
        from horovodize.workspace.cache import Cache

        if self._index is not None:
            self._index.rest()
        self._steps = self._index = None
        cache = Cache()
        cache.clear()
        cache.close()
        self.follow(self.folders)

    # ------------------------------------------------------------------ the work

    def _made(self) -> Index:
        from horovodize.workspace import Index
        from horovodize.workspace.cache import Cache

        if self._index is None:
            self._index = Index(Cache(), self._load, self._rules_of, self._open_files, make_workers)
        return self._index

    def _open_files(self) -> dict[str, str | None]:
        """The open scripts and modules, by path, with the texts of those that are not saved."""
        return {
            opened.path: opened.text if opened.unsaved else None
            for opened in self._server.session.documents
            if opened.path is not None and type(opened.document) is Document
        }

    def close(self) -> None:
        """Ends the processes that read files."""
        if self._index is not None:
            self._index.rest()

    def _load(self, path: str) -> Document | None:
        return self._server.session.files.load(path)

    def _rules_of(self, path: str) -> Rules:
        from horovodize.workspace.index import Rules

        settings, exclude = self._known_rules(path)
        return Rules(settings.options, exclude(path))

    def settings_of(self, path: str) -> Settings:
        """The settings of a file on disk."""
        return self._known_rules(path)[0]

    def _known_rules(self, path: str) -> tuple[Settings, Exclude]:
        folder = os.path.dirname(path)
        if folder not in self._rules:
            self._rules[folder] = self._server.configuration.rules_at(path)
        return self._rules[folder]

    def _begin(self) -> None:
        """Goes to work, if there is any."""
        if self._index is None or self._index.idle:
            return
        if self._steps is None:
            self._steps = self._index.steps()
            self._told, self._done = time.monotonic(), 0
        self._server.when_idle(self, self._go_on)

    def finish(self, work: Work) -> None:
        """Does all that is to be done, for who can't go on without. Raises JsonRpcRequestCancelled."""
        while self._steps is not None and self._index is not None:
            work.check()
            self._go_on()
            self._index.wait(_LOOK)

    def _go_on(self) -> None:
        """Takes some steps further."""
        progress: Progress | None = None
        try:
            progress = self._step()
        except Exception:  # a fault at one file must not be the end of it: the next ones wait
            self._steps = self._index.steps() if self._index is not None else None
            self._server.when_idle(self, self._go_on)
            raise
        if progress is None:
            self._steps = None
            self._tell(types.WorkDoneProgressEnd())
            self._token, self._asked = None, False
            self._announce()
            self._server.later((self, "rest"), _REST, self._rest)
            return
        if progress.waits:
            self._server.later(self, _LOOK, self._go_on)
        else:
            self._server.when_idle(self, self._go_on)
        if time.monotonic() > self._told + _TELLING:
            self._told = time.monotonic()
            self._show_progress()
            if progress.total:
                percentage = 100 * progress.done // progress.total
                self._tell(types.WorkDoneProgressReport(percentage=percentage, cancellable=True))
            if progress.done > self._done:  # while other processes read, nothing may be new
                self._announce()
            self._done = progress.done

    def _step(self) -> Progress | None:
        """Works for a moment. How far that led; None: to the end."""
        if self._index is None or self._steps is None:
            return None
        if self._stopped():
            self._index.stop()
            return None
        until = time.monotonic() + _SLICE
        progress = next(self._steps, None)
        while progress is not None and not progress.waits and time.monotonic() < until:
            progress = next(self._steps, None)
        return progress

    def _rest(self) -> None:
        if self._steps is None:
            self.close()

    def _announce(self) -> None:
        """Who shows what is known is told that there is more."""
        for opened in self._server.session.documents:
            diagnostics.look_further(self._server, opened.uri)
        self._server.news.changed()
        self._server.closed_files.changed()

    # ------------------------------------------------------------------ progress

    def _show_progress(self) -> None:
        """Has the client show that work is going on, once that is longer than a moment."""
        if not self._server.session.client.shows_progress or self._token is not None or self._asked:
            return
        self._asked = True
        self._tokens += 1
        token = f"{_TOKEN}/{self._tokens}"

        def created(_: object) -> None:
            self._asked = False
            if self._steps is not None and self._token is None:
                self._token = token
                self._server.work_done_progress.tokens[token] = (
                    Future()
                )  # pygls cancels it when the client asks
                self._tell(
                    types.WorkDoneProgressBegin("Indexing training loops", cancellable=True, percentage=0)
                )

        self._server.window_work_done_progress_create(types.WorkDoneProgressCreateParams(token), created)

    def _stopped(self) -> bool:
        future = self._server.work_done_progress.tokens.get(self._token) if self._token else None
        return future is not None and future.cancelled()

    def _tell(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._server.progress(types.ProgressParams(self._token, value))
