"""What a command of the system does to files that another process has in common with it: `subprocess.run(["wget", "-O", path,
url])`, `os.system("tar xzf data.tar.gz")`."""

from __future__ import annotations

import ast
import posixpath
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from horovodize.interleaving.actions import Deed
from horovodize.python.names import Names
from horovodize.python.syntax import argument

Word: TypeAlias = ast.expr | str | None  # None: one that isn't seen
_RUNNING = (
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "os.system",
)
_ENDS = ("&&", ";")
_UNFOLLOWED = ("|", ">", ">>", "<", "||", "&")
_INTO = {"wget": ("-O", "-P"), "curl": ("-o",)}
_REMOTE = "://"


def of_command(names: Names, call: ast.Call) -> Iterator[tuple[Deed, ast.expr | str]]:
    """The deeds of a command that is run to its end, with their paths."""
    if names.of(call.func) not in _RUNNING:
        return
    given = argument(call, "args" if names.of(call.func) != "os.system" else "command", 0)
    for words in _commands(given):
        if words and isinstance(words[0], str):
            yield from _of_words(posixpath.basename(words[0]), words[1:])


def _commands(given: ast.expr | None) -> list[list[Word]]:
    """The words of each command; none of what isn't plainly written."""
    match given:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [
                [e.value if isinstance(e, ast.Constant) and isinstance(e.value, str) else e for e in elements]
            ]
        case ast.Constant(value=str(text)):
            return _divided(_split(text))
        case ast.JoinedStr(values=parts):
            words = list[Word]()
            text, told = "", list[ast.expr]()
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    text += f"\0{len(told)}\0"
                    told.append(part.value)
                elif isinstance(part, ast.Constant):
                    text += str(part.value)
            for word in _split(text):
                alone = word.strip("\0")
                by_name = word == f"\0{alone}\0" and alone.isdigit()
                words.append(told[int(alone)] if by_name else None if "\0" in word else word)
            return _divided(words)
    return []


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _divided(words: Sequence[Word]) -> list[list[Word]]:
    if any(word in _UNFOLLOWED for word in words if isinstance(word, str)):
        return []
    found: list[list[Word]] = [[]]
    for word in words:
        if isinstance(word, str) and word in _ENDS:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _of_words(command: str, words: Sequence[Word]) -> Iterator[tuple[Deed, ast.expr | str]]:
    options = [w for w in words if isinstance(w, str) and w.startswith("-")]
    if command in _INTO:
        into = _after(words, *_INTO[command])
        yield from ((Deed.FETCH, path) for path in into)
        named = command == "wget" or "-O" in options
        if named and not any(o in _INTO[command] for o in options):
            urls = [w for w in words if isinstance(w, str) and _REMOTE in w]
            yield from ((Deed.FETCH, posixpath.basename(url)) for url in urls if posixpath.basename(url))
    elif command == "mkdir":
        deed = Deed.ENSURE if any("p" in o for o in options) else Deed.MAKE
        yield from ((deed, path) for path in _plain(words))
    elif command == "rm":
        yield from ((Deed.REMOVE, path) for path in _plain(words))
    elif command == "unzip":
        yield from ((Deed.UNPACK, path) for path in _after(words, "-d") or ["."])
    elif command == "tar":
        how = words[0] if words and isinstance(words[0], str) else ""
        if "x" in how.lstrip("-") and not how.startswith("--"):
            yield from ((Deed.UNPACK, path) for path in _after(words, "-C") or ["."])
    elif command in ("cp", "mv", "aws", "gsutil"):
        yield from _copied(command, list(_plain(words)))


def _copied(command: str, paths: list[ast.expr | str]) -> Iterator[tuple[Deed, ast.expr | str]]:
    if command in ("aws", "gsutil"):
        paths = (
            paths[-2:] if any(p in ("cp", "sync", "rsync") for p in paths[:3] if isinstance(p, str)) else []
        )
    if len(paths) != 2:
        return
    source, target = paths
    if isinstance(target, str) and _REMOTE in target:
        return
    from_afar = command in ("aws", "gsutil")
    if not from_afar:
        yield Deed.REMOVE if command == "mv" else Deed.READ, source
    yield Deed.FETCH if from_afar else Deed.WRITE, target


def _after(words: Sequence[Word], *options: str) -> list[ast.expr | str]:
    return [
        path
        for option, path in pairwise(words)
        if isinstance(option, str) and option in options and path is not None
    ]


def _plain(words: Sequence[Word]) -> Iterator[ast.expr | str]:
    """The words that are no options, as far as they are seen. Patterns name several files."""
    for word in words:
        if word is None or (isinstance(word, str) and (word.startswith("-") or "*" in word or "$" in word)):
            continue
        yield word
