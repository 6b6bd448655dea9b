"""`horovodize check`: which findings, in which form, which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horovodize.documentation import page_address
from horovodize.options import Options
from horovodize.restrictions.violation import Fix, Related, Severity, Violation
from horovodize.source import Edit, Span

TEXT = "x = '😀'; y\nz\n"
Y, Z = Span(9, 10), Span(11, 12)

ALIAS = Violation(
    "HVD105", "aliased-optimizer", "two names, 100% one\noptimizer", Y, Severity.WARNING,
    (Related("the other name", Z),), (Fix("Drop the alias", (Edit(Y, ""),)),),
)  # fmt: skip
LATE = Violation("HVD202", "late-import", "too late", Z, Severity.INFORMATION)
HINT = Violation("HVD001", "not-distributed", "could be", Z, Severity.HINT)


@pytest.fixture(autouse=True)
def _script(engine, tmp_path: Path) -> None:
    engine.violations = [ALIAS, LATE, HINT]
    (tmp_path / "a b.py").write_text(TEXT, encoding="utf-8")


def found(result) -> list[str]:
    return [finding["code"] for finding in json.loads(result.out)]


def test_text(run) -> None:
    result = run("check", "a b.py")
    assert result.status == 1
    assert result.out == (
        "a b.py:1:10: HVD105 two names, 100% one\noptimizer [aliased-optimizer]\n"
        "    a b.py:2:1: the other name\n"
        "    quick fix: Drop the alias\n"
        "a b.py:2:1: HVD202 too late [late-import]\n"
    )
    assert result.err == "2 findings in 1 file\n"


def test_clean(run, engine) -> None:
    engine.violations = []
    result = run("check", "a b.py")
    assert (result.status, result.out, result.err) == (0, "", "no findings\n")


def test_json_is_a_list_with_positions_of_the_protocol(run) -> None:
    result = run("check", "a b.py", "--format", "json")
    assert result.status == 1
    assert json.loads(result.out)[0] == {
        "path": "a b.py",
        "code": "HVD105",
        "name": "aliased-optimizer",
        "message": "two names, 100% one\noptimizer",
        "severity": "warning",
        "range": {
            "start": {"line": 0, "character": 10},
            "end": {"line": 0, "character": 11},
        },  # 😀 is two units
        "related": [
            {
                "path": "a b.py",
                "message": "the other name",
                "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 1}},
            }
        ],
        "url": page_address("HVD105"),
    }
    assert result.err == ""


def test_json_of_nothing_is_an_empty_list(run, engine) -> None:
    engine.violations = []
    result = run("check", "a b.py", "--format", "json")
    assert (result.status, json.loads(result.out)) == (0, [])


def test_github(run) -> None:
    assert run("check", "a b.py", "--format", "github").out.splitlines() == [
        "::warning file=a b.py,line=1,endLine=1,title=HVD105 aliased-optimizer,col=10,endColumn=11"
        "::two names, 100%25 one%0Aoptimizer%0Aa b.py:2:1: the other name",
        "::notice file=a b.py,line=2,endLine=2,title=HVD202 late-import,col=1,endColumn=2::too late",
    ]


def test_github_escapes_what_separates(run, tmp_path: Path) -> None:
    (tmp_path / "a,b:c.py").write_text(TEXT)
    assert "file=a%2Cb%3Ac.py,line" in run("check", "a,b:c.py", "--format", "github").out


def test_sarif(run) -> None:
    log = json.loads(run("check", "a b.py", "--format", "sarif").out)
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    assert only["columnKind"] == "utf16CodeUnits"
    driver = only["tool"]["driver"]
    assert driver["name"] == "horovodize"
    assert [rule["id"] for rule in driver["rules"]] == ["HVD105", "HVD202"]
    first, second = only["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("HVD105", 0, "warning")
    assert (second["ruleIndex"], second["level"]) == (1, "note")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.py"
    assert place["region"] == {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 12}
    assert first["relatedLocations"][0]["message"]["text"] == "the other name"
    assert "relatedLocations" not in second


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        ([], ["HVD105", "HVD202"]),
        (["--select", "HVD001"], ["HVD001"]),
        (["--select", "ALL"], ["HVD105", "HVD202", "HVD001"]),
        (["--select", "HVD1"], ["HVD105"]),
        (["--select", "hvd202,HVD105"], ["HVD105", "HVD202"]),
        (["--ignore", "HVD105"], ["HVD202"]),
        (["--ignore", "HVD2,HVD1"], []),
        (["--ignore", "HVD2", "--ignore", "HVD1"], []),
        (["--select", "hvd202", "--select", "HVD105"], ["HVD105", "HVD202"]),
        (["--select", "ALL", "--ignore", "HVD001"], ["HVD105", "HVD202"]),
    ],
)
def test_select_and_ignore(run, flags: list[str], codes: list[str]) -> None:
    result = run("check", "a b.py", "--format", "json", *flags)
    assert found(result) == codes
    assert result.status == (0 if codes in ([], ["HVD202"]) else 1)  # that one is an information here


def test_an_unknown_code_is_an_error(run) -> None:
    for flag in ("--select", "--ignore"):
        result = run("check", "a b.py", flag, "HVD105,XYZ1")
        assert result.status == 2
        assert "unknown code 'XYZ1'" in result.err


def test_settings_select(run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.horovodize]\nignore = ['HVD105']")
    assert found(run("check", "a b.py", "--format", "json")) == ["HVD202"]
    assert found(run("check", "a b.py", "--format", "json", "--ignore", "HVD202")) == ["HVD105"]


def test_strict_reaches_the_engine(run, engine) -> None:
    run("check", "a b.py", "--strict")
    assert engine.options == [Options(strict=True)]


def test_a_file_that_cannot_be_decoded_is_a_finding_whatever_is_selected(run, engine, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_bytes(b"\xff")
    result = run("check", "b.py", "--format", "json", "--select", "HVD105")
    assert (result.status, found(result)) == (1, ["HVD003"])


def test_a_missing_file_is_an_error_beside_the_findings(run) -> None:
    result = run("check", "a b.py", "missing.py", "--format", "json")
    assert result.status == 2
    assert found(result) == ["HVD105", "HVD202"]
    assert "missing.py: no such file or folder" in result.err


def test_where_nothing_was_read_nothing_is_said_of_findings(run) -> None:
    result = run("check", "missing.py")
    assert (result.status, result.out) == (2, "")
    assert "findings" not in result.err


def test_standard_input(run) -> None:
    assert run("check", "-", stdin=TEXT.encode()).out.startswith("<stdin>:1:10: HVD105")
    assert run("check", "-", "--stdin-filename", "n.py", stdin=TEXT.encode()).out.startswith(
        "n.py:1:10: HVD105"
    )
