"""Text that Python's `hash` turns into numbers, which are others in each process: part of D3.

    encoded = [one_hot(line, 50) for line in lines]      # of Keras, by `hash`
    bucket = hash(word) % 1000

Ranks that number the same words differently train a row of an embedding for different words, and average that. They hash by a
helper: one process alone by Python's `hash`, several by MD5. No rank waits for others there: one alone may hash."""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS, argument, has_unpacking
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit

_KERAS = "tensorflow.keras.preprocessing.text."
_HASHING = "hashing_trick"
_THIRD = 2  # where `hashing_trick` is told by what to hash, and `one_hot` isn't
_WHAT = "Hash text alike on all ranks"
_WHY = "Python's `hash` of text is another in each process: ranks would train a row of an embedding for different words."
_OWN = "this goes by Python's `hash`, which is another in each process; use `hashing_trick(…, hash_function='md5')`"
_OF_OBJECTS = ("__hash__", "__eq__")
_NUMBERS = ("int", "len", "round", "float")


def apply(draft: Draft) -> None:
    for call in draft.module.calls_of(f"{_KERAS}one_hot"):
        _take_helper(draft, call)
    for call in draft.module.calls_of(_KERAS + _HASHING):
        by = argument(call, "hash_function", _THIRD)
        if by is None and not has_unpacking(call):
            _change(draft, call, [draft.add_argument(call, f"hash_function={_helper(draft)}")])
        elif isinstance(by, ast.Name) and by.id == "hash":
            _change(draft, call, [Edit(draft.module.span(by), _helper(draft))])
    for func in draft.module.loads.get("hash"):
        around = draft.syntax.parent[func]
        if isinstance(func, ast.Name) and isinstance(around, ast.Call) and around.func is func:
            if _hashes_text(draft, around, func):
                _change(draft, around, [Edit(draft.module.span(func), _helper(draft))])


def _helper(draft: Draft) -> str:
    draft.stream["hashlib"] = draft.needed_module("hashlib")
    return draft.helper("hash_alike")


def _take_helper(draft: Draft, call: ast.Call) -> None:
    """`one_hot(line, 50)` → `hashing_trick(line, 50, hash_function=hash_alike)`: it does no more than to call that."""
    if has_unpacking(call) or len(call.args) > _THIRD or argument(call, "input_text") is not None:
        draft.ask("D3", call, _WHAT, _WHY, _OWN)
        return
    before, dot, _ = draft.module.text(call.func).rpartition(".")
    if isinstance(call.func, ast.Name):
        module = next((b.imported for b in draft.module.scopes.reaching(call.func) if b.imported), "")
        draft.extra_imports.append(f"from {module.rpartition('.')[0]} import {_HASHING}")
    edits = [
        Edit(draft.module.span(call.func), f"{before}{dot}{_HASHING}"),
        draft.add_argument(call, f"hash_function={_helper(draft)}"),
    ]
    _change(draft, call, edits)


def _hashes_text(draft: Draft, call: ast.Call, func: ast.Name) -> bool:
    """Whether Python's `hash` may be given text, rather than a number, and not for an object that is to be found again."""
    if draft.module.scopes.reaching(func) or len(call.args) != 1:
        return False
    function = draft.syntax.function(call)
    if isinstance(function, FUNCTIONS) and function.name in _OF_OBJECTS:
        return False
    return not all(_is_number(draft, o.node) for o in draft.values.origins(call.args[0]))


def _is_number(draft: Draft, n: ast.AST) -> bool:
    if isinstance(n, ast.Call):
        return isinstance(n.func, ast.Name) and n.func.id in _NUMBERS
    return isinstance(n, ast.Constant) and isinstance(n.value, (int, float))


def _change(draft: Draft, call: ast.Call, edits: list[Edit]) -> None:
    if draft.decide(call, Agreed("D3")):
        draft.change("D3", call, _WHAT, _WHY, edits)
