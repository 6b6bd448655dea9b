"""HVD901 estimator-gone: Estimators and MonitoredSessions are distributed up to TensorFlow 2.15.

## What it protects
`tf.estimator` left TensorFlow with 2.16, and with it `hvd.BroadcastGlobalVariablesHook`, which sends rank 0's variables to the
other ranks of an Estimator or a MonitoredSession. On a later TensorFlow the distributed program stops with an AttributeError.

## When it is reported
At Estimator and MonitoredSession loops: as a warning where the setting `tensorflow` says that scripts run on 2.16 or later
(they are then not distributed); as an information where that is not known and the script may run there. Scripts that use
names which only TensorFlow 1 has (`tf.Session`, `tf.placeholder`) can't, and are not reported.

## Quick fix
None. Keras' `fit` and GradientTape loops run on every version.

## Example that breaks it
```python
import tensorflow as tf

classifier = tf.estimator.Estimator(model_fn, model_dir="model")
classifier.train(input_fn, steps=1000)  # HVD901
```

## Near misses
```python
import tensorflow as tf

features = tf.placeholder(tf.float32, [None, 4])
classifier = tf.estimator.Estimator(model_fn, model_dir="model")
classifier.train(input_fn, steps=1000)
```

## Source
Horovod 0.28.1, `horovod/tensorflow/__init__.py`: the hook is defined where `tf.estimator` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind

_LAST = "2.15"
_GONE = (2, 16)
_KINDS = (LoopKind.ESTIMATOR, LoopKind.MONITORED_SESSION)


def find(context: Context) -> Iterator[Violation]:
    by_horovod = context.summary.already is LoopKind.HOROVOD  # of a session's hook HVD902 says what fails
    kinds = (LoopKind.ESTIMATOR,) if by_horovod else _KINDS
    loops = [loop for loop in context.loops if loop.kind in kinds]
    if not loops or (context.summary.already is not None and not by_horovod):
        return
    known = context.world.runs_on(_GONE)
    if not known and (context.world.tensorflow or context.sites.is_tf1 or by_horovod):
        return
    what = "`tf.estimator`" if loops[0].kind is LoopKind.ESTIMATOR else "Horovod's hook for MonitoredSessions"
    wherever = f"on TensorFlow {context.world.tensorflow}" if known else "from TensorFlow 2.16 on"
    found = RESTRICTION.at(
        context,
        loops[0].node,
        f"{what} does not exist {wherever}; this runs {'' if by_horovod else 'distributed '}up to TensorFlow {_LAST}",
        severity=Severity.WARNING if known else Severity.INFORMATION,
    )
    yield replace(found, deprecated=loops[0].kind is LoopKind.ESTIMATOR)


RESTRICTION = Restriction(
    "HVD901",
    "estimator-gone",
    "Estimators and MonitoredSessions are distributed up to TensorFlow 2.15",
    Severity.INFORMATION,
    __doc__ or "",
    find,
    blocks=True,
)
