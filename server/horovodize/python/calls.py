"""Which function a call runs, who calls a function, and what is passed and returned."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from horovodize.python.binding import Binding
from horovodize.python.memo import CALLERS, Memo
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, FUNCTIONS, Function
from horovodize.source.nodes import walk

if TYPE_CHECKING:
    from horovodize.python.values import Origin, Values

Callee: TypeAlias = Function | ast.Lambda | ast.ClassDef

_PARTIAL = "functools.partial"
_FIRE = "fire.Fire"  # calls what it is given, by the command line
# What runs one of two functions that it is given, while a step is traced or a graph is built.
BRANCHING = ("tensorflow.cond", "tensorflow.compat.v1.cond")
# Python's own: no methods of this module are theirs.
_BUILTIN = ("dict", "list", "set", "tuple", "str")
_WRITTEN_OUT = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.JoinedStr, *COMPREHENSIONS)
# What gives a function that runs the one it was given.
CALLED_FOR = ("tensorflow.function", "tensorflow.autograph.to_graph", _PARTIAL)


class CallGraph:
    """The calls of one module. It follows values to find functions, and values follow it through them. `before`: what it finds
    the callers of functions by; where there is none, nothing is known of them."""

    def __init__(self, values: Values, before: CallGraph | None) -> None:
        self.values, self.before = values, before
        self.syntax, self.scopes, self.names = values.syntax, values.scopes, values.names
        self.reads, self.definitions = values.scopes.reads, values.definitions
        self._callee: Memo[ast.Call, Callee | None] = Memo(
            self.reads, self._find_callee, None, before._callee if before else None
        )
        self._runs: Memo[ast.Call, tuple[ast.AST, ...]] = Memo(
            self.reads, self._find_runs, (), before._runs if before else None
        )
        self._callers: dict[ast.AST, list[ast.Call]] | None = None
        self._returned: dict[ast.AST, list[ast.expr]] = {}

    def callee(self, call: ast.Call) -> Callee | None:
        """The function or class of this module that a call runs."""
        return self._callee(call)

    # ------------------------------------------------------------------ callers

    def callers(self, function: ast.AST) -> list[ast.Call]:
        """The calls in this module that run a function (constructing a class runs its `__init__`)."""
        self.reads.note("callers", _name(function))
        self.reads.mask |= CALLERS
        if self.before is None:
            return []
        if self._callers is None:
            mask, callers = self.reads.mask, defaultdict[ast.AST, list[ast.Call]](list)
            for call in self.syntax.calls:
                for run in self.before._runs(call):
                    callers[run].append(call)
            self.reads.mask, self._callers = mask, callers
        return self._callers.get(function, [])

    def forget(self, changed: int, gone: Sequence[ast.AST]) -> None:
        """Forgets what changed entries of tables led to, and all about nodes that are gone."""
        calls = [n for n in gone if isinstance(n, ast.Call)]
        self._callee.forget(changed, calls)
        self._runs.forget(changed, calls)
        for function in gone if self._returned else ():
            self._returned.pop(function, None)

    def bring_callers_up_to_date(self) -> int:
        """Gives what has changed of who calls whom, for `Reads`."""
        if self.before is None or self._callers is None:
            return 0
        old, self._callers = self._callers, None
        mask = self.reads.mask
        self.callers(self.syntax.tree)
        self.reads.mask = mask
        new: dict[ast.AST, list[ast.Call]] = self._callers or {}
        names = {_name(f) for f in {*old, *new} if old.get(f) != new.get(f)}
        return self.reads.of("callers", names)

    def _find_callee(self, call: ast.Call) -> Callee | None:
        f = call.func
        if isinstance(f, ast.Name):
            return self._among(self.values.origins(f)) or self._own_class(f) or self._of_object(f)
        if isinstance(f, ast.Attribute):
            if self.scopes.links.module(f.value) is not None:
                return self._among(self.values.origins(f))
            if self.names.of(f) is not None:
                return None
            return self._nested_class(f) or self._method(f)
        return None

    def _among(self, origins: list[Origin]) -> Callee | None:
        """The first function or class among what a value may be."""
        for o in origins:
            if isinstance(o.node, (*CALLABLES, ast.ClassDef)) and not o.path:
                return o.node
        return None

    def _own_class(self, f: ast.Name) -> ast.ClassDef | None:
        """The class that a class method makes an object of: `state = cls()`."""
        method = self.scopes.lookup(f.id, f)
        owner = self.syntax.method_class(method)
        first = method.args.args[:1] if isinstance(method, FUNCTIONS) else []
        is_own = isinstance(method, FUNCTIONS) and any(
            isinstance(d, ast.Name) and d.id == "classmethod" for d in method.decorator_list
        )
        return owner if is_own and [a.arg for a in first] == [f.id] else None

    def _nested_class(self, f: ast.Attribute) -> ast.ClassDef | None:
        """The class in the body of another one: `self.Generator(rate)`, `GAN.Generator(rate)`."""
        cls = self.definitions.class_named(f.attr)
        outer = self.syntax.parent[cls] if cls is not None else None
        if not isinstance(outer, ast.ClassDef):
            return None
        around = {*self.values.receiver(f.value), *(o.node for o in self.values.origins(f.value))}
        return (
            cls
            if any(isinstance(c, ast.ClassDef) and outer in self.values.family(c) for c in around)
            else None
        )

    def _of_object(self, f: ast.Name | ast.Attribute) -> Function | None:
        """What the call of an object runs: `sampler()` of `sampler = Sampler()`."""
        if not self.definitions.has_method("__call__"):
            return None
        return self._most_derived(self.definitions.methods_of("__call__", self.values.receiver(f)))

    def _method(self, f: ast.Attribute) -> Function | ast.Lambda | None:
        if not self.definitions.has_method(f.attr):
            for o in self.values.origins(f):
                if isinstance(o.node, CALLABLES) and not o.path:
                    return o.node  # self.step = tf.function(self._step)
            return self._of_object(f)
        if (
            isinstance(f.value, ast.Call)
            and isinstance(f.value.func, ast.Name)
            and f.value.func.id == "super"
        ):
            owner = self.syntax.owner(f)
            bases = self.values.family(owner) - {owner} if owner is not None else set()
            return self._most_derived(self.definitions.methods_of(f.attr, bases))
        classes = self.values.receiver(f.value)
        found = self._most_derived(self.definitions.methods_of(f.attr, classes))
        if found is None or _is_abstract(found):
            found = next(iter(self._overriding(f)), found)
        if found is not None:
            return found
        named = [c for c in classes if isinstance(c, ast.ClassDef)]
        if named or any(True for _ in self._known_elsewhere(f.value)) or self._is_written_out(f.value):
            return None
        methods = self.definitions.methods(f.attr)
        hands_on = self.syntax.function(f) in methods  # `def save(self): self.model.save()`: another object's
        return methods[0] if len(methods) == 1 and not hands_on else None

    def _is_written_out(self, e: ast.expr) -> bool:
        """Whether an object is always one of Python's own classes: `state.update(saved)` of `state = {"step": 0}`."""
        made = self.values.origins(e)
        return bool(made) and all(not o.path and self._makes_builtin(o.node) for o in made)

    def _makes_builtin(self, n: ast.AST) -> bool:
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            return n.func.id in _BUILTIN and self.scopes.is_builtin(n.func)
        return isinstance(n, _WRITTEN_OUT)

    def _most_derived(self, methods: list[Function]) -> Function | None:
        """Of methods of one name, that of a class from which none of the others' classes is derived."""
        if len(methods) < 2:
            return methods[0] if methods else None
        owners = [cls for m in methods if isinstance(cls := self.syntax.parent[m], ast.ClassDef)]
        families = [self.values.family(cls) - {cls} for cls in owners]
        return next(
            (m for m in methods if not any(self.syntax.parent[m] in family for family in families)),
            methods[0],
        )

    def _overriding(self, f: ast.Attribute) -> list[Function]:
        """The methods of derived classes that `self.name` may be in a method of their base."""
        owner = self.syntax.method_class(function := self.syntax.function(f))
        if function is None or owner is None or not function.args.args:
            return []
        if not isinstance(f.value, ast.Name) or f.value.id != function.args.args[0].arg:
            return []
        return [
            m
            for m in self.definitions.methods(f.attr)
            if isinstance(cls := self.syntax.parent[m], ast.ClassDef)
            and cls is not owner
            and owner in self.values.family(cls)
        ]

    def runs(self, call: ast.Call) -> list[Function | ast.Lambda | ast.ClassDef]:
        """The functions or classes of this module that a call may run: also those that override what it names."""
        callee = self.callee(call)
        others: list[Function | ast.Lambda] = []
        if isinstance(call.func, ast.Attribute):
            others = [*self._overriding(call.func), *self._of_other_classes(call.func, callee)]
        elif isinstance(call.func, ast.Name) and isinstance(callee, CALLABLES):
            others = [  # `step = first if warm else second`, `for due, act in [(at_10, save), (at_50, show)]: if due(step):`
                o.node for o in self.values.origins(call.func) if isinstance(o.node, CALLABLES) and not o.path
            ]
            if self.definitions.has_method("__call__"):
                others += self.definitions.methods_of("__call__", self.values.receiver(call.func))
        return [*([callee] if callee is not None else ()), *(m for m in others if m is not callee)]

    def run_last(self, call: ast.Call) -> list[Function]:
        """The functions that a call runs as the whole of the program: `app.run(main)`, or `app.run()`, which runs `main`;
        `fire.Fire(main)`."""
        name = self.names.of(call.func) or ""
        if not name.endswith("app.run") and name != _FIRE:
            return []
        return list(self._implied(call))

    def _of_other_classes(self, f: ast.Attribute, callee: Callee | None) -> list[Function]:
        """The methods that a call runs where its object is of another class: `net = One() if small else Two()`."""
        owner = self.syntax.parent.get(callee) if callee is not None else None
        if not isinstance(owner, ast.ClassDef) or not self.definitions.has_method(f.attr):
            return []
        family = self.values.family(owner)
        found = self.definitions.methods_of(f.attr, self.values.receiver(f.value))
        return [
            m
            for m in found
            if isinstance(cls := self.syntax.parent[m], ast.ClassDef)
            and cls not in family
            and owner not in self.values.family(cls)
        ]

    def _known_elsewhere(self, e: ast.expr, depth: int = 8) -> Iterator[str]:
        """Canonical names of what an object is made by, where that is not this module; also of the first of calls in a chain:
        `tf.data.Dataset.range(9).shuffle(9)`."""
        for call in self.values.calls(e):
            name = self.names.of(call.func)
            if name is not None:
                yield name
            elif isinstance(call.func, ast.Attribute) and depth:
                yield from self._known_elsewhere(call.func.value, depth - 1)

    def _find_runs(self, call: ast.Call) -> tuple[ast.AST, ...]:
        """The functions that a call runs."""
        callee = self.callee(call)
        if isinstance(callee, ast.ClassDef):
            for cls in [callee, *(c for c in self.values.family(callee) if c is not callee)]:
                init = next((s for s in cls.body if isinstance(s, FUNCTIONS) and s.name == "__init__"), None)
                if init is not None:
                    return (init,)
            return ()
        return tuple(self.runs(call) if callee is not None else self._implied(call))

    def _implied(self, call: ast.Call) -> Iterator[Function]:
        """Functions that a call runs through an argument (`app.run(main)`, `tf.cond(test, apply, wait)`), or through an object
        (`model(x)`: `call`)."""
        name = self.names.of(call.func) or ""
        if name in BRANCHING:
            arms = [*call.args[1:3], *(k.value for k in call.keywords if k.arg in ("true_fn", "false_fn"))]
            yield from self._named(arms)
        elif name == _FIRE:
            yield from self._named(call.args[:1])
        elif name.endswith("app.run"):
            targets = call.args[:1] or []
            yield from self._named(targets)
            if not targets:
                self.reads.note("name", "main")
                main = self.scopes.names[self.syntax.tree].get("main", [])
                yield from (b.statement for b in main if isinstance(b.statement, FUNCTIONS))
        elif isinstance(call.func, ast.Call):
            yield from self._looked_up(call.func)
        elif isinstance(call.func, (ast.Name, ast.Attribute)):
            for made in self.values.calls(call.func):
                yield from self._looked_up(made)
                cls = self.callee(made)
                if isinstance(cls, ast.ClassDef):
                    yield from (
                        s
                        for c in self.values.family(cls)
                        for s in c.body
                        if isinstance(s, FUNCTIONS) and s.name in ("call", "__call__")
                    )

    def _looked_up(self, e: ast.Call) -> Iterator[Function]:
        """The methods that `getattr(hook, name)` may be, of the classes and by the names that can be seen."""
        match e:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]):
                classes = self.values.receiver(owner)
                for text in dict.fromkeys(self._texts(name)):
                    if self.definitions.has_method(text):
                        yield from self.definitions.methods_of(text, classes)

    def _texts(self, e: ast.expr) -> Iterator[str]:
        """What a text may be: `"on_" + event`, `f"on_{event}"`, of an event that functions are told."""
        for o in self.values.origins(e):
            match o.node:
                case ast.Constant(value=str(text)) if not o.path:
                    yield text
                case ast.JoinedStr(values=[ast.Constant(value=str(before)), ast.FormattedValue(value=inner)]):
                    yield from (before + after for after in self._texts(inner))
                case ast.BinOp(left=ast.Constant(value=str(before)), op=ast.Add(), right=inner):
                    yield from (before + after for after in self._texts(inner))

    def _named(self, targets: Iterable[ast.expr]) -> Iterator[Function]:
        """The functions that names stand for."""
        for target in targets:
            for o in self.values.origins(target):
                if isinstance(o.node, FUNCTIONS) and not o.path:
                    yield o.node

    def passed(self, parameter: Binding) -> list[ast.expr]:
        """The expressions that a parameter gets: from this module's calls, or its default where no call passes one."""
        function = parameter.statement
        if not isinstance(function, CALLABLES) or not isinstance(parameter.anchor, ast.arg):
            return []
        a = function.args
        positional = [*a.posonlyargs, *a.args]
        names = [p.arg for p in positional]
        method = self.syntax.method_class(function) is not None and not self.is_static(function)
        if method and names and parameter.anchor is positional[0]:
            return []
        index = names.index(parameter.name) - (1 if method else 0) if parameter.name in names else None
        found: list[ast.expr] = []
        missing = False
        for call in self.callers(function):
            value = self.argument(call, function, parameter.name, index)
            if value is not None:
                found.append(value)
            else:
                missing = True
        if missing or not found:
            default = _default(function, parameter.anchor)
            if default is not None:
                found.append(default)
        return found

    def unpacked(self, parameter: Binding) -> list[tuple[ast.expr, int]]:
        """What a parameter gets of sequences that calls unpack into it, and its place there: of `train(*data())`, 1 for the
        second. Only of the last argument, which it must be to be counted from."""
        function = parameter.statement
        if not isinstance(function, CALLABLES) or not isinstance(parameter.anchor, ast.arg):
            return []
        positional = [*function.args.posonlyargs, *function.args.args]
        if parameter.anchor not in positional:
            return []
        method = self.syntax.method_class(function) is not None and not self.is_static(function)
        index = positional.index(parameter.anchor) - (1 if method else 0)
        found: list[tuple[ast.expr, int]] = []
        for call in self.callers(function):
            last = call.args[-1] if call.args else None
            alone = [a for a in call.args if isinstance(a, ast.Starred)] == [last]
            if alone and isinstance(last, ast.Starred) and not self._held(call, function):
                place = index - (len(call.args) - 1)
                named = any(k.arg == parameter.name for k in call.keywords)
                found += (
                    [(last.value, place)]
                    if place >= 0 and not named and self._is_long(last.value, place)
                    else []
                )
        return found

    def _is_long(self, e: ast.expr, place: int) -> bool:
        """Whether an expression is known to be a tuple or list that is written out and has such a place."""
        return all(
            isinstance(o.node, (ast.Tuple, ast.List)) and not o.path and place < len(o.node.elts)
            and not any(isinstance(x, ast.Starred) for x in o.node.elts)
            for o in self.values.origins(e)
        )  # fmt: skip

    def given(self, call: ast.Call, function: Function, name: str) -> ast.expr | None:
        """What a parameter gets by a call that runs a function: what is passed, or its default."""
        a = function.args
        positional = [*a.posonlyargs, *a.args]
        names = [p.arg for p in positional]
        is_method = self.syntax.method_class(function) is not None and not self.is_static(function)
        index = names.index(name) - is_method if name in names else None
        value = self.argument(call, function, name, index)
        if value is not None:
            return value
        defaults = dict(zip(reversed(names), reversed(a.defaults), strict=False))
        by_name = {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
        return {**defaults, **by_name}.get(name)

    def argument(self, call: ast.Call, function: ast.AST, name: str, index: int | None) -> ast.expr | None:
        """What a call that runs a function passes for one of its parameters: `index` is its place among the arguments (None:
        it is passed by name only). What `functools.partial` holds ready comes first."""
        held = self._held(call, function)
        for one in (call, *held):
            for keyword in one.keywords:
                if keyword.arg == name:
                    return keyword.value
        given = [a for one in reversed(held) for a in one.args[1:]] + call.args
        if index is not None and 0 <= index < len(given):
            if not any(isinstance(a, ast.Starred) for a in given[: index + 1]):
                return given[index]
        return self._from_the_end(given, function, name) if not held and not call.keywords else None

    def _from_the_end(self, given: list[ast.expr], function: ast.AST, name: str) -> ast.expr | None:
        """What stands behind a sequence that is unpacked, `step(*batch, first)`: where all parameters must be passed, it goes
        to the last ones."""
        a = function.args if isinstance(function, CALLABLES) else None
        if a is None or a.vararg is not None or a.defaults:
            return None
        behind = list(itertools.takewhile(lambda e: not isinstance(e, ast.Starred), reversed(given)))
        names = [p.arg for p in reversed([*a.posonlyargs, *a.args])]
        return dict(zip(names, behind, strict=False)).get(name) if len(behind) < len(given) else None

    def _held(self, call: ast.Call, function: ast.AST) -> list[ast.Call]:
        """The `functools.partial(…)` through which a call runs a function, the outermost first."""
        if not self.scopes.imports_package("functools"):
            return []
        return [
            one
            for one in self.passed_through(call)
            if self.names.of(one.func) == _PARTIAL and function in {o.node for o in self.values.origins(one)}
        ]

    def passed_through(self, call: ast.Call) -> list[ast.Call]:
        """The calls through which the function that a call runs has come to it: `step = make_step(model)`, then `step(x)`."""
        seen, found, todo = set[ast.AST](), list[ast.Call](), list[ast.AST]([call.func])
        while todo:
            e = todo.pop()
            if e in seen:
                continue
            seen.add(e)
            if isinstance(e, ast.Call):
                found.append(e)
            todo += [step for step, path in self.values._steps(e, ()) if not path]
        return found

    def is_static(self, function: ast.AST) -> bool:
        """Whether a method is handed no object."""
        return isinstance(function, FUNCTIONS) and any(
            isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
        )

    def returned(self, function: ast.AST) -> list[ast.expr]:
        """The expressions that a function returns (or yields)."""
        if isinstance(function, ast.Lambda):
            return [function.body]
        known = self._returned.get(function)
        if known is None:
            known = self._returned[function] = [
                n.value
                for n in walk(function)
                if isinstance(n, (ast.Return, ast.Yield))
                and n.value is not None
                and self.syntax.function(n) is function
            ]
        return known


def _default(function: Function | ast.Lambda, parameter: ast.arg) -> ast.expr | None:
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    if parameter in positional:
        i = positional.index(parameter) - (len(positional) - len(a.defaults))
        return a.defaults[i] if i >= 0 else None
    if parameter in a.kwonlyargs:
        return a.kw_defaults[a.kwonlyargs.index(parameter)]
    return None


def is_property(function: Function) -> bool:
    """Whether a method is read like an attribute."""
    decorators = [
        d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in function.decorator_list
    ]
    return any(name in ("property", "cached_property") for name in decorators)


def _is_abstract(function: Function) -> bool:
    """Whether a method only says what derived classes have to do."""
    return all(
        isinstance(s, (ast.Pass, ast.Raise))
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in function.body
    )


def _name(function: ast.AST) -> str:
    return function.name if isinstance(function, FUNCTIONS) else ""
