"""Golden cases: scripts as people write them, and what comes out.

`<pattern>/<name>.py` is the input. Beside it stands `<name>.expected.py`, the distributed text, and, where the user is told
something, `<name>.expected.txt`: reasons of a refusal, doubts to confirm, notes. Adding a case is adding a file and running

    HOROVODIZE_UPDATE_GOLDEN=1 pytest tests/golden

which writes what comes out; read it before committing it."""

from __future__ import annotations

import ast
import io
import os
import tokenize
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document, Edit, PositionEncoding, Span, line_edits
from horovodize.summary import summarize

HERE = Path(__file__).parent
INPUTS = sorted(p for p in HERE.glob("*/*.py") if not p.name.endswith(".expected.py"))
UPDATE = os.environ.get("HOROVODIZE_UPDATE_GOLDEN") == "1"
RESULTS = {"refused": Refusal, "unchanged": Unchanged}
OPTIONS = {"elastic": Options(elastic=True)}

inputs = pytest.mark.parametrize("path", INPUTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
distributed = pytest.mark.parametrize(
    "path", [p for p in INPUTS if p.parent.name not in RESULTS], ids=lambda p: f"{p.parent.name}/{p.stem}"
)


def outcome(path: Path, options: Options | None = None) -> Plan | Refusal | Unchanged:
    return distribute(summarize(Document.from_bytes(path.read_bytes(), path.name)), options or OPTIONS.get(path.parent.name))


def plan_of(path: Path) -> Plan:
    result = outcome(path)
    assert isinstance(result, Plan), result
    return result


def told(result: Plan | Refusal | Unchanged) -> str:
    """What the user is told, a line each: place, code or rule, message."""
    index = result.document.lines

    def line(span: Span, *words: str) -> str:
        at = index.position(span.start, PositionEncoding.UTF32)
        return " ".join([f"{at.line + 1}:{at.character + 1}", *words])

    match result:
        case Unchanged():
            lines = [result.message]
        case Refusal():
            lines = [line(r.span, r.code, r.message) for r in result.reasons]
        case Plan():
            lines = [line(c.span, c.rule, "confirm:", c.doubt) for c in result.changes if not c.sure]
            lines += [line(n.span, n.rule, "note:", n.message) for n in result.notes]
    return "".join(f"{entry}\n" for entry in lines)


def compare(path: Path, produced: bytes) -> None:
    if UPDATE:
        if produced:
            path.write_bytes(produced)
        else:
            path.unlink(missing_ok=True)
    expected = path.read_bytes() if path.exists() else b""
    assert produced.decode("utf-8", "backslashreplace") == expected.decode("utf-8", "backslashreplace")


@inputs
def test_what_comes_out(path: Path) -> None:
    result = outcome(path)
    assert isinstance(result, RESULTS.get(path.parent.name, Plan)), told(result)
    compare(path.with_suffix(".expected.txt"), told(result).encode())
    if isinstance(result, Plan):
        compare(path.with_suffix(".expected.py"), result.document.encoded.encode(result.text))


def test_no_expectation_is_left_over() -> None:
    stems = {p.with_suffix("") for p in [*INPUTS, *HERE.glob("notebook/*.ipynb")]}
    left = [p for p in HERE.glob("*/*.expected.*") if p.with_suffix("").with_suffix("") not in stems]
    assert not left


# ---------------------------------------------------------------------- what holds for every result


@distributed
def test_the_result_compiles_and_is_distributed(path: Path) -> None:
    text = plan_of(path).text
    compile(text, path.name, "exec", dont_inherit=True)
    assert isinstance(distribute(summarize(Document(text)), Options()), Unchanged)


@distributed
def test_edits_undo_to_the_same_bytes(path: Path) -> None:
    plan = plan_of(path)
    undo, shift = [], 0
    for edit in plan.edits:
        start = edit.span.start + shift
        old = plan.document.text[edit.span.start : edit.span.end]
        undo.append(Edit(Span(start, start + len(edit.new_text)), old))
        shift += len(edit.new_text) - len(old)
    assert plan.document.encoded.encode(apply_as_client(plan.text, undo)) == path.read_bytes()


@distributed
def test_a_client_that_applies_the_edits_gets_the_same_text(path: Path) -> None:
    plan = plan_of(path)
    assert apply_as_client(plan.document.text, plan.edits) == plan.text
    joined = line_edits(plan.document.text, plan.edits)
    assert apply_as_client(plan.document.text, joined) == plan.text
    assert len({e.span.start for e in joined}) == len(joined)


def apply_as_client(text: str, edits: list[Edit]) -> str:
    """Applies edits as editors do: all refer to the first text; of those at one place, the first comes first."""
    for edit in reversed(edits):
        text = text[: edit.span.start] + edit.new_text + text[edit.span.end :]
    return text


@distributed
def test_every_comment_is_kept(path: Path) -> None:
    plan = plan_of(path)
    lost = comments(plan.document.text) - comments(plan.text)
    deleted = [e for e in plan.edits if "#" in plan.document.text[e.span.start : e.span.end]]
    assert not lost, f"lost with {deleted}"


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return Counter(t.string for t in tokens if t.type == tokenize.COMMENT)


@distributed
def test_line_ends_and_indents_stay_of_one_kind(path: Path) -> None:
    plan = plan_of(path)
    before, after = plan.document.text, plan.text
    assert ("\r\n" in before) == ("\r\n" in after)
    assert (
        after.count("\n") - after.count("\r\n") == before.count("\n") - before.count("\r\n")
        or "\r" not in before
    )
    for line in after.splitlines():
        white = line[: len(line) - len(line.lstrip())]
        assert "\t" not in white or "\t" in before, line
    if "\n\t" in before:
        assert not any(line.startswith("    ") for line in after.splitlines())
    assert not [line for line in after.splitlines() if line != line.rstrip()] or " \n" in before


@distributed
@pytest.mark.parametrize(
    "options", [Options(comments=False), Options(split_data=False), Options(strict=True)], ids=str
)
def test_settings_change_what_they_say(path: Path, options: Options) -> None:
    elastic = OPTIONS.get(path.parent.name, Options()).elastic
    plan, other = plan_of(path), outcome(path, replace(options, elastic=elastic))
    if isinstance(other, Refusal):
        assert options.strict or (elastic and not options.split_data)
        return
    assert isinstance(other, Plan)
    compile(other.text, path.name, "exec", dont_inherit=True)
    if not options.comments:
        assert comments(other.text) == comments(plan.document.text)
        assert ast.dump(ast.parse(other.text)) == ast.dump(ast.parse(plan.text))
    if not options.split_data:
        assert not {c.rule for c in other.changes} & {"K4", "D1", "D2"}
        assert "shard" not in other.text.lower()
        assert "// hvd" not in other.text
