"""Horovodize: single-process TensorFlow training scripts in, Horovod ones out."""

__version__ = "0.1.0"
