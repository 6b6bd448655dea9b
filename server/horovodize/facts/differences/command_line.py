"""What a script is started with: the words of the command line and the options that are read from it.

All ranks are started with the same."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument, says_none

_PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")
_DECLARING = ("add_argument", "DEFINE_integer", "DEFINE_float", "add_option", "option")
_FLAGS = "flags.FLAGS"


def is_flags(module: Module, e: ast.AST) -> bool:
    """Whether an expression is `flags.FLAGS`, of TensorFlow or Abseil."""
    return (module.names.of(e) or "").endswith(_FLAGS) if isinstance(e, ast.expr) else False


def parses(module: Module, call: ast.Call) -> bool:
    """Whether a call reads the command line: `parser.parse_args()`."""
    return module.names.last(call.func) in _PARSING


def holds_options(module: Module, e: ast.expr) -> bool:
    """Whether an expression is all that a script was started with, and nothing else: `args`, `FLAGS`."""
    made = module.values.calls(e)
    return is_flags(module, e) or (bool(made) and all(parses(module, c) for c in made))


def declared(module: Module, name: str) -> ast.Call | None:
    """What declares an option: `parser.add_argument("--start-step", type=int)` of "start_step"."""
    for call in module.calls_called(*_DECLARING):
        if name in (word.lstrip("-").replace("-", "_") for word in _words(call)):
            return call
    return None


def _words(call: ast.Call) -> list[str]:
    return [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def default(module: Module, name: str) -> ast.expr | None:
    """What an option is that isn't given; None where nothing says so."""
    call = declared(module, name)
    if call is None:
        return None
    is_flag = module.names.last(call.func).startswith("DEFINE")
    return argument(call, "default", 1 if is_flag else None)


def may_be_unset(module: Module, name: str) -> bool:
    """Whether an option is None that isn't given."""
    call = declared(module, name)
    if call is None or argument(call, "required") is not None or argument(call, "action") is not None:
        return False
    if module.names.last(call.func) == "add_argument" and name in _words(call):
        return False  # one that must be given, by its place
    given = default(module, name)
    return given is None or says_none(given)
