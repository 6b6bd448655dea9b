"""A small text of paragraphs and lists, as Markdown or as plain text. What the user's file says is escaped,
never rendered."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"[\\`*\[\]<>&~|]|(?<![^\W_])_|_(?![^\W_])|^[#+\-=](?=\s|$)|^\d+(?=[.)]\s)")
_QUOTED = re.compile(r"`([^`\n]+)`")


class Markup:
    """Collects blocks. `text` is prose in which `…` quotes code; everything else in it is taken literally."""

    def __init__(self, markdown: bool) -> None:
        self.markdown = markdown
        self._blocks: list[str] = []

    @property
    def empty(self) -> bool:
        return not self._blocks

    def paragraph(self, text: str, *, strong: bool = False) -> None:
        rendered = self._prose(text)
        self._blocks.append(f"**{rendered}**" if strong and self.markdown else rendered)

    def bullets(self, items: Iterable[str]) -> None:
        self.linked_bullets((item, None, "") for item in items)

    def linked_bullets(self, items: Iterable[tuple[str, str | None, str]]) -> None:
        """Of each item its text, and the address and the words of a link after it, shown where Markdown is read."""
        lines = [
            f"- {self._prose(text)}" + (f" [{words}](<{address}>)" if address and self.markdown else "")
            for text, address, words in items
        ]
        if lines:
            self._blocks.append("\n".join(lines))

    @property
    def text(self) -> str:
        return "\n\n".join(self._blocks)

    def _prose(self, text: str) -> str:
        text = " ".join(text.split())
        if not self.markdown:
            return text.replace("`", "")
        parts, at = [], 0
        for quoted in _QUOTED.finditer(text):
            parts += [_escape(text[at : quoted.start()]), quoted[0]]
            at = quoted.end()
        return "".join([*parts, _escape(text[at:])])


def code(text: str) -> str:
    """Source text as code within prose. Backquotes, which Python has not, would end the code: they are left
    out."""
    return "`" + " ".join(text.replace("`", "").split()) + "`" if text.strip("` \n") else ""


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0] if not match[0].isdigit() else match[0] + "\\", text)
