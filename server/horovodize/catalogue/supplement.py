"""What TensorFlow 2.15 cannot tell: names that came later, names that went, and other packages' classes.

Everything that 2.15 knows is generated (``generate.py``); each name here stands under the reason it has to.
"""

from __future__ import annotations

from .makers import FORGETFUL, MAKERS

_KERAS = "tensorflow.keras."
SONNET = "sonnet.optimizers."
_V1 = "tensorflow.compat.v1."
_OPTIMIZER = _KERAS + "optimizers.Optimizer"
_V1_OPTIMIZER = _V1 + "train.Optimizer"
_CALLBACK = _KERAS + "callbacks.Callback"
_SCHEDULE = _KERAS + "optimizers.schedules.LearningRateSchedule"

ALIASES: dict[str, str] = {
    # Integers, which cannot be told apart by identity when the data is made.
    "tensorflow.data.experimental.AUTOTUNE": "tensorflow.data.AUTOTUNE",
    "tensorflow.data.experimental.INFINITE_CARDINALITY": "tensorflow.data.INFINITE_CARDINALITY",
    "tensorflow.data.experimental.UNKNOWN_CARDINALITY": "tensorflow.data.UNKNOWN_CARDINALITY",
    # Renamed while experimental; the old spelling left before 2.15.
    _KERAS + "mixed_precision.experimental.Policy": _KERAS + "mixed_precision.Policy",
    _KERAS + "mixed_precision.experimental.LossScaleOptimizer": _KERAS + "mixed_precision.LossScaleOptimizer",
    _KERAS + "mixed_precision.experimental.set_policy": _KERAS + "mixed_precision.set_global_policy",
    _KERAS + "optimizers.LossScaleOptimizer": _KERAS + "mixed_precision.LossScaleOptimizer",
    "tensorflow.data.experimental.TFRecordDataset": "tensorflow.data.TFRecordDataset",
    "tensorflow.data.experimental.Options": "tensorflow.data.Options",
    # Keras 3's own, which is counted, assigned and sent as TensorFlow's is.
    _KERAS + "Variable": "tensorflow.Variable",
    # TensorFlow before 1.0.
    "tensorflow.train.SummaryWriter": _V1 + "summary.FileWriter",
    "tensorflow.merge_all_summaries": _V1 + "summary.merge_all",
    "tensorflow.merge_summary": _V1 + "summary.merge",
    "tensorflow.scalar_summary": _V1 + "summary.scalar",
    "tensorflow.histogram_summary": _V1 + "summary.histogram",
    "tensorflow.image_summary": _V1 + "summary.image",
    # contrib, where the same thing has a home of its own since.
    "tensorflow.contrib.eager.GradientTape": "tensorflow.GradientTape",
    "tensorflow.contrib.eager.Variable": "tensorflow.Variable",
    "tensorflow.contrib.eager.Checkpoint": "tensorflow.train.Checkpoint",
    "tensorflow.contrib.eager.CheckpointableSaver": "tensorflow.train.Checkpoint",
    "tensorflow.contrib.eager.Iterator": "tensorflow.data.Iterator",
    "tensorflow.contrib.eager.defun": "tensorflow.function",
    "tensorflow.contrib.eager.function": "tensorflow.function",
    "tensorflow.contrib.eager.enable_eager_execution": _V1 + "enable_eager_execution",
    "tensorflow.contrib.checkpoint.CheckpointManager": "tensorflow.train.CheckpointManager",
    "tensorflow.contrib.data.Dataset": "tensorflow.data.Dataset",
    "tensorflow.contrib.data.Iterator": "tensorflow.data.Iterator",
    "tensorflow.contrib.data.TFRecordDataset": "tensorflow.data.TFRecordDataset",
    "tensorflow.contrib.data.TextLineDataset": "tensorflow.data.TextLineDataset",
    "tensorflow.contrib.data.FixedLengthRecordDataset": "tensorflow.data.FixedLengthRecordDataset",
    "tensorflow.contrib.data.AUTOTUNE": "tensorflow.data.AUTOTUNE",
    "tensorflow.contrib.summary.create_file_writer": "tensorflow.summary.create_file_writer",
    "tensorflow.contrib.framework.get_or_create_global_step": _V1 + "train.get_or_create_global_step",
    "tensorflow.contrib.framework.get_global_step": _V1 + "train.get_global_step",
    "tensorflow.contrib.framework.create_global_step": _V1 + "train.create_global_step",
    "tensorflow.contrib.training.StopAtStepHook": _V1 + "train.StopAtStepHook",
}  # fmt: skip

ALSO_DERIVED: dict[str, str] = {
    # Not a subclass in 2.15, but the same to whoever trains with it; before 2.11 it *was* the base class.
    _KERAS + "optimizers.legacy.Optimizer": _OPTIMIZER,
    # Chosen by its metaclass from two private classes, one of them an optimizer.
    _KERAS + "mixed_precision.LossScaleOptimizer": _OPTIMIZER,
}

# What a constructor takes that only says ``*args`` in 2.15.
PARAMETERS: dict[str, str] = {
    _KERAS + "mixed_precision.LossScaleOptimizer": (
        "inner_optimizer, dynamic=True, initial_scale=None, dynamic_growth_steps=None"
    ),
    _KERAS + "Model": "inputs=None, outputs=None, name=None, **kwargs",
}

_RATE = "learning_rate=0.001"
_HOROVOD_CALLBACKS: dict[str, str] = {
    "BroadcastGlobalVariablesCallback": "root_rank, device=''",
    "MetricAverageCallback": "device=''",
    "LearningRateScheduleCallback": (
        "initial_lr, multiplier, start_epoch=0, end_epoch=None, staircase=True, momentum_correction=True,"
        " steps_per_epoch=None"
    ),
    "LearningRateWarmupCallback": (
        "initial_lr, warmup_epochs=5, momentum_correction=True, steps_per_epoch=None, verbose=0"
    ),
    "BestModelCheckpoint": "**kwargs",
}

# name → (the class it derives from, its parameters)
CLASSES: dict[str, tuple[str, str]] = {
    # What ``Model(inputs, outputs)`` really makes; Keras 3 exports it, TensorFlow 2.15 does not.
    _KERAS + "Functional": (_KERAS + "Model", "inputs, outputs, name=None, trainable=True, **kwargs"),
    # Keras 3.
    _KERAS + "utils.PyDataset": (
        _KERAS + "utils.Sequence",
        "workers=1, use_multiprocessing=False, max_queue_size=10",
    ),
    _KERAS + "optimizers.Lamb": (_OPTIMIZER, f"{_RATE}, beta_1=0.9, beta_2=0.999, epsilon=1e-07, **kwargs"),
    _KERAS + "optimizers.Muon": (_OPTIMIZER, f"{_RATE}, **kwargs"),
    _KERAS + "optimizers.ScheduleFreeAdamW": (
        _OPTIMIZER,
        "learning_rate=0.0025, beta_1=0.9, beta_2=0.999, epsilon=1e-08, warmup_steps=0, weight_decay=None, **kwargs",
    ),
    _KERAS + "callbacks.SwapEMAWeights": (_CALLBACK, "swap_on_epoch=False"),
    _KERAS + "callbacks.OrbaxCheckpoint": (
        _CALLBACK,
        "directory, monitor='val_loss', verbose=0, save_best_only=False, mode='auto', save_freq='epoch', **kwargs",
    ),
    # TensorFlow 2.0 to 2.9.
    _KERAS + "experimental.LinearCosineDecay": (
        _SCHEDULE,
        "initial_learning_rate, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None",
    ),
    _KERAS + "experimental.NoisyLinearCosineDecay": (
        _SCHEDULE,
        "initial_learning_rate, decay_steps, initial_variance=1.0, variance_decay=0.55, num_periods=0.5,"
        " alpha=0.0, beta=0.001, name=None",
    ),
    # contrib's optimizers.
    **{
        f"tensorflow.contrib.opt.{name}": (_V1_OPTIMIZER, parameters)
        for name, parameters in {
            "AdaMaxOptimizer": f"{_RATE}, beta1=0.9, beta2=0.999, epsilon=1e-08",
            "AdamWOptimizer": f"weight_decay, {_RATE}, beta1=0.9, beta2=0.999, epsilon=1e-08",
            "AddSignOptimizer": "learning_rate=0.1, alpha=1.0, beta=0.9",
            "GGTOptimizer": _RATE,
            "LARSOptimizer": "learning_rate, momentum=0.9, weight_decay=0.0001",
            "LazyAdamOptimizer": f"{_RATE}, beta1=0.9, beta2=0.999, epsilon=1e-08",
            "MomentumWOptimizer": "weight_decay, learning_rate, momentum",
            "NadamOptimizer": f"{_RATE}, beta1=0.9, beta2=0.999, epsilon=1e-08",
            "PowerSignOptimizer": "learning_rate=0.1",
        }.items()
    },
    # TensorFlow Addons, whose optimizers are Keras optimizers.
    **{
        f"tensorflow_addons.optimizers.{name}": (_OPTIMIZER, parameters)
        for name, parameters in {
            "AdaBelief": f"{_RATE}, beta_1=0.9, beta_2=0.999",
            "AdamW": f"weight_decay, {_RATE}, beta_1=0.9, beta_2=0.999",
            "COCOB": "alpha=100, use_locking=False, name='COCOB'",
            "ConditionalGradient": "learning_rate, lambda_",
            "LAMB": f"{_RATE}, beta_1=0.9, beta_2=0.999",
            "LazyAdam": f"{_RATE}, beta_1=0.9, beta_2=0.999",
            "NovoGrad": f"{_RATE}, beta_1=0.9, beta_2=0.999",
            "ProximalAdagrad": _RATE,
            "RectifiedAdam": f"{_RATE}, beta_1=0.9, beta_2=0.999",
            "SGDW": f"weight_decay, {_RATE}, momentum=0.0",
            "Yogi": "learning_rate=0.01, beta1=0.9, beta2=0.999",
            "Lookahead": "optimizer, sync_period=6, slow_step_size=0.5",
            "MovingAverage": "optimizer, average_decay=0.99",
            "SWA": "optimizer, start_averaging=0, average_period=10",
        }.items()
    },
    # Others that are Keras optimizers.
    **{name: (_OPTIMIZER, parameters) for name, parameters in FORGETFUL.items()},
    # Sonnet's optimizers: `apply(gradients, variables)`; their variables are a property, and none counts steps.
    **{
        f"{SONNET}{name}": (_OPTIMIZER, parameters)
        for name, parameters in {
            "SGD": "learning_rate, name=None",
            "Momentum": "learning_rate, momentum, use_nesterov=False, name=None",
            "RMSProp": "learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, centered=False, name=None",
            "Adam": f"{_RATE}, beta1=0.9, beta2=0.999, epsilon=1e-08, name=None",
        }.items()
    },
    # Horovod's callbacks, under both of the names that scripts import them by.
    **{
        f"{home}.callbacks.{name}": (_CALLBACK, parameters)
        for home in ("horovod.tensorflow.keras", "horovod.keras")
        for name, parameters in _HOROVOD_CALLBACKS.items()
    },
}

FUNCTIONS: dict[str, str] = {
    **MAKERS,
    "tensorflow_datasets.load": (
        "name, *, split=None, data_dir=None, batch_size=None, shuffle_files=False, download=True,"
        " as_supervised=False, decoders=None, read_config=None, with_info=False, builder_kwargs=None,"
        " download_and_prepare_kwargs=None, as_dataset_kwargs=None, try_gcs=False"
    ),
    "urllib.request.urlretrieve": "url, filename=None, reporthook=None, data=None",
}

# Keras 3 knows more names than the Keras in 2.15; where they are unknown, a script that uses them fails anyway.
STRINGS: dict[str, str] = {
    text: _KERAS + "optimizers." + name
    for text, name in {"adamw": "AdamW", "adafactor": "Adafactor", "lion": "Lion", "lamb": "Lamb"}.items()
}
