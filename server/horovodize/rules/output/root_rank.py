"""C6 root rank: what the program prints, shows and writes comes from rank 0.

What it does   Statements that print, show a window or write files come under `if hvd.rank() == 0:`; neighbours share one.
               An `if` that holds nothing else gets `and hvd.rank() == 0`, among others where it is long. A training step or
               an evaluation among the arguments is taken out first, so that every rank still runs it. Files opened for writing
               elsewhere go to the null device on the other ranks, summary writers become no-op writers there, and so do
               callbacks that write and whose methods the program calls itself. Before a file that rank 0 wrote is read back,
               the ranks wait for each other. A file that keeps what all compute, for the next run, is asked for by all ranks
               together (`if not any_rank(not os.path.exists(path)):`), before rank 0 writes it.
               Where more than three statements print or draw, or fewer of many lines, the other ranks are silenced at the
               start instead (`sys.stdout = open(os.devnull, "w", …)`, and Matplotlib without windows), and only what writes
               files is guarded; setting `output`: "auto", "guard", "silence".
               Rank 0 alone waits for what somebody types or clicks (`input`, `plt.waitforbuttonpress`), and tells the others.
               Folders are made by all ranks, with `exist_ok=True`: other hosts need them, too. Rank 0 alone makes those whose
               name may differ between ranks, and all of a program that also deletes folders. Where rank 0 keeps a checkpoint as
               the best by the rows of its own steps, that is said.
Why            Every rank runs the whole program. Several processes that write one file damage it, and each line of output
               would appear size() times.
Before         print("loss", train_step(batch))
               if epoch % 5 == 0:
                   model.save(path)
After          loss = train_step(batch)
               if hvd.rank() == 0:
                   print("loss", loss)
               if epoch % 5 == 0 and hvd.rank() == 0:
                   model.save(path)
Leaves alone   `logging`; what is printed just before a `raise` or an exit, unless ranks are silenced; what runs before
               Horovod is initialised; callbacks (K3). A print that shares its line, or whose arguments can't be taken out in
               order: harmless, only repeated.
Refuses        A value that several ranks would write with and that can't be redirected (HVD006).
Source         Seed 2.3.1, expression statements. Errata: in the seed's first version `path = checkpoint.save(…)` leaves
               `path` undefined on other ranks; a guard hides collectives in its arguments (`print(train_step(x))`), which
               stalls the rest; `load_weights` on rank 0 only lets the ranks drift apart: here all ranks load.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

from horovodize.facts.differences.sources import FUNCTIONS, Source
from horovodize.plan import Decision
from horovodize.rules.drafting.decisions import Agreed, Left
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import LIFTED, Guarded, Guards, outputs_of
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.output import already_there, file_caches, folders, kept_best, read_back, typed_in
from horovodize.rules.output.output_values import redirect
from horovodize.source import Edit, Move, Span
from horovodize.summary.effects import in_place
from horovodize.summary.sites import MODEL

_WHY = "Every rank runs this; only one should print it or write the file."
_NAMES = {"fit": "history", "fit_generator": "history", "train_on_batch": "loss", "evaluate": "evaluation", "next": "item",
          "train_step": "loss", "predict": "prediction", "load_data": "data", "input": "answer"}  # fmt: skip

_MANY = 3  # lines that a guard around an `if` would move, where its own test can take the rank
_REMOVING = ("rmtree", "remove", "unlink", "rmdir", "removedirs")


def apply(draft: Draft) -> None:
    rule = _RootRank(draft)
    for tree in draft.syntax.trees:
        rule.block(tree.body)
    already_there.apply(draft)
    folders.apply(draft, rule.outputs.effects.output_calls.of_all, rule.guarded.statements)
    typed_in.apply(draft, rule.outputs, rule.guarded)
    redirect(draft, rule.outputs, rule.guards, rule.guarded)
    asked = file_caches.apply(draft, rule.outputs, rule.guarded)
    read_back.apply(draft, rule.outputs, rule.guards, rule.guarded, asked)
    read_back.keep_until_read(draft, rule.outputs, rule.guarded)
    kept_best.tell(draft, rule.guarded)


class _RootRank:
    """Walks the blocks of a module and guards the runs of output statements in them."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.guards = Guards(draft)
        self.outputs = outputs_of(draft)
        self.guarded = Guarded(draft)
        self._used = draft.module.scopes.all_names()
        self._mine: set[str] = set()  # names that lifted expressions got

    # ------------------------------------------------------------------ blocks

    def block(self, body: list[ast.stmt]) -> None:
        """Guards what is output in a block and in the blocks inside it."""
        run: list[ast.stmt] = []
        lifted: list[Edit | Move] = []
        for group in self.guards.groups(body):
            if not run and not any(map(self.outputs.is_around_output, group)):
                continue
            if any(self.draft.was(s, Left) for s in group):  # as D4 says, or M1
                self._flush(run, lifted)
                run, lifted = [], []
                continue
            if all(self._may_join(s, run) for s in group) and any(
                self.outputs.is_output(s) for s in (*run, *group)
            ):
                run += group
                continue
            self._flush(run, lifted)
            run, lifted = [], []
            if len(group) == 1 and self._can_lift(group[0]):
                lifted = self._lift(group[0])
                run = [*group] if lifted else []
                if self._is_followed(group[0]):
                    self._flush(run, lifted)
                    run, lifted = [], []
                continue
            for statement in group:
                shares_line = len(group) > 1 or not self.guards.can_indent(statement, statement)
                self._inside(statement, shares_line)
        self._flush(run, lifted)

    def _is_followed(self, statement: ast.stmt) -> bool:
        """Whether other rules put statements after this one: what comes next can't stand in the same guard."""
        index = self.draft.document.lines
        line = (statement.end_lineno or statement.lineno) - 1
        end = index.starts[line] + len(index.content(line))
        return any(
            isinstance(e, Edit) and e.span == Span(end, end) and e.new_text.startswith(self.draft.newline)
            for change in self.draft.changes
            for e in change.edits
        )

    def _may_join(self, statement: ast.stmt, run: list[ast.stmt]) -> bool:
        if self.outputs.is_output(statement):
            return not self._must_stay(statement)
        return bool(run) and (self.outputs.may_join(statement) or self._waits(statement, run))

    def _must_stay(self, statement: ast.stmt) -> bool:
        """Whether all ranks must come to a statement: also for what they decide together in it."""
        together = (n for n in ast.walk(statement) if self.draft.was(n, Agreed))
        return self.outputs.must_stay(statement) or any(isinstance(n, ast.expr) for n in together)

    def _waits(self, statement: ast.stmt, run: list[ast.stmt]) -> bool:
        """`while os.path.exists(folder): pass` after what removes it: on ranks that remove nothing it may never end."""
        if not isinstance(statement, ast.While) or statement.orelse:
            return False
        names = self.draft.names
        idle = all(
            isinstance(s, ast.Pass)
            or (
                isinstance(s, ast.Expr)
                and isinstance(s.value, ast.Call)
                and names.of(s.value.func) == "time.sleep"
            )
            for s in statement.body
        )
        asked = [n for n in ast.walk(statement.test) if isinstance(n, ast.Call) and n.args]
        paths = {
            ast.unparse(c.args[0]) for c in asked if FUNCTIONS.get(names.of(c.func) or "") is Source.FILES
        }
        removed = (
            ast.unparse(n.args[0])
            for s in run
            for n in ast.walk(s)
            if isinstance(n, ast.Call) and n.args and names.last(n.func) in _REMOVING
        )
        return idle and any(path in paths for path in removed)

    def _flush(self, run: list[ast.stmt], lifted: list[Edit | Move]) -> None:
        """Guards a run of output statements; drawing at its end stays outside. `lifted` goes before its first."""
        while len(run) > bool(lifted) and not (self.outputs.is_output(run[-1]) or self._waits(run[-1], run)):
            run.pop()
        if not run:
            return
        at = next((i for i, s in enumerate(run) if self._takes_the_test(s)), None)
        if at is not None and len(run) > 1 and not lifted and not any(isinstance(s, ast.While) for s in run):
            self._flush(run[:at], [])
            self._flush(run[at : at + 1], [])
            self._flush(run[at + 1 :], [])
            return
        first, last = run[0], run[-1]
        if lifted:
            self._guard(run, [*lifted, *self.guards.put(first, last)])
        elif len(run) == 1 and isinstance(first, ast.If) and not first.orelse:
            writes = any(isinstance(n, ast.Call) and self.outputs.writes(n) for n in ast.walk(first.test))
            self._guard(run, self.guards.precede_test(first) if writes else self.guards.extend_test(first))
        elif self.guards.can_indent(first, last):
            self._guard(run, self.guards.put(first, last))
        elif len(run) == 1 and self.guards.is_elif(first):
            self._inside(first, False)
        else:
            for statement in run:
                self._in_line(statement)

    def _takes_the_test(self, statement: ast.stmt) -> bool:
        """Whether a statement among others is an `if` of many lines: with the rank in its own test, they all stay."""
        is_plain = (
            isinstance(statement, ast.If) and not statement.orelse and not self.guards.is_elif(statement)
        )
        return is_plain and (statement.end_lineno or statement.lineno) - statement.lineno >= _MANY

    def _guard(self, run: list[ast.stmt], edits: Sequence[Edit | Move]) -> None:
        self.guarded.statements.update(run)
        decision = Decision.PRINTED if all(self._is_mere_print(s) for s in run) else None
        self.draft.change("C6", run[0], "Leave output to rank 0", _WHY, edits, decision=decision)

    def _is_mere_print(self, statement: ast.stmt) -> bool:
        """Whether a statement prints what it has, and calls nothing of the program for it."""
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
        return (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and self.draft.names.last(statement.value.func) == "print"
            and all(self.draft.values.callee(c) is None for c in calls)
        )

    def _in_line(self, statement: ast.stmt) -> None:
        """A statement that shares its line with others: a print stays, a write becomes a conditional expression."""
        self.draft.shared_lines.append(statement)
        writes = list(self.outputs.writes_in(statement))
        if not writes:
            self.draft.note(
                "C6",
                statement,
                "every rank prints this, since it shares its line with other statements; put it on a line of its own",
            )
        elif isinstance(statement, ast.Expr):
            self._guard([statement], self.guards.only_on_root(statement.value))
        else:
            self._inside(statement, True)

    def _inside(self, statement: ast.stmt, shares_line: bool) -> None:
        """Looks into a statement that is not output as a whole."""
        if shares_line and self.outputs.hides(statement):
            self.draft.shared_lines.append(statement)
            if self.outputs.writes_in(statement):
                self.draft.refuse(
                    "HVD006",
                    statement,
                    "every rank would write this: it shares its line with other statements, and gives the file what all ranks "
                    "must run; put it on a line of its own",
                )
            else:
                self.draft.note(
                    "C6",
                    statement,
                    "every rank prints this, since it shares its line with other statements; put it on a line of its own",
                )
            return
        if self.outputs.is_output(statement) and not isinstance(statement, ast.If):
            if not self._must_stay(statement):
                self._in_line(statement)
            return
        for block in _blocks(statement):
            self.block(block)

    # ------------------------------------------------------------------ lifting

    def _can_lift(self, statement: ast.stmt) -> bool:
        return self.outputs.hides(statement) and self.guards.can_indent(statement, statement)

    def _lift(self, statement: ast.stmt) -> list[Edit | Move]:
        """Takes out of an output statement's arguments what every rank must run; nothing where that can't be done: then
        a print stays as it is."""
        draft = self.draft
        assert isinstance(statement, ast.Expr)
        parts = self.outputs.to_lift(statement)
        if parts is None or not all(in_place(draft.module, p) for p in parts):
            if self.outputs.writes_in(statement):
                draft.refuse(
                    "HVD006", statement,
                    "this writes a file and trains in one statement; give what it trains a name first",
                )  # fmt: skip
            else:
                draft.note(
                    "C6",
                    statement,
                    "every rank prints this: what all must run can't be taken out of it in order",
                )
            return []
        self.guarded.lifted.update(parts)
        indent = draft.document.indentation(statement)
        whole = draft.module.span(statement)
        moves, taken = list[Edit | Move](), set[str]()
        for i, part in enumerate(parts):
            name = self._name(part, taken)
            taken.add(name)
            brackets = "\n" in draft.module.text(part) and not isinstance(part, ast.Call)
            opening, closing = ("(", ")") if brackets else ("", "")
            after = closing + draft.newline + indent
            moves.append(
                Move(
                    draft.module.span(part),
                    whole.start,
                    f"{name} = {opening}",
                    after,
                    name,
                    whole,
                    LIFTED + i,
                )
            )
        return moves

    def _name(self, part: ast.expr, taken: set[str]) -> str:
        """What the value of a lifted expression is called. Other statements may use the name again: it is read at once."""
        wanted = "result"
        if isinstance(part, ast.JoinedStr):
            wanted = "message"
        elif isinstance(part, ast.Call):
            called = self.draft.names.last(part.func)
            is_model = MODEL in self.draft.values.made_by(part) or called in ("Model", "Sequential")
            wanted = "model" if is_model else _NAMES.get(called, wanted)
        numbered = (f"{wanted}_{n}" if n > 1 else wanted for n in itertools.count(1))
        return next(n for n in numbered if n not in taken and self._is_free(n))

    def _is_free(self, name: str) -> bool:
        if name not in self._mine and (name in self._used or self.draft.fresh(name) != name):
            return False
        self._mine.add(name)
        return True


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks directly inside a statement."""
    found: list[list[ast.stmt]] = []
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            found.append(block)
    found += [h.body for h in getattr(statement, "handlers", [])]
    found += [c.body for c in getattr(statement, "cases", [])]
    return found


RULE = Rule("C6", "leave output to rank 0", apply, __doc__ or "")
