"""Values: from an expression back to what it may be."""

from __future__ import annotations

import pytest

from .reading import function, looked_at, module, origins


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("look(3)", ["3"]),
        ("a = f()\nlook(a)", ["f()"]),
        ("a = f()\nb = a\nlook(b)", ["f()"]),
        ("a = f() if x else g()\nlook(a)", ["f()", "g()"]),
        ("a = x or f()\nlook(a)", ["f()", "x"]),
        ("look(a := f())", ["f()"]),
        ("a, b = f(), g()\nlook(b)", ["g()"]),
        ("a, b = f()\nlook(b)", ["f()[1]"]),
        ("(a, b), c = f()\nlook(b)", ["f()[0][1]"]),
        ("a = (f(), g())\nlook(a[1])", ["g()"]),
        ("a = [f(), g()]\nb, c = a\nlook(b)", ["f()"]),
        ("a = {'x': f(), 'y': g()}\nlook(a['y'])", ["g()"]),
        ("for a in b:\n    look(a)", ["b[*]"]),
        ("for a in (f(), g()):\n    look(a)", ["f()", "g()"]),
        ("for i, a in enumerate(f()):\n    look(a)", ["f()[*]"]),
        ("for a, b in zip(f(), g()):\n    look(b)", ["g()[*]"]),
        ("for i, (a, b) in enumerate(zip(f(), g())):\n    look(a)", ["f()[*]"]),
        ("from tqdm import tqdm\nfor a in tqdm(f()):\n    look(a)", ["f()[*]"]),
        ("a = next(iter(f()))\nlook(a)", ["f()[*]"]),
        ("a = list(f())\nlook(a)", ["f()"]),
        ("a = [f() for x in y]\nfor b in a:\n    look(b)", ["f()"]),
        ("with f() as a:\n    look(a)", ["f()"]),
        ("async def m():\n    a = await f()\n    look(a)", ["f()"]),
        ("if x:\n    a = f()\nelse:\n    a = g()\nlook(a)", ["f()", "g()"]),
        ("a = None\ndef set():\n    global a\n    a = f()\ndef use():\n    look(a)", ["None", "f()"]),
        ("import tensorflow as tf\na = tf.train.Checkpoint(b=f(), c=g())\nlook(a.b)", ["f()"]),
        ("import tensorflow as tf\na = tf.train.Checkpoint(c=g())\nlook(a.b)", ["a.b"]),
        ("a = Checkpoint(b=f())\nlook(a.b)", ["a.b"]),
    ],
)
def test_values_are_followed_through_names_and_parts(source: str, expected: list[str]) -> None:
    assert origins(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a):\n    look(a)\nf(1)\nf(a=2)", ["1", "2"]),
        ("def f(a=3):\n    look(a)\nf()\nf(1)", ["1", "3"]),
        ("def f(a=3):\n    look(a)\nf(1)", ["1"]),
        ("def f(a=3):\n    look(a)", ["3"]),
        ("def f(*, a=3):\n    look(a)\nf(a=4)", ["4"]),
        ("def f(a):\n    look(a)", ["a"]),
        ("def f(b, a):\n    look(a)\nf(*x)", ["a"]),
        ("def f(a):\n    g(a)\ndef g(b):\n    look(b)\nf(7)", ["7"]),
        ("def f():\n    return g()\nlook(f())", ["g()"]),
        ("def f():\n    if x:\n        return 1\n    return 2\nlook(f())", ["1", "2"]),
        ("def f(a):\n    return a\nlook(f(5))", ["5"]),
        ("def f():\n    return 1, 2\na, b = f()\nlook(b)", ["2"]),
        ("f = lambda: g()\nlook(f())", ["g()"]),
        ("def f():\n    def inner():\n        return 1\n    return inner\nlook(f())", ["def inner"]),
        ("def f(n):\n    return f(n - 1) if n else 1\nlook(f(3))", ["1"]),
        ("import tensorflow as tf\ndef f():\n    return 1\ng = tf.function(f)\nlook(g())", ["1"]),
    ],
)
def test_values_are_followed_through_calls(source: str, expected: list[str]) -> None:
    assert origins(source) == expected


CLASS = (
    "class C:\n    def __init__(self, a=1):\n        self.a = a\n        self.b = f()\n    def use(self):\n"
    "        look(self.{0})\n"
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (CLASS.format("b"), ["f()"]),
        (CLASS.format("a"), ["1"]),
        (CLASS.format("a") + "C(2)\nC(a=3)", ["2", "3"]),
        (CLASS.format("c"), ["self.c"]),
        (CLASS.format("b") + "c = C()\nc.b = g()", ["f()", "g()"]),
        (CLASS.format("b") + "c = D()\nc.b = g()", ["f()"]),
        (CLASS.format("b") + "class D:\n    def __init__(self):\n        self.b = g()", ["f()"]),
        ("class C:\n    def set(self):\n        self.b = f()\n    def use(self):\n        self.b = g()\n        look(self.b)",
         ["g()"]),
        ("class B:\n    def __init__(self):\n        self.b = f()\nclass C(B):\n    def use(self):\n        look(self.b)",
         ["f()"]),
        ("class B:\n    def make(self):\n        return f()\nclass C(B):\n    def use(self):\n        look(self.make())",
         ["f()"]),
        ("class B:\n    def make(self):\n        return f()\nclass C(B):\n    def make(self):\n"
         "        return look(super().make())",
         ["f()"]),
        ("class C:\n    def __init__(self):\n        self.b = f()\nc = C()\nlook(c.b)", ["f()"]),
        ("class C:\n    def make(self):\n        return f()\nlook(C().make())", ["f()"]),
        ("class C:\n    @staticmethod\n    def make(x):\n        return x\nlook(C.make(4))", ["4"]),
        ("class C:\n    def __init__(self):\n        self.step = self._step\n    def _step(self):\n        return 1\n"
         "c = C()\nlook(c.step())",
         ["1"]),
        ("args.model = f()\nlook(args.model)", ["f()"]),
        ("args.model = f()\nlook(other.model)", ["other.model"]),
    ],
)  # fmt: skip
def test_values_are_followed_through_attributes(source: str, expected: list[str]) -> None:
    assert origins(source) == expected


def test_what_is_put_into_one_list_is_not_looked_for_by_way_of_all_others() -> None:
    """Of each list, what was put into any was followed first, so that hundreds of them were followed one within another."""
    lists = "".join(f"m{i} = [A()]\nl{i} = []\nl{i}.append(m{i}[k])\n" for i in range(400))
    source = "class A:\n    pass\nk = int(input())\n" + lists + "look(l399[k])\n"
    assert origins(source) == ["A()"]


def test_a_cycle_ends() -> None:
    assert origins("a = b\nb = a\nlook(a)") != []
    assert origins("def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nlook(f(1))")


@pytest.mark.parametrize(
    ("source", "callee"),
    [
        ("def f(): pass\nf()", "f"),
        ("def f(): pass\ng = f\ng()", "f"),
        ("class C:\n    def f(self): pass\nC().f()", "f"),
        ("class C:\n    def f(self): pass\n    def g(self):\n        self.f()", "f"),
        ("class C:\n    def f(self): pass\ndef g(c):\n    c.f()", "f"),
        ("class C:\n    def f(self): pass\nclass D:\n    def f(self): pass\ndef g(c):\n    c.f()", None),
        ("class C:\n    class N: pass\n    def g(self):\n        self.N()", "N"),
        ("class C:\n    class N: pass\nC.N()", "N"),
        (
            "class C:\n    class N: pass\nclass D:\n    def g(self):\n        self.N()",
            None,
        ),  # a method by some name
        ("import numpy as np\nclass C:\n    class N: pass\nnp.N()", None),
        ("import numpy as np\ndef mean(): pass\nnp.mean()", None),
        ("def loop(step):\n    step()\ndef f(): pass\nloop(f)", "f"),
        ("print()", None),
    ],
)
def test_which_function_a_call_runs(source: str, callee: str | None) -> None:
    m = module(source)
    m.values.callers(m.tree)  # calls of parameters are known when all callers are
    found = [m.values.callee(c) for c in m.syntax.calls]
    names = [getattr(f, "name", None) for f in found if f is not None]
    assert (callee in names) if callee else not [n for n in names if n not in ("C", "D", "g", "loop")]


def test_who_calls_a_function() -> None:
    m = module(
        """
        class C:
            def __init__(self): pass
            def run(self):
                self.step()
            def step(self): pass
        def main():
            c = C()
            c.run()
        main()
        """
    )

    def callers(name: str) -> list[str]:
        return [m.text(c) for c in m.values.callers(function(m, name))]

    assert callers("__init__") == ["C()"]
    assert callers("run") == ["c.run()"]
    assert callers("step") == ["self.step()"]
    assert callers("main") == ["main()"]


@pytest.mark.parametrize(
    "source",
    [
        "from absl import app\ndef main(argv): pass\napp.run(main)",
        "from absl import app\ndef main(argv): pass\napp.run()",
        "def main(): pass\nif __name__ == '__main__':\n    main()",
    ],
)
def test_what_runs_main(source: str) -> None:
    m = module(source)
    assert len(m.values.callers(function(m, "main"))) == 1


def test_calling_a_model_runs_its_call() -> None:
    m = module(
        """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def call(self, x): return x
        net = Net()
        net(1)
        """
    )
    assert [m.text(c) for c in m.values.callers(function(m, "call"))] == ["net(1)"]


@pytest.mark.parametrize(
    ("made", "ancestor", "is_one"),
    [
        ("tf.keras.optimizers.Adam()", "tensorflow.keras.optimizers.Optimizer", True),
        ("tf.keras.Sequential()", "tensorflow.keras.Model", True),
        ("Mine()", "tensorflow.keras.Model", True),
        ("Yours()", "tensorflow.keras.Model", True),
        ("Plain()", "tensorflow.keras.Model", False),
        ("tf.keras.layers.Dense(1)", "tensorflow.keras.Model", False),
        ("tf.keras.callbacks.EarlyStopping()", "tensorflow.keras.callbacks.Callback", True),
    ],
)
def test_classes_and_their_bases(made: str, ancestor: str, is_one: bool) -> None:
    m = module(
        "import tensorflow as tf\nclass Mine(tf.keras.Model): pass\nclass Yours(Mine): pass\nclass Plain: pass\n"
        f"a = {made}\nlook(a)\n"
    )
    assert m.values.is_a(looked_at(m), ancestor) is is_one


def test_dependence_goes_through_everything() -> None:
    m = module("def f(v):\n    return v + d\nd = 4\na = 1\nb = [a * 2]\nc = f(b)\nlook(c)\n")
    names = {m.text(n) for n in m.values.depends([looked_at(m)])}
    assert {"a", "1", "2", "4", "[a * 2]"} <= names


BASE = """\
class Base:
    def loop(self):
        look(self.step())
    def step(self):
        {}
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # a method of the base that only says what derived classes do
        (
            BASE.format("raise NotImplementedError") + "class A(Base):\n    def step(self): return f()\n",
            ["f()"],
        ),
        (BASE.format("pass") + "class M(Base): pass\nclass A(M):\n    def step(self): return f()\n", ["f()"]),
        # near misses: a method that does something; a class that is not derived; another object's method
        (BASE.format("return g()") + "class A(Base):\n    def step(self): return f()\n", ["g()"]),
        (BASE.format("pass") + "class A:\n    def step(self): return f()\n", ["self.step()"]),
        (BASE.format("pass") + "class A(Base):\n    def step(self): return f()\nlook(b.step())\n", ["f()"]),
        # the method that overrides another one, whichever comes first in the text
        (
            "class Base:\n    def step(self): return g()\nclass A(Base):\n    def step(self): return f()\nlook(A().step())",
            ["f()"],
        ),
        (
            "class Base:\n    def step(self): return g()\nclass A(Base):\n    def step(self): return super().step()\n"
            "look(A().step())",
            ["g()"],
        ),
    ],
)
def test_methods_of_derived_classes(source: str, expected: list[str]) -> None:
    assert origins(source) == expected


def test_a_method_is_also_called_where_its_base_is() -> None:
    source = BASE.format("return g()") + "class A(Base):\n    def step(self): return f()\n"
    m = module(source)
    base, derived = (f for f in m.syntax.functions if f.name == "step")
    assert len(m.values.callers(base)) == len(m.values.callers(derived)) == 1
    (call,) = m.values.callers(derived)
    assert m.values.graph.runs(call) == [base, derived]


@pytest.mark.parametrize("decorator", ["property", "functools.cached_property"])
def test_properties_are_read_like_attributes(decorator: str) -> None:
    source = "class A:\n    @{}\n    def saver(self):\n        return f()\na = A()\nlook(a.saver)\n"
    assert origins(source.format(decorator)) == ["f()"]
    assert origins(source.format("other")) != ["f()"]
