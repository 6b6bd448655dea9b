"""Runs programs one after another on the same ranks; rank 0 writes what each showed: its `shown` on every rank, how far apart
the weights of its `model` are, the name of the exception that ended it."""

import json
import sys

import horovod.tensorflow as horovod
import numpy as np
import tensorflow as tf


def _each(text: str) -> dict[str, object]:
    tf.keras.backend.clear_session()
    tf.random.set_seed(None)  # as it is before a script sets one
    np.random.seed(None)
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        exec(compile(text, "case.py", "exec"), names)
    except (RecursionError, ValueError, KeyError, tf.errors.FailedPreconditionError) as e:
        return {"error": type(e).__name__}
    model = names.get("model")
    apart = 0.0
    for weight in model.weights if model is not None else ():
        of_all = horovod.allgather(tf.reshape(weight, (1, -1)))
        apart = max(apart, float(tf.reduce_max(tf.abs(of_all - of_all[:1]))))
    return {"apart": apart, "shown": horovod.allgather_object(names.get("shown"))}


with open(sys.argv[1], encoding="utf-8") as file:
    found = [_each(text) for text in json.load(file)]
if horovod.rank() == 0:
    with open("shown.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
