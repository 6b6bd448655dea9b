"""A short day of what `make soak` makes a long one of."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types

from horovodize.lsp.distribution import outcome_of
from horovodize.lsp.session import Session
from tests.robustness.mutation import seeds
from tests.robustness.soak import soak
from tests.robustness.wire import Wire


def test_memory_stays_where_it_is(start: Callable[[], Wire], tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    wire = start()
    course = soak(wire, folder, 4000)
    assert course.growth < 1.1, str(course)
    assert course.questions > 500
    assert wire.exit() == 0


def test_nothing_is_kept_of_a_version_that_is_gone() -> None:
    """Of every script here: after two more versions, all that was found out about it is forgotten."""
    session, kept = Session(), []
    uri = "file:///train.py"
    document = session.open(types.TextDocumentItem(uri, "python", 1, ""))
    assert document is not None
    for version, text in enumerate([*seeds(), "x = 1\n", "x = 2\n"], 2):
        session.change(uri, version, [types.TextDocumentContentChangeWholeDocument(text)])
        analysis = document.analysis(document.settings.options)
        assert analysis.violations is not None
        assert analysis.outcome is not None
        for part in (analysis.summary, analysis.summary.module, analysis.summary.sites):
            if part is not None:
                kept.append((version, weakref.ref(part)))
        del analysis, part
    gc.collect()
    # one that is brought from version to version, and one of the last version that parsed, may be there
    left = {id(found): type(found).__name__ for _, part in kept if (found := part()) is not None}
    assert max(Counter(left.values()).values()) <= 3, Counter(left.values())


def test_nothing_is_kept_of_a_document_that_is_closed() -> None:
    """Nor of what else was open when it was looked at."""
    session, kept = Session(), []
    for name, text in enumerate(seeds()):
        uri = f"file:///train_{name}.py"
        document = session.open(types.TextDocumentItem(uri, "python", 1, text))
        assert document is not None
        assert outcome_of(session, document) is not None
        session.close(f"file:///train_{name - 1}.py")
        kept.append(weakref.ref(document))
    del document
    gc.collect()
    assert [number for number, document in enumerate(kept) if document() is not None] == [len(kept) - 1]
