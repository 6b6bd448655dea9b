"""Calls that reach outside the process: files and windows (for one rank), downloads (for one rank a host)."""

from __future__ import annotations

from . import effect_tables as tables
from .names import canonical

writer_methods = tables.WRITER_METHODS


def writes_files(name: str) -> bool:
    """Whether calling ``name`` writes or removes files, reports somewhere or opens a window."""
    return _known(name, tables.WRITERS)


def written_to(name: str, method: str) -> tuple[str, int | None] | None:
    """The parameter, and its place, by which a function of this name, or a method, is told a file that it writes: with none it
    gives a text, or a model, and writes nothing. None for all else."""
    return tables.WRITERS_TO.get(name) or tables.WRITER_METHODS_TO.get(method)


def writes_summaries(name: str) -> bool:
    """Whether ``name`` is a TensorFlow 2 summary operation, which writes while there is a default writer."""
    return _known(name, tables.SUMMARIES)


def downloads(name: str) -> bool:
    """Whether calling ``name`` may download something, or fill a cache that processes on one host share."""
    return canonical(name) in tables.DOWNLOADS or pretrained(name)


def download_path_parameter(name: str) -> str | None:
    """The parameter of a downloading call that says where to; None if it has none (or does not download)."""
    return tables.DOWNLOADS.get(canonical(name))


def pretrained(name: str) -> bool:
    """Whether ``name`` makes a model of ``keras.applications``: it downloads weights unless ``weights=None``."""
    module, _, last = canonical(name).rpartition(".")
    return module == "tensorflow.keras.applications" and last[:1].isupper()


def is_distribution(name: str) -> bool:
    """Whether ``name`` distributes in another way: ``tf.distribute``, parameter servers, copies on several GPUs."""
    name = canonical(name)
    return name in tables.DISTRIBUTIONS or name.startswith(tables.DISTRIBUTION_MODULES)


def _known(name: str, table: frozenset[str]) -> bool:
    return name in table or canonical(name) in table
