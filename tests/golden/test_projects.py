"""Golden projects: scripts whose model, data, optimizer or step stand in other files, and what comes out of all of them.

`projects/<name>/` is a project; its script is the `train.py` in it. Beside each file that changes stands `<file>.expected.py`,
and beside the script `train.expected.txt` where the user is told something. Adding a project is adding a folder and running

    HOROVODIZE_UPDATE_GOLDEN=1 pytest tests/golden/test_projects.py

which writes what comes out; read it before committing it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from horovodize.distribute_project import distribute_script, files
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document
from horovodize.source.edits import apply
from horovodize.source.project import ProjectDocument

HERE = Path(__file__).parent / "projects"
SCRIPTS = sorted(HERE.glob("**/train.py"))
UPDATE = os.environ.get("HOROVODIZE_UPDATE_GOLDEN") == "1"
REFUSED = {"python2_member", "half_distributed", "only_samples"}

scripts = pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: str(p.parent.relative_to(HERE)))


def load(path: str) -> Document | None:
    file = Path(path)
    return Document.from_bytes(file.read_bytes(), path) if file.is_file() and HERE in file.parents else None


def outcome(script: Path) -> Plan | Refusal | Unchanged:
    document = load(str(script))
    assert document is not None
    return distribute_script(document, load)


def produced(plan: Plan) -> dict[Path, bytes]:
    """The files that change, after the change."""
    return {
        Path(f.document.path): f.document.encoded.encode(apply(f.document.text, f.edits)) for f in files(plan)
    }


def told(result: Plan | Refusal | Unchanged) -> str:
    """What the user is told, a line each: file and place, code or rule, message."""
    document = result.document

    def line(offset: int, *words: str) -> str:
        members = document.members if isinstance(document, ProjectDocument) else [document]
        return " ".join(
            [f"{Path(members[document.member_at(offset)].path).name}:{document.place(offset)}", *words]
        )

    match result:
        case Unchanged():
            lines = [result.message]
        case Refusal():
            lines = [line(r.span.start, r.code, r.message) for r in result.reasons]
        case Plan():
            lines = [line(c.span.start, c.rule, "confirm:", c.doubt) for c in result.changes if not c.sure]
            lines += [line(n.span.start, n.rule, "note:", n.message) for n in result.notes]
    return "".join(f"{entry}\n" for entry in lines)


def expected_of(path: Path) -> Path:
    return path.with_suffix(".expected.py")


@scripts
def test_what_comes_out(script: Path) -> None:
    result = outcome(script)
    project = HERE / script.relative_to(HERE).parts[0]
    assert isinstance(result, Refusal if project.name in REFUSED else Plan), told(result)
    changed = produced(result) if isinstance(result, Plan) else {}
    expected = {expected_of(path): text for path, text in changed.items()}
    if told(result):
        expected[script.with_suffix(".expected.txt")] = told(result).encode()
    if UPDATE:
        for old in project.glob("**/*.expected.*"):
            old.unlink()
        for path, text in expected.items():
            path.write_bytes(text)
    present = {path: path.read_bytes() for path in project.glob("**/*.expected.*")}
    assert {str(p.relative_to(project)): t.decode() for p, t in expected.items()} == {
        str(p.relative_to(project)): t.decode() for p, t in present.items()
    }


@pytest.mark.parametrize(
    "script", [s for s in SCRIPTS if s.relative_to(HERE).parts[0] not in REFUSED], ids=lambda p: p.parent.name
)
def test_the_result_compiles_and_distributing_it_again_changes_nothing(script: Path) -> None:
    plan = outcome(script)
    assert isinstance(plan, Plan)
    after = produced(plan)
    for path, text in after.items():
        compile(text, path, "exec", dont_inherit=True)
    document = load(str(script))
    assert document is not None

    def load_after(path: str) -> Document | None:
        return Document.from_bytes(after[Path(path)], path) if Path(path) in after else load(path)

    again = load_after(str(script))
    assert again is not None
    assert isinstance(distribute_script(again, load_after), Unchanged)


@scripts
def test_line_ends_stay_as_they_are(script: Path) -> None:
    result = outcome(script)
    for path, text in produced(result).items() if isinstance(result, Plan) else ():
        before = path.read_bytes()
        windows = before.count(b"\r\n") == before.count(b"\n")
        assert (text.count(b"\r\n") == text.count(b"\n")) == windows
        assert not windows or text.count(b"\r") == text.count(b"\n")


def test_every_kind_of_project_is_there() -> None:
    names = {s.relative_to(HERE).parts[0] for s in SCRIPTS}
    assert names >= REFUSED
    assert len(names) == len(SCRIPTS)
