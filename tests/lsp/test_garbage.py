"""Garbage is collected while nobody waits, and the server's process holds no library that it makes no use of."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Hashable, Iterator

import pytest

from horovodize.lsp.garbage import Garbage


class _Waiting:
    """Stands in for a server: keeps what is to be done later."""

    def __init__(self) -> None:
        self.work: dict[Hashable, tuple[float, Callable[[], None]]] = {}

    def later(self, key: Hashable, seconds: float, work: Callable[[], None]) -> None:
        self.work[key] = (seconds, work)

    def wait(self, seconds: float) -> None:
        for key, (due, work) in sorted(self.work.items(), key=lambda item: item[1][0]):
            if due <= seconds:
                del self.work[key]
                work()


class _Version:
    """Refers to itself, as a document and what is known of it do."""

    def __init__(self) -> None:
        self.nodes: list[object] = [[self] for _ in range(1000)]


@pytest.fixture
def server() -> Iterator[_Waiting]:
    before = gc.get_threshold()
    gc.collect()
    yield _Waiting()
    gc.set_threshold(*before)


def test_an_answer_is_not_held_up(server: _Waiting) -> None:
    garbage = Garbage(server)  # type: ignore[arg-type]
    seen = []
    for _ in range(50):
        version = _Version()
        seen.append(weakref.ref(version))
        del version
    garbage.collect_later()
    assert all(version() is not None for version in seen)


def test_between_two_keystrokes_what_is_young_goes(server: _Waiting) -> None:
    garbage = Garbage(server)  # type: ignore[arg-type]
    seen = []
    for _ in range(10):
        version = _Version()
        seen.append(weakref.ref(version))
        del version
    garbage.collect_later()
    server.wait(0.05)
    assert not any(version() is not None for version in seen)


def test_what_has_grown_old_goes_while_one_types(server: _Waiting) -> None:
    garbage = Garbage(server)  # type: ignore[arg-type]
    version = _Version()
    seen, held = weakref.ref(version), [version]
    del version
    gc.collect()  # it is old now
    held.clear()
    for _ in range(60):
        kept = _Version()
        garbage.collect_later()
        server.wait(0.05)
    assert seen() is None
    assert kept.nodes


def test_and_once_nobody_types(server: _Waiting) -> None:
    garbage = Garbage(server)  # type: ignore[arg-type]
    version = _Version()
    for _ in range(3):
        version.nodes += [[version] for _ in range(1000)]
    seen = weakref.ref(version)
    garbage.collect_later()
    server.wait(0.05)  # it is old now
    more = [[object()] for _ in range(5000)]
    del version
    garbage.collect_later()
    server.wait(1.0)
    assert seen() is None
    assert more


def test_openssl_is_not_loaded_and_can_be() -> None:
    script = (
        "import sys\n"
        "from horovodize.lsp import server\n"
        "server._load()\n"
        "assert not {'_ssl', '_hashlib'} & set(sys.modules)\n"
        "import hashlib, ssl\n"
        "print(hashlib.sha256(b'').hexdigest()[:8], ssl.OPENSSL_VERSION.split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["e3b0c442", "OpenSSL"]
