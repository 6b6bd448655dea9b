"""Run by the interpreter that is diagnosed: imports TensorFlow and Horovod, and writes to a file what they say of themselves.

usage: inside_look.py REPORT"""

import json
import sys


def look():
    """What is there, as far as it goes: `failed` names the first thing that can't be imported, `error` says why."""
    said = {}
    try:
        import tensorflow as tf
    except Exception as e:
        return {"failed": "tensorflow", "error": f"{type(e).__name__}: {e}"}
    said["tensorflow"] = tf.__version__
    try:
        said["gpus"] = len(tf.config.list_physical_devices("GPU"))
        # Which Keras `tf.keras` is, is seen where its classes come from: "keras", "tf_keras" for the legacy one.
        package = tf.keras.Model.__module__.partition(".")[0]
        said["keras_package"] = package
        said["keras"] = str(getattr(sys.modules[package], "__version__", ""))
    except Exception as e:
        return {**said, "failed": "keras", "error": f"{type(e).__name__}: {e}"}
    try:
        import horovod.tensorflow as hvd
    except Exception as e:
        return {**said, "failed": "horovod", "error": f"{type(e).__name__}: {e}"}
    said["built"] = {
        "Gloo": bool(hvd.gloo_built()),
        "MPI": bool(hvd.mpi_built()),
        "NCCL": bool(hvd.nccl_built()),
    }
    return said


if __name__ == "__main__":
    said = look()
    with open(sys.argv[1], "w") as report:
        json.dump(said, report)
