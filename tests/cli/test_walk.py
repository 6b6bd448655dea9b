"""Which files of a folder are looked at."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horovodize.files.walk import walk


def make(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def found(folder: Path) -> list[str]:
    return [str(p.relative_to(folder)) for p in walk(folder)]


def git_files(folder: Path) -> list[str]:
    """The files that git would add."""
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z", "*.py", "*.ipynb"]
    listed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in listed.split("\0") if name)


def test_python_files_and_notebooks_in_order_and_nothing_else(tmp_path: Path) -> None:
    make(tmp_path, dict.fromkeys(["b.py", "a/z.py", "a/b/c.py", "a.txt", "n.ipynb", "c.pyc", "py"], ""))
    assert found(tmp_path) == ["a/b/c.py", "a/z.py", "b.py", "n.ipynb"]


def test_environments_and_caches_are_passed_over(tmp_path: Path) -> None:
    skipped = [".git/h.py", "node_modules/m.py", "__pycache__/c.py", ".venv/x.py", "lib/site-packages/s.py"]
    make(tmp_path, dict.fromkeys([*skipped, "anyname/pyvenv.cfg", "anyname/lib/x.py", "venv/mine.py"], ""))
    assert found(tmp_path) == ["venv/mine.py"]  # called so, but no virtual environment


def test_links_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path, {"a/x.py": ""})
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "y.py").symlink_to("a/x.py")
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    assert found(tmp_path) == ["a/x.py"]


def test_a_folder_called_like_a_script(tmp_path: Path) -> None:
    make(tmp_path, {"pkg.py/inner.py": ""})
    assert found(tmp_path) == ["pkg.py/inner.py"]


IGNORE_CASES = {
    "plain": {".gitignore": "skip.py\n", "skip.py": "", "a/skip.py": "", "keep.py": ""},
    "anchored": {".gitignore": "/skip.py\n", "skip.py": "", "a/skip.py": ""},
    "folder": {".gitignore": "out/\n", "out/x.py": "", "a/out/y.py": "", "b/out.py": ""},
    "nested file adds": {"a/.gitignore": "*.py\n", "a/x.py": "", "x.py": ""},
    "nested file takes back": {".gitignore": "*.py\n", "a/.gitignore": "!x.py\n", "a/x.py": "", "a/y.py": "", "x.py": ""},
    "negation in one file": {".gitignore": "*\n!*/\n!keep.py\n", "keep.py": "", "a/keep.py": "", "a/z.py": ""},
    "not out of an ignored folder": {".gitignore": "out/\n!out/x.py\n", "out/x.py": "", "y.py": ""},
    "stars": {".gitignore": "a/**/gen_*.py\n", "a/b/c/gen_1.py": "", "a/gen_2.py": "", "gen_3.py": ""},
    "comments and blanks": {".gitignore": "# x.py\n\n\\#y.py\n", "x.py": "", "#y.py": ""},
    "classes": {".gitignore": "[a-b]x.py\n[!z]y.py\n[[:digit:]].py\n[]].py\n", **dict.fromkeys(
                ["ax.py", "cx.py", "zy.py", "ay.py", "3.py", "].py"], "")},
    "question marks and spaces": {".gitignore": "?.py  \nb\\ c.py\n", "a.py": "", "ab.py": "", "b c.py": ""},
    "everything inside": {".gitignore": "a/**\n!a/b/\n!a/b/x.py\n", "a/y.py": "", "a/b/x.py": "", "a/b/z.py": "", "x.py": ""},
    "windows line ends": {".gitignore": "x.py\r\nout/\r\n", "x.py": "", "out/z.py": "", "y.py": ""},
    "last one wins": {".gitignore": "!x.py\nx.py\n", "x.py": "", "y.py": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORE_CASES)
def test_ignores_what_git_ignores(tmp_path: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    make(tmp_path, IGNORE_CASES[name])
    expected = git_files(tmp_path)
    assert sorted(found(tmp_path)) == expected
    everything = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.py"))
    assert expected != everything, "the case ignores nothing"


NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.py", "ab.py", "c"])
PATTERNS = st.lists(
    st.tuples(
        st.sampled_from(["", "!", "", ""]),
        st.sampled_from(["", "/", "**/"]),
        st.lists(
            st.sampled_from(["a", "b", "*", "?", "**", "*.py", "[a-b]", "a*", "a.py", "!x", "\\\\a"]),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from(["", "", "/", "/**"]),
    ).map(lambda t: t[0] + t[1] + "/".join(t[2]) + t[3]),
    min_size=1,
    max_size=4,
)


@given(
    files=st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=8),
    top=PATTERNS,
    nested=st.one_of(st.none(), PATTERNS),
)
@settings(max_examples=60, deadline=None)
def test_any_patterns_ignore_what_git_ignores(
    files: list[list[str]], top: list[str], nested: list[str] | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["git", "init", "-q", folder], check=True)
        (folder / ".gitignore").write_text("\n".join(top))
        for parts in files:
            file = folder.joinpath(*parts[:-1], parts[-1].removesuffix(".py") + ".py")
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        if nested is not None and (folder / "a").is_dir():
            (folder / "a" / ".gitignore").write_text("\n".join(nested))
        assert sorted(found(folder)) == git_files(folder)


def test_rules_above_the_folder_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    make(tmp_path, {".gitignore": "a/gen/\n*_pb2.py\n", "a/gen/x.py": "", "a/y.py": "", "a/z_pb2.py": ""})
    assert found(tmp_path / "a") == ["y.py"]


def test_a_named_folder_is_walked_though_it_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    make(tmp_path, {".gitignore": "out/\n", "out/x.py": "", "out/.gitignore": "y.py", "out/y.py": ""})
    assert found(tmp_path / "out") == ["x.py"]


def test_rules_do_not_reach_into_another_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    make(tmp_path, {".gitignore": "x.py\n", "sub/.git/HEAD": "", "sub/x.py": "", "x.py": ""})
    assert found(tmp_path) == ["sub/x.py"]


def test_a_pattern_without_sense_hurts_no_other(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "!\n/\nx.py\n", "x.py": "", "y.py": ""})
    assert found(tmp_path) == ["y.py"]
