"""L1 elastic: training that goes on when ranks die or join; with the option `elastic` only.

What it does   The loop becomes a function of a *state*, which Horovod runs again from the last commit each time the ranks
               change. The state has the model, the optimizer, the number of the epoch, how many of its rows are taken, and
               what the loop hands on from turn to turn; it stands for the broadcast, too. Datasets are divided whenever they
               are iterated, by the ranks that are there then. It commits after each epoch, and every `commit_every` steps where
               the rows that are left can be told. Rates grow and shrink with the number of ranks. `horovod_elastic.py` is
               written beside the script.
Why            A host that fails, or is taken back, ends a run of a fixed number of ranks.
Before         for epoch in range(10):
                   for x, y in dataset:
                       train_step(x, y)
After          state = elastic.State(model, optimizer, commit_every=100)


               @elastic.run
               def train(state):
                   for epoch in state.epochs(range(10)):
                       for x, y in state.batches(dataset):
                           train_step(x, y)


               train(state)
Leaves alone   Steps within an epoch of which the rows that are left can't be told, and `fit`: an epoch that is interrupted
               begins again, with the weights of its beginning.
Refuses        Loops whose state can't be named; data and callbacks that are made before the loop for the ranks of the start;
               schedules of rates; sessions, Estimators, Keras 3, several files, notebooks (HVD006).
Source         Beyond the seed; Horovod's elastic mode.
"""

from __future__ import annotations

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.elastic import fitted, looped
from horovodize.rules.elastic.reach import unreachable


def apply(draft: Draft) -> None:
    if not draft.options.elastic:
        return
    for node, reason in unreachable(draft):
        draft.refuse("HVD006", node, reason)
        return
    if draft.sites.fits:
        fitted.apply(draft)
    else:
        looped.apply(draft)


RULE = Rule("L1", "train elastically", apply, __doc__ or "")
