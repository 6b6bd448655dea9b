"""Where an expression is evaluated: the calls that lead to it, so that a parameter means what that one call passes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, Function, Loop, Syntax
from horovodize.summary.call_paths import Frame

_HANDED_ON = 6  # functions that hand on to each other what they are given


@dataclass(frozen=True, eq=False)
class Context:
    """One run of a function's body (None: the module's).

    call      what runs it, in `outer`; None where that is not known
    loops     the loops around what leads on to the step
    repeated  whether the whole body runs again in every turn of a loop
    apart     whether it is known to run in the outer one's turns only, not from where"""

    function: Function | ast.Lambda | None
    call: ast.Call | None
    outer: Context | None
    loops: tuple[Loop, ...] = ()
    repeated: bool = False
    apart: bool = False
    # Made once, so that what is known of an expression in one of them is found again.
    _inner: dict[tuple[ast.AST, ast.Call | None, bool], Context] = field(default_factory=dict, repr=False)

    def around(self) -> Iterator[Context]:
        """This context, and those that led to it."""
        context: Context | None = self
        while context is not None:
            yield context
            context = context.outer

    def calling(self, function: Function | ast.Lambda, call: ast.Call | None) -> Context:
        """The run of a function that is called here, in a turn."""
        return self._within(function, call)

    def elsewhere(self, node: ast.AST, syntax: Syntax) -> Context:
        """The run of the function that a node stands in: something here calls it, and which call that is doesn't matter.

        Such runs aren't made within each other: methods that use each other's attributes would have one for each order."""
        function = syntax.function(node)
        running = next((c for c in self.around() if c.function is function), None)
        if running is not None or function is None:
            return running or self
        outer = self
        while outer.apart and outer.outer is not None and not _encloses(outer.function, function, syntax):
            outer = outer.outer
        return outer._within(function, None, apart=True)

    def _within(self, function: Function | ast.Lambda, call: ast.Call | None, apart: bool = False) -> Context:
        key = (function, call, apart)
        if key not in self._inner:
            self._inner[key] = Context(function, call, self, (), True, apart)
        return self._inner[key]

    def is_running(self, function: ast.AST) -> bool:
        return any(c.function is function for c in self.around())


def _encloses(outer: ast.AST | None, function: ast.AST, syntax: Syntax) -> bool:
    return outer is not None and syntax.inside(function, outer)


def context_of(
    way: tuple[Frame, ...],
    without: frozenset[Loop] = frozenset(),
    driven: Collection[Function | ast.Lambda] = (),
) -> Context:
    """The context of the innermost frame of a way (see `Drive.ways`). `without`: loops in whose turns training begins again.
    `driven`: functions that a loop out of sight runs in each of its turns."""
    outer: Context | None = None
    for i in range(len(way) - 1, -1, -1):
        frame = way[i]
        call = way[i + 1].node if i + 1 < len(way) else None
        loops = tuple(loop for loop in frame.loops if loop not in without)
        repeated = outer is not None and (outer.repeated or bool(outer.loops)) or frame.function in driven
        outer = Context(frame.function, call if isinstance(call, ast.Call) else None, outer, loops, repeated)
    assert outer is not None
    return outer


def home(module: Module, binding: Binding, name: ast.Name, context: Context) -> Context | None:
    """The context in which a name that is read in `context` was bound; None where it is none of those that led here."""
    scope = binding.statement if binding.kind == "parameter" else module.scopes.lookup(name.id, name)
    while scope is not None and not isinstance(scope, (*CALLABLES, ast.Module)):
        scope = module.syntax.function(scope) or module.scopes.root(scope)  # a comprehension's own
    wanted = None if isinstance(scope, ast.Module) else scope
    return next((c for c in context.around() if c.function is wanted), None)


def handed_function(module: Module, called: ast.expr, context: Context) -> ast.expr | None:
    """What a function's parameter stands for, where it is called: what the call of a context hands over, or its default; None
    where what is called is no parameter, or it can't be seen what that gets."""
    place: Context | None = context
    for _ in range(_HANDED_ON):
        bindings = module.scopes.reaching(called) if isinstance(called, ast.Name) else []
        if len(bindings) != 1 or bindings[0].kind != "parameter" or place is None:
            return None
        assert isinstance(called, ast.Name)
        place = home(module, bindings[0], called, place)
        given = passed(module, bindings[0], place) if place is not None else None
        if given is None or place is None:
            return None
        further = module.scopes.reaching(given) if isinstance(given, ast.Name) else []
        if not any(b.kind == "parameter" for b in further):
            return given
        called, place = given, place.outer
    return None


def in_turn(module: Module, binding: Binding, context: Context | None) -> bool:
    """Whether a name is bound again in every turn of the loops around a step."""
    return context is not None and (
        context.repeated or any(module.syntax.inside(binding.statement, loop) for loop in context.loops)
    )


def passed(module: Module, parameter: Binding, context: Context) -> ast.expr | None:
    """What the call of a context passes for a parameter of its function, or its default."""
    function = context.function
    if function is None or context.call is None or not isinstance(parameter.anchor, ast.arg):
        return None
    graph, a = module.values.graph, function.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    bound = module.syntax.method_class(function) is not None and not graph.is_static(function)
    index = names.index(parameter.name) - bound if parameter.name in names else None
    if bound and index == -1:
        return None
    given = graph.argument(context.call, function, parameter.name, index)
    if given is not None:
        return given
    return next((v for v in module.values.passed(parameter) if module.syntax.inside(v, a)), None)
