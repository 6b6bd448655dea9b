"""Files that a setting leaves out: patterns as in a `.gitignore` that lies in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from horovodize.files.gitignore import GitIgnore
from horovodize.paths import below


class Exclude:
    """Patterns, and the folder that they count from."""

    def __init__(self, patterns: Sequence[str], folder: str) -> None:
        self._ignore = _compiled(tuple(patterns)) if patterns else None
        self._folder = folder

    def __call__(self, path: str) -> bool:
        """Whether a file is left out, by its own name or by that of a folder that it is in."""
        rest = below(path, self._folder) if self._ignore is not None else None
        if self._ignore is None or rest is None:
            return False
        parts = rest.split("/")
        return any(  # what is in a folder that is left out can't be taken back, as in git
            self._ignore.verdict("/".join(parts[:end]), is_folder=end < len(parts))
            for end in range(1, len(parts) + 1)
        )


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> GitIgnore:
    return GitIgnore("\n".join(patterns))
