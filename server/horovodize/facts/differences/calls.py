"""What a call gives: by the function of this project that it runs, by what is known of libraries, or unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize import catalogue
from horovodize.facts.differences import command_line, order_keys
from horovodize.facts.differences.draws import Draws
from horovodize.facts.differences.known_calls import (
    AS_MANY,
    ASK_FOR_TYPES,
    COMPUTES,
    COUNTING,
    ITERATING,
    JOINING,
    LAYERS,
    LISTING,
    LOSSES,
    MEANWHILE,
    ORDERLESS,
    PRINTING,
    PURE,
    READING,
    SETTINGS,
    is_agreed,
    is_known,
)
from horovodize.facts.differences.presence import BUILT_IN, PRESENCE, gives_a_number
from horovodize.facts.differences.session_results import SessionResults
from horovodize.facts.differences.sources import FUNCTIONS, METHODS, PREFIXES, Source
from horovodize.facts.feeds import folds
from horovodize.facts.feeds.games import is_game
from horovodize.facts.files.kept import VARIABLES
from horovodize.facts.files.written import Written
from horovodize.facts.horovod import equal_shares
from horovodize.python.syntax import CALLABLES, Function, argument
from horovodize.python.values import ITEM, Values
from horovodize.summary.symbolic import is_symbolic
from horovodize.summary.wrapped_iterables import looked_through

if TYPE_CHECKING:
    from horovodize.facts.differences.flow import Flow, Item, Step

_NESTED = 4  # tuples and dicts in each other


class Calls:
    """The calls of one module."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.module = flow, flow.module
        self.names, self.values, self.syntax = flow.names, flow.values, flow.syntax
        self.sessions = SessionResults(flow)
        self.draws, self.written = Draws(flow.uniformity), Written(flow.module)

    def step(self, step: Step, call: ast.Call, item: Item) -> None:
        if call in self._averaged:
            return
        if call in self._training:
            if not self.flow.metrics.are_averaged(call):
                step.varies(Source.ROWS, call)
        elif call in self.sessions.runs:
            self.sessions.step(step, call, item)
        elif self._plays(call):
            step.varies(Source.GAME, call)
            step.ask_all(self._arguments(call))
        elif (path := self.written.opened_for(call)) is not None:
            if self.written.holds(path):
                step.varies(Source.FILES, call)
            step.ask_all(self._arguments(call))
        elif self._follow(step, call, item):
            pass
        elif item.path == (PRESENCE,) and self._is_there(call):
            pass  # whatever it is given
        elif self._is_computing(call):
            step.varies(Source.ROWS, call)
        elif (name := self.names.of(call.func)) is not None:
            self._named(step, call, name, item)
        elif self.draws.draws_own_weights(call):
            step.varies(Source.CHANCE, call)
        elif isinstance(call.func, ast.Name):
            self._by_name(step, call, call.func, item)
        elif isinstance(call.func, ast.Attribute):
            self._method(step, call, call.func, item)
        else:
            self._unresolved(step, call, item)

    def _arguments(self, call: ast.Call) -> list[ast.expr]:
        """What a call is given that may matter to what it gives: not how much it prints meanwhile, nor how much it does side by
        side, but for `interleave`, whose order may go by that."""
        mixes = isinstance(call.func, ast.Attribute) and call.func.attr == "interleave"
        return [*call.args, *(k.value for k in call.keywords if mixes or k.arg not in MEANWHILE)]

    def _plays(self, call: ast.Call) -> bool:
        """`env.step(action)`: a simulation moves on."""
        f = call.func
        if (
            not isinstance(f, ast.Attribute)
            or f.attr != "step"
            or not call.args
            or self.names.of(f) is not None
        ):
            return False
        if self.flow.drive.reaches(call, self._training):
            return False
        known = [
            m for m in self.values.graph.runs(call) if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        return not known or any(is_game(self.syntax, m) or self._tells_several(m) for m in known)

    def _tells_several(self, method: Function) -> bool:
        """Whether a method gives more than one thing, as a game tells state and reward; one's own stopper tells one."""
        return any(isinstance(e, ast.Tuple) and len(e.elts) > 1 for e in self.values.returned(method))

    # ------------------------------------------------------------------ of this project

    def _follow(self, step: Step, call: ast.Call, item: Item) -> bool:
        """Follows a call into the functions of the project that it runs."""
        functions = self.values.graph.runs(call)
        for function in functions:
            if isinstance(function, CALLABLES):
                self.flow.control.returned(step, function, item.path, item.size)
        for function in self._truths(call) if not item.path and not item.size else ():
            self.flow.control.returned(step, function, (), False)
        return bool(functions)

    def _truths(self, call: ast.Call) -> list[ast.FunctionDef]:
        """What decides whether an object that is made here counts as true: its `__bool__`."""
        made = self.values.callee(call)
        family = self.values.family(made) if isinstance(made, ast.ClassDef) else ()
        return [s for c in family for s in c.body if isinstance(s, ast.FunctionDef) and s.name == "__bool__"]

    @cached_property
    def _training(self) -> set[ast.AST]:
        return {u.call for u in self.flow.sites.updates} | {f.call for f in self.flow.sites.fits}

    @cached_property
    def keyed(self) -> frozenset[ast.Call]:
        """The calls that order or pick elements by a `key`."""
        return order_keys.keyed(self.module)

    @cached_property
    def hands_elements(self) -> bool:
        """Whether a function may be handed elements, one after another, by a `key`, `map` or `filter`."""
        each = self.module.calls_called("map", "filter")
        return bool(self.keyed) or any(isinstance(c.func, ast.Name) for c in each)

    @cached_property
    def _averaged(self) -> set[ast.AST]:
        """What all ranks are given alike once the tapes average their gradients."""
        return set(self.flow.sites.training_gradients)

    def _is_computing(self, call: ast.Call) -> bool:
        """Whether a model, a layer, a metric or a loss computes something: what of, only the run knows."""
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            return False
        return self._is_computed_by(call)

    def _is_computed_by(self, call: ast.Call) -> bool:
        made = [self.values.made_by(c) for c in self.values.calls(call.func) if c is not call]
        return any(COMPUTES & names or any(n.startswith(LOSSES) for n in names) for names in made)

    def _is_there(self, call: ast.Call) -> bool:
        own = self._is_computed_by(call) or self.flow.is_builtin(call.func, *BUILT_IN)
        return own or gives_a_number(call, self.names.of(call.func))

    # ------------------------------------------------------------------ of libraries

    def _named(self, step: Step, call: ast.Call, name: str, item: Item) -> None:
        given = self._arguments(call)
        if self.names.last(call.func) == "tqdm" and looked_through(self.module, call):
            step.ask(call.args[0], item.path, item.size)  # it only shows how far one has come
            return
        if name in PRINTING and call.args:
            step.ask(call.args[0], item.path, item.size)
            return
        if name in ASK_FOR_TYPES or catalogue.hook_only_looks(name):
            return
        if call in self.keyed and not item.size:
            order_keys.ask(step, self, call, item)  # `heapq.nsmallest(3, members, key=…)`
        if name in COUNTING:
            step.ask_all(given, size=True)
            return
        if name in JOINING and item.size and given and isinstance(given[0], (ast.List, ast.Tuple)):
            step.ask_all(given[0].elts, size=True)
            return
        if item.size and not item.path and (first := _first_of_shape(call, 1)) is not None:
            step.ask(first)
            return
        if name.endswith(".data.Dataset.from_tensor_slices") and item.size:
            step.ask_all(_arrays(self.module.values, given), size=True)  # as many as there are rows in each
            return
        if name.endswith(".data.Dataset.from_generator") and item.size:
            for function in self._generators(call):
                self.flow.control.returned(step, function, item.path, True)
        if is_agreed(name):
            if any(k.arg in ("process_set", None) for k in call.keywords):
                self._unresolved(step, call, item)  # of some ranks only
            return
        source = FUNCTIONS.get(name) or next((s for p, s in PREFIXES if name.startswith(p)), None)
        if name.startswith("tensorflow.") and source is Source.CHANCE and self.flow.sites.builds_graph:
            source = None  # an operation of a graph: what it gives, a session gives
        if source is Source.CHANCE:
            if self.draws.is_drawn(name) and not self.draws.is_fixed(call, name):
                if not item.size or self.draws.gives_one(call, name.rsplit(".", 1)[-1]):
                    step.varies(Source.CHANCE, call)
        elif source is Source.FILES:
            self._files(step, call, name)
        elif source is not None:
            step.varies(source, call)
        elif name in ("os.getenv", "os.environ.get"):
            if call.args:
                self.flow.environment(step, call.args[0])
        elif name in READING or name.startswith("pandas.read_"):
            if call.args and self.written.holds(call.args[0]):
                step.varies(Source.FILES, call)
        elif name in VARIABLES and call in self.flow.kept.restored:
            step.varies(Source.FILES, call)
        elif not is_known(name):  # also a relative import
            if isinstance(call.func, ast.Attribute) and self._is_plain(call.func):
                step.ask(call.func.value, (), item.size)
            else:
                self._unresolved(step, call, item)
                return
        step.ask_all(given, item.size)

    def _generators(self, call: ast.Call) -> list[ast.AST]:
        """The functions whose elements a data set has that is made of a generator: `from_generator(rows, …)`."""
        given = argument(call, "generator", 0)
        origins = self.values.origins(given) if given is not None else ()
        return [o.node for o in origins if isinstance(o.node, CALLABLES) and not o.path]

    def _files(self, step: Step, call: ast.Call, name: str) -> None:
        """Whether a file is there differs, and what a folder holds: not where that is data, which all ranks have."""
        paths = call.args[:1]
        lists = name.rsplit(".", 1)[-1] in LISTING
        plain = (
            bool(paths)
            and (lists or self.written.reads(paths[0]))
            and not name.startswith("tensorflow.train.")
        )
        if not plain or any(self.written.may_differ(p) for p in paths) or self.written.finds_checkpoint(call):
            step.varies(Source.FILES, call)

    def _by_name(self, step: Step, call: ast.Call, func: ast.Name, item: Item) -> None:
        name = func.id
        if not self.flow.scopes.is_builtin(func):
            self._unresolved(step, call, item)
        elif name == "len":
            step.ask_all(call.args, size=True)
        elif name == "input":
            step.varies(Source.INPUT, call)
        elif name in ("id", "hash"):
            step.varies(Source.HOST, call)
        elif name == "open":
            if call.args and self.written.holds(call.args[0]):
                step.varies(Source.FILES, call)
            step.ask_all(self._arguments(call))
        elif name in ("isinstance", "callable", "type", "super", "issubclass"):
            pass
        elif name == "getattr" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
            self.flow.named(step, str(call.args[1].value), call, item)
            step.ask_all(self._arguments(call))
        elif name == "vars" and self._is_parsed(call):
            step.ask_all(call.args, item.size)
        elif name in ("locals", "vars", "globals", "exec", "__import__"):
            step.unknown(f"`{name}` is not followed", call)
        elif name in ITERATING:
            self._iterating(step, call, name, item)
        elif name in ORDERLESS and not item.size:
            for e in map(self._unlisted, self._arguments(call)):
                step.ask(e, (ITEM,) if len(call.args) == 1 else ())
                step.ask(e, (), True)
            order_keys.ask(step, self, call, item)
        elif name in ("range", "xrange") and not item.path:
            step.ask_all(call.args)
        elif name == "bool" and all(self._is_container(e) for e in call.args):
            step.ask_all(call.args, size=True)  # whether it holds anything
        elif name in ("int", "float", "bool", "str", "abs", "round", "range", "xrange"):
            step.ask_all(call.args)
        else:
            step.ask_all(self._arguments(call), item.size)

    def _is_container(self, e: ast.expr) -> bool:
        """Whether something is a list or a dictionary wherever it is set: `{}`, later `{"seconds": elapsed}`."""
        made = [o.node for o in self.values.origins(e)]
        return all(isinstance(n, (ast.List, ast.Dict, ast.Tuple, ast.Set)) for n in made)

    def _is_parsed(self, call: ast.Call) -> bool:
        """Whether a call is given what was read from the command line: `vars(parser.parse_args())`."""
        made = [c for e in call.args for c in self.values.calls(e)]
        return bool(made) and all(command_line.parses(self.module, c) for c in made)

    def _unlisted(self, e: ast.expr) -> ast.expr:
        """`words` of `list(words)`: in what order a list holds them is nothing to who sorts it."""
        while (
            isinstance(e, ast.Call)
            and self.names.last(e.func) in ("list", "tuple")
            and self.flow.scopes.is_builtin(e.func)
            and len(e.args) == 1
        ):
            e = e.args[0]
        return e

    def _iterating(self, step: Step, call: ast.Call, name: str, item: Item) -> None:
        given, path = self._arguments(call), item.path
        if item.size and not path and name != "next":
            step.ask_all(given, size=True)
            if name != "filter":
                return
        inner = path[1:] if path and name != "next" else path
        if name == "enumerate" and path:
            if inner and inner[0] == 0:
                return  # it counts
            inner = inner[1:]
        if name == "zip" and inner and isinstance(inner[0], int) and 0 <= inner[0] < len(given):
            given, inner = [given[inner[0]]], inner[1:]
        if order_keys.goes_through(self.module, call):
            for made in (o.node for o in self.values.origins(given[0]) if not o.path) if given else ():
                self.flow.control.returned(
                    step, made, inner if name == "map" else (), item.size and name == "map"
                )
        for e in given:
            self.flow.iterated(step, e, inner, item.size)
        if not path:
            step.ask_all(given, size=True)

    # ------------------------------------------------------------------ of objects

    def _method(self, step: Step, call: ast.Call, func: ast.Attribute, item: Item) -> None:
        if func.attr == "enumerate" and item.path[1:2] == (0,):
            return  # a dataset's: it counts
        if _gives_keys(func.attr, item.path) and not call.args and self._keys(step, func.value):
            return
        if func.attr == "cardinality" and not call.args:
            step.ask(func.value, (), size=True)
            return
        if item.size and func.attr == "repeat" and not call.args and not call.keywords:
            return  # a data set without an end, on every rank
        parts = folds.told(self.module, call) if item.size and not item.path else None
        if parts is not None:
            return step.ask_all(parts)
        if item.size and not item.path and (first := _first_of_shape(call, 0)) is not None:
            return step.ask(first)
        shared = equal_shares.of(call) if item.size else None
        if shared is not None:
            step.ask(shared, (), size=True)
            return
        if item.size and func.attr in AS_MANY and self.draws.maker(call) is None:
            step.ask(func.value, (), size=True)
            return
        maker = self.draws.maker(call)
        if maker is not None:
            if not self.draws.gives_seed(maker) and (not item.size or self.draws.gives_one(call, func.attr)):
                step.varies(Source.CHANCE, call)
            step.ask_all(self._arguments(call), item.size)
            return
        source = METHODS.get(func.attr)
        if source is Source.FILES and (call.args or self._made_here(func.value)):
            source = None
        if source is not None:
            step.varies(source, call)
        elif func.attr in ("pop", "popitem") and self.flow._is_set(func.value):
            step.varies(Source.ORDER, call)
        elif not self._is_plain(func):
            self._unresolved(step, call, item)
            return
        key = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        by_key = func.attr == "get" and isinstance(key, str)
        step.ask(func.value, (str(key), *item.path) if by_key else (), item.size)
        step.ask_all(self._arguments(call), item.size)

    def _keys(self, step: Step, table: ast.expr) -> bool:
        """Asks for the keys of a dictionary that is written out, whatever it holds; False where it isn't one."""
        made = [o.node for o in self.values.origins(table)]
        if not made or not all(isinstance(n, (ast.Dict, ast.DictComp)) for n in made):
            return False
        for n in made:
            step.ask_all(
                n.keys if isinstance(n, ast.Dict) else [n.key] if isinstance(n, ast.DictComp) else []
            )
        step.ask(table, (), True)
        return True

    def _made_here(self, e: ast.expr) -> bool:
        return any(isinstance(self.values.callee(c), ast.ClassDef) for c in self.values.calls(e))

    def _is_plain(self, func: ast.Attribute) -> bool:
        """Whether a method gives no more than the object that it is called on holds."""
        if func.attr in PURE:
            return True
        written = ast.unparse(func.value).lower().split(".")
        if any(part in written for part in SETTINGS):
            return True
        made = [self.names.of(c.func) for c in self.values.calls(func.value)]
        if made and all(name is not None and is_known(name) for name in made):
            return True
        return isinstance(func.value, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.BinOp))

    def _unresolved(self, step: Step, call: ast.Call, item: Item) -> None:
        """A call that can't be followed. What makes an object is taken to be the same everywhere, and so is how much data a
        call gives."""
        func, given = call.func, self._arguments(call)
        if isinstance(func, ast.Call) and isinstance(func.func, ast.Name) and func.func.id == "type":
            step.ask_all(given, item.size)  # a conversion to the type of something
            return
        last = self.names.last(func)
        step.ask_all(given, item.size)
        step.ask(func.value if isinstance(func, ast.Attribute) else func, (), item.size)
        makes = last[:1].isupper() or any(part in last.lower() for part in SETTINGS)
        if item.size or makes or self._is_symbolic(call):
            return
        if self._under_tape(call):
            step.varies(Source.ROWS, call)
        else:
            step.unknown(f"it can't be seen what `{_short(func)}` gives", call)

    def _is_symbolic(self, call: ast.Call) -> bool:
        """Whether a layer of Keras is put on a `keras.Input`: a part of a model, no number."""
        made = self.values.calls(call.func) or ([call.func] if isinstance(call.func, ast.Call) else [])
        if not made or not all((self.names.of(c.func) or "").startswith(LAYERS) for c in made):
            return False
        return bool(call.args) and is_symbolic(self.module, call.args[0])

    def _under_tape(self, call: ast.Call) -> bool:
        return any(
            isinstance(a, ast.With) and any(i.context_expr in self.flow.sites.tapes for i in a.items)
            for a in self.syntax.ancestors(call)
        )


def _short(func: ast.expr) -> str:
    text = ast.unparse(func)
    return f"{text}()" if len(text) <= 40 else f"{text[:37]}...()"


def _gives_keys(method: str, path: tuple[int | str, ...]) -> bool:
    """Whether of what a method of a dictionary gives, keys are asked for: `k` of `for k, v in result.items():`."""
    return path[:1] == (ITEM,) and (method == "keys" or (method == "items" and path[1:2] == (0,)))


def _first_of_shape(call: ast.Call, at: int) -> ast.expr | None:
    """How many rows something is given that is brought into a shape: `n` of `x.reshape(n, -1)`, `np.reshape(x, (n, 4))`; None
    where that follows from the others.

    at: where the shape stands"""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    shape = call.args[at:] if called == "reshape" else []
    if len(shape) == 1 and isinstance(shape[0], (ast.Tuple, ast.List)):
        shape = shape[0].elts
    elif len(shape) == 1 and not isinstance(shape[0], ast.Constant):
        return None  # a whole shape, which may leave that open
    known = bool(shape) and not isinstance(shape[0], (ast.UnaryOp, ast.Starred))
    return shape[0] if known else None


def _arrays(values: Values, given: Iterable[ast.expr], depth: int = 0) -> Iterator[ast.expr]:
    """The arrays that a data set is made of, side by side: `x` and `y` of `from_tensor_slices((x, y))`."""
    for e in given:
        origins = values.origins(e)
        made = origins[0].node if len(origins) == 1 and not origins[0].path else e
        if isinstance(made, ast.Tuple) and depth < _NESTED:
            yield from _arrays(values, made.elts, depth + 1)
        elif isinstance(made, ast.Dict) and None not in made.keys and depth < _NESTED:
            yield from _arrays(values, made.values, depth + 1)
        else:
            yield e
