"""M4 checkpoint: only rank 0's MonitoredSession or Supervisor writes checkpoints and summaries.

What it does   `checkpoint_dir=d` becomes `d if hvd.rank() == 0 else None`, so do `summary_dir`, a Supervisor's `logdir` and
               what a session is restored from. A Supervisor's `summary_writer` that the program uses is silent elsewhere.
               Hooks that write or print (`CheckpointSaverHook`, `SummarySaverHook`, `StepCounterHook`, `ProfilerHook`,
               `LoggingTensorHook`) stay on rank 0; those that steer the training run on every rank. Before a checkpoint is
               read back after training, the ranks wait for rank 0.
Why            Processes that save into one directory damage each other's checkpoints. What rank 0 restores is broadcast (M1).
Before         session = tf.train.MonitoredTrainingSession(checkpoint_dir=args.folder)
After          session = tf.train.MonitoredTrainingSession(checkpoint_dir=args.folder if hvd.rank() == 0 else None)
Leaves alone   `save_checkpoint_secs` and its like: without a directory they do nothing. A `Scaffold`.
Refuses        A writing hook that enters its list in a way that can't be changed; a Supervisor that writes summaries by itself
               where its data end: rank 0's would take batches for them, and end before the others (HVD006).
Source         Beyond the seed, whose program lets every rank save. Horovod's own guide asks for this (horovod#58).
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.callbacks import supervisors
from horovodize.rules.callbacks.checkpoint_reading import wait_before_reading
from horovodize.rules.callbacks.hooks import only_root_has, place_hooks
from horovodize.rules.callbacks.monitored_hooks import POSITIONS, are_steering, chief_hooks
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.numbers.shares import is_none

_WHAT = "Leave checkpoints and summaries to rank 0"
_WHY = "Processes that save into one directory damage each other's files; what rank 0 restores is broadcast."
# The directories and files of each class, with their positions among the arguments.
_DIRECTORIES = {
    "MonitoredTrainingSession": (("checkpoint_dir", 2), ("summary_dir", 14)),
    "SingularMonitoredSession": (("checkpoint_dir", 4), ("checkpoint_filename_with_path", 6)),
    "ChiefSessionCreator": (("checkpoint_dir", 3), ("checkpoint_filename_with_path", 4)),
    "Supervisor": (("logdir", 7),),
}
_READ_BACK = ("MonitoredTrainingSession", "Supervisor")
_CREATOR = "tensorflow.compat.v1.train.ChiefSessionCreator"


def apply(draft: Draft) -> None:
    for call in [*draft.sites.monitored, *draft.module.calls_of(_CREATOR), *draft.sites.supervisors]:
        last = draft.names.last(call.func)
        for parameter, index in _DIRECTORIES.get(last, ()):
            directory = argument(call, parameter, index)
            if only_root_has(draft, "M4", directory, _WHAT, _WHY) and last in _READ_BACK:
                assert directory is not None
                wait_before_reading(draft, "M4", directory, call)
        if last in POSITIONS:
            _place(draft, call, last)
        elif call in draft.sites.supervisors:
            supervisors.apply(draft, call)


def _place(draft: Draft, call: ast.Call, last: str) -> None:
    hooks = argument(call, "hooks", POSITIONS[last])
    if hooks is not None and not is_none(hooks):
        place_hooks(draft, "M4", hooks)
    chiefs = chief_hooks(call) if last == "MonitoredTrainingSession" else None
    if chiefs is not None and are_steering(draft, chiefs):
        place_hooks(draft, "M4", chiefs)


RULE = Rule("M4", "leave checkpoints of a monitored session to rank 0", apply, __doc__ or "")
