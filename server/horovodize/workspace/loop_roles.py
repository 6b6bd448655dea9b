"""Which of a script's optimizers, models, data sets … belong to which of its training loops.

With one loop, all do. With several: those that are made or used in the loop's function or statement, and those that other
statements bring together with these (`model.compile(optimizer)`), other loops' statements aside."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from horovodize.source import Document, Span
from horovodize.source.project import ProjectDocument

if TYPE_CHECKING:
    from horovodize.summary import ModuleSummary, RoleAt, TrainingLoop

_APART = ("loop", "tensorflow")  # roles that belong to the file


def roles_by_loop(summary: ModuleSummary) -> Iterator[tuple[TrainingLoop, list[RoleAt]]]:
    """The loops, each place once, with what plays a role in them."""
    loops = list({loop.span: loop for loop in reversed(summary.loops)}.values())[::-1]
    roles = [role for role in summary.roles if role.role not in _APART]
    if len(loops) == 1:
        yield loops[0], roles
        return
    statements = _Statements(summary.document, roles)
    sites = [loop.site for loop in loops]
    for loop in loops:
        others = [site for site in sites if site != loop.site]
        yield loop, [roles[i] for i in sorted(statements.together(loop.site, others))]


class _Statements:
    """The statements of a document, and the roles that each mentions."""

    def __init__(self, document: Document, roles: list[RoleAt]) -> None:
        self._points = sorted(
            (span.start, index) for index, role in enumerate(roles) for span in (role.span, *role.uses)
        )
        self._around: list[Span] = []  # functions, loops and simple statements
        self._simple: list[tuple[Span, set[int]]] = []
        trees = document.trees if isinstance(document, ProjectDocument) else [document.tree]
        for tree in trees:
            for node in ast.walk(tree) if tree is not None else ():
                if not isinstance(node, ast.stmt) or isinstance(node, ast.ClassDef):
                    continue
                span = document.span(node)
                if not hasattr(node, "body"):
                    mentioned = self._mentioned(span)
                    if len(mentioned) > 1:
                        self._simple.append((span, mentioned))
                    self._around.append(span)
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)):
                    self._around.append(span)

    def together(self, site: Span, others: list[Span]) -> set[int]:
        """The roles, by index, of the loop at a site."""
        around = [span for span in self._around if site in span and not any(o in span for o in others)]
        widest = max(around, key=lambda span: span.end - span.start, default=site)
        found = self._mentioned(widest)
        joining = [m for span, m in self._simple if not any(other in span for other in others)]
        grown = True
        while grown:
            grown = False
            for mentioned in joining:
                if mentioned & found and not mentioned <= found:
                    found |= mentioned
                    grown = True
        return found

    def _mentioned(self, span: Span) -> set[int]:
        start = bisect_left(self._points, (span.start, -1))
        end = bisect_left(self._points, (span.end, -1))
        return {index for _, index in self._points[start:end]}
