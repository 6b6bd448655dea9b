"""Any program: never a crash; what is changed compiles, is changed once, and can be undone to the last byte."""

from __future__ import annotations

import random
import warnings
from itertools import pairwise
from typing import Any

import hypothesmith
from hypothesis import strategies as st
from lsprotocol.types import TextDocumentItem, WorkspaceEdit
from pygls.protocol import default_converter

from horovodize.distribute import distribute
from horovodize.explaining.explanation import explain
from horovodize.explaining.markup import Markup
from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.project_view import alone
from horovodize.lsp.session import Session
from horovodize.lsp.workspace_edit import plan_edit
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.restrictions import check
from horovodize.source import Document, PositionEncoding, Span
from horovodize.summary import ModuleSummary, summarize
from tests.robustness.buffer import Buffer
from tests.robustness.cases import cases
from tests.robustness.mutation import mutated, seeds

OPTIONS = st.builds(Options, split_data=st.booleans(), comments=st.booleans(), strict=st.booleans())
CONVERTER = default_converter()
INTERNAL = "HVD007"


def compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<case>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def check_places(text: str, spans: list[Span]) -> None:
    for span in spans:
        assert 0 <= span.start <= span.end <= len(text)


def check_plan(text: str, plan: Plan, options: Options, encoding: PositionEncoding) -> None:
    """What holds for every plan."""
    assert not plan.edits or plan.text != text
    for before, after in pairwise(plan.edits):
        assert before.span.end <= after.span.start
    if compiles(text):  # what parses need not: `return` outside a function
        assert compiles(plan.text)
    again = distribute(summarize(Document(plan.text)), options)
    assert isinstance(again, Unchanged), again
    buffer = Buffer(text, encoding.value)
    back = buffer.apply(sent_edits(text, plan, encoding))
    assert buffer.text == plan.text
    buffer.apply(back)
    assert buffer.text == text


def sent_edits(text: str, plan: Plan, encoding: PositionEncoding) -> list[Any]:
    """The edits of a plan as a client gets them."""
    opened = Session(encoding=encoding).open(TextDocumentItem("file:///case.py", "python", 1, text))
    assert opened is not None
    opened.document = plan.document
    edit: WorkspaceEdit = plan_edit(opened, plan, {}, encoding, Capabilities())
    changes: dict[str, list[Any]] = CONVERTER.unstructure(edit)["changes"]
    assert set(changes) <= {"file:///case.py"}
    return changes.get("file:///case.py", [])


def check_all(text: str, options: Options, encoding: PositionEncoding, chance: random.Random) -> None:
    """Asks everything that a client may ask of a text."""
    document = Document(text)
    summary: ModuleSummary = summarize(document)
    for violation in check(summary, options):
        assert violation.message
        check_places(text, [violation.span, *(note.span for note in violation.related)])
        for fix in violation.fixes:
            result = Document(text)
            result.verify(fix.edits)
    check_places(text, [place for loop in summary.loops for place in (loop.span, loop.site)])
    check_places(text, [place for role in summary.roles for place in (role.span, *role.uses)])
    outcome = distribute(summary, options)
    match outcome:
        case Plan():
            check_plan(text, outcome, options, encoding)
        case Refusal():
            assert outcome.reasons
            for reason in outcome.reasons:
                assert reason.code != INTERNAL, reason.message
                assert reason.message
            check_places(text, [reason.span for reason in outcome.reasons])
    if summary.problem is None:
        from horovodize.lsp.analysis import Analysis

        analysis = Analysis(document, options)
        for _ in range(3):
            explain(alone(analysis), chance.randrange(len(text) + 1), Markup(chance.random() < 0.5))


@cases(400, st.integers(0, 2**32), OPTIONS, st.sampled_from(PositionEncoding))
def test_mutated_scripts(number: int, options: Options, encoding: PositionEncoding) -> None:
    check_all(mutated(number), options, encoding, random.Random(number))


@cases(25, hypothesmith.from_grammar(), st.integers(0, 2**32), OPTIONS, st.sampled_from(PositionEncoding))
def test_any_python(python: str, number: int, options: Options, encoding: PositionEncoding) -> None:
    """By itself, and in the place of a line of a script that trains."""
    chance = random.Random(number)
    check_all(python, options, encoding, chance)
    lines = chance.choice(seeds()).split("\n")
    at = chance.randrange(len(lines))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at : at + chance.randint(0, 1)] = [indent + line for line in python.split("\n")]
    check_all("\n".join(lines), options, encoding, chance)


@cases(
    150,
    st.text(st.characters(), max_size=40),
    st.integers(0, 2**32),
    OPTIONS,
    st.sampled_from(PositionEncoding),
)
def test_any_text_in_a_script(text: str, number: int, options: Options, encoding: PositionEncoding) -> None:
    """Also what no file can hold: halves of characters, null bytes."""
    chance = random.Random(number)
    script = chance.choice(seeds())
    at = chance.randrange(len(script) + 1)
    around = chance.choice([("", ""), ("# ", "\n"), ("'''", "'''"), ("\n", "\n"), (".", "")])
    check_all(script[:at] + around[0] + text + around[1] + script[at:], options, encoding, chance)


@cases(60, st.integers(0, 2**32), st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-8"]))
def test_undone_every_byte_is_what_it_was(number: int, encoding: str) -> None:
    """From a file's bytes through the edits and back."""
    chance = random.Random(number)
    text = chance.choice([seed for seed in seeds() if "coding:" not in seed])
    if encoding not in ("utf-8", "utf-8-sig"):
        text = f"# -*- coding: {encoding} -*-\n# é\n" + text.encode("ascii", "ignore").decode()
    text = text.replace("\n", chance.choice(["\n", "\r\n"]))
    data = text.encode(encoding)
    document = Document.from_bytes(data, "case.py")
    assert document.edited([]) == data
    plan = distribute(summarize(document))
    if isinstance(plan, Plan):
        buffer = Buffer(document.text)
        back = buffer.apply(sent_edits(document.text, plan, PositionEncoding.UTF16))
        assert document.encoded.encode(buffer.text) == document.edited(plan.edits)
        buffer.apply(back)
        assert document.encoded.encode(buffer.text) == data
