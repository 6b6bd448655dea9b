"""A draft: what rules write into. It knows what was decided and where Horovod's names live; rules know training.

Which Horovod module a program needs is only known when all rules have run, so rules write HVD, CORE or KERAS (`writing`) and
`finish` puts the names in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from horovodize import catalogue
from horovodize.facts import facts_of
from horovodize.facts.differences.uniform import Uniformity
from horovodize.options import Options
from horovodize.plan import Answer, Change, Decision, Note, Reason
from horovodize.rules.drafting.decisions import Agreed, Clash, Decisions
from horovodize.rules.drafting.writing import (
    CORE,
    HVD,
    KERAS,
    LINE,
    LOCAL_RANK,
    ON_ROOT,
    RANK,
    SIZE,
    Writing,
    binds_as_tightly,
    needs_parentheses,
)
from horovodize.source import Edit, Move
from horovodize.summary import ModuleSummary
from horovodize.summary.lattice import LoopKind
from horovodize.summary.outputs import Outputs
from horovodize.world.evidence import uses_keras
from horovodize.world.world import Keras, world_of

if TYPE_CHECKING:
    from horovodize.rules.elastic.names import Synced

_INSIDES = "tensorflow.python."  # modules that TensorFlow is made of
_CLASH = "Check which change is right here"
_WHY_CLASH = "A number, or a part of the data, is changed in one way only."


class Draft(Decisions, Writing):
    """The changes, doubts and refusals that rules come to for one document."""

    def __init__(self, summary: ModuleSummary, options: Options) -> None:
        Decisions.__init__(self)
        Writing.__init__(self, summary, options)
        assert summary.sites is not None
        assert summary.drive is not None
        self.summary = summary
        self.values, self.names = self.module.values, self.module.names
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
        self.all_finite = True  # whether all that `shard_dataset` divides surely has a `len`
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
        Keras 2: what is made then stops under Keras 3 (`rules/beginning/keras_3`)."""
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

    # ------------------------------------------------------------------ rates

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
        weak, own = needs_parentheses(expression), self.parenthesized(expression)
        binds = binds_as_tightly(self.syntax.parent.get(expression), expression, operator)  # `name % step`
        if weak and own and not binds:
            edits: tuple[Edit, ...] = (Edit.insert(self.document.text.index(")", span.end) + 1, after, span),)
        else:
            opening, closing = ("(", ")" + after) if weak else ("", after)
            if binds and not own:
                opening, closing = "(" + opening, closing + ")"
            edits = Edit.around(span, opening, closing)
        return self.decided(self._of_factor(factor) if operator == "*" else Decision.DIVIDED, edits)

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


__all__ = [
    "CORE",
    "HVD",
    "KERAS",
    "LINE",
    "LOCAL_RANK",
    "ON_ROOT",
    "RANK",
    "SIZE",
    "Draft",
    "needs_parentheses",
]
