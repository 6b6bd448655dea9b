"""What a user can set about the engine. The command line, `pyproject.toml` and editors' settings all end here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Settings of one run of the engine.

    split_data   every rank trains on its own part of the data (rules K4, G4, D1, D2); off: every rank sees all of it
    comments     a short comment at each group of inserted statements
    strict       report every restriction as the seed prints it, also where it can't change the result
    """

    split_data: bool = True
    comments: bool = True
    strict: bool = False
