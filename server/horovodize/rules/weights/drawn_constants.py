"""Numbers that are drawn once, and that training computes with ever after: the frequencies of Fourier features, the order in
which a flow mixes its features, masks, projections. Part of D3.

    frequencies = tf.random.normal((2, 64))

    def call(self, x):
        return self.out(tf.sin(x @ frequencies))

They are no variables, which are broadcast. Each rank would train a model of its own, and the ranks would average gradients of
different functions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import FUNCTIONS as LIBRARY
from horovodize.facts.differences.sources import PREFIXES, Source
from horovodize.facts.feeds.own_layers import methods_called
from horovodize.python.module import Module
from horovodize.python.random_generators import initializers, makers
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument
from horovodize.rules.drafting.decisions import Decided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.layer_state import run_by_steps
from horovodize.rules.weights.unsent_variables import UnsentVariables
from horovodize.source.nodes import children, walk

_FAR = 20_000  # nodes that training computes by
# What a variable begins with, and where rows come from.
_WEIGHTS = ("Variable", "get_variable", "add_weight", "assign", "set_weights")
_CALLED = ("call", "__call__")
_ADDING = ("append", "extend", "insert")
_BESIDE = ("weights", "seed", "name", "training", "trainable")
_LAYERS = (
    "tensorflow.keras.",
    "tensorflow.compat.v1.layers.",
    "tensorflow.initializers.",
    "tensorflow.losses.",
)
_LAMBDA = "tensorflow.keras.layers.Lambda"
_ROWS = ("tensorflow.data.", "tensorflow.io.")
WHAT = "Compute with the same numbers on all ranks"
WHY = "What training computes with is no variable, which is broadcast: each rank would train a model of its own."
IN_BUILD = (
    "each rank draws numbers of its own here, and its layer computes with them; draw them in `__init__`, or keep them in a "
    "variable, which is broadcast: `self.add_weight(…, trainable=False)`"
)


def drawn(draft: Draft, is_made_once: Callable[[ast.Call], bool]) -> list[ast.Call]:
    """The draws, before training or where Keras builds a layer, that give ranks different numbers to compute with."""
    open_ = {
        c
        for c in draft.module.calls_which(_may_draw)
        if not draft.was(c, Decided) and (is_in_build(draft, c) or is_made_once(c)) and _differs(draft, c)
    }
    return [c for c in dict.fromkeys(_Computing(draft).draws()) if c in open_] if open_ else []


def _may_draw(module: Module, call: ast.Call) -> bool:
    name = module.names.of(call.func) or ""
    of_library = LIBRARY.get(name) or next((s for p, s in PREFIXES if name.startswith(p)), None)
    return of_library is Source.CHANCE or bool(makers(module, call) or initializers(module, call))


def is_in_build(draft: Draft, call: ast.Call) -> bool:
    """Whether a layer draws where Keras builds it: when its first rows come, in a step perhaps."""
    function = draft.syntax.function(call)
    return (
        isinstance(function, FUNCTIONS)
        and function.name == "build"
        and draft.syntax.method_class(function) is not None
    )


def _differs(draft: Draft, call: ast.Call) -> bool:
    return any(
        isinstance(r, Varies) and r.kind is Source.CHANCE and r.where is call
        for r in draft.uniform.reasons(call)
    )


class _Computing:
    """What training computes with."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.losses = list(_losses(draft))
        called = [f for loss in self.losses for f in methods_called(draft.module, loss)]
        self.functions = dict.fromkeys([*called, *itertools.chain.from_iterable(run_by_steps(draft))])
        self.unsent = UnsentVariables(draft, self.losses)
        self._seen = set[ast.AST]()

    def draws(self) -> Iterator[ast.Call]:
        """The draws that something is computed from, not those that variables begin with or rows are made of."""
        module = self.draft.module
        todo: list[ast.AST] = [*self.losses, *self.functions]
        todo += (argument(c.call, "loss", 1) or c.call for c in self.draft.sites.compiles)
        todo += (argument(c, "outputs", 1) or c for c in module.calls_of("tensorflow.keras.Model"))
        todo += (c.args[0] for c in module.calls_of("tensorflow.keras.layers.Lambda") if c.args)
        while todo and len(self._seen) < _FAR:
            n = todo.pop()
            if n not in self._seen:
                self._seen.add(n)
                if isinstance(n, ast.Call) and self.draft.uniform.draws.draws(n):
                    yield n
                todo += self._made_of(n)

    def _made_of(self, n: ast.AST) -> Iterator[ast.AST]:
        """What something is computed from."""
        if isinstance(n, FUNCTIONS):
            yield from (m for m in walk(n) if isinstance(m, (ast.Name, ast.Attribute)))
        elif isinstance(n, ast.Call):
            yield from self._taken(n)
        elif isinstance(n, (ast.Name, ast.Attribute)):
            yield from self._held(n)
        elif isinstance(n, ast.expr):
            yield from children(n)

    def _held(self, n: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
        """What a name or an attribute stands for. What a step gives a function of the model are rows, mostly."""
        draft = self.draft
        yield from (o.node for o in draft.values.origins(n) if isinstance(o.node, FUNCTIONS))
        for b in draft.values.bindings(n):
            if b.kind != "parameter":
                yield from [b.value] if b.value is not None else []
                yield from self.unsent.first_values(n, b.value)
            elif draft.syntax.function(n) not in self.functions:
                yield from draft.values.passed(b)
        held = n.id if isinstance(n, ast.Name) else n.attr
        for call in draft.module.calls_called(*_ADDING):
            if isinstance(call.func, ast.Attribute) and draft.names.last(call.func.value) == held:
                yield from call.args[-1:]

    def _taken(self, call: ast.Call) -> Iterator[ast.AST]:
        """What the result of a call is computed from."""
        names, callee = self.draft.names, self.draft.values.callee(call)
        name, last = names.of(call.func) or "", names.last(call.func)
        if isinstance(callee, CALLABLES):
            yield from self.draft.values.returned(callee)
        elif isinstance(callee, ast.ClassDef):
            yield from (s for s in callee.body if isinstance(s, FUNCTIONS) and s.name in _CALLED)
        elif last in _WEIGHTS or "initializer" in last or name.startswith(_ROWS):
            return
        elif name.startswith(_LAYERS) and name != _LAMBDA:
            return
        elif isinstance(call.func, (ast.Attribute, ast.Call)) and not name:
            yield call.func if isinstance(call.func, ast.Call) else call.func.value
        yield from call.args
        yield from (k.value for k in call.keywords if k.arg is None or k.arg not in _BESIDE)


def _losses(draft: Draft) -> Iterator[ast.expr]:
    """What is trained by hand; not by what each rank plays for itself."""
    for site in (*(update.call for update in draft.sites.updates), *draft.sites.sessions):
        if draft.facts.steps.game(site) is None:
            yield from draft.facts.steps.losses_of(site)
