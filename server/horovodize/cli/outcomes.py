"""What became of the files of a run of `distribute`, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.plan import Plan


class Outcomes:
    """Counts of files. `only_checks`: nothing is changed or shown, as under `--check`."""

    def __init__(self, *, only_checks: bool = False) -> None:
        self._distributed = "would be distributed" if only_checks else "distributed"
        self._counts: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()  # files, by code

    def distributed(self, plans: Sequence[Plan]) -> None:
        """A script, with the plans of its files."""
        asked = any(plan.to_confirm for plan in plans)
        self._counts["asked" if asked else "distributed"] += 1

    def distributed_with(self) -> None:
        """A module of a script that was distributed before."""
        self._counts["distributed"] += 1

    def refused(self, codes: Sequence[str]) -> None:
        self._counts["refused"] += 1
        self._refusals.update(set(codes))

    def unchanged(self) -> None:
        self._counts["unchanged"] += 1

    def passed_over(self) -> None:
        """A file that trains nothing."""
        self._counts["passed over"] += 1

    def print_table(self, console: Console) -> None:
        """For people: a line for each outcome, and below the refusals one for each reason."""
        rows = list(self._rows())
        if not rows:
            console.message("no Python files")
            return
        console.message("files")
        for count, text in rows:
            console.message(f"{count:>5}  {text}")

    def _rows(self) -> Iterator[tuple[int, str]]:
        words = {
            "distributed": self._distributed,
            "asked": f"{self._distributed}, with changes to confirm",
            "refused": "refused",
            "unchanged": "unchanged",
            "passed over": "without a training loop",
        }
        for outcome, text in words.items():
            count = self._counts[outcome]
            if count:
                yield count, text
            if outcome == "refused":
                ordered = sorted(self._refusals.items(), key=lambda item: (-item[1], item[0]))
                yield from ((files, f"  {code}  {_title(code)}") for code, files in ordered)


def _title(code: str) -> str:
    from horovodize.refusals import REFUSALS
    from horovodize.restrictions import RESTRICTIONS

    found = RESTRICTIONS.get(code) or REFUSALS.get(code)
    return found.title if found is not None else ""
