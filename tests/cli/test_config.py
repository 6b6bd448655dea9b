"""Settings from pyproject.toml and flags."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from horovodize.cli import make_parser
from horovodize.cli.config import Configuration, Settings, codes
from horovodize.cli.output import Console
from horovodize.cli.runner import CommandError
from horovodize.options import SETTINGS, Options


def settings(folder: Path, **flags: object) -> Settings:
    return Configuration(argparse.Namespace(**flags), Console()).settings(folder)


def configure(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert settings(tmp_path) == Settings(Options())


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    configure(tmp_path, "[tool.horovodize]\ncomments = false\nignore = ['HVD105']\n")
    configure(tmp_path / "a", "[tool.horovodize]\nsplit-data = false\n")
    configure(tmp_path / "b", "[project]\nname = 'horovodize-user'\n")  # no table: looked further up
    assert settings(tmp_path / "a").options == Options(split_data=False)
    assert settings(tmp_path / "b" / "c").options == Options(comments=False)
    assert settings(tmp_path / "b" / "c").ignore == ("HVD105",)


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    configure(tmp_path, "[tool.horovodize]\ncomments = false\nstrict = true\nselect = ['HVD1']\n")
    found = settings(tmp_path, comments=True, strict=None, select=("HVD2",), ignore=None)
    assert found.options == Options(comments=True, strict=True)
    assert found.select == ("HVD2",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.horovodize]\nsplit_data = true", "unknown setting tool.horovodize.split_data"),
        ("[tool.horovodize]\nsplit-data = 'no'", "must be true or false"),
        ("[tool.horovodize]\nselect = 'HVD105'", "must be a list"),
        ("[tool.horovodize]\nignore = [1]", "must be a list"),
        ("[tool]\nhorovodize = 3", "must be a table"),
        ("[tool.horovodize\n", "pyproject.toml: "),
    ],
)
def test_what_means_nothing_is_told(tmp_path: Path, text: str, message: str) -> None:
    configure(tmp_path, text)
    with pytest.raises(CommandError, match=message):
        settings(tmp_path)


def test_broken_files_of_others_are_none_of_our_business(tmp_path: Path) -> None:
    configure(tmp_path, "this is [ no toml")
    assert settings(tmp_path) == Settings(Options())


def test_every_option_has_a_flag() -> None:
    flags = vars(make_parser().parse_args(["distribute", "x.py"]))
    assert {*SETTINGS, "python"} <= set(flags)
    off = make_parser().parse_args(["distribute", "x.py", "--no-split-data", "--no-comments"])
    assert (off.split_data, off.comments) == (False, False)
    assert make_parser().parse_args(["distribute", "x.py", "--rank-output", "guard"]).rank_output == "guard"


def test_the_flag_of_output_is_called_otherwise(tmp_path: Path) -> None:
    """`--output` names a file."""
    configure(tmp_path, '[tool.horovodize]\noutput = "silence"')
    assert settings(tmp_path).options.output == "silence"
    assert settings(tmp_path, rank_output="guard").options.output == "guard"
    assert settings(tmp_path, output="out.py").options.output == "silence"


def test_codes() -> None:
    assert codes(" HVD105, HVD2,,aliased-optimizer ") == ("HVD105", "HVD2", "aliased-optimizer")


def test_a_bad_setting_ends_with_status_2(run, engine, tmp_path: Path) -> None:
    configure(tmp_path, "[tool.horovodize]\nsplitdata = true")
    (tmp_path / "a.py").write_text("adam")
    result = run("distribute", "a.py")
    assert result.status == 2
    assert "unknown setting tool.horovodize.splitdata" in result.err
    assert (
        "batch, comments, elastic, exclude, ignore, output, python, rate, runtime, select, split-data, strict"
        in result.err
    )


def test_settings_reach_the_engine(run, engine, tmp_path: Path) -> None:
    configure(tmp_path / "a", "[tool.horovodize]\ncomments = false")
    (tmp_path / "a" / "x.py").write_text("adam")
    (tmp_path / "y.py").write_text("adam")
    run("distribute", "a/x.py", "y.py", "--no-split-data")
    assert engine.options == [Options(split_data=False, comments=False), Options(split_data=False)]


def test_standard_input_has_the_settings_of_its_name(run, engine, tmp_path: Path) -> None:
    configure(tmp_path / "a", "[tool.horovodize]\ncomments = false")
    run("distribute", "-", "--stdin-filename", "a/x.py", stdin=b"adam")
    run("distribute", "-", stdin=b"adam")
    assert engine.options == [Options(comments=False), Options()]
