"""What a file's bytes say without being parsed."""

from __future__ import annotations

import re

_MENTIONS = re.compile(rb"tensorflow|keras")


def mentions_tensorflow(data: bytes) -> bool:
    """Whether a file's bytes name TensorFlow or Keras: only such a file can train by itself."""
    return _MENTIONS.search(data) is not None
