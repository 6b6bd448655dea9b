"""The data's cost, and that it is read from nothing but itself."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from horovodize import catalogue
from horovodize.catalogue import canonical, cls, data, function, is_a
from horovodize.catalogue.signatures import parse

FILE = Path(catalogue.__file__).with_name("data.json")


def test_small_and_quick() -> None:
    assert FILE.stat().st_size < 150_000
    best = float("inf")
    for _ in range(20):
        start = time.process_time()
        data.load.__wrapped__()
        best = min(best, time.process_time() - start)
    assert best < 0.005


def test_importing_reads_nothing_and_brings_no_tensorflow() -> None:
    code = (
        "import sys; from horovodize import catalogue; from horovodize.catalogue.data import load;"
        " assert load.cache_info().currsize == 0; catalogue.cls('keras.Model');"
        " assert load.cache_info().currsize == 1;"
        " print(sorted({m.split('.')[0] for m in sys.modules} & {'tensorflow', 'keras', 'numpy', 'libcst'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_every_entry_can_be_read() -> None:
    known = data.load()
    for name, entry in known.classes.items():
        found = cls(name)
        assert found is not None
        assert all(base in known.classes for base in found.bases), name
        assert name not in found.ancestors
        assert all(is_a(name, ancestor) for ancestor in found.ancestors)
        for parameters in entry.get("methods", {}).values():
            parse(parameters)
    assert all(function(name) for name in known.functions)


def test_canonical_names_are_canonical() -> None:
    known = data.load()
    for name in [*known.classes, *known.functions, *known.aliases.values(), *known.strings.values()]:
        assert canonical(name) == name
    for spelling in known.aliases:
        assert canonical(canonical(spelling)) == canonical(spelling)


def test_nothing_is_both_a_name_and_another_names_alias() -> None:
    known = data.load()
    assert not set(known.aliases) & (set(known.classes) | set(known.functions))


def test_the_file_is_one_entry_a_line() -> None:
    text = FILE.read_text(encoding="utf-8")
    raw = json.loads(text)
    assert raw["tensorflow"].startswith("2.15.")
    assert len(text.splitlines()) > sum(len(value) for value in raw.values() if isinstance(value, dict))
