"""A script with what it imports: which files are read, and how imports are resolved."""

from __future__ import annotations

import pytest

from horovodize.python.interface import imported_paths
from horovodize.source import Document
from horovodize.summary.project import Project, read_project, summarize_project

NET = "import tensorflow as tf\n\n\nclass Net(tf.keras.Model):\n    pass\n"


def read(files: dict[str, str], script: str = "/p/train.py") -> Project:
    project = read_project(Document(files[script], script), loader(files))
    assert project is not None
    return project


def loader(files: dict[str, str]):
    return lambda path: Document(files[path], path) if path in files else None


def members(files: dict[str, str], script: str = "/p/train.py") -> list[str]:
    return [m.path.removeprefix("/p/") for m in read(files, script).members]


@pytest.mark.parametrize(
    ("statement", "path"),
    [
        ("import net", "net.py"),
        ("import net as n", "net.py"),
        ("from net import Net", "net.py"),
        ("from net import *", "net.py"),
        ("import lib.net", "lib/net.py"),
        ("import lib.net as n", "lib/net.py"),
        ("from lib import net", "lib/net.py"),
        ("from lib.net import Net as N", "lib/net.py"),
        ("from .net import Net", "net.py"),
        ("from . import net", "net.py"),
        ("from .lib import net", "lib/net.py"),
        ("def f():\n    from net import Net", "net.py"),
        ("try:\n    import net\nexcept ImportError:\n    net = None", "net.py"),
    ],
)
def test_what_an_import_leads_to(statement, path):
    assert members({"/p/train.py": statement + "\n", f"/p/{path}": NET}) == [path, "train.py"]


def test_packages_run_their_init_first_and_go_before_modules_of_that_name():
    files = {
        "/p/train.py": "from lib.net import Net\n",
        "/p/lib.py": "x = 1\n",
        "/p/lib/__init__.py": "from .more import y\n",
        "/p/lib/more.py": "y = 1\n",
        "/p/lib/net.py": NET,
    }
    assert members(files) == ["lib/more.py", "lib/__init__.py", "lib/net.py", "train.py"]


def test_relative_imports_start_at_the_importing_file():
    files = {
        "/p/train.py": "from a.b.c import f\n",
        "/p/a/b/c.py": "from ..d import g\nfrom ... import train\n",
        "/p/a/d.py": "g = 1\n",
        "/p/d.py": "wrong = 1\n",
    }
    assert members(files) == ["a/d.py", "a/b/c.py", "train.py"]


def test_absolute_imports_start_at_the_script_and_go_up():
    files = {
        "/p/tools/train.py": "import near, src.far\n",
        "/p/tools/near.py": "import src.far\n",
        "/p/near.py": "wrong = 1\n",
        "/p/src/far.py": "x = 1\n",
    }
    assert members(files, "/p/tools/train.py") == ["src/far.py", "tools/near.py", "tools/train.py"]


def test_libraries_are_not_taken_for_the_project():
    files = {
        "/p/examples/train.py": "import keras, json, random\nfrom tensorflow.keras import layers\n",
        "/p/keras/__init__.py": "wrong = 1\n",
        "/p/json.py": "wrong = 1\n",
        "/p/tensorflow/keras.py": "wrong = 1\n",
        "/p/examples/random.py": "right = 1  # Python looks beside the script first\n",
    }
    assert members(files, "/p/examples/train.py") == ["examples/random.py", "examples/train.py"]


def test_cycles_end():
    files = {"/p/train.py": "import a\n", "/p/a.py": "import b\n", "/p/b.py": "import a\nimport train\n"}
    project = read(files)
    assert [m.path for m in project.members] == ["/p/b.py", "/p/a.py", "/p/train.py"]
    assert project.targets[0] == {"a": 1, "train": 2}


def test_files_that_do_not_parse_are_told_apart():
    project = read({"/p/train.py": "import old, new\n", "/p/old.py": "print 'x'\n", "/p/new.py": "x = 1\n"})
    assert [m.path for m in project.members] == ["/p/new.py", "/p/train.py"]
    assert [m.path for m in project.unread] == ["/p/old.py"]
    assert "old" not in project.targets[1]


def test_too_much_is_not_read():
    files = {f"/p/m{i}.py": f"import m{i + 1}\n" for i in range(100)}
    assert read_project(Document("import m0\n", "/p/train.py"), loader(files)) is None


def test_a_script_that_does_not_parse_or_imports_nothing_of_the_project():
    assert read_project(Document("import (\n", "/p/train.py"), loader({})) is None
    assert summarize_project(Document("import tensorflow as tf\n", "/p/train.py"), loader({})) is None


def test_windows_paths():
    files = {"C:/p/net.py": NET}
    project = read_project(Document("import net\n", "C:\\p\\train.py"), loader(files))
    assert project is not None
    assert [m.path for m in project.members] == ["C:/p/net.py", "C:\\p\\train.py"]


def test_paths_of_a_statement():
    import ast

    tree = ast.parse("import a.b.c as d, e\nfrom .f import g, h\nfrom i.j import *\n")
    assert list(imported_paths(tree)) == ["a", "a.b", "a.b.c", "e", ".f", ".f.g", ".f.h", "i", "i.j"]


SESSION = """\
import tensorflow as tf
class Net:
    def __init__(self):
        self.loss = tf.reduce_mean(tf.get_variable("w", [3]))
        self.train_op = tf.train.AdamOptimizer(0.1).minimize(self.loss)
"""


@pytest.mark.parametrize(("fetched", "trains"), [("net.train_op", True), ("net.loss", False)])
def test_a_script_that_builds_a_train_op_trains_where_it_runs_it(fetched, trains):
    script = f"import tensorflow as tf\nfrom net import Net\nnet = Net()\nwith tf.Session() as sess:\n    sess.run({fetched})\n"
    summary = summarize_project(Document(script, "/p/train.py"), loader({"/p/net.py": SESSION}))
    assert summary is not None
    assert bool(summary.loops) == trains


def test_loops_are_found_in_other_files():
    files = {
        "/p/step.py": "def learn(model, x):\n    model.compile('sgd', 'mse')\n    model.fit(x, x)\n",
        "/p/unused.py": "import step\n",
    }
    script = "import tensorflow as tf\nimport step\nstep.learn(tf.keras.Sequential(), 1)\n"
    summary = summarize_project(Document(script, "/p/train.py"), loader(files))
    assert summary is not None
    (loop,) = summary.loops
    assert summary.document.members[summary.document.member_at(loop.site.start)].path == "/p/step.py"


@pytest.mark.parametrize(
    "added",
    [
        "sys.path.append('../utils')",
        "sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'utils'))",
        "sys.path.append(str(Path(__file__).resolve().parents[1] / 'utils'))",
        "sys.path.append(str(Path(__file__).parent.parent.joinpath('utils')))",
        "here = os.path.dirname(__file__)\nsys.path.extend([here + '/../utils'])",
        "sys.path.append(os.path.join(os.getcwd(), os.pardir, 'utils'))",
        "sys.path.append(os.path.join(os.path.dirname(sys.argv[0]), '..', 'utils'))",
        "try:\n    here = os.path.dirname(sys.argv[0])\nexcept Exception:\n    here = '.'\n"
        "sys.path.append(os.path.join(here, '..', 'utils'))",
    ],
)
def test_folders_that_a_script_adds_to_the_search_path(added):
    files = {
        "/p/src/train.py": f"import os, sys\nfrom pathlib import Path\n{added}\nimport net\n",
        "/p/utils/net.py": NET,
    }
    assert members(files, "/p/src/train.py") == ["utils/net.py", "src/train.py"]


@pytest.mark.parametrize(
    "added",
    [
        "sys.path.append(os.environ['UTILS'])",
        "sys.path.append(os.path.join(sys.argv[1], '..', 'utils'))",
        "sys.path.append(folder)",
        "other.path.append('../utils')",
        "folders.append('../utils')",
        "sys.path.append('../nets')",
    ],
)
def test_folders_that_cannot_be_told_are_not_looked_into(added):
    files = {"/p/src/train.py": f"import os, sys\n{added}\nimport net\n", "/p/utils/net.py": NET}
    assert members(files, "/p/src/train.py") == ["src/train.py"]


def test_a_scripts_own_folder_goes_before_those_that_it_adds():
    files = {
        "/p/src/train.py": "import sys\nsys.path.append('../utils')\nimport net\nimport json\n",
        "/p/src/net.py": NET,
        "/p/utils/net.py": NET,
        "/p/utils/json.py": NET,
    }
    assert members(files, "/p/src/train.py") == ["src/net.py", "src/train.py"]
