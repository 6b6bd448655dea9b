"""The Python files of folders that the user names: which of them count, which are read together with what they import, and in
which order they are taken."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from horovodize.cli.config import Configuration
from horovodize.cli.inputs import Input
from horovodize.cli.runner import CommandError
from horovodize.workspace.glance import Glance, glance_at
from horovodize.workspace.neighbours import Neighbours
from horovodize.workspace.on_disk import ProjectOnDisk

if TYPE_CHECKING:
    from horovodize.distribute_project import Examination
    from horovodize.options import Options
    from horovodize.source import Document
    from horovodize.summary import ModuleSummary


class Folders:
    """The inputs of a run. A script that the user names is always read with what it imports; one that was found in a folder if
    its imports may lead to a file about TensorFlow."""

    def __init__(self, inputs: Sequence[Input], configuration: Configuration) -> None:
        self._glances: dict[str, Glance] = {}
        self._projects: dict[str, ProjectOnDisk] = {}
        self._documents: dict[str, Document | None] = {}  # of several scripts, each file is read once
        self.inputs = [source for source in inputs if not configuration.excludes(source)]
        self._places = {source.path: i for i, source in enumerate(self.inputs)}
        for source in self.inputs:
            if source.file is not None and not source.named and not source.is_notebook:
                try:
                    self._glances[source.path] = glance_at(source.read())
                except CommandError:
                    continue  # told when it is its turn
        self._neighbours = Neighbours(
            {os.path.abspath(path): glance for path, glance in self._glances.items()}
        )

    def place(self, path: str) -> tuple[int, str]:
        """What sorts files as the user named them; others after them, by path."""
        return self._places.get(path, len(self._places)), path

    def runs_others(self, source: Input, *, trains: bool = True) -> bool:
        """Whether an input is to be read together with what it imports. `trains`: it has a loop of its own, or it may have."""
        if source.file is None or source.is_notebook:
            return source.file is not None
        glance = self._glances.get(source.path)
        return source.named or (
            glance is not None
            and self._neighbours.may_run_others(source.path, glance, trains=trains and glance.tensorflow)
        )

    def project(self, source: Input) -> ProjectOnDisk:
        """What an input with a file may import."""
        assert source.file is not None
        if source.path not in self._projects:
            self._projects[source.path] = ProjectOnDisk(source.file, self._documents)
        return self._projects[source.path]

    def examine(
        self, source: Input, document: Document, summary: ModuleSummary, options: Options | None
    ) -> Examination | None:
        """An input together with what it imports; None for what is read by itself. `summary` is that of its document."""
        if not self.runs_others(source, trains=bool(summary.loops)):
            return None
        from horovodize.distribute_project import Examination

        project = self.project(source)
        return Examination(document, project.load, options, project.script.as_posix(), summary)

    def importing_first(self) -> list[Input]:
        """The inputs, those that import many others first."""
        counts = {source.path: self._count(source) for source in self.inputs}
        return sorted(self.inputs, key=lambda source: -counts[source.path])

    def _count(self, source: Input) -> int:
        """How many files of its project an input consists of."""
        if len(self.inputs) < 2 or not self.runs_others(source):
            return 1
        from horovodize.summary.project import read_project

        project = self.project(source)
        script = project.load(str(project.script))
        read = read_project(script, project.load, project.script.as_posix()) if script is not None else None
        return len(read.members) if read is not None else 1
