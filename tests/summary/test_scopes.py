"""Scopes and reaching definitions: which bindings a use may see."""

from __future__ import annotations

import ast

import pytest

from .reading import looked_at, module


def seen(source: str) -> list[str]:
    """The values (or kinds) that the name that a program looks at may have, in the order of the text."""
    m = module(source)
    use = looked_at(m)
    assert isinstance(use, ast.Name)
    bindings = sorted(m.scopes.reaching(use), key=lambda b: (b.anchor.lineno, b.anchor.col_offset))  # type: ignore[attr-defined]
    return [m.text(b.value) if b.value is not None else b.kind for b in bindings]


# ---------------------------------------------------------------------- scopes


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("a = 1\nlook(a)", ["1"]),
        ("a = 1\ndef f():\n    look(a)", ["1"]),
        ("a = 1\ndef f():\n    a = 2\n    look(a)", ["2"]),
        ("a = 1\ndef f():\n    look(a)\n    a = 2", ["2"]),
        ("a = 1\ndef f():\n    global a\n    a = 2\nlook(a)", ["1", "2"]),
        ("def f():\n    global a\n    a = 2\ndef g():\n    look(a)", ["2"]),
        ("def f():\n    a = 1\n    def g():\n        nonlocal a\n        a = 2\n    look(a)", ["1", "2"]),
        (
            "def f():\n    a = 1\n    def g():\n        def h():\n            nonlocal a\n            a = 2\n    look(a)",
            ["1", "2"],
        ),
        ("def f():\n    a = 1\n    def g():\n        nonlocal a\n        a = 2\n        look(a)", ["1", "2"]),
        ("def f():\n    a = 1\n    def g():\n        look(a)\n    a = 2", ["1", "2"]),
        ("a = 1\nclass C:\n    a = 2\n    look(a)", ["2"]),
        ("a = 1\nclass C:\n    a = 2\n    def f(self):\n        look(a)", ["1"]),
        ("class C:\n    a = 2\nlook(a)", []),
        ("a = 1\nb = [look(a) for a in (2, 3)]", ["(2, 3)"]),
        ("a = (1,)\nb = [x for x in look(a)]", ["(1,)"]),
        ("a = (1,)\nb = [a for a in look(a)]", ["(1,)"]),
        ("b = [(a := x) for x in (2, 3)]\nlook(a)", ["x"]),
        ("def f():\n    b = any((a := x) for x in (2, 3))\n    look(a)", ["x"]),
        ("f = lambda a: look(a)", ["parameter"]),
        ("a = 1\nf = lambda: look(a)", ["1"]),
        ("a = 1\ndef f(b=look(a), a=2): pass", ["1"]),
        ("a = 1\n@look(a)\ndef f(a): pass", ["1"]),
        ("def f(a):\n    look(a)", ["parameter"]),
        ("def f(*a):\n    look(a)", ["parameter"]),
        ("def f(**a):\n    look(a)", ["parameter"]),
        ("def f(*, a):\n    look(a)", ["parameter"]),
        ("def f(a, /):\n    look(a)", ["parameter"]),
        ("look(len)", []),
        ("import a\nlook(a)", ["import"]),
        ("def a(): pass\nlook(a)", ["def"]),
        ("class a: pass\nlook(a)", ["class"]),
        ("with open(1) as a:\n    look(a)", ["open(1)"]),
        ("try: pass\nexcept E as a:\n    look(a)", ["except"]),
        ("match x:\n    case [a, *b]:\n        look(a)", ["match"]),
        ("match x:\n    case [a, *b]:\n        look(b)", ["match"]),
        ("match x:\n    case a if a:\n        look(a)", ["match"]),
        ("a: int = 3\nlook(a)", ["3"]),
        ("a: int\na = 4\nlook(a)", ["4"]),
        ("async def f():\n    async for a in b:\n        look(a)", ["b"]),
        ("async def f():\n    async with b as a:\n        look(a)", ["b"]),
    ],
)
def test_a_name_is_looked_up_in_its_scopes(source: str, values: list[str]) -> None:
    assert seen(source) == values


# ---------------------------------------------------------------------- flow


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("a = 1\na = 2\nlook(a)", ["2"]),
        ("a = 1\nlook(a)\na = 2", ["1"]),
        ("a = 1\nif x:\n    a = 2\nlook(a)", ["1", "2"]),
        ("if x:\n    a = 1\nelse:\n    a = 2\nlook(a)", ["1", "2"]),
        ("if x:\n    a = 1\n    look(a)\nelse:\n    a = 2", ["1"]),
        ("if x:\n    a = 1\nelse:\n    a = 2\n    look(a)", ["2"]),
        ("a = 0\nif x:\n    a = 1\nelif y:\n    look(a)", ["0"]),
        ("a = 0\nif x:\n    a = 1\nelse:\n    pass\nif y:\n    look(a)", ["0", "1"]),
        ("a = 1\nfor i in x:\n    look(a)\n    a = 2", ["1", "2"]),
        ("a = 1\nfor i in x:\n    a = 2\n    look(a)", ["2"]),
        ("a = 1\nfor i in x:\n    a = 2\nlook(a)", ["1", "2"]),
        ("a = 1\nwhile look(a):\n    a = 2", ["1", "2"]),
        ("a = 1\nfor i in x:\n    for j in y:\n        look(a)\n    a = 2", ["1", "2"]),
        ("a = 1\nfor i in x:\n    pass\nelse:\n    a = 2\nlook(a)", ["1", "2"]),
        ("for a in x:\n    look(a)", ["x"]),
        ("a = 1\nfor a in x:\n    pass\nlook(a)", ["1", "x"]),
        ("a = 1\ntry:\n    a = 2\nexcept E:\n    a = 3\nlook(a)", ["1", "2", "3"]),
        ("a = 1\ntry:\n    a = 2\nfinally:\n    a = 3\nlook(a)", ["3"]),
        ("try:\n    a = 1\nexcept E:\n    look(a)", ["1"]),
        ("a = 1\nwith x:\n    a = 2\nlook(a)", ["2"]),
        ("a = 1\nmatch x:\n    case 1:\n        a = 2\n    case _:\n        a = 3\nlook(a)", ["1", "2", "3"]),
        ("a = 1\na = a + look(a)", ["1"]),
        ("a, b = 1, 2\na, b = look(a), b", ["1"]),
        ("a = 1\na += 2\nlook(a)", ["1", "2"]),
        ("a = b = 3\nlook(a)", ["3"]),
        ("(a, b), c = x\nlook(b)", ["x"]),
        ("[a, *b] = x\nlook(b)", ["x"]),
        ("a = 1; look(a); a = 2", ["1"]),
        ("a = 1\nif x:\n    a = 2\nelse:\n    look(a)", ["1"]),
        ("a = 1\nfor k in r:\n    if x:\n        a = 2\n    else:\n        look(a)", ["1", "2"]),  # a turn before
        ("for k in r:\n    a = 1\n    if x:\n        a = 2\n    else:\n        look(a)", ["1"]),
        ("def f(a):\n    if a is None:\n        a = 2\n    look(a)", ["parameter", "2"]),
        ("def f(a):\n    a = 2\n    look(a)", ["2"]),
    ],
)  # fmt: skip
def test_a_use_sees_the_bindings_that_reach_it(source: str, values: list[str]) -> None:
    found = seen(source)
    missing = [v for v in values if v not in found]
    assert not missing, f"lacks {missing}: a value that a run sees must be among them"
    assert sorted(found) == sorted(values)


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("a = 1\nif c:\n    a = 2\nelse:\n    a = 3\nlook(a)", ["2", "3"]),
        ("a = 1\nif c:\n    a = 2\nelif d:\n    a = 3\nelse:\n    a = 4\nlook(a)", ["2", "3", "4"]),
        ("a = 1\nif c:\n    a = 2\nelif d:\n    a = 3\nlook(a)", ["1", "2", "3"]),
        ("a = 1\nif c:\n    a = 2\nelse:\n    a += 3\nlook(a)", ["1", "2", "3"]),
        ("a = 1\nif c:\n    a = 2\nelse:\n    if d:\n        a = 3\nlook(a)", ["1", "2", "3"]),
        ("a = 1\nif c:\n    a = 2\nelse:\n    for a in b:\n        pass\nlook(a)", ["1", "2", "b"]),
        ("a = 1\nif c:\n    if d:\n        a = 2\n    else:\n        a = 3\n    look(a)", ["2", "3"]),
        ("a = 1\nif d:\n    if c:\n        a = 2\n    else:\n        a = 3\nlook(a)", ["1", "2", "3"]),
        ("def f():\n    a = 1\n    if c:\n        a = 2\n    else:\n        return\n    look(a)", ["2"]),
        ("for i in b:\n    a = 1\n    if c:\n        a = 2\n    else:\n        a = 3\n    look(a)", ["2", "3"]),
        ("a = 1\nfor i in b:\n    if c:\n        a = 2\n    else:\n        a = 3\n    look(a)\n    a = 4", ["2", "3"]),
        ("for i in b:\n    a = 1\n    if c:\n        a = 2\n    else:\n        continue\n    look(a)", ["1", "2"]),
        ("a = 1\nfor i in b:\n    if c:\n        a = 2\n    else:\n        a = 3\nlook(a)", ["1", "2", "3"]),
        ("a = 1\ntry:\n    if c:\n        a = 2\n    else:\n        a = 3\nexcept E:\n    pass\nlook(a)", ["1", "2", "3"]),
    ],
)  # fmt: skip
def test_what_both_arms_of_an_if_give_a_name_hides_what_came_before(source: str, values: list[str]) -> None:
    assert seen(source) == values


def test_parts_of_a_tuple_are_known_apart() -> None:
    m = module("a, (b, c) = f(), g()\nlook(c)\n")
    use = looked_at(m)
    assert isinstance(use, ast.Name)
    (binding,) = m.scopes.reaching(use)
    assert binding.value is not None
    assert m.text(binding.value) == "g()"
    assert binding.path == (1,)


@pytest.mark.parametrize(
    ("source", "dominates"),
    [
        ("a = 1\nlook(a)", True),
        ("if x:\n    a = 1\nlook(a)", False),
        ("if x:\n    a = 1\n    look(a)", True),
        ("for i in x:\n    a = 1\nlook(a)", False),
        ("with x:\n    a = 1\nlook(a)", True),
        ("try:\n    a = 1\nexcept E:\n    look(a)", False),
    ],
)
def test_whether_a_binding_must_have_run(source: str, dominates: bool) -> None:
    m = module(source)
    use = looked_at(m)
    assert isinstance(use, ast.Name)
    assert m.scopes.dominates(m.scopes.reaching(use)[0], use) is dominates


def test_every_identifier_is_taken() -> None:
    m = module(
        "import q.r\ndef f(a, *b, c=1, **d):\n    global e\n    e = lambda g: h\nclass i: j = 2\nfor k in l: pass\n"
    )
    assert m.scopes.all_names() >= set("qfabcdeghijkl")


@pytest.mark.parametrize(
    ("source", "values"),
    [
        # Each turn ends with another value than it adds up.
        ("a = 1\nwhile look(a):\n    a = 2\n    for b in c:\n        a += b\n    a = f(a)", ["1", "f(a)"]),
        ("a = 1\nfor b in c:\n    look(a)\n    if b:\n        a = 2\n    a = 3", ["1", "3"]),
        # Unless it may not come there, or another loop goes on from within.
        ("a = 1\nwhile look(a):\n    a = 2\n    if b:\n        continue\n    a = 3", ["1", "2", "3"]),
        ("a = 1\nwhile look(a):\n    a = 2\n    if b:\n        a = 3", ["1", "2", "3"]),
        ("a = 1\nwhile look(a):\n    a = 2\n    a += 3", ["1", "2", "3"]),
        (
            "a = 1\nfor d in e:\n    while look(a):\n        a = 2\n        if b:\n            break\n        a = 3",
            ["1", "2", "3"],
        ),
    ],
)
def test_a_turn_begins_with_what_the_last_one_ended_with(source: str, values: list[str]) -> None:
    assert seen(source) == values
