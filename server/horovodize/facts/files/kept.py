"""What the program keeps in checkpoints, and finds again in a later run: only rank 0's host may have the files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.call_paths import Drive
from horovodize.summary.sites import Sites

CHECKPOINTS = ("tensorflow.train.Checkpoint", "tensorflow.compat.v1.train.Checkpoint")
_MANAGERS = ("tensorflow.train.CheckpointManager", "tensorflow.compat.v1.train.CheckpointManager")
VARIABLES = ("tensorflow.Variable", "tensorflow.compat.v1.Variable", "tensorflow.compat.v1.get_variable")
RESTORING = ("restore", "restore_or_initialize", "read")
_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_BEGINS = ("initial_value", "initializer")  # of Keras 3's
# Classes whose objects are asked for the variables in their fields.
_TRACKING = {
    "tensorflow.Module",
    "tensorflow.keras.Model",
    "tensorflow.keras.layers.Layer",
    "tensorflow.train.Checkpoint",
}
INFINITE = ("numpy.inf", "numpy.Inf", "math.inf", "numpy.infty")


def first_value(made: ast.Call) -> ast.expr | None:
    """What a variable begins with: `tf.Variable(0)`, `keras.Variable(initializer=0)`."""
    return next((e for name in _BEGINS if (e := argument(made, name, 0)) is not None), None)


class Kept:
    """The checkpoints of one module."""

    def __init__(self, module: Module, sites: Sites, drive: Drive) -> None:
        self.module, self.sites, self.drive = module, sites, drive
        self.values = module.values

    @cached_property
    def all(self) -> list[ast.expr]:
        """What checkpoints are made with."""
        return [e for c in self.module.calls_of(*CHECKPOINTS) for _, e in self._held(c)]

    @cached_property
    def restored(self) -> set[ast.AST]:
        """What objects are made by that a checkpoint holds and that is read from files."""
        if not self.sites.method_calls(*RESTORING):
            return set()
        return {o.node for e in self.all for o in self.values.origins(e)}

    @cached_property
    def numbers(self) -> list[ast.Call]:
        """Where variables are made that hold whole numbers, and that a checkpoint restores: steps, epochs."""
        return [c for c in self.module.calls_of(*VARIABLES) if c in self.restored and self._is_whole(c)]

    @cached_property
    def scalars(self) -> list[ast.Call]:
        """Likewise of variables that hold one number, whole or not: the best loss so far, a rate."""
        made = [c for c in self.module.calls_of(*VARIABLES) if c in self.restored]
        return [c for c in made if self._is_whole(c) or self._is_one_number(c)]

    def comes_with_model(self, optimizer: ast.expr) -> bool:
        """Whether an optimizer may be read from files with the model that it was compiled into: `model.load_weights(last)`."""
        if not self.module.calls_called("load_model") and not any(map(self._is_compiled, self._loaded)):
            return False
        meant = [optimizer, *(o.node for o in self.values.origins(optimizer) if not o.path)]
        compiled = {
            c for s in self.sites.compiles for given in s.optimizers for c in self.values.calls(given)
        }
        return any(isinstance(n, ast.Attribute) and n.attr == "optimizer" or n in compiled for n in meant)

    @property
    def _loaded(self) -> Iterator[ast.expr]:
        """The models that weights are loaded into."""
        for call in self.sites.method_calls("load_weights"):
            if isinstance(call.func, ast.Attribute):
                yield call.func.value

    def _is_compiled(self, model: ast.expr) -> bool:
        made, written = set(self.values.calls(model)), ast.unparse(model)
        return any(
            ast.unparse(s.model) == written or made.intersection(self.values.calls(s.model))
            for s in self.sites.compiles
        )

    def places(self, made: ast.Call) -> Iterator[tuple[ast.AST, str]]:
        """(what restores a variable, what the variable is called there), for each way to a `restore` of it."""
        for checkpoint in self.module.calls_of(*CHECKPOINTS):
            held = [(name, e) for name, e in self._held(checkpoint) if made in self.values.calls(e)]
            for call in self.sites.method_calls(*RESTORING) if held else ():
                assert isinstance(call.func, ast.Attribute)
                restoring = ast.unparse(call.func.value)
                by = set(self.values.calls(call.func.value))
                if checkpoint in self._of_managers(by):
                    restoring = f"{restoring}.checkpoint"
                elif checkpoint not in by:
                    continue
                name = next((name for name, _ in held if name is not None), None)
                if name is not None:
                    yield call, f"{restoring}.{name}"
                else:
                    yield from self._by_own_name(made, call)

    def _of_managers(self, made: set[ast.Call]) -> set[ast.Call]:
        """The checkpoints of `tf.train.CheckpointManager(checkpoint, …)`, which restore them, too."""
        managers = made.intersection(self.module.calls_of(*_MANAGERS))
        given = [argument(m, "checkpoint", 0) for m in managers]
        return {c for e in given if e is not None for c in self.values.calls(e)}

    def _by_own_name(self, made: ast.Call, call: ast.Call) -> Iterator[tuple[ast.AST, str]]:
        """The places in the function that makes a variable, and gives it a name, from which `call` restores it."""
        binding = self.module.syntax.parent[made]
        target = binding.targets[0] if isinstance(binding, ast.Assign) else None
        if not isinstance(target, ast.Name):
            return
        home = self.module.syntax.function(made)
        for way in self.drive.ways(call):
            yield from ((f.node, target.id) for f in way if self.module.syntax.function(f.node) is home)

    def _held(self, checkpoint: ast.Call) -> Iterator[tuple[str | None, ast.expr]]:
        """(name, value) of what a checkpoint is made with, and of what modules of the program's own among that hold,
        `state.step`; the name is None where it comes in a dict."""
        for keyword in checkpoint.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value
                yield from ((f"{keyword.arg}.{field}", e) for field, e in self._fields(keyword.value))
                continue
            for origin in self.values.origins(keyword.value):
                if isinstance(origin.node, ast.Dict):
                    yield from ((None, v) for v in origin.node.values)
                elif isinstance(origin.node, ast.Call) and self.module.names.last(origin.node.func) == "dict":
                    yield from ((None, k.value) for k in origin.node.keywords)

    def _fields(self, held: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """(field, value) of what an object keeps that TensorFlow finds in it: `self.step = tf.Variable(0)` of a `tf.Module`."""
        made = [c for c in self.values.calls(held) if isinstance(self.values.callee(c), ast.ClassDef)]
        for cls in dict.fromkeys(self.values.callee(c) for c in made):
            if not isinstance(cls, ast.ClassDef) or not _TRACKING & set(self.values.ancestors(cls)):
                continue
            for s in (n for method in cls.body for n in ast.walk(method) if isinstance(n, ast.Assign)):
                for target in s.targets:
                    if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                        yield target.attr, s.value

    def _is_one_number(self, made: ast.Call) -> bool:
        start = first_value(made)
        if isinstance(start, ast.UnaryOp):
            start = start.operand
        if isinstance(start, ast.Call):  # float("inf")
            return self.module.scopes.is_builtin(start.func) and self.module.names.last(start.func) == "float"
        is_number = isinstance(start, ast.Constant) and type(start.value) in (int, float)
        return is_number or (start is not None and self.module.names.of(start) in INFINITE)

    def _is_whole(self, made: ast.Call) -> bool:
        kind, start = argument(made, "dtype", 3), first_value(made)
        if kind is not None:
            said = kind.value if isinstance(kind, ast.Constant) else self.module.names.last(kind)
            return said in _WHOLE
        return isinstance(start, ast.Constant) and type(start.value) is int
