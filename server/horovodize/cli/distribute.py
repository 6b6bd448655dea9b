"""Distribute scripts and notebooks with Horovod: print, write or report the change. Refuses, with reasons, what cannot be
distributed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from horovodize.cli.config import Configuration, add_option_flags
from horovodize.cli.inputs import (
    NOTEBOOK,
    STANDARD_INPUT,
    Input,
    add_output_file,
    add_path_arguments,
    find_inputs,
    is_single,
    print_reports,
    shell_completed,
)
from horovodize.cli.outcomes import Outcomes
from horovodize.cli.output import Console, plural
from horovodize.cli.plan_json import plan_json, project_json, reason_json, world_json
from horovodize.cli.runner import CommandError, ExitStatus, for_each, without_findings

if TYPE_CHECKING:
    from horovodize.cli.folders import Folders
    from horovodize.cli.notebooks import Made
    from horovodize.distribute_together import Covered
    from horovodize.options import Options
    from horovodize.plan import Change, Plan, Refusal, Unchanged
    from horovodize.running.source_map import SourceMap
    from horovodize.source import Document, Edit, UndecodableSource
    from horovodize.summary import ModuleSummary
    from horovodize.workspace.on_disk import ProjectOnDisk
    from horovodize.world.world import World

HELP = "distribute scripts with Horovod"

EXAMPLES = """\
horovodize distribute train.py                       # show the changes, and why
horovodize distribute train.py --write               # make them
horovodize distribute train.py --output train_hvd.py
horovodize distribute --check src                    # exit status 1: something would change, or is refused
horovodize distribute train.ipynb --output train.py  # a notebook as a script for horovodrun
"""
_SCRIPT = ".py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path_arguments(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--diff", action="store_true", help="print a diff with the reason for each change (default for files)"
    )
    where.add_argument("--write", action="store_true", help="change the files")
    shell_completed(
        where.add_argument(
            "--output", metavar="OUT", help="write the result of one file to OUT; nothing when it is refused"
        ),
        "FILE",
    )
    where.add_argument(
        "--format",
        choices=("diff", "text", "json"),
        help="print a diff, the distributed text (default for standard input), or everything about the change as JSON",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing, and exit with 1 where something would change or is refused (--diff shows it as well)",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 also where a file is refused or would change"
    )
    add_output_file(parser)
    shell_completed(
        parser.add_argument(
            "--source-map",
            metavar="FILE",
            help="with --write or --output, for one script: write to FILE where each piece of the distributed text comes "
            "from, for horovodize traceback",
        ),
        "FILE",
    )
    parser.add_argument(
        "--to-script",
        action="store_true",
        help="make a Python script of a notebook, which horovodrun can run: printed, written to --output OUT, or with --write "
        "beside the notebook (also what --output OUT.py means for a notebook)",
    )
    add_option_flags(
        parser,
        "split_data",
        "rate",
        "batch",
        "output",
        "runtime",
        "elastic",
        "comments",
        "strict",
        "tensorflow",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    mode = _mode(arguments)
    inputs, missing = find_inputs(arguments.paths, arguments.stdin_filename)
    for message in missing:
        console.error(message)
    from horovodize.cli.folders import Folders

    configuration = Configuration(arguments, console)
    folders = Folders(inputs, configuration)
    command = _Distribute(arguments, console, mode, configuration, folders)
    source_map = _source_map(arguments, mode, inputs, configuration) if arguments.source_map else None
    status = for_each(folders.importing_first(), console, command.handle, traceback=arguments.traceback)
    if source_map is not None and status == ExitStatus.OK:
        source_map.write(Path(arguments.source_map))
    if mode == "json":
        command.reports.sort(key=lambda report: folders.place(report["path"]))
        print_reports(console, arguments.paths, command.reports)
    elif not is_single(arguments.paths):
        command.outcomes.print_table(console)
    return without_findings(max(status, ExitStatus.ERROR if missing else ExitStatus.OK), arguments.exit_zero)


def _source_map(
    arguments: argparse.Namespace, mode: str, inputs: Sequence[Input], configuration: Configuration
) -> SourceMap | None:
    """The map of what will be written, made of the files as they still are. Raises CommandError."""
    from horovodize.running.mapping import source_map
    from horovodize.running.prepared import prepare

    file = inputs[0].file if len(inputs) == 1 and is_single(arguments.paths) else None
    if file is None or inputs[0].is_notebook or mode not in ("write", "output"):
        raise CommandError("--source-map is for one script that is written, with --write or --output")
    try:
        prepared = prepare(file, configuration.settings(inputs[0].home).options)
    except OSError as e:
        raise CommandError(f"{file}: cannot be read: {e.strerror or e}") from e
    places = {prepared.script: Path(os.path.abspath(arguments.output))} if arguments.output else {}
    return source_map(prepared, places)


def _mode(arguments: argparse.Namespace) -> str:
    """What to do with a result. Raises CommandError for what does not go together."""
    if arguments.check:
        if arguments.write or arguments.output is not None:
            raise CommandError("--check changes nothing: leave it out, or --write and --output")
        return "diff" if arguments.diff else str(arguments.format or "check")
    if arguments.output is not None:
        if not is_single(arguments.paths):
            raise CommandError("--output takes the result of one file")
        if arguments.to_script and arguments.output.endswith(NOTEBOOK):
            raise CommandError("--to-script makes a Python script: --output can't be a notebook")
        return "text" if arguments.output == STANDARD_INPUT else "output"
    if arguments.to_script and (arguments.diff or arguments.format == "diff"):
        raise CommandError("--to-script makes a new file: there is no diff")
    if arguments.write:
        if STANDARD_INPUT in arguments.paths:
            raise CommandError("standard input cannot be changed: leave out --write, or use --output")
        return "write"
    if arguments.diff:
        return "diff"
    if arguments.format:
        return str(arguments.format)
    if arguments.to_script:
        return "text"
    return "text" if arguments.paths == [STANDARD_INPUT] else "diff"


class _Distribute:
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
        self.reports: list[dict[str, Any]] = []
        self.done: set[Path] = set()  # files that several scripts share, and one has changed
        self.outcomes = Outcomes(only_checks=arguments.check)
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
                self.outcomes.passed_over()
                return ExitStatus.OK
            return self._undecodable(source, e)
        summary = summarize(document)
        if not self.folders.runs_others(source) and summary.loop is LoopKind.NONE and not source.named:
            return self._pass_over(document, summary)
        alone = summary
        result, project, summary = self._result(source, document, alone, options)
        if summary.loop is LoopKind.NONE and not source.named and not self._is_of_a_project(result, project):
            return self._pass_over(document, summary)
        if isinstance(result, Covered):
            return self._covered(source, summary, result)
        if isinstance(result, Refusal):
            return self._refused(summary, result)
        if isinstance(result, Plan) and project is not None:
            from horovodize.distribute_project import file_plans

            plans = file_plans(result)
            others = [p.document.path for p in plans[:-1] if p.edits]
            if others and self.mode in ("text", "output"):
                result = self._alone(source, alone, options, others)
                if isinstance(result, Refusal):
                    return self._refused(summary, result)
            elif len(plans) > 1:
                return self._project_distributed(source, summary, plans, project, to_script)
        edits = result.edits if isinstance(result, Plan) else []
        made = self._made(source, document, edits, to_script)
        if isinstance(made, Refusal):
            return self._refused(summary, made)
        if isinstance(result, Plan):
            return self._distributed(source, summary, result, made)
        return self._unchanged(source, summary, result, made)

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
        world = self._world(source, summary)
        if self.mode == "json":
            self._report(
                document.path, "distributed", summary, {**world_json(world), **plan_json(plan, made)}
            )
            return self.status
        self._tell_world(source, summary, world)
        self._tell(plan)  # before the result, which may be long
        if self.mode == "diff":
            from horovodize.cli.diff import print_diff, print_reasons

            print_reasons(plan, self.console)
            print_diff(plan, self.console)
        elif self.mode == "check":
            self._tell_would_change(plan)
        else:
            self._deliver(source, made, document)
            if self.mode == "write":
                self.console.message(f"{source.path}: distributed ({_counted(plan)})")
        self._put_beside(source, plan, made)
        self._say_how_to_run(source, made)
        self.outcomes.distributed([plan])
        return self.status

    def _tell_would_change(self, plan: Plan) -> None:
        self.console.line(f"{plan.document.path}: would be distributed ({_counted(plan)})", sys.stderr)

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

        world = self._world(source, summary)
        if self.mode == "json":
            self._report(source.path, "distributed", summary, {**world_json(world), **project_json(plans)})
            return self.status
        self._tell_world(source, summary, world)
        script = plans[-1]
        made = self._made(source, script.document, script.edits, to_script) if to_script else None
        if isinstance(made, Refusal):
            return self._refused(summary, made)
        plans = [plan for plan in plans if project.file(plan.document) not in self.done]
        self.done.update(project.file(plan.document) for plan in plans if plan.edits)
        contents = new_contents(plans, project)
        for plan in plans:
            self._tell(plan)
        if self.mode in ("diff", "write"):
            from horovodize.cli.diff import print_diff, print_reasons

            for plan in plans:
                print_reasons(plan, self.console)
                print_diff(plan, self.console)
        if self.mode == "write":
            path = project.file(script.document)
            write_together([one for one in contents if made is None or one.path != path])
            if made is not None:
                self._deliver(source, made, script.document)
            for plan in plans:
                if plan.edits:
                    self.console.message(f"{plan.document.path}: distributed ({_counted(plan)})")
        elif self.mode == "check":
            for plan in plans:
                if plan.edits:
                    self._tell_would_change(plan)
        elif self.mode != "diff":
            from horovodize.cli.notebooks import Made

            self._deliver(source, Made(contents[-1].new), plans[-1].document)
        self._put_beside(source, script, made)
        self._say_how_to_run(source, made)
        self.outcomes.distributed(plans)
        return self.status

    def _world(self, source: Input, summary: ModuleSummary) -> World:
        from horovodize.world.world import world_of

        return world_of(summary, self.configuration.settings(source.home).options)

    def _tell_world(self, source: Input, summary: ModuleSummary, world: World) -> None:
        """What TensorFlow and Keras the result is for, where that is known or matters."""
        from horovodize.summary.lattice import LoopKind
        from horovodize.world.world import Keras

        if world.keras is not Keras.UNKNOWN or world.tensorflow:
            self.console.message(f"{source.path}: for {world.text}")
        elif LoopKind.KERAS in summary.kinds and self.mode in ("write", "output"):
            self.console.message(
                f"{source.path}: {world.text}: this is for Keras 2 and stops under Keras 3; --tensorflow or --python says "
                "which it is"
            )

    def _put_beside(self, source: Input, plan: Plan, made: Made | None) -> None:
        """The modules of ours that a script imports: beside it where it is written, else named."""
        from horovodize.cli.beside import tell_beside, write_beside

        if self.mode == "output":
            write_beside(Path(self.arguments.output), plan.beside, self.console)
        elif self.mode == "write" and source.file is not None:
            beside = made.beside if made is not None else None
            write_beside(beside or source.file, plan.beside, self.console)
        elif self.mode != "check":
            tell_beside(source.path, plan.beside, self.console)

    def _tell(self, plan: Plan) -> None:
        """What a person must still look at."""
        from horovodize.cli.diff import places

        document = plan.document
        asked: dict[tuple[str, str], list[Change]] = {}  # one question, however many places it is asked at
        for change in plan.to_confirm:
            asked.setdefault((change.rule, change.doubt or change.what), []).append(change)
        for (rule, doubt), changes in asked.items():
            others = f" (also {places(plan, changes[1:])})" if changes[1:] else ""
            self.console.at_span(document, changes[0].span, rule, f"to confirm: {doubt}{others}", "yellow")
        for note in plan.notes:
            self.console.at_span(document, note.span, note.rule, f"note: {note.message}", "blue")

    def _unchanged(self, source: Input, summary: ModuleSummary, result: Unchanged, made: Made) -> int:
        document = result.document
        if self.mode == "json":
            self._report(
                document.path,
                "unchanged",
                summary,
                {"message": result.message, "text": made.text(document)},
            )
            return ExitStatus.OK
        if self.mode in ("text", "output") or made.script:
            self._deliver(source, made, document)
        self.console.message(f"{source.path}: nothing to do: {result.message}")
        self._say_how_to_run(source, made)
        self.outcomes.unchanged()
        return ExitStatus.OK

    def _refused(self, summary: ModuleSummary, refusal: Refusal) -> int:
        from horovodize.distribute_project import in_file

        document = refusal.document
        if self.mode == "json":
            self._report(
                document.path,
                "refused",
                summary,
                {"reasons": [reason_json(document, r) for r in refusal.reasons]},
            )
        else:
            for reason in refusal.reasons:
                self.console.at_span(*in_file(document, reason.span), reason.code, reason.message)
            self._point_to_pages([reason.code for reason in refusal.reasons])
        self.outcomes.refused([reason.code for reason in refusal.reasons])
        return ExitStatus.REFUSED

    def _covered(self, source: Input, summary: ModuleSummary, covered: Covered) -> int:
        """A module of a script that was distributed before."""
        by = os.path.relpath(covered.by)
        what = "distributed" if covered.changed else "unchanged"
        if self.mode == "json":
            self._report(source.path, what, summary, {"message": f"with {by}"})
        elif not covered.changed:
            self.console.message(f"{source.path}: nothing to do: {by}, which runs it, is distributed")
        if covered.changed:
            self.outcomes.distributed_with()
        else:
            self.outcomes.unchanged()
        return ExitStatus.OK

    def _undecodable(self, source: Input, error: UndecodableSource) -> int:
        if self.mode == "json":
            reason = {"code": "HVD003", "message": str(error)}
            self.reports.append(
                {"path": source.path, "outcome": "refused", "loop": "none", "reasons": [reason]}
            )
        else:
            from horovodize.source import Place

            self.console.at(source.path, Place(error.line, error.column), "HVD003", str(error))
            self._point_to_pages(["HVD003"])
        self.outcomes.refused(["HVD003"])
        return ExitStatus.REFUSED

    def _point_to_pages(self, codes: Sequence[str]) -> None:
        """Says, below a refusal, where more is written about its reasons."""
        for code in dict.fromkeys(codes):
            self.console.message(f"    help: horovodize explain {code}")

    def _pass_over(self, document: Document, summary: ModuleSummary) -> int:
        """A file of a folder that trains nothing. One that cannot be parsed might: if it is about TensorFlow, that is said."""
        problem = summary.problem
        if (
            problem is not None
            and ("tensorflow" in document.text or "keras" in document.text)
            and self.mode != "json"
        ):
            self.console.at_span(
                document, problem.span, "HVD003", f"passed over: {problem.message}", "yellow"
            )
        self.outcomes.passed_over()
        return ExitStatus.OK

    # ------------------------------------------------------------------ where results go

    def _deliver(self, source: Input, made: Made, document: Document) -> None:
        from horovodize.cli.write import write_atomically

        if self.mode == "text":
            self.console.write(made.data)
        elif self.mode == "output":
            write_atomically(Path(self.arguments.output), made.data, like=source.file)
        elif made.beside is not None:
            if made.beside.exists():
                raise CommandError(f"{made.beside}: exists already; use --output to replace it")
            write_atomically(made.beside, made.data, like=source.file)
        elif source.file is not None:
            write_atomically(source.file, made.data, expected=document.edited([]))

    def _say_how_to_run(self, source: Input, made: Made | None) -> None:
        """Of notebooks: Horovod starts processes that run a script, which is `made`."""
        from horovodize.cli.notebooks import run_command

        for place, text in made.left_out if made is not None else ():
            self.console.at(source.path, place, "note:", f"not in the script: {text}", "blue")
        written = self.mode in ("output", "write")
        if made is not None and made.script and written:
            self.console.message(f"run it with: {run_command(self.arguments.output or str(made.beside))}")
        elif source.is_notebook and (written or self.mode == "diff"):
            self.console.message(
                f"{source.path}: Horovod runs a notebook's code as a script: --to-script makes it"
            )

    def _report(self, path: str, outcome: str, summary: ModuleSummary, more: dict[str, Any]) -> None:
        self.reports.append({"path": path, "outcome": outcome, "loop": summary.loop.value, **more})


def _counted(plan: Plan) -> str:
    """How much a plan changes: "3 changes, 1 to confirm"."""
    asked = f", {len(plan.to_confirm)} to confirm" if plan.to_confirm else ""
    return plural(sum(bool(change.edits) for change in plan.changes), "change") + asked
