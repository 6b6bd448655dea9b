"""Places that never both run; and, first, those of which that isn't certain."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.facts.differences.exclusive import Exclusive
from horovodize.source import Document
from horovodize.summary import summarize


def apart(text: str) -> bool:
    """Whether the calls of `one()` and `other()` in a module exclude each other."""
    summary = summarize(Document("import tensorflow as tf\nimport sys\n" + textwrap.dedent(text)))
    assert summary.module is not None
    assert summary.drive is not None
    (one,) = [c for c in summary.module.syntax.calls if getattr(c.func, "id", "") == "one"]
    (other,) = [c for c in summary.module.syntax.calls if getattr(c.func, "id", "") == "other"]
    found = Exclusive(summary.module, summary.drive)
    assert found.apart(one, other) is found.apart(other, one)
    return found.apart(one, other)


IN_FUNCTIONS = """
def first():
    one()

def second():
    other()

"""
MAIN = (
    IN_FUNCTIONS
    + """
def main(eager):
    if eager:
        first()
    else:
        second()

"""
)


@pytest.mark.parametrize(
    "text",
    [
        "one()\nother()",
        "if a:\n    one()\nif b:\n    other()",
        "if a:\n    one()\nif not a:\n    other()",
        "if a == 1:\n    one()\nif a == 2:\n    other()",
        "a = go()\nif a == 1:\n    one()\n    a = 2\nif a == 2:\n    other()",
        "a = go()\nif a == 1:\n    one()\nif a == 1:\n    other()",
        "a = go()\nif a == 1:\n    one()\nif a != 2:\n    other()",
        "a = go()\nif a == 1:\n    one()\nif a == b:\n    other()",
        "a = go()\nif a.x == 1:\n    one()\nif a.y == 2:\n    other()",
        "a = go()\nif a.x == 1:\n    one()\n    a.x = 2\nif a.x == 2:\n    other()",
        "class A:\n  def go(self):\n    self.x = 2\na = A()\nif a.x == 1:\n    one()\n    a.go()\nif a.x == 2:\n    other()",
        "a = go()\nif a.x == 1:\n    one()\n    setattr(a, 'x', 2)\nif a.x == 2:\n    other()",
        "a = go()\nif a.x == 1:\n    one()\nif a.x == 2:\n    pass\nelse:\n    other()",
        "for i in range(2):\n    if i == 0:\n        one()\n    if i == 1:\n        other()",
        "if one():\n    other()",
        "if a:\n    one()\n    other()\nelse:\n    pass",
        "for i in range(2):\n    if i:\n        one()\n    else:\n        other()",
        "while go():\n    if a:\n        one()\n    else:\n        other()",
        "while one() if a else other():\n    pass",
        "[one() if i else other() for i in range(2)]",
        "f = lambda a: one() if a else other()\nf(1)\nf(0)",
        "try:\n    one()\nexcept ValueError:\n    other()",
        "for i in x:\n    one()\nelse:\n    other()",
        "if a:\n    one()\n    if b:\n        sys.exit()\nother()",
        "def f():\n    if a:\n        one()\n        if b:\n            return\n    other()\nf()",
        "def f():\n    for i in x:\n        if i:\n            one()\n            continue\n        other()\nf()",
        MAIN + "main(True)\nmain(False)",
        MAIN + "for eager in (True, False):\n    main(eager)",
        MAIN + "run(main)",
        MAIN + "main(True)\nrun(first)",
        MAIN + "main(True)\nsecond()",
        MAIN + "callbacks = [main]\nmain(True)",
        MAIN + "if __name__ == '__main__':\n    [main(e) for e in (True, False)]",
        MAIN,  # another file may call it, as often as it likes
        MAIN.replace("def first", "@app.command\ndef first") + "main(True)",
        MAIN.replace("        second()", "        second()\n        main(True)") + "main(True)",
        "class A:\n    def __init__(self):\n        if a:\n            one()\n        else:\n            other()\nmake(A)\nA()",
    ],
)
def test_both_may_run(text: str) -> None:
    assert not apart(text)


@pytest.mark.parametrize(
    "text",
    [
        "if a:\n    one()\nelse:\n    other()",
        "if a == 'x':\n    one()\nelif a == 'y':\n    pass\nelif a == 'z':\n    for i in x:\n        other()",
        "if a:\n    with b:\n        for i in x:\n            one()\nelse:\n    if c:\n        other()",
        "a = go()\nif a == 1:\n    one()\nif a == 2:\n    other()",
        "a = go()\nif a.x == 'train':\n    one()\nif b:\n    pass\nif a.x == 'test':\n    other()",
        "def f(a):\n    if a.x.y == 1:\n        one()\n    print(a)\n    if a.x.y == 2:\n        other()\nf(1)",
        "class A:\n  def __init__(self, a):\n    self.x = a.x\na = go()\nif a.x == 1:\n    one()\nif a.x == 2:\n    other()",
        "one() if a else other()",
        "match a:\n    case 1:\n        one()\n    case _:\n        other()",
        "def f():\n    if a:\n        for i in x:\n            one()\n        return\n    other()\nf()",
        "def f():\n    if a:\n        one()\n        raise SystemExit\n    with b:\n        other()\nf()",
        MAIN + "main(True)",
        MAIN + "if __name__ == '__main__':\n    main('--eager' in sys.argv)",
        MAIN + "tf.compat.v1.app.run(main)",
        MAIN.replace("def first", "@tf.function\ndef first") + "main(True)",
        IN_FUNCTIONS + "if a:\n    for epoch in range(3):\n        first()\nelse:\n    second()",
        "class A:\n    def go(self, a):\n        if a:\n            one()\n        else:\n            other()\n\nA().go(1)",
    ],
)
def test_only_one_runs(text: str) -> None:
    assert apart(text)


CALLED = MAIN + "def go(first=True):\n    return first\noptions = read()\n{}\nmain(options.first)\n"


@pytest.mark.parametrize("use", ["", "tf.first()", "keep = options.first"])
def test_what_is_named_as_a_function_may_be_something_else(use: str) -> None:
    """`if FLAGS.train: train()`, beside `tf.train` and a parameter `train`."""
    assert apart(CALLED.format(use))


@pytest.mark.parametrize(
    "use",
    [
        "run(first)",
        "keep = first",
        "import helpers\nhelpers.first()",
        "table = {1: first}",
        "sys.modules[__name__].first()",
    ],
)
def test_a_function_that_is_handed_on_may_run_again(use: str) -> None:
    assert not apart(CALLED.format(use))
