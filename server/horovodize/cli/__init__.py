"""The command line: `horovodize distribute | check | summary | run | explain | doctor | launch | …`; SUBCOMMANDS has all.

Each subcommand is a module with `HELP`, `EXAMPLES`, `add_arguments(parser)` and `run(arguments, console) -> exit status`. They
import the engine when they run, not when they are loaded, so that `--help`, `--version` and the language server start at once.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import textwrap
from collections.abc import Sequence

from horovodize.cli import (
    build_horovod,
    check,
    completion,
    distribute,
    doctor,
    explain,
    launch,
    run,
    server,
    summary,
    traceback,
    verify,
)
from horovodize.cli.output import Console
from horovodize.cli.runner import CommandError, ExitStatus, report_internal_error

SUBCOMMANDS = {
    "distribute": distribute,
    "check": check,
    "summary": summary,
    "run": run,
    "traceback": traceback,
    "explain": explain,
    "verify": verify,
    "build-horovod": build_horovod,
    "doctor": doctor,
    "launch": launch,
    "server": server,
    "generate-shell-completion": completion,
}

# So many containers are made before Python looks for garbage: a plan makes some 100,000 and lets go of them at once, and
# looking as often as Python does takes a tenth of the time and more.
OBJECTS_OF_A_FILE = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status; never raises, whatever the input.

    Wrong usage and `--help` end in SystemExit, as argparse does it (status 2 and 0)."""
    arguments = make_parser().parse_args(argv)
    if gc.get_threshold()[0] < OBJECTS_OF_A_FILE:
        gc.set_threshold(OBJECTS_OF_A_FILE, 20, 50)
    if os.environ.get("HOROVODIZE_DEBUG"):
        arguments.traceback = True
    console = Console(
        arguments.color, quiet=arguments.quiet, output_file=getattr(arguments, "output_file", None)
    )
    try:
        status: int = SUBCOMMANDS[arguments.command].run(arguments, console)
        console.finish()
        return status
    except CommandError as e:
        console.error(str(e))
        return ExitStatus.ERROR
    except KeyboardInterrupt:
        console.end_progress()
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough of it (`| head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.BROKEN_PIPE
    except Exception as e:
        report_internal_error(console, e, traceback=arguments.traceback)
        return ExitStatus.ERROR


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="horovodize",
        description="Turns a single-process TensorFlow training script into one that trains with Horovod.",
        epilog=_EPILOG,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in SUBCOMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            epilog=f"examples:\n{textwrap.indent(module.EXAMPLES, '  ')}",
            formatter_class=_Help,
        )
        module.add_arguments(command)
        _add_common_arguments(command)
    return parser


def _add_common_arguments(parser: argparse.ArgumentParser) -> None:
    common = parser.add_argument_group("common options")
    common.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print results, findings, refusals and errors, and nothing else",
    )
    common.add_argument(
        "--color",
        "--colour",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: only on a terminal, and not when NO_COLOR is set (default: %(default)s)",
    )
    common.add_argument(
        "--traceback",
        action="store_true",
        help="show where in Horovodize an internal error happened (also: HOROVODIZE_DEBUG=1)",
    )


_EPILOG = """\
examples:
  horovodize check train.py                # what stands in the way?
  horovodize distribute train.py           # show the changes
  horovodize distribute train.py --write   # make them

Exit status: 0 done, clean or nothing to do; 1 refused, findings, or files that --check would change; 2 wrong usage or a file
error. horovodize COMMAND --help has the options of a command, and more examples.
"""


class _Help(argparse.HelpFormatter):
    """Wraps descriptions as usual, and leaves examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "examples:" not in text:
            return super()._fill_text(text, width, indent)
        return "".join(indent + line for line in text.splitlines(keepends=True))


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from horovodize import __version__

        print(f"horovodize {__version__}")
        parser.exit()
