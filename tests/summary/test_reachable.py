"""What of imported modules is left out: what a script can't run."""

from __future__ import annotations

import ast

import pytest

from horovodize.python.reachable import prune

MODULE = """\
import tensorflow as tf

RATE = 0.1


def used():
    return helper()


def helper():
    return Thing


class Thing:
    pass


@tf.function
def unused():
    also_unused()


def also_unused():
    shared = 1


if __name__ == "__main__":
    unused()
"""


def kept(script: str, module: str = MODULE) -> list[str]:
    tree = ast.parse(module)
    prune([tree], ast.parse(script))
    return [s.name for s in tree.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))]


def test_what_nobody_names_and_what_only_the_main_guard_runs_is_left_out():
    tree = ast.parse(MODULE)
    left_out = prune([tree], ast.parse("from m import used\nused()\n"))
    assert [type(s).__name__ for s in tree.body] == [
        "Import",
        "Assign",
        "FunctionDef",
        "FunctionDef",
        "ClassDef",
    ]
    assert {"unused", "also_unused", "shared"} <= left_out
    assert "used" not in left_out


def test_the_script_itself_stays_whole():
    script = ast.parse("def f():\n    pass\n\n\nif __name__ == '__main__':\n    pass\n")
    prune([ast.parse(MODULE)], script)
    assert len(script.body) == 2


@pytest.mark.parametrize(
    "script",
    [
        "import m\nm.used()",
        "import m\ngetattr(m, 'used')()",
        "import m\nrun = {'used': m.used}",
        "from m import used as u\nu()",
    ],
)
def test_ways_to_name_it(script):
    assert kept(script) == ["used", "helper", "Thing"]


@pytest.mark.parametrize(
    "script",
    [
        "import m\ngetattr(m, name)()",
        "import m\nvars(m)[name]()",
        "import m\nm.__dict__[name]()",
        "from m import *\nglobals()[name]()",
        "from m import *\neval(name)()",
        "import importlib\nimportlib.import_module(name).run()",
        "import sys\ngetattr(sys.modules['m'], name)()",
    ],
)
def test_names_that_are_made_keep_everything(script):
    assert kept(script) == ["used", "helper", "Thing", "unused", "also_unused"]


@pytest.mark.parametrize(
    "script",
    [
        "import m\nfor name in names:\n    print(getattr(args, name), vars(args))",
        "import m\nprint(loss.eval())",
        "import m\nm.other()",
        "import m\nimport os.path\nos.used.helper(os.path.Thing)",
    ],
)
def test_names_of_other_things_keep_nothing(script):
    assert kept(script) == []


def test_what_a_decorator_may_have_registered_stays():
    module = "@register('a')\ndef a():\n    b()\n\n\ndef b():\n    pass\n\n\n@tf.function(autograph=True)\ndef c():\n    pass\n"
    assert kept("import m", module) == ["a", "b"]


def test_module_code_and_other_modules_name_things():
    first, second = ast.parse("table = [used]\n" + MODULE), ast.parse("import first\nfirst.also_unused()\n")
    prune([first, second], ast.parse("import second\n"))
    assert [s.name for s in first.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))] == [
        "used",
        "helper",
        "Thing",
        "also_unused",
    ]


CLASSES = """\
import threading


class Net:
    def __init__(self):
        self.build()

    def build(self):
        pass

    def train(self):
        self.also()

    def also(self):
        pass


class Other(Net):
    def train(self):
        pass


class Thread(threading.Thread):
    def run(self):
        pass


class Empty:
    def nothing(self):
        pass
"""


def methods(script: str) -> list[str]:
    tree = ast.parse(CLASSES)
    prune([tree], ast.parse(script))
    classes = [c for c in tree.body if isinstance(c, ast.ClassDef)]
    assert all(c.body for c in classes)
    return [f"{c.name}.{m.name}" for c in classes for m in c.body if isinstance(m, ast.FunctionDef)]


def test_methods_that_nobody_names_are_left_out_but_those_that_a_library_may_call():
    assert methods("import m\nm.Net(), m.Other(), m.Thread(), m.Empty()") == [
        "Net.__init__",
        "Net.build",
        "Thread.run",
    ]


def test_methods_that_are_named_stay_with_what_they_name():
    assert methods("import m\nm.Other().train()") == [
        "Net.__init__",
        "Net.build",
        "Net.train",
        "Net.also",
        "Other.train",
    ]


def test_methods_stay_where_attributes_are_found_by_made_names():
    assert "Net.train" in methods("import m\ngetattr(m.Net(), name)()")
    assert "Net.train" in methods("import m\nnet = m.Net()\ngetattr(net, name)()")
