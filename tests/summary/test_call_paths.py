"""Ways down to a step, what TensorFlow traces, and saying the same thing one call further out."""

from __future__ import annotations

import ast

import pytest

from horovodize.python.module import Module
from horovodize.summary.call_paths import Drive
from horovodize.summary.express_in_caller import is_plain, lift
from horovodize.summary.sites import Sites

from .reading import function, looked_at, module


def drive_of(m: Module) -> Drive:
    return Drive(m, Sites(m))


def ways(source: str) -> list[str]:
    """The ways to the `look(…)` of a program, outermost first: functions, with a * for each loop around the call."""
    m = module(source)
    found = []
    for way in drive_of(m).ways(look(m)):
        found.append(
            " > ".join(f"{f.function.name if f.function else '-'}{'*' * len(f.loops)}" for f in reversed(way))
        )
    return sorted(found)


def look(m: Module) -> ast.Call:
    return next(c for c in m.syntax.calls if isinstance(c.func, ast.Name) and c.func.id == "look")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("look(1)", ["-"]),
        ("for a in b:\n    look(1)", ["-*"]),
        ("for a in b:\n    while c:\n        look(1)", ["-**"]),
        ("for a in look(1):\n    pass", ["-"]),
        ("for a in b:\n    pass\nelse:\n    look(1)", ["-"]),
        ("def f():\n    look(1)\nf()", ["- > f"]),
        ("def f():\n    look(1)\nfor a in b:\n    f()", ["-* > f"]),
        ("def f():\n    for a in b:\n        look(1)\nfor c in d:\n    f()", ["-* > f*"]),
        ("def f():\n    look(1)\nf()\nfor a in b:\n    f()", ["- > f", "-* > f"]),
        ("def f():\n    look(1)\ndef main():\n    for a in b:\n        f()\nif __name__ == '__main__':\n    main()",
         ["- > main* > f"]),
        ("def f():\n    look(1)", ["f"]),
        ("def f(n):\n    look(1)\n    if n:\n        f(n - 1)\nf(3)", ["- > f", "f > f"]),
        ("def f():\n    g()\ndef g():\n    look(1)\n    f()\ng()", ["- > g", "g > f > g"]),
        ("class C:\n    def step(self):\n        look(1)\n    def run(self):\n        for a in b:\n"
        "            self.step()\nC().run()",
         ["- > run* > step"]),
        ("class C:\n    def __init__(self):\n        look(1)\nfor a in b:\n    C()", ["-* > __init__"]),
        ("def outer():\n    def inner():\n        look(1)\n    for a in b:\n        inner()\nouter()", ["- > outer* > inner"]),
        ("from absl import app\ndef main(argv):\n    look(1)\napp.run(main)", ["- > main"]),
        ("import tensorflow as tf\ndef f():\n    look(1)\ndef g():\n    tf.cond(a, f, lambda: None)\ng()", ["- > g > f"]),
        ("import tensorflow as tf\ndef f():\n    look(1)\ntf.cond(a, true_fn=g, false_fn=f)", ["- > f"]),
        ("import tensorflow as tf\ndef f():\n    look(1)\ntf.cond(f, g, h)", ["f"]),
        ("def f():\n    look(1)\nfs = [f() for a in b]", ["- > f"]),
        ("def f(g):\n    for a in b:\n        g()\ndef h():\n    look(1)\nf(h)", ["- > f* > h"]),
        ("import tensorflow as tf\ndef f():\n    look(1)\nfast = tf.function(f)\nfor a in b:\n    fast()", ["-* > f"]),
        ("async def f():\n    look(1)\nasync def main():\n    async for a in b:\n        await f()\nasyncio.run(main())",
         ["- > main* > f"]),
    ],
)  # fmt: skip
def test_ways_to_a_step(source: str, expected: list[str]) -> None:
    assert ways(source) == expected


@pytest.mark.parametrize(
    ("source", "traced"),
    [
        ("@tf.function\ndef f(): pass", True),
        ("@tf.function(jit_compile=True)\ndef f(): pass", True),
        ("@tf.function()\ndef f(): pass", True),
        ("def f(): pass\ng = tf.function(f)", True),
        ("def f(): pass\nf = tf.function(f)", True),
        ("def f(): pass\ng = tf.function(f, experimental_relax_shapes=True)", True),
        ("import functools\n@functools.partial(tf.function, jit_compile=True)\ndef f(): pass", True),
        ("from tensorflow import function\n@function\ndef f(): pass", True),
        ("def f(): pass", False),
        ("@staticmethod\ndef f(): pass", False),
        ("@function\ndef f(): pass", False),
    ],
)
def test_what_is_traced(source: str, traced: bool) -> None:
    m = module("import tensorflow as tf\n" + source)
    assert (function(m, "f") in drive_of(m).traced) is traced


def test_a_method_that_is_traced_by_assignment() -> None:
    m = module(
        "import tensorflow as tf\nclass C:\n    def __init__(self):\n        self.step = tf.function(self._step)\n"
        "    def _step(self): pass\n"
    )
    assert function(m, "_step") in drive_of(m).traced


def test_how_far_out_tracing_goes() -> None:
    m = module(
        """
        import tensorflow as tf
        def inner():
            look(1)
        @tf.function
        def step():
            inner()
        def train():
            for x in data:
                step()
        train()
        """
    )
    drive = drive_of(m)
    (way,) = drive.ways(look(m))
    assert [f.function.name if f.function else "-" for f in way] == ["inner", "step", "train", "-"]
    assert drive.runs_traced(way) == 1
    assert not drive.in_traced(look(m))


def test_what_a_place_reaches() -> None:
    m = module(
        "def f():\n    look(1)\ndef g():\n    f()\nclass C:\n    def __init__(self):\n        g()\na = C()\nb = 2\n"
    )
    drive, sites = drive_of(m), {look(m)}
    assert drive.reaches(m.tree.body[3], sites)
    assert not drive.reaches(m.tree.body[4], sites)


# ---------------------------------------------------------------------- lift


def lifted(source: str, to: int) -> str | None:
    m = module(source)
    (way,) = drive_of(m).ways(look(m))
    found = lift(m, looked_at(m), way, to)
    return ast.unparse(found) if found is not None else None


@pytest.mark.parametrize(
    ("source", "to", "text"),
    [
        ("def f(m):\n    look(m.variables)\nf(net)", 1, "net.variables"),
        ("def f(m):\n    look(m.variables)\nf(m=net)", 1, "net.variables"),
        ("def f(m):\n    look(m)\nf(trainer.net)", 1, "trainer.net"),
        ("m = 1\ndef f():\n    look(m)\nf()", 1, "m"),
        ("def f():\n    m = net\n    look(m.variables)\nf()", 1, "net.variables"),
        ("def f():\n    m = build()\n    look(m)\nf()", 1, None),
        ("def f(m):\n    look(m)\nf(build())", 1, None),
        ("def f(*m):\n    look(m)\nf(1)", 1, None),
        ("def f(m):\n    m = other\n    look(m)\nf(net)", 1, "other"),
        ("def f(m):\n    if m:\n        m = other\n    look(m)\nf(net)", 1, None),
        ("def f(a):\n    look(a)\ndef g(b):\n    f(b)\ng(net)", 2, "net"),
        ("def f(a):\n    look(a)\ndef g(b):\n    f(b)\ng(net)", 1, "b"),
        ("class C:\n    def f(self):\n        look(self.net)\nc = C()\nc.f()", 1, "c.net"),
        ("class C:\n    def f(self):\n        look(self.net)\n    def g(self):\n        self.f()\nc = C()\nc.g()", 2, "c.net"),
        ("class B:\n    def f(self):\n        look(self.net)\nclass C(B):\n    def g(self):\n        super().f()\n"
        "c = C()\nc.g()", 1, "self.net"),
        ("class C:\n    def f(self):\n        look(self.net)\nC().f()", 1, None),
        ("def f(a, b):\n    look(a.v + b.v)\nf(x, y)", 1, "x.v + y.v"),
        ("def f(a):\n    look(list(a.values()))\nf(weights)", 1, "list(weights.values())"),
        ("def f(a):\n    look([a, len])\nf(w)", 1, "[w, len]"),
        ("def outer():\n    net = 1\n    def f():\n        look(net)\n    f()\nouter()", 1, "net"),
        ("def outer():\n    net = 1\n    def f():\n        look(net)\n    f()\nouter()", 2, "1"),
    ],
)  # fmt: skip
def test_the_same_thing_one_call_further_out(source: str, to: int, text: str | None) -> None:
    assert lifted(source, to) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a", True), ("a.b.c", True), ("a[0]", True), ("a[i]", True), ("[a, b.c]", True), ("(a, *b)", True), ("a + b", True),
        ("list(a)", True), ("list(a.values())", True), ("1", True), ("a()", False), ("a - b", False), ("a[f()]", False),
        ("f(a)", False), ("[x for x in a]", False), ("a if b else c", False), ("lambda: a", False), ("(a := b)", False),
    ],
)  # fmt: skip
def test_what_may_be_said_twice(text: str, plain: bool) -> None:
    assert is_plain(ast.parse(text, mode="eval").body) is plain
