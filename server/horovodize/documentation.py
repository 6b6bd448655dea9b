"""What is known of a rule, a restriction or a refusal, as a page of Markdown.

The text is the docstring of the rule's or restriction's module and is written nowhere else. The pages in `pages/`, which
editors open from a finding, are this, written out by `scripts/pages.py`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.refusals import RefusalCode
    from horovodize.restrictions import Restriction

_FOLDER = Path(__file__).parent / "pages"
_INDENT = 15  # columns before the text of a rule's sections
_HEADING = re.compile(r"(\S(?:\S| (?! ))*) {2,}(?=\S)")
_CODE = ("Before", "After")


@dataclass(frozen=True)
class Page:
    """One page.

    id     what it is about: "HVD105", "C5"
    name   its slug, for codes: "aliased-optimizer"; "" for rules
    title  in a line
    body   Markdown, without the heading of the page
    """

    id: str
    name: str
    title: str
    body: str

    @property
    def text(self) -> str:
        """The whole page."""
        return f"# {self.id}: {self.name or self.title}\n\n{self.body.strip()}\n"


def every_page() -> Iterator[Page]:
    """The pages of the codes, then of the rules, each in order."""
    from horovodize.refusals import REFUSALS
    from horovodize.restrictions import RESTRICTIONS
    from horovodize.rules import RULES

    codes: dict[str, Restriction | RefusalCode] = {**RESTRICTIONS, **REFUSALS}
    for code, about in sorted(codes.items()):
        yield Page(code, about.name, about.title, f"{_sentence(about.title)}\n\n{about.docs}")
    for rule in RULES.values():
        yield Page(rule.id, "", rule.title, markdown(rule.docs))


def find_page(name: str) -> Page | None:
    """The page about a code ("HVD105"), a slug ("aliased-optimizer") or a rule ("C5"), in any case of letters; None: there
    is no such thing."""
    wanted = name.strip().upper()
    return next((page for page in every_page() if wanted and wanted in (page.id, page.name.upper())), None)


def index(pages: list[Page]) -> str:
    """The page that lists the others."""
    codes = [f"| [{page.id}]({page.id}.md) | {page.name} | {page.title} |" for page in pages if page.name]
    rules = [f"| [{page.id}]({page.id}.md) | {page.title} |" for page in pages if not page.name]
    return "\n".join(
        [
            "# Findings and rules",
            "",
            "Written by `scripts/pages.py` from the sources.",
            "",
            "| code | name | what must hold, or why a script is refused |",
            "| --- | --- | --- |",
            *codes,
            "",
            "| rule | what distributing does |",
            "| --- | --- |",
            *rules,
            "",
        ]
    )


@cache
def page_address(code: str) -> str | None:
    """The `file:` URI of the page about a code or a rule; None: there is none."""
    path = _FOLDER / f"{code}.md"
    return path.as_uri() if re.fullmatch(r"[A-Z]+\d+", code) and path.is_file() else None


def index_address() -> str:
    """The `file:` URI of the page that lists the others."""
    return (_FOLDER / "README.md").as_uri()


def markdown(docs: str) -> str:
    """A rule's docstring, with its headings in a column beside their texts, as Markdown."""
    blocks: list[str] = []
    for line in docs.strip().splitlines():
        heading = _HEADING.match(line)
        if heading is not None and len(heading[0]) == _INDENT:
            blocks += [heading[1], line[_INDENT:]]
        elif blocks and (not line or line.startswith(" ")):
            blocks[-1] += "\n" + line[_INDENT:]
        elif len(blocks) % 2 == 1 or not blocks:
            blocks = ["\n".join([*blocks, line])]
        else:
            blocks[-1] += "\n" + line
    parts = [blocks[0].strip()] if blocks else []
    for title, lines in zip(blocks[1::2], blocks[2::2], strict=False):
        text = textwrap.dedent(lines).strip("\n")
        is_code = title in _CODE and not text.startswith("(")
        parts.append(f"## {title}\n" + (f"```python\n{text}\n```" if is_code else text))
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
