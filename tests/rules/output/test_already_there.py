"""C6: programs that end where their folder is there already go by what rank 0 finds, which makes it."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from ..sessions import BUILT, INIT, LOOP

HEAD = BUILT.replace("import tensorflow", "import os, sys\nfrom pathlib import Path\nimport tensorflow", 1)
REST = "sess = tf.Session()\n" + INIT + LOOP


@pytest.mark.parametrize(
    "asked",
    [
        "if {}:\n    raise ValueError(out)\nos.mkdir(out)\n",
        "if {}:\n    print(out)\n    sys.exit(1)\nos.makedirs(out)\n",
        "assert not {}, out\nos.mkdir(out)\n",
        "if out is not None:\n    if {}:\n        raise ValueError(out)\n    else:\n        os.mkdir(out)\n",
        "def prepare():\n    if {}:\n        raise ValueError(out)\n    os.makedirs(out, exist_ok=True)\nprepare()\n",
    ],
)
def test_all_do_as_rank_0_finds_it(asked: str) -> None:
    test = "os.path.exists(out)"
    assert f"from_root({test})" in plan_of(HEAD + "out = 'run'\n" + asked.format(test) + REST).text


@pytest.mark.parametrize(
    "name", ["time.strftime('%H%M')", "os.path.join('logs', datetime.now().strftime('%H%M'))"]
)
def test_a_path_by_the_clock_may_be_that_of_another_rank(name: str) -> None:
    made = f"import time\nfrom datetime import datetime\nout = {name}\n"
    asked = "if os.path.exists(out):\n    raise ValueError(out)\nos.mkdir(out)\n"
    assert "if from_root(os.path.exists(out)):" in plan_of(HEAD + made + asked + REST).text


def test_a_path_of_pathlib() -> None:
    asked = "out = Path('run')\nif out.exists():\n    raise ValueError(out)\nout.mkdir()\n"
    assert "if from_root(out.exists()):" in plan_of(HEAD + asked + REST).text


@pytest.mark.parametrize(
    "asked",
    [
        # what has to be there
        "if not os.path.exists(out):\n    raise ValueError(out)\n",
        "assert os.path.exists(out)\n",
        # of another folder, and one that nothing here makes
        "if os.path.exists(other):\n    raise ValueError(out)\nos.mkdir(out)\n",
        "if os.path.exists(out):\n    raise ValueError(out)\n",
        # goes on
        "if not os.path.exists(out):\n    os.mkdir(out)\n",
        "if os.path.exists(out):\n    print(out)\nelse:\n    os.mkdir(out)\n",
    ],
)
def test_near_misses(asked: str) -> None:
    assert "from_root" not in plan_of(HEAD + "out, other = 'run', 'data'\n" + asked + REST).text
