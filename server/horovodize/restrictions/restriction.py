"""What a restriction is: a code, a name, and a function from what is known of a module to the places that break it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from horovodize.restrictions.violation import Fix, Related, Severity, Violation

if TYPE_CHECKING:
    from horovodize.restrictions.context import Context


def _nothing(context: Context) -> Iterable[Violation]:
    """For codes that are reported elsewhere (a document that can't be read never gets as far as a context)."""
    return ()


@dataclass(frozen=True)
class Restriction:
    """One restriction.

    code      "HVD105"
    name      its slug, "aliased-optimizer"
    title     the restriction in a line
    severity  of its violations, unless one says otherwise
    document  the docstring of its module: a first line, then Markdown with fixed headings
    find      the violations in a module, in any order
    blocks    whether its warnings are reasons to refuse, rather than questions to the user
    asks      whether a plan has to answer its warnings; not where the fault is the same on any number of ranks
    """

    code: str
    name: str
    title: str
    severity: Severity
    document: str = field(repr=False)
    find: Callable[[Context], Iterable[Violation]] = field(default=_nothing, repr=False)
    blocks: bool = False
    asks: bool = True

    @property
    def docs(self) -> str:
        """What the restriction protects, when it is reported, examples and near misses, as Markdown."""
        return self.document.partition("\n")[2].strip() + "\n"

    def examples(self, heading: str) -> list[str]:
        """The Python examples under a heading of the docs."""
        section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", self.docs, re.M | re.S)
        return re.findall(r"^```python\n(.*?)^```", section[1], re.M | re.S) if section else []

    def at(
        self,
        context: Context,
        node: ast.AST,
        message: str,
        *,
        severity: Severity | None = None,
        related: Iterable[Related] = (),
        fixes: Iterable[Fix | None] = (),
        blocks: bool | None = None,
    ) -> Violation:
        """A violation at a node. A fix that turned out not to be safe is None and left out."""
        return Violation(
            self.code,
            self.name,
            message,
            context.module.span(node),
            severity or self.severity,
            tuple(related),
            tuple(fix for fix in fixes if fix is not None),
            blocks=self.blocks if blocks is None else blocks,
            asks=self.asks,
        )
