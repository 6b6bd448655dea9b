"""What TensorFlow's and Keras' dotted names mean, known without importing TensorFlow.

Names may be given in any public spelling; answers use the canonical one (:func:`canonical`). Nothing here
raises on an unknown name. The data is made from a real TensorFlow by ``generate.py`` and read at the first
question.
"""

from __future__ import annotations

from .callbacks import Role, callback_made_by_method, callback_role, is_callback
from .classes import TensorFlowClass, TensorFlowFunction, cls, function, is_a, method
from .effects import (
    download_path_parameter,
    downloads,
    is_distribution,
    pretrained,
    writer_methods,
    writes_files,
    writes_summaries,
    written_to,
)
from .hooks import HookRole, hook_only_looks, hook_role, hook_writes_when_made, is_hook
from .keras_3 import gone_in_keras_3, rate_in_keras_3
from .makers import forgets_settings, makes_optimizer
from .names import canonical
from .rates import (
    ScheduleParameters,
    default_rate,
    is_optimizer,
    optimizer_for_string,
    optimizer_strings,
    rate_parameter,
    rate_position,
    schedule_parameters,
)

__all__ = [
    "HookRole",
    "Role",
    "ScheduleParameters",
    "TensorFlowClass",
    "TensorFlowFunction",
    "callback_made_by_method",
    "callback_role",
    "canonical",
    "cls",
    "default_rate",
    "download_path_parameter",
    "downloads",
    "forgets_settings",
    "function",
    "gone_in_keras_3",
    "hook_only_looks",
    "hook_role",
    "hook_writes_when_made",
    "is_a",
    "is_callback",
    "is_distribution",
    "is_hook",
    "is_optimizer",
    "makes_optimizer",
    "method",
    "optimizer_for_string",
    "optimizer_strings",
    "pretrained",
    "rate_in_keras_3",
    "rate_parameter",
    "rate_position",
    "schedule_parameters",
    "writer_methods",
    "writes_files",
    "writes_summaries",
    "written_to",
]
