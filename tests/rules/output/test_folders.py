"""Folders: every rank makes them, unless ranks could get in each other's way, or not mean the same folder."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.rules.output.root_rank import RULE
from tests.rules.guarding import HEAD, Guarded, apply, check

MORE = "import shutil, sys, time\nfrom os import mkdir\nfrom pathlib import Path\n"


def turns(before: str, after: str) -> Guarded:
    return check((RULE,), before, after, HEAD + MORE)


def made_by_rank_0(before: str) -> None:
    text = apply(HEAD + MORE + textwrap.dedent(before).lstrip("\n"), RULE).text
    assert "exist_ok" not in text.replace("exist_ok=False", "")
    assert "hvd.rank() == 0" in text


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "program",
    [
        "os.makedirs('run' + str(time.time()))\n",  # ranks call it differently
        "run = np.random.randint(9)\nPath(str(run)).mkdir()\n",
        "n = 0\nwhile os.path.exists(f'run{n}'):\n    n += 1\nos.makedirs(f'run{n}')\n",
        "from elsewhere import new_folder\nos.makedirs(new_folder())\n",
        # one rank deletes what another makes
        "if os.path.exists('d'):\n    shutil.rmtree('d')\nos.makedirs('d')\n",
        "os.system('rm -rf d')\nos.makedirs('d')\n",
        # whether it is there decides what else is done
        "if not os.path.exists('d'):\n    os.makedirs('d')\n    np.save('d/a', 1)\n",
        "if not os.path.exists('d'):\n    os.makedirs('d')\n    first = epoch(1)\nelse:\n    first = 0\n",
        "fresh = not os.path.exists('d')\nos.makedirs('d')\nif fresh:\n    np.save('d/a', 1)\n",
        # or whether a folder that it is in is there
        "def make(d):\n    if os.path.exists(d):\n        return\n    for n in range(3):\n        os.makedirs(f'{d}/{n}')\n"
        "        a = np.random.rand(3)\n        np.save(f'{d}/{n}/a', a)\n        print(a)\nmake('d')\n",
        "def make(d):\n    (d / 'a').mkdir(parents=True)\n    np.save(d / 'a' / 'b', 1)\nd = Path('d')\n"
        "if not d.exists():\n    make(d)\n",
        "if os.path.isdir('d'):\n    x = 1\nelse:\n    x = epoch(1)\nos.makedirs('d/e')\n",
        "try:\n    os.makedirs('d')\nexcept OSError:\n    sys.exit('it is there')\n",
        "try:\n    os.makedirs('d')\n    np.save('d/a', 1)\nexcept OSError:\n    pass\n",
        "os.makedirs('d', exist_ok=False)\n",
        "mkdir('d')\n",  # there may be no `os` to call `makedirs` of
        "server.mkdir('/d')\n",  # no path of pathlib's: they take none
    ],
)
def test_what_rank_0_still_makes(program: str) -> None:
    made_by_rank_0(program)


@pytest.mark.parametrize(
    "program",
    [
        "os.makedirs('d', exist_ok=True)\n",
        "Path('d').mkdir(parents=True, exist_ok=True)\n",
        "tf.io.gfile.makedirs('d')\n",
        "try:\n    os.mkdir('d')\nexcept OSError:\n    pass\n",
        "try:\n    os.mkdir('d')\nexcept:\n    pass\n",
    ],
)
def test_what_all_ranks_may_run_as_it_is(program: str) -> None:
    assert turns(program, program).notes == []


# ---------------------------------------------------------------------- what is made by all


def test_a_folder_that_may_be_there() -> None:
    result = turns(
        """
        def ensure(path):
            if not os.path.exists(path):
                os.makedirs(path)
        ensure("out")
        if not os.path.isdir("out/a"):
            os.mkdir("out/a", 0o755)
        for name in ["b", "c"]:
            if not tf.io.gfile.exists(name):
                tf.io.gfile.mkdir(name)
        if not Path("d").exists():
            Path("d").mkdir()
        try:
            os.makedirs("e")
        except OSError as error:
            if error.errno != 17:
                raise
        """,
        """
        def ensure(path):
            if not os.path.exists(path):
                os.makedirs(path, exist_ok=True)
        ensure("out")
        if not os.path.isdir("out/a"):
            os.makedirs("out/a", 0o755, exist_ok=True)
        for name in ["b", "c"]:
            if not tf.io.gfile.exists(name):
                tf.io.gfile.makedirs(name)
        if not Path("d").exists():
            Path("d").mkdir(exist_ok=True)
        try:
            os.makedirs("e", exist_ok=True)
        except OSError as error:
            if error.errno != 17:
                raise
        """,
    )
    assert result.notes == []


def test_what_is_said_beside_it_stays_with_rank_0() -> None:
    turns(
        """
        if not os.path.exists("out"):
            print("making it")
            os.makedirs("out")
        """,
        """
        if not os.path.exists("out"):
            if hvd.rank() == 0:
                print("making it")
            os.makedirs("out", exist_ok=True)
        """,
    )


def test_a_folder_that_had_to_be_new_is_noted() -> None:
    (note,) = turns("os.mkdir('out')\n", "os.makedirs('out', exist_ok=True)\n").notes
    assert "no longer stops" in note


def test_a_folder_made_to_write_into_stays_with_what_is_written() -> None:
    turns(
        """
        if epoch(1) > 2:
            os.makedirs("out")
            model.save("out/m")
        """,
        """
        if epoch(1) > 2:
            if hvd.rank() == 0:
                os.makedirs("out")
                model.save("out/m")
        """,
    )


@pytest.mark.parametrize(
    "folder",
    ["Path('out').parent.joinpath('a')", "Path(__file__).resolve().parent.joinpath('a').with_suffix('.b')"],
)
def test_a_folder_beside_another_is_made_on_every_rank(folder: str) -> None:
    made = f"folder = {folder}\nfolder.mkdir(parents=True, exist_ok=True)\n"
    turns(made, made)


def test_a_folder_that_is_named_by_the_time_is_rank_0s() -> None:
    made_by_rank_0("Path('out').joinpath(str(time.time())).mkdir()\n")
