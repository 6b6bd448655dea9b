"""What horovodrun is told of the hosts of elastic ranks, so that it doesn't wait in silence for a second one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from horovodize.running.elastic_hosts import ElasticRanks, HostsUnknown

LOOPBACK = ["--network-interfaces", "lo"]


def program(folder: Path, text: str) -> str:
    path = folder / "found.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_two_hosts_find_out_their_network(tmp_path: Path) -> None:
    for hosts in ("one:2,two:2", "localhost:1,127.0.0.1:1"):
        options, notes = ElasticRanks(2, 1, hosts=hosts).options(tmp_path)
        assert options == ["--min-np", "1", "-H", hosts]
        assert notes == []


def test_hosts_that_a_program_names_may_be_two(tmp_path: Path) -> None:
    found = program(tmp_path, "echo one:2\necho two:2")
    options, notes = ElasticRanks(2, 1, 4, discovery=found).options(tmp_path)
    assert options == ["--min-np", "1", "--max-np", "4", "--host-discovery-script", found]
    assert notes == []


@pytest.mark.parametrize(
    ("hosts", "most", "says"),
    [
        ("", None, "localhost:2"),
        ("", 4, "localhost:4"),
        ("localhost:3", None, "localhost:3"),
        ("127.0.0.1:2", None, "127.0.0.1:2"),
    ],
)
def test_one_machine_is_named_with_its_own_network(
    tmp_path: Path, hosts: str, most: int | None, says: str
) -> None:
    options, notes = ElasticRanks(2, 1, most, hosts).options(tmp_path)
    at = options.index("--host-discovery-script") + 1
    assert subprocess.run([options[at]], capture_output=True, text=True, check=True).stdout == f"{says}\n"
    assert options[at + 1 :] == LOOPBACK
    assert "-H" not in options
    assert "if one dies" in notes[0]


def test_one_host_of_a_program_is_told_and_left(tmp_path: Path) -> None:
    found = program(tmp_path, "echo one:2")
    options, notes = ElasticRanks(2, 1, discovery=found).options(tmp_path)
    assert (
        "--network-interfaces" not in options
    )  # a second host may come, which doesn't see this machine's own network
    assert "names one host: horovodrun waits" in notes[0]
    options, notes = ElasticRanks(2, 1, discovery=found, interfaces="eth0").options(tmp_path)
    assert options[-2:] == ["--network-interfaces", "eth0"]
    assert notes == []


@pytest.mark.parametrize(
    ("hosts", "text", "why"),
    [
        ("one:2", "", "one:2 alone: horovodrun wants two hosts"),
        ("one:2,two:2", "echo one:2", "not from both"),
        ("", "echo nobody is there >&2; exit 3", "ended with status 3: nobody is there"),
    ],
)
def test_hosts_that_can_not_be_known(tmp_path: Path, hosts: str, text: str, why: str) -> None:
    discovery = program(tmp_path, text) if text else ""
    with pytest.raises(HostsUnknown, match=why):
        ElasticRanks(2, 1, hosts=hosts, discovery=discovery).options(tmp_path)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(HostsUnknown, match="No such file"):
        ElasticRanks(2, 1, discovery=str(tmp_path / "none.sh")).options(tmp_path)
