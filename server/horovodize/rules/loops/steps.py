"""K4 steps of `fit`, G4 steps of hand-written loops: the steps of an epoch are divided among the ranks.

What it does   `steps_per_epoch=n` becomes `n // hvd.size()`, so do `validation_steps`, and epochs that are made of a number of
               steps and the length of what is divided (`steps / len(ds)`); beside them, for Keras 3, `steps_per_execution`,
               which would go beyond the end of an epoch. Where an epoch is one step, the epochs are divided. Of a
               `Sequence`, and of a generator that yields the same everywhere, rank r takes the batches r, r + size(), … In
               hand-written loops
               `dataset.take(n)` and `range(n)` are divided likewise; where the loop's variable selects the batch, and in
               loops over batches of another kind, rank r again takes the batches r, r + size(), …; so where a loop selects
               by a variable that it moves on itself (`x[i : i + n]; i += n`). What deals out batches one after another
               deals out size() of them in a step, of which each rank trains on its own; also beside rows that the loop goes
               through (`for x in ds: step(x, other.next_batch(8))`, `step(x, y[i])`). A generator function that makes each
               batch out of its number is divided at the numbers (`for i in shard(range(0, n, 32))`), so that a rank prepares
               no other's.
               What decides how training goes and would differ between ranks (a number of epochs that is drawn, a rate, an
               optimizer or a layer's size drawn at random, a start read from a checkpoint, a host's name) is rank 0's on all:
               `range(hvd.broadcast_object(random.randint(3, 9)))`, `start = hvd.broadcast_object(start)`.
               Where every step sees all rows, and where they fit into one batch of `fit` or of a data set, the rows are divided
               (`share_rows`), and neither rate nor steps are touched. With the setting `batch = "global"`, all ranks together
               take the batches that one process took: `batch_size=share_batch(32)`, `{x: share_rows(x_batch)}`; then rate and
               steps stay everywhere. A batch that ranks can't share evenly stops the program at its start.
Why            Every step averages size() batches, so an epoch is over after 1/size() of the steps. All ranks must take
               equally many: one that takes more waits for the others forever. Of a sequence that several workers of Keras
               read ahead, ranks take their parts of one order only if `fit` alone tells it that an epoch ends.
Before         for x, y in dataset.take(1000):
                   train_step(x, y)
After          for x, y in dataset.take(1000 // hvd.size()):
                   train_step(x, y)
Leaves alone   The loop over epochs. Loops that only evaluate. Counts made from the length of something divided already.
               A step whose loop is not seen: its rate stays too, which is said.
               A variable that starts again, or is not moved on alike in every turn: that is said.
               A loop that ends with a loss is left on all ranks together, by its mean: `if mean_over_ranks(loss) < 0.1: break`;
               by what is no mean over rows where any rank would leave it: `if any_rank(np.isnan(loss)): break`. So is a step
               taken on all ranks or on none where a function or an outer loop leaves it out:
               `if any_rank(len(memory) < 32): return`.
               What an epoch's own losses decide (patience, a rate that is halved), their mean over all ranks decides:
               `mean = mean_over_ranks(np.mean(losses))`.
Refuses        Steps that no rows come into, or that train the input itself: every rank would compute the same (HVD006).
               Several threads that train: they take turns differently on every rank (HVD006).
               Rows of all steps that a loss joins with each other. With `batch = "global"`: a batch of which it can't be seen
               how it is made.
               A loop whose number of steps depends on a game that each rank plays for itself, where the end can't be made
               the same for all; rows that each rank's model makes again in every round; steps by whose outcome weights are
               set back (HVD006); numbers and choices that
               differ where ranks can't be made to agree (HVD205, HVD107).
Asks           A game that each rank plays for itself (`env.step(action)`): nothing is divided there, so there is size() times
               the experience. Rows of all steps whose loss may be no mean. A number of steps, or a condition around training,
               that can't be seen to be the same on all ranks: it is rank 0's now. A loop that ends with a game: all games now
               end with the first. As many steps as a game was long: as long as rank 0's. A loop over something that can't be
               seen: all ranks must get equally many batches from it.
Source         Seed 2.3.2 (`dataset.take`, GradientTape); K4 is beyond the seed. Errata: the seed drops the `tqdm` around.
"""

from horovodize.rules.drafting.rule import Rule
from horovodize.rules.loops.fit_steps import divide_fits
from horovodize.rules.loops.loop_steps import divide_loops

K4 = Rule("K4", "divide the steps of fit among the ranks", divide_fits, __doc__ or "")
G4 = Rule("G4", "divide the steps of a training loop among the ranks", divide_loops, __doc__ or "")
