"""What horovodrun has to be told so that elastic ranks begin: their hosts, and the network that these share.

It finds out the network by asking two hosts. With one, it waits ten minutes for a second and says nothing, unless the network
is named; hosts that are listed (`-H`) must be two. On one machine a program can name it, and the network is its loopback."""

from __future__ import annotations

import shlex
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

LOCAL = ("localhost", "127.0.0.1", "::1")
_PATIENCE = 20.0  # seconds for a program that names hosts


class HostsUnknown(Exception):
    """Why elastic ranks can't begin: a text for the user."""


@dataclass(frozen=True)
class ElasticRanks:
    """What is asked for: with how few ranks training goes on, the most of them, who names the hosts, and their network."""

    ranks: int
    least: int
    most: int | None = None
    hosts: str = ""
    discovery: str = ""
    interfaces: str = ""

    def options(self, folder: Path) -> tuple[list[str], list[str]]:
        """For horovodrun, and what the user is to know. A program that names hosts may be written to `folder`. Raises
        HostsUnknown."""
        if self.discovery and self.hosts:
            raise HostsUnknown("the hosts come from -H or from --host-discovery-script, not from both")
        found, interfaces, notes = self.discovery, self.interfaces, []
        hosts = [host for host in self.hosts.split(",") if host]
        if not found and len(hosts) < 2:
            if hosts and not _is_here(hosts[0]):
                raise HostsUnknown(
                    f"{hosts[0]} alone: horovodrun wants two hosts for elastic ranks, or a program that names them, "
                    "--host-discovery-script"
                )
            found, interfaces = self._this_machine(folder, hosts), interfaces or _loopback()
            notes.append(
                "all ranks are on this machine: if one dies, Horovod gives up the machine, and the run ends. Name hosts (-H), "
                "or a program that does (--host-discovery-script), so that the others go on"
            )
        elif found and not interfaces and len(_said_by(found)) == 1:
            notes.append(
                f"{self.discovery} names one host: horovodrun waits up to ten minutes for a second, to find the network that "
                f"they share. --network-interfaces names it ({_loopback()} where all hosts are this machine)"
            )
        options = ["--min-np", str(self.least)]
        options += ["--max-np", str(self.most)] if self.most is not None else []
        options += ["--host-discovery-script", str(Path(found).absolute())] if found else ["-H", self.hosts]
        options += ["--network-interfaces", interfaces] if interfaces else []
        return options, notes

    def _this_machine(self, folder: Path, hosts: list[str]) -> str:
        """A program that names this machine."""
        host = hosts[0] if hosts else f"localhost:{self.most or self.ranks}"
        program = folder / "hosts.sh"
        program.write_text(f"#!/bin/sh\necho {shlex.quote(host)}\n", encoding="utf-8")
        program.chmod(0o755)
        return str(program)


def _is_here(host: str) -> bool:
    return host in LOCAL or host.rpartition(":")[0].strip("[]") in LOCAL


def _loopback() -> str:
    """The name of the machine's network to itself: "lo" on Linux, "lo0" on macOS."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")


def _said_by(program: str) -> list[str]:
    """The hosts that a program names now. Raises HostsUnknown."""
    path = str(Path(program).absolute())
    try:
        done = subprocess.run([path], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise HostsUnknown(f"{program}: {getattr(e, 'strerror', None) or e}") from e
    if done.returncode:
        raise HostsUnknown(f"{program} ended with status {done.returncode}: {done.stderr.strip()[:200]}")
    return [line for line in done.stdout.split() if line]
