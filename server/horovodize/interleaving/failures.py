"""Where one rank alone may run into an exception that a `try` takes, and which exceptions befall all ranks."""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import ENDS_OF_ALL, Source
from horovodize.facts.facts import Facts
from horovodize.interleaving.actions import Block, Called, Deed, Risk, Together, everything
from horovodize.interleaving.deeds import Deeds
from horovodize.interleaving.own_answers import OwnAnswers
from horovodize.python.names import Names

_ANY = frozenset({"Exception", "BaseException"})
_ENDS_OF_ROWS = frozenset({"OutOfRangeError", "StopIteration"})
_OF_STEPS = (
    "ResourceExhaustedError",
    "InvalidArgumentError",
    "DataLossError",
    "OutOfMemoryError",
    "MemoryError",
)
_OF_ROWS = (
    "InvalidArgumentError",
    "DataLossError",
    "OpError",
)  # which TensorFlow raises for a row that it can't read
_DECODING = ("io.decode_", "image.decode_", "io.parse_", "strings.to_number", "audio.decode_")
_OF_WAITING = ("Empty", "TimeoutError", "timeout")  # which a rank meets that has waited too long
_WAITING = ("get", "get_nowait", "recv", "result", "join", "acquire")
_OF_TORCH = ("RuntimeError",)  # which PyTorch raises where there is too little memory
_OF_VALUES = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "RuntimeError",
    "AssertionError",
    "UnicodeDecodeError",
)


class Failures:
    """The exceptions that the handlers of one script take."""

    def __init__(self, facts: Facts, deeds: Deeds, answers: OwnAnswers) -> None:
        self.facts, self.module, self.names = facts, facts.module, facts.module.names
        self.deeds, self.answers = deeds, answers

    def is_of_all(self, handler: ast.ExceptHandler) -> bool:
        """Whether a handler takes nothing but what befalls all ranks, as the end of their rows."""
        caught = self._caught(handler)
        return bool(caught) and caught <= ENDS_OF_ALL

    def ends_rows(self, handler: ast.ExceptHandler) -> bool:
        """Whether a handler takes the end of all ranks' rows, and nothing that one of them meets alone."""
        return bool(self._caught(handler) & _ENDS_OF_ROWS) and self.is_of_all(handler)

    def takes_a_step(self, handler: ast.ExceptHandler) -> bool:
        """Whether a handler takes what befalls one rank in a step of training: too little memory, a bad row."""
        caught = self._caught(handler)
        of_steps = {*_ANY, *_OF_STEPS, *(_OF_TORCH if self.facts.horovod.of_torch else ())}
        return not caught or bool(caught & of_steps)

    def waits_later(self, s: ast.Try) -> bool:
        """Whether a rank that has failed in a `try` comes to something else that all ranks must do, further down."""
        syntax = self.module.syntax
        around = (None, syntax.function(s))
        return any(
            c.call.lineno > (s.end_lineno or s.lineno) and syntax.function(c.call) in around
            for c in self.facts.collectives.all.values()
        )

    def risk(self, body: list[ast.stmt], handler: ast.ExceptHandler) -> ast.expr | None:
        """The first expression of a `try` itself at which one rank alone may fail: it reads a file of its own, which another
        rank may have, divides by its own rows, decodes them or takes them for numbers."""
        caught = self._caught(handler) or _ANY
        for node in (n for statement in body for n in ast.walk(statement)):
            if isinstance(node, ast.Call):
                if any(t.deed is Deed.READ and self._is_own(t.path) for t in self.deeds.of(node)):
                    return node
                of_values = caught & {*_ANY, *_OF_VALUES} and self._reads_a_number(node)
                if of_values and any(map(self.answers.is_of_own_rows, node.args)):
                    return node
                if caught & {*_OF_WAITING} and self._waits_for_rows(node):
                    return node
                of_bad_rows = caught & {*_ANY, *_OF_ROWS} and self._decodes(node)
                if of_bad_rows and any(map(self._is_of_rows, node.args)):
                    return node
            elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
                by_zero = caught & {*_ANY, "ZeroDivisionError", "ArithmeticError"}
                if by_zero and self.answers.is_of_own_rows(node.right):
                    return node
        return None

    def _caught(self, handler: ast.ExceptHandler) -> set[str]:
        """The names of what a handler takes; none where it takes anything."""
        if handler.type is None:
            return set()
        several = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        return {self.names.last(name) for name in several}

    def _reads_a_number(self, call: ast.Call) -> bool:
        """`float(text)`. (A function of the script that raises is gone through.)"""
        return (
            isinstance(call.func, ast.Name)
            and call.func.id in ("int", "float")
            and self.module.scopes.lookup(call.func.id, call.func) is None
        )

    def _waits_for_rows(self, call: ast.Call) -> bool:
        """`batches.get(timeout=5)`, of what fills beside the training, on each rank at another pace."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _WAITING:
            return False
        return call.func.attr == "get_nowait" or any(k.arg in ("timeout", "block") for k in call.keywords)

    def _decodes(self, call: ast.Call) -> bool:
        """`tf.io.decode_jpeg(row)`, which fails where the row is none."""
        name = self.names.of(call.func) or ""
        return name.startswith("tensorflow.") and any(part in name for part in _DECODING)

    def _is_of_rows(self, e: ast.expr) -> bool:
        """Whether a value is surely made of rows that a rank takes: the others take other ones."""
        reasons = self.facts.uniform.of_values.reasons(e)
        dealt = any(isinstance(r, Varies) and r.kind is Source.ROWS for r in reasons)
        return dealt or self.answers.is_of_own_rows(e)

    def _is_own(self, path: ast.expr | str) -> bool:
        return isinstance(path, ast.expr) and self.facts.horovod.depends_on(path, "rank", "local_rank")


def failing_step(body: Block) -> tuple[ast.expr | None, Block]:
    """The first step of training of a block, and the block in which it may fail before others notice."""
    for i, action in enumerate(body):
        if any(isinstance(a, Together) and a.trains for a in everything([action])):
            node = action.call if isinstance(action, Called) else getattr(action, "node", None)
            found = node if isinstance(node, ast.expr) else None
            return found, (*body[:i], Risk(found), *body[i:]) if found is not None else body
    return None, body


def suppressing(names: Names, s: ast.With) -> ast.Try | None:
    """`with contextlib.suppress(OSError):` as the `try` that it is."""
    for item in s.items:
        made = item.context_expr
        if isinstance(made, ast.Call) and names.of(made.func) == "contextlib.suppress" and made.args:
            kinds = made.args[0] if len(made.args) == 1 else ast.Tuple(made.args, ast.Load())
            handler = ast.ExceptHandler(kinds, None, [ast.copy_location(ast.Pass(), s)])
            tried = ast.Try(s.body, [ast.copy_location(handler, s)], [], [])
            return ast.copy_location(tried, s)
    return None
