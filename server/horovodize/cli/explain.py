"""Explain a restriction (HVD105, aliased-optimizer), a rule (C5), or what a line of a script becomes (train.py:12); without
one of them, list restrictions and rules."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from horovodize.cli.config import add_option_flags
from horovodize.cli.explained_line import explain_line, is_place
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.refusals import RefusalCode
    from horovodize.restrictions import Restriction
    from horovodize.rules import Rule

HELP = "explain a restriction, a rule, or what a line becomes"

EXAMPLES = """\
horovodize explain            # lists them
horovodize explain HVD105
horovodize explain aliased-optimizer
horovodize explain train.py:12
horovodize explain train.ipynb:3:2   # cell 3, line 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code",
        metavar="CODE, RULE OR FILE:LINE",
        nargs="?",
        help="such as HVD105, aliased-optimizer, C5 or train.py:12",
    )
    add_option_flags(parser, "split_data", "rate", "batch", "output", "tensorflow")


def run(arguments: argparse.Namespace, console: Console) -> int:
    from horovodize.refusals import REFUSALS
    from horovodize.restrictions import RESTRICTIONS
    from horovodize.rules import RULES

    if arguments.code is None:
        _list(console)
        return ExitStatus.OK
    if is_place(arguments.code):
        return explain_line(arguments, console)
    wanted = arguments.code.upper()
    codes: dict[str, RefusalCode | Restriction] = {**REFUSALS, **RESTRICTIONS}
    by_name = {one.name.upper(): one for one in codes.values()}
    found: Rule | RefusalCode | Restriction | None = (
        RULES.get(wanted) or codes.get(wanted) or by_name.get(wanted)
    )
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(wanted, [*RULES, *codes, *by_name], n=3)
        hint = (
            f"; did you mean {' or '.join(n if n in RULES or n in codes else n.lower() for n in near)}?"
            if near
            else ""
        )
        raise CommandError(f"there is no restriction or rule {arguments.code!r}{hint}")
    id_ = getattr(found, "code", None) or getattr(found, "id", "")
    console.line(console.paint(f"{id_}  {found.title}", "bold"))
    console.line("")
    console.line(plain_text(found.docs, console))
    return ExitStatus.OK


def _list(console: Console) -> None:
    from horovodize.refusals import REFUSALS
    from horovodize.restrictions import RESTRICTIONS
    from horovodize.rules import RULES

    console.line(console.paint("Restrictions: what stands in the way of distributing a script", "bold"))
    width = max((len(r.name) for r in RESTRICTIONS.values()), default=0)
    for code, restriction in sorted(RESTRICTIONS.items()):
        console.line(
            f"  {console.paint(code, 'yellow')}  {restriction.name.ljust(width)}  {restriction.title}"
        )
    console.line("")
    console.line(console.paint("Refusals: why a script is not distributed", "bold"))
    for code, refusal in REFUSALS.items():
        console.line(f"  {console.paint(code, 'yellow')}  {refusal.name.ljust(width)}  {refusal.title}")
    console.line("")
    console.line(console.paint("Rules: the changes that distributing makes", "bold"))
    for id_, rule in sorted(RULES.items()):
        console.line(f"  {console.paint(id_.ljust(3), 'cyan')}  {rule.title}")


def plain_text(markdown: str, console: Console) -> str:
    """Our own small Markdown as a terminal shows it: headings bold, code indented, no marks."""
    lines = []
    in_code = False
    for line in markdown.strip().splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif in_code:
            lines.append(console.paint(f"    {line}".rstrip(), "cyan"))
        elif heading := re.match(r"#+\s+(.*)", line):
            lines.append(console.paint(_unmarked(heading.group(1)), "bold"))
        else:
            lines.append(_unmarked(line))
    return "\n".join(lines)


def _unmarked(text: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1 (\2)", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"\1", text)
    text = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?!\w)", r"\1", text)
    return re.sub(r"`([^`]+)`", r"\1", text)
