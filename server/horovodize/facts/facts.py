"""The facts of one module (or of a script with its modules), each found out when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from weakref import WeakKeyDictionary

from horovodize.facts.counting.callback_items import CallbackItems
from horovodize.facts.counting.counters import Counters
from horovodize.facts.counting.hooks import Hooks
from horovodize.facts.counting.occasions import Occasions
from horovodize.facts.counting.scaled_counts import ScaledCounts
from horovodize.facts.differences.arms_of_calls import ArmsOfCalls
from horovodize.facts.differences.certain_tests import CertainTests
from horovodize.facts.differences.exclusive import Exclusive
from horovodize.facts.differences.never_run import NeverRun
from horovodize.facts.differences.uniform import Uniformity
from horovodize.facts.feeds.batches import Batches
from horovodize.facts.feeds.built import Built
from horovodize.facts.feeds.dealt import Dealt
from horovodize.facts.feeds.drawn_rows import DrawnRows
from horovodize.facts.feeds.generators import Generators
from horovodize.facts.feeds.steps import Steps
from horovodize.facts.feeds.turn_state import TurnState
from horovodize.facts.feeds.undivided import Undivided
from horovodize.facts.files.kept import Kept
from horovodize.facts.horovod.collectives import Collectives
from horovodize.facts.horovod.horovod_use import HorovodUse
from horovodize.facts.horovod.rank_tests import RankTests
from horovodize.facts.rates.optimizers import Optimizers
from horovodize.python.module import Module
from horovodize.summary import ModuleSummary
from horovodize.summary.call_paths import Drive
from horovodize.summary.effects import Effects
from horovodize.summary.feeding import Feeding
from horovodize.summary.sites import Sites


class Facts:
    """What restrictions and rules know of a module beyond its summary."""

    def __init__(self, module: Module, sites: Sites, drive: Drive) -> None:
        self.module, self.sites, self.drive = module, sites, drive

    @cached_property
    def feeding(self) -> Feeding:
        """What feeds training."""
        return Feeding(self.module, self.sites, self.drive)

    @cached_property
    def optimizers(self) -> Optimizers:
        """Where optimizers come from."""
        return Optimizers(self.module)

    @cached_property
    def built(self) -> Built:
        """What has its variables before anything is fed to it."""
        return Built(self.module, self.sites)

    @cached_property
    def exclusive(self) -> Exclusive:
        """Which places never both run."""
        return Exclusive(self.module, self.drive)

    @cached_property
    def arms_of_calls(self) -> ArmsOfCalls:
        """Which arms of a function run for one of its calls."""
        return ArmsOfCalls(self.module)

    @cached_property
    def dealt(self) -> Dealt:
        """What is dealt out to the ranks."""
        return Dealt(self.feeding)

    @cached_property
    def drawn_rows(self) -> DrawnRows:
        """Which steps get rows that are drawn, whatever number they are drawn for."""
        return DrawnRows(self.feeding, self.uniform)

    @cached_property
    def effects(self) -> Effects:
        """What statements do to the world outside the process."""
        return Effects(self.module, self.sites, self.drive)

    @cached_property
    def generators(self) -> Generators:
        """Which generator functions can be divided inside."""
        return Generators(self.feeding, self.effects, self.uniform.draws)

    @cached_property
    def kept(self) -> Kept:
        """What checkpoints keep."""
        return Kept(self.module, self.sites, self.drive)

    @cached_property
    def uniform(self) -> Uniformity:
        """What is the same on every rank."""
        return Uniformity(self.module, self.sites, self.drive, self.dealt, self.kept)

    @cached_property
    def counters(self) -> Counters:
        """What counts the steps of training."""
        return Counters(self.module, self.sites, self.feeding, self.kept, self.hooks, self.occasions)

    @cached_property
    def scaled_counts(self) -> ScaledCounts:
        """What goes with a count of steps."""
        return ScaledCounts(self.module, self.feeding, self.counters)

    @cached_property
    def occasions(self) -> Occasions:
        """With the steps of which loops something happens."""
        return Occasions(self.module, self.sites, self.drive, self.feeding, self.hooks)

    @cached_property
    def steps(self) -> Steps:
        """What feeds each place that trains."""
        return Steps(self.module, self.sites, self.drive, self.feeding, lambda: self.uniform)

    @cached_property
    def batches(self) -> Batches:
        """How the batch of each place that trains is made."""
        return Batches(self.module, self.sites, self.feeding, self.steps, self.undivided)

    @cached_property
    def undivided(self) -> Undivided:
        """Which data every rank trains on as a whole."""
        return Undivided(self.module, self.sites, self.drive, self.feeding)

    @cached_property
    def horovod(self) -> HorovodUse:
        """What a script does with Horovod that uses it already."""
        return HorovodUse(self.module, self.drive)

    @cached_property
    def rank_tests(self) -> RankTests:
        """Which decisions ask for the rank, in such a script."""
        return RankTests(self.module, self.drive, self.horovod, self.certain_tests)

    @cached_property
    def certain_tests(self) -> CertainTests:
        """Which tests have one answer on all ranks and in every turn."""
        return CertainTests(self.module, self.horovod)

    @cached_property
    def never_run(self) -> NeverRun:
        """Which places of a script surely never run."""
        return NeverRun(self.module, self.certain_tests)

    @cached_property
    def collectives(self) -> Collectives:
        """What all ranks must do together, in such a script."""
        return Collectives(self.module, self.sites, self.horovod, self.optimizers, self.callback_items)

    @cached_property
    def turn_state(self) -> TurnState:
        """What loops hand on from turn to turn besides what is trained."""
        return TurnState(self.module)

    @cached_property
    def hooks(self) -> Hooks:
        """Which functions `fit` calls as methods of callbacks."""
        return Hooks(self.module)

    @cached_property
    def callback_items(self) -> CallbackItems:
        """Which callbacks fits are given, on which ranks."""
        return CallbackItems(self.module, self.sites, self.rank_tests)


_facts: WeakKeyDictionary[ModuleSummary, Facts] = WeakKeyDictionary()


def facts_of(summary: ModuleSummary) -> Facts:
    """The facts of a summary that has a module, found out once for restrictions and rules."""
    if summary not in _facts:
        assert summary.module is not None
        assert summary.sites is not None
        assert summary.drive is not None
        _facts[summary] = Facts(summary.module, summary.sites, summary.drive)
    return _facts[summary]
