"""What a module is, read without running it: its training loops, and what each name in it means."""

from horovodize.summary.lattice import LoopKind, join
from horovodize.summary.roles import RoleAt
from horovodize.summary.summary import ModuleSummary, TrainingLoop, summarize

__all__ = ["LoopKind", "ModuleSummary", "RoleAt", "TrainingLoop", "join", "summarize"]
