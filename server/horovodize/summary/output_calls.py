"""Which calls put something out, and what: a print, a window, a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from horovodize import catalogue
from horovodize.python import shell_commands
from horovodize.python.buffers import goes_to_buffer, is_buffer
from horovodize.python.module import Module
from horovodize.python.opening import Opening
from horovodize.python.syntax import argument
from horovodize.source.nodes import walk
from horovodize.summary import unseen_outputs
from horovodize.summary.known_models import KnownModels
from horovodize.summary.sites import Sites

Kind = Literal["print", "show", "write"]

_PRINTS = {
    "pprint.pprint", "pprint.pp", "tensorflow.print", "tensorflow.compat.v1.print", "sys.stdout.write", "sys.stdout.flush",
    "sys.stderr.write", "sys.stderr.flush", "IPython.display.display", "IPython.display.clear_output",
    "tensorflow.keras.utils.print_summary", "tqdm.tqdm.write", "tqdm.auto.tqdm.write", "tqdm.notebook.tqdm.write",
}  # fmt: skip
_SHOWS = {
    "matplotlib.pyplot.show", "matplotlib.pyplot.pause", "pylab.show", "pylab.pause", "cv2.imshow", "skimage.io.show",
}  # fmt: skip
# Of these, what goes to `sys.stdout`, unless it is told otherwise; and Matplotlib's windows.
_ON_STDOUT = {
    "pprint.pprint", "pprint.pp", "sys.stdout.write", "sys.stdout.flush", "tensorflow.keras.utils.print_summary",
    "tqdm.tqdm.write", "tqdm.auto.tqdm.write", "tqdm.notebook.tqdm.write",
}  # fmt: skip
_IN_WINDOWS = {"matplotlib.pyplot.show", "pylab.show"}
_READS = re.compile(
    r"(open|load(_\w+|txt)?|im(age_)?read|read(_\w+|lines?)?|genfromtxt|fromfile|(list|scan)dir|i?r?glob|walk|stat|get[scma]\w*ime"
    r"|getsize|exists|is_?(file|dir)|latest_checkpoint)$"
)
# What waits until somebody types or clicks.
_WAITS = {
    "matplotlib.pyplot.waitforbuttonpress", "matplotlib.pyplot.ginput", "pylab.waitforbuttonpress", "pylab.ginput",
    "cv2.waitKey", "msvcrt.getch", "getpass.getpass",
}  # fmt: skip
_WAITING_BUILTINS = ("input", "raw_input")
_WAITING_METHODS = ("waitforbuttonpress", "ginput")
_ELSEWHERE = ("file", "stream", "print_fn")  # arguments that send a text elsewhere
_BUILTIN_PRINTS = ("print", "display")
# Calls that any rank may make: they report to a service that `wandb.init(mode="disabled")` silences.
_SILENCED = "wandb."
WRITER = "tensorflow.compat.v1.summary.FileWriter"
_BY_MODE = {"h5py.File"}  # write or not by an argument: `Opening.written` tells
SUMMARY = "a model's summary"
_KEEPERS = (
    "tensorflow.train.Checkpoint", "tensorflow.train.CheckpointManager", "tensorflow.compat.v1.train.Saver",
    "tensorflow.compat.v1.train.Checkpoint",
)  # fmt: skip
_KEEPER_NAMES = re.compile(r"(^|_)(ckpt|checkpoint|check_point|saver|manager|mngr)", re.I)
_ON_FILES = {"writelines", "writerow", "writerows"}
_SAVES = {"save", "save_weights", "save_model", "export"}
_METHODS = {*_ON_FILES, *catalogue.writer_methods, "summary", "show", "write", *_SAVES}


@dataclass(frozen=True)
class Output:
    """What a call puts out. print: text, harmless when every rank does it; show: a window; write: files."""

    kind: Kind
    what: str


class OutputCalls:
    """What the calls of one module put out. of_all: calls that every rank may make, and that are no output therefore.
    early: what runs while no rank is known. candidates: the calls that may put something out, in the order of the text."""

    def __init__(
        self, module: Module, sites: Sites, of_all: Collection[ast.Call] = (), early: Collection[ast.AST] = ()
    ) -> None:
        self.module, self.of_all, self.early = module, of_all, early
        self.models, self.opening = KnownModels(module, sites), Opening(module)
        self.candidates = module.calls_which(_may_put_out)
        self._known: dict[ast.Call, Output | None] = {}
        self._candidates = frozenset(self.candidates)

    def of(self, call: ast.Call) -> Output | None:
        """What a call puts out itself; None for nothing, for what stays in a buffer, and for functions of this module (their
        statements count)."""
        if call not in self._candidates:
            return None
        if call not in self._known:
            output = self._find(call)
            self._known[call] = output if output is None or not goes_to_buffer(self.module, call) else None
        return self._known[call]

    def _find(self, call: ast.Call) -> Output | None:
        m, func = self.module, call.func
        name = m.names.of(func)
        if m.values.callee(call) is not None or call in self.of_all:
            return None
        if self.waits_for_user(call):
            return Output("show", "an answer") if isinstance(m.syntax.parent.get(call), ast.Expr) else None
        if _is_builtin(m, func, _BUILTIN_PRINTS):
            return Output("print", m.names.last(func))
        if name is not None:
            if name in _PRINTS:
                return Output("print", name)
            if name in _SHOWS:
                return Output("show", name)
            if name.startswith(_SILENCED) or name in _BY_MODE:
                return None
            if catalogue.writes_files(name):
                return Output("write", name)
            if shell_commands.deed(m, call) == "write":
                return Output("write", "a command")
        told = catalogue.written_to(name or "", func.attr if isinstance(func, ast.Attribute) else "")
        path = argument(call, *told) if told is not None else None
        if path is not None and not is_buffer(m, path):
            return Output("write", "a file")
        if unseen_outputs.writes(m, call):
            return Output("write", "a file")
        return self._method_output(call, func) if isinstance(func, ast.Attribute) else None

    def waits_for_user(self, call: ast.Call) -> bool:
        """Whether a call waits until somebody types or clicks."""
        return waits_for_user(self.module, call)

    def _method_output(self, call: ast.Call, func: ast.Attribute) -> Output | None:
        method, receiver = func.attr, func.value
        imported = self.module.names.of(func) is not None and not self.models.is_one(receiver)
        if WRITER in self.module.values.class_names(receiver):
            return None  # on other ranks, a silent one stands in for it
        if method in _ON_FILES and self.opening.is_opened_here(receiver, self.early):
            return None  # other ranks open the null device
        if method in catalogue.writer_methods:
            return Output("write", catalogue.writer_methods[method])
        if method == "summary" and (not imported):
            return Output("print", SUMMARY)
        if method == "show" and not imported and not call.args:
            return Output("show", "a window")
        known = method != "export" or self.models.is_one(receiver)
        if method in _SAVES and not imported and known and not _is_super(receiver):
            return Output("write", "a file")
        if method == "write" and self.is_keeper(receiver):
            return Output("write", "a checkpoint")
        return None

    def speaks(self, call: ast.Call) -> bool:
        """Whether all that a call puts out goes to `sys.stdout` or into a window of Matplotlib's, and it reads no file for it,
        which only rank 0 may have."""
        output = self.of(call)
        if output is None or output.kind == "write" or any(k.arg is None for k in call.keywords):
            return False
        if self.reads_files(call):
            return False
        if output.kind == "show":
            return output.what in _IN_WINDOWS
        given = [argument(call, name) for name in _ELSEWHERE]
        if any(g is not None and self.module.names.of(g) != "sys.stdout" for g in given):
            return False
        return output.what in _ON_STDOUT or output.what in ("print", SUMMARY)

    def reads_files(self, node: ast.AST) -> bool:
        """Whether something in a node reads a file, or asks about one, as far as names tell."""
        return any(
            isinstance(n, ast.Call) and _READS.match(self.module.names.last(n.func)) is not None
            for n in walk(node)
        )

    @cached_property
    def has_windows(self) -> bool:
        """Whether Matplotlib shows something while the program runs."""
        shown = (self.of(c) for c in self.candidates)
        return any(
            o is not None and o.kind == "show" and o.what.startswith(("matplotlib.", "pylab.")) for o in shown
        )

    def is_keeper(self, receiver: ast.expr) -> bool:
        """Whether an expression is a checkpoint, a checkpoint manager or a saver."""
        names = self.module.values.class_names(receiver)
        if any(k in names for k in _KEEPERS):
            return True
        return not names and bool(_KEEPER_NAMES.search(self.module.names.last(receiver)))


def _is_super(receiver: ast.expr) -> bool:
    return (
        isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Name) and receiver.func.id == "super"
    )


def waits_for_user(module: Module, call: ast.Call) -> bool:
    """Whether a call waits until somebody types or clicks."""
    func, name = call.func, module.names.of(call.func)
    if isinstance(func, ast.Name) and func.id in _WAITING_BUILTINS:
        return _is_builtin(module, func, _WAITING_BUILTINS)
    if name is None and isinstance(func, ast.Attribute) and func.attr in _WAITING_METHODS:
        return module.values.callee(call) is None
    return name in _WAITS


def _is_builtin(module: Module, func: ast.expr, names: Collection[str]) -> bool:
    return isinstance(func, ast.Name) and func.id in names and not module.scopes.reaching(func)


def _may_put_out(module: Module, call: ast.Call) -> bool:
    """Whether a call's name is one of those by which `OutputCalls` knows what puts something out."""
    func, name = call.func, module.names.of(call.func)
    method = func.attr if isinstance(func, ast.Attribute) else ""
    if module.values.callee(call) is not None:
        return False
    if _is_builtin(module, func, _BUILTIN_PRINTS) or waits_for_user(module, call):
        return True
    if method in _METHODS or catalogue.written_to(name or "", method) is not None:
        return True
    return name is not None and (
        name in _PRINTS
        or name in _SHOWS
        or catalogue.writes_files(name)
        or shell_commands.deed(module, call) == "write"
        or unseen_outputs.writes(module, call)
    )
