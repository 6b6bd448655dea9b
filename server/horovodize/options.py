"""What a user can set about the engine. The command line, `pyproject.toml` and editors' settings all end here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields

from horovodize.world.versions import Versions

# What the settings that are one of several words can be; the first is the default.
CHOICES = {
    "rate": ("linear", "sqrt", "keep"),
    "batch": ("per-rank", "global"),
    "output": ("auto", "guard", "silence"),
    "runtime": ("beside", "package"),
}


@dataclass(frozen=True)
class Options:
    """Settings of one run of the engine.

    split_data   every rank trains on its own part of the data (rules K4, G4, D1, D2); off: every rank sees all of it
    comments     a short comment at each group of inserted statements
    strict       report every restriction as the seed prints it, also where it can't change the result
    rate         what the learning rate of larger batches is multiplied by: "linear" (the number of ranks), "sqrt" (its square
                 root) or "keep" (nothing)
    batch        what a script's batch size is: "per-rank" (each rank takes batches of it) or "global" (all ranks
                 together do, so that rate and steps stay)
    elastic      training goes on when ranks die or join (rule L1)
    output       how other ranks than 0 keep quiet: "guard" (each statement that prints stands under a condition), "silence"
                 (one statement at the start does for all of them) or "auto" (silence where more than a few print)
    runtime      where a distributed script gets our own modules from: "beside" (they are written into its folder) or "package"
                 (`pip install horovodize[runtime]`, wherever it runs)
    tensorflow   the version of TensorFlow that the scripts run on, "2.16" or "2.16.1"; "" where that is not known
    around       what is known of versions from elsewhere (`world.surroundings`); no setting of its own
    """

    split_data: bool = True
    comments: bool = True
    strict: bool = False
    tensorflow: str = ""
    rate: str = "linear"
    batch: str = "per-rank"
    output: str = "auto"
    runtime: str = "beside"
    elastic: bool = False
    around: Versions = field(default_factory=Versions)

    @property
    def keeps_batch(self) -> bool:
        """Whether all ranks together take the batches that one process took."""
        return self.batch == "global"


# The names of the options that users set.
SETTINGS = tuple(f.name for f in fields(Options) if f.name != "around")


def is_version(text: str) -> bool:
    """Whether a text says a version as `tensorflow` has it."""
    return re.fullmatch(r"\d+\.\d+(\.\w+)*", text) is not None
