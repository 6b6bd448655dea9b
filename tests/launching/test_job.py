"""How ranks are laid out over nodes, and lists of hosts."""

from __future__ import annotations

import pytest

from horovodize.launching import Job, LaunchError
from horovodize.launching.hosts import Host, parse


def job(ranks: int, *, nodes: int | None = None, gpus: int | None = None) -> Job:
    return Job("train.py", ranks, "/code", nodes=nodes, gpus_per_node=gpus)


@pytest.mark.parametrize(
    ("given", "nodes", "each", "gpus"),
    [
        (job(4), 1, 4, False),
        (job(8, gpus=4), 2, 4, True),
        (job(6, gpus=4), 2, 3, True),
        (job(8, nodes=4), 4, 2, False),
        (job(8, nodes=4, gpus=8), 4, 2, True),
        (job(2, gpus=0), 1, 2, False),
    ],
)
def test_ranks_lie_evenly(given: Job, nodes: int, each: int, gpus: bool) -> None:
    layout = given.layout()
    assert (layout.nodes, layout.ranks_per_node, layout.gpus) == (nodes, each, gpus)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (job(5, gpus=4), "5 processes can't be spread evenly over 2 nodes: take 4 or 6"),
        (job(1, nodes=2), "1 processes can't be spread evenly over 2 nodes: take 2 or 2"),
        (job(8, nodes=1, gpus=4), "take 2 nodes"),
    ],
)
def test_what_does_not_fit_is_refused(given: Job, why: str) -> None:
    with pytest.raises(LaunchError, match=why):
        given.layout()


def test_names_are_those_that_schedulers_take() -> None:
    assert Job("src/Train_Mnist v2.py", 1, "/").label == "train-mnist-v2"
    assert Job("_.py", 1, "/").label == "train"
    assert len(Job(f"{'long_' * 20}.py", 1, "/").label) <= 40


def test_hosts() -> None:
    assert parse("") == []
    assert parse("a:2, b:3,c") == [Host("a", 2), Host("b", 3), Host("c", 1)]


@pytest.mark.parametrize("text", ["a:0", "a:x", ":2", "-oProxyCommand=x:1", "a:1,a:2"])
def test_what_is_no_list_of_hosts(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a host|named twice"):
        parse(text)
