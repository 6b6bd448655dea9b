"""The functions and methods of TensorFlow that touch variables, by their own names."""

from __future__ import annotations

ADDING = frozenset({"assign_add", "scatter_add", "scatter_nd_add"})
SUBTRACTING = frozenset({"assign_sub", "scatter_sub", "scatter_nd_sub"})
ASSIGNING = frozenset({"assign", "scatter_update", "scatter_nd_update", *ADDING, *SUBTRACTING})
READING = frozenset({"read_value", "value", "initialized_value"})
PASSING = frozenset({"identity", "convert_to_tensor"})
# What waits for all that it's given.
BARRIERS = frozenset({"group", "tuple", "no_op"})
# Nothing behind these is trained.
WITHOUT_GRADIENT = frozenset(
    "stop_gradient argmax argmin equal not_equal greater greater_equal less less_equal in_top_k round floor ceil sign "
    "logical_and logical_or logical_not shape size rank exponential_decay piecewise_constant polynomial_decay".split()
)
PYTHON = ("tensorflow.py_function", "tensorflow.numpy_function", "tensorflow.compat.v1.py_func")
