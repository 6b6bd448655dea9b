"""What a command does that a program gives the shell: `os.system("cp a b")`, `subprocess.run(["unzip", path])`.

Told by its first words, which have to be there as text, and by what its output is led to; of another command nothing is known.
"""

from __future__ import annotations

import ast
import re
from typing import Literal

from horovodize.python.module import Module

Deed = Literal["fetch", "write"]
"""fetch: brings files that the program then reads, so every host needs them. write: leaves, moves or removes files."""

# Those that wait until the command is done; `subprocess.Popen` and `os.popen` don't.
_RUNNERS = {"os.system", "subprocess.call", "subprocess.check_call", "subprocess.run"}
_FETCHING = {
    "wget", "curl", "aria2c", "gdown", "kaggle", "git", "unzip", "gunzip", "bunzip2", "unrar", "7z", "pip", "pip3", "conda",
    "apt", "apt-get",
}  # fmt: skip
_WRITING = {
    "cp",
    "mv",
    "rm",
    "mkdir",
    "rmdir",
    "touch",
    "ln",
    "tee",
    "zip",
    "convert",
    "ffmpeg",
    "chmod",
}
_COPYING = {"gsutil", "aws", "scp", "rsync"}  # from elsewhere, or to it
# `> out.txt`, `2>> log`; not `> /dev/null`, `2>&1`, `->`.
_REDIRECTED = re.compile(r"(?:^|[\s\d])>>?(?!\s*/dev/)\s*(?![&>\s])")
_UNKNOWN = "\0"  # in a command's text: what is filled in


def deed(module: Module, call: ast.Call) -> Deed | None:
    """What the command does that a call has the shell run; None for another call, and where that can't be told."""
    if module.names.of(call.func) not in _RUNNERS or not call.args:
        return None
    text = _text(module, call.args[0])
    commands = [_of_one(part.split()) for part in re.split(r"&&|\|\||[;|\n]", text)]
    known = [done for done in commands if done is not None]
    if not known and _REDIRECTED.search(text):
        return "fetch"  # what a command makes, the program reads, or another one
    return None if not known else "fetch" if "fetch" in known else "write"


def _of_one(words: list[str]) -> Deed | None:
    while words and (words[0] == "sudo" or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words:
        return None
    verb, rest = words[0].rsplit("/", 1)[-1], words[1:]
    if verb == "tar":
        return "fetch" if rest and "x" in rest[0] else "write"
    if verb == "gzip":
        return "fetch" if {"-d", "--decompress"} & set(rest) else "write"
    if verb in _COPYING:
        places = [word for word in rest if not word.startswith("-")]
        return "write" if places and re.match(r"\w+://|\S+:", places[-1]) else "fetch"
    if verb in _FETCHING:
        return "fetch"
    return "write" if verb in _WRITING else None


def _text(module: Module, e: ast.expr) -> str:
    """A command's text, with a mark for what is not known of it."""
    if isinstance(e, ast.Name):
        made = [o.node for o in module.values.origins(e) if not o.path]
        named = made[0] if len(made) == 1 else None
        e = named if isinstance(named, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call, ast.List)) else e
    if isinstance(e, ast.Constant) and isinstance(e.value, str):
        return e.value
    if isinstance(e, (ast.List, ast.Tuple)):
        return " ".join(_text(module, word) for word in e.elts)
    if isinstance(e, ast.JoinedStr):
        return "".join(_text(module, part) for part in e.values)
    if isinstance(e, ast.BinOp):
        return _text(module, e.left) + (_text(module, e.right) if isinstance(e.op, ast.Add) else "")
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr == "format":
        return _text(module, e.func.value)
    return _UNKNOWN
