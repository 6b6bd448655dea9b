"""What names mean that another module of the project binds."""

from __future__ import annotations

import ast

import pytest

from horovodize.python.module import Module
from horovodize.source import Document
from horovodize.summary.project import summarize_project

OPTIM = "import tensorflow as tf\nopt = tf.keras.optimizers.Adam(0.5)\n_hidden = opt\n\n\ndef make():\n    return opt\n"


def module(script: str, **files: str) -> Module:
    """The script and its modules, read; `a__b` stands for the file `a/b.py`."""
    texts = {f"/p/{name.replace('__', '/')}.py": text for name, text in files.items()}
    texts = {path.replace("/INIT.py", "/__init__.py"): text for path, text in texts.items()}
    summary = summarize_project(
        Document(script, "/p/train.py"), lambda p: Document(texts[p], p) if p in texts else None
    )
    assert summary is not None
    assert summary.module is not None
    return summary.module


def value(m: Module, expression: str = "result") -> str:
    """What the last statement of the script assigns to `result` may come from."""
    last = m.tree.body[-1]
    assert isinstance(last, ast.Assign)
    assert ast.unparse(last.targets[0]) == expression
    return " | ".join(sorted(ast.unparse(o.node) for o in m.values.origins(last.value)))


ADAM = "tf.keras.optimizers.Adam(0.5)"


@pytest.mark.parametrize(
    "script",
    [
        "from optim import opt\nresult = opt",
        "from optim import opt as o\nresult = o",
        "from optim import *\nresult = opt",
        "import optim\nresult = optim.opt",
        "import optim as x\nresult = x.opt",
        "from optim import make\nresult = make()",
        "import optim\nresult = optim.make()",
        "from . import optim\nresult = optim.opt",
        "from .optim import opt\nresult = opt",
    ],
)
def test_values_of_a_module(script):
    m = module("import tensorflow\n" + script, optim=OPTIM)
    assert value(m) == ADAM
    last = m.tree.body[-1]
    assert isinstance(last, ast.Assign)
    assert m.values.calls(last.value)[0].lineno != last.lineno


@pytest.mark.parametrize(
    "script",
    [
        "from lib import opt\nresult = opt",
        "import lib\nresult = lib.opt",
        "from lib import optim\nresult = optim.opt",
        "import lib.optim\nresult = lib.optim.opt",
        "import lib.optim as o\nresult = o.opt",
        "from lib.optim import make\nresult = make()",
    ],
)
def test_values_through_a_package(script):
    m = module("import tensorflow\n" + script, lib__INIT="from .optim import opt\n", lib__optim=OPTIM)
    assert value(m) == ADAM


def test_a_chain_of_star_imports():
    files = {"a": "from b import *\n", "b": "from optim import *\n", "optim": OPTIM}
    assert value(module("import tensorflow\nfrom a import *\nresult = opt", **files)) == ADAM


def test_names_with_an_underscore_are_not_exported_by_a_star():
    m = module("import tensorflow\nfrom optim import *\nresult = _hidden", optim=OPTIM)
    assert value(m) == "_hidden"


def test_each_file_has_its_own_names():
    files = {"one": "rate = 1\n\n\ndef get():\n    return rate\n", "two": "rate = 2\n"}
    assert value(module("import tensorflow\nimport one, two\nrate = 3\nresult = one.get()", **files)) == "1"
    assert value(module("import tensorflow\nimport one, two\nrate = 3\nresult = two.rate", **files)) == "2"
    assert value(module("import tensorflow\nimport one, two\nrate = 3\nresult = rate", **files)) == "3"


def test_classes_of_one_name_are_told_apart():
    one = "class Net:\n    def build(self):\n        return 1\n"
    two = "class Net:\n    def build(self):\n        return 2\n"
    m = module("import tensorflow\nimport one, two\nresult = two.Net().build()", one=one, two=two)
    assert value(m) == "2"


def test_a_name_that_the_module_does_not_have_leads_outside():
    m = module("import tensorflow\nfrom optim import other\nresult = other", optim=OPTIM)
    assert value(m) not in ("", ADAM)


@pytest.mark.parametrize(
    ("statement", "used"),
    [
        ("from lib import tf", "tf.keras.optimizers.Adam"),
        ("from lib import Adam", "Adam"),
        ("import lib", "lib.Adam"),
        ("from lib import *", "Adam"),
        ("from lib import layers as anything", "anything.Adam"),
    ],
)
def test_tensorflow_by_way_of_a_module(statement, used):
    lib = (
        "import tensorflow as tf\nfrom tensorflow.keras.optimizers import Adam\n"
        "import tensorflow.keras.optimizers as layers\n"
    )
    m = module(f"{statement}\nresult = {used}", lib=lib)
    last = m.tree.body[-1]
    assert isinstance(last, ast.Assign)
    assert m.names.of(last.value) == "tensorflow.keras.optimizers.Adam"


def test_calls_and_callers_over_files():
    m = module("import tensorflow\nimport step\nstep.run(5)\n", step="def run(rate):\n    return rate\n")
    (function,) = m.syntax.functions
    (call,) = m.syntax.calls
    assert m.values.callee(call) is function
    (returned,) = m.values.returned(function)
    assert [ast.unparse(o.node) for o in m.values.origins(returned)] == ["5"]


def test_imports_in_a_cycle_end():
    m = module("import tensorflow\nfrom a import x\nresult = x", a="from b import x\n", b="from a import x\n")
    assert value(m)
