"""A server process for a test, with a cache of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.robustness.cases import TIMES, TRIED
from tests.robustness.wire import Wire, served


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The folder of the test's cache."""
    return tmp_path / "cache"


@pytest.fixture
def start(cache: Path) -> Iterator[Callable[..., Wire]]:
    """Starts servers, which end with the test; takes the arguments of `Wire`."""
    with ExitStack() as running:

        def started(**arguments: object) -> Wire:
            env = {"HOROVODIZE_CACHE_DIR": str(cache), **arguments.pop("env", {})}  # type: ignore[dict-item]
            return running.enter_context(served(env=env, **arguments))

        yield started


@pytest.fixture
def server(start: Callable[..., Wire]) -> Wire:
    """A server that is initialized."""
    wire = start()
    wire.initialize()
    return wire


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many cases `make fuzz` tried."""
    if TIMES > 1:
        terminalreporter.section("cases")
        for name, count in sorted(TRIED.items()):
            terminalreporter.line(f"{count:8}  {name}")
        terminalreporter.line(f"{TRIED.total():8}  in all")
