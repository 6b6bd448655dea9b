"""The set-up that docs/editors.md gives for Emacs, in the Emacs that is installed: hint, hover, the change, one undo."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def test_emacs_as_documented(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    shutil.copy(ROOT / "examples" / "keras_fit.py", script)
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    lines = re.search(r"```elisp\n(.*?)```", text, re.DOTALL)
    assert lines
    init = tmp_path / "init.el"
    # Where Emacs has no eglot of its own, it is a package.
    init.write_text(f"(package-initialize)\n{lines[1]}\n(require 'eglot)\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["emacs", "--batch", "--load", str(init), "--load", str(HERE / "check.el")],
        env={**os.environ, "SCRIPT": str(script), "HOME": str(tmp_path), "PATH": path},
        cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    said = [line for line in result.stdout.splitlines() if line.split(" ")[0] in ("HINT", "HOVER", "DONE")]
    assert result.returncode == 0, result.stdout + result.stderr
    assert "HVD001" in said[0]
    assert said[1:] == ["HOVER Keras training loop in main", "DONE"]
    before = (ROOT / "examples" / "keras_fit.py").read_text(encoding="utf-8")
    plan = distribute(summarize(Document(before)))
    assert isinstance(plan, Plan)
    assert script.read_text(encoding="utf-8") == plan.text
    assert Path(f"{script}.undone").read_text(encoding="utf-8") == before
