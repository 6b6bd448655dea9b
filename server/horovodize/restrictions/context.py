"""What restrictions share: the module read, the optimizers that train, and answers that several of them ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cached_property

from horovodize.facts import facts_of
from horovodize.options import Options
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, Function, argument, is_main_guard
from horovodize.restrictions.violation import Related
from horovodize.source import Document
from horovodize.summary import LoopKind, ModuleSummary, TrainingLoop
from horovodize.summary.buried import Buries
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.sites import Sites
from horovodize.world.world import World, world_of

DISTRIBUTABLE = frozenset(
    {
        LoopKind.KERAS,
        LoopKind.GRADIENT_TAPE,
        LoopKind.SESSION,
        LoopKind.MONITORED_SESSION,
        LoopKind.ESTIMATOR,
    }
)


class Context:
    """One document under one set of options."""

    def __init__(self, summary: ModuleSummary, options: Options) -> None:
        assert summary.module is not None
        assert summary.sites is not None
        assert summary.drive is not None
        self.summary, self.options = summary, options
        self.document: Document = summary.document
        self.module: Module = summary.module
        self.sites: Sites = summary.sites
        self.drive: Drive = summary.drive
        self.facts = facts_of(summary)
        self.syntax, self.scopes = self.module.syntax, self.module.scopes
        self.names, self.values = self.module.names, self.module.values
        self.memo: dict[
            str, object
        ] = {}  # what several restrictions ask for and compute in files of their own
        self._fresh: dict[str, str] = {}
        self._ways: dict[ast.AST, list[tuple[Frame, ...]]] = {}

    @property
    def strict(self) -> bool:
        return self.options.strict

    @cached_property
    def world(self) -> World:
        """The TensorFlow and the Keras that the script lives with."""
        return world_of(self.summary, self.options)

    # ------------------------------------------------------------------ training

    @cached_property
    def loops(self) -> list[TrainingLoop]:
        """The training loops of kinds that are distributed."""
        return [loop for loop in self.summary.loops if loop.kind in DISTRIBUTABLE]

    @cached_property
    def trains(self) -> bool:
        """Whether the module has a loop that we distribute, and nothing that distributes it already."""
        return bool(self.loops) and self.summary.already is None

    @cached_property
    def training_sites(self) -> set[ast.AST]:
        """The calls that train: fits, updates (a Keras model's own `train_step` included), graph train ops."""
        found: set[ast.AST] = {loop.node for loop in self.summary.loops}
        found.update(u.call for u in self.sites.updates)
        return found

    def ways(self, site: ast.AST) -> list[tuple[Frame, ...]]:
        """The ways from a site up to the module's top level."""
        if site not in self._ways:
            self._ways[site] = self.drive.ways(site)
        return self._ways[site]

    @cached_property
    def training_functions(self) -> set[Function]:
        """The functions that train, themselves or in functions that they call."""
        ways = [way for site in self.training_sites for way in self.ways(site)]
        return {frame.function for way in ways for frame in way if frame.function is not None}

    @cached_property
    def training_data(self) -> list[ast.expr]:
        """What the loops train on: the first argument of fits, the iterables of loops around tape steps."""
        found: list[ast.expr] = []
        for fit in self.sites.fits:
            data = argument(fit.call, "x", 0) or argument(fit.call, "generator")
            if data is not None:
                found.append(data)
        for loop in self.loops:
            if loop.kind is LoopKind.GRADIENT_TAPE:
                for way in self.ways(loop.node):
                    found += [
                        turn.iter for frame in way for turn in frame.loops if not isinstance(turn, ast.While)
                    ]
        return list(dict.fromkeys(found))

    @cached_property
    def seeds(self) -> set[str]:
        """Canonical names of the seeding functions that are called with a constant."""
        seeding = (
            "random.seed",
            "numpy.random.seed",
            "tensorflow.random.set_seed",
            "tensorflow.keras.utils.set_random_seed",
        )
        called = {
            self.names.of(c.func) or ""
            for c in self.module.calls_of(*seeding)
            if c.args and isinstance(c.args[0], ast.Constant) and c.args[0].value is not None
        }
        return set(seeding) if seeding[-1] in called else called

    def is_conditional(self, node: ast.AST) -> bool:
        """Whether a node is evaluated on some ways through its function only: in an arm of `if`, `try`, `match`, of a
        conditional expression or of `or`."""
        child = node
        for a in self.syntax.ancestors(node):
            field = self.syntax.field[child]
            if isinstance(a, CALLABLES):
                return False
            if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
                return not is_main_guard(a)
            if isinstance(a, (ast.BoolOp, ast.match_case, ast.ExceptHandler)):
                return True
            if isinstance(a, ast.Try) and field == "body" and a.handlers:
                return True
            child = a
        return False

    def holds_seen_attribute(self, name: ast.Name) -> bool:
        """Whether a name is the `self` of an attribute that the file sets: what depends on it depends on what is set."""
        whole = self.syntax.parent.get(name)
        in_method = self.syntax.method_class(self.syntax.function(name)) is not None
        if not in_method or name.id != "self" or not isinstance(whole, ast.Attribute):
            return False
        return bool(self.values.attribute_bindings(whole))

    @cached_property
    def buries(self) -> Buries:
        """Training steps in expressions that distributing takes apart."""
        return Buries(self.summary)

    # ------------------------------------------------------------------ names and text

    def text(self, node: ast.AST) -> str:
        """A node's text on one line, shortened for a message."""
        text = " ".join(self.module.text(node).split())
        return text if len(text) <= 60 else text[:57] + "..."

    def related(self, node: ast.AST, message: str) -> Related:
        if isinstance(node, ast.ExceptHandler):  # has a place, but is neither expression nor statement
            node = node.type or node.body[0]
        return Related(message, self.module.span(node))

    def is_builtin(self, expression: ast.AST, *names: str) -> bool:
        """Whether an expression is one of these builtins, not bound to something else here."""
        return (
            isinstance(expression, ast.Name)
            and expression.id in names
            and self.scopes.lookup(expression.id, expression) is None
        )

    def is_super(self, expression: ast.AST) -> bool:
        """`super()`, with or without arguments."""
        return isinstance(expression, ast.Call) and self.is_builtin(expression.func, "super")

    def fresh(self, wanted: str) -> str:
        """A name that the module does not use, nor mentions in a string. The same one each time: fixes are taken one by one."""
        if wanted not in self._fresh:
            name, n = wanted, 1
            while name in self.document.text and re.search(rf"\b{name}\b", self.document.text):
                n += 1
                name = f"{wanted}_{n}"
            self._fresh[wanted] = name
        return self._fresh[wanted]

    # ------------------------------------------------------------------ all of a kind

    def loads(self, names: Iterable[str]) -> list[ast.Name | ast.Attribute]:
        """The places where names, or attributes so called, are read; by name, then in the order of the text."""
        found = [node for name in sorted(set(names)) for node in self.module.loads.get(name)]
        return [node for node in found if isinstance(node, (ast.Name, ast.Attribute))]

    @property
    def assignments(self) -> list[ast.Assign]:
        return self.syntax.every(ast.Assign)
