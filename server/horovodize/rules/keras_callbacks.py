"""K3 fit: broadcast first, metrics averaged, and each callback where it belongs.

What it does   Every `fit` gets `BroadcastGlobalVariablesCallback(0)` and `MetricAverageCallback()` before the user's own
               callbacks. Those that write files (ModelCheckpoint, TensorBoard, CSVLogger, …) stay on rank 0; those that
               steer the training (EarlyStopping, ReduceLROnPlateau, LearningRateScheduler, …) and the user's own classes run
               on every rank (what those print or write is guarded inside them, C6).
Why            All ranks must start from rank 0's weights, take the same decisions, and not write over each other.
Before         model.fit(x, y, callbacks=[EarlyStopping(), ModelCheckpoint("m.h5")])
After          model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0),
                                          hvd.callbacks.MetricAverageCallback(), EarlyStopping(),
                                          *([ModelCheckpoint("m.h5")] if hvd.rank() == 0 else [])])
Leaves alone   `train_on_batch`, which takes no callbacks (K6).
Asks           A callback that can't be seen into: every rank runs it. BackupAndRestore, which resumes rank 0 alone.
Source         Seed 2.3.1, `model.fit`. Errata: the seed passes `optim` as the first positional argument of `fit`, nests the
               user's list, and puts *all* user callbacks on rank 0: EarlyStopping there stops one rank and stalls the
               rest (horovod#4027, 3140). Metrics are averaged before anyone decides by them (1095, 2740).
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.rules import statistics
from horovodize.rules.draft import KERAS, ON_ROOT, Draft
from horovodize.rules.guards import Guards
from horovodize.rules.rule import Rule
from horovodize.source import Edit
from horovodize.summary.sites import Fit
from horovodize.summary.syntax import CALLABLES, LOOPS, argument

_WHY = "All ranks start from rank 0's weights, and decide by the same, averaged metrics."
_WHY_WRITER = "It writes files: rank 0 writes them, the others would write over them."
_HOROVOD = (
    f"{KERAS}.callbacks.BroadcastGlobalVariablesCallback(0)",
    f"{KERAS}.callbacks.MetricAverageCallback()",
)
_POSITION = {"fit": 5, "fit_generator": 4}
_OF_OLD_KERAS = {
    "nb_epoch", "samples_per_epoch", "nb_val_samples", "nb_worker", "max_q_size", "pickle_safe", "show_accuracy", "generator",
    "validation_freq", "max_queue_size", "workers", "use_multiprocessing", "reset_metrics", "return_dict",
}  # fmt: skip
_LAMBDA = "tensorflow.keras.callbacks.LambdaCallback"


def apply(draft: Draft) -> None:
    for fit in draft.sites.fits:
        foreign = _foreign_keyword(fit)
        if foreign is not None:
            draft.refuse(
                "HVD006",
                fit.call,
                f"this `{fit.method}` takes `{foreign}`, so it is not Keras' own: the loop that it runs is in another file",
            )
        elif fit.method != "train_on_batch":
            _callbacks(draft, fit)
            statistics.after_fit(draft, fit)


def _foreign_keyword(fit: Fit) -> str | None:
    """A keyword that no Keras has for this method."""
    known = catalogue.method("tensorflow.keras.Model", fit.method)
    parameters = {*(known.parameters if known else ()), *_OF_OLD_KERAS}
    return next((k.arg for k in fit.call.keywords if k.arg is not None and k.arg not in parameters), None)


def _callbacks(draft: Draft, fit: Fit) -> None:
    given = argument(fit.call, "callbacks", _POSITION[fit.method])
    horovods = [*_HOROVOD, *statistics.callback(draft, fit)]
    what = "Broadcast rank 0's variables first, and average metrics over the ranks"
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        doubt = ""
        if given is None and any(k.arg is None for k in fit.call.keywords):
            doubt = "`**` may pass callbacks too: then this call fails; pass them by name"
        draft.change("K3", fit.call, what, _WHY, _new_list(draft, fit, given, horovods), doubt)
        return
    elements = _elements(draft, given)
    for element in elements:
        _place(draft, element)
    draft.change("K3", given, what, _WHY, _extended(draft, fit, given, horovods))


def _new_list(draft: Draft, fit: Fit, given: ast.expr | None, horovods: list[str]) -> list[Edit]:
    """A list where the user has none: of its own statement, as the line would get too long otherwise."""
    value, edits = _list_before(draft, fit, horovods)
    if given is None:
        edits.append(draft.add_argument(fit.call, f"callbacks={value}"))
    else:
        edits.append(Edit(draft.module.span(given), value))
    return edits


def _list_before(draft: Draft, fit: Fit, callbacks: list[str]) -> tuple[str, list[Edit]]:
    """What to pass, and the statement before that makes it; the list itself where no statement can stand."""
    statement = draft.syntax.statement(fit.call)
    if not draft.can_insert(statement) or isinstance(statement, (*LOOPS, ast.If, ast.With)):
        return f"[{', '.join(callbacks)}]", []
    name = draft.same_name("callbacks")
    return name, [draft.before(statement, [f"{name} = [", *(f"    {c}," for c in callbacks), "]"])]


def _extended(draft: Draft, fit: Fit, given: ast.expr, horovods: list[str]) -> tuple[Edit, ...]:
    """The user's callbacks after Horovod's: a literal list is extended, anything else is taken into a new list."""
    first = ", ".join(horovods)
    span = draft.module.span(given)
    if isinstance(given, (ast.List, ast.Tuple)):
        if isinstance(given, ast.Tuple) and draft.document.text[span.start] != "(":
            return Edit.around(span, f"[{first}, *(", ")]", -1)
        if not given.elts:
            return (Edit.insert(span.start + 1, first),)
        head = given.elts[0]
        at = draft.module.span(head)
        line = draft.document.lines.content(head.lineno - 1)
        lead = line[: len(line) - len(line.lstrip())]
        if head.lineno > given.lineno:  # one callback a line, as the user has them
            separator = f",{draft.newline}{lead}"
            return (Edit.insert(at.start, separator.join(horovods) + separator, at, -1),)
        return (Edit.insert(at.start, first + ", ", at, -1),)
    kind = _kind(draft, given)
    if isinstance(given, (ast.Name, ast.Attribute)) and kind != "callback":
        users = draft.module.text(given) if kind == "list" else f"({draft.module.text(given)} or [])"
        value, edits = _list_before(draft, fit, [*horovods, f"*{users}"])
        return (*edits, Edit(span, value))
    if kind == "list":
        return Edit.around(span, f"[{first}, *", "]", -1)
    if kind == "callback":
        return Edit.around(span, f"[{first}, ", "]", -1)
    return Edit.around(span, f"[{first}, *(", " or [])]", -1)


def _kind(draft: Draft, given: ast.expr) -> str:
    """Whether an expression is surely a list, surely one callback, or may be None or either."""
    kinds = set()
    for origin in draft.values.origins(given):
        if isinstance(origin.node, (ast.List, ast.Tuple, ast.ListComp)) and not origin.path:
            kinds.add("list")
        elif origin.call is not None and "tensorflow.keras.callbacks.Callback" in draft.values.made_by(
            origin.call
        ):
            kinds.add("callback")
        else:
            kinds.add("unknown")
    if kinds == {"list"} and isinstance(given, (ast.Name, ast.Attribute)):
        return "list" if not _may_be_none(draft, given) else "unknown"
    return kinds.pop() if kinds == {"callback"} else "unknown"


def _may_be_none(draft: Draft, given: ast.expr) -> bool:
    """Whether an expression is a parameter with a default: another file may leave it out, though no call here does."""
    return isinstance(given, ast.Name) and any(
        b.kind == "parameter"
        and isinstance(b.statement, CALLABLES)
        and any(
            isinstance(d, ast.Constant) for d in (*b.statement.args.defaults, *b.statement.args.kw_defaults)
        )
        for b in draft.module.scopes.reaching(given)
    )


# ---------------------------------------------------------------------- where each callback belongs


def _elements(draft: Draft, given: ast.expr) -> list[ast.expr]:
    """The callbacks of a `callbacks` argument: elements of its lists, and what is appended to them."""
    found: list[ast.expr] = []
    seen: set[ast.AST] = set()
    todo: list[ast.expr] = [given]
    while todo:
        e = todo.pop(0)
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, (ast.List, ast.Tuple)):
            todo += e.elts
        elif isinstance(e, ast.Starred):
            todo.append(e.value)
        elif isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add):
            todo += [e.left, e.right]
        elif isinstance(e, ast.Name) and e is not given and _is_element_name(draft, e):
            found.append(e)
        else:
            inner = [
                o.node
                for o in draft.values.origins(e)
                if isinstance(o.node, ast.expr) and not o.path and o.node is not e
            ]
            lists = [n for n in inner if isinstance(n, (ast.List, ast.Tuple, ast.BinOp))]
            todo += lists
            todo += _added(draft, e)
            if not lists:
                found.append(e)
    return [e for e in found if not isinstance(e, ast.Constant)]


def _is_element_name(draft: Draft, e: ast.Name) -> bool:
    return not any(isinstance(o.node, (ast.List, ast.Tuple)) and not o.path for o in draft.values.origins(e))


def _added(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """What `callbacks.append(c)`, `.extend(…)`, `.insert(i, c)` and `+=` add to a list, under all names that it had before."""
    found: list[ast.expr] = []
    todo, seen = [e], set[ast.expr]()
    while todo:
        name = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if isinstance(name, ast.Call):
            function = draft.values.callee(name)
            todo += draft.values.returned(function) if isinstance(function, CALLABLES) else []
        elif isinstance(name, (ast.Name, ast.Attribute)):
            found += _added_to(draft, name)
        if isinstance(name, ast.Name):
            for b in draft.module.scopes.reaching(name):
                if b.kind == "augment" and b.value is not None:
                    found.append(b.value)
                elif b.kind == "assign" and b.value is not None and not b.path:
                    todo.append(b.value)
                elif b.kind == "parameter":
                    todo += draft.values.passed(b)
    return list(dict.fromkeys(found))


def _added_to(draft: Draft, e: ast.Name | ast.Attribute) -> list[ast.expr]:
    """What the methods of lists add under this very name."""
    text, found = ast.unparse(e), list[ast.expr]()
    scope = draft.module.scopes.lookup(e.id, e) if isinstance(e, ast.Name) else None
    for call in draft.sites.method_calls("append", "insert", "extend"):
        assert isinstance(call.func, ast.Attribute)
        holder = call.func.value
        if ast.unparse(holder) == text and call.args:
            if not isinstance(holder, ast.Name) or draft.module.scopes.lookup(holder.id, holder) is scope:
                found.append(call.args[-1])
    return found


def _place(draft: Draft, element: ast.expr) -> None:
    if element in draft.done:
        return
    draft.done.add(element)
    roles = {_role(draft, o.node) for o in draft.values.origins(element)}
    if roles == {"writes"}:
        _only_on_root(draft, element)
    elif "writes" in roles:
        draft.note(
            "K3", element, "some of these callbacks write files: every rank will; give those on their own"
        )
    elif roles == {"unknown"}:
        draft.note("K3", element, "this callback can't be seen into; every rank runs it")
    if any(
        o.call is not None and draft.names.last(o.call.func) == "BackupAndRestore"
        for o in draft.values.origins(element)
    ):
        draft.note(
            "K3",
            element,
            "BackupAndRestore resumes rank 0 alone; start an interrupted distributed run from a checkpoint",
        )


def _role(draft: Draft, node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return "unknown"
    name = draft.names.of(node.func)
    if name is not None:
        if name == _LAMBDA:
            return _lambda_role(draft, node)
        role = catalogue.callback_role(name)
        if role != "unknown":
            return role
        return "unknown"
    callee = draft.values.callee(node)
    if isinstance(callee, ast.ClassDef):
        roles = {catalogue.callback_role(base) for base in draft.values.ancestors(callee)}
        return "writes" if "writes" in roles else "own"
    return "unknown"


def _lambda_role(draft: Draft, call: ast.Call) -> str:
    """A LambdaCallback writes if what its functions call writes (or prints), and does not steer."""
    writes = False
    for value in [*call.args, *(k.value for k in call.keywords)]:
        for origin in draft.values.origins(value):
            for n in ast.walk(origin.node):
                if isinstance(n, ast.Attribute) and n.attr in ("stop_training", "learning_rate", "lr"):
                    return "own"
                if isinstance(n, ast.Call):
                    name = draft.names.of(n.func) or ""
                    method = n.func.attr if isinstance(n.func, ast.Attribute) else ""
                    is_print = isinstance(n.func, ast.Name) and n.func.id == "print"
                    inline = isinstance(origin.node, ast.Lambda)
                    if inline and (is_print or catalogue.writes_files(name) or method in _WRITING_METHODS):
                        writes = True
    return "writes" if writes else "own"


_WRITING_METHODS = {
    "write",
    "writelines",
    "save",
    "save_weights",
    "dump",
    "savefig",
    "flush",
    "close",
    "scalar",
    "image",
}


def _only_on_root(draft: Draft, element: ast.expr) -> None:
    """Puts one writing callback on rank 0, where it enters the list."""
    what = "Keep this callback on rank 0"
    parent = draft.syntax.parent.get(element)
    statement = draft.syntax.statement(element)
    span = draft.module.span(element)
    if isinstance(parent, (ast.List, ast.Tuple)):
        edits = Edit.around(span, "*([", f"] if {ON_ROOT} else [])")
        draft.change("K3", element, what, _WHY_WRITER, edits)
    elif (
        isinstance(parent, ast.Call)
        and isinstance(statement, ast.Expr)
        and statement.value is parent
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in ("append", "insert")
        and draft.can_insert(statement)
    ):
        draft.change("K3", element, what, _WHY_WRITER, Guards(draft).put(statement, statement))
    elif isinstance(parent, (ast.keyword, ast.Call)):  # callbacks=checkpoint
        edits = Edit.around(span, "*([", f"] if {ON_ROOT} else [])")
        draft.change("K3", element, what, _WHY_WRITER, edits)
    else:
        draft.refuse("HVD006", element, "this callback writes files, and where it is added can't be changed")


RULE = Rule("K3", "callbacks of fit", apply, __doc__ or "")
