"""A draft: what rules write into. It knows the document's style and where Horovod's names live; rules know training.

Which Horovod module a program needs is only known when all rules have run, so rules write HVD (any module has it), CORE
(`horovod.tensorflow` only: tape, broadcasts, objects) or KERAS (`horovod.tensorflow.keras` only: callbacks, load_model) and
`finish` puts the names in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from horovodize import catalogue
from horovodize.facts import facts_of
from horovodize.facts.uniform import Uniformity
from horovodize.options import Options
from horovodize.plan import Answer, Change, Decision, Note, Reason
from horovodize.rules.decisions import Agreed, Clash, Decisions
from horovodize.source import Edit, Move
from horovodize.summary import ModuleSummary
from horovodize.summary.lattice import LoopKind
from horovodize.summary.module import Module
from horovodize.summary.outputs import Outputs
from horovodize.summary.shared_line import goes_on, shared_line
from horovodize.summary.syntax import FUNCTIONS, arguments
from horovodize.world.evidence import uses_keras
from horovodize.world.world import Keras, world_of

if TYPE_CHECKING:
    from horovodize.rules.elastic.names import Synced

HVD, CORE, KERAS = "\ue000", "\ue001", "\ue002"
SIZE, RANK, LOCAL_RANK = f"{HVD}.size()", f"{HVD}.rank()", f"{HVD}.local_rank()"
ON_ROOT = f"{RANK} == 0"
LINE = 116  # columns of a line that is written as one

# Operators that bind weaker than `*` on its left side: such an expression needs parentheses before ` * hvd.size()`.
_WEAK = (ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred)
_WEAK_OPERATORS = (ast.Add, ast.Sub, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd)

_INSIDES = "tensorflow.python."  # modules that TensorFlow is made of
_KEYWORD = re.compile(r"\w+=")
_CLASH = "Check which change is right here"
_WHY_CLASH = "A number, or a part of the data, is changed in one way only."


class Draft(Decisions):
    """The changes, doubts and refusals that rules come to for one document."""

    def __init__(self, summary: ModuleSummary, options: Options) -> None:
        super().__init__()
        assert summary.module is not None
        assert summary.sites is not None
        assert summary.drive is not None
        self.summary, self.options = summary, options
        self.document = summary.document
        self.module: Module = summary.module
        self.syntax, self.values, self.names = self.module.syntax, self.module.values, self.module.names
        self.sites, self.drive = summary.sites, summary.drive
        self.facts = facts_of(summary)
        self.world = world_of(summary, options)
        self.changes: list[Change] = []
        self.reasons: list[Reason] = []
        self.notes: list[Note] = []
        self.answered: list[Answer] = []
        self.helpers: dict[str, str] = {}  # what a helper is for → the name it gets in this file
        self._taken = self.module.scopes.all_names()
        self._decisions: dict[Edit | Move, Decision] = {}
        self.stream: dict[str, str] = {}  # what the helper "alike" uses (`any_rank_test.alike`)
        self.settled: set[tuple[ast.AST, ast.AST]] = set()  # what an expression no longer varies by
        self.agreed_before: list[
            tuple[ast.expr, ast.stmt]
        ] = []  # names that are rank 0's from before a statement on
        self._divided = False
        self.shared_lines: list[ast.stmt] = []  # statements that need lines of their own
        self.synced: list[Synced] = []  # of an elastic program: what its steps train
        self.extra_imports: list[str] = []  # imports that inserted code needs
        self.outputs: Outputs | None = None  # made by the first rule that asks (`guards.outputs_of`)
        self._tensorflow: str | None = None
        self._config: tuple[str, str] | None = None
        self._flags: dict[object, str] = {}
        self._names: dict[object, str] = {}
        self._shared: dict[str, str] = {}

    @property
    def uniform(self) -> Uniformity:
        """What is the same on every rank, now that they agree on some of it."""
        return self.facts.uniform.where(
            frozenset(n for n in self.having(Agreed) if not self._is_read_again(n))
        )

    def _is_read_again(self, node: ast.AST) -> bool:
        """Whether a name is agreed on before a loop, and its test reads it after each turn."""
        return isinstance(node, (ast.Name, ast.Attribute)) and isinstance(
            self.syntax.statement(node), ast.While
        )

    @property
    def divided(self) -> bool:
        """Whether some loop takes fewer steps, or some data is dealt out, on each rank; never where all ranks together take the
        batches that one process took."""
        return self._divided and not self.options.keeps_batch

    @divided.setter
    def divided(self, divided: bool) -> None:
        self._divided = divided

    # ------------------------------------------------------------------ what rules say

    def change(
        self,
        rule: str,
        node: ast.AST,
        what: str,
        why: str,
        edits: Iterable[Edit | Move],
        doubt: str = "",
        decision: Decision | None = None,
        shown: str = "",
    ) -> None:
        """Records a change; with a `doubt`, the user is asked to confirm it. What it decides is given, or known of
        edits that `decided` has seen."""
        made = tuple(edits)
        known = (self._decisions[e] for e in made if e in self._decisions)
        self.changes.append(
            Change(
                rule,
                what,
                why,
                self.module.span(node),
                made,
                not doubt,
                doubt,
                decision or next(known, None),
                shown,
            )
        )

    def decided(self, decision: Decision | None, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """Edits that decide something: the change that they become part of says so."""
        made = tuple(edits)
        if decision is not None:
            self._decisions.update(dict.fromkeys(made, decision))
        return made

    def ask(self, rule: str, node: ast.AST, what: str, why: str, doubt: str) -> None:
        """Asks the user to make a change that can't be made here."""
        self.change(rule, node, what, why, (), doubt)

    def asked_about(self, clash: Clash) -> None:
        if self.once("clash", clash.node):
            self.ask(clash.second.rule, clash.node, _CLASH, _WHY_CLASH, clash.doubt)

    def answer(self, code: str, node: ast.AST) -> None:
        """Says that the change just made deals with what `check` warns of at a node: it makes up for it, or its doubt asks
        about it. What nobody answers becomes a question of the plan."""
        self.answered.append(Answer(code, self.module.span(node)))

    def refuse(self, code: str, node: ast.AST, message: str) -> None:
        reason = Reason(code, message, self.module.span(node))
        if reason not in self.reasons:
            self.reasons.append(reason)

    def note(self, rule: str, node: ast.AST, message: str) -> None:
        note = Note(rule, message, self.module.span(node))
        if note not in self.notes:
            self.notes.append(note)

    # ------------------------------------------------------------------ names

    def fresh(self, wanted: str) -> str:
        """A name that the file does not use yet (the seed's NewID)."""
        name, n = wanted, 1
        while name in self._taken:
            n += 1
            name = f"hvd_{wanted}" if n == 2 else f"{wanted}_{n}"
        self._taken.add(name)
        return name

    def named(self, key: object, wanted: str) -> str:
        """A name that the file does not use yet, for one thing always the same."""
        if key not in self._names:
            self._names[key] = self.fresh(wanted)
        return self._names[key]

    def flag(self, key: object) -> str:
        """A name for a "first batch" flag."""
        if key not in self._flags:
            n = len(self._flags)
            self._flags[key] = self.fresh(f"first_batch_{n + 1}" if n else "first_batch")
        return self._flags[key]

    def tensorflow(self) -> str:
        """What `tensorflow` is called in this file; it is imported if it is not."""
        if self._tensorflow is None:
            self._tensorflow = self.module.tensorflow_name()
        if self._tensorflow is None:
            self._tensorflow = self.fresh("tf")
            self.extra_imports.append(f"import tensorflow as {self._tensorflow}")
        return self._tensorflow

    @property
    def keras_3(self) -> bool:
        """Whether Keras 3 trains here, as far as is known: what Horovod gives then comes from a module of our own."""
        of_tensorflow_1 = self.in_graph or self.sites.is_tf1
        return self.world.keras is Keras.THREE and not of_tensorflow_1 and uses_keras(self.module)

    def is_built(self, model: ast.expr, before: ast.stmt) -> bool:
        """Whether a model has its variables, at the latest right before a statement."""
        return self.facts.built.is_model(model, before, of_keras_3=self.keras_3)

    def default_rate(self, class_name: str) -> float | None:
        """The rate of an optimizer that is given none; None where it has to be given one. Where Keras is unknown it is that of
        Keras 2: what is made then stops under Keras 3 (`rules/keras_3`)."""
        rate = catalogue.default_rate(class_name)
        return catalogue.rate_in_keras_3(class_name, rate) if self.world.keras is Keras.THREE else rate

    # ------------------------------------------------------------------ TensorFlow 1

    @property
    def in_graph(self) -> bool:
        """Whether the program builds TF1 graphs: a tensor then has no value before a session runs it."""
        return self.sites.builds_graph

    @property
    def in_sessions(self) -> bool:
        """Whether what ranks tell each other beside the training is run in a session: of such a program, and of one whose
        Keras trains in a session of TensorFlow 1, where `hvd.broadcast(0, …)` only builds an operation."""
        return self.in_graph or (self.sites.is_tf1 and self.summary.kinds == {LoopKind.KERAS})

    @property
    def loop_rule(self) -> str:
        """The rule under which loops are divided, and what all ranks do together: of sessions S5."""
        return "S5" if self.in_graph else "G4"

    def v1(self, used: ast.expr) -> str:
        """What the part of TensorFlow that still has TensorFlow 1's names is called: that which a use of one of them starts
        with, `tf` in `tf.Session`, `tf.compat.v1` in `tf.compat.v1.train.Saver`."""
        full, text = self.names.of(used) or "", ast.unparse(used)
        whole = {b.name: b.imported for b in self.module.scopes.imports}
        for prefix in ("tensorflow.compat.v1.", "tensorflow."):
            tail = "." + full.removeprefix(prefix)
            if full.startswith(prefix) and text.endswith(tail) and self._is_only_imported(text):
                called = text.removesuffix(tail)
                if not (whole.get(called) or "").startswith(_INSIDES):  # `ops`, which has little of it
                    return called
        tf = self.tensorflow()
        is_v1 = whole.get(tf) == "tensorflow.compat.v1" and self._is_only_imported(tf)
        return tf if is_v1 else f"{tf}.compat.v1"

    def _is_only_imported(self, text: str) -> bool:
        """Whether what a dotted name starts with is what an import made it: `tf = tf.compat.v1` comes after the head, and so
        may `if tf.__version__ > "2": import tensorflow.compat.v1 as tf`."""
        roots = (self.module.scopes.names[tree] for tree in self.syntax.trees)
        bound = [b for names in roots for b in names.get(text.partition(".")[0], ())]
        again = {
            isinstance(b.statement, ast.stmt) and self.syntax.parent[b.statement] in self.syntax.trees
            for b in bound
        }
        differs = len({b.imported for b in bound}) > 1
        return all(b.kind == "import" for b in bound) and not (differs and True in again)

    def session_config(self, used: ast.expr) -> str:
        """The name of the `ConfigProto` that the head of the file will make; `used` is a use of TensorFlow 1 that needs it."""
        if self._config is None:
            self._config = self.fresh("config"), self.v1(used)
        return self._config[0]

    @property
    def config_to_make(self) -> tuple[str, str] | None:
        """(name, what TensorFlow 1 is called) of the config that the head has to make; None where none is needed."""
        return self._config

    def same_name(self, wanted: str) -> str:
        """A fresh name that every statement which asks for it shares: one that is set right before each use."""
        if wanted not in self._shared:
            self._shared[wanted] = self.fresh(wanted)
        return self._shared[wanted]

    def helper(self, purpose: str) -> str:
        """The name of a helper function that the head of the file will define ("shard_array", "shard_dataset")."""
        if purpose not in self.helpers:
            self.helpers[purpose] = self.fresh(purpose)
        return self.helpers[purpose]

    def needed_module(self, module: str) -> str:
        """What a module of the standard library is called that inserted code needs; the head of the file imports it."""
        if module not in self._shared:
            name = self.same_name(module)
            self.extra_imports.append(f"import {module}" if name == module else f"import {module} as {name}")
        return self.same_name(module)

    # ------------------------------------------------------------------ text

    @property
    def newline(self) -> str:
        return self.document.newline

    @property
    def unit(self) -> str:
        return self.document.indent_unit

    def can_insert(self, statement: ast.stmt) -> bool:
        """Whether statements can be put around a statement: it starts its line and none follows it there."""
        if not self.document.starts_line(statement) or goes_on(self.module, statement):
            return False
        block = self.syntax.block(statement)
        i = block.index(statement)
        return i + 1 == len(block) or block[i + 1].lineno != statement.end_lineno

    def first_line(self, statement: ast.stmt) -> int:
        """The line (from 1) on which a statement starts, its decorators included."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        return min([statement.lineno, *(d.lineno for d in decorators)])

    def line_words(self, node: ast.AST, said_at: ast.AST) -> str:
        """Where a node is, for something that is said at another: "line 7", in another file "line 7 of `nets.py`"."""
        at, here = self.module.span(node).start, self.module.span(said_at).start
        words = self.document.place(at).line_words
        if not self.document.is_elsewhere(at, here):
            return words
        return f"{words} of `{self.document.name_at(at)}`"

    def before(self, statement: ast.stmt, lines: list[str], level: int = -5) -> Edit:
        """Puts lines before a statement, at its indentation. Lines are given without indentation of the block."""
        indent = self.document.indentation(statement)
        start = self.document.lines.starts[self.first_line(statement) - 1] + len(indent)
        text = (
            "".join(self._indented(line, indent, i) + self.newline for i, line in enumerate(lines)) + indent
        )
        return Edit.insert(start, text, self.module.span(statement), level)

    def moved_before(
        self,
        statement: ast.stmt,
        e: ast.expr,
        opening: str,
        closing: str,
        lines: list[str],
        left: str,
        level: int = -2,
    ) -> Move:
        """Puts an expression, with what other rules do to it, on a line before its statement, and lines after that; `left`
        takes its place."""
        edit = self.before(statement, lines, level)
        span, indent = self.module.span(e), self.document.indentation(statement)
        after = closing + self.newline + indent + (edit.new_text if lines else "")
        return Move(span, edit.span.start, opening, after, left, edit.anchor or edit.span, level)

    def after(self, statement: ast.stmt, lines: list[str], level: int = 0) -> Edit:
        """Puts lines after a statement (and the comment on its last line), at its indentation."""
        indent = self.document.indentation(statement)
        index = self.document.lines
        line = (statement.end_lineno or statement.lineno) - 1
        end = index.starts[line] + len(index.content(line))
        text = "".join(self.newline + self._indented(line, indent, 1) for line in lines)
        return Edit.insert(
            end, text, None, level - 10 * len(indent)
        )  # after an inner block before after the outer one

    def can_put_after(self, statement: ast.stmt) -> bool:
        """Whether statements can be put after one, on lines of their own, even where it shares its line with others."""
        return self.can_insert(statement) or shared_line(self.module, statement) is not None

    def put_after(self, statement: ast.stmt, lines: list[str], level: int = 0) -> list[Edit]:
        """`after`, where a statement may share its line: `step(x); n += 1`, `for x in data: step(x)`. All statements of the
        line are put on lines of their own; equal edits count once, so several rules may do so."""
        shared = shared_line(self.module, statement)
        if self.can_insert(statement) or shared is None:
            return [self.after(statement, lines, level)]
        indent = self.document.indentation(shared.statements[0]) + (self.unit if shared.is_suite else "")
        edits = [Edit(gap, self.newline + indent) for gap in shared.gaps]
        i = shared.statements.index(statement) + 1
        if i < len(shared.statements):
            span = self.module.span(shared.statements[i])
            text = (
                "".join(self._indented(line, indent, n) + self.newline for n, line in enumerate(lines))
                + indent
            )
            return [*edits, Edit.insert(span.start, text, span, -5)]
        line = (statement.end_lineno or statement.lineno) - 1
        end = self.document.lines.starts[line] + len(self.document.lines.content(line))
        text = "".join(self.newline + self._indented(line, indent, 1) for line in lines)
        return [*edits, Edit.insert(end, text, None, level - 10 * len(indent))]

    def _indented(self, line: str, indent: str, i: int) -> str:
        line = self.newline.join(self.unit * _depth(part) + part.lstrip(" ") for part in line.split("\n"))
        return (indent if i else "") + line if line else line

    def lines_of(self, *lines: str, comment: str = "") -> list[str]:
        """Lines to insert, with a comment if the user wants comments: beside the first of them, above it where that would make
        a long line."""
        if not comment or not self.options.comments:
            return [*lines]
        beside = self.said(lines[0], comment)
        fits = len(beside.replace(HVD, "hvd").replace(CORE, "hvd")) <= LINE and "\n" not in lines[0]
        return [beside, *lines[1:]] if fits else [f"# {comment}", *lines]

    def said(self, line: str, comment: str) -> str:
        """A line to insert, with a comment beside it if the user wants comments."""
        told = comment.removeprefix("Horovod: ").removesuffix(".")
        return f"{line}  # {told[0].lower()}{told[1:]}" if self.options.comments else line

    @property
    def growth(self) -> str:
        """What the rate of larger batches is multiplied by; nothing where it stays."""
        if self.options.keeps_batch:
            return ""
        return {"linear": SIZE, "sqrt": f"{SIZE} ** 0.5"}.get(self.options.rate, "")

    @property
    def scaled(self) -> Decision | None:
        """What a change decides that multiplies a rate by `growth`."""
        return self._of_factor(self.growth) if self.growth else None

    def _of_factor(self, factor: str) -> Decision:
        return Decision.SCALED_BY_ROOT if factor.endswith("** 0.5") else Decision.SCALED

    def times(self, expression: ast.expr, factor: str = SIZE, operator: str = "*") -> tuple[Edit, ...]:
        """`e` → `e * hvd.size()`, in parentheses where it needs them."""
        span = self.module.span(expression)
        after = f" {operator} {factor}"
        if not needs_parentheses(expression):
            edits = Edit.around(span, "", after)
        elif self._parenthesized(expression):
            edits = (Edit.insert(self.document.text.index(")", span.end) + 1, after, span),)
        else:
            edits = Edit.around(span, "(", ")" + after)
        return self.decided(self._of_factor(factor) if operator == "*" else Decision.DIVIDED, edits)

    def _parenthesized(self, expression: ast.expr) -> bool:
        """Whether an expression stands in parentheses of its own (not those of a call)."""
        span, text = self.module.span(expression), self.document.text
        before, after = text[: span.start].rstrip(), text[span.end :].lstrip()
        if not (before.endswith("(") and after.startswith(")")):
            return False
        parent = self.syntax.parent.get(expression)
        if isinstance(parent, ast.Call):
            opens_call = self.module.span(parent.func).end
            return text[opens_call : len(before) - 1].strip() != ""
        return True

    def add_argument(self, call: ast.Call, text: str, *, first: bool = False, level: int = 0) -> Edit:
        """Adds an argument to a call: `first` puts it before the keywords (only for calls without positional ones)."""
        passed = arguments(call)
        span = self.module.span(call)
        if not passed:
            return Edit.insert(span.end - 1, text, None, level)
        if first and not call.args:
            keyword = min(call.keywords, key=lambda k: (k.lineno, k.col_offset))
            start = self.module.span(keyword).start
            return Edit.insert(start, text + ", ", self.module.span(keyword), level)
        ordered: list[ast.expr | ast.keyword] = sorted(
            [*call.args, *call.keywords], key=lambda a: (a.lineno, a.col_offset)
        )
        last = ordered[-1]
        end = self.module.span(last).end
        end = self._past_parentheses(end, span.end)
        line = self.document.lines.content(last.lineno - 1)
        lead = line[: len(line) - len(line.lstrip())]
        own_line = self.document.lines.starts[last.lineno - 1] + len(lead) == self.module.span(last).start
        previous_line = ordered[-2].end_lineno if len(ordered) > 1 else call.func.end_lineno
        if own_line and previous_line != last.lineno:
            if isinstance(last, ast.keyword) and last.arg and _KEYWORD.match(text) and self._is_said(end):
                start = self.module.span(last).start  # before the argument that a comment is beside
                return Edit.insert(start, f"{text},{self.newline}{lead}", span, level)
            return Edit.insert(end, f",{self.newline}{lead}{text}", span, level)
        return Edit.insert(
            end, f", {text}", span, level
        )  # of the call: it stays where the last argument is moved

    def _is_said(self, end: int) -> bool:
        """Whether a comment stands on the line behind a place, perhaps after a comma."""
        rest = self.document.text[end:].split("\n", 1)[0].lstrip(" \t,")
        return rest.startswith("#")

    def _past_parentheses(self, end: int, limit: int) -> int:
        """Skips the closing parentheses that belong to the last argument itself: `f((a))`."""
        text, at = self.document.text, end
        while True:
            following = _skip_space(text, at)
            if following < limit - 1 and text[following] == ")":
                at = end = following + 1
            else:
                return end

    def quoted(self, text: str) -> str:
        """A string literal in the file's own quotes."""
        return f"{self.document.quote}{text}{self.document.quote}"

    # ------------------------------------------------------------------ blocks

    def start_of_body(self, function: ast.stmt) -> ast.stmt:
        """The first statement of a body that is not its docstring."""
        body: list[ast.stmt] = function.body  # type: ignore[attr-defined]
        first = body[0]
        is_doc = (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        )
        if isinstance(function, FUNCTIONS) and is_doc and len(body) > 1:
            return body[1]
        return first

    # ------------------------------------------------------------------ the end

    def new_text(self, edit: Edit | Move) -> str:
        """What an edit brings into the text."""
        return _new_text(edit)

    def uses(self, marker: str) -> bool:
        return any(marker in _new_text(e) for c in self.changes for e in c.edits)

    def finish(self, hvd: str, keras: str, core: str) -> list[Change]:
        """The changes with the names of Horovod's modules put in."""
        table = str.maketrans({HVD: hvd, CORE: core, KERAS: keras})
        return [replace(c, edits=tuple(_translate(e, table) for e in c.edits)) for c in self.changes]


def needs_parentheses(e: ast.expr) -> bool:
    """Whether `e * x` would not mean `(e) * x`."""
    return (
        isinstance(e, _WEAK)
        or (isinstance(e, ast.BinOp) and isinstance(e.op, _WEAK_OPERATORS))
        or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not))
    )


def _depth(line: str) -> int:
    """Indentation steps of an inserted line, which is written with four spaces a step."""
    return (len(line) - len(line.lstrip(" "))) // 4


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\\":
        at += 1
    return at


def _new_text(edit: Edit | Move) -> str:
    return edit.new_text if isinstance(edit, Edit) else edit.before + edit.after + edit.left


def _translate(edit: Edit | Move, table: dict[int, str]) -> Edit | Move:
    if isinstance(edit, Edit):
        return replace(edit, new_text=edit.new_text.translate(table))
    return replace(
        edit,
        before=edit.before.translate(table),
        after=edit.after.translate(table),
        left=edit.left.translate(table),
    )
