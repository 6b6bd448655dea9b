"""What drives a step: the calls and loops that lead from the module's top level to a place that trains."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from horovodize.python.activations import Activations
from horovodize.python.flags import Level, is_left_out
from horovodize.python.left_out import is_left_out_there
from horovodize.python.methods_by_name import runs_another
from horovodize.python.module import Module
from horovodize.python.once import once
from horovodize.python.syntax import FUNCTIONS, Function, Loop, argument
from horovodize.source.nodes import walk
from horovodize.summary.handed_fetches import fetches_no_training
from horovodize.summary.sites import Sites

TRACERS = (
    "tensorflow.function",
    "tensorflow.contrib.eager.defun",
    "tensorflow.eager.defun",
    "tensorflow.autograph.convert",
)
XLA = ("jit_compile", "experimental_compile")
_DEPTH = 8
MOST_WAYS = 32  # as many are followed; with that many, there may be more
_FLAGS = 3  # calls in each other by which a flag is handed on


@dataclass(frozen=True, eq=False)
class Frame:
    """One level of a way down to a step: in `function` (None: module level), `node` is the call that leads further (at
    the innermost level: the step itself), and `loops` are the loops around it there, innermost first."""

    function: Function | None
    node: ast.AST
    loops: tuple[Loop, ...]


class Drive:
    """Ways down to steps, and which functions TensorFlow traces."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites
        self.activations = Activations(module)
        self._ways: dict[ast.AST, list[tuple[Frame, ...]]] = {}

    @cached_property
    def traced(self) -> set[Function]:
        """Functions whose Python code runs only while TensorFlow traces them: `@tf.function`, `tf.function(f)`."""
        return {function for function, _ in self.tracings}

    @cached_property
    def tracings(self) -> list[tuple[Function, ast.Call | None]]:
        """The same, each with the call that says how it is traced, if there is one: `@tf.function(jit_compile=True)`."""
        m, found = self.module, list[tuple[Function, ast.Call | None]]()
        for function in m.syntax.functions:
            for decorator in function.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if m.names.of(called) in TRACERS:
                    found.append((function, decorator if isinstance(decorator, ast.Call) else None))
                else:
                    found += [(function, call) for call in _tracers(m, decorator)]
        for call in m.calls_which(_may_trace):
            tracers = [call] if m.names.of(call.func) in TRACERS else _tracers(m, call.func)
            if tracers and call.args:
                origins = m.values.origins(call.args[0])
                functions = [o.node for o in origins if isinstance(o.node, FUNCTIONS) and not o.path]
                found += [(function, tracer) for function in functions for tracer in tracers]
        return found

    @cached_property
    def compiled(self) -> list[tuple[Function, ast.expr]]:
        """Traced functions, and what says of each whether XLA compiles it: `True` of `tf.function(jit_compile=True)`."""
        return [
            (function, given)
            for function, call in self.tracings
            for given in (argument(call, name) for name in XLA if call is not None)
            if given is not None
        ]

    def ways(self, site: ast.AST) -> list[tuple[Frame, ...]]:
        """All ways from a site up to where nothing in this module calls further, innermost frame first."""
        if site not in self._ways:
            self._ways[site] = self._up(site, frozenset())
        return self._ways[site]

    def _up(
        self, node: ast.AST, seen: frozenset[ast.AST], below: tuple[Level, ...] = ()
    ) -> list[tuple[Frame, ...]]:
        """below: the levels that lead to the site, innermost first"""
        syntax = self.module.syntax
        function = syntax.function(node)
        frame = Frame(function, node, tuple(syntax.loops(node)))
        if function is None or function in seen or len(seen) >= _DEPTH:
            return [(frame,)]
        ways = [
            (call, (*below, Level(node, function, call))) for call in self.module.values.callers(function)
        ]
        # What no call runs is a program's switch, which its user will set another time.
        running = [w for w in ways if not self._is_left_out(w[1])] or ways
        found = [
            (frame, *rest) for call, levels in running for rest in self._up(call, seen | {function}, levels)
        ]
        return found[:MOST_WAYS] or [(frame,)]

    def _is_left_out(self, levels: tuple[Level, ...]) -> bool:
        """Whether calls, innermost first, surely don't run a node, or run nothing there that trains."""
        rest = [levels[i:] for i in range(len(levels))]
        left_out = any(is_left_out(self.module, r) or runs_another(self.module, r) for r in rest)
        left_out = left_out or is_left_out_there(self.activations, levels)
        return left_out or fetches_no_training(self.module, self.sites.graph, levels)

    def in_traced(self, node: ast.AST) -> bool:
        """Whether a node stands in a traced function, however deep."""
        return any(a in self.traced for a in self.module.syntax.ancestors(node) if isinstance(a, FUNCTIONS))

    def runs_traced(self, way: tuple[Frame, ...]) -> int:
        """The index of the outermost frame of a way that runs under tracing; -1 when none does."""
        last = -1
        for i, frame in enumerate(way):
            if frame.function is not None and (frame.function in self.traced or self.in_traced(frame.node)):
                last = i
        return last

    def reaches(self, place: ast.AST, sites: set[ast.AST]) -> bool:
        """Whether running `place` (a statement or expression) runs one of the sites, in it or in a function called there."""
        syntax = self.module.syntax
        around = {node for site in sites for node in (site, *syntax.ancestors(site))}
        todo: list[tuple[ast.AST, tuple[ast.Call, ...]]] = [(place, ())]
        seen: set[tuple[ast.AST, tuple[ast.Call, ...]]] = set()
        while todo:
            root, calls = todo.pop()
            if root in around and any(self._runs(site, root, calls) for site in sites):
                return True
            if (root, calls) not in seen:
                seen.add((root, calls))
                todo += [
                    (function, (call, *calls)[:_FLAGS] if call is not None else ())
                    for function, call in self._run_in(root)
                    if call is None or self._runs(call, root, calls)
                ]
        return False

    def _runs(self, node: ast.AST, root: ast.AST, calls: tuple[ast.Call, ...]) -> bool:
        """Whether a node in a function is run by the last of some calls in each other."""
        syntax = self.module.syntax
        if root is not node and root not in syntax.ancestors(node):
            return False
        levels, inner = list[Level](), node
        for call in calls:
            function = syntax.function(inner)
            if function is None or inner is root and not levels:
                break
            levels.append(Level(inner, function, call))
            inner = call
        if not levels:
            return True
        graph = self.sites.graph
        if is_left_out(self.module, levels) or runs_another(self.module, levels):
            return False
        if is_left_out_there(self.activations, levels):
            return False
        return not fetches_no_training(self.module, graph, levels)

    @once
    def _run_in(self, root: ast.AST) -> list[tuple[ast.AST, ast.Call | None]]:
        """The functions of this module that calls in a node run, and those calls; of a class, its `__init__`."""
        found: dict[tuple[ast.AST, ast.Call | None], None] = {}
        for call in (n for n in walk(root) if isinstance(n, ast.Call)):
            for callee in self.module.values.graph.runs(call):
                if isinstance(callee, ast.ClassDef):
                    begins = (s for s in callee.body if isinstance(s, FUNCTIONS) and s.name == "__init__")
                    found.update(dict.fromkeys((s, None) for s in begins))
                else:
                    found[callee, call] = None
        return list(found)


def _tracers(m: Module, e: ast.expr) -> list[ast.Call]:
    """The calls that give something to trace functions with: `tf.function(…)` without a function, or
    `partial(tf.function, …)`, perhaps by a name."""
    if not isinstance(e, (ast.Call, ast.Name)):
        return []
    made = [e] if isinstance(e, ast.Call) else m.values.calls(e)
    return [
        call
        for call in made
        if (m.names.of(call.func) in TRACERS and not call.args)
        or (m.names.last(call.func) == "partial" and any(m.names.of(a) in TRACERS for a in call.args))
    ]


def _may_trace(module: Module, call: ast.Call) -> bool:
    return module.names.of(call.func) in TRACERS or bool(_tracers(module, call.func))
