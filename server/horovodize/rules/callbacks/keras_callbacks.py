"""K3 fit: broadcast first, metrics averaged, and each callback where it belongs.

What it does   Every `fit` gets `BroadcastGlobalVariablesCallback(0)` and `MetricAverageCallback()` before the user's own
               callbacks; where a list has a name and only this `fit` gets it, they stand in the list. Those that write files
               (ModelCheckpoint, TensorBoard, CSVLogger, …) stay on rank 0; those that steer the training (EarlyStopping,
               ReduceLROnPlateau, LearningRateScheduler, …) and the user's own classes run on every rank (what those print or
               write is guarded inside them, C6). A random network that gives the targets or
               measures the loss, and is not trained, takes rank 0's weights; likewise what a callback keeps of the weights from
               before the first step, and sets into the model later, and a model that says before its first step what is trained
               on (`rows = model.predict(x)[:, 0] > 0.9`): one without weights yet is asked, and rank 0's answer sent.
               What a class of the user's own puts into the logs (`logs["val_f1"] = f1`), and another callback steers by, is
               averaged where each rank measures its own.
               Callbacks that are picked at run time (`[make(name) for name in names]`) are asked for their class,
               where the program makes some that write: `own_callbacks`, a function in the head of the file.
               Averaged metrics are NumPy's numbers: what writes them as JSON is told to make floats of them.
Why            All ranks must start from rank 0's weights, take the same decisions, and not write over each other.
Before         model.fit(x, y, callbacks=[EarlyStopping(), ModelCheckpoint("m.h5")])
After          model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0),
                                          hvd.callbacks.MetricAverageCallback(), EarlyStopping(),
                                          *([ModelCheckpoint("m.h5")] if hvd.rank() == 0 else [])])
Leaves alone   `train_on_batch`, which takes no callbacks (K6).
Asks           A callback that can't be seen into, or one derived from a class that can't be: every rank runs it, and it may set
               rates or count batches. Those of packages that track runs are known to write. BackupAndRestore,
               which resumes each rank from a folder of its own. What a class of the user's own decides by batches' losses or by
               the clock: all ranks then do what one would; weights and variables that it sets by them. One that draws new
               weights in the middle of training. State that a layer or a loss of one's own sets by the rows it sees, where
               training computes with it (a center loss). A callback that is in the list only where a file is there, or by a
               draw. Keras' own that a subclass has decide by batches.
Source         Seed 2.3.1, `model.fit`. Errata: the seed passes `optim` as the first positional argument of `fit`, nests the
               user's list, and puts *all* user callbacks on rank 0: EarlyStopping there stops one rank and stalls the
               rest (horovod#4027, 3140). Metrics are averaged before anyone decides by them (1095, 2740).
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.python.syntax import CALLABLES, FUNCTIONS, LOOPS, argument, arguments, says_none
from horovodize.python.unpacking import handed_on, unpacks
from horovodize.rules.callbacks import (
    averaged_numbers,
    callback_decisions,
    callback_metrics,
    callback_state,
    chosen_callbacks,
    counting_metrics,
    inherited_decisions,
    unseen_callbacks,
    unseen_hooks,
    weights_begun,
)
from horovodize.rules.callbacks.callback_decisions import is_rate
from horovodize.rules.callbacks.callback_lists import elements, extended, kind_of, only_on_root
from horovodize.rules.callbacks.stops_together import stop_together
from horovodize.rules.drafting.decisions import Apart, Left
from horovodize.rules.drafting.draft import KERAS, ON_ROOT, RANK, Draft, needs_parentheses
from horovodize.rules.drafting.other_names import set_by_call
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.elastic import names
from horovodize.rules.weights import drawn_weights, first_answers, layer_state, statistics
from horovodize.rules.weights.untrained_nets import broadcast_untrained
from horovodize.rules.wrapping import keras_optimizer
from horovodize.source import Edit
from horovodize.summary.keras_fits import package_of_class
from horovodize.summary.site_kinds import Fit

_WHY = "All ranks start from rank 0's weights, and decide by the same, averaged metrics."
_WHY_WRITER = "It writes files: rank 0 writes them, the others would write over them."
_APART = "Give each rank a backup of its own"
_WHY_APART = "Ranks that resume at different epochs wait for each other forever."
_RESUMED = (
    "each rank resumes from its own backup: start an interrupted run again with as many ranks, and with all of their "
    "backups or without any"
)
_BEST_OF_RANK_0 = (
    "which checkpoint is the best is decided here between the ends of epochs, by what rank 0's own batches gave: metrics are "
    "averaged over the ranks when an epoch ends; without `save_freq` it is decided then"
)
_BOTH = (
    "this callback writes files, which only rank 0 must, and sets rates or ends training, which all ranks must: make two "
    "callbacks of it"
)
_MAY_PASS = "`**` may pass callbacks, and then this call fails, or rows and steps, which stay whole: pass them by name"
_HOROVOD = (
    f"{KERAS}.callbacks.BroadcastGlobalVariablesCallback(0)",
    f"{KERAS}.callbacks.MetricAverageCallback()",
)
_LINE = 120  # columns; a longer list has a line for each callback
_POSITION = {"fit": 5, "fit_generator": 4}
_OF_KERAS_1 = {
    "nb_epoch", "samples_per_epoch", "nb_val_samples", "nb_worker", "max_q_size", "pickle_safe", "show_accuracy"
}  # fmt: skip
_OF_OLD_KERAS = _OF_KERAS_1 | {
    "generator", "validation_freq", "max_queue_size", "workers", "use_multiprocessing", "reset_metrics", "return_dict"
}  # fmt: skip
_PLAIN = frozenset(
    "batch_size epochs shuffle verbose class_weight validation_data validation_split validation_freq".split()
)
_BASE = "tensorflow.keras.callbacks.Callback"
_LIST = "tensorflow.keras.callbacks.CallbackList"
_LAMBDA = "tensorflow.keras.callbacks.LambdaCallback"


def apply(draft: Draft) -> None:
    for fit in draft.sites.fits:
        foreign = _foreign_keyword(draft, fit)
        if foreign is not None:
            draft.refuse(
                "HVD006",
                fit.call,
                f"this `{fit.method}` takes `{foreign}`, so it is not Keras' own: the loop that it runs is in another file",
            )
        elif fit.method != "train_on_batch":
            _callbacks(draft, fit)
            statistics.after_fit(draft, fit)
    broadcast_untrained(draft)
    averaged_numbers.apply(draft)
    counting_metrics.tell(draft)
    callback_decisions.apply(draft)
    inherited_decisions.ask(draft)
    callback_metrics.apply(draft)
    callback_state.apply(draft)
    drawn_weights.apply(draft)
    layer_state.apply(draft)
    weights_begun.apply(draft)
    first_answers.agree(draft, "K3")


def place_called_by_loops(draft: Draft) -> None:
    """Leaves those that write files to rank 0 also in lists that a loop of the program's own calls."""
    for given in _called_by_loops(draft):
        for element in elements(draft, given):
            _place(draft, element)


def _called_by_loops(draft: Draft) -> list[ast.expr]:
    """What `CallbackList([…], model=model)` is made of."""
    made = draft.module.calls_of(_LIST)
    return [given for call in made if (given := argument(call, "callbacks", 0)) is not None]


def _foreign_keyword(draft: Draft, fit: Fit) -> str | None:
    """A keyword that no Keras has for this method, or that gives again what stands at its place: `trainer.fit(model, data,
    held, batch_size=1)`; of another package's class, none but today's (`nb_epoch` of deepchem)."""
    known = catalogue.method("tensorflow.keras.Model", fit.method)
    old = _OF_OLD_KERAS - _OF_KERAS_1 if _is_of_another_package(draft, fit) else _OF_OLD_KERAS
    is_seen = known is not None and not any(isinstance(a, ast.Starred) for a in fit.call.args)
    placed = known.parameters[: len(fit.call.args)] if known is not None and is_seen else ()
    parameters = {*(known.parameters if known else ()), *old} - set(placed)
    return next((k.arg for k in fit.call.keywords if k.arg is not None and k.arg not in parameters), None)


def _is_of_another_package(draft: Draft, fit: Fit) -> bool:
    is_made_there = package_of_class(draft.module, fit.model) is not None
    return is_made_there and not keras_optimizer.is_compiled_here(draft, fit)


def _callbacks(draft: Draft, fit: Fit) -> None:
    given = _listed(draft, argument(fit.call, "callbacks", _POSITION[fit.method]))
    first = [f"{names.module(draft)}.CommitEpochs({names.state(draft)})"] if draft.options.elastic else []
    horovods = [*(_HOROVOD[1:] if first else _HOROVOD), *first, *statistics.callback(draft, fit)]
    what = "Broadcast rank 0's variables first, and average metrics over the ranks"
    if given is None or says_none(given):
        doubt = ""
        if given is None and unpacks(fit.call):
            more = _of_callers(draft, fit)
            if more is None or not _passes_plain(draft, fit.call, {"callbacks"} if more else set()):
                doubt = _MAY_PASS
            horovods += more or []
        draft.change("K3", fit.call, what, _WHY, _new_list(draft, fit, given, horovods), doubt)
        return
    for element in elements(draft, given):
        _place(draft, element)
    through, left_out = unseen_callbacks.leave_out(draft, given, _all_lists(draft))
    edits = extended(draft, given, horovods, _BASE, lambda listed: _list_before(draft, fit, listed), through)
    draft.change("K3", given, what, _WHY, [*edits, *left_out])


def _all_lists(draft: Draft) -> list[ast.expr]:
    """The lists that `fit`s are given."""
    fits = (f for f in draft.sites.fits if f.method != "train_on_batch")
    lists = (_listed(draft, argument(f.call, "callbacks", _POSITION[f.method])) for f in fits)
    return [given for given in lists if given is not None]


def _passes_plain(draft: Draft, call: ast.Call, seen_to: set[str]) -> bool:
    """Whether what a `fit` is handed on by `**kwargs` is nothing that ranks have to be given otherwise, or is seen to."""
    passed = handed_on(draft.module, call)
    plain = _PLAIN - {"batch_size"} if draft.options.keeps_batch or draft.options.elastic else _PLAIN
    return passed is not None and passed <= plain | seen_to


def _of_callers(draft: Draft, fit: Fit) -> list[str] | None:
    """The callbacks that a `fit` is handed on by the `**kwargs` of its function, to be put into a list before it; each where it
    belongs. None where none may be added before."""
    statement = draft.syntax.statement(fit.call)
    function = draft.syntax.function(fit.call)
    if not isinstance(function, FUNCTIONS) or "callbacks" not in (handed_on(draft.module, fit.call) or ()):
        return []
    if not draft.can_insert(statement) or isinstance(statement, (*LOOPS, ast.If, ast.With)):
        return None
    if draft.syntax.loops(fit.call):
        return None  # the second `fit` would be handed none
    given = [argument(c, "callbacks") for c in draft.values.callers(function)]
    lists = [e for e in given if e is not None]
    for listed in lists:
        for element in elements(draft, listed):
            _place(draft, element)
    assert function.args.kwarg is not None
    taken = f"{function.args.kwarg.arg}.pop({draft.quoted('callbacks')}, "
    are_lists = all(isinstance(e, ast.List) or kind_of(draft, e, _BASE) == "list" for e in lists)
    return [f"*{taken}[])" if are_lists else f"*({taken}None) or [])"]


def _listed(draft: Draft, given: ast.expr | None) -> ast.expr | None:
    """What a `CallbackList([…])` is made of, which can't be put into a list."""
    nodes = [o.node for o in draft.values.origins(given)] if given is not None else []
    inner = [
        argument(n, "callbacks", 0)
        for n in nodes
        if isinstance(n, ast.Call) and draft.names.of(n.func) == _LIST
    ]
    return inner[0] if len(inner) == len(nodes) == 1 and inner[0] is not None else given


def _new_list(draft: Draft, fit: Fit, given: ast.expr | None, horovods: list[str]) -> list[Edit]:
    """A list where the user has none: in a line of the call, or in a statement before it where that would be a long one."""
    lead = draft.lead_of_arguments(fit.call) if given is None else None
    argument_text = f"callbacks=[{', '.join(horovods)}],"
    if lead is not None and len(lead) + len(argument_text.replace(KERAS, "hvd")) <= _LINE:
        return [draft.add_argument(fit.call, argument_text[:-1])]
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
    lines = [f"{name} = [{', '.join(callbacks)}]"]
    room = _LINE - len(draft.document.indentation(statement))
    if len(lines[0].replace(KERAS, "hvd")) > room and callbacks[-1].startswith("*"):
        lines = [f"{name} = [{', '.join(callbacks[:-1])}]", f"{name} += {_bare(callbacks[-1][1:])}"]
    if len(lines[0].replace(KERAS, "hvd")) <= room:
        return name, [draft.before(statement, lines)]
    return name, [draft.before(statement, [f"{name} = [", *(f"    {c}," for c in callbacks), "]"])]


def _bare(given: str) -> str:
    """`mine or []` of `(mine or [])`"""
    return given[1:-1] if given.startswith("(") and given.endswith(" or [])") else given


# ---------------------------------------------------------------------- where each callback belongs


def _place(draft: Draft, element: ast.expr) -> None:
    if not draft.decide(element, Left("K3")):
        return
    stop_together(draft, element)
    roles = {_role(draft, o.node) for o in draft.values.origins(element)}
    backups = [_folder_of_backup(draft, o.node) for o in draft.values.origins(element)]
    if backups and all(backups):
        for folder in backups:
            assert folder is not None
            _back_up_apart(draft, folder)
    elif roles == {"writes"}:
        only_on_root(draft, "K3", element, "callback", _WHY_WRITER)
        if any(_chooses_by_batches(o.node) for o in draft.values.origins(element)):
            draft.note("K3", element, _BEST_OF_RANK_0)
        return
    elif "both" in roles:
        draft.refuse("HVD006", element, _BOTH)
    elif "writes" in roles:
        draft.note(
            "K3", element, "some of these callbacks write files: every rank will; give those on their own"
        )
    elif "unknown" in roles:
        unseen_hooks.ask(draft, "K3", element, "callback")
    chosen_callbacks.ask(draft, element)


def _chooses_by_batches(node: ast.AST) -> bool:
    """`ModelCheckpoint(…, save_best_only=True, save_freq=100)`: which is best is decided between the ends of epochs."""
    if not isinstance(node, ast.Call):
        return False
    best, often = argument(node, "save_best_only"), argument(node, "save_freq")
    is_best = isinstance(best, ast.Constant) and best.value is True
    return is_best and often is not None and not (isinstance(often, ast.Constant) and often.value == "epoch")


def _folder_of_backup(draft: Draft, node: ast.AST) -> ast.expr | None:
    """Where a `BackupAndRestore` keeps how far training has come."""
    if not isinstance(node, ast.Call) or draft.names.last(node.func) != "BackupAndRestore":
        return None
    return argument(node, "backup_dir", 0)


def _back_up_apart(draft: Draft, folder: ast.expr) -> None:
    """Each rank resumes from a folder of its own: rank 0 alone would go on where the others start again, and wait for them."""
    if not draft.decide(folder, Apart("K3")):
        return
    text, number = draft.module.text(folder), f"{{{RANK}}}"
    if (
        isinstance(folder, ast.Constant)
        and isinstance(folder.value, str)
        and text[0] in "\"'"
        and "{" not in text
    ):
        own = f"f{text[:-1]}-{number}{text[-1]}"
    else:
        text = f"({text})" if needs_parentheses(folder) else text
        own = f"{text} + f{draft.quoted(f'-{number}')}"
    edits = Edit.around(draft.module.span(folder), "", f" if {ON_ROOT} else {own}")
    draft.change("K3", folder, _APART, _WHY_APART, edits, doubt=_RESUMED)


def _role(draft: Draft, node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return "unknown"
    name = draft.names.of(node.func)
    if name is not None:
        if name == _LAMBDA:
            return _lambda_role(draft, node)
        return catalogue.callback_role(name)
    callee = draft.values.callee(node)
    if isinstance(callee, ast.ClassDef):
        return _own_role(draft, callee)
    return _role_by_method(draft, node)


def _own_role(draft: Draft, cls: ast.ClassDef) -> str:
    """Of a class of the program: what it has of those that it is derived from counts, too."""
    if unseen_hooks.inherits(draft, cls, catalogue.callback_role):
        return "unknown"
    roles = {catalogue.callback_role(base) for base in draft.values.ancestors(cls)}
    if "writes" not in roles:
        return "own"
    family = draft.values.family(cls)
    is_steering = any(callback_decisions.steers(draft, n) for member in family for n in ast.walk(member))
    return "both" if is_steering else "writes"


def _role_by_method(draft: Draft, made: ast.Call) -> str:
    """Of one that a method of an object makes: `Experiment().get_callback("keras")`."""
    if not isinstance(made.func, ast.Attribute):
        return "unknown"
    of = [draft.names.of(c.func) or "" for c in draft.values.calls(made.func.value)]
    roles = {catalogue.callback_made_by_method(name, made.func.attr) for name in of}
    return roles.pop() if len(roles) == 1 else "unknown"


def _lambda_role(draft: Draft, call: ast.Call) -> str:
    """A LambdaCallback writes if what its functions call writes (or prints), and does not steer."""
    writes = False
    for value in arguments(call):
        for origin in draft.values.origins(value):
            if _steers(draft, origin.node):
                return "own"
            for n in ast.walk(origin.node):
                if isinstance(n, ast.Call):
                    name = draft.names.of(n.func) or ""
                    method = n.func.attr if isinstance(n.func, ast.Attribute) else ""
                    is_print = isinstance(n.func, ast.Name) and n.func.id == "print"
                    inline = isinstance(origin.node, ast.Lambda)
                    if inline and (is_print or catalogue.writes_files(name) or method in _WRITING_METHODS):
                        writes = True
    return "writes" if writes else "own"


def on_root(draft: Draft) -> set[ast.AST]:
    """The callbacks that only rank 0 gets: what the lambdas in them call needs no guard of its own."""
    given = [argument(fit.call, "callbacks", _POSITION.get(fit.method)) for fit in draft.sites.fits]
    given += _called_by_loops(draft)
    listed = (element for g in given if g is not None for element in elements(draft, g))
    made = [[o.node for o in draft.values.origins(e)] for e in listed]
    return {n for nodes in made if {_role(draft, n) for n in nodes} == {"writes"} for n in nodes}


def _steers(draft: Draft, function: ast.AST) -> bool:
    """Whether a function, or one that it calls, ends training or has to do with the rate."""
    called = [draft.values.callee(n) for n in ast.walk(function) if isinstance(n, ast.Call)]
    within = [n for f in (function, *called) if isinstance(f, CALLABLES) for n in ast.walk(f)]
    return any(
        (isinstance(n, ast.Attribute) and n.attr in ("stop_training", "learning_rate", "lr"))
        or (isinstance(n, ast.Constant) and n.value == "stop_training")
        or ((found := set_by_call(draft, n)) is not None and is_rate(draft, found[0]))
        for n in within
    )


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


RULE = Rule("K3", "callbacks of fit", apply, __doc__ or "")
