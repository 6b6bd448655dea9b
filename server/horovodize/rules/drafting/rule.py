"""What a rule is: an id, a title, its docs (the docstring of its module), and what it writes into a draft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from horovodize.rules.drafting.draft import Draft


@dataclass(frozen=True)
class Rule:
    """`apply` adds the rule's changes, doubts and refusals to a draft; None: another rule makes its changes with its own.
    `docs` is Markdown."""

    id: str
    title: str
    apply: Callable[[Draft], None] | None
    docs: str = ""
