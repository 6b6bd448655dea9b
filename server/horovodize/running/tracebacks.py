"""Tracebacks of a distributed script in the lines of the script as its author wrote it.

Needs the standard library and `source_map`, nothing else of Horovodize."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from horovodize.running.source_map import MappedChange, MappedFile, Origin, SourceMap

_FRAME = re.compile(r'^(?P<indent>\s*)File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.*))?$')
_CARETS = re.compile(r"^\s*[~^]+\s*$")
_PACKAGE = re.compile(r"(?:site|dist)-packages[/\\](?P<name>[^/\\]+)")
_STANDARD = re.compile(
    r"[/\\]lib[/\\](?:python3[^/\\]*[/\\])?[^/\\]+(?:[/\\]|\.py$)|^<frozen |^<__array_function__"
)
_OURS = re.compile(r"horovodize[/\\]running[/\\](?:start|rank)\.py$")
_NAMES = {
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "horovod": "Horovod",
    "tf_keras": "Keras",
    "numpy": "NumPy",
}


@dataclass(frozen=True)
class Frame:
    """A frame of a stack as it was printed: where, and the lines below it (source text, marks)."""

    indent: str
    path: str
    line: int
    name: str
    below: tuple[str, ...]

    @property
    def library(self) -> str:
        """The package that it's in; "" for what may be the user's."""
        if "__autograph_generated_file" in self.path:
            return "AutoGraph"
        found = _PACKAGE.search(self.path)
        if found is not None:
            return _NAMES.get(found["name"], found["name"].removesuffix(".py"))
        return "Python" if _STANDARD.search(self.path) else ""

    @property
    def ours(self) -> bool:
        return _OURS.search(self.path) is not None

    def column(self, distributed: str) -> int | None:
        """The column of the distributed line, from 1, at which its marks begin."""
        marks = next((line for line in self.below if _CARETS.match(line)), None)
        if marks is None or not self.below[0].strip():
            return None
        begin = len(marks) - len(marks.lstrip()) - (len(self.below[0]) - len(self.below[0].lstrip()))
        return max(begin, 0) + len(distributed) - len(distributed.lstrip()) + 1


def rewrite_traceback(text: str, source_map: SourceMap, *, full: bool = False) -> str:
    """A text that has tracebacks in it (Python's, AutoGraph's "in user code", TensorFlow's "defined at"), with their frames in
    the user's files, lines and source text. Frames of inserted code say which rule put it there; those of TensorFlow, Keras,
    Horovod and AutoGraph's generated code are folded unless it's to be `full`. Everything else stays."""
    written: list[str] = []
    stack: list[Frame] = []
    for part in _parts(text.split("\n")):
        if isinstance(part, Frame):
            if stack and stack[-1].indent != part.indent:
                written += _written(stack, source_map, full)
                stack = []
            stack.append(part)
        else:
            written += _written(stack, source_map, full)
            stack = []
            written.append(part)
    written += _written(stack, source_map, full)
    return "\n".join(written)


def user_lines(text: str, source_map: SourceMap) -> list[Origin]:
    """The places of the user's that the stacks of a text come through, in its order; inserted ones, too."""
    found = []
    for part in _parts(text.split("\n")):
        if isinstance(part, Frame) and not part.library and not part.ours:
            file = source_map.file_of(part.path)
            origin = _origin(part, file) if file is not None else None
            if origin is not None:
                found.append(origin)
    return found


def place(origin: Origin) -> str:
    """`train.py:12`, or `train.ipynb:cell 3:12`."""
    cell = "" if origin.cell is None else f"cell {origin.cell}:"
    return f"{origin.source}:{cell}{origin.line}"


@contextmanager
def improved_errors(source_map: SourceMap | Path | str) -> Iterator[None]:
    """Around what trains in a distributed script, such as a `session.run`: an error that comes out of it says, below its
    message, where in the script as it was written it comes from.

        with improved_errors("source-map.json"):
            session.run(train)

    The error stays the one that it is."""
    try:
        yield
    except Exception as e:
        import traceback

        known = source_map if isinstance(source_map, SourceMap) else SourceMap.read(Path(source_map))
        text = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        note = "In the script as it was written:\n" + rewrite_traceback(text, known).rstrip()
        if hasattr(e, "add_note"):
            e.add_note(note)
        else:  # Python 3.10
            e.args = (f"{e.args[0] if e.args else ''}\n{note}", *e.args[1:])
        raise


# ---------------------------------------------------------------------- reading


def _parts(lines: Sequence[str]) -> Iterator[Frame | str]:
    at = 0
    framed = False
    while at < len(lines):
        found = _FRAME.match(lines[at].rstrip())
        if found is not None:
            end = _below(lines, at + 1, found["indent"] + "  ")
            below = tuple(lines[at + 1 : end])
            yield Frame(found["indent"], found["path"], int(found["line"]), found["name"] or "", below)
            at = end
        else:
            goes_on = at + 1 < len(lines) and _FRAME.match(lines[at + 1].rstrip()) is not None
            if lines[at].strip() or not (framed and goes_on):  # some print empty lines between frames
                yield lines[at]
            at += 1
        framed = found is not None


def _below(lines: Sequence[str], begin: int, indent: str) -> int:
    """Where what stands below a frame ends: its source line, which is indented more, and what is marked in it."""
    at = begin
    if at < len(lines) and lines[at].startswith(indent) and lines[at].strip():
        if not _FRAME.match(lines[at].rstrip()):
            at += 1
    while begin < at < len(lines) and at - begin < 3 and _CARETS.match(lines[at]):
        at += 1
    return at


def _origin(frame: Frame, file: MappedFile) -> Origin | None:
    distributed = file.line(frame.line)
    column = frame.column(distributed)
    if column is None:
        return file.origin(frame.line)
    origin = file.origin(frame.line, column)
    # Marked from inserted text on: what failed is what was inserted.
    return origin if origin is not None and origin.change is not None else file.origin(frame.line)


# ---------------------------------------------------------------------- writing


def _written(stack: Sequence[Frame], source_map: SourceMap, full: bool) -> list[str]:
    """A stack, rewritten and folded."""
    frames = [frame for frame in stack if not frame.ours]
    files = [None if frame.library else source_map.file_of(frame.path) for frame in frames]
    last = max((i for i, file in enumerate(files) if file is not None), default=-1)
    lines: list[str] = []
    folded: list[Frame] = []
    own = [i for i, frame in enumerate(frames) if not frame.library]
    for index, (frame, file) in enumerate(zip(frames, files, strict=True)):
        # Of a stack that is all a library's, its end says something.
        if frame.library and not full and (own or index < len(frames) - 1):
            folded.append(frame)
            continue
        lines += _fold(folded)
        folded = []
        origin = _origin(frame, file) if file is not None else None
        if origin is None or file is None:
            lines += [_header(frame, frame.path, f"line {frame.line}"), *frame.below]
        else:
            lines += _mapped(frame, file, origin, innermost=index == last)
    return lines + _fold(folded)


def _fold(frames: Sequence[Frame]) -> list[str]:
    if not frames:
        return []
    names = list(dict.fromkeys(frame.library for frame in frames))
    count = f"{len(frames)} frames" if len(frames) > 1 else "1 frame"
    return [f"{frames[0].indent}… {count} in {', '.join(names)}"]


def _header(frame: Frame, path: str, where: str) -> str:
    name = f", in {frame.name}" if frame.name else ""
    return f'{frame.indent}File "{path}", {where}{name}'


def _mapped(frame: Frame, file: MappedFile, origin: Origin, *, innermost: bool) -> list[str]:
    where = f"line {origin.line}" if origin.cell is None else f"cell {origin.cell}, line {origin.line}"
    more = frame.indent + "  "
    distributed = file.line(frame.line).strip()
    head = _header(frame, origin.source, where)
    if origin.change is not None:
        if origin.inserted and frame.name not in ("", "<module>"):
            return [f"{frame.indent}In {frame.name}, a helper that was inserted", f"{more}{distributed}"]
        own = [] if origin.inserted else [f"{more}{origin.text.strip()}"]
        runs_as = "" if origin.inserted else "# runs as: "
        return [head, *own, f"{more}{runs_as}{distributed}", f"{more}# {_inserted(origin.change)}"]
    lines = [head, f"{more}{origin.text.strip()}"]
    if not origin.touched:
        return lines + [line for line in frame.below[1:] if origin.text.strip() == frame.below[0].strip()]
    if innermost and distributed != origin.text.strip():
        rules = ", ".join(dict.fromkeys(change.rule for change in origin.touched if change.rule))
        lines.append(f"{more}# runs as{f' ({rules})' if rules else ''}: {distributed}")
    return lines


def _inserted(change: MappedChange) -> str:
    by = f"by rule {change.rule}" if change.rule else "to run it"
    return f"inserted {by}: {change.what}. {change.why}".rstrip(". ") + "."
