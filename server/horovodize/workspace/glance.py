"""What a file's bytes say without being parsed: whether it is about TensorFlow, what it imports, whether running it does
something. Guesses that err on the side of looking closer."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass

from horovodize.workspace.at_import import IMPORTS, OF_OTHERS, does_something

_MENTIONS = re.compile(rb"tensorflow|keras|horovod\.torch|horovod import torch")
_NAME = re.compile(rb"\w+")


@dataclass(frozen=True)
class Glance:
    """What was seen.

    digest      of the bytes
    tensorflow  it names TensorFlow, Keras or Horovod's module for PyTorch: only such a file can train by itself
    runs        running it may run what it defines or imports: it may be a script
    imports     the names in its imports of what may be modules nearby, each once"""

    digest: str
    tensorflow: bool
    runs: bool
    imports: tuple[str, ...]


def glance_at(data: bytes) -> Glance:
    """What a file's bytes say."""
    return Glance(digest_of(data), mentions_tensorflow(data), does_something(data), _imported(data))


def digest_of(data: bytes) -> str:
    """What tells one content from another."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def mentions_tensorflow(data: bytes) -> bool:
    """Whether a file's bytes name TensorFlow, Keras or Horovod's module for PyTorch: only such a file can train by itself."""
    return _MENTIONS.search(data) is not None


def _imported(data: bytes) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for match in IMPORTS.finditer(data):
        base, members, modules = match.groups()
        if modules is not None:
            parts = [name for module in modules.split(b",") for name in _local(module.split(b" as ")[0])]
        else:
            parts = _local(base)
            if parts or base.startswith(b"."):
                parts += [n.decode() for n in _NAME.findall(members)]
        names.update(dict.fromkeys(map(sys.intern, parts)))
    return tuple(names)


def _local(dotted: bytes) -> list[str]:
    """The names of a dotted path; none where it is the standard library's or TensorFlow's."""
    parts = [part.decode() for part in _NAME.findall(dotted)]
    if parts and parts[0] in OF_OTHERS and not dotted.lstrip().startswith(b"."):
        return []
    return parts
