# Horovod for Keras 3 on TensorFlow. Written by Horovodize beside a script that it distributed; yours to keep and change.
# SPDX-License-Identifier: Apache-2.0
"""What `horovod.tensorflow` and `horovod.tensorflow.keras` are to Keras 2, for Keras 3 with the TensorFlow backend.

Horovod 0.28's own `DistributedOptimizer` averages nothing under Keras 3, and says nothing: Keras 3 calls other methods than
those that it replaces. Its callbacks and broadcasts don't know Keras 3's variables. Here are those parts again, under the same
names; all else is Horovod's. Needs horovod, tensorflow and keras >= 3.

    import horovod_keras3 as hvd

    hvd.init()
    model.compile(hvd.DistributedOptimizer(keras.optimizers.Adam(0.001 * hvd.size())), "mse", jit_compile=False)
    model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()])

`jit_compile=False`, since Horovod's operations can't be compiled by XLA, which Keras 3 uses on GPUs unless it is told not to.
"""

from types import SimpleNamespace

import horovod.tensorflow as _hvd
import keras
import tensorflow as tf
from horovod.tensorflow import (
    Average,
    Compression,
    Sum,
    allgather,
    allreduce,
    broadcast,
    broadcast_object,
    init,
    is_initialized,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
)

__all__ = [
    "Average",
    "Compression",
    "DistributedGradientTape",
    "DistributedOptimizer",
    "Sum",
    "allgather",
    "allreduce",
    "broadcast",
    "broadcast_object",
    "broadcast_variables",
    "callbacks",
    "init",
    "is_initialized",
    "load_model",
    "local_rank",
    "local_size",
    "rank",
    "shutdown",
    "size",
]

if int(keras.__version__.split(".")[0]) < 3:
    raise ImportError(
        f"horovod_keras3 is for Keras 3; this is Keras {keras.__version__}: use horovod.tensorflow.keras"
    )
if keras.backend.backend() != "tensorflow":
    raise ImportError(
        f"Horovod averages TensorFlow's gradients only; Keras runs on {keras.backend.backend()} here"
    )

_AVERAGING = "_averages_over_ranks"  # the attribute of optimizers that average: what they average with


def averaged(gradients, op=Average, compression=Compression.none):
    """A list of gradients, averaged over all ranks (with `op=Sum`: added up). None stays None: all ranks have it alike.
    With `compression=Compression.fp16` they travel as halves."""
    gradients = list(gradients)
    if size() == 1:
        return gradients
    sparse = [i for i, g in enumerate(gradients) if isinstance(g, tf.IndexedSlices)]  # of embeddings
    dense = [i for i, g in enumerate(gradients) if g is not None and i not in sparse]
    if dense:  # in one go: the ranks have to agree once, not for each of them
        tensors = [tf.convert_to_tensor(gradients[i]) for i in dense]
        together = _hvd.grouped_allreduce(tensors, op=op, compression=compression)
        for place, i in enumerate(dense):
            gradients[i] = together[place]
    for i in sparse:
        gradients[i] = allreduce(gradients[i], op=op, compression=compression)
    return gradients


# ---------------------------------------------------------------------- optimizers


def DistributedOptimizer(optimizer, op=Average, compression=Compression.none):
    """The same optimizer, which from now on averages gradients over all ranks before it applies them.

    It is not copied: it keeps its state and its class, and is saved as what it is."""
    optimizer = keras.optimizers.get(optimizer)
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise TypeError(f"{optimizer!r} is no optimizer of Keras 3")
    how = (op, compression)
    if getattr(optimizer, _AVERAGING, None) is not None:
        if getattr(optimizer, _AVERAGING) != how:
            raise ValueError(f"{optimizer.name} averages already, in another way")
        return optimizer
    if keras.config.dtype_policy().name == "mixed_float16" and not _scales_losses(optimizer):
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None and getattr(inner, _AVERAGING, None) is not None:
        raise ValueError(f"{inner.name} averages already; wrap the outer optimizer only")
    _average_in(optimizer, how)
    return optimizer


def _scales_losses(optimizer):
    return isinstance(optimizer, keras.optimizers.LossScaleOptimizer)


def _average_in(optimizer, how):
    apply = type(optimizer).apply

    def apply_averaged(grads, trainable_variables=None):
        return apply(optimizer, averaged(grads, *how), trainable_variables)

    optimizer.apply = apply_averaged
    setattr(optimizer, _AVERAGING, how)


def _average_around(model):
    """Has a model average outside of the loss scaling. `compile` puts an optimizer into a LossScaleOptimizer where the model is
    of mixed precision; gradients that overflow on one rank only would then never be averaged, and the others wait forever."""
    optimizer = getattr(model, "optimizer", None)
    inner = getattr(optimizer, "inner_optimizer", None) if _scales_losses(optimizer) else None
    how = getattr(inner, _AVERAGING, None)
    if how is not None:
        del inner.apply
        setattr(inner, _AVERAGING, None)
        _average_in(optimizer, how)


def load_model(*args, **kwargs):
    """`keras.models.load_model`, and the optimizer that comes with the model averages."""
    model = keras.models.load_model(*args, **kwargs)
    if getattr(model, "optimizer", None) is not None:
        model.optimizer = DistributedOptimizer(model.optimizer)
        model.jit_compile = False
    return model


# ---------------------------------------------------------------------- tapes


class DistributedGradientTape:
    """A tape whose gradients are averaged over all ranks. All else is as of the tape that it is made from."""

    def __init__(self, tape, op=Average, compression=Compression.none):
        self._tape, self._how = tape, (op, compression)

    def gradient(self, target, sources, *args, **kwargs):
        gradients = self._tape.gradient(target, sources, *args, **kwargs)
        flat = tf.nest.flatten(gradients)
        return tf.nest.pack_sequence_as(gradients, averaged(flat, *self._how))

    def __enter__(self):
        self._tape.__enter__()
        return self

    def __exit__(self, *error):
        return self._tape.__exit__(*error)

    def __getattr__(self, name):
        return getattr(self._tape, name)


# ---------------------------------------------------------------------- variables


def broadcast_variables(variables, root_rank=0):
    """Gives all ranks rank 0's values, of Keras' variables and of TensorFlow's. Seeds stay: ranks are to draw differently."""
    found = [v for v in variables if not getattr(v, "name", "").startswith("seed_generator_state")]
    _hvd.broadcast_variables(
        [v if isinstance(v, tf.Variable) else v.value for v in found], root_rank=root_rank
    )


def _has_all_variables(model):
    """`model.build(shape)` of a class of one's own says that it is built, though its layers are only with the first batch."""
    return model.built and all(layer.built for layer in model._flatten_layers())


class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
    """Gives all ranks the model and the optimizer of one: before the first batch, or after it where that makes them."""

    def __init__(self, root_rank=0):
        super().__init__()
        self.root_rank, self.is_done = root_rank, False

    def set_model(self, model):
        super().set_model(model)
        _average_around(model)
        if model.jit_compile:
            model.jit_compile = False
            model.train_function = None

    def on_train_begin(self, logs=None):
        if _has_all_variables(self.model):
            self._broadcast()

    def on_train_batch_end(self, batch, logs=None):
        self._broadcast()

    def _broadcast(self):
        if self.is_done:
            return
        optimizer = self.model.optimizer
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        of_model = [
            v for v in vars(self.model).values() if isinstance(v, keras.optimizers.Optimizer)
        ]  # a GAN has several
        for made in {id(o): o for o in [*of_model, optimizer] if o is not None and o.built}.values():
            broadcast_variables(made.variables, self.root_rank)
        broadcast_variables(self.model.weights, self.root_rank)
        self.is_done = True


class MetricAverageCallback(keras.callbacks.Callback):
    """Averages the metrics of an epoch over all ranks. Stands before callbacks that decide by them."""

    def on_epoch_end(self, epoch, logs=None):
        for name in sorted(logs or {}):
            value = tf.cast(logs[name], tf.float64)  # of some metrics a list: one for each class
            mean = allreduce(value, name=f"metric.{name}", op=Average).numpy()
            logs[name] = mean if mean.shape else float(mean)


class LearningRateScheduleCallback(keras.callbacks.Callback):
    """From `start_epoch` to before `end_epoch` the rate is `initial_lr * multiplier(epoch)`, a number being a power: set at an
    epoch's begin, or (`staircase=False`) at each batch, for a part of the epoch. Momentum is left as it is: Keras 3 compiles
    it into the step as a number, so it can't be corrected for a batch, as Horovod's callback does with older Keras."""

    def __init__(
        self, initial_lr, multiplier, start_epoch=0, end_epoch=None, staircase=True, steps_per_epoch=None
    ):
        super().__init__()
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.staircase, self.steps_per_epoch, self.epoch = staircase, steps_per_epoch, 0
        self.multiplier = (
            multiplier if callable(multiplier) else lambda epoch: multiplier ** (epoch - start_epoch)
        )

    def on_train_begin(self, logs=None):
        self.steps_per_epoch = self.steps_per_epoch or self.params.get("steps")
        if not self.staircase and not self.steps_per_epoch:
            raise ValueError(
                f"{type(self).__name__} needs steps_per_epoch: `fit` doesn't know how many there are"
            )

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if self.epoch < self.start_epoch or (self.end_epoch is not None and self.epoch >= self.end_epoch):
            return
        if not self.staircase:
            self._set(self.epoch + batch / self.steps_per_epoch)
        elif batch == 0:
            self._set(self.epoch)

    def _set(self, epoch):
        self.model.optimizer.learning_rate = self.initial_lr * self.multiplier(epoch)

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["learning_rate"] = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """The rate goes from `initial_lr / size()` to `initial_lr`, batch by batch, in `warmup_epochs`."""

    def __init__(self, initial_lr, warmup_epochs=5, steps_per_epoch=None, verbose=0):
        super().__init__(initial_lr, self._share, 0, warmup_epochs, False, steps_per_epoch)
        self.verbose = verbose

    def _share(self, epoch):
        epoch += 1 / self.steps_per_epoch  # so that an epoch ends with a round number
        return (epoch * (size() - 1) / self.end_epoch + 1) / size()

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if self.verbose and epoch == self.end_epoch - 1 and rank() == 0:
            print(f"\nEpoch {epoch + 1}: the learning rate is warmed up to {self.initial_lr:g}.")


callbacks = SimpleNamespace(
    BroadcastGlobalVariablesCallback=BroadcastGlobalVariablesCallback,
    LearningRateScheduleCallback=LearningRateScheduleCallback,
    LearningRateWarmupCallback=LearningRateWarmupCallback,
    MetricAverageCallback=MetricAverageCallback,
)
