"""Reading back what rank 0 wrote: the ranks wait for each other first. Part of C6.

The others come to the reading before rank 0 has finished writing; they would find no file, half of one, or the one of last
time. Where a checkpoint manager remembers what it saved, rank 0 tells the others. And rank 0 writes a file again only when all
have read it.
"""

from __future__ import annotations

import ast

from horovodize.python.once import once
from horovodize.python.syntax import argument, position
from horovodize.rules.callbacks.keras_callbacks import on_root as on_rank_0
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded, Guards, barrier, from_root, outputs_of
from horovodize.rules.numbers import counted
from horovodize.rules.output import best_of_lists, next_free_names, temporary
from horovodize.source import Edit
from horovodize.summary.effects import in_place
from horovodize.summary.files import Access, Files, ReadBack
from horovodize.summary.outputs import Outputs

# What gives every process something else.
_OWN = (
    "time.time", "time.strftime", "time.ctime", "time.asctime", "time.localtime", "time.time_ns", "datetime.datetime.now",
    "datetime.datetime.utcnow", "datetime.datetime.today", "uuid.uuid1", "uuid.uuid4", "tempfile.mkdtemp", "tempfile.mktemp",
    "tempfile.mkstemp", "os.getpid",
)  # fmt: skip
# What a test may be made of that is asked once more.
_PURE = (
    ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.Constant, ast.expr_context, ast.boolop,
    ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_WHY = "Only rank 0 writes it; the others could come before it is complete."
_STILL_WRITING = "rank 0 may still be writing what is read here: the ranks do not wait for it"
_OTHER_NAME = "What goes into the name may be something else in every process; only rank 0 writes the file."
_OWN_PATH = (
    "Each rank finds another one the best by its own rows; only rank 0 writes the files, and removes some."
)
_OTHER_FILE = "each rank may get something else here, and look for a file that rank 0 did not write"
_WHY_READ = "Rank 0 writes the file again later, and another rank could read half of it."
_READ = "Wait until all ranks have read it."
_COMMENT = "Wait until rank 0 has written it."


def apply(draft: Draft, outputs: Outputs, guards: Guards, guarded: Guarded, asked: set[ast.AST]) -> None:
    """Puts a wait before every reading that may come too early, but for what all ranks have asked for."""
    alike = best_of_lists.agree(draft)
    waits: dict[int, list[ast.stmt]] = {}  # by their block
    told: dict[ast.AST, bool] = {}
    files = Files(draft.module, outputs.effects, outputs, draft.drive)
    _wait_in_hooks(draft, files, guards, guarded)
    for back in files.read_back():
        if back.read.node in asked or _never_both(draft, back):
            continue
        read, place = back.read.node, _nearest(draft, guards, guarded, back)
        _tell_path(draft, outputs, guarded, _path_of(draft, back.read))
        _tell_own_path(draft, outputs, guarded, back.read, alike)
        temporary.tell_path(draft, guarded, back.read)
        next_free_names.tell(draft, guarded, _path_of(draft, back.read))
        before = waits.setdefault(id(draft.syntax.block(place)), [])
        waited, shown = _waited(before, back), _taken_out(draft, guarded, place)
        if (waited and not isinstance(read, ast.Attribute)) or read in guarded:
            continue
        if back.read.family == "folder" and _is_for_rank_0(draft, guarded, read):
            continue
        if place in guarded and shown is None:
            continue
        if isinstance(read, ast.Attribute) and read not in told:
            told[read] = _remembered(draft, guarded, read)
        if waited or told.get(read) or guarded.told & {back.write.node, draft.syntax.statement(read)}:
            continue
        if (place is back.place or _is_rarer(draft, back, place)) and _wait_when_written(
            draft, guarded, back
        ):
            continue
        line = _first_of_line(draft, place)
        if not guarded.collective(shown or place) or not guards.can_indent(line, line):
            draft.note("C6", read, _STILL_WRITING)
            continue
        before.append(place)
        lines = _wait(draft, place)
        draft.change("C6", place, "Wait for rank 0's file", _WHY, [draft.before(line, lines)])


@once
def written_first(draft: Draft) -> set[ast.AST]:
    """What reads a file that the program has written by then, in this run or one before: it is rank 0's, and all ranks wait for
    it."""
    outputs = outputs_of(draft)
    return {b.read.node for b in Files(draft.module, outputs.effects, outputs, draft.drive).read_back()}


def keep_until_read(draft: Draft, outputs: Outputs, guarded: Guarded) -> None:
    """Has rank 0 write a file again only when all ranks have read it, where they don't train together between."""
    sites = draft.sites
    trained = (
        [f.call for f in sites.fits]
        + [u.call for u in sites.updates]
        + [r.call for r in sites.graph.trainings]
    )
    for over in Files(draft.module, outputs.effects, outputs, draft.drive).written_over():
        if (
            over.write.node not in guarded
            or over.read.node in guarded
            or not draft.once("read first", over.after)
        ):
            continue
        block = draft.syntax.block(over.after)
        here = block.index(over.after)
        between = block[here + 1 : block.index(over.place)] if over.place in block[here + 1 :] else None
        if between is None or any(_trains(draft, s, trained) for s in between):
            continue
        if any(first in (*between, over.place) for _, first in draft.agreed_before):
            continue  # all ranks are told something of rank 0's between, and come there when they have read
        shares_line = here + 1 < len(block) and block[here + 1].lineno == over.after.end_lineno
        if shares_line or not guarded.collective(over.after):
            continue
        lines = barrier(draft, "read", over.after)
        lines = draft.lines_of(*lines, comment=_READ) if len(lines) > 1 else [draft.said(lines[0], _READ)]
        draft.change(
            "C6", over.after, "Wait until all ranks have read it", _WHY_READ, [draft.after(over.after, lines)]
        )


def _trains(draft: Draft, statement: ast.stmt, trained: list[ast.Call]) -> bool:
    """Whether a statement leads to a training."""
    frames = (f.node for call in trained for way in draft.drive.ways(call) for f in way)
    return any(draft.syntax.inside(node, statement) for node in frames)


def _wait(draft: Draft, place: ast.stmt) -> list[str]:
    """The lines that wait at a place; one alone says why beside it."""
    waiting = barrier(draft, "saved", place)
    return (
        draft.lines_of(*waiting, comment=_COMMENT) if len(waiting) > 1 else [draft.said(waiting[0], _COMMENT)]
    )


def _is_for_rank_0(draft: Draft, guarded: Guarded, read: ast.AST) -> bool:
    """Whether only rank 0 uses what is found in a folder: `files = sorted(glob(pattern))`, of which it removes old ones."""
    statement = draft.syntax.statement(read)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name, function = statement.targets[0].id, draft.syntax.function(statement)
    if len(statement.targets) > 1 or function is None or draft.module.scopes.scope(statement) is not function:
        return False
    uses = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    return bool(uses) and all(use in guarded for use in uses)


def _taken_out(draft: Draft, guarded: Guarded, place: ast.stmt) -> ast.AST | None:
    """What all ranks run of a statement that rank 0 alone shows: the call in `print(read(path))`."""
    return next((p for p in guarded.lifted if draft.syntax.inside(p, place)), None)


def _wait_in_hooks(draft: Draft, files: Files, guards: Guards, guarded: Guarded) -> None:
    """The same in callbacks that all ranks have, of what `ModelCheckpoint` keeps: rank 0's alone writes it."""
    on_root = {draft.values.callee(n) for n in on_rank_0(draft) if isinstance(n, ast.Call)}
    hooks = {h.function: h for h in draft.facts.hooks.all if h.home not in on_root and not h.is_of_batches}
    for read in files.kept_by_fit(hooks):
        place = draft.syntax.statement(read.node)
        if place in guarded or not draft.once("waits", place):
            continue
        line = _first_of_line(draft, place)
        if not guarded.collective(place) or not guards.can_indent(line, line):
            draft.note("C6", read.node, _STILL_WRITING)
            continue
        lines = _wait(draft, place)
        draft.change("C6", place, "Wait for rank 0's file", _WHY, [draft.before(line, lines)])


def _never_both(draft: Draft, back: ReadBack) -> bool:
    """Whether one run of the program either writes or reads: `--phase train`, `--phase test`."""

    def on_the_ways(node: ast.AST, statement: ast.stmt) -> list[ast.AST]:
        ways = draft.drive.ways(node)
        return [f.node for way in ways for f in way if draft.syntax.inside(f.node, statement)]

    writes, reads = on_the_ways(back.write.node, back.after), on_the_ways(back.read.node, back.place)
    apart = draft.facts.exclusive.apart
    return bool(writes and reads) and all(apart(w, r) for w in writes for r in reads)


def _nearest(draft: Draft, guards: Guards, guarded: Guarded, back: ReadBack) -> ast.stmt:
    """The statement before which the ranks wait: the closest to the reading that all of them come to, so that a reading which
    is rare is not waited for in every step. A wait does not go into a loop that the writing is not in."""
    syntax = draft.syntax
    nodes = (f.node for way in draft.drive.ways(back.read.node) for f in way)
    node = next((n for n in nodes if syntax.inside(n, back.place)), None)
    statement = syntax.statement(node) if node is not None else back.place
    while statement is not back.place:
        around = [
            a for a in syntax.ancestors(statement) if isinstance(a, ast.stmt) and syntax.inside(a, back.place)
        ]
        line = _first_of_line(draft, statement)
        plain = all(isinstance(a, (ast.If, ast.With, ast.Try)) for a in around)
        rarer = isinstance(around[0], ast.If)
        if rarer and plain and guarded.collective(statement) and guards.can_indent(line, line):
            return statement
        statement = around[0]
    return back.place


def _is_rarer(draft: Draft, back: ReadBack, place: ast.stmt) -> bool:
    """Whether a loop writes in few of its turns what it may read in each: `if dataset == "files": x = read(path)`."""
    seldom, drivers = draft.facts.occasions.are_seldom, set(draft.facts.feeding.drivers)
    written = isinstance(back.after, ast.If) and seldom(back.after.body[0], drivers)
    return written and not seldom(place, drivers)


def _wait_when_written(draft: Draft, guarded: Guarded, back: ReadBack) -> bool:
    """Where a loop reads in every turn what it writes in few of them, the ranks wait after the writing, under its condition.
    False where that can't be done."""
    syntax, condition = draft.syntax, back.after
    if not (isinstance(condition, ast.If) and not condition.orelse and syntax.loops(condition)):
        return False
    written = (f.node for way in draft.drive.ways(back.write.node) for f in way)
    if not (any(syntax.inside(node, condition) for node in written) and draft.can_insert(condition)):
        return False
    if _wait_inside(draft, guarded, back, condition):
        return True
    if any(not isinstance(n, _PURE) for n in ast.walk(condition.test)) or draft.drive.in_traced(condition):
        return False
    counted_by = {d for _, c in draft.facts.counters.reads(condition.test) for d in c.drivers}
    if any(counted.is_divided(draft, driver) for driver in counted_by):
        return False  # it becomes another test, by the steps of all ranks
    changed = {
        n.id
        for s in condition.body
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    used = {n.id for n in ast.walk(condition.test) if isinstance(n, ast.Name)}
    if changed & used or not draft.uniform.reached_alike(condition.body[0]):
        return False
    if not draft.once("waits", condition):
        return True
    block = syntax.block(condition)
    after = block[block.index(condition) + 1 :]
    following = next((s for s in after if s not in guarded.statements), None)
    waiting = (f"    {line}" for line in _wait(draft, condition))
    lines = [f"if {draft.module.text(condition.test)}:", *waiting]
    edit = draft.before(following, lines) if following is not None else draft.after(block[-1], lines, level=2)
    draft.change("C6", back.write.node, "Wait for rank 0's file", _WHY, [edit])
    return True


def _wait_inside(draft: Draft, guarded: Guarded, back: ReadBack, condition: ast.If) -> bool:
    """The wait at the end of what a condition holds, if all ranks run it to its end; the condition isn't tested again then."""
    last = condition.body[-1]
    leaves = (ast.Return, ast.Break, ast.Continue)
    if condition in guarded.statements or any(
        isinstance(n, leaves) for s in condition.body for n in ast.walk(s)
    ):
        return False
    alike = guarded.collective(condition) and draft.uniform.reached_alike(last)
    if not alike or not draft.can_insert(last):
        return False
    if draft.once("waits", condition):
        lines = _wait(draft, last)
        draft.change(
            "C6", back.write.node, "Wait for rank 0's file", _WHY, [draft.after(last, lines, level=2)]
        )
    return True


def _path_of(draft: Draft, read: Access) -> ast.expr | None:
    """The path that is read; `saver.restore(sess, path)` gets a session before it."""
    call = read.node
    if isinstance(call, ast.Call) and draft.in_graph and draft.names.last(call.func) == "restore":
        return argument(call, "save_path", 1) or read.path
    return read.path


def _tell_path(draft: Draft, outputs: Outputs, guarded: Guarded, path: ast.expr | None) -> None:
    """A path with the time in it: the others would look for a file of another name."""
    for call in draft.values.depends([path] if path is not None else [], 300):
        if not isinstance(call, ast.Call) or draft.names.of(call.func) not in _OWN:
            continue
        if not draft.once("told path", call):
            continue
        told: ast.AST = call
        if (
            draft.names.of(call.func) == "tempfile.mkstemp"
        ):  # gives an open file as well, which is a process's own
            told = draft.syntax.parent[call]
        can_tell = told is call or isinstance(told, ast.Subscript)
        if can_tell and guarded.collective(call) and not outputs.is_early(call) and call not in guarded:
            edits = Edit.around(draft.module.span(told), f"{from_root(draft)}(", ")")
            draft.change("C6", call, "Look for rank 0's file on every rank", _OTHER_NAME, edits)
        else:
            draft.note("C6", call, _OTHER_FILE)


def _tell_own_path(
    draft: Draft, outputs: Outputs, guarded: Guarded, read: Access, alike: set[ast.AST]
) -> None:
    """A path that each rank finds by what its own rows gave: the best of a list, of which rank 0's is read."""
    path = _path_of(draft, read)
    if path is None or best_of_lists.of_own_rows(draft, path) <= alike or not draft.once("told path", path):
        return
    if guarded.collective(read.node) and not outputs.is_early(read.node) and read.node not in guarded:
        edits = Edit.around(draft.module.span(path), f"{from_root(draft)}(", ")")
        draft.change("C6", path, "Look for rank 0's file on every rank", _OWN_PATH, edits)
    else:
        draft.note("C6", path, _OTHER_FILE)


def _first_of_line(draft: Draft, statement: ast.stmt) -> ast.stmt:
    """The statement that starts the line: what comes before the `;` may wait, too."""
    block = draft.syntax.block(statement)
    first = block.index(statement)
    while first and block[first - 1].end_lineno == block[first].lineno:
        first -= 1
    return block[first]


def _remembered(draft: Draft, guarded: Guarded, read: ast.Attribute) -> bool:
    """`manager.latest_checkpoint`: only rank 0's manager remembers what was saved. Rank 0 tells the others (True: that
    makes them wait for it, too); where not all come, they look on the disk."""
    if not in_place(draft.module, read):
        return False
    span = draft.module.span(read)
    if guarded.collective(read):
        guarded.told.add(draft.syntax.statement(read))
        edits = list(Edit.around(span, f"{from_root(draft)}(", ")"))
        draft.change("C6", read, "Every rank reads what rank 0 has saved", _WHY, edits)
        return True
    tf = draft.module.tensorflow_name()
    if tf is None:
        draft.refuse(
            "HVD006", read, "only rank 0 knows its latest checkpoint; use `tf.train.latest_checkpoint(…)`"
        )
        return False
    found = f"{tf}.train.latest_checkpoint({draft.module.text(read.value)}.directory)"
    draft.change("C6", read, "Every rank looks for what rank 0 has saved", _WHY, [Edit(span, found)])
    return False


def _waited(before: list[ast.stmt], back: ReadBack) -> bool:
    """Whether the ranks wait already: here, or in the same block between the writing and this reading."""
    first, last = position(back.after), position(back.place)
    return any(w is back.place or first < position(w) < last for w in before)
