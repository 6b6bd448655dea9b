"""Classes of the protocol work as before when what attrs kept of making them is gone."""

from __future__ import annotations

import json
import subprocess
import sys

# In a process of its own: nothing brings back what is dropped.
_PROGRAM = """
import json, linecache, attrs
from lsprotocol import converters, types
from horovodize.lsp import attrs_leftovers

classes = [c for _, c in sorted(vars(types).items()) if isinstance(c, type) and attrs.has(c)]
place = types.Range(types.Position(1, 2), types.Position(3, 4))

def attempt(work):
    try:
        return repr(work())
    except Exception as e:
        return f"{type(e).__name__}: {e}"

def needed(cls):
    return {f.alias: "x" for f in attrs.fields(cls) if f.default is attrs.NOTHING}

def exercise():
    converter = converters.get_converter()
    made = [attempt(lambda: cls(**needed(cls))) for cls in classes]
    same = [attempt(lambda: cls(**needed(cls)) == cls(**needed(cls))) for cls in classes]
    sent = converter.unstructure(types.Diagnostic(place, "a", tags=[types.DiagnosticTag.Unnecessary]))
    back = converter.structure(sent, types.Diagnostic)
    return made, same, attempt(lambda: types.Position(1, 2) < types.Position(1, 3)), sent, repr(back)

before = exercise()
names = len(types.Position.__init__.__globals__)
attrs_leftovers.drop(types)
fine = sum("Error" not in text for text in before[0])
kept = len(types.Position.__init__.__globals__)
print(json.dumps([before == exercise(), fine, names, kept, [n for n in linecache.cache if "<attrs" in n]]))
"""


def test_classes_work_as_before() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    same, fine, before, after, sources = json.loads(done.stdout)
    assert same
    assert fine > 200
    assert before > 100
    assert after < 20
    assert not sources
