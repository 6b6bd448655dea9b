"""Check scripts for what stands in the way of distributing them (HVD1xx, HVD2xx), or what goes wrong in those that use Horovod
(HVD3xx)."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from horovodize.cli.config import Configuration, add_option_flags, codes
from horovodize.cli.inputs import Input, add_output_file, add_path_arguments, find_inputs
from horovodize.cli.output import Console, json_range, plural
from horovodize.cli.runner import CommandError, ExitStatus, for_each, without_findings
from horovodize.configuration import matches

if TYPE_CHECKING:
    from horovodize.cli.folders import Folders
    from horovodize.options import Options
    from horovodize.restrictions.violation import Violation
    from horovodize.source import Document, Span, UndecodableSource

HELP = "say what stands in the way of distributing scripts"

EXAMPLES = """\
horovodize check train.py
horovodize check src --statistics
horovodize check src --select HVD1,HVD202 --exclude 'old/,*_pb2.py'
horovodize check src --format sarif --output-file horovodize.sarif --exit-zero
"""

DISTRIBUTABLE = "HVD001"  # a hint, not a finding: only when it is selected
UNREADABLE = "HVD003"  # always a finding: nothing else could be looked for
_ALL = "ALL"
_STYLES = {"error": "red", "warning": "yellow", "information": "blue", "hint": "cyan"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path_arguments(parser)
    parser.add_argument(
        "--format", choices=("text", "json", "sarif", "github"), default="text", help="(default: %(default)s)"
    )
    parser.add_argument(
        "--select",
        metavar="CODES",
        action="extend",
        type=codes,
        help=f"report only these: codes, their beginnings (HVD1), names, or {_ALL}; separated by commas",
    )
    parser.add_argument("--ignore", metavar="CODES", action="extend", type=codes, help="do not report these")
    parser.add_argument(
        "--statistics", action="store_true", help="count the findings of each code instead (text and json)"
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 also where there are findings")
    add_output_file(parser)
    add_option_flags(parser, "strict", "tensorflow")


@dataclass(frozen=True)
class Finding:
    """A violation in its document."""

    document: Document
    violation: Violation


def run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.statistics and arguments.format not in ("text", "json"):
        raise CommandError(f"--statistics has no --format {arguments.format}: use text or json")
    inputs, missing = find_inputs(arguments.paths, arguments.stdin_filename)
    for message in missing:
        console.error(message)
    from horovodize.cli.folders import Folders

    configuration = Configuration(arguments, console)
    folders = Folders(inputs, configuration)
    command = _Check(arguments, console, configuration, folders)
    status = for_each(folders.importing_first(), console, command.handle, traceback=arguments.traceback)
    findings = sorted(command.findings, key=lambda found: folders.place(found.document.path))
    if missing:
        status = max(status, ExitStatus.ERROR)
    if arguments.statistics:
        _print_statistics(findings, arguments.format, console)
    else:
        command.show(findings)
    if arguments.format == "json":
        if not arguments.statistics:
            console.json([_json(finding) for finding in findings])
    elif arguments.format == "sarif":
        from horovodize.cli.sarif import sarif

        console.json(sarif(findings, status, console.errors))
    elif arguments.format == "text" and (findings or status == ExitStatus.OK):
        files = len({finding.document.path for finding in findings})
        total = f"{plural(len(findings), 'finding')} in {plural(files, 'file')}"
        console.message(total if findings else "no findings")
    return without_findings(status, arguments.exit_zero)


def _print_statistics(findings: Sequence[Finding], form: str, console: Console) -> None:
    """How many findings there are of each code, most first."""
    counts = Counter((f.violation.code, f.violation.name) for f in findings)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if form == "json":
        console.json([{"code": code, "name": name, "count": count} for (code, name), count in ordered])
        return
    width = max((len(str(count)) for _, count in ordered), default=0)
    for (code, name), count in ordered:
        console.line(f"{str(count).rjust(width)}  {console.paint(code, 'bold')}  {name}")


class _Check:
    """One run over all inputs."""

    def __init__(
        self, arguments: argparse.Namespace, console: Console, configuration: Configuration, folders: Folders
    ) -> None:
        self.console = console
        self.format: str = arguments.format
        self.configuration = configuration
        self.folders = folders
        self.findings: list[Finding] = []
        self._lines_run: dict[str, list[tuple[int, int]]] = {}  # of modules, by scripts
        self._known: set[tuple[str, str, Span]] = set()  # a module of several scripts is reported on once

    def handle(self, source: Input) -> int:
        from horovodize.restrictions.violation import Severity
        from horovodize.source import UndecodableSource
        from horovodize.source.notebook_json import OtherLanguage

        settings = self.configuration.settings(source.home)
        wanted = _Selection(settings.select, settings.ignore)
        try:
            all_found = self._found(source, settings.options)
        except UndecodableSource as e:
            if isinstance(e, OtherLanguage) and not source.named:
                return ExitStatus.OK
            all_found = [_undecodable(source.path, e)]
        found = [f for f in all_found if wanted(f.violation.code, f.violation.name) and self._is_new(f)]
        self.findings += found
        in_the_way = any(f.violation.severity is not Severity.INFORMATION for f in found)
        return ExitStatus.FINDINGS if in_the_way else ExitStatus.OK

    def _found(self, source: Input, options: Options) -> list[Finding]:
        """The findings in an input; of a script that trains with its modules, in all of them."""
        from horovodize.restrictions import check
        from horovodize.summary import summarize

        document = source.document()
        summary = summarize(document)
        script = self.folders.examine(source, document, summary, options)
        path = os.path.abspath(source.path)
        if script is None:
            own = [Finding(document, v) for v in check(summary, options)]
        else:
            own = [Finding(file, v) for file, v in script.findings]
            for module, lines in script.lines_run.items():
                self._lines_run.setdefault(os.path.abspath(module), []).extend(lines)
        ran = self._lines_run.get(path, [])

        def said_better(finding: Finding) -> bool:
            """Whether a script that runs this place has been looked at before."""
            line = finding.document.lines.line_of(finding.violation.span.start)
            return finding.document.path == document.path and any(a <= line <= b for a, b in ran)

        return [finding for finding in own if not said_better(finding)]

    def _is_new(self, finding: Finding) -> bool:
        v = finding.violation
        key = (os.path.abspath(finding.document.path), v.code, v.span)
        new = key not in self._known
        self._known.add(key)
        return new

    def show(self, findings: Sequence[Finding]) -> None:
        """Prints findings, where the format is one for lines."""
        for finding in findings:
            if self.format == "text":
                self._print(finding)
            elif self.format == "github":
                self.console.line(_github(finding))

    def _print(self, finding: Finding) -> None:
        document, v = finding.document, finding.violation
        paint = self.console.paint
        place = paint(f"{document.path}:{document.place(v.span.start)}:", "bold")
        self.console.line(
            f"{place} {paint(v.code, _STYLES[v.severity.value])} {v.message} {paint(f'[{v.name}]', 'dim')}"
        )
        for related in v.related:
            self.console.line(f"    {document.path}:{document.place(related.span.start)}: {related.message}")
        for fix in v.fixes:
            self.console.line(paint(f"    quick fix: {fix.title}", "dim"))


def _undecodable(path: str, error: UndecodableSource) -> Finding:
    """A finding about a file that has no text, in an empty document that has the place."""
    from horovodize.restrictions.violation import Severity, Violation
    from horovodize.source import Document, Span

    text = "\n" * (error.line - 1) + " " * (error.column - 1)
    span = Span(len(text), len(text))
    return Finding(
        Document(text, path), Violation(UNREADABLE, "unreadable", str(error), span, Severity.ERROR)
    )


class _Selection:
    """Whether a finding is wanted. Raises CommandError for a code that does not exist."""

    def __init__(self, select: tuple[str, ...] | None, ignore: tuple[str, ...]) -> None:
        for code in (*(select or ()), *ignore):
            _known(code)
        self.select = select
        self.ignore = ignore

    def __call__(self, code: str, name: str) -> bool:
        if any(matches(pattern, code, name) for pattern in self.ignore):
            return False
        if code == UNREADABLE:
            return True
        if self.select is None:
            return code != DISTRIBUTABLE
        return any(matches(pattern, code, name) for pattern in self.select)


def _known(pattern: str) -> None:
    from horovodize.restrictions import RESTRICTIONS

    if pattern.upper() == _ALL or any(matches(pattern, code, "") for code in (DISTRIBUTABLE, UNREADABLE)):
        return
    if not any(matches(pattern, code, restriction.name) for code, restriction in RESTRICTIONS.items()):
        raise CommandError(f"unknown code {pattern!r}: `horovodize explain` lists them")


# ---------------------------------------------------------------------- formats


def _json(finding: Finding) -> dict[str, Any]:
    """Lines and characters from 0, characters in UTF-16 units, as in LSP; in a notebook with `cell`."""
    from horovodize.documentation import page_address

    v = finding.violation
    return {
        "path": finding.document.path,
        "code": v.code,
        "name": v.name,
        "message": v.message,
        "severity": v.severity.value,
        "range": json_range(finding.document, v.span),
        "related": [
            {
                "path": finding.document.path,
                "message": related.message,
                "range": json_range(finding.document, related.span),
            }
            for related in v.related
        ],
        "url": page_address(v.code),
    }


_GITHUB_LEVELS = {"error": "error", "warning": "warning", "information": "notice", "hint": "notice"}


def _github(finding: Finding) -> str:
    """A workflow command that makes an annotation of a pull request. Related places, which it has no field for, are lines of
    its text."""
    document, v = finding.document, finding.violation
    start, end = document.place(v.span.start), document.place(v.span.end)
    line, end_line = document.file_line(v.span.start), document.file_line(v.span.end)
    properties = {"file": document.path, "line": line, "endLine": end_line, "title": f"{v.code} {v.name}"}
    if start.cell is not None:  # lines of a notebook file are not those of its cells
        properties["title"] = f"{v.code} {v.name} in {start.line_words}"
    elif line == end_line:  # columns mean something only within one line there
        properties |= {"col": start.column, "endColumn": end.column}
    listed = ",".join(f"{key}={_github_escaped(str(value), ',:')}" for key, value in properties.items())
    related = [f"{document.path}:{document.place(r.span.start)}: {r.message}" for r in v.related]
    text = _github_escaped("\n".join([v.message, *related]))
    return f"::{_GITHUB_LEVELS[v.severity.value]} {listed}::{text}"


def _github_escaped(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
