"""A real editor on real scripts: hover, diagnostics on save, the quick fix, undo, a clean exit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCRIPTS = [
    *(ROOT / "examples" / name for name in ("keras_fit.py", "gradient_tape.py")),
    ROOT / "tests" / "programs" / "keras" / "functional_crlf.py",
    ROOT / "tests" / "programs" / "keras" / "batchnorm_tabs.py",
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_person_distributes_a_script(script: Path, tmp_path: Path) -> None:
    neovim = shutil.which("nvim")
    assert neovim, "Neovim is not installed; this test needs it (apt-get install neovim)"
    document = Document.from_bytes(script.read_bytes(), str(script))
    plan = distribute(summarize(document), Options())
    assert isinstance(plan, Plan)
    copy, expected = tmp_path / script.name, tmp_path / "expected"
    shutil.copy(script, copy)
    expected.write_bytes(document.encoded.encode(plan.text))
    environment = {
        **os.environ,
        "SERVER_CMD": json.dumps([sys.executable, "-m", "horovodize", "server"]),
        "SCRIPT": str(copy),
        "EXPECTED": str(expected),
        "BREAKING": 'again = __import__("tensorflow")',
        "CODE": "HVD102",
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    result = subprocess.run(
        [neovim, "--headless", "--clean", "-n", "-S", str(HERE / "check.lua")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("PASS ") == 14
    assert "ALL PASSED" in result.stdout
