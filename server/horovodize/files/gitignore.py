"""The patterns of a `.gitignore`, matched as git matches them while it walks down: each entry on its own, folders before what
is in them. (Libraries match paths of files against all of a file's patterns at once, which is something else as soon as a
pattern takes a folder back.)"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class _Pattern:
    regex: re.Pattern[str]
    negated: bool
    only_folders: bool


class GitIgnore:
    """One `.gitignore` file, or a file of the same form."""

    def __init__(self, text: str) -> None:
        lines = text.removeprefix("\ufeff").split("\n")
        self._patterns = [p for line in lines if (p := _parse(line.removesuffix("\r"))) is not None]

    def verdict(self, relative: str, *, is_folder: bool) -> bool | None:
        """Whether an entry is ignored (True), taken back (False) or not mentioned. `relative` is its path from the folder of
        the file, with slashes. Says nothing about what is in an ignored folder: do not go there."""
        for pattern in reversed(self._patterns):
            if (is_folder or not pattern.only_folders) and pattern.regex.fullmatch(relative):
                return not pattern.negated
        return None


def _parse(line: str) -> _Pattern | None:
    if line.startswith("#"):
        return None
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    negated = line.startswith("!")
    line = line[negated:]
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    anchored = "/" in line
    line = line.removeprefix("/")
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + "".join(_translate(line)), re.DOTALL)
    except re.error:  # a class that is never closed, a range that runs backwards: git lets it match nothing
        return None
    return _Pattern(regex, negated, only_folders)


_TOKEN = re.compile(
    r"""(?P<start>^(?:\*\*/)+) | (?P<end>/\*\*$) | (?P<middle>/\*\*(?=/)) | (?P<all>^\*\*$) | (?P<star>\*+) | (?P<any>\?)
      | \[(?P<class>[!^]?\]?(?:\\.|\[:\w+:\]|[^\\\]])*)\] | \\(?P<escaped>.) | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_NAMED = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": " \\t\\n\\r\\f\\v", "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip


def _translate(pattern: str) -> Iterable[str]:
    """A regular expression for a pattern, part by part."""
    for token in _TOKEN.finditer(pattern):
        match token.lastgroup:
            case "start":
                yield "(?:.*/)?"
            case "end":
                yield "/.+"
            case "middle":
                yield "(?:/.*)?"
            case "all":
                yield ".*"
            case "star":
                yield "[^/]*"
            case "any":
                yield "[^/]"
            case "class":
                yield _class(token["class"])
            case "escaped":
                yield re.escape(token["escaped"])
            case _:
                if token["plain"] in "[\\":  # opened and never closed; a backslash at the end
                    raise re.error("unfinished")
                yield re.escape(token["plain"])


_CLASS_TOKEN = re.compile(r"\[:(?P<named>\w+):\]|\\(?P<escaped>.)|(?P<plain>.)", re.DOTALL)


def _class(content: str) -> str:
    """The regular expression of `[content]`: one character, never a slash."""
    negated = content[:1] in ("!", "^")
    parts = []
    for token in _CLASS_TOKEN.finditer(content[negated:]):
        if token["named"]:
            parts.append(_NAMED.get(token["named"], ""))
        elif token["escaped"]:
            parts.append(re.escape(token["escaped"]))
        else:
            parts.append(token["plain"] if token["plain"] == "-" else re.escape(token["plain"]))
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]"
