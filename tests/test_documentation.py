"""The pages about findings and rules: what the docstrings say, shipped with the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from horovodize.documentation import every_page, find_page, markdown, page_address
from horovodize.refusals import REFUSALS
from horovodize.restrictions import RESTRICTIONS
from horovodize.rules import RULES

DOCS = """\
X1 sample: a rule for tests.

What it does   `a` becomes `b`,
               and more.
Before         if x:
                   y()
After          (nothing)
Source         Seed 9.
"""


@pytest.fixture(scope="module")
def writer(root: Path) -> ModuleType:
    """`scripts/pages.py`."""
    spec = importlib.util.spec_from_file_location("pages", root / "scripts" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shipped_pages_are_those_of_the_sources(writer: ModuleType) -> None:
    assert writer.differing(writer.FOLDER) == [], "run `python scripts/pages.py`"


def test_pages_are_written_mended_and_removed(writer: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    assert len(writer.write(folder)) == len(list(every_page())) + 1
    (folder / "C5.md").write_text("by hand")
    (folder / "HVD999.md").write_text("gone")
    (folder / "K3.md").unlink()
    assert writer.differing(folder) == ["C5.md", "HVD999.md", "K3.md"]
    assert writer.write(folder) == ["C5.md", "HVD999.md", "K3.md"]
    assert writer.differing(folder) == []


@pytest.mark.parametrize("id_", sorted([*RULES, *RESTRICTIONS, *REFUSALS]))
def test_every_rule_and_code_has_a_page(id_: str) -> None:
    address = page_address(id_)
    assert address is not None
    path = Path(url2pathname(urlsplit(address).path))
    assert path.read_text(encoding="utf-8").startswith(f"# {id_}: ")


@pytest.mark.parametrize("name", ["", "HVD999", "README", "../pages/C5", "c5"])
def test_what_has_no_page_has_no_address(name: str) -> None:
    assert page_address(name) is None


@pytest.mark.parametrize("name", ["C5", "c5", "HVD105", "aliased-optimizer", " hvd105 "])
def test_a_page_is_found_by_code_rule_and_slug(name: str) -> None:
    page = find_page(name)
    assert page is not None
    assert page.id in ("C5", "HVD105")
    assert find_page("") is None
    assert find_page("X9") is None


def test_headings_in_a_column_become_headings_of_markdown() -> None:
    assert markdown(DOCS) == (
        "X1 sample: a rule for tests.\n\n"
        "## What it does\n`a` becomes `b`,\nand more.\n\n"
        "## Before\n```python\nif x:\n    y()\n```\n\n"
        "## After\n(nothing)\n\n"
        "## Source\nSeed 9."
    )
