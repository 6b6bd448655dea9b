"""Runs programs as rank 0 of pretended ranks, in TensorFlow's own Python: `python pretended.py PROGRAMS.json SIZE OUT.json`.

Horovod is here a module whose collectives give back what they are given. Writes to `OUT.json`, of each program, the weight and
the rate of each step, and after how many steps each event came; or how it failed. A step only counts, be it of `fit` or of a
tape: what it is given is looked at, and not what it makes of that."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf


def pretend(size: int) -> None:
    """Puts a Horovod in the place of the real one that has so many ranks, all of which would be this one."""
    hvd: Any = types.ModuleType("horovod.tensorflow")
    hvd.init = hvd.broadcast_variables = lambda *given, **named: None
    hvd.size = hvd.local_size = lambda: size
    hvd.rank = hvd.local_rank = lambda: 0
    hvd.broadcast_object = hvd.broadcast = hvd.DistributedGradientTape = lambda value, *given, **named: value
    hvd.DistributedOptimizer = lambda optimizer, *given, **named: optimizer
    hvd.broadcast_global_variables = lambda *given, **named: tf.no_op()
    hvd.allreduce = lambda value, *given, **named: tf.convert_to_tensor(value)
    horovod: Any = types.ModuleType("horovod")
    horovod.tensorflow = hvd
    keras: Any = types.ModuleType("horovod.tensorflow.keras")
    keras.__dict__.update({name: value for name, value in vars(hvd).items() if not name.startswith("__")})
    keras.DistributedOptimizer = lambda optimizer, *given, **named: optimizer
    keras.callbacks = types.SimpleNamespace(
        BroadcastGlobalVariablesCallback=lambda *given: tf.keras.callbacks.Callback(),
        MetricAverageCallback=tf.keras.callbacks.Callback,
    )
    hvd.keras, hvd.callbacks, hvd.DistributedOptimizer = keras, keras.callbacks, keras.DistributedOptimizer
    sys.modules |= {"horovod": horovod, "horovod.tensorflow": hvd, "horovod.tensorflow.keras": keras}


def count_steps_of_fit(names: dict[str, Any]) -> None:
    """Lets a step of `fit` take a batch, and count it; of the program whose globals these are."""

    def make(model: Any, force: bool = False) -> Any:
        def step(rows: Any) -> dict[str, Any]:
            next(rows)
            names["TAKEN"].append((float(names["weight"]), float(model.optimizer.learning_rate)))
            model.optimizer.iterations.assign_add(1)
            return {"loss": tf.constant(1.0)}

        model.train_function = step
        return step

    tf.keras.Model.make_train_function = make


def count_steps_of_tapes() -> None:
    """Has gradients be of the right shapes, and an optimizer only count its steps: both are most of what a small step costs."""

    def gradient(self: Any, target: Any, sources: Any, *given: Any, **named: Any) -> Any:
        return tf.nest.map_structure(tf.zeros_like, sources)

    def apply_gradients(self: Any, *given: Any, **named: Any) -> Any:
        return self.iterations.assign_add(1)

    tf.GradientTape.gradient = gradient
    tf.keras.optimizers.Optimizer.apply_gradients = apply_gradients


def run(text: str) -> dict[str, Any]:
    """What came of a program."""
    tf.keras.backend.clear_session()
    tf.random.set_seed(0)
    np.random.seed(0)
    names: dict[str, Any] = {"__name__": "__main__"}
    count_steps_of_fit(names)
    try:
        graph = tf.Graph().as_default() if "tf.Session(" in text else contextlib.nullcontext()
        with graph, contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "program.py", "exec"), names)
    except Exception as e:
        return {"failed": f"{type(e).__name__}: {e}"}
    return {"taken": names["TAKEN"], "events": names["EVENTS"]}


def main() -> None:
    programs, size, out = sys.argv[1:]
    pretend(int(size))
    count_steps_of_tapes()
    found = [run(text) for text in json.loads(Path(programs).read_text(encoding="utf-8"))]
    Path(out).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
