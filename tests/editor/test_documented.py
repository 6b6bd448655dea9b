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


def test_neovim_as_documented(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "keras_fit.py", tmp_path / "train.py")
    init = tmp_path / "init.lua"
    init.write_text(documented(), encoding="utf-8")
    environment = {**os.environ, "SCRIPT": str(tmp_path / "train.py"), "HOME": str(tmp_path)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["nvim", "--headless", "-n", "-u", str(init), "-S", str(HERE / "documented.lua")]
    result = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "HINTED" in result.stdout
