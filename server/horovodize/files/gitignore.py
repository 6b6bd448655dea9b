"""The patterns of a `.gitignore`, matched as git matches them while it walks down: each entry on its own, folders before what
is in them. (Libraries match paths of files against all of a file's patterns at once, which is something else as soon as a
pattern takes a folder back.)"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class _Pattern:
    """parts: what each part of a path has to look like; None stands for any number of parts."""

    parts: tuple[re.Pattern[str] | None, ...]
    negated: bool
    only_folders: bool

    def matches(self, path: Sequence[str]) -> bool:
        """Whether a path, by its parts, is what the pattern says. Takes no more steps than there are parts times parts, however
        hostile both are: what stands for any number of parts need only be taken up again at its last place."""
        own = at = again = 0
        any_number = -1
        while at < len(path):
            part = self.parts[own] if own < len(self.parts) else _NOTHING
            if part is None:
                any_number, again = own, at
                own += 1
            elif part.fullmatch(path[at]):
                own, at = own + 1, at + 1
            elif any_number >= 0:
                again += 1
                own, at = any_number + 1, again
            else:
                return False
        return all(part is None for part in self.parts[own:])


class GitIgnore:
    """One `.gitignore` file, or a file of the same form."""

    def __init__(self, text: str) -> None:
        lines = text.removeprefix("\ufeff").split("\n")
        self._patterns = [p for line in lines if (p := _parse(line.removesuffix("\r"))) is not None]

    def verdict(self, relative: str, *, is_folder: bool) -> bool | None:
        """Whether an entry is ignored (True), taken back (False) or not mentioned. `relative` is its path from the folder of
        the file, with slashes. Says nothing about what is in an ignored folder: do not go there."""
        path = relative.split("/")
        for pattern in reversed(self._patterns):
            if (is_folder or not pattern.only_folders) and pattern.matches(path):
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
        parts = [*([] if anchored else [None]), *_parts(line)]
    except re.error:  # a class that is never closed, a range that runs backwards: git lets it match nothing
        return None
    return _Pattern(tuple(parts), negated, only_folders)


_NOTHING = re.compile(r"(?!)")
_SOMETHING = re.compile(r".+", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<slash>\\?/) | (?P<star>\*+) | (?P<any>\?) | \[(?P<class>[!^]?\]?(?:\\.|\[:\w+:\]|[^\\\]])*)\]
      | \\(?P<escaped>.) | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_NAMED = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": " \\t\\n\\r\\f\\v", "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip


def _parts(pattern: str) -> Iterator[re.Pattern[str] | None]:
    """What each part of a pattern asks of a part of a path. Raises re.error."""
    parts: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(pattern):
        if token["slash"]:
            parts.append([])
        else:
            parts[-1].append(token)
    for number, tokens in enumerate(parts):
        if [token[0] for token in tokens] != ["**"]:
            yield _regex(tokens)
        else:
            if number and number == len(parts) - 1:
                yield _SOMETHING  # all that is in a folder, and not the folder
            yield None


def _regex(tokens: Iterable[re.Match[str]]) -> re.Pattern[str]:
    """The regular expression of one part. What stands between two stars is looked for once, at its first place: any other would
    do no better, and trying them all takes forever."""
    between = [""]
    for token in tokens:
        if token["star"]:
            between.append("")
        else:
            between[-1] += _character(token)
    first, *others = between
    if not others:
        return re.compile(first, re.DOTALL)
    once = "".join(f"(?=(?P<g{n}>.*?{text}))(?P=g{n})" for n, text in enumerate(others[:-1]))
    return re.compile(f"{first}{once}.*{others[-1]}", re.DOTALL)


def _character(token: re.Match[str]) -> str:
    """The regular expression of what matches one character."""
    match token.lastgroup:
        case "any":
            return "."
        case "class":
            return _class(token["class"])
        case "escaped":
            return re.escape(token["escaped"])
    if token["plain"] in "[\\":  # opened and never closed; a backslash at the end
        raise re.error("unfinished")
    return re.escape(token["plain"])


_CLASS_TOKEN = re.compile(r"\[:(?P<named>\w+):\]|\\(?P<escaped>.)|(?P<plain>.)", re.DOTALL)


def _class(content: str) -> str:
    """The regular expression of `[content]`: one character, which is never a slash."""
    negated = content[:1] in ("!", "^")
    parts = []
    for token in _CLASS_TOKEN.finditer(content[negated:]):
        if token["named"]:
            parts.append(_NAMED.get(token["named"], ""))
        elif token["escaped"]:
            parts.append(re.escape(token["escaped"]))
        else:
            parts.append(token["plain"] if token["plain"] == "-" else re.escape(token["plain"]))
    return f"[{'^' if negated else ''}{''.join(parts)}]"
