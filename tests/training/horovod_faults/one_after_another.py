"""Runs programs one after another on the same ranks; rank 0 writes what each showed: its `shown` on every rank, how far apart
the weights of its `model` are, how often weights were sent (`sent`), the GPUs of each rank that it would take, if there were
two in each machine (`gpus`), the name of the exception that ended it."""

import json
import sys

import horovod.tensorflow as horovod
import numpy as np
import tensorflow as tf

_GPUS = [tf.config.PhysicalDevice(f"/physical_device:GPU:{number}", "GPU") for number in range(2)]
_taken: list[str] = []
_sent: list[int] = []
_listed, _set, _send = (
    tf.config.list_physical_devices,
    tf.config.set_visible_devices,
    horovod.broadcast_variables,
)


def _list(kind: str | None = None) -> list[object]:
    asked_by_the_program = sys._getframe(1).f_code.co_filename == "case.py"
    return [*_GPUS] if kind == "GPU" and asked_by_the_program else _listed(kind)


def _set_visible(devices: object, kind: str | None = None) -> None:
    if kind != "GPU":
        return _set(devices, kind)
    _taken[:] = [device.name for device in (devices if isinstance(devices, list) else [devices])]


def _broadcast(*args: object, **kwargs: object) -> object:
    if tf.executing_eagerly():
        _sent.append(1)
    else:
        tf.numpy_function(lambda: _sent.append(1), [], [])
    return _send(*args, **kwargs)


tf.config.list_physical_devices, tf.config.set_visible_devices = _list, _set_visible
horovod.broadcast_variables = _broadcast


def _each(text: str) -> dict[str, object]:
    tf.keras.backend.clear_session()
    tf.random.set_seed(None)  # as it is before a script sets one
    np.random.seed(None)
    names: dict[str, object] = {"__name__": "__main__"}
    _taken[:] = [gpu.name for gpu in _GPUS]  # all of them, if a program says nothing
    _sent.clear()
    try:
        exec(compile(text, "case.py", "exec"), names)
    except (
        RecursionError,
        ValueError,
        KeyError,
        tf.errors.FailedPreconditionError,
        tf.errors.InvalidArgumentError,
    ) as e:
        return {"error": type(e).__name__}
    model = names.get("model")
    apart = 0.0
    for weight in model.weights if model is not None else ():
        of_all = horovod.allgather(tf.reshape(weight, (1, -1)))
        apart = max(apart, float(tf.reduce_max(tf.abs(of_all - of_all[:1]))))
    return {
        "apart": apart,
        "sent": len(_sent),
        "gpus": horovod.allgather_object(_taken),
        "shown": horovod.allgather_object(names.get("shown")),
    }


with open(sys.argv[1], encoding="utf-8") as file:
    found = [_each(text) for text in json.load(file)]
if horovod.rank() == 0:
    with open("shown.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
