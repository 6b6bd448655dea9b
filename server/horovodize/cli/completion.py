"""Print a script that completes commands, options and paths in a shell."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from horovodize.cli.runner import ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.output import Console

HELP = "print a script that completes commands in a shell"

EXAMPLES = """\
eval "$(horovodize generate-shell-completion bash)"           # in ~/.bashrc
horovodize generate-shell-completion zsh > FOLDER/_horovodize  # a folder of $fpath, before compinit
horovodize generate-shell-completion fish > ~/.config/fish/completions/horovodize.fish
"""

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(arguments: argparse.Namespace, console: Console) -> int:
    import shtab

    from horovodize.cli import make_parser

    parser = make_parser()
    _complete_paths(parser)
    console.write(shtab.complete(parser, arguments.shell) + "\n")
    return ExitStatus.OK


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Says which arguments are files and folders, in the words of shtab."""
    import shtab

    kinds = {"FILE": shtab.FILE, "DIRECTORY": shtab.DIRECTORY}
    for action in parser._actions:
        kind = getattr(action, "complete", None)
        if isinstance(kind, str):
            action.complete = kinds[kind]  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                _complete_paths(command)
