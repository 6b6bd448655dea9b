# Elastic training with Horovod. Written by Horovodize beside a script that it distributed; yours to keep and change.
# SPDX-License-Identifier: Apache-2.0
"""What a training loop needs to go on when ranks die or join, for Horovod 0.28 with TensorFlow 2 and Keras 2.

    dataset = elastic.rows_left(tf.data.Dataset.from_tensor_slices((x, y)), shuffle=1000).batch(32)
    state = elastic.State(model, optimizer, best=None)

    @elastic.run
    def train(state):
        best = state.best
        for epoch in state.epochs(range(10)):
            for x, y in state.batches(dataset):
                train_step(x, y)
            state.best = best

    train(state)

Horovod runs `train` again from the last commit each time the ranks change. A commit keeps, in memory: the variables, the number
of the epoch, how many rows of it all ranks have taken, and what else is named. After a change all ranks take them from the rank
that has come furthest, go on with the rows that are left, and the rate grows or shrinks with the number of ranks.

Why not Horovod's own states: `TensorFlowState` broadcasts its variables only when it is made, never after a change (eagerly);
`ObjectState` keeps lists as they are, so what was appended after a commit stays after going back to it; and `hvd.elastic.run`
hides an UnknownError that isn't Horovod's: training then ends in the middle as if it were done.
"""

import copy
import itertools
import os

import horovod.tensorflow as hvd
import tensorflow as tf
from horovod.common.elastic import ObjectState
from horovod.common.exceptions import HorovodInternalError

__all__ = ["CommitEpochs", "State", "rows_left", "run"]

if hasattr(tf.keras, "ops"):
    raise ImportError("horovod_elastic is for Keras 2: Horovod's own wrappers average nothing under Keras 3")

# What pipelines read whenever an iterator over them begins: the state whose epochs they are, and whether they go on in it.
_now = {"state": None, "goes on": False}


class State(ObjectState):
    """What training goes on from.

    tracked       what has `variables`: models, optimizers, metrics. Models have to be built
    commit_every  steps of a rank from one commit to the next, where `batches` or `turns` runs the loop
    rate          by how much the learning rate grows with the number of ranks: "linear", "sqrt" or "keep"
    values        more to keep, as attributes: numbers, lists, what can be copied and pickled"""

    def __init__(self, *tracked, commit_every=100, rate="linear", **values):
        self._tracked, self._commit_every, self._growth = tracked, commit_every, _GROWTH[rate]
        _build(tracked)
        self._kept = []
        self._root = 0
        seed = int.from_bytes(os.urandom(3), "big")
        kept = {"epoch": 0, "done": 0, "commits": 0, "size": hvd.size(), "seed": seed, "history": {}}
        super().__init__(bcast_object=self._from_root, get_rank=hvd.rank, **kept, **values)
        _now["state"] = self
        self.save()

    # ------------------------------------------------------------------ loops

    def epochs(self, numbers):
        """The numbers of the epochs that are left of a range; commits after each."""
        for number in range(self.epoch, len(numbers)):
            yield numbers[number]
            self.epoch, self.done = number + 1, 0
            self.commit()

    def batches(self, dataset):
        """The batches that are left of a dataset that was made with `rows_left`; commits every so many."""
        _now["goes on"] = True
        try:
            batches = iter(dataset)
            first = list(itertools.islice(batches, 1))  # read where it begins
        finally:
            _now["goes on"] = False
        for step, batch in enumerate(itertools.chain(first, batches), start=1):
            yield batch
            self._took(int(tf.shape(tf.nest.flatten(batch)[0])[0]), step)

    def turns(self, numbers):
        """This rank's share of the numbers that are left of a range; commits every so many."""
        left = numbers[self.done :]
        for step, number in enumerate(
            left[hvd.rank() : len(left) // hvd.size() * hvd.size() : hvd.size()], 1
        ):
            yield number
            self._took(1, step)

    def _took(self, count, step):
        self.done += count * hvd.size()
        if step % self._commit_every == 0:
            self.commit()

    # ------------------------------------------------------------------ what Horovod calls

    def save(self):
        self._kept = [tf.identity(variable) for variable in self._variables()]
        self._saved_state = {name: copy.deepcopy(getattr(self, name)) for name in self._saved_state}

    def commit(self):
        self.commits += 1
        super().commit()

    def restore(self):
        for variable, kept in zip(self._variables(), self._kept, strict=True):
            variable.assign(kept)
        for name, value in self._saved_state.items():
            setattr(self, name, copy.deepcopy(value))

    def reset(self):
        """The ranks have changed."""
        growth = self._growth(hvd.size()) / self._growth(self.size)
        for optimizer in self._tracked:
            if hasattr(optimizer, "learning_rate") and growth != 1:
                optimizer.learning_rate = float(tf.keras.backend.get_value(optimizer.learning_rate)) * growth
        self.size = hvd.size()
        self.save()

    def sync(self):
        come = hvd.allgather(tf.constant([self.commits], tf.int64), name="elastic.commits")
        self._root = int(tf.argmax(come))  # a rank that has just joined has come nowhere
        hvd.broadcast_variables(self._variables(), root_rank=self._root)
        super().sync()
        self.save()

    def _from_root(self, value):
        return hvd.broadcast_object(value, root_rank=self._root)

    def _variables(self):
        return [variable for thing in self._tracked for variable in _variables_of(thing)]


_GROWTH = {"linear": lambda size: size, "sqrt": lambda size: size**0.5, "keep": lambda size: 1}


def _variables_of(thing):
    """With an optimizer's rate, which isn't among its variables: a script may have changed it since it was made."""
    variables = thing.variables
    found = list(variables() if callable(variables) else variables)
    rate = getattr(thing, "learning_rate", None)
    if isinstance(rate, tf.Variable) and all(rate is not variable for variable in found):
        found.append(rate)
    return found


def _build(tracked):
    """Makes the variables of optimizers: a rank that joins has to have as many as those that have trained."""
    for model in tracked:
        if isinstance(model, tf.keras.Model) and not model.built:
            raise ValueError(
                f"{model.name} has no weights yet; give its first layer an input_shape, or call its build"
            )
    trained = [
        v for thing in tracked for v in getattr(thing, "trainable_variables", ()) if not _is_optimizer(thing)
    ]
    for optimizer in filter(_is_optimizer, tracked):
        if hasattr(optimizer, "build"):
            optimizer.build(trained)
        else:  # tf.keras.optimizers.legacy
            _ = optimizer.iterations
            optimizer._create_all_weights(trained)


def _is_optimizer(thing):
    return hasattr(thing, "apply_gradients")


def run(function):
    """Runs a function of a state until it ends, from the last commit again each time the ranks change."""

    def noticing(state, *args):
        try:
            return function(state, *args)
        except tf.errors.UnknownError as error:
            if "Horovod" in error.message:
                raise HorovodInternalError(error) from error
            raise RuntimeError(error.message) from error

    return hvd.elastic.run(noticing)


def rows_left(dataset, shuffle=None, seed=None):
    """This rank's share of the elements of a dataset that are left in an epoch, whenever it is iterated.

    Equally many on each rank.

    shuffle  shuffles them first, as `dataset.shuffle(shuffle)`: all ranks alike, in each epoch otherwise
    seed     of that"""
    if hvd.size() == 1 and "HOROVOD_ELASTIC" not in os.environ:  # python train.py: nothing will change
        return dataset if shuffle is None else dataset.shuffle(shuffle, seed=seed)
    count = int(tf.data.experimental.cardinality(dataset))

    def beginning():
        size, rank, state = hvd.size(), hvd.rank(), _now["state"]
        if count < size:
            raise ValueError(f"{count} rows are too few for {size} ranks")
        done = state.done if _now["goes on"] else 0
        epoch, drawn = (state.epoch, state.seed) if state is not None else (0, 0)
        return [
            tf.constant(n, tf.int64) for n in (done, (drawn if seed is None else seed) + epoch, size, rank)
        ]

    def begin(_):
        numbers = tf.py_function(beginning, [], [tf.int64] * 4)
        return [tf.ensure_shape(number, []) for number in numbers]

    def left(done, order, size, rank):
        tf.compat.v1.get_default_graph().seed = (
            1  # tf.random.set_seed, which ranks may call differently, has no say in the order
        )
        rows = (
            dataset
            if shuffle is None
            else dataset.shuffle(shuffle, seed=order, reshuffle_each_iteration=False)
        )
        return rows.skip(done).take((count - done) // size * size).shard(size, rank)

    return tf.data.Dataset.range(1).map(lambda n: tuple(begin(n))).flat_map(left)


class CommitEpochs(tf.keras.callbacks.Callback):
    """Commits after each epoch of `model.fit(…, initial_epoch=state.epoch)`. What `fit` returns tells of all epochs."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def on_train_begin(self, logs=None):
        self.model.history.history = copy.deepcopy(self.state.history)

    def on_epoch_end(self, epoch, logs=None):
        self.state.epoch = epoch + 1
        for name, value in (logs or {}).items():
            self.state.history.setdefault(name, []).append(value)
        self.state.commit()
