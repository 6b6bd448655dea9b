"""D4 downloads: one process of each host fills a cache, the others then read it.

What it does   Before a statement that loads a data set or a file through a cache (`keras.datasets`, `get_file`, `tfds.load`,
               …) the process with local rank 0 makes the same call, and the others wait. What downloads to a path without
               looking whether it is there (`urlretrieve`, a command as `os.system("wget …")`) is left to local rank 0.
               With the `if not os.path.exists(…)` around it, and where what it gives is its path again, or isn't read. So are
               archives that are unpacked (`ZipFile(…).extractall()`), and commands whose output is led into a file
               (`os.system("perl score.pl > score.txt")`). What a statement before has loaded through the cache is there by now:
               nobody waits for it again.
Why            Processes of one host share the cache: several at once download into the same file and read it half written.
Before         (x, y), _ = tf.keras.datasets.mnist.load_data()
After          # One process per host downloads; the others then read its copy.
               if hvd.size() > 1 and hvd.local_rank() == 0:
                   tf.keras.datasets.mnist.load_data()
               hvd.broadcast(0, root_rank=0, name="downloaded")
               (x, y), _ = tf.keras.datasets.mnist.load_data()
Leaves alone   With a note: pretrained models of `keras.applications` (making one twice changes the names of its layers);
               downloads under a condition that ranks may see differently, as by a file that is made there, or where no
               statement can be put before.
Source         Beyond the seed; horovod#1834, horovod#2709.
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.facts.differences.sources import FUNCTIONS, METHODS, Source
from horovodize.python import shell_commands
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, argument, arguments, says_none
from horovodize.rules.drafting.decisions import Left
from horovodize.rules.drafting.draft import LOCAL_RANK, SIZE, Draft
from horovodize.rules.drafting.guards import Guards, barrier, outputs_of
from horovodize.rules.drafting.rule import Rule
from horovodize.source import Edit
from horovodize.summary.effects import in_place

_WHY = "Processes of one host share the cache; several at once would download into the same files."
_WHY_RUN = "Processes of one host would write the same files at once, and read each other's halves."
_ON_ONE = f"{LOCAL_RANK} == 0"
_FIRST = f"{SIZE} > 1 and {_ON_ONE}"  # one process alone reads its data once, as it did
_COMMENT = "one process per host downloads; the others then read its copy"
_WAIT = "Wait until it is done."
# Download again at every call, to the path they are given.
_AGAIN = ("urlretrieve", "wget.download", "gdown.download")
_LAYERS = ("tensorflow_hub.KerasLayer", "tensorflow_hub.Module")
_PURE = (
    "os.path.",
    "pathlib.",
    "os.getcwd",
    "os.environ",
    "os.fspath",
    "str",
    "int",
    "float",
    "bool",
    "len",
    "tuple",
    "list",
    "dict",
)
_PURE_METHODS = {
    "format",
    "join",
    "joinpath",
    "expanduser",
    "resolve",
    "absolute",
    "strip",
    "lower",
    "replace",
    "split",
    "get",
}


def apply(draft: Draft) -> None:
    _Downloads(draft).run()


class _Downloads:
    def __init__(self, draft: Draft) -> None:
        self.draft, self.guards = draft, Guards(draft)
        self.outputs = outputs_of(draft)

    def run(self) -> None:
        by_statement: dict[ast.stmt, list[ast.Call]] = {}
        for call in self.outputs.effects.downloads:
            name = self.draft.names.of(call.func)
            if name is not None and self._wanted(call, name):
                by_statement.setdefault(self.draft.syntax.statement(call), []).append(call)
        done = {
            s for s, calls in by_statement.items() if all(self._is_cached(c, by_statement) for c in calls)
        }
        for statement, calls in by_statement.items():
            if statement in done:
                continue
            if self._alone(statement, calls):
                self._leave_to_one(statement)
                continue
            together = self._followers(statement, by_statement)
            done.update(together)
            self._before(statement, [c for s in together for c in by_statement[s]])
        for call in self.outputs.effects.unpacks:
            self._unpack(call)

    def _wanted(self, call: ast.Call, name: str) -> bool:
        """Whether something can be done about a download; otherwise a note says why not."""
        draft, why = self.draft, ""
        if catalogue.pretrained(name):
            known = catalogue.function(name)
            weights = argument(call, "weights", known.position("weights") if known is not None else 1)
            if says_none(weights):
                return False
            why = "it makes a model, which must not be made twice"
        elif name in _LAYERS:
            why = "it makes a layer, which must not be made twice"
        elif not in_place(draft.module, call) or self._in_expression(call):
            why = "no statement can be put before it"
        elif self._is_made_again(call):
            path = catalogue.download_path_parameter(name)
            if path is not None and argument(call, path, 1) is None:
                return False  # to a temporary file of its own
            if not self._alone(draft.syntax.statement(call), [call]):
                why = "it downloads at every call, and its value is used"
        elif not all(self._pure(a) for a in arguments(call)):
            why = "its arguments can't be evaluated twice"
        if not why:
            why = self._why_not(draft.syntax.statement(call), call)
        if why:
            draft.note(
                "D4",
                call,
                f"every process may download this at the same time ({why}); fill the cache before the job starts",
            )
        return not why

    def _why_not(self, statement: ast.stmt, call: ast.Call) -> str:
        """Why no statement can be put before one, or after it; "" if it can."""
        if isinstance(statement, (*CALLABLES, ast.ClassDef, ast.While)):
            return "no statement can be put before it"
        if self._alone(statement, [call]):
            statement = self._whole(statement)
        if not self.guards.can_indent(statement, statement):
            return "no statement can be put before it"
        if self.outputs.is_early(statement):
            return "it runs before Horovod is initialised"
        if self.draft.drive.in_traced(statement) or not self.draft.uniform.reached_alike(statement):
            return "some processes may never come here"
        if self._comes_by_files(statement):
            return "a process that comes later may find the files and not come here"
        if self._may_be_caught(statement):
            return "where it fails, only the process that downloads would go on elsewhere"
        return ""

    def _comes_by_files(self, statement: ast.stmt) -> bool:
        """Whether a statement runs where some file isn't there, which it may make itself: one process makes it, and another
        that comes later wouldn't wait with it."""
        draft = self.draft
        tests = [
            t.test
            for way in draft.drive.ways(statement)
            for f in way
            for t, _ in draft.syntax.conditions(f.node)
        ]
        asked = (n for n in draft.values.depends(tests) if isinstance(n, ast.Call)) if tests else ()
        return any(self._looks_for_file(c) for c in asked)

    def _looks_for_file(self, call: ast.Call) -> bool:
        name, last = self.draft.names.of(call.func), self.draft.names.last(call.func)
        return (FUNCTIONS.get(name) if name is not None else METHODS.get(last)) is Source.FILES

    def _may_be_caught(self, statement: ast.stmt) -> bool:
        """Whether a `try` catches what a download raises: the others would wait for the one that failed."""
        child: ast.AST = statement
        for a in self.draft.syntax.ancestors(statement):
            if isinstance(a, ast.Try) and a.handlers and self.draft.syntax.field[child] == "body":
                return True
            if isinstance(a, CALLABLES):
                return False
            child = a
        return False

    def _unpack(self, call: ast.Call) -> None:
        """`with ZipFile(path) as archive: archive.extractall()`: as a whole, where only it needs the archive."""
        statement = self.draft.syntax.statement(call)
        opened = self.draft.syntax.parent[statement]
        if isinstance(opened, ast.With) and not any(self._is_needed(s, opened) for s in opened.body):
            statement = opened
        elif not isinstance(statement, ast.Expr) or statement.value is not call:
            return self._say(call, "its value is used")
        why = self._why_not(statement, call)
        if why:
            return self._say(call, why)
        self._leave_to_one(statement)

    def _is_needed(self, s: ast.stmt, around: ast.With) -> bool:
        """Whether a statement of a block does more than other ranks can do without."""
        if isinstance(s, ast.Assign):
            return not all(self.outputs.private(t, around) for t in s.targets)
        return not isinstance(s, ast.Expr) or self.outputs.effects.shares(s)

    def _say(self, call: ast.Call, why: str) -> None:
        said = f"every process may unpack this at the same time ({why}); unpack it before the job starts"
        self.draft.note("D4", call, said)

    def _whole(self, statement: ast.stmt) -> ast.stmt:
        """`if not os.path.exists(path):` around a download, with what else is done to have the file: one process does it."""
        parent = self.draft.syntax.parent[statement]
        if not isinstance(parent, ast.If) or parent.orelse or self.guards.is_elif(parent):
            return statement
        steps: set[ast.AST] = {f.call for f in self.draft.sites.fits} | {
            u.call for u in self.draft.sites.updates
        }
        for s in parent.body:
            if isinstance(s, ast.Assign) and not all(
                self.outputs.private(t, parent) or self._is_path_again(t, s.value) for t in _targets(s)
            ):
                return statement
            if isinstance(s, ast.FunctionDef) and self._is_called_in(s, parent):
                continue
            if not isinstance(s, (ast.Expr, ast.Assign, ast.With, ast.Import, ast.ImportFrom)):
                return statement
        return statement if self.draft.drive.reaches(parent, steps) else parent

    def _is_called_in(self, function: ast.FunctionDef, around: ast.If) -> bool:
        """Whether nothing but what stands with a function in a block asks for it: one that tells how far a download is."""
        inside = self.draft.syntax.inside
        return all(inside(n, around) for n in self.draft.module.loads.get(function.name))

    def _in_expression(self, call: ast.Call) -> bool:
        """Whether a call runs often, later or not at all when its statement runs."""
        child: ast.AST = call
        for a in self.draft.syntax.ancestors(call):
            if isinstance(a, ast.stmt):
                return False
            if isinstance(a, (ast.Lambda, *COMPREHENSIONS, ast.BoolOp)) or (
                isinstance(a, ast.IfExp) and a.test is not child
            ):
                return True
            child = a
        return False

    def _pure(self, e: ast.expr) -> bool:
        for n in ast.walk(e):
            if isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
                return False
            if isinstance(n, ast.Call):
                name = self.draft.names.of(n.func) or (n.func.id if isinstance(n.func, ast.Name) else "")
                method = isinstance(n.func, ast.Attribute) and n.func.attr in _PURE_METHODS
                if not name.startswith(_PURE) and not method:
                    return False
        return True

    def _is_cached(self, call: ast.Call, by_statement: dict[ast.stmt, list[ast.Call]]) -> bool:
        """Whether a statement that surely runs before loads the same through the cache: the files are there by now."""
        draft = self.draft
        if self._is_made_again(call) or not all(isinstance(a, ast.Constant) for a in arguments(call)):
            return False
        own = draft.syntax.statement(call)
        around = [own, *(a for a in draft.syntax.ancestors(own) if isinstance(a, ast.stmt))]
        blocks = [draft.syntax.block(a) for a in around]
        return any(
            statement.lineno < own.lineno
            and draft.syntax.block(statement) in blocks
            and draft.syntax.function(statement) is draft.syntax.function(call)
            and draft.names.of(before.func) == draft.names.of(call.func)
            and _given(before) == _given(call)
            for statement, calls in by_statement.items()
            for before in calls
        )

    def _alone(self, statement: ast.stmt, calls: list[ast.Call]) -> bool:
        """Whether a statement is nothing but a download that is made again at every call."""
        again = self._is_made_again(calls[0])
        if again and isinstance(statement, ast.Assign) and statement.value is calls[0]:
            return self._says_nothing(statement, calls[0])
        return again and isinstance(statement, ast.Expr) and statement.value is calls[0]

    def _says_nothing(self, statement: ast.Assign, call: ast.Call) -> bool:
        """Whether ranks can do without what a download gives: nothing reads it outside what one process does, or it is the path
        that the call was given, and bears its name."""
        whole = self._whole(statement)
        return _path_given(call, self.draft.names.last(call.func)) is not None and all(
            self.outputs.private(target, whole) or self._is_path_again(target, call)
            for target in _targets(statement)
        )

    def _is_path_again(self, target: ast.expr, call: ast.expr) -> bool:
        """Whether a name is set to what it was: `path, _ = urlretrieve(url, path)`."""
        if not isinstance(call, ast.Call) or not self._is_made_again(call):
            return False
        given = _path_given(call, self.draft.names.last(call.func))
        assigned = self.draft.syntax.statement(call)
        first = _targets(assigned)[0] if isinstance(assigned, ast.Assign) else None
        return (
            isinstance(given, ast.Name)
            and isinstance(target, ast.Name)
            and target is first
            and target.id == given.id
        )

    def _is_made_again(self, call: ast.Call) -> bool:
        name = self.draft.names.of(call.func) or ""
        return name.endswith(_AGAIN) or not catalogue.downloads(name)

    # ------------------------------------------------------------------ edits

    def _leave_to_one(self, statement: ast.stmt) -> None:
        whole = self._whole(statement)
        if not self.draft.decide(whole, Left("D4")):
            return
        if isinstance(whole, ast.If):
            edits = self.guards.extend_test(whole, _ON_ONE)
        else:
            edits = self.guards.put(whole, whole, _ON_ONE)
        waiting = barrier(self.draft, "downloaded", whole)
        comment = (
            _WAIT if self.draft.in_sessions and len(waiting) == 1 else ""
        )  # the others say it by their name
        edits.append(self.draft.after(whole, self.draft.lines_of(*waiting, comment=comment)))
        calls = (n for n in ast.walk(whole) if isinstance(n, ast.Call))
        runs = any(shell_commands.deed(self.draft.module, c) is not None for c in calls)
        what, why = ("Run it once per host", _WHY_RUN) if runs else ("Download once per host", _WHY)
        self.draft.change("D4", whole, what, why, edits)

    def _followers(self, statement: ast.stmt, by_statement: dict[ast.stmt, list[ast.Call]]) -> list[ast.stmt]:
        """The downloading statements right after one that can be served by the same wait: they need nothing that it binds."""
        block = self.draft.syntax.block(statement)
        found, bound = [statement], _stored(statement)
        for following in block[block.index(statement) + 1 :]:
            calls = by_statement.get(following)
            if (
                calls is None
                or isinstance(following, (ast.For, ast.With, ast.If))
                or self._alone(following, calls)
            ):
                break
            if any(isinstance(n, ast.Name) and n.id in bound for c in calls for n in ast.walk(c)):
                break
            found.append(following)
            bound |= _stored(following)
        return found

    def _before(self, statement: ast.stmt, calls: list[ast.Call]) -> None:
        draft, guards = self.draft, self.guards
        indent = draft.document.indentation(statement)
        start = draft.document.lines.starts[statement.lineno - 1] + len(indent)
        unit = guards.step(statement)
        outermost = [c for c in calls if not any(c is not o and draft.syntax.inside(c, o) for o in calls)]
        texts = list(dict.fromkeys(guards.moved_in(c, unit) for c in outermost))
        lines = [
            f"if {_FIRST}:" + (f"  # {_COMMENT}" if draft.options.comments else ""),
            *(unit + text for text in texts),
            *(
                unit + line.lstrip() if line.startswith(" ") else line
                for line in barrier(draft, "downloaded", statement)
            ),
        ]
        text = "".join(line + draft.newline + indent for line in lines)
        edit = Edit.insert(start, text, draft.module.span(statement))
        draft.change("D4", statement, "Download once per host", _WHY, [edit])


def _path_given(call: ast.Call, function: str) -> ast.expr | None:
    """Where a file is put by what downloads at every call and gives that back, if it is told."""
    if function == "urlretrieve":
        return argument(call, "filename", 1)
    if function == "download":  # of `wget`, `gdown`
        return argument(call, "out") or argument(call, "output", 1)
    return None


def _given(call: ast.Call) -> list[str]:
    """What a call is given, as text."""
    return [ast.unparse(part) for part in (*call.args, *call.keywords)]


def _targets(statement: ast.Assign) -> list[ast.expr]:
    """What a statement sets, each name of a tuple by itself."""
    return [e for t in statement.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]


def _stored(statement: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


RULE = Rule("D4", "download once per host", apply, __doc__ or "")
