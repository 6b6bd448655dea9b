"""Finding out what one file trains with: by itself, and together with what it imports. In the process that asks, or in another
one (`workers`), to which a task is sent and which sends back what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from horovodize.files import read_regular
from horovodize.options import Options
from horovodize.source import Document
from horovodize.workspace.describe import describe, describe_script, place_in_project, summarize_file
from horovodize.workspace.file_summary import FileSummary, State
from horovodize.workspace.glance import Glance, digest_of

if TYPE_CHECKING:
    from horovodize.python.interface import Interface
    from horovodize.workspace.cache import Asked

LARGEST = 2_000_000  # bytes

Loader = Callable[[str], Document | None]


@dataclass(frozen=True)
class Task:
    """A file to be read.

    glance     what its bytes said
    own        what is known of it by itself; None: that is to be found out
    alone_runs_others     whether to read it with what it imports if it has no loop itself
    training_runs_others  the same if it has
    unsaved    the texts of open documents that are not as on disk, by path
    """

    path: str
    options: Options
    glance: Glance
    own: FileSummary | None
    alone_runs_others: bool
    training_runs_others: bool
    unsaved: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What was found out.

    own       of the file by itself, as it is on disk
    is_news   whether that holds for what the glance saw, and was not known
    together  of the script with what it imports; None: it is not read with that
    asked     what the files held that the imports lead to
    """

    own: FileSummary
    is_news: bool
    together: FileSummary | None = None
    asked: Asked = field(default_factory=dict)


class Reading:
    """Reads files. `load`: a file of the project by its path, as the user sees it now."""

    def __init__(self, load: Loader) -> None:
        self.load = load
        self._held: dict[str, str | None] = {}  # what files hold that imports lead to
        self._interfaces: dict[str, tuple[str | None, Interface | None]] = {}  # of those, by content

    def content(self, path: str) -> str | None:
        """What tells one content of a file from another, as the user sees it; None: there is none."""
        if path not in self._held:
            document = self.load(path)
            text = document.text.encode("utf-8", "surrogatepass") if document is not None else None
            self._held[path] = digest_of(text) if text is not None else None
        return self._held[path]

    def forget(self, path: str | None = None) -> None:
        """A file (None: each of them) may hold something else now."""
        if path is None:
            self._held.clear()
        else:
            self._held.pop(path, None)

    def read(self, task: Task) -> Found:
        """Finds out what a file trains with."""
        own, is_news = task.own, False
        if own is None:
            data = read_regular(task.path, LARGEST)
            own = summarize_file(data, task.path, task.options) if data is not None else FileSummary()
            is_news = data is not None and digest_of(data) == task.glance.digest
        if not (task.training_runs_others if own.loops else task.alone_runs_others):
            return Found(own, is_news)
        return self._together(task, own, is_news)

    def _together(self, task: Task, own: FileSummary, is_news: bool) -> Found:
        """With what it imports. `own` is of the file on disk, and only that: the user may see another text."""
        script = self.load(task.path)
        if script is None:
            return Found(own, is_news)
        from horovodize.distribute_project import Examination
        from horovodize.restrictions import check

        options, asked = task.options, {task.path: self.content(task.path)}

        def load(other: str) -> Document | None:
            asked[other] = self.content(other)
            return self.load(other) if asked[other] is not None else None

        def alone() -> FileSummary:
            if asked[task.path] == task.glance.digest:
                return own
            return describe(examined.alone, check(examined.alone, options), options, place_in_project)

        try:
            examined = Examination(script, load, options, interface_of=self._interface_of)
            examined.read()
            summary = describe_script(examined, alone, options, place_in_project)
        except RecursionError:
            summary = FileSummary(State.UNREADABLE, "the code is nested too deeply to be followed")
        return Found(own, is_news, summary, asked)

    def _interface_of(self, document: Document) -> Interface | None:
        """What a file is to those that import it, found out once for each content."""
        from horovodize.python.interface import Interface

        content = self.content(document.path)
        known = self._interfaces.get(document.path)
        if known is None or known[0] != content:
            known = self._interfaces[document.path] = (content, Interface.of(document))
        return known[1]
