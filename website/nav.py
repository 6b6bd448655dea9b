"""Puts the pages of findings and rules into the site's navigation: a hook of MkDocs."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    names = sorted(path.name for path in (Path(config["docs_dir"]) / "rules").glob("*.md"))
    codes = [f"rules/{name}" for name in names if name.startswith("HVD")]
    rules = [f"rules/{name}" for name in names if not name.startswith("HVD") and name != "index.md"]
    section = ["rules/index.md", {"Findings": codes}, {"Rules": rules}]
    config["nav"] = [{"Rules and findings": section} if "Rules and findings" in entry else entry for entry in config["nav"]]
    return config
