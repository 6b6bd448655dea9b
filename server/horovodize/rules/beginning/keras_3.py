"""What differs where Keras 3 trains: the module that Horovod's names come from, and a guard where it is not known. (XLA: C9.)

Horovod's own `DistributedOptimizer` averages nothing under Keras 3 and says nothing. For Keras 3, Horovod's names come from
`horovod_keras3.py`, a module of ours that is written beside the script. Where it is not known which Keras it will be, the
script stops under Keras 3 before it trains: by an assertion, which is a line less than a test. Where Python leaves assertions
out (`-O`), the callback that broadcasts fails in the first batch (`'Variable' object has no attribute 'ref'`, measured);
`train_on_batch` takes no callbacks, and ranks that come and go need none that broadcasts: an error is raised there. Loops
around a tape need no such guard: Horovod's tape stops there with an error."""

from __future__ import annotations

from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import KERAS, Draft
from horovodize.world.world import Keras

MODULE = "horovod_keras3"
_WITH_CALLBACKS = ("fit", "fit_generator")
_STOP = "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"


def guard(draft: Draft) -> list[str]:
    """The lines after `hvd.init()` that trainings by Horovod's own Keras API need, unless it is known that Keras 2 runs them.
    Legacy Keras may be asked for in vain; and the callbacks take their backend from the Keras that it stands for."""
    if (
        not draft.sites.fits
        or draft.keras_3
        or draft.world.keras is Keras.TWO
        or keras_session.is_wanted(draft)
    ):
        return []
    ops, is_legacy = draft.quoted("ops"), draft.world.keras is Keras.LEGACY
    # One of which a script imports parts only is TensorFlow's, which needs no import.
    keras = keras_session.imported_keras(draft) or f"{draft.tensorflow()}.keras"
    keras = keras_session.keras_name(draft) if is_legacy else keras
    broadcasts = all(fit.method in _WITH_CALLBACKS for fit in draft.sites.fits) and not draft.options.elastic
    if broadcasts:
        lines = [f"assert not hasattr({keras}, {ops}), {draft.quoted(_STOP)}"]
    else:
        lines = [f"if hasattr({keras}, {ops}):", f"    raise RuntimeError({draft.quoted(_STOP)})"]
    if is_legacy and draft.uses(KERAS):
        lines.append(f"{KERAS}.callbacks.K = {keras}.backend")
    return lines
