"""What changes the weights or the rate of what is trained, other than training itself, and what makes them equal again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.facts import Facts
from horovodize.facts.horovod.horovod_use import WRAPPERS, rates_of
from horovodize.facts.rates.optimizers import Arrival
from horovodize.interleaving.session_changes import SessionChanges
from horovodize.interleaving.torch_changes import TorchChanges
from horovodize.interleaving.trained_models import TrainedModels
from horovodize.python.binding import Binding
from horovodize.python.syntax import argument, has_unpacking

_VARIABLES = ("trainable_variables", "trainable_weights")
_ALL_VARIABLES = ("variables", "weights")
_SETTERS = ("load_weights", "set_weights")
_OF_OPTIMIZER = "weights of the optimizer"
_OF_ANOTHER = "network that the loss asks"
_ASSIGNED = ("assign", "assign_add", "assign_sub")
_RATES = ("learning_rate", "lr")
_VARIABLE_RATE = "variable of the rate"  # which a broadcast of all variables sends, too
VARIABLE_OF_LOSS = "variable that the loss asks"
_TRAINED_LAYERS = "set of trained layers"
_EQUAL = (
    "broadcast_variables",
    "broadcast_global_variables",
    "BroadcastGlobalVariablesHook",
    "broadcast_parameters",
)
_MAKERS = ("Variable", "get_variable")
_ASSIGNING = tuple(f"tensorflow.compat.v1.{name}" for name in _ASSIGNED)
_SAVER = "tensorflow.compat.v1.train.Saver"
_LISTS = tuple(
    f"tensorflow.compat.v1.{name}"
    for name in ("trainable_variables", "global_variables", "model_variables", "get_collection")
)
_LOADING = "load_model"
_LOADERS = ("tensorflow.keras.models.load_model", "keras.models.load_model", "keras.saving.load_model")
_VARIABLES_BEHIND = 200  # nodes that are looked at behind a list of variables
_BEHIND_A_PATH = 60
_CALLBACK = "BroadcastGlobalVariablesCallback"


class Changes:
    """The changes of one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module
        self._looked_at: list[ast.expr] = []  # a name isn't made of itself
        self._torch, self._sessions = TorchChanges(facts), SessionChanges(facts)

    def of(self, call: ast.Call) -> str:
        """What of the training a call changes on the rank that makes it: "weights" (also those of an optimizer), "rate", or
        nothing."""
        func, use = call.func, self.facts.horovod
        if (self.module.names.of(func) or "").endswith("backend.set_value") and len(call.args) == 2:
            return "rate" if self.is_rate(call.args[0]) and not self._is_agreed(call.args[1]) else ""
        if what := self._torch.of(call):
            return what
        if call in self._runs_that_set_rates:
            return _VARIABLE_RATE
        if call in self._sessions.of_weights:
            return "" if any(map(self._is_agreed, call.args)) else "weights"
        if call in self._sessions.of_asked:
            return VARIABLE_OF_LOSS
        if isinstance(func, ast.Attribute) and not use.name_of(call):
            if func.attr in _SETTERS and (self._is_trained(func.value) or self._is_in_trained(func.value)):
                what = "weights"
            elif func.attr == "set_weights" and self._is_any_optimizer(func.value):
                what = _OF_OPTIMIZER
            elif func.attr == "set_weights" and self._is_asked_in_steps(func.value):
                what = _OF_ANOTHER
            elif func.attr == "restore" and (self._holds_trained(func.value) or self._keeps_all(func.value)):
                what = "weights"
            elif func.attr in _ASSIGNED and self.is_rate(func.value):
                what = "rate"
            elif func.attr in _ASSIGNED and self._is_in_trained(func.value):
                what = "weights"
        if self._loads_trained(call) or (what and self._reads_a_file(func)):
            return what or "weights"  # a path that all have exchanged is no weights that they have
        return what if what and not any(map(self._is_agreed, call.args)) else ""

    def _loads_trained(self, call: ast.Call) -> bool:
        """Whether a call loads the model that is trained, which other ranks build: `model = hvd.load_model(path)`."""
        set_by = self.module.syntax.parent.get(call)
        if not isinstance(set_by, ast.Assign) or len(set_by.targets) != 1:
            return False
        loads = self.facts.horovod.is_call(call, _LOADING) or self.module.names.of(call.func) in _LOADERS
        return loads and self._is_trained(set_by.targets[0])

    def own_file(self, call: ast.Call) -> ast.expr | None:
        """The file of its own that a rank loads weights from: `checkpoint.restore(f"kept/{hvd.rank()}")`."""
        if not isinstance(call.func, ast.Attribute) or not self._reads_a_file(call.func):
            return None
        by_saver = call.func.attr == "restore" and self._keeps_all(
            call.func.value
        )  # it is given the session first
        path = argument(call, "save_path", 1) if by_saver else call.args[0] if call.args else None
        use = self.facts.horovod
        given = [o.node for o in self.module.values.origins(path)] if path is not None else []
        if path is None or all(use.is_call(n, "broadcast_object") for n in given):
            return None  # rank 0's
        return path if use.depends_on(path, "rank", "local_rank", limit=_BEHIND_A_PATH) else None

    def _reads_a_file(self, func: ast.expr) -> bool:
        return isinstance(func, ast.Attribute) and func.attr in ("restore", "load_weights")

    @cached_property
    def _runs_that_set_rates(self) -> set[ast.Call]:
        """Runs of a session that assign to a variable by which an optimizer steps: `session.run(tf.assign(rate, …))`."""
        made = {c for o in self.module.optimizers for r in rates_of(o) for c in self._variables(r)}
        if not made:
            return set()
        graph, found = self.facts.sites.graph, set[ast.Call]()
        for run in graph.all_runs:
            behind = list(self.module.values.depends([graph.fetches(run)], _VARIABLES_BEHIND))
            targets = [t for n in behind if isinstance(n, ast.Call) and (t := self._assigned(n)) is not None]
            if any(made & set(self._variables(t)) for t in targets) and not any(
                map(self._is_agreed, run.args)
            ):
                found.add(run)
        return found

    def _variables(self, e: ast.expr) -> list[ast.Call]:
        return [c for c in self.module.values.calls(e) if self.module.names.last(c.func) in _MAKERS]

    def _assigned(self, call: ast.Call) -> ast.expr | None:
        """What a call assigns to."""
        if self.module.names.of(call.func) in _ASSIGNING and call.args:
            return call.args[0]
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ASSIGNED:
            return call.func.value
        return None

    def of_assignment(self, statement: ast.Assign | ast.AugAssign) -> str:
        """The same of `optimizer.learning_rate = …`, and of an optimizer that is made."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        set_here = any(
            self._torch.sets_rate(t) or (isinstance(t, ast.Attribute) and self.is_rate(t)) for t in targets
        )
        if any(map(self._is_left_frozen, targets)):
            return "" if self._is_agreed(statement.value) else _TRAINED_LAYERS
        made_here = isinstance(statement.value, ast.Call) and self.module.is_optimizer(statement.value)
        # A rank that resumes finds its optimizer in the checkpoint, where the others make theirs.
        made_here = made_here and not self.facts.rank_tests.may_be_guarded(statement)
        return "rate" if (set_here or made_here) and not self._is_agreed(statement.value) else ""

    def _is_left_frozen(self, target: ast.expr) -> bool:
        """Whether this sets whether a layer is trained, `layer.trainable = …`, and isn't taken back in the same block, as it is
        around what only looks at it."""
        if not isinstance(target, ast.Attribute) or target.attr != "trainable":
            return False
        syntax, text = self.module.syntax, ast.unparse(target)
        here = syntax.statement(target)
        block = syntax.block(here)
        return not any(
            isinstance(s, ast.Assign) and any(ast.unparse(t) == text for t in s.targets)
            for s in block
            if s is not here
        )

    def equals(self, call: ast.Call) -> bool:
        """Whether after a call all ranks have the same weights, or may have."""
        return self.facts.horovod.is_call(call, *_EQUAL) or self._sent_by(call) is not None

    def equals_if(self, fit: ast.Call) -> tuple[ast.expr, bool] | None:
        """By which test, answered how, a `fit` gets the callback that makes all ranks' weights equal, if what one rank changes
        is changed where it doesn't: `[] if args.resume else [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]`."""
        sent = self._sent_by(fit)
        return sent[0] if sent is not None and len(sent) == 1 and self._changed_without(*sent[0]) else None

    def _sent_by(self, fit: ast.Call) -> list[tuple[ast.expr, bool]] | None:
        """The tests around the callback that sends the weights, of those a `fit` gets; none where they are sent in any case
        or what it gets isn't seen. None where they surely aren't."""
        use, syntax = self.facts.horovod, self.module.syntax
        if not use.calls(_CALLBACK) or not any(fit is f.call for f in self.facts.sites.fits):
            return None
        items = self.facts.callback_items.of(fit)
        if any(not item.made for item in items) or has_unpacking(fit):
            return []
        sending = [i for i in items if any(use.is_call(made, _CALLBACK) for made in i.made)]
        if not sending:
            return None
        (item, *others) = sending
        if others or item.by is not None or syntax.function(item.node) is not syntax.function(fit):
            return []
        around = {test for test, _ in syntax.conditions(fit)}
        return [
            _plain(test.test, arm == "body")
            for test, arm in syntax.conditions(item.node)
            if test not in around
        ]

    def _changed_without(self, test: ast.expr, answer: bool) -> bool:
        return any(
            (ast.unparse(asked), given) == (ast.unparse(test), not answer)
            for call in self.module.syntax.calls
            if self.of(call) == "weights"
            for around, arm in self.module.syntax.conditions(call)
            for asked, given in parts(around.test, arm == "body")
        )

    @cached_property
    def _models(self) -> TrainedModels:
        return TrainedModels(self.facts)

    def _is_trained(self, e: ast.expr) -> bool:
        of_hook = ast.unparse(e) == "self.model" and self.facts.hooks.around(e) is not None
        return of_hook or self._models.are(e)

    def _is_asked_in_steps(self, e: ast.expr) -> bool:
        """Whether a network that isn't trained itself says what another one learns, as the target of a Q network does."""
        syntax, text = self.module.syntax, ast.unparse(e)
        steps = set[ast.AST]()
        for place in (g for u in self.facts.sites.updates for g in (u.call, *u.gradients)):
            loops = syntax.loops(place)
            steps.add(syntax.function(place) or (loops[0] if loops else syntax.statement(place)))
        asked = [n.func for step in steps for n in ast.walk(step) if isinstance(n, ast.Call)]
        return any(
            ast.unparse(func) in (text, f"{text}.predict") or self._is_field(func, e) for func in asked
        )

    def _is_field(self, asked: ast.expr, e: ast.expr) -> bool:
        """Whether both are one field of objects of the script's own: `self.target` in a method, `agent.target` outside."""
        if isinstance(asked, ast.Attribute) and asked.attr == "predict":
            asked = asked.value
        if not isinstance(asked, ast.Attribute) or not isinstance(e, ast.Attribute) or asked.attr != e.attr:
            return False
        bound = self.module.values.attribute_bindings(e)
        return bool(bound) and self.module.values.attribute_bindings(asked) == bound

    def _holds_trained(self, checkpoint: ast.expr) -> bool:
        """Whether a checkpoint was made to keep what is trained."""
        kept = [k for made in self.module.values.calls(checkpoint) for k in made.keywords]
        text = ast.unparse(checkpoint)
        return any(self._is_trained(k.value) or f"{text}.{k.arg}" in self._models.texts for k in kept)

    def _keeps_all(self, saver: ast.expr) -> bool:
        """Whether this is a saver of a graph that keeps all of its variables, or those that are trained."""
        made = self.module.values.calls(saver)
        return bool(made) and all(
            self.module.names.of(call.func) == _SAVER and self._are_trained(argument(call, "var_list", 0))
            for call in made
        )

    def _are_trained(self, kept: ast.expr | None) -> bool:
        """Whether the variables that a saver keeps are those of all networks, or some that are trained."""
        if kept is None:
            return True
        behind = self.module.values.depends([kept], _VARIABLES_BEHIND)
        return any(isinstance(n, ast.Call) and self.module.names.of(n.func) in _LISTS for n in behind)

    def _is_in_trained(self, e: ast.expr) -> bool:
        """Whether an expression is a part of what is trained: `model.layers[0].bias`, `v` of `for v in model.variables:`."""
        inner: ast.AST = e
        if isinstance(e, ast.Name):
            bound = self.module.scopes.reaching(e)
            return any(map(self._goes_through_trained, bound)) or self._names_part(bound)
        while isinstance(inner, (ast.Attribute, ast.Subscript, ast.Call)):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
            if isinstance(inner, ast.expr) and self._is_trained(inner):
                return True
        return isinstance(inner, ast.Name) and self._names_part(self.module.scopes.reaching(inner))

    def _names_part(self, bound: list[Binding]) -> bool:
        """Whether a name stands for a layer or a variable of what is trained, and nothing else: `last = model.layers[-1]`."""
        if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path:
            return False
        part = bound[0].value
        if not isinstance(part, (ast.Attribute, ast.Subscript, ast.Call)) or part in self._looked_at:
            return False
        self._looked_at.append(part)
        try:
            return self._is_a_part(part) and self._is_in_trained(part)
        finally:
            self._looked_at.pop()

    def _is_a_part(self, e: ast.expr) -> bool:
        """Whether an expression gives a layer or a variable itself: `model.get_layer("out").kernel`, `model.layers[0]`."""
        while not isinstance(e, ast.Name):
            match e:
                case ast.Attribute(value=of):
                    e = of
                case ast.Subscript(value=of, slice=ast.Constant() | ast.UnaryOp() | ast.Name()):
                    e = of
                case ast.Call(func=ast.Attribute(value=of, attr="get_layer")):
                    e = of
                case _:
                    return False
        return True

    def _goes_through_trained(self, b: Binding) -> bool:
        """Whether a loop gives a name one trained variable after another, also beside others: `zip(means, model.variables)`."""
        listed = b.value if b.kind == "item" else None
        if isinstance(listed, ast.Call) and self.module.names.last(listed.func) == "zip" and len(b.path) == 1:
            (place,) = b.path
            listed = listed.args[place] if 0 <= place < len(listed.args) else None
        whole = listed if isinstance(listed, ast.Attribute) else None
        return (
            whole is not None
            and whole.attr in (*_VARIABLES, *_ALL_VARIABLES)
            and self._is_trained(whole.value)
        )

    def is_rate(self, e: ast.expr) -> bool:
        """Whether an expression is the rate of an optimizer, or a name for it."""
        named = [o.node for o in self.module.values.origins(e)] if isinstance(e, ast.Name) else []
        if named:
            return all(isinstance(n, ast.Attribute) and self.is_rate(n) for n in named)
        if not isinstance(e, ast.Attribute) or e.attr not in _RATES:
            return False
        owner = e.value
        if isinstance(owner, ast.Attribute) and owner.attr == "optimizer" and self._is_trained(owner.value):
            return True
        return self._is_any_optimizer(owner)

    def _is_any_optimizer(self, e: ast.expr) -> bool:
        """Whether something is surely an optimizer: made as one, or what applies gradients under this name."""
        if any(map(self._is_optimizer, self.facts.optimizers.arrivals(e))):
            return True
        text = ast.unparse(e)
        return any(
            isinstance(u.call.func, ast.Attribute) and ast.unparse(u.call.func.value) == text
            for u in self.facts.sites.updates
        )

    def _is_optimizer(self, arrival: Arrival) -> bool:
        """Whether following ended at what makes an optimizer: `args.lr = …` sets no rate."""
        made = arrival.node
        return isinstance(made, ast.Call) and (
            self.module.is_optimizer(made) or self.facts.horovod.is_call(made, *WRAPPERS)
        )

    def _is_agreed(self, e: ast.expr) -> bool:
        """Whether a value is made of what ranks have exchanged."""
        return self.facts.horovod.depends_on(e, *AGREEING)


def _plain(test: ast.expr, answer: bool) -> tuple[ast.expr, bool]:
    """`not a`, answered one way, is `a`, answered the other."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, answer = test.operand, not answer
    return test, answer


def parts(test: ast.expr, answer: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What must be answered how, for a test to be answered so: both sides of `a and b`."""
    test, answer = _plain(test, answer)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if answer else ast.Or):
        for value in test.values:
            yield from parts(value, answer)
    else:
        yield test, answer
