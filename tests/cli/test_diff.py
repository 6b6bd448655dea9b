"""Diffs that tools can apply, with the reason for each change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horovodize.cli.diff import print_diff
from horovodize.cli.output import Console
from horovodize.plan import Change, Plan
from horovodize.source import Document, Edit, Move, Span


class Recorder(Console):
    """Keeps what is printed."""

    def __init__(self) -> None:
        super().__init__("never")
        self.data = b""

    def write(self, data: str | bytes) -> None:
        self.data += data if isinstance(data, bytes) else data.encode()


def diff(data: bytes, *edits: Edit | Move, rule: str = "C1") -> tuple[bytes, bytes]:
    """The diff of a file named x.py, and what it should make of it."""
    document = Document.from_bytes(data, "x.py")
    plan = Plan(document, [Change(rule, "What", "Why.", Span(0, 0), tuple(edits))])
    recorder = Recorder()
    print_diff(plan, recorder)
    return recorder.data, document.encoded.encode(plan.text)


def git_apply(folder: Path, data: bytes, patch: bytes) -> bytes:
    (folder / "x.py").write_bytes(data)
    command = ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"]
    subprocess.run(command, cwd=folder, input=patch, check=True)
    return (folder / "x.py").read_bytes()


TEN = b"".join(b"line %d\n" % i for i in range(10))

CASES = {
    "insert a line": (TEN, [Edit.insert(7, "new\n")]),
    "insert at the start": (TEN, [Edit.insert(0, "new\n")]),
    "insert at the end": (TEN, [Edit.insert(len(TEN), "new\n")]),
    "replace within a line": (TEN, [Edit(Span(0, 4), "Line")]),
    "delete lines": (TEN, [Edit(Span(7, 21), "")]),
    "delete all": (TEN, [Edit(Span(0, len(TEN)), "")]),
    "two edits in a line": (TEN, [Edit.insert(0, "("), Edit.insert(6, ")")]),
    "far apart": (TEN, [Edit.insert(0, "a\n"), Edit.insert(len(TEN), "b\n")]),
    "no line end at the end": (b"a\nb", [Edit.insert(3, "c")]),
    "no line end, changed above": (b"a\nb", [Edit.insert(0, "c\n")]),
    "line end added": (b"a", [Edit.insert(1, "\n")]),
    "empty file": (b"", [Edit.insert(0, "a\n")]),
    "windows line ends": (b"a\r\nb\r\nc\r\n", [Edit.insert(3, "n\r\n")]),
    "other encoding": ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), [Edit.insert(18, "y = 'ü'\n")]),
    "beyond the basic plane": ("x = '😀'\n".encode(), [Edit.insert(6, "!")]),
    "form feed inside": (b"a\n\x0cb\nc\n", [Edit.insert(5, "new\n")]),
    "move": (b"a\nf(g(x))\n", [Move(Span(4, 8), 2, "v = ", "\n", "v")]),
    "replace many by one": (TEN, [Edit(Span(14, 35), "one\n")]),
}


@pytest.mark.parametrize("name", CASES)
def test_git_can_apply_it(tmp_path: Path, name: str) -> None:
    data, edits = CASES[name]
    patch, expected = diff(data, *edits)
    assert expected != data
    assert git_apply(tmp_path, data, patch) == expected


@given(
    lines=st.lists(st.text(st.sampled_from("ab é"), max_size=4), max_size=30),
    ends=st.booleans(),
    places=st.lists(
        st.tuples(st.integers(0, 90), st.integers(0, 5), st.text(st.sampled_from("xy\n"), max_size=4)),
        max_size=4,
    ),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edits_can_be_applied(
    tmp_path: Path, lines: list[str], ends: bool, places: list[tuple[int, int, str]]
) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    edits, at = [], 0
    for gap, length, new in sorted(places):
        start = min(max(gap, at), len(text))
        end = min(start + length, len(text))
        edits.append(Edit(Span(start, end), new))
        at = end + 1
    patch, expected = diff(text.encode(), *edits)
    if expected != text.encode():
        assert git_apply(tmp_path, text.encode(), patch) == expected


def test_only_lines_that_differ_are_shown() -> None:
    patch, _ = diff(TEN, Edit.insert(0, "new\n"), Edit.insert(len(TEN), "end\n"))
    assert [line for line in patch.decode().splitlines() if line[0] in "+-"] == [
        "--- a/x.py", "+++ b/x.py", "+new", "+end",
    ]  # fmt: skip
    assert patch.count(b"@@ -") == 2


def test_hunks_name_their_rules() -> None:
    document = Document(TEN.decode(), "x.py")
    edits = [Edit.insert(0, "a\n"), Edit(Span(7, 11), "Line"), Edit.insert(len(TEN), "b\n")]
    changes = [Change(f"C{i}", "", "", Span(0, 0), (edit,)) for i, edit in enumerate(edits)]
    recorder = Recorder()
    print_diff(Plan(document, changes), recorder)
    assert [line for line in recorder.data.decode().splitlines() if line.startswith("@@")] == [
        "@@ -1,5 +1,6 @@ C0, C1", "@@ -8,3 +9,4 @@ C2",
    ]  # fmt: skip
