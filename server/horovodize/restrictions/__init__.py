"""What stands in the way of distributing a document: the seed's restrictions (2.1, 3.1), one file each.

Light to import: the restrictions and what they need are loaded when a document that mentions TensorFlow is first checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.options import Options
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Findings, Violation

if TYPE_CHECKING:
    from horovodize.summary import ModuleSummary


class _Registry(Mapping[str, Restriction]):
    """All restrictions by code, loaded at the first question."""

    @cached_property
    def _all(self) -> dict[str, Restriction]:
        from horovodize.restrictions.registry import every_restriction

        return {r.code: r for r in every_restriction()}

    def __getitem__(self, code: str) -> Restriction:
        return self._all[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


RESTRICTIONS: Mapping[str, Restriction] = _Registry()


_MENTIONS = ("tensorflow", "keras", "horovod.torch", "horovod import torch")


def check(summary: ModuleSummary, options: Options | None = None) -> list[Violation]:
    """The violations of a document, in the order of the text, suppressed ones left out. Never raises.

    A document that mentions neither TensorFlow nor Horovod's module for PyTorch has none, also when it does not parse: a glance
    at its text is all it costs. One that mentions it and does not parse has a single HVD003."""
    return list(examine(summary, options).reported)


def examine(summary: ModuleSummary, options: Options | None = None) -> Findings:
    """The same, with what comments suppress."""
    text = summary.document.text
    if not any(word in text for word in _MENTIONS):
        return Findings(())
    from horovodize.restrictions.checking import findings

    return findings(summary, options or Options())


__all__ = ["RESTRICTIONS", "Findings", "Restriction", "check", "examine"]
