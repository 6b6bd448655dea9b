"""TensorFlow 1's Estimators: where they are made, where they are trained, and what their input functions feed them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument, has_unpacking, position
from horovodize.source.nodes import walk
from horovodize.summary.canned import CANNED, standard_optimizer
from horovodize.summary.pipeline import Pipelines
from horovodize.summary.sites import Sites

_PREFIX = "tensorflow.estimator."
BASE = _PREFIX + "Estimator"
RUN_CONFIG = _PREFIX + "RunConfig"
SPEC = _PREFIX + "EstimatorSpec"
TRAIN_SPEC = _PREFIX + "TrainSpec"
TRAIN_AND_EVALUATE = "train_and_evaluate"
# Makers of input functions that feed arrays.
_ARRAY_INPUTS = ("numpy_input_fn", "pandas_input_fn")
_ITERATORS = ("make_one_shot_iterator", "make_initializable_iterator")
_CONSUMERS = ("evaluate", "predict", "EvalSpec")
# Makers of Estimators that are no classes of `tf.estimator`, or that have no Estimator among the bases that we know.
_MAKERS = (
    "model_to_estimator",
    "TPUEstimator",
    "KMeans",
    "KMeansClustering",
    "RNNClassifier",
    "RNNEstimator",
    "LinearSDCA",
)


@dataclass(frozen=True, eq=False)
class Training:
    """`estimator.train(input_fn, hooks, steps, max_steps)`, or `train_and_evaluate(estimator, TrainSpec(…), …)`, which trains
    as `train` does and evaluates after each checkpoint.

    call   where it trains
    said   what says on what and for how long: `call` itself, or the `TrainSpec`
    made   the calls that may have made the estimator, as far as it can be followed"""

    call: ast.Call
    said: ast.Call
    made: tuple[ast.Call, ...]

    @property
    def input_fn(self) -> ast.expr | None:
        return argument(self.said, "input_fn", 0)

    @property
    def hooks(self) -> ast.expr | None:
        return argument(self.said, "hooks", self.hooks_index)

    @property
    def hooks_index(self) -> int:
        """Where hooks stand among the positional arguments of `said`."""
        return 1 if self.said is self.call else 2

    @property
    def steps(self) -> ast.expr | None:
        return argument(self.said, "steps", 2) if self.said is self.call else None

    @property
    def max_steps(self) -> ast.expr | None:
        return argument(self.said, "max_steps", 3 if self.said is self.call else 1)


@dataclass(frozen=True, eq=False)
class Input:
    """One input function that a training may get.

    arrays    `numpy_input_fn(…)` or `pandas_input_fn(…)`, if it is made by one
    datasets  the `tf.data` pipelines that it returns, or whose elements it returns
    shared    whether something else than training gets it, too
    told      the calls for this training alone of functions that serve others, too; they can say that these divide"""

    node: ast.AST
    arrays: ast.Call | None
    datasets: tuple[ast.expr, ...]
    shared: bool
    told: tuple[Told, ...] = ()


@dataclass(frozen=True, eq=False)
class Told:
    """A call for one training of a function that evaluations call, too: `lambda: read(True)`, `partial(read, True)`,
    `make_input_fn(files)`.

    function  what it calls
    datasets  the pipelines that are made there for the training: `function` or a function in it gives them or their elements"""

    call: ast.Call
    function: ast.FunctionDef
    datasets: tuple[ast.expr, ...]


class Estimators:
    """The Estimators of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites
        self.values, self.names, self.syntax = module.values, module.names, module.syntax

    @cached_property
    def constructions(self) -> list[ast.Call]:
        """The calls that make an Estimator, in the order of the text."""
        return [c for c in self.syntax.calls if self.makes_estimator(c)]

    def makes_estimator(self, call: ast.Call) -> bool:
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        if BASE in self.values.made_by(call):
            return True
        if not name.startswith(("tensorflow.", "tensorflow_estimator.")):
            return False
        return last in _MAKERS or (
            name.startswith((_PREFIX, "tensorflow.compat.v1.estimator."))
            and last.endswith(("Classifier", "Regressor", "Estimator"))
        )

    @cached_property
    def trainings(self) -> list[Training]:
        """The places that train an Estimator, in the order of the text."""
        if not self.sites.estimators:
            return []
        found = [*self._trained_and_evaluated()]
        for call in self.sites.method_calls("train"):
            assert isinstance(call.func, ast.Attribute)
            if isinstance(self.values.callee(call), FUNCTIONS) or not self._may_be_estimator(call):
                continue
            known, elsewhere = self._made_by(call.func.value)
            if not elsewhere and (call.args or any(k.arg in ("input_fn", None) for k in call.keywords)):
                found.append(Training(call, call, known))
        return sorted(found, key=lambda t: position(t.call))

    def _trained_and_evaluated(self) -> Iterator[Training]:
        for call in self.sites.estimators:
            if self.names.last(call.func) != TRAIN_AND_EVALUATE:
                continue
            estimator, spec = argument(call, "estimator", 0), argument(call, "train_spec", 1)
            if estimator is None or spec is None:
                continue
            said = self.values.calls(spec)
            if said and all(self.names.of(c.func) == TRAIN_SPEC and not has_unpacking(c) for c in said):
                known, _ = self._made_by(estimator)
                yield from (Training(call, c, known) for c in said)

    def _made_by(self, estimator: ast.expr) -> tuple[tuple[ast.Call, ...], bool]:
        """The calls that may have made an Estimator, and whether it is seen to be something else."""
        made = self.values.calls(estimator)
        known = [c for c in made if self.makes_estimator(c)]
        return tuple(known), bool(made) and not known and all(self._is_known(c) for c in made)

    def _may_be_estimator(self, call: ast.Call) -> bool:
        """Whether a `train` may be an Estimator's: of what is imported, only one that is given an `input_fn`."""
        name = self.names.of(call.func)
        return name is None or (not name.startswith("tensorflow.") and argument(call, "input_fn") is not None)

    def _is_known(self, call: ast.Call) -> bool:
        """Whether it can be seen what a call makes."""
        return self.names.of(call.func) is not None or self.values.callee(call) is not None

    @cached_property
    def trained(self) -> list[ast.Call]:
        """The constructions whose Estimators are trained; all of them, where a training can't be followed to one."""
        if not self.trainings:
            return []
        if any(not t.made for t in self.trainings):
            return self.constructions
        made = {c for t in self.trainings for c in t.made}
        return [c for c in self.constructions if c in made]

    @cached_property
    def configurations(self) -> list[ast.Call]:
        """The calls that say how Estimators run: `RunConfig(…)`, and `config.replace(…)` of what such a call has made, or of
        what can't be followed where it gets a `model_dir`."""
        replaced = self.sites.method_calls("replace") if self.sites.estimators else []
        is_one = (c for c in replaced if self.configured_by(c) or argument(c, "model_dir") is not None)
        return [*self.module.calls_of(RUN_CONFIG), *is_one]

    def configured_by(self, config: ast.expr) -> list[ast.Call]:
        """The calls that have made a configuration, each after what it replaces something of: `RunConfig(…)`, `x.replace(…)`.
        Empty where one of them can't be followed."""
        found: list[ast.Call] = []
        todo = [config]
        while todo:
            for origin in self.values.origins(todo.pop()):
                call = origin.call
                if call in found:
                    continue
                if call is None:
                    return []
                found.append(call)
                if self.names.of(call.func) == RUN_CONFIG:
                    continue
                if not isinstance(call.func, ast.Attribute) or call.func.attr != "replace" or call.args:
                    return []
                todo.append(call.func.value)
        return found[::-1]

    @cached_property
    def specs(self) -> list[ast.Call]:
        """The `EstimatorSpec`s that model functions return."""
        return self.module.calls_of(SPEC)

    @cached_property
    def optimizers(self) -> list[ast.expr]:
        """The optimizers that canned Estimators are given, as expressions where they are made or passed. An optimizer that is
        given as a function (`lambda: AdamOptimizer(…)`) is what that returns."""
        found: list[ast.expr] = []
        for call in self.trained:
            for parameter in CANNED.get(self.names.last(call.func), ()):
                given = argument(call, parameter)
                if given is not None and standard_optimizer(self.module, self.sites, call, parameter) is None:
                    found += self.values.given_back(given)
        return list(dict.fromkeys(found))

    # ------------------------------------------------------------------ input

    def inputs(self, training: Training, pipelines: Pipelines) -> list[Input]:
        """The input functions that a training may get."""
        given = training.input_fn
        if given is None:
            return []
        return [self._input(node, training, pipelines) for node in self.functions(given)]

    def functions(self, given: ast.expr) -> list[ast.AST]:
        """What an input or model function may be: `def`s, lambdas, calls that make one; `partial` is looked through."""
        found: list[ast.AST] = []
        for origin in self.values.origins(given):
            node = origin.node
            if origin.path:
                continue
            if isinstance(node, ast.Call) and self.names.last(node.func) == "partial" and node.args:
                found += [o.node for o in self.values.origins(node.args[0]) if not o.path]
            else:
                found.append(node)
        return list(dict.fromkeys(found))

    def _input(self, node: ast.AST, training: Training, pipelines: Pipelines) -> Input:
        if isinstance(node, ast.Call) and self.names.last(node.func) in _ARRAY_INPUTS:
            return Input(node, node, (), node in self._used_otherwise)
        if not isinstance(node, CALLABLES):
            return Input(node, None, (), node in self._used_otherwise)
        feeds, shared = tuple(dict.fromkeys(self._feeds(node, pipelines))), self._is_shared(node)
        told = self._told(node, training, feeds, pipelines) if shared or not feeds else []
        return Input(node, None, feeds, shared, tuple(told))

    def _feeds(self, function: ast.AST, pipelines: Pipelines) -> Iterator[ast.expr]:
        for returned in self.values.returned(function):
            if pipelines.is_dataset(returned):
                yield returned
        yield from self._taken(function, pipelines)
        for returned in self.values.returned(function):  # `lambda: input_fn(True)`
            called = self.values.callee(returned) if isinstance(returned, ast.Call) else None
            if isinstance(called, FUNCTIONS) and called is not function:
                callers = self.values.callers(called)
                if all(self.syntax.inside(c, function) for c in callers):  # no evaluation gets it, too
                    yield from self._feeds(called, pipelines)
        yield from self._taken_by_called(function, pipelines)

    def _taken_by_called(self, function: ast.AST, pipelines: Pipelines) -> Iterator[ast.expr]:
        """Those of which a function takes elements that this one alone calls, to give them on: `x, y = read(path)`,
        `return {"image": x}, y`."""
        for call in (n for n in walk(function) if isinstance(n, ast.Call)):
            called = self.values.callee(call)
            if isinstance(called, FUNCTIONS) and called is not function:
                if all(self.syntax.inside(c, function) for c in self.values.callers(called)):
                    yield from self._taken(called, pipelines)

    def _taken(self, function: ast.AST, pipelines: Pipelines) -> Iterator[ast.expr]:
        """The datasets that a function takes elements of: `return iterator.get_next()`."""
        for call in self.sites.method_calls("get_next"):
            assert isinstance(call.func, ast.Attribute)
            if self.syntax.inside(call, function):
                iterated = [self._iterated(made) for made in self.values.calls(call.func.value)]
                yield from (e for e in iterated if e is not None and pipelines.is_dataset(e))

    def _told(
        self, node: ast.AST, training: Training, feeds: tuple[ast.expr, ...], pipelines: Pipelines
    ) -> list[Told]:
        """The calls that only this training makes, of functions that evaluations call, too; none unless each of them is one."""
        found: list[Told] = []
        if isinstance(node, CALLABLES) and not self._is_shared(node):
            for returned in self.values.returned(node):
                called = self.values.callee(returned) if isinstance(returned, ast.Call) else None
                taken = tuple(dict.fromkeys(self._taken(called, pipelines))) if called is not None else ()
                if not isinstance(returned, ast.Call) or not isinstance(called, ast.FunctionDef) or not taken:
                    return []
                found.append(Told(returned, called, taken))
            return found
        assert training.input_fn is not None
        for made in self._made(training.input_fn, pipelines):
            partial = isinstance(made, ast.Call) and self.names.last(made.func) == "partial"
            maker = node if partial else self.syntax.function(node)
            if not isinstance(made, ast.Call) or not isinstance(maker, ast.FunctionDef) or not feeds:
                return []
            if not partial and (self.values.callee(made) is not maker or self.values.callers(node)):
                return []
            if not self._is_for(made, training, pipelines):
                return []
            found.append(Told(made, maker, feeds))
        return found

    def _made(self, given: ast.expr, pipelines: Pipelines) -> list[ast.expr]:
        """The expressions that name an input function: what a name was last given, else the expression itself."""
        if not isinstance(given, ast.Name):
            return [given]
        return [v for b in pipelines.bindings(given) for v in (pipelines.given(b) or [given])]

    def _is_for(self, made: ast.Call, training: Training, pipelines: Pipelines) -> bool:
        """Whether what a call makes goes to one training only, by itself or by names that nothing else reads."""
        given = training.input_fn
        if made is given:
            return True
        bindings = pipelines.bindings(given) if isinstance(given, ast.Name) else []
        return bool(bindings) and all(u is given for b in bindings for u in pipelines.uses(b))

    def _iterated(self, call: ast.Call) -> ast.expr | None:
        """The dataset of an iterator: `ds.make_one_shot_iterator()`, `tf.data.make_one_shot_iterator(ds)`."""
        if self.names.last(call.func) not in _ITERATORS:
            return None
        if (self.names.of(call.func) or "").startswith("tensorflow"):
            return argument(call, "dataset", 0)
        return call.func.value if isinstance(call.func, ast.Attribute) else None

    def _is_shared(self, function: ast.AST) -> bool:
        if function in self._used_otherwise:
            return True
        return isinstance(function, FUNCTIONS) and bool(self.values.callers(function))

    @cached_property
    def input_functions(self) -> set[ast.AST]:
        """Everything that is an input function, of trainings and of others."""
        trained = {n for t in self.trainings if t.input_fn is not None for n in self.functions(t.input_fn)}
        found, todo = set[ast.AST](), [*trained, *self._used_otherwise]
        while todo:  # and the functions that those call: `lambda: input_fn(True)`
            node = todo.pop()
            if node in found:
                continue
            found.add(node)
            if isinstance(node, CALLABLES):
                called = (self.values.callee(c) for c in walk(node) if isinstance(c, ast.Call))
                todo += [f for f in called if isinstance(f, FUNCTIONS)]
        return found

    def fed_by(self, function: ast.AST) -> list[ast.Call]:
        """The calls that train, evaluate or predict with what a function gives, in the order of the text."""
        return self._fed.get(function, [])

    @cached_property
    def _fed(self) -> dict[ast.AST, list[ast.Call]]:
        found: dict[ast.AST, list[ast.Call]] = {}
        trained = {t.said for t in self.trainings}
        for call in self.syntax.calls:
            if call in trained or (trained and self.names.last(call.func) in _CONSUMERS):
                given = argument(call, "input_fn", 0)
                for function in self.functions(given) if given is not None else ():
                    found.setdefault(function, []).append(call)
        return found

    @cached_property
    def _used_otherwise(self) -> set[ast.AST]:
        """The input functions that evaluations and predictions get."""
        found: set[ast.AST] = set()
        for call in self.syntax.calls:
            if self.names.last(call.func) in _CONSUMERS:
                given = argument(call, "input_fn", 0)
                if given is not None:
                    found.update(self.functions(given))
        return found


__all__ = ["BASE", "RUN_CONFIG", "SPEC", "Estimators", "Input", "Told", "Training"]
