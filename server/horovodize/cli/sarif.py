"""Findings as SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from horovodize.cli.check import Finding
    from horovodize.source import Document, Span

_LEVELS = {"error": "error", "warning": "warning", "information": "note", "hint": "note"}


def sarif(findings: Sequence[Finding], status: int, errors: Sequence[str]) -> dict[str, Any]:
    """A SARIF log with one run. Columns are in UTF-16 units, from 1; paths are relative to the folder of the run.

    status  the exit status of the run without `--exit-zero`
    errors  what kept it from looking at everything"""
    from horovodize import __version__
    from horovodize.cli.runner import ExitStatus
    from horovodize.documentation import index_address

    invocation: dict[str, Any] = {"executionSuccessful": status != ExitStatus.ERROR}
    if errors:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": text}} for text in errors
        ]
    driver = {"name": "horovodize", "version": __version__, "informationUri": index_address()}

    rules = _rules(findings)
    numbers = {rule["id"]: i for i, rule in enumerate(rules)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {**driver, "rules": rules}},
                "invocations": [invocation],
                "columnKind": "utf16CodeUnits",
                "results": [_result(finding, numbers) for finding in findings],
            }
        ],
    }


def _rules(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The restrictions that were broken, with their documentation."""
    from horovodize.cli.explain import plain_text
    from horovodize.cli.output import Console
    from horovodize.documentation import page_address
    from horovodize.restrictions import RESTRICTIONS

    rules = []
    for code in sorted({finding.violation.code for finding in findings}):
        violation = next(f.violation for f in findings if f.violation.code == code)
        rule: dict[str, Any] = {"id": code, "name": _pascal_case(violation.name)}
        if code in RESTRICTIONS:
            restriction = RESTRICTIONS[code]
            rule["shortDescription"] = {"text": restriction.title}
            text = plain_text(restriction.docs, Console("never"))
            rule["help"] = {"text": text, "markdown": restriction.docs}
            rule["helpUri"] = page_address(code)
            rule["defaultConfiguration"] = {"level": _LEVELS[restriction.severity.value]}
        rules.append(rule)
    return rules


def _result(finding: Finding, numbers: dict[str, int]) -> dict[str, Any]:
    document, v = finding.document, finding.violation
    result: dict[str, Any] = {
        "ruleId": v.code,
        "ruleIndex": numbers[v.code],
        "level": _LEVELS[v.severity.value],
        "message": {"text": v.message},
        "locations": [_location(document, v.span)],
    }
    if v.related:
        result["relatedLocations"] = [
            {**_location(document, related.span), "message": {"text": related.message}}
            for related in v.related
        ]
    return result


def _location(document: Document, span: Span) -> dict[str, Any]:
    cell = document.place(span.start).cell
    if cell is not None:
        return _location_in_notebook(document, span)
    start, end = document.lines.position(span.start), document.lines.position(span.end)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(document.path)},
            "region": {
                "startLine": start.line + 1,
                "startColumn": start.character + 1,
                "endLine": end.line + 1,
                "endColumn": end.character + 1,
            },
        }
    }


def _location_in_notebook(document: Document, span: Span) -> dict[str, Any]:
    """The line of the notebook file that holds the line of the cell; the cell and the line in it as a logical location."""
    place = document.place(span.start)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(document.path)},
            "region": {
                "startLine": document.file_line(span.start),
                "endLine": document.file_line(span.end),
            },
        },
        "logicalLocations": [
            {"name": f"cell {place.cell}", "fullyQualifiedName": place.line_words, "kind": "module"}
        ],
        "properties": {"cell": place.cell, "line": place.line, "column": place.column},
    }


def _uri(path: str) -> str:
    escaped = quote(os.fsencode(path.replace(os.sep, "/")), safe="/:" if os.name == "nt" else "/")
    return f"file://{escaped}" if os.path.isabs(path) else escaped


def _pascal_case(slug: str) -> str:
    return "".join(word.capitalize() for word in slug.split("-"))
