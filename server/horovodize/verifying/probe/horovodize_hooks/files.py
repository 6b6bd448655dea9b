"""The files that a process writes.

Python's own writes are told by an audit hook. TensorFlow and HDF5 write from C++, unseen by it: their functions are
wrapped. A way of writing that was missed shows in what lies in the directory at the end and was written by nobody."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

# A disk so slow that a rank which does not wait for another's file comes before it. Only the first writes: it takes time.
_SLOW_SECONDS, _SLOW_WRITES = 0.4, 4
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Files:
    """Collects what is written below a directory.

    files      paths of files
    prefixes   beginnings of paths, where TensorFlow makes up the rest (checkpoints: prefix.index, prefix.data-…)
    log_dirs   directories in which a summary writer made event files
    times      how often each of these was written to
    outside    what is written elsewhere, whole paths: other runs write there, too, and read what this one has left

    `slow` makes the first writes take long."""

    def __init__(self, root: str, *, slow: bool = False) -> None:
        self._root = os.path.realpath(root)
        self._slow_writes = _SLOW_WRITES if slow else 0
        self.files: set[str] = set()
        self.prefixes: set[str] = set()
        self.log_dirs: set[str] = set()
        self.times: Counter[str] = Counter()
        self.outside: set[str] = set()

    def install(self) -> None:
        sys.addaudithook(self._audit)
        self._wrap_tensorflow()
        self._wrap_hdf5()

    def report(self) -> dict[str, Any]:
        return {
            "times": dict(self.times),
            "files": sorted(self.files),
            "prefixes": sorted(self.prefixes),
            "log_dirs": sorted(self.log_dirs),
            "outside": sorted(self.outside),
        }

    def note(self, where: set[str], path: Any) -> None:
        """Adds a path to one of the sets if it is below the directory, else to what is outside."""
        if hasattr(path, "numpy"):
            path = path.numpy()
        try:
            text = os.fsdecode(path)
        except TypeError:  # a file descriptor
            return
        full = os.path.realpath(text)
        if full.startswith(self._root + os.sep) and "__pycache__" not in full:
            relative = os.path.relpath(full, self._root)
            self.times[relative] += 1
            if relative not in where:
                where.add(relative)
                self.delay()
        elif not full.startswith((self._root + os.sep, "/dev/", "/proc/")) and not _is_nameless(
            where is self.files, full
        ):
            self.outside.add(full)

    def delay(self) -> None:
        """Comes before a write."""
        if self._slow_writes:
            self._slow_writes -= 1
            time.sleep(_SLOW_SECONDS)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writes = (
                any(letter in mode for letter in "wax+")
                if isinstance(mode, str)
                else bool(flags & _WRITE_FLAGS)
            )
            if writes:
                self.note(self.files, path)
        elif event in ("os.rename", "os.link", "os.symlink"):
            self.note(self.files, args[1])
        elif event == "os.truncate":
            self.note(self.files, args[0])

    def _before(self, module: Any, name: str, note: Callable[..., None]) -> None:
        original = getattr(module, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            note(*args, **kwargs)
            return original(*args, **kwargs)

        setattr(module, name, wrapper)

    def _wrap_tensorflow(self) -> None:
        from tensorflow.python.lib.io import _pywrap_file_io as file_io
        from tensorflow.python.lib.io import tf_record
        from tensorflow.python.ops import (
            gen_dataset_ops,
            gen_experimental_dataset_ops,
            gen_io_ops,
            gen_summary_ops,
            io_ops,
        )
        from tensorflow.python.summary.writer import event_file_writer

        self._before(file_io, "WritableFile", lambda path, mode: self.note(self.files, path))
        self._before(file_io, "RenameFile", lambda source, target, *_, **__: self.note(self.files, target))
        self._before(file_io, "CopyFile", lambda source, target, *_, **__: self.note(self.files, target))
        self._before(
            tf_record.TFRecordWriter, "__init__", lambda writer, path, *_, **__: self.note(self.files, path)
        )
        for module in (gen_io_ops, io_ops):
            self._before(module, "save_v2", lambda prefix, *_, **__: self.note(self.prefixes, prefix))
            self._before(
                module,
                "merge_v2_checkpoints",
                lambda parts, prefix, *_, **__: self.note(self.prefixes, prefix),
            )
            self._before(module, "write_file", lambda filename, *_, **__: self.note(self.files, filename))

        def summary_writer(writer: Any, logdir: Any, *_: Any, **__: Any) -> None:
            self.note(self.log_dirs, logdir)

        self._before(gen_summary_ops, "create_summary_file_writer", summary_writer)
        self._before(  # what TensorFlow 1's FileWriter writes through; it is given the beginning of a path
            event_file_writer._pywrap_events_writer,
            "EventsWriter",
            lambda path: self.note(self.log_dirs, os.path.dirname(path)),
        )
        for name in ("cache_dataset", "cache_dataset_v2"):
            self._before(
                gen_dataset_ops, name, lambda data, filename, *_, **__: self.note(self.prefixes, filename)
            )
        for name in ("save_dataset", "save_dataset_v2"):
            self._before(
                gen_experimental_dataset_ops,
                name,
                lambda data, path, *_, **__: self.note(self.prefixes, path),
            )

    def _wrap_hdf5(self) -> None:
        import h5py

        original = h5py.File.__init__

        def __init__(file: Any, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:
            if mode != "r":
                self.note(self.files, name)
            original(file, name, mode, *args, **kwargs)

        h5py.File.__init__ = __init__


def _is_nameless(as_file: bool, path: str) -> bool:
    """Whether a file is made in a directory without a name, as temporary files are: nobody finds it there."""
    return as_file and os.path.isdir(path)
