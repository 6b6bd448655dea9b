"""Start the language server: over standard input and output unless told otherwise."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from horovodize.cli.runner import CommandError

if TYPE_CHECKING:
    from horovodize.cli.output import Console

HELP = "start the language server"

EXAMPLES = """\
horovodize server                       # as editors start it
horovodize server --tcp 127.0.0.1:2087
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="talk over standard input and output (default)")
    where.add_argument("--tcp", metavar="HOST:PORT", type=address, help="wait for one client at an address")


def run(arguments: argparse.Namespace, console: Console) -> int:
    # The one place where the command line touches the other face: only to hand over.
    from horovodize.lsp.server import run_stdio, run_tcp

    if not arguments.tcp:
        run_stdio()
    host, port = arguments.tcp
    try:
        run_tcp(host, port)
    except OSError as e:
        raise CommandError(f"cannot listen at {host}:{port}: {e.strerror or e}") from e


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT` or `:PORT` (this machine only)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
