"""Two hosts on one machine: network namespaces with a cable between them, and an `ssh` that enters them.

Horovod blacklists a host as a whole when a rank on it dies, so that going on takes two of them. Needs root, iproute2 and
util-linux."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Each namespace has a host name of its own, which is its address there: Gloo listens at what the host's name stands for.
_ENTER = """#!/bin/bash
name=$1; shift
exec ip netns exec "$name" unshare --uts bash -c 'hostname "$0" && mount --bind {names} /etc/hosts && exec "$@"' "$name" "$@"
"""
_SSH = """#!/bin/bash
while [[ $1 == -* ]]; do case $1 in -o|-p|-i) shift 2;; *) shift;; esac; done
host=$1; shift
case $host in {cases} *) echo "no host $host" >&2; exit 255;; esac
exec {enter} "$name" bash -c "$*"
"""
CABLE = "cable"  # the interface of each host


@dataclass(frozen=True)
class Hosts:
    """`names` by address; `enter` runs a command on a host, `programs` is a folder for the PATH that has `ssh`."""

    names: dict[str, str]
    enter: Path
    programs: Path

    @property
    def addresses(self) -> list[str]:
        return list(self.names)

    def command(self, address: str, *words: str) -> list[str]:
        return [str(self.enter), self.names[address], *words]

    def processes(self, address: str) -> list[int]:
        """What runs on a host."""
        return [int(pid) for pid in _run("ip", "netns", "pids", self.names[address]).split()]


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[Hosts]:
    """Fails where they can't be made: no test passes by not running."""
    missing = [name for name in ("ip", "unshare", "mount") if shutil.which(name) is None]
    assert not missing, f"{missing} missing: apt-get install iproute2 util-linux"
    names = {f"10.77.0.{i}": f"hvd-{os.getpid()}-{i}" for i in (1, 2)}
    (folder / "names").write_text(
        "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for address, name in names.items())
    )
    enter = _program(folder / "enter", _ENTER.format(names=folder / "names"))
    cases = " ".join(f"{address}) name={name};;" for address, name in names.items())
    programs = folder / "programs"
    programs.mkdir()
    _program(programs / "ssh", _SSH.format(cases=cases, enter=enter))
    try:
        for name in names.values():
            _run("ip", "netns", "add", name)
        one, two = names.values()
        _run("ip", "link", "add", CABLE, "netns", one, "type", "veth", "peer", "name", CABLE, "netns", two)
        for address, name in names.items():
            _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", CABLE)
            for interface in ("lo", CABLE):
                _run("ip", "-n", name, "link", "set", interface, "up")
        yield Hosts(names, enter, programs)
    finally:
        for name in names.values():
            left = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for pid in left.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], check=False)


def _program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not done.returncode, f"{words}: {done.stderr}"
    return done.stdout


__all__ = ["CABLE", "Hosts", "two_hosts"]
