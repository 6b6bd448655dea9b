"""C6: files that a path of pathlib opens itself: `(folder / "log.txt").open("w")`."""

from __future__ import annotations

import pytest

from horovodize.rules.output import root_rank

from ..guarding import HEAD, Guarded, apply, check

RULES = (root_rank.RULE,)


def turns(before: str, after: str) -> Guarded:
    return check(RULES, before, after)


@pytest.mark.parametrize(
    "opened", ["p.open()", "p.open('r')", "p.open(mode='rb')", "zipped.open('data.txt')"]
)
def test_what_is_opened_to_be_read_is_read_by_all(opened: str) -> None:
    source = f"f = {opened}\nrows = f.read()\n"
    turns(source, source)


def test_a_file_that_is_only_written_is_rank_0s() -> None:
    turns(
        """
        import pathlib
        with (pathlib.Path("out") / "log.txt").open("w") as f:
            f.write("x")
        p.joinpath("a").open(mode="a").write("y")
        """,
        """
        import pathlib
        if hvd.rank() == 0:
            with (pathlib.Path("out") / "log.txt").open("w") as f:
                f.write("x")
            p.joinpath("a").open(mode="a").write("y")
        """,
    )


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("import pathlib", "pathlib.Path"),
        ("from pathlib import Path", "Path"),
        ("import pathlib as p", "p.Path"),
    ],
)
def test_one_that_stays_open_goes_to_the_null_device(imported: str, made: str) -> None:
    text = f"{imported}\nlog = {{}}.open('a')\nlog.write('x')\n"
    turns(
        text.format(f"{made}('l')"),
        text.format(f"({made}('l') if hvd.rank() == 0 else {made}(os.devnull))"),
    )


def test_without_pathlib_it_is_refused() -> None:
    result = apply(HEAD + "from mine import folder\nlog = folder.open('w')\nlog.write('x')\n", *RULES)
    assert len(result.reasons) == 1
    assert "folder.open" in result.reasons[0]


def test_what_is_read_back_is_waited_for() -> None:
    result = apply(
        HEAD
        + "from pathlib import Path\np = Path('a')\nwith p.open('w') as f:\n    f.write('x')\nlook(p.open('r').read())\n",
        *RULES,
    )
    assert (
        "hvd.broadcast(0, root_rank=0, name='saved')  # wait until rank 0 has written it\nlook("
        in result.text
    )
