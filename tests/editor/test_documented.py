"""The set-up that docs/editors.md tells for the Neovim that is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def documented() -> str:
    """The lines for the newest Neovim that is not newer than the one installed."""
    said = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"NVIM v(\d+)\.(\d+)", said)
    assert version
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    found = re.findall(r"From (\d+)\.(\d+) on:\n\n```lua\n(.*?)```", text, re.DOTALL)
    assert len(found) == 2
    fitting = [
        (int(a), int(b), lines)
        for a, b, lines in found
        if (int(a), int(b)) <= tuple(map(int, version.groups()))
    ]
    return max(fitting)[2]


def neovim(folder: Path, lines: str) -> str:
    """What documented.lua says of a set-up."""
    shutil.copy(ROOT / "examples" / "keras_fit.py", folder / "train.py")
    init = folder / "init.lua"
    init.write_text(lines, encoding="utf-8")
    environment = {**os.environ, "SCRIPT": str(folder / "train.py"), "HOME": str(folder)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["nvim", "--headless", "-n", "-u", str(init), "-S", str(HERE / "documented.lua")]
    result = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=110, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_neovim_as_documented(tmp_path: Path) -> None:
    assert neovim(tmp_path, documented()).split("\n")[:2] == ["HINTED", "SPLITS DATA"]


def test_settings_as_documented(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    setting = re.search(r"go into the table, as `(.*?)`", text)
    assert setting
    lines, places = re.subn(r"( *cmd = \{.*\},\n)", rf"\1{setting[1]},\n", documented())
    assert places == 1
    assert neovim(tmp_path, lines).split("\n")[:2] == ["HINTED", "LEAVES DATA"]
