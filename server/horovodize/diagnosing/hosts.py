"""The hosts of a run: ssh without a password, the same packages at the same place, the same folder."""

from __future__ import annotations

import shlex
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from horovodize.diagnosing.diagnosis import Line, note, ok, problem
from horovodize.diagnosing.interpreter import ASK, PACKAGES, Packages, last_line, packages_of, run
from horovodize.launching.hosts import Host

# As Horovod calls it, but never asking anything of whoever sits there.
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "ConnectTimeout=10")
_LIMIT = 60


def is_local(name: str) -> bool:
    """Whether a name is one of this host's: an address that a socket here can be bound to."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as bound:
            bound.bind(address)
    except OSError:
        return False
    return True


def ranks_here(hosts: list[Host], ranks: int) -> int:
    """How many of the ranks this host gets: they go to the hosts in their order."""
    if not hosts:
        return ranks
    here, left = 0, ranks
    for host in hosts:
        taken = min(host.slots, left)
        here += taken if is_local(host.name) else 0
        left -= taken
    return here


def check(hosts: list[Host], ranks: int, executable: str, packages: Packages, folder: Path) -> Iterator[Line]:
    """`folder`: where ranks are started, which has to be the same on all hosts."""
    slots = sum(host.slots for host in hosts)
    if hosts and slots < ranks:
        yield problem(
            "hosts", f"{slots} processes fit for {ranks} ranks", f"raise the numbers in -H, or start {slots}"
        )
    for host in hosts:
        if is_local(host.name):
            yield ok(host.name, f"this host, {host.slots} processes")
        else:
            yield from _remote(host, executable, packages, folder)


def _remote(host: Host, executable: str, packages: Packages, folder: Path) -> Iterator[Line]:
    done = _there(host, "true")
    if done.returncode != 0:
        what = last_line(done.stderr) or f"status {done.returncode}"
        how = (
            "install an ssh client"
            if done.returncode == 127
            else f"ssh-copy-id {host.name}; ssh {host.name} true must work"
        )
        yield problem(host.name, f"ssh without a password fails: {what}", how)
        return
    yield ok(host.name, "ssh without a password")
    asked = _there(host, shlex.join([executable, "-c", ASK, *PACKAGES]))
    try:
        there = packages_of(asked.stdout)
    except ValueError:
        yield problem(host.name, f"{executable} isn't there: {last_line(asked.stderr)}",
                      "set up the same environment at the same path on every host, or share its folder")  # fmt: skip
        return
    differing = [
        f"{name} {there_has or 'missing'} (here {here_has or 'missing'})"
        for name, here_has, there_has in (
            ("Python", packages.python, there.python),
            ("TensorFlow", packages.tensorflow, there.tensorflow),
            ("Horovod", packages.horovod, there.horovod),
            ("keras", packages.versions.get("keras", ""), there.versions.get("keras", "")),
        )
        if here_has != there_has
    ]
    if differing:
        yield problem(host.name, ", ".join(differing), "install the same versions on every host")
    else:
        yield ok(host.name, "the same Python, TensorFlow, Keras and Horovod")
    yield _shared(host, folder)


def _shared(host: Host, folder: Path) -> Line:
    if _there(host, f"test -d {shlex.quote(str(folder))}").returncode != 0:
        return problem(
            host.name, f"{folder} isn't there", "put script and data at the same path on every host"
        )
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".horovodize-") as mark:
            found = _there(host, f"test -e {shlex.quote(mark.name)}").returncode == 0
    except OSError as e:
        return note(host.name, f"whether {folder} is shared can't be tried: {e.strerror}")
    if found:
        return ok(host.name, f"{folder} is shared")
    return note(
        host.name,
        f"{folder} is there, but not shared",
        "copy script and data after each change; checkpoints are on the first host only",
    )


def _there(host: Host, command: str) -> subprocess.CompletedProcess[str]:
    return run([*SSH, host.name, command], limit=_LIMIT)
