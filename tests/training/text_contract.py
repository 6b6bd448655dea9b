"""The part of the contract that is about text: I1 (valid, and twice is once) and I8 (nothing else changes).

I8 does not know which lines an edit may touch. It asks for what no edit has a right to change: every comment, every
string as it is spelled, line ends, indentation, byte order mark and coding line; and that most lines are as they were."""

from __future__ import annotations

import difflib
import io
import tokenize
from collections import Counter
from collections.abc import Callable

from tests.training.contract import Fault

# Strings that distributing takes away on purpose: names of optimizers (K2) and what unpins a device (C3).
OPTIMIZERS = (
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "ftrl",
    "lion",
    "nadam",
    "rmsprop",
    "sgd",
)
TAKEN = {f"{quote}{name}{quote}" for name in OPTIMIZERS for quote in "'\""} | {
    f"{quote}{text}{quote}" for text in ("CUDA_VISIBLE_DEVICES", "GPU", "0", "-1") for quote in "'\""
}


def valid_and_stable(text: bytes, again: Callable[[bytes], bytes]) -> list[Fault]:
    """I1: the text compiles, and distributing it again (`again`) changes nothing."""
    try:
        compile(text, "distributed.py", "exec")
    except (SyntaxError, ValueError) as error:
        return [Fault("I1", f"does not compile: {error}")]
    twice = again(text)
    if twice != text:
        changed = [line for line in _diff(text, twice) if line[:1] in "+-"][:6]
        return [Fault("I1", f"distributing it again changes it: {changed}")]
    return []


def rest_untouched(before: bytes, after: bytes) -> list[Fault]:
    """I8: what is not part of an edit is the same, byte for byte."""
    faults = []
    for name, mark in (("byte order mark", b"\xef\xbb\xbf"),):
        if before.startswith(mark) != after.startswith(mark):
            faults.append(f"the {name} is lost or new")
    if _ends(after) - _ends(before):
        faults.append(f"line ends {sorted(_ends(after))}, where there were {sorted(_ends(before))}")
    if before.endswith((b"\n", b"\r")) != after.endswith((b"\n", b"\r")):
        faults.append("the end of the file changed")
    if before.startswith(b"#!") and before.split(b"\n")[0] != after.split(b"\n")[0]:
        faults.append("the first line changed")
    for kind, what, allowed in ((tokenize.COMMENT, "comment", set()), (tokenize.STRING, "string", TAKEN)):
        lost = _tokens(before, kind) - _tokens(after, kind)
        faults += [f"{what} {text!r} is lost or respelled" for text in lost if text not in allowed]
    if _indents(before) and _indents(after) - _indents(before):
        faults.append(f"indented with {_indents(after)}, where it was {_indents(before)}")
    removed = [line[1:] for line in _diff(before, after) if line.startswith("-")]
    if len(removed) > max(15, len(before.splitlines()) // 4):
        faults.append(f"{len(removed)} of {len(before.splitlines())} lines are touched")
    faults += [f"only spacing changes in {line!r}" for line in _respaced(before, after)]
    return [Fault("I8", message) for message in faults]


def _ends(text: bytes) -> set[bytes]:
    return {line[len(line.rstrip(b"\r\n")) :] for line in text.splitlines(keepends=True)} - {b""}


def _decoded(text: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
    return text.decode(encoding)


def _diff(before: bytes, after: bytes) -> list[str]:
    lines = [_decoded(text).splitlines(keepends=True) for text in (before, after)]
    return [line for line in difflib.unified_diff(*lines, n=0) if not line.startswith(("---", "+++", "@@"))]


def _tokens(text: bytes, kind: int) -> Counter[str]:
    found = (token for token in tokenize.tokenize(io.BytesIO(text).readline) if token.type == kind)
    return Counter(token.string for token in found)


def _indents(text: bytes) -> set[str]:
    """What blocks are indented with: tabs, or spaces by the greatest common step."""
    texts = {
        token.string
        for token in tokenize.tokenize(io.BytesIO(text).readline)
        if token.type == tokenize.INDENT
    }
    return {"tabs" if "\t" in indent else "spaces" for indent in texts}


def _respaced(before: bytes, after: bytes) -> list[str]:
    """Lines of which only the spacing within changed; indenting deeper is what putting under an `if` does."""
    changes = _diff(before, after)
    gone = [line[1:] for line in changes if line.startswith("-") and line[1:].strip()]
    new = {"".join(line[1:].split()): line[1:] for line in changes if line.startswith("+")}
    found = []
    for line in gone:
        other = new.get("".join(line.split()))
        if other is not None and other.strip() != line.strip():
            found.append(line)
    return found
