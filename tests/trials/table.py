"""Results as the table of docs/corpus.md: `python -m tests.trials.table results.jsonl [LIST]`.

Of several results of a script the last counts."""

from __future__ import annotations

import json
import sys
from math import isfinite
from pathlib import Path
from typing import Any

from tests.trials.listed import Listed, read

HERE = Path(__file__).parent


def table(results: dict[str, Any], scripts: list[Listed]) -> str:
    rows = [
        "| script | kind | scaling | alone | 1 rank | 2 ranks | 4 ranks | came out |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for script in sorted(scripts, key=lambda one: one.name.lower()):
        found = results.get(script.name)
        if not found or found["outcome"].startswith(("does not run", "not listed")):
            continue
        losses = [_losses(found["losses"].get(where)) for where in ("alone", "1", "2", "4")]
        why = [_short(one) for one in found["how"]] if found["outcome"] != "alike" else []
        came = "; ".join([found["outcome"], *([script.note] if script.note else why)])
        rows.append(
            f"| {script.repo} `{script.path}` | {script.kind} | {found['scaling']} | {' | '.join(losses)} | {came} |"
        )
    return "\n".join(rows)


def _losses(values: list[float] | None) -> str:
    if not values:
        return ""
    return ", ".join(f"{value:.3g}" if isfinite(value) else str(value) for value in values[:3])


def _short(text: str) -> str:
    return (text if len(text) < 160 else text[:157] + "…").replace("|", "\\|")


def main() -> int:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    results = {one["name"]: one for one in map(json.loads, lines)}
    listed = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "scripts.toml"
    print(table(results, read(listed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
