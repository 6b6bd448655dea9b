"""G4: threads that train take turns differently on every rank."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of, refused

WORKERS = (
    TF
    + """
import threading
from multiprocessing import Process
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
class Worker({base}):
    def {method}(self):
        for x in tf.data.Dataset.from_tensor_slices(rows).batch(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
{start}
"""
)
MANY = "workers = [Worker() for _ in range(4)]\nfor worker in workers:\n    worker.start()"
TWO = "a, b = Worker(), Worker()\na.start()\nb.start()"


@pytest.mark.parametrize("base", ["threading.Thread", "Process"])
@pytest.mark.parametrize("start", [MANY, TWO])
def test_several_threads_that_train_are_refused(base: str, start: str) -> None:
    refused(WORKERS.format(base=base, method="run", start=start), "HVD006", "threads train here")


def test_one_thread_takes_its_steps_in_order() -> None:
    plan_of(WORKERS.format(base="threading.Thread", method="run", start="Worker().start()"))


def test_workers_that_are_no_threads() -> None:
    calls = "for worker in [Worker(), Worker()]:\n    worker.run()"
    plan_of(WORKERS.format(base="object", method="run", start=calls))


def test_threads_that_only_look() -> None:
    """What trains is another class's."""
    look = "class Look(threading.Thread):\n    def run(self):\n        print(model(x))\n"
    look += "Look().start()\nLook().start()\nWorker().run()"
    plan_of(WORKERS.format(base="object", method="run", start=look))
