"""Classes of the protocol work as those that attrs makes, without what attrs makes for each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

# In processes of their own: nothing brings back what is dropped.
_PROGRAM = """
import copy, json, linecache, pickle, sys
from horovodize.lsp import protocol_types

light = sys.argv[1] == "light"
if light:
    protocol_types.load()
import attrs
from lsprotocol import converters, types

classes = [c for _, c in sorted(vars(types).items()) if isinstance(c, type) and attrs.has(c)]
place = types.Range(types.Position(1, 2), types.Position(3, 4))

def attempt(work):
    try:
        return repr(work())
    except Exception as e:
        return f"{type(e).__name__}: {e}"

def needed(cls):
    return {f.alias: "x" for f in attrs.fields(cls) if f.default is attrs.NOTHING}

def generated(name):
    methods = [getattr(c, name) for c in classes]
    return len({m.__code__ for m in methods if m.__code__.co_filename.startswith("<attrs")})

def exercise():
    converter = converters.get_converter()
    made = [attempt(lambda: cls(**needed(cls))) for cls in classes]
    same = [attempt(lambda: cls(**needed(cls)) == cls(**needed(cls))) for cls in classes]
    other = [attempt(lambda: cls(**needed(cls)) != place) for cls in classes]
    hashed = [attempt(lambda: {cls(**needed(cls))}) for cls in classes]
    copied = [copy.deepcopy(place) == place, pickle.loads(pickle.dumps(place)) == place]
    sent = converter.unstructure(types.Diagnostic(place, "a", tags=[types.DiagnosticTag.Unnecessary]))
    back = converter.structure(sent, types.Diagnostic)
    unlike = types.Location("a", place) == types.Location("b", place)
    ordered = attempt(lambda: types.Position(1, 2) < types.Position(1, 3))
    return made, same, other, hashed, copied, unlike, ordered, sent, repr(back), back == back, back == place

before = exercise()
names = len(types.Position.__init__.__globals__)
if light:
    protocol_types.drop_leftovers()
kept = len(types.Position.__init__.__globals__)
sources = [n for n in linecache.cache if "<attrs" in n]
tuples = len({type(c.__attrs_attrs__) for c in classes})
counts = [generated(name) for name in ("__init__", "__repr__", "__eq__")]
print(json.dumps([exercise(), before == exercise(), names, kept, len(sources), tuples, counts]))
"""


def _run(how: str) -> list[Any]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True)
    answers: list[Any] = json.loads(done.stdout)
    return answers


def test_classes_work_as_those_that_attrs_makes() -> None:
    plain, light = _run("plain"), _run("light")
    assert light[0] == plain[0]
    assert light[1]
    assert sum("Error" not in text for text in light[0][0]) > 200


def test_what_one_of_all_can_do_is_not_made_for_each() -> None:
    _, _, before, after, sources, tuples, (inits, shown, compared) = _run("light")
    assert before > 100
    assert after < 20
    assert (sources, tuples) == (0, 1)
    assert inits > 100
    assert (shown, compared) == (0, 0)
