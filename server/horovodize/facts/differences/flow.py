"""One step back along the flow of values: what a value is made of, and what decided that it was set.

Everything that may matter is followed: a step too many can make an answer *varies* or *unknown*, never *uniform*.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from horovodize.facts.counting import records
from horovodize.facts.counting.counter_kinds import ITERATIONS
from horovodize.facts.counting.fetched import Fetched
from horovodize.facts.counting.hooks import Hooks
from horovodize.facts.differences import order_keys
from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.calls import Calls
from horovodize.facts.differences.class_attributes import of_class
from horovodize.facts.differences.control import Control
from horovodize.facts.differences.given_whole import given_whole
from horovodize.facts.differences.presence import NEVER_NONE, PRESENCE
from horovodize.facts.differences.signals import Signals
from horovodize.facts.differences.sources import (
    ATTRIBUTES,
    NOT_TRACKED,
    OF_ONE_PROCESS,
    OWN_PARAMETERS,
    TRACKED,
    Source,
)
from horovodize.facts.differences.thread_changes import ThreadChanges
from horovodize.facts.feeds.dealt import Dealt
from horovodize.facts.files.kept import Kept
from horovodize.facts.horovod import equal_shares
from horovodize.facts.horovod.fit_metrics import FitMetrics
from horovodize.facts.horovod.several_ranks import SeveralRanks
from horovodize.python import fields
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.parts_taken import part_taken
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, FUNCTIONS, argument, arguments, says_none
from horovodize.python.values import ITEM
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive
from horovodize.summary.sites import Sites

if TYPE_CHECKING:
    from horovodize.facts.differences.uniform import Uniformity

_PICKING = ("min", "max", "next", "sorted")
_SIZES = ("shape", "ndim", "size")
# Attributes that Keras gives an object, or that hold settings: the same everywhere unless something here sets them.
_GIVEN = {
    "args", "flags", "FLAGS", "config", "cfg", "conf", "opt", "opts", "options", "params", "hparams", "settings", "name",
    "built",
    "model", "optimizer", "iterations", "stop_training", "dtype", "trainable", "layers", "weights", "trainable_variables", "hp",
    "learning_rate", "lr", "metrics", "metrics_names", "__class__", "__name__", "__dict__",
}  # fmt: skip
_DECORATED_MAINS = ("click", "hydra", "typer", "fire", "gin", "sacred", "absl")


class Item(NamedTuple):
    """What is asked of a node: its value or, with `size`, how many elements that has (a number stands for itself). `path` as in
    `Values`: the part of it, ITEM for what iterating gives; a name stands for a key, or PRESENCE."""

    node: ast.AST
    path: tuple[int | str, ...] = ()
    size: bool = False


@dataclass
class Step:
    """What one step finds, and what is to be asked next."""

    found: list[Varies | Unknown] = field(default_factory=list)
    following: list[Item] = field(default_factory=list)

    def varies(self, kind: Source, where: ast.AST) -> None:
        self.found.append(Varies(kind, where))

    def unknown(self, why: str, where: ast.AST) -> None:
        self.found.append(Unknown(why, where))

    def ask(self, node: ast.AST | None, path: tuple[int | str, ...] = (), size: bool = False) -> None:
        if node is not None and not isinstance(node, ast.Constant):
            self.following.append(Item(node, path, size))

    def ask_all(self, nodes: Iterable[ast.AST | None], size: bool = False) -> None:
        for node in nodes:
            self.ask(node, (), size)


class Flow:
    """The steps of one module."""

    def __init__(
        self,
        uniformity: Uniformity,
        module: Module,
        sites: Sites,
        drive: Drive,
        dealt: Dealt,
        kept: Kept,
        decisions: bool,
    ) -> None:
        self.uniformity, self.module, self.sites, self.drive = uniformity, module, sites, drive
        self.syntax, self.scopes, self.names, self.values = (
            module.syntax, module.scopes, module.names, module.values,
        )  # fmt: skip
        self.dealt, self.kept, self.metrics = dealt, kept, FitMetrics(module, sites)
        self.signals, self.threads, self.hooks = Signals(module), ThreadChanges(module), Hooks(module)
        self.control = Control(self, decisions)
        self.fetched, self.several = Fetched(module, sites), SeveralRanks(module)
        self.calls = Calls(self)

    def step(self, item: Item) -> Step:
        step, node = Step(), item.node
        if item.path == (PRESENCE,) and isinstance(node, NEVER_NONE):
            return step
        match node:
            case ast.Name():
                self._name(step, node, item)
            case ast.Attribute():
                self._attribute(step, node, item)
            case ast.Call() if self.signals.sets_event(node):
                step.varies(Source.SIGNAL, node)
            case ast.Call():
                self.calls.step(step, node, item)
            case ast.Subscript():
                self._subscript(step, node, item)
            case ast.Try():
                self.control.failure(step, node)
            case ast.Starred() | ast.Await() | ast.NamedExpr():
                step.ask(node.value, item.path, item.size)
            case ast.IfExp():
                several = self.several.answer(node.test)
                if several is None:
                    step.ask(node.test)
                for arm in (node.body,) * (several is not False) + (node.orelse,) * (not several):
                    step.ask(arm, item.path, item.size)
            case ast.BoolOp():
                for value in node.values:
                    step.ask(value, item.path, item.size)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                step.ask(left, (PRESENCE,))
            case ast.Compare(left=ast.Constant(), ops=[ast.In() | ast.NotIn()], comparators=[held]) if (
                self._is_table(held)
            ):
                step.ask(held, (), True)  # whether it has a key
            case ast.Tuple() | ast.List() | ast.Set():
                self._display(step, node, item)
            case ast.Dict():
                self._dict(step, node, item)
            case ast.Yield() | ast.YieldFrom():
                step.unknown("it is what is sent to a generator", node)
            case _ if isinstance(node, COMPREHENSIONS):
                self._comprehension(step, node, item)
            case ast.BinOp() if item.size:
                step.ask_all([node.left, node.right], size=True)
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Constant():
                pass  # a function, not what it gives
            case ast.expr() | ast.FormattedValue() | ast.keyword():
                step.ask_all(
                    c for c in ast.iter_child_nodes(node) if isinstance(c, (ast.expr, ast.FormattedValue))
                )
            case _:
                pass
        return step

    # ------------------------------------------------------------------ names

    def _name(self, step: Step, name: ast.Name, item: Item) -> None:
        if self.dealt.is_own(name):
            step.varies(Source.ROWS, name)
            return
        for b in self.several.given(
            self.scopes.reaching(name), name
        ):  # what nothing sets fails on every rank
            self._binding(step, b, name, item)
        self.control.changes(step, name, item)

    def _binding(self, step: Step, b: Binding, use: ast.expr, item: Item) -> None:
        stays = self._what_it_was(b)
        if stays is not None:
            step.ask(stays, item.path, item.size)
            return
        if self.signals.sets(b):
            step.varies(Source.SIGNAL, b.anchor)
        if self.control.counted and self.threads.sets(b, use):
            step.varies(Source.THREAD, b.anchor)
        path = () if -1 in b.path else (*b.path, *item.path)
        match b.kind:
            case "assign" | "with" | "augment":
                step.ask(b.value, path, item.size)
            case "item":
                if b.value is not None:
                    self.iterated(step, b.value, path, item.size)
            case "parameter":
                self._parameter(step, b, item)
            case "except":
                step.varies(Source.FAILURE, b.anchor)
            case "match":
                step.ask(getattr(b.statement, "subject", None))
            case _:
                pass  # functions, classes, modules
        if b.kind in ("assign", "with", "augment", "item"):
            self.control.of_binding(step, b, use)

    def _what_it_was(self, b: Binding) -> ast.Name | None:
        """The name itself, where that is given what it was already, and so whether it is decides nothing: a download gives the
        path that it was told, `path, _ = urlretrieve(url, path)`."""
        value = b.value
        if b.kind != "assign" or b.path != (0,) or not isinstance(value, ast.Call):
            return None
        if self.names.last(value.func) != "urlretrieve":
            return None
        told = argument(value, "filename", 1)
        return told if isinstance(told, ast.Name) and told.id == b.name else None

    def iterated(self, step: Step, e: ast.expr, path: tuple[int | str, ...] = (), size: bool = False) -> None:
        """What going through something gives, one after another."""
        if self._is_set(e):
            step.varies(Source.ORDER, e)
        step.ask(e, (ITEM, *path), size)

    def _is_set(self, e: ast.expr) -> bool:
        """Whether something may be a set whose order differs: one of numbers has the same everywhere."""
        return any(not o.path and self._is_set_itself(o.node) for o in self.values.origins(e))

    def _is_set_itself(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Set):
            return not all(
                isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) for e in node.elts
            )
        if isinstance(node, ast.Call) and self.is_builtin(node.func, "set", "frozenset"):
            given = node.args[0] if node.args else None
            numbers = isinstance(given, ast.Call) and self.is_builtin(given.func, "range")
            return given is not None and not numbers and not self._holds_numbers(given)
        if isinstance(node, ast.SetComp):
            return not self._holds_numbers(node.elt)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
            return self._is_set(node.left) and self._is_set(node.right)
        return False

    def _holds_numbers(self, e: ast.expr) -> bool:
        elements = e.elts if isinstance(e, (ast.List, ast.Tuple)) else [e]
        return bool(elements) and all(
            isinstance(x, ast.Constant) and isinstance(x.value, (int, float))
            or isinstance(x, ast.Call) and self.is_builtin(x.func, "int", "len", "round", "float")
            for x in elements
        )  # fmt: skip

    def _is_table(self, e: ast.expr) -> bool:
        """Whether something is a dictionary, wherever it is made."""
        made = [o.node for o in self.values.origins(e)]
        return all(
            isinstance(n, ast.Dict)
            or (isinstance(n, ast.Call) and self.names.last(n.func) in ("dict", "defaultdict", "OrderedDict"))
            for n in made
        )

    def is_builtin(self, e: ast.AST, *names: str) -> bool:
        return isinstance(e, ast.Name) and e.id in names and not self.scopes.reaching(e)

    def _parameter(self, step: Step, b: Binding, item: Item) -> None:
        function, anchor = b.statement, b.anchor
        passed = self.values.passed(b)
        called = bool(self.values.callers(function))
        if b.name in OWN_PARAMETERS and not called and all(_is_nothing(p) for p in passed):
            step.varies(Source.ROWS, anchor)
            return
        for e in passed:
            step.ask(e, item.path, item.size)
        if passed or not isinstance(function, CALLABLES):
            return
        a = function.args
        if anchor in (a.vararg, a.kwarg):
            for call in self.values.callers(function):
                step.ask_all(arguments(call))
        elif (hook := self.hooks.of(function)) is not None and b.name == hook.number:
            pass  # all ranks are in the same epoch, and take the same step
        elif self.calls.hands_elements and (held := order_keys.passed(self.module, b)):
            for e, of_element in held:
                step.ask(e, (*of_element, *item.path), item.size)
        elif isinstance(function, ast.Lambda):
            step.unknown(f"it can't be seen what is passed for `{b.name}`", anchor)
        elif self._is_self(function, anchor):
            pass
        elif unpacked := self._unpacked(function):
            for e, starred in unpacked:
                step.ask(e, () if starred else (b.name, *item.path), item.size)
        elif called or self._is_handed_over(function):
            step.unknown(f"it can't be seen what is passed for `{b.name}`", anchor)

    def _unpacked(self, function: ast.AST) -> list[tuple[ast.expr, bool]]:
        """What calls unpack for a function: `main(*args)` (True), `main(**kwargs)`."""
        calls = self.values.callers(function)
        starred = [(a.value, True) for c in calls for a in c.args if isinstance(a, ast.Starred)]
        return starred + [(k.value, False) for c in calls for k in c.keywords if k.arg is None]

    def _is_self(self, function: ast.AST, anchor: ast.AST) -> bool:
        a = function.args if isinstance(function, FUNCTIONS) else None
        first = [*a.posonlyargs, *a.args][:1] if a is not None else []
        return anchor in first and self.syntax.method_class(function) is not None

    def _is_handed_over(self, function: ast.AST) -> bool:
        """Whether a function that nothing here calls is given to something that does. One that is not is called from outside,
        with what holds for the whole run: `def main(epochs):`."""
        if not isinstance(function, FUNCTIONS):
            return True
        if function.decorator_list or self.syntax.method_class(function) is not None:
            return False
        loads = [n for n in self.module.loads.get(function.name) if isinstance(n, ast.Name)]
        return any(not self._runs_main(n) for n in loads)

    def _runs_main(self, name: ast.Name) -> bool:
        call = self.syntax.parent.get(name)
        if not isinstance(call, ast.Call):
            return False
        called = self.names.of(call.func) or ""
        return called.split(".")[0] in _DECORATED_MAINS or called.endswith("app.run")

    # ------------------------------------------------------------------ attributes

    def _attribute(self, step: Step, e: ast.Attribute, item: Item) -> None:
        if e.attr in _SIZES and self.names.of(e) is None and not self.values.attribute_bindings(e):
            step.ask(e.value, (), True)
            return
        if e.attr == "results" and self.fetched.is_told(e):
            self.calls.sessions.told(step, e, self.fetched.fetches(e), item)
            return
        name = self.names.of(e)
        own = self.values.attribute_bindings(e)
        bindings = [*own, *of_class(self.module, e)]
        for b in bindings:
            self._binding(step, b, e, item)
        replaced = not own and name is None and records.is_replaced(self.module, e)
        for value, path in records.given(self.module, e) if replaced or (bindings and not own) else ():
            step.ask(value, (*path, *item.path), item.size)
        for kept in given_whole(self.module, e.value) if bindings else ():
            step.ask(kept)
        for call in order_keys.picks(self.calls, e.value) if bindings and self.calls.keyed else ():
            order_keys.ask(step, self.calls, call, item)
        self.control.changes(step, e, item)
        if e.attr not in NOT_TRACKED and not bindings and self._is_tracked(e.value):
            step.varies(Source.RUN, e)
            return
        if bindings or replaced or name is not None or self.scopes.links.module(e.value) is not None:
            return
        if self.values.definitions.has_method(e.attr):
            for method in self.values.definitions.methods_of(e.attr, self.values.receiver(e.value)):
                self.control.returned(step, method, item.path, item.size)
                return
        if e.attr == "history" and self.metrics.are_averaged_of(e):
            return
        if e.attr in ATTRIBUTES:
            step.varies(ATTRIBUTES[e.attr], e)
            return
        if e.attr == "optimizer":
            return  # what a model was compiled with: an object, and what is set in it is told where it is set
        if self._is_restored(e):
            step.varies(Source.FILES, e)
        if self._is_of_self(e) and e.attr not in _GIVEN and not self._takes_any(e):
            step.unknown(f"nothing here sets `{ast.unparse(e)}`", e)
            return
        made_with = self._made_with(e)
        for kept in made_with:
            step.ask(kept, item.path, item.size)
        if not made_with and self._is_picked(e.value):
            self.named(step, e.attr, e, item)
            step.ask_all(fields.given_anywhere(self.module, e.attr))
        elif self.module.loads.get("setattr"):
            step.ask_all(fields.set_by_name(self.module, e.attr))
        if len(made_with) != 1 or len(self.values.origins(e.value)) != 1:
            step.ask(e.value)  # which object it is; of one alone it doesn't matter what else it was given

    def _is_tracked(self, e: ast.expr) -> bool:
        """Whether an expression is a run that only rank 0 tracks: `wandb.run`, what `wandb.init(…)` gives."""
        if self.names.of(e) in TRACKED:
            return True
        return any(self.names.of(c.func) in TRACKED for c in self.values.calls(e))

    def named(self, step: Step, attribute: str, use: ast.expr, item: Item) -> None:
        """What an attribute of that name is set to, of whatever object it is."""
        for b in self.scopes.attributes.get(attribute, ()):
            self._binding(step, b, use, item)
        step.ask_all(fields.set_by_name(self.module, attribute))

    def _is_picked(self, e: ast.expr) -> bool:
        """Whether an object is one of several that something holds: `reports[-1]`, `min(reports)`, `lambda r: r.loss` by which
        they are ordered."""
        handed = self.calls.hands_elements and isinstance(e, ast.Name)
        bound = self.scopes.reaching(e) if handed and isinstance(e, ast.Name) else []
        if any(order_keys.passed(self.module, b) for b in bound if b.kind == "parameter"):
            return True
        for o in self.values.origins(e):
            call = o.node if isinstance(o.node, ast.Call) else None
            picks = call is not None and isinstance(call.func, ast.Name) and call.func.id in _PICKING
            if picks or o.path or isinstance(o.node, ast.Subscript):
                return True
        return False

    def _made_with(self, e: ast.Attribute) -> list[ast.expr]:
        """What an object was given under the name of an attribute: `Config(epochs=n).epochs`."""
        return [
            given
            for call in self.values.calls(e.value)
            for given in fields.given_as(self.module, call, e.attr)
        ]

    def _is_of_self(self, e: ast.Attribute) -> bool:
        function = self.syntax.function(e)
        a = function.args.args if function is not None else []
        return (
            isinstance(e.value, ast.Name)
            and bool(a)
            and e.value.id == a[0].arg
            and self.syntax.method_class(function) is not None
        )

    def _takes_any(self, e: ast.Attribute) -> bool:
        """Whether a class gives its objects attributes by names that only the run knows (`setattr`, `__dict__`), or derives
        from one of another package that may."""
        owner = self.syntax.owner(e)
        if owner is None:
            return False
        if any(self.names.of(b) is not None for c in self.values.family(owner) for b in c.bases):
            return True
        return any(
            isinstance(n, ast.Name) and n.id == "setattr" or isinstance(n, ast.Attribute) and n.attr == "__dict__"
            for n in walk(owner)
        )  # fmt: skip

    def _is_restored(self, e: ast.Attribute) -> bool:
        """`optimizer.iterations` before the first step, after a checkpoint was restored: only rank 0 may have had one."""
        if e.attr not in ITERATIONS or self.syntax.loops(e):
            return False
        made = self.values.calls(e.value)
        return any(call in self.kept.restored for call in made) or self.kept.comes_with_model(e.value)

    # ------------------------------------------------------------------ parts

    def _subscript(self, step: Step, e: ast.Subscript, item: Item) -> None:
        if self.names.of(e.value) == "os.environ":
            self.environment(step, e.slice)
            return
        for b in self.values.held.item_bindings(e) if self.signals.are_handled else ():
            if self.signals.sets(b):
                step.varies(Source.SIGNAL, b.anchor)
        if item.size and not item.path and (ranks := equal_shares.stride(e)) is not None:
            step.ask(e.value, (), True)
            step.ask(ranks)
            return
        key = e.slice.value if isinstance(e.slice, ast.Constant) else None
        part = part_taken(self.module, e.slice)
        if isinstance(key, (int, str)) and not isinstance(key, bool) and key != -1:
            step.ask(e.value, (key, *item.path), item.size)
        elif item.size and part is None:
            step.ask(e.value, (), True)
            step.ask(e.slice, (), True)
        else:
            step.ask(e.value, item.path if part is not None else (), item.size)
            step.ask_all(part if part is not None else [e.slice])

    def environment(self, step: Step, key: ast.expr) -> None:
        """A variable of the environment: launchers pass it on, but for those that are the process's or the host's own."""
        name = key.value if isinstance(key, ast.Constant) else None
        if isinstance(name, str) and any(own in name.upper() for own in OF_ONE_PROCESS):
            step.varies(Source.HOST, key)
        step.ask(key)

    def _display(self, step: Step, e: ast.Tuple | ast.List | ast.Set, item: Item) -> None:
        starred = [x for x in e.elts if isinstance(x, ast.Starred)]
        first = item.path[0] if item.path else None
        if isinstance(first, int) and 0 <= first < len(e.elts) and not starred:
            step.ask(e.elts[first], item.path[1:], item.size)
        elif item.path:
            for x in e.elts:
                step.ask(x, item.path[1:], item.size)
        elif item.size:
            step.ask_all([s.value for s in starred], size=True)
        else:
            step.ask_all(e.elts)

    def _dict(self, step: Step, e: ast.Dict, item: Item) -> None:
        first = item.path[0] if item.path else None
        keys = [k.value if isinstance(k, ast.Constant) else None for k in e.keys]
        if item.size and not item.path:
            return
        if isinstance(first, (str, int)) and first != ITEM and first in keys and None not in keys:
            step.ask(e.values[len(keys) - 1 - keys[::-1].index(first)], item.path[1:], item.size)
            return
        for k, v in zip(e.keys, e.values, strict=True):
            step.ask(k)
            step.ask(v, item.path[1:], item.size)

    def _comprehension(self, step: Step, e: ast.expr, item: Item) -> None:
        assert isinstance(e, COMPREHENSIONS)
        for generator in e.generators:
            step.ask(generator.iter, (), True)
            step.ask_all(generator.ifs)
        if item.size and not item.path:
            return
        if isinstance(e, ast.DictComp):
            step.ask_all([e.key, e.value])
        else:
            step.ask(e.elt, item.path[1:], item.size)


def _is_nothing(e: ast.AST) -> bool:
    """`None`, or an empty dictionary: a default in whose place Keras gives something."""
    if isinstance(e, ast.Call):
        return ast.unparse(e) == "dict()"
    return says_none(e) or (isinstance(e, ast.Dict) and not e.keys)
