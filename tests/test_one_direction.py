"""Imports run in one direction: no module, and no package of the top level, imports what imports it, by however many others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import horovodize

HOME = Path(horovodize.__file__).parent
MODULES = {
    ".".join(("horovodize", *path.relative_to(HOME).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in HOME.rglob("*.py")
}


def imported_by(path: Path) -> Iterator[str]:
    """The modules that one imports when it is loaded, rather than in a function, or for types alone."""
    for n in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("horovodize"):
            for alias in n.names:
                part = f"{n.module}.{alias.name}"
                yield part if part in MODULES else str(n.module)


def test_modules_import_in_one_direction() -> None:
    graph = {name: {m for m in imported_by(path) if m != name} for name, path in MODULES.items()}
    assert list(TopologicalSorter(graph).static_order())  # raises where there is none


def test_packages_import_in_one_direction() -> None:
    graph: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        if name != "horovodize":
            package = name.split(".")[1]
            graph.setdefault(package, set()).update(m.split(".")[1] for m in imported_by(path) if "." in m)
            graph[package].discard(package)
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("summary") < order.index("facts") < order.index("rules") < order.index("distribute")
    assert "restrictions" not in graph["rules"]
    assert "rules" not in graph["restrictions"]
