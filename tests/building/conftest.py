"""An interpreter and tools that only pretend: nothing is downloaded, nothing is compiled."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_PYTHON = '''#!{real} -IS
"""Says of itself what a test wants, and notes what its pip is asked."""
import io, json, os, sys, tarfile
arguments = sys.argv[1:]
with open({asked!r}, "a") as notes:
    notes.write(json.dumps([arguments, os.environ.get("PYTHONPATH"), os.environ.get("HOROVOD_WITH_TENSORFLOW")]) + "\\n")
if arguments[0] == "-c":
    versions = {{name: "" for name in arguments[2:]}} | {versions!r}
    print(json.dumps({{"executable": __file__, "version": {version!r}, "platform": {platform!r}, "headers": {headers!r},
                      "implementation": {implementation!r}, "missing": {missing!r}, "versions": versions}}))
elif arguments[:2] == ["-m", "pip"]:
    verb = next(a for a in arguments[2:] if not a.startswith("-"))
    if verb in {fails!r}:
        print("the reason why", verb, "failed")
        sys.exit(1)
    if verb == "download":
        with tarfile.open(os.path.join(arguments[arguments.index("--dest") + 1], "horovod-0.28.1.tar.gz"), "w:gz") as packed:
            for name, text in json.loads({source!r}).items():
                info = tarfile.TarInfo("horovod-0.28.1/" + name)
                info.size = len(text)
                packed.addfile(info, io.BytesIO(text.encode()))
    elif verb == "wheel":
        folder, source = arguments[arguments.index("--wheel-dir") + 1], arguments[-1]
        os.makedirs(folder)
        with open(os.path.join(folder, "horovod-0.28.1-cp311-cp311-linux_x86_64.whl"), "w") as wheel:
            for name in ("setup.py", "horovod/tensorflow/CMakeLists.txt"):
                wheel.write(open(os.path.join(source, name)).read())
'''
SOURCE = {
    "setup.py": "make_args = ['-j8']\n",
    "horovod/tensorflow/CMakeLists.txt": 'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/mpi_ops.cc")\n'
    'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")\n',
}


@dataclass
class Machine:
    """A folder of tools that is all of PATH, an interpreter, and a cache."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "env" / "bin" / "python")

    @property
    def cache(self) -> Path:
        return self.folder / "cache" / "horovodize"

    def calls(self) -> list[list[object]]:
        """[arguments, PYTHONPATH, HOROVOD_WITH_TENSORFLOW] of each time that pip was run."""
        import json

        notes = self.folder / "asked"
        lines = notes.read_text().splitlines() if notes.exists() else []
        return [call for call in map(json.loads, lines) if call[0][:2] == ["-m", "pip"]]

    def has(self, *tools: str) -> None:
        for tool in tools:
            path = self.folder / "tools" / tool
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)

    def interpreter(
        self,
        tensorflow: str = "2.21.0",
        *,
        version: tuple[int, int] = (3, 11),
        platform: str = "linux-x86_64",
        implementation: str = "cpython",
        headers: bool = True,
        missing: Sequence[str] = (),
        fails: Sequence[str] = (),
        source: dict[str, str] | None = None,
        package: str = "tensorflow-cpu",
    ) -> None:
        import json

        path = Path(self.python)
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / "include").mkdir(exist_ok=True)
        if headers:
            (self.folder / "include" / "Python.h").touch()
        path.write_text(
            textwrap.dedent(_PYTHON).format(
                real=sys.executable,
                asked=str(self.folder / "asked"),
                versions={package: tensorflow},
                version=version,
                platform=platform,
                headers=str(self.folder / "include"),
                implementation=implementation,
                missing=list(missing),
                fails=list(fails),
                source=json.dumps(source or SOURCE),
            )
        )
        path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    (tmp_path / "tools").mkdir()
    made.has("cmake", "g++", "make")
    made.interpreter()
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("VIRTUAL_ENV", "HOROVOD_GPU_OPERATIONS"):
        monkeypatch.delenv(name, raising=False)
    return made
