"""Notebooks for tests, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from horovodize.source.notebook import NotebookFile

Source = str | list[str] | None


def code_cell(source: Source) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def lines(source: str) -> list[str]:
    """A source as notebooks split it."""
    return source.splitlines(keepends=True)


def notebook(*cells: str | dict[str, Any], indent: int | None = 1, **metadata: object) -> str:
    """A notebook of format 4: code cells by their text, other cells as they are."""
    made = [code_cell(lines(cell)) if isinstance(cell, str) else cell for cell in cells]
    whole = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=indent, ensure_ascii=False) + "\n"


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": lines(text)}


def document(*cells: str | dict[str, Any]) -> NotebookFile:
    return NotebookFile.from_bytes(notebook(*cells).encode("utf-8", "surrogatepass"), "n.ipynb")


def sources(data: bytes) -> Sequence[str]:
    """The sources of all cells of a notebook file, read as any program reads them."""
    cells = json.loads(data.decode("utf-8-sig"))["cells"]
    return ["".join(cell.get("source") or "") for cell in cells]
