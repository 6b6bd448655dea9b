"""Hooks of MkDocs: they list the pages of findings and rules in the navigation, and mark tables and the search box so that a
screen reader can tell what they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>(?:\s*<th[^>]*></th>)+\s*</tr>\s*</thead>")
_EMPTY_HEADING = re.compile(r"<th([^>]*)></th>")


def on_config(config: Any) -> Any:
    names = sorted(path.name for path in (Path(config["docs_dir"]) / "rules").glob("*.md"))
    codes = [f"rules/{name}" for name in names if name.startswith("HVD")]
    rules = [f"rules/{name}" for name in names if not name.startswith("HVD") and name != "index.md"]
    section = ["rules/index.md", {"Findings": codes}, {"Rules": rules}]
    name = "Rules and findings"
    config["nav"] = [{name: section} if name in entry else entry for entry in config["nav"]]
    return config


def on_page_content(html: str, **_: Any) -> str:
    return _EMPTY_HEADING.sub(r"<td\1></td>", _EMPTY_HEAD.sub("", html))


def on_post_page(output: str, **_: Any) -> str:
    return output.replace(
        'data-md-component="search" role="dialog"',
        'data-md-component="search" role="dialog" aria-label="Search"',
    )
