"""What stands in the way of distributing a document: the seed's restrictions (2.1, 3.1), one file each.

Light to import: the restrictions and what they need are loaded when a document that mentions TensorFlow is first checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from horovodize.options import Options
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Findings, Violation

if TYPE_CHECKING:
    from horovodize.summary import ModuleSummary


class _Registry(Mapping[str, Restriction]):
    """All restrictions by code, each loaded at the first question for it."""

    def __getitem__(self, code: str) -> Restriction:
        from horovodize.restrictions.registry import restriction

        return restriction(code)

    def __contains__(self, code: object) -> bool:
        from horovodize.restrictions.registry import MODULES

        return code in MODULES

    def __iter__(self) -> Iterator[str]:
        from horovodize.restrictions.registry import MODULES

        return iter(MODULES)

    def __len__(self) -> int:
        from horovodize.restrictions.registry import MODULES

        return len(MODULES)


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
