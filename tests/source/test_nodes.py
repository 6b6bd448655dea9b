from __future__ import annotations

import ast
from pathlib import Path

import pytest

from horovodize.source.nodes import children, walk

SOURCES = sorted(Path(__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_nodes_are_found_in_the_order_of_ast(path: Path) -> None:
    tree = ast.parse(path.read_text())
    expected = [n for n in ast.walk(tree) if not isinstance(n, ast.expr_context)]
    assert list(walk(tree)) == expected
    for node in expected:
        inside = [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr_context)]
        assert children(node) == inside
