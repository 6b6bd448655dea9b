"""Starts the language server: at standard input and output, or at an address."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from horovodize.lsp.garbage import keep_what_is_loaded

if TYPE_CHECKING:
    from horovodize.lsp.transport import Writer


def run_stdio() -> NoReturn:
    """Serves the client at standard input and output, and nothing else: whatever else is printed goes to standard error.
    Raises SystemExit with the code that the protocol asks for."""
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _load()
    from horovodize.lsp.transport import DescriptorWriter

    _serve(lambda size: os.read(0, size), DescriptorWriter(out))


def run_tcp(host: str, port: int) -> NoReturn:
    """Listens for one client and serves it. Port 0 takes a free one; the address is told on standard error. Raises OSError
    when it can't listen, SystemExit as `run_stdio` does."""
    with socket.create_server((host, port)) as listener:
        address = listener.getsockname()
        print(f"horovodize listens at {address[0]}:{address[1]}", file=sys.stderr, flush=True)
        _load()
        connection, _ = listener.accept()
    from horovodize.lsp.transport import SocketWriter

    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _serve(connection.recv, SocketWriter(connection))


def _load() -> None:
    """Imports the server. (Not to collect garbage meanwhile saves a twentieth of the start, and costs 9 MiB for good.)"""
    # asyncio, which pygls imports and we do not run, and hashlib would load OpenSSL, 8 of the server's 70 MiB. Both do without.
    openssl = [name for name in ("ssl", "_hashlib") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(openssl))  # type: ignore[arg-type]
    import hashlib  # noqa: F401

    from horovodize.lsp import protocol_types

    protocol_types.load()
    keep_what_is_loaded()  # two thirds of all: it isn't looked through again while the rest is imported
    import horovodize.lsp.connection  # noqa: F401

    for name in openssl:
        del sys.modules[name]
    keep_what_is_loaded()


def _serve(read: Callable[[int], bytes], writer: Writer) -> NoReturn:
    from horovodize.lsp.connection import HorovodizeServer

    with contextlib.suppress(ConnectionError):
        HorovodizeServer().serve(read, writer)
    sys.exit(1)  # the stream ended without `exit`
