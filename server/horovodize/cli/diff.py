"""A plan as a unified diff that `git apply` and `patch` take, with the reason for each change. Of a notebook, the diff is
one of its cells, to be read: `a/train.ipynb#cell 3`.

The hunks are made from the plan's edits, so it is known which change belongs to which hunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from horovodize.source import LineIndex, Move
from horovodize.source.hunks import CONTEXT, Block, blocks_of, hunks_of, lines_of

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.plan import Change, Plan
    from horovodize.source import Part

_WIDTH = 108


def print_reasons(plan: Plan, console: Console) -> None:
    """What is asked, how each step is scaled, then what is changed, each with its lines and its reason once: as comment lines,
    which tools that apply diffs pass over."""
    asked: dict[str, list[Change]] = {}
    for change in plan.to_confirm:
        asked.setdefault(change.rule, []).append(change)
    if asked:
        listed = "; ".join(f"{rule} {places(plan, changes)}" for rule, changes in asked.items())
        console.line(f"# {console.paint(f'To confirm before training: {listed}', 'yellow', 'bold')}")
    by_sentence: dict[str, list[str]] = {}
    for scaling in plan.scalings:
        by_sentence.setdefault(scaling.sentence, []).append(
            str(plan.document.place(scaling.span.start).line_words)
        )
    for sentence, lines in by_sentence.items():
        kind, _, why = sentence.partition(": ")
        listed = ", ".join(dict.fromkeys(lines))
        console.line(f"# {console.paint(f'{kind} ({listed})', 'bold')}: {why}")
    alike: dict[tuple[str, ...], list[Change]] = {}
    for change in plan.changes:
        alike.setdefault((change.rule, change.what, change.why, change.doubt), []).append(change)
    for changes in alike.values():
        change = changes[0]
        confirm = "" if change.sure else console.paint(" (to confirm)", "yellow", "bold")
        rule = console.paint(change.rule, "cyan", "bold")
        console.line(f"# {rule} {places(plan, changes)}: {console.paint(change.what, 'bold')}{confirm}")
        for text in (change.why, f"To confirm: {change.doubt}" if change.doubt else ""):
            for part in _wrapped(text):
                console.line(console.paint(f"#    {part}", "dim"))


def places(plan: Plan, changes: Sequence[Change]) -> str:
    """ "line 3", "lines 3, 7, 9", "cell 1, line 3; cell 2, line 1" """
    found = list(dict.fromkeys(str(plan.document.place(c.span.start).line_words) for c in changes))
    if len(found) > 1 and all(words.startswith("line ") for words in found):
        return "lines " + ", ".join(words.removeprefix("line ") for words in found)
    return "; ".join(found)


def print_diff(plan: Plan, console: Console) -> None:
    """The hunks, in the encoding of the file, each headed by the rules at work in it."""
    for part in plan.document.parts(plan.edits):
        _print_part(plan, part, console)


def _print_part(plan: Plan, part: Part, console: Console) -> None:
    document = plan.document
    encode = document.encoded.encode
    path = document.path.replace("\n", "\\n") + ("" if part.cell is None else f"#cell {part.cell}")
    console.line(console.paint(f"--- a/{path.lstrip('/')}", "bold"))
    console.line(console.paint(f"+++ b/{path.lstrip('/')}", "bold"))
    old, index = lines_of(part.text), LineIndex(part.text)
    grown = 0
    for blocks in hunks_of(blocks_of(index, part.edits)):
        start, end = max(blocks[0].first - CONTEXT, 0), min(blocks[-1].last + CONTEXT, len(old))
        added = sum(len(b.new) - (b.last - b.first) for b in blocks)
        ranges = f"@@ -{_range(start, end - start)} +{_range(start + grown, end - start + added)} @@"
        rules = _rules(plan, part, blocks)
        console.line(console.paint(ranges, "cyan") + (f" {rules}" if rules else ""))
        at = start
        for block in blocks:
            for line in old[at : block.first]:
                _print_line(console, encode, " ", line)
            for line in old[block.first : block.last]:
                _print_line(console, encode, "-", line, "red")
            for line in block.new:
                _print_line(console, encode, "+", line, "green")
            at = block.last
        for line in old[at:end]:
            _print_line(console, encode, " ", line)
        grown += added


def _print_line(console: Console, encode: Callable[[str], bytes], sign: str, line: str, *styles: str) -> None:
    content = line.rstrip("\r\n")
    end = line[len(content) :]
    text = console.paint(sign + content, *styles) if styles else sign + content
    if end == "\r":
        end = "\n"  # no tool that applies diffs knows these line ends
    if not end:
        end = "\n\\ No newline at end of file\n"
    console.write(encode(text + end))


def _range(start: int, count: int) -> str:
    # An empty range is named by the line before it.
    return f"{start + 1 if count else start},{count}"


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _WIDTH)


def _rules(plan: Plan, part: Part, blocks: Sequence[Block]) -> str:
    """The rules at work in a hunk: "C1, C2"."""
    found: dict[str, None] = {}
    for change in plan.changes:
        for edit in change.edits:
            offsets = [edit.span.start, *([edit.target] if isinstance(edit, Move) else [])]
            for offset in offsets:
                place = plan.document.place(offset)
                line = place.line - 1
                if place.cell == part.cell and any(
                    b.first - 1 <= line <= max(b.last, b.first) for b in blocks
                ):
                    found[change.rule] = None
    return ", ".join(found)
