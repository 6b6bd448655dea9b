"""Shell completion, in the real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from horovodize.cli.completion import SHELLS


def shell(name: str) -> str:
    """A shell's path. One that is not installed fails here: a test must not pass by not running."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: `make unit` installs it", pytrace=False)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script, and with the completion script of each shell."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "train.py").write_text("x = 1\n")
    for name in SHELLS:
        command = [sys.executable, "-m", "horovodize", "generate-shell-completion", name]
        (folder / f"horovodize.{name}").write_bytes(subprocess.check_output(command))
    return folder


def in_bash(folder: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    listed = " ".join(f"'{word}'" for word in words)
    code = f"""
        source horovodize.bash
        COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}
        COMP_LINE="${{COMP_WORDS[*]}}"; COMP_POINT=${{#COMP_LINE}}
        function=$(complete -p horovodize | sed -E 's/.*-F ([^ ]+).*/\\1/')
        "$function" horovodize "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        [shell("bash"), "--norc", "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return {line.strip() for line in done.stdout.splitlines() if line.strip()}


def in_fish(folder: Path, line: str) -> set[str]:
    code = f"source horovodize.fish; complete --do-complete '{line}'"
    home = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", code],
        cwd=folder,
        env=home,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


def in_zsh(folder: Path, line: str, until: str) -> None:
    """Types a line and Tab in zsh, in a terminal of its own, and waits until it shows something; fails where it never does."""
    functions = folder / "functions"
    functions.mkdir(exist_ok=True)
    shutil.copy(folder / "horovodize.zsh", functions / "_horovodize")
    code = f"""
        zmodload zsh/zpty
        zpty inner {shell("zsh")} -f -i
        zpty -w inner "PS1='> '; fpath=({functions} \\$fpath); autoload -U compinit; compinit -u -d {folder}/dump; echo rea''dy"
        zpty -r inner seen '*ready*'
        zpty -w -n inner '{line}'$'\\t'$'\\t'
        zpty -r inner shown '*{until}*'
    """
    subprocess.run([shell("zsh"), "-f", "-c", code], cwd=folder, check=True, timeout=60)


def test_bash_completes_commands_options_choices_and_files(folder: Path) -> None:
    assert in_bash(folder, "horovodize", "di") == {"distribute"}
    assert {"--exit-zero", "--exclude"} <= in_bash(folder, "horovodize", "check", "--ex")
    assert in_bash(folder, "horovodize", "check", "--format", "s") == {"sarif"}
    assert "train.py" in in_bash(folder, "horovodize", "check", "tr")
    assert in_bash(folder, "horovodize", "generate-shell-completion", "f") == {"fish"}


def test_fish_completes_commands_options_choices_and_files(folder: Path) -> None:
    assert "distribute" in in_fish(folder, "horovodize di")
    assert {"--exit-zero", "--exclude"} <= in_fish(folder, "horovodize check --ex")
    assert "sarif" in in_fish(folder, "horovodize check --format s")
    assert "train.py" in in_fish(folder, "horovodize check tr")


def test_zsh_completes_commands_and_options(folder: Path) -> None:
    in_zsh(folder, "horovodize di", until="stribute")
    in_zsh(folder, "horovodize check --ex", until="--exclude*--exit-zero")
    in_zsh(folder, "horovodize check tr", until="ain.py")


def test_an_unknown_shell_is_wrong_usage(run) -> None:
    assert run("generate-shell-completion", "dos").status == 2
