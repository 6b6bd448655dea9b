"""What `distribute` says of each file, and where what it makes of one goes: a diff, text, JSON, the file itself or another."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from horovodize.cli.config import Configuration
from horovodize.cli.inputs import Input
from horovodize.cli.outcomes import Outcomes
from horovodize.cli.output import Console, plural
from horovodize.cli.plan_json import reason_json
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.notebooks import Made
    from horovodize.distribute_together import Covered
    from horovodize.plan import Change, Plan, Refusal, Unchanged
    from horovodize.source import Document, UndecodableSource
    from horovodize.summary import ModuleSummary
    from horovodize.world.world import World


class Told:
    """What is said in one run over all files.

    mode      what to do with a result: "diff", "text", "json", "check", "write" or "output"
    reports   what is printed as JSON in the end
    outcomes  how many files were distributed, asked about and refused"""

    def __init__(
        self, arguments: argparse.Namespace, console: Console, mode: str, configuration: Configuration
    ) -> None:
        self.arguments, self.console, self.mode, self.configuration = arguments, console, mode, configuration
        self.reports: list[dict[str, Any]] = []
        self.outcomes = Outcomes(only_checks=arguments.check)

    def report(self, path: str, outcome: str, summary: ModuleSummary, more: dict[str, Any]) -> None:
        self.reports.append({"path": path, "outcome": outcome, "loop": summary.loop.value, **more})

    def world(self, source: Input, summary: ModuleSummary) -> World:
        from horovodize.world.world import world_of

        return world_of(summary, self.configuration.settings(source.home).options)

    def tell_world(self, source: Input, summary: ModuleSummary, world: World) -> None:
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

    def tell_questions(self, plan: Plan) -> None:
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

    def would_change(self, plan: Plan) -> None:
        self.console.line(f"{plan.document.path}: would be distributed ({counted(plan)})", sys.stderr)

    def unchanged(self, source: Input, summary: ModuleSummary, result: Unchanged, made: Made) -> int:
        document = result.document
        if self.mode == "json":
            self.report(
                document.path,
                "unchanged",
                summary,
                {"message": result.message, "text": made.text(document)},
            )
            return ExitStatus.OK
        if self.mode in ("text", "output") or made.script:
            self.deliver(source, made, document)
        self.console.message(f"{source.path}: nothing to do: {result.message}")
        self.say_how_to_run(source, made)
        self.outcomes.unchanged()
        return ExitStatus.OK

    def refused(self, summary: ModuleSummary, refusal: Refusal) -> int:
        from horovodize.distribute_project import in_file

        document = refusal.document
        if self.mode == "json":
            self.report(
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

    def covered(self, source: Input, summary: ModuleSummary, covered: Covered) -> int:
        """A module of a script that was distributed before."""
        by = os.path.relpath(covered.by)
        what = "distributed" if covered.changed else "unchanged"
        if self.mode == "json":
            self.report(source.path, what, summary, {"message": f"with {by}"})
        elif not covered.changed:
            self.console.message(f"{source.path}: nothing to do: {by}, which runs it, is distributed")
        if covered.changed:
            self.outcomes.distributed_with()
        else:
            self.outcomes.unchanged()
        return ExitStatus.OK

    def undecodable(self, source: Input, error: UndecodableSource) -> int:
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

    def passed_over(self, document: Document, summary: ModuleSummary) -> int:
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

    def _point_to_pages(self, codes: Sequence[str]) -> None:
        """Says, below a refusal, where more is written about its reasons."""
        for code in dict.fromkeys(codes):
            self.console.message(f"    help: horovodize explain {code}")

    def put_beside(self, source: Input, plan: Plan, made: Made | None) -> None:
        """The modules of ours that a script imports: beside it where it is written, else named."""
        from horovodize.cli.beside import tell_beside, write_beside

        if self.mode == "output":
            write_beside(Path(self.arguments.output), plan.beside, self.console)
        elif self.mode == "write" and source.file is not None:
            beside = made.beside if made is not None else None
            write_beside(beside or source.file, plan.beside, self.console)
        elif self.mode != "check":
            tell_beside(source.path, plan.beside, self.console)

    def deliver(self, source: Input, made: Made, document: Document) -> None:
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

    def say_how_to_run(self, source: Input, made: Made | None) -> None:
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


def counted(plan: Plan) -> str:
    """How much a plan changes: "3 changes, 1 to confirm"."""
    asked = f", {len(plan.to_confirm)} to confirm" if plan.to_confirm else ""
    return plural(sum(bool(change.edits) for change in plan.changes), "change") + asked


__all__ = ["Told", "counted"]
