"""Which values are made of a rank's own loss: its gradients are averaged over the ranks, it isn't itself.

Whatever feeds a step, and whether that is seen, ranks have it from other rows: else there were nothing to average."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.facts import Facts
from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.python.syntax import argument

_BEHIND = 1500  # nodes that are looked at behind a value
_SEVERAL = (ast.List, ast.Tuple, ast.Dict)  # of which one part may be a counter
_RANKS = ("rank", "local_rank", "cross_rank")
_OF_MODEL = ("trainable_variables", "trainable_weights", "variables", "weights", "losses", "layers")
_COMPUTING = ("minimize", "compute_gradients")


class OwnLosses:
    """The losses of one script that trains with Horovod."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    def decide(self, e: ast.expr, fetched: Collection[ast.expr]) -> bool:
        """Whether a value, or a test under which it was set, is made of such a loss, and of nothing that ranks have exchanged.
        `fetched`: the parts that sessions give to it; in a graph nothing else counts."""
        if not self._made:
            return False
        if self.facts.sites.builds_graph:
            return any(self._is_made_of(part) for part in fetched if not self._are_several(part))
        return any(map(self._is_made_of, (e, *self._tests_around(e))))

    def are_named(self, e: ast.expr) -> bool:
        """Whether an expression stands for such a loss, and for nothing else."""
        made = [o.node for o in self.module.values.origins(e)]
        return bool(made) and all(n in self._made for n in made) and self._is_made_of(e)

    def _are_several(self, part: ast.expr) -> bool:
        return any(isinstance(o.node, _SEVERAL) for o in self.module.values.origins(part))

    def _is_made_of(self, e: ast.expr) -> bool:
        behind = set(self.module.values.depends([e], _BEHIND))
        use = self.facts.horovod
        if behind.isdisjoint(self._made) or any(use.is_call(n, *AGREEING) for n in behind):
            return False
        return any(use.is_call(n, *_RANKS) for n in behind) or not any(map(self._is_one_order, behind))

    def _is_one_order(self, node: ast.AST) -> bool:
        """Whether rows are shuffled alike on all ranks: then they may have the same ones, which is HVD320."""
        if not isinstance(node, ast.Call) or self.module.names.last(node.func) != "shuffle":
            return False
        seed = argument(node, "seed", 1)
        return seed is not None or self.facts.uniform.draws.is_seeded("tensorflow.random.shuffle")

    def _tests_around(self, e: ast.expr) -> Iterator[ast.expr]:
        """The tests by which what a value is made of is counted: `bad += 1`, under `if loss > best:`."""
        for name in ast.walk(e):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
                for b in self.module.scopes.reaching(name):
                    if b.kind == "augment":
                        yield from (test.test for test, _ in self.module.syntax.conditions(b.statement))

    @cached_property
    def _made(self) -> set[ast.AST]:
        """What computes the losses."""
        losses = [part for loss in self._losses() for part in self._unscaled(loss)]
        return {
            origin.node
            for loss in losses
            for origin in self.module.values.origins(loss)
            if isinstance(origin.node, (ast.Call, ast.BinOp))
        }

    def _unscaled(self, loss: ast.expr) -> Iterator[ast.expr]:
        """A loss, and what it is a share or a multiple of: `loss / args.accumulated`."""
        yield loss
        if isinstance(loss, ast.BinOp) and isinstance(loss.op, (ast.Div, ast.Mult)):
            yield from self._unscaled(loss.left)
            if isinstance(loss.op, ast.Mult):
                yield from self._unscaled(loss.right)
        for o in self.module.values.origins(loss):
            if isinstance(o.node, ast.BinOp) and isinstance(o.node.op, (ast.Add, ast.Sub)) and not o.path:
                sides = (o.node.left, o.node.right)
                parts = [s for s in sides if self._is_computed(s) and self._is_of_rows(s)]
                yield from (part for side in parts for part in self._unscaled(side))

    def _is_computed(self, summand: ast.expr) -> bool:
        """Whether a part of a sum is a loss itself, and no row: `y` of `model(x) - y`."""
        bound = self.module.scopes.reaching(summand) if isinstance(summand, ast.Name) else []
        made = [b.value for b in bound if b.kind == "assign"] if bound else [summand]
        return any(isinstance(e, (ast.Call, ast.BinOp)) for e in made)

    def _is_of_rows(self, summand: ast.expr) -> bool:
        """Whether a part of a sum is made of what the step is given, and not of weights alone, as `decay * l2(model)` is."""
        syntax = self.module.syntax
        step = syntax.function(summand)
        for n in self.module.values.depends([summand], _BEHIND):
            if isinstance(n, ast.Name) and syntax.function(n) is step and not self._is_model(n):
                if any(b.kind in ("parameter", "item") for b in self.module.scopes.reaching(n)):
                    return True
        return False

    def _is_model(self, name: ast.Name) -> bool:
        """Whether a name is called, or asked for weights, as models are: here or elsewhere."""
        parent = self.module.syntax.parent.get
        return any(
            (isinstance(p := parent(n), ast.Call) and p.func is n)
            or (isinstance(p, ast.Attribute) and (p.attr in _OF_MODEL or isinstance(parent(p), ast.Call)))
            for n in self.module.loads.get(name.id)
        )

    def _losses(self) -> Iterator[ast.expr]:
        use, sites = self.facts.horovod, self.facts.sites
        for asked in self._methods("gradient") if use.calls(*TAPES) else ():
            assert isinstance(asked.func, ast.Attribute)
            if any(use.is_call(made, *TAPES) for made in self.module.values.calls(asked.func.value)):
                yield from asked.args[:1]
        for call in self._methods(*_COMPUTING) if use.wrapped and sites.builds_graph else ():
            assert isinstance(call.func, ast.Attribute)
            arrivals = self.facts.optimizers.arrivals(call.func.value)
            loss = argument(call, "loss", 0)
            if loss is not None and any(use.is_call(a.node, *WRAPPERS) for a in arrivals):
                yield loss
        for call in self._methods("backward") if use.of_torch and use.wrapped else ():
            assert isinstance(call.func, ast.Attribute)
            yield call.func.value

    def _methods(self, *names: str) -> list[ast.Call]:
        return [
            call
            for name in names
            for node in self.module.loads.get(name)
            if isinstance(call := self.module.syntax.parent.get(node), ast.Call) and call.func is node
        ]
