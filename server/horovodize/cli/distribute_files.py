"""Distributes the files that the command line names, one after another: what each comes to, with what it imports."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.config import Configuration
from horovodize.cli.distribute_told import Told, counted
from horovodize.cli.inputs import Input
from horovodize.cli.output import Console
from horovodize.cli.plan_json import plan_json, project_json, world_json
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.folders import Folders
    from horovodize.cli.notebooks import Made
    from horovodize.distribute_together import Covered
    from horovodize.options import Options
    from horovodize.plan import Plan, Refusal, Unchanged
    from horovodize.source import Document, Edit
    from horovodize.summary import ModuleSummary
    from horovodize.workspace.on_disk import ProjectOnDisk

_SCRIPT = ".py"


class DistributeFiles:
    """One run over all inputs."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        console: Console,
        mode: str,
        configuration: Configuration,
        folders: Folders,
    ) -> None:
        self.arguments = arguments
        self.console = console
        self.mode = mode
        self.folders = folders
        from horovodize.distribute_together import Together

        self.together = Together(lambda document: os.path.abspath(document.path))
        self.configuration = configuration
        self.told = Told(arguments, console, mode, configuration)
        self.done: set[Path] = set()  # files that several scripts share, and one has changed
        # The exit status of a script that is, or under `--check` would be, distributed.
        self.status = ExitStatus.WOULD_CHANGE if arguments.check else ExitStatus.OK

    def _wants_script(self, source: Input) -> bool:
        """Whether the result is to be a script. Raises CommandError where it could only be one."""
        output: str | None = self.arguments.output
        if self.arguments.to_script and source.named and not source.is_notebook:
            raise CommandError(f"{source.path}: --to-script is for notebooks")
        return source.is_notebook and (
            self.arguments.to_script or (output is not None and output.endswith(_SCRIPT))
        )

    def handle(self, source: Input) -> int:
        from horovodize.distribute_together import Covered
        from horovodize.plan import Plan, Refusal
        from horovodize.source import UndecodableSource
        from horovodize.source.notebook_json import OtherLanguage
        from horovodize.summary import summarize
        from horovodize.summary.lattice import LoopKind

        options = self.configuration.settings(source.home).options
        to_script = self._wants_script(source)
        if self.arguments.to_script and not to_script:
            return ExitStatus.OK
        try:
            document = source.document()
        except UndecodableSource as e:
            if isinstance(e, OtherLanguage) and not source.named:
                self.told.outcomes.passed_over()
                return ExitStatus.OK
            return self.told.undecodable(source, e)
        summary = summarize(document)
        if not self.folders.runs_others(source) and summary.loop is LoopKind.NONE and not source.named:
            return self.told.passed_over(document, summary)
        alone = summary
        result, project, summary = self._result(source, document, alone, options)
        if summary.loop is LoopKind.NONE and not source.named and not self._is_of_a_project(result, project):
            return self.told.passed_over(document, summary)
        if isinstance(result, Covered):
            return self.told.covered(source, summary, result)
        if isinstance(result, Refusal):
            return self.told.refused(summary, result)
        if isinstance(result, Plan) and project is not None:
            from horovodize.distribute_project import file_plans

            plans = file_plans(result)
            others = [p.document.path for p in plans[:-1] if p.edits]
            if others and self.mode in ("text", "output"):
                result = self._alone(source, alone, options, others)
                if isinstance(result, Refusal):
                    return self.told.refused(summary, result)
            elif len(plans) > 1:
                return self._project_distributed(source, summary, plans, project, to_script)
        edits = result.edits if isinstance(result, Plan) else []
        made = self._made(source, document, edits, to_script)
        if isinstance(made, Refusal):
            return self.told.refused(summary, made)
        if isinstance(result, Plan):
            return self._distributed(source, summary, result, made)
        return self.told.unchanged(source, summary, result, made)

    def _alone(
        self, source: Input, summary: ModuleSummary, options: Options, others: Sequence[str]
    ) -> Plan | Refusal | Unchanged:
        """Of a script with which other files should change, what can be given as one text: the script by itself."""
        from horovodize.distribute import distribute
        from horovodize.plan import Reason, Refusal
        from horovodize.source import Span

        alone = distribute(summary, options)
        names = ", ".join(others)
        if isinstance(alone, Refusal):
            why = f"other files have to change with it: {names}; --diff shows what, --write changes them all"
            return Refusal(summary.document, [Reason("HVD006", why, Span(0, 0))])
        self.console.warning(
            f"{source.path}: this is the script by itself; other files should change with it: {names}; --diff shows what, "
            "--write changes them all"
        )
        return alone

    def _result(
        self, source: Input, document: Document, summary: ModuleSummary, options: Options
    ) -> tuple[Plan | Refusal | Unchanged | Covered, ProjectOnDisk | None, ModuleSummary]:
        """What the document comes to: a script together with what it imports of its project, and with the scripts before it."""
        script = self.folders.examine(source, document, summary, options)
        if script is None:
            from horovodize.distribute import distribute

            outcome = distribute(summary, options)
            if source.is_notebook or source.file is None:
                return outcome, None, summary
            return self.together.admit(document, [document], outcome), None, summary
        admitted = self.together.admit(document, script.members, script.outcome)
        if script.together is not None and script.together.loops and not summary.loops:
            summary = script.together
        return admitted, self.folders.project(source), summary

    def _is_of_a_project(self, result: object, project: ProjectOnDisk | None) -> bool:
        """Whether a script is refused for how the modules train that it runs, in a way that is no loop of ours: to say that it
        doesn't train would hide that."""
        from horovodize.plan import Refusal

        if project is None or not isinstance(result, Refusal):
            return False
        return any(reason.code == "HVD202" for reason in result.reasons)

    def _made(
        self, source: Input, document: Document, edits: Sequence[Edit], to_script: bool
    ) -> Made | Refusal:
        from horovodize.cli.notebooks import Made, made_script
        from horovodize.source.notebook import NotebookFile

        if to_script and isinstance(document, NotebookFile):
            return made_script(source, document, edits, self.arguments.output)
        return Made(document.edited(edits))

    # ------------------------------------------------------------------ outcomes

    def _distributed(self, source: Input, summary: ModuleSummary, plan: Plan, made: Made) -> int:
        document = plan.document
        world = self.told.world(source, summary)
        if self.mode == "json":
            self.told.report(
                document.path, "distributed", summary, {**world_json(world), **plan_json(plan, made)}
            )
            return self.status
        self.told.tell_world(source, summary, world)
        self.told.tell_questions(plan)  # before the result, which may be long
        if self.mode == "diff":
            from horovodize.cli.diff import print_diff, print_reasons

            print_reasons(plan, self.console)
            print_diff(plan, self.console)
        elif self.mode == "check":
            self.told.would_change(plan)
        else:
            self.told.deliver(source, made, document)
            if self.mode == "write":
                self.console.message(f"{source.path}: distributed ({counted(plan)})")
        self.told.put_beside(source, plan, made)
        self.told.say_how_to_run(source, made)
        self.told.outcomes.distributed([plan])
        return self.status

    def _project_distributed(
        self,
        source: Input,
        summary: ModuleSummary,
        plans: Sequence[Plan],
        project: ProjectOnDisk,
        to_script: bool,
    ) -> int:
        """A plan over several files, as one plan each. `to_script`: the last is a notebook's, which is written as a script."""
        from horovodize.cli.projects import new_contents, write_together
        from horovodize.plan import Refusal

        world = self.told.world(source, summary)
        if self.mode == "json":
            self.told.report(
                source.path, "distributed", summary, {**world_json(world), **project_json(plans)}
            )
            return self.status
        self.told.tell_world(source, summary, world)
        script = plans[-1]
        made = self._made(source, script.document, script.edits, to_script) if to_script else None
        if isinstance(made, Refusal):
            return self.told.refused(summary, made)
        plans = [plan for plan in plans if project.file(plan.document) not in self.done]
        self.done.update(project.file(plan.document) for plan in plans if plan.edits)
        contents = new_contents(plans, project)
        for plan in plans:
            self.told.tell_questions(plan)
        if self.mode in ("diff", "write"):
            from horovodize.cli.diff import print_diff, print_reasons

            for plan in plans:
                print_reasons(plan, self.console)
                print_diff(plan, self.console)
        if self.mode == "write":
            path = project.file(script.document)
            write_together([one for one in contents if made is None or one.path != path])
            if made is not None:
                self.told.deliver(source, made, script.document)
            for plan in plans:
                if plan.edits:
                    self.console.message(f"{plan.document.path}: distributed ({counted(plan)})")
        elif self.mode == "check":
            for plan in plans:
                if plan.edits:
                    self.told.would_change(plan)
        elif self.mode != "diff":
            from horovodize.cli.notebooks import Made

            self.told.deliver(source, Made(contents[-1].new), plans[-1].document)
        self.told.put_beside(source, script, made)
        self.told.say_how_to_run(source, made)
        self.told.outcomes.distributed(plans)
        return self.status

    # ------------------------------------------------------------------ where results go


__all__ = ["DistributeFiles"]
