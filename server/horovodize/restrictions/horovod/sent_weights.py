"""Which broadcasts of a script never send anything, come too early, or leave a model out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import FUNCTIONS, argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.models_in_tables import is_each_of, made_for_each, of_table
from horovodize.restrictions.horovod.sent_by_helpers import handed
from horovodize.restrictions.horovod.written_out import given_by_loop
from horovodize.summary.site_kinds import Update

# What makes something that broadcasts only when a training or a session gets it.
HANDED = ("BroadcastGlobalVariablesCallback", "BroadcastGlobalVariablesHook", "broadcast_global_variables")
_OPERATION = "broadcast_global_variables"
_ADDING = ("append", "extend", "insert")
_INITIALIZERS = ("global_variables_initializer", "initialize_all_variables")
_LIMIT = 200


def is_left(context: Context, call: ast.Call) -> bool:
    """Whether what a call makes, to be handed to a training or run by a session, stays in a list or under a name that nothing
    reads, or has none, so that it never broadcasts. A place that never runs reads nothing."""
    use = context.facts.horovod
    if not use.is_call(call, *HANDED):
        return False
    value: ast.AST = call
    while isinstance(parent := context.syntax.parent.get(value), ast.List | ast.Tuple | ast.BinOp):
        value = parent  # `callbacks + [it]`, too, is another list
    if isinstance(parent, ast.Expr):  # an operation is one in a graph only
        return context.sites.builds_graph or not use.is_call(call, _OPERATION)
    if not isinstance(parent, ast.Assign) or not all(isinstance(t, ast.Name) for t in parent.targets):
        return False
    names = {t.id for t in parent.targets if isinstance(t, ast.Name)}
    reads = (n for name in names for n in context.module.loads.get(name) if isinstance(n, ast.Name))
    return not any(_is_read(context, n) for n in reads)


def _is_read(context: Context, name: ast.Name) -> bool:
    """Whether a list, or another value, goes anywhere from here: not where something is only put into it."""
    if context.facts.never_run.is_at(name):
        return False
    parent = context.syntax.parent
    method = parent.get(name)
    call = parent.get(method) if isinstance(method, ast.Attribute) else None
    if not isinstance(call, ast.Call) or call.func is not method:
        return True
    return context.names.last(call.func) not in _ADDING or not isinstance(parent.get(call), ast.Expr)


def left(context: Context) -> list[ast.Call]:
    """What was made to broadcast and never does, if that is all a script has to do it with."""
    use = context.facts.horovod
    made = use.calls(*HANDED)
    sends = use.calls("broadcast_variables", "broadcast", "broadcast_")
    return made if made and not sends and all(is_left(context, c) and use.runs(c) for c in made) else []


def undone(context: Context) -> Iterator[tuple[ast.Call, ast.Call, bool]]:
    """Runs that initialise the variables after the one that broadcast them, that one, and whether they had values before it."""
    if not context.sites.builds_graph or not context.facts.horovod.calls(_OPERATION):
        return
    runs = sorted(context.sites.graph.all_runs, key=position)
    sends = sending_runs(context)
    begins = [
        r for r in runs if r not in sends and any(_initializes(context, n) for n in _fetched(context, r))
    ]
    if len(sends) != 1:
        return
    (send,) = sends
    after = [r for r in begins if _follows(context, r, send)]
    others = [r for r in begins if r not in after]
    if after:
        yield after[0], send, any(not _follows(context, r, send) for r in others)


def sending_runs(context: Context) -> list[ast.Call]:
    """The runs of a session that broadcast the variables of a graph, in their order."""
    if not context.sites.builds_graph or not context.facts.horovod.calls(_OPERATION):
        return []
    runs = sorted(context.sites.graph.all_runs, key=position)
    return [
        r for r in runs if any(context.facts.horovod.is_call(n, _OPERATION) for n in _fetched(context, r))
    ]


def _fetched(context: Context, run: ast.Call) -> list[ast.AST]:
    return list(context.values.depends([context.sites.graph.fetches(run)], _LIMIT))


def _initializes(context: Context, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and context.names.last(node.func) in _INITIALIZERS


def _follows(context: Context, later: ast.Call, run: ast.Call) -> bool:
    """Whether one run stands after another in the same block, in the same session."""
    syntax = context.syntax
    one, other = syntax.statement(run), syntax.statement(later)
    block = syntax.block(one)
    return (
        other in block
        and block.index(one) < block.index(other)
        and (
            context.text(run.func) == context.text(later.func)
            or _runs_itself(context, run)
            or _runs_itself(context, later)
        )
    )


def _runs_itself(context: Context, run: ast.Call) -> bool:
    """`operation.run()`, in the session that is the default one there."""
    return isinstance(run.func, ast.Attribute) and context.sites.graph.fetches(run) is run.func.value


def left_out(context: Context) -> Iterator[tuple[Update, ast.expr, ast.Call]]:
    """Updates of a model that no broadcast sends, the model, and a broadcast of another's weights. Only where all models are
    told apart: each has a name, and is made by a call of its own."""
    sends = context.facts.horovod.calls("broadcast_variables")
    if context.facts.horovod.calls(*HANDED) or not (sent := sent_models(context, sends)):
        return
    within = inside_functions(context, sent)  # which of the models such a call makes isn't told by it
    parts = set(context.values.depends([*sent], _LIMIT)) - within
    told = set[str]()
    for update in context.sites.updates:
        for model in trained_models(context, update):
            made = made_by(context, model)
            if (len(made) != 1 and not _is_each_of(context, model)) or context.text(model) in told:
                continue
            for one in (c for c in made if c not in sent | parts | within):
                behind = set(context.values.depends([one], _LIMIT)) - inside_functions(context, {one})
                if not sent & behind and context.text(model) not in told:
                    told.add(context.text(model))
                    yield update, model, sends[0]


def sent_models(context: Context, sends: list[ast.Call]) -> set[ast.Call]:
    """What makes the models whose weights some broadcasts send; nothing where one sends what can't be told."""
    sent_by = [argument(call, "variables", 0) for call in sends]
    variables = [e for v in sent_by for e in ((handed(context, v) or [v]) if v is not None else [v])]
    given = [m for e in variables for m in _models(context, e)]
    return set() if None in given else {c for m in given if m is not None for c in made_by(context, m)}


def _is_each_of(context: Context, model: ast.expr) -> bool:
    """Whether a loop goes through models by a name: `for model in (encoder, decoder):`, each is trained; or those of a
    dictionary."""
    return is_each_of(context, model) or bool(given_by_loop(context, model))


def inside_functions(context: Context, made: set[ast.Call]) -> set[ast.AST]:
    """What stands in the functions that calls run: two calls of one function make two models, by the same lines."""
    functions = [context.values.callee(c) for c in made]
    return {n for f in functions if isinstance(f, FUNCTIONS) for n in ast.walk(f)}


def made_by(context: Context, model: ast.expr) -> list[ast.Call]:
    """The calls that make a model: of a name or a field that is bound once, to a call, that one, whatever it runs."""
    if kept := of_table(context, model):
        return kept
    if each := given_by_loop(context, model):
        return [call for e in each for call in made_by(context, e)]
    bound = (
        context.scopes.reaching(model)
        if isinstance(model, ast.Name)
        else context.values.attribute_bindings(model)
        if isinstance(model, ast.Attribute)
        else []
    )
    if (
        len(bound) == 1
        and bound[0].kind == "assign"
        and not bound[0].path
        and isinstance(bound[0].value, ast.Call)
    ):
        return [bound[0].value]
    if len(bound) == 1 and bound[0].kind == "assign" and len(bound[0].path) == 1:
        values, at = bound[0].value, bound[0].path[0]
        if isinstance(values, ast.Tuple) and isinstance(at, int) and at < len(values.elts):
            value = values.elts[at]
            return [value] if isinstance(value, ast.Call) else []
    return context.values.calls(model)


def _models(context: Context, given: ast.expr | None) -> Iterator[ast.expr | None]:
    """The models whose weights an expression is; None for what can't be told. An optimizer's variables are no model's."""
    match given:
        case ast.Attribute(value=(ast.Name() | ast.Attribute() | ast.Subscript()) as model, attr=attr) if (
            attr in OF_MODEL
        ):
            if context.facts.optimizers.arrivals(model) and is_optimizer(context, model):
                return
            yield model if len(made_by(context, model)) == 1 or of_table(context, model) else None
        case ast.Attribute(attr="non_trainable_variables" | "non_trainable_weights"):
            return  # no gradient changes these
        case ast.BinOp(op=ast.Add()):
            yield from _models(context, given.left)
            yield from _models(context, given.right)
        case ast.Name() if each := given_by_loop(context, given):
            for e in each:
                yield from _models(context, e)
        case ast.List() | ast.Tuple():
            for e in given.elts:
                if isinstance(e, ast.Starred):
                    yield from _models(context, e.value)
                elif not _is_variable(context, e):
                    yield None
        case ast.Call(
            func=ast.Attribute(
                value=(ast.Name() | ast.Attribute() | ast.Subscript()) as made, attr="variables"
            ),
            args=[],
        ) if is_optimizer(context, made):
            return
        case _:
            yield None


def _is_variable(context: Context, e: ast.expr) -> bool:
    """Whether something is a variable of the script's own, such as a counter, and no model."""
    made = context.values.calls(e)
    return bool(made) and all(context.names.last(c.func) == "Variable" for c in made)


def is_optimizer(context: Context, e: ast.expr) -> bool:
    made = context.values.calls(e) or made_for_each(context, e)
    return bool(made) and all(
        context.module.is_optimizer(c) or context.facts.horovod.is_call(c, "DistributedOptimizer")
        for c in made
    )


def trained_model(context: Context, update: Update) -> ast.Name | ast.Attribute | ast.Subscript | None:
    """The model whose weights an update changes, and no other's: `zip(gradients, model.trainable_variables)`."""
    found = trained_models(context, update)
    return found[0] if len(found) == 1 else None


def trained_models(context: Context, update: Update) -> list[ast.Name | ast.Attribute | ast.Subscript]:
    """The models whose weights an update changes: also of `one.trainable_variables + other.trainable_variables`; none where
    something else is changed, too, that isn't seen."""
    pairs = argument(update.call, "grads_and_vars", 0)
    if not isinstance(pairs, ast.Call) or not context.is_builtin(pairs.func, "zip") or len(pairs.args) != 2:
        return []
    todo, found = [pairs.args[1]], list[ast.Name | ast.Attribute | ast.Subscript]()
    while todo:
        e = todo.pop(0)
        if isinstance(e, ast.Name):
            bound = context.scopes.reaching(e)
            if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or bound[0].value is None:
                return []
            e = bound[0].value
        match e:
            case ast.BinOp(op=ast.Add()):
                todo += [e.left, e.right]
            case ast.Attribute(
                value=(ast.Name() | ast.Attribute() | ast.Subscript()) as model, attr=attr
            ) if attr in OF_MODEL:
                found.append(model)
            case ast.List() | ast.Tuple() if all(_is_variable(context, x) for x in e.elts):
                pass
            case _:
                return []
    return found
