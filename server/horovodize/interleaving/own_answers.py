"""Which decisions of a script each rank takes for itself, which all take alike, and which can't be told."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import Enum
from functools import cached_property

from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.sources import AGREEING, Source
from horovodize.facts.facts import Facts
from horovodize.interleaving.absent_gradients import asks_for_gradient
from horovodize.interleaving.asked import (
    all_given,
    asks_layer,
    asks_model,
    asks_whether_there,
    divides,
    draws_an_order,
    given_here,
    given_to_model,
    is_none,
    is_of_validation,
    says_whether_there,
    taken_of,
)
from horovodize.interleaving.counted import made_of_numbers, number_choices
from horovodize.interleaving.handed_shares import is_handed_elsewhere
from horovodize.interleaving.own_gradients import OwnGradients
from horovodize.interleaving.own_losses import OwnLosses
from horovodize.interleaving.rows_alike import RowsAlike
from horovodize.python.syntax import argument
from horovodize.summary.sites import MODEL

_OWN = (Source.CHANCE, Source.CLOCK, Source.INPUT, Source.ORDER, Source.GAME, Source.SIGNAL)
_RANKS = ("rank", "local_rank", "cross_rank")
_LISTING = (
    "os.listdir",
    "os.scandir",
    "glob.glob",
    "glob.iglob",
    "tensorflow.io.gfile.listdir",
    "tensorflow.io.gfile.glob",
)
_BEHIND = 1500  # nodes that are looked at behind a value
_CONTAINERS = ("deque", "defaultdict", "OrderedDict", "list", "dict", "set")
_SAMPLER = "DistributedSampler"
_LENGTHS = 4  # names that a length is looked for behind
_DIVIDING = (
    "shard",
    "skip",
    "seed",
    "set_seed",
    "RandomState",
    "default_rng",
    "slice",
    "islice",
    "range",
    "arange",
)
_SIZES = ("size", "shape", "numel", "dim", "ndim", "cardinality")


class Taken(Enum):
    """Who takes a decision."""

    ALIKE = "all ranks take it alike"
    OWN = "each rank takes it for itself"
    UNSURE = "it asks for the rank, in a way that isn't followed"


class OwnAnswers:
    """The decisions of one script."""

    def __init__(self, facts: Facts, own_logs: Callable[[], Collection[ast.AST]] = tuple) -> None:
        """`own_logs`: the parameters by which callbacks are told metrics that nothing has averaged."""
        self.facts, self._own_logs = facts, own_logs
        self._tests: dict[ast.expr, Taken] = {}
        self._loops: dict[ast.AST, Taken] = {}
        self._modes: dict[ast.expr, bool] = {}
        self._texts: dict[ast.expr, str] = {}
        self._of_hosts: dict[ast.expr, bool] = {}
        self._losses, self.rows_alike, self._gradients = (
            OwnLosses(facts),
            RowsAlike(facts),
            OwnGradients(facts),
        )
        self._asked_again: set[ast.expr] = set()

    def of_test(self, test: ast.expr) -> Taken:
        """Who decides a test whose answer isn't to be seen. What is unknown is taken to be alike: it is no finding."""
        if test not in self._tests and asks_for_gradient(self.facts.module, test):
            self._tests[test] = Taken.ALIKE
        if test not in self._tests:
            uniform = self.facts.uniform
            found = uniform.number_reasons(test) if self._is_container(test) else uniform.reasons(test)
            self._tests[test] = self._of(test, found)
        return self._tests[test]

    def _is_container(self, test: ast.expr) -> bool:
        """Whether a test asks whether something holds anything: `if losses:` of a list."""
        if not isinstance(test, (ast.Name, ast.Attribute)):
            return False
        found = [o.node for o in self.facts.module.values.origins(test)]
        nodes = [n for n in found if not (isinstance(n, ast.Constant) and n.value is None)]
        names = self.facts.module.names
        return bool(nodes) and all(
            isinstance(n, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp))
            or (isinstance(n, ast.Call) and names.last(n.func) in _CONTAINERS)
            or (isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice))
            for n in nodes
        )

    def depends_on_host(self, test: ast.expr) -> bool:
        """Whether a test has no other answer than whether a file is there, which is another on another host."""
        if test not in self._of_hosts:
            found = self.facts.uniform.reasons(test)
            self._of_hosts[test] = bool(found) and all(map(says_whether_there, found))
        return self._of_hosts[test]

    def ask_again(self, loop: ast.AST, tests: Iterable[ast.expr]) -> None:
        """Notes those tests that ask in each turn of a loop for one file: it may come between the turns of two ranks."""
        scopes, inside = self.facts.module.scopes, self.facts.module.syntax.inside
        for test in tests:
            names = [n for n in ast.walk(test) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
            if not any(inside(b.statement, loop) for n in names for b in scopes.reaching(n)):
                self._asked_again.add(test)

    def is_asked_again(self, test: ast.expr) -> bool:
        """Whether ranks in the same turn of a loop may find a file there, or not yet."""
        return test in self._asked_again and self.asks_whether_there(test)

    def asks_whether_there(self, test: ast.expr) -> bool:
        """Whether a test itself asks for nothing but that: an epoch that a checkpoint gives may be the first on all ranks."""
        if isinstance(test, ast.Compare) and is_none(test.comparators[0]):
            test = test.left
        found: list[ast.AST] = [*self.facts.module.values.calls(test)]
        if isinstance(test, ast.Attribute):  # `manager.latest_checkpoint`
            found = found or [test]
        return bool(found) and all(map(asks_whether_there, found)) and self.depends_on_host(test)

    def is_own_loss(self, fetched: ast.expr) -> bool:
        """Whether what a session fetches is made of the loss of one rank, and of nothing that ranks have exchanged."""
        return self._losses.decide(fetched, [fetched])

    def is_loss(self, e: ast.expr) -> bool:
        """Whether something is such a loss itself, or a name of one."""
        return self._losses.are_named(e)

    def is_own_value(self, e: ast.expr) -> bool:
        """Whether a value is surely another one on each rank, whichever way each has come to it. How many batches a share has
        is the same on all."""
        own = self._of(e, self.facts.uniform.of_values.reasons(e)) is Taken.OWN
        return own and not self.asks_how_many(e)

    def is_own_choice(self, e: ast.expr) -> bool:
        """Whether a value is surely another one on each rank, also where each has come to it in its own way: a rate that is
        halved where a rank's own loss grows."""
        if self.is_chosen_alone(e):
            return True
        return self._of(e, self.facts.uniform.reasons(e)) is Taken.OWN and not self.asks_how_many(e)

    def is_chosen_alone(self, e: ast.expr) -> bool:
        """Whether a name of a value is set, or isn't, by a test that each rank answers for itself."""
        return any(self.of_test(test) is Taken.OWN for test in self._set_under(e))

    def _set_under(self, e: ast.expr) -> Iterator[ast.expr]:
        """The tests under which the names of a value are set, that aren't around it itself."""
        syntax = self.facts.module.syntax
        around = {test for test, _ in syntax.conditions(e)}
        for n in ast.walk(e):
            for b in self.facts.module.scopes.reaching(n) if isinstance(n, ast.Name) else ():
                if b.kind in ("assign", "augment"):
                    yield from (t.test for t, _ in syntax.conditions(b.statement) if t not in around)

    def is_mode(self, test: ast.expr) -> bool:
        """Whether a test asks for nothing but how the script was started, or on how many ranks."""
        if test not in self._modes:
            self._modes[test] = self.facts.rank_tests.asks_for_several(test) or not any(
                isinstance(r, Varies) for r in self.facts.uniform.reasons(test)
            )
        return self._modes[test]

    def text(self, test: ast.expr) -> str:
        """How a test is written: tests that are written alike, and that all take alike, are taken alike."""
        if test not in self._texts:
            self._texts[test] = ast.unparse(test)
        return self._texts[test]

    def of_turns(self, loop: ast.For | ast.AsyncFor | ast.While) -> Taken:
        """Who decides how often a loop turns, as its head says it."""
        if loop not in self._loops:
            head = loop.test if isinstance(loop, ast.While) else loop.iter
            reasons = (
                self.facts.uniform.reasons
                if isinstance(loop, ast.While)
                else self.facts.uniform.number_reasons
            )
            self._loops[loop] = self._of(head, reasons(head), counted=not isinstance(loop, ast.While))
            if not isinstance(loop, ast.While) and any(
                self.of_test(test) is Taken.OWN for test in number_choices(self.facts, loop)
            ):
                self._loops[loop] = Taken.OWN
        return self._loops[loop]

    def is_drawn(self, e: ast.expr, orders: bool = True) -> bool:
        """Whether a value is made of what each rank draws, measures or is told for itself. Without `orders`, not of the
        order of a set."""
        found = self.facts.uniform.of_values.reasons(e)
        varies = [r for r in found if isinstance(r, Varies) and r.kind in _OWN]
        varies = [r for r in varies if orders or r.kind is not Source.ORDER]
        return any(not self._is_told_to_unseen(r, found) for r in varies)

    def is_of_own_rows(self, e: ast.expr) -> bool:
        """Whether a value is surely made of what a rank takes by its number, or draws for itself."""
        return self.is_drawn(e) or any(
            isinstance(r, Varies) and self._divides(r) for r in self.facts.uniform.of_values.reasons(e)
        )

    def is_taken_by_rank(self, e: ast.expr) -> bool:
        """Whether a value is surely made of the rows that a rank takes by its number, and of nothing that ranks exchange."""
        of_rank = any(
            isinstance(r, Varies) and self._divides(r) and not is_handed_elsewhere(self.facts, r.where, e)
            for r in self.facts.uniform.of_values.reasons(e)
        )
        return of_rank and not self.facts.horovod.depends_on(e, *AGREEING, limit=_BEHIND)

    def _of(self, e: ast.expr, reasons: Collection[object], counted: bool = False) -> Taken:
        varies = [r for r in reasons if isinstance(r, Varies) and not self._is_told_to_unseen(r, reasons)]
        if any(map(self._is_of_exchanged_metric, varies)):
            return Taken.UNSURE
        if any(r.kind in _OWN for r in varies):
            return Taken.OWN
        if any(map(self._is_own_file, varies)):
            return Taken.OWN
        of_logs = any(r.kind is Source.ROWS and r.where in self._own_logs() for r in varies)
        if of_logs and (self._validates_on_own_rows or not is_of_validation(e)):
            return Taken.OWN
        if counted and self._goes_through_own_folder(e):
            return Taken.OWN
        if not counted and self._comes_of_own_rows(e, varies):
            return Taken.ALIKE if self.rows_alike.asks_for_the_same(e) else Taken.OWN
        if not counted and self.facts.horovod.of_torch and self._comes_of_a_sampler(e, reasons):
            return Taken.OWN
        if not counted and self._gradients.are_behind(e, reasons):
            return Taken.OWN
        if reasons and not counted and self._losses.decide(e, [part for _, part in self._fetched_for(e)]):
            return Taken.OWN
        return Taken.UNSURE if self._asks(e) else Taken.ALIKE

    def _is_told_to_unseen(self, reason: Varies, reasons: Collection[object]) -> bool:
        """Whether what differs is told to a function that can't be seen, which may give what has nothing to do with it:
        `log(rate, name=str(uuid4()))`."""
        unseen = (r.where for r in reasons if isinstance(r, Unknown))
        inside = self.facts.module.syntax.inside
        return any(
            isinstance(c, ast.Call)
            and c is not reason.where
            and inside(reason.where, c)
            and not asks_layer(c)
            for c in unseen
        )

    @cached_property
    def _validates_on_own_rows(self) -> bool:
        """Whether what each `fit` validates on is of the rows that a rank takes by its number: `validation_data`, or a part of
        those that it trains on."""
        fits = [f.call for f in self.facts.sites.fits if f.method != "train_on_batch"]
        return bool(fits) and all(any(map(self.is_taken_by_rank, self._validated_on(fit))) for fit in fits)

    def _validated_on(self, fit: ast.Call) -> list[ast.expr]:
        given = argument(fit, "validation_data")
        if given is None and argument(fit, "validation_split") is not None:
            given = argument(fit, "x", 0)
        if isinstance(given, (ast.Tuple, ast.List)):
            return given.elts
        return [given] if given is not None else []

    def _is_of_exchanged_metric(self, reason: Varies) -> bool:
        """Whether what differs is the result of a metric whose counts were exchanged:
        `auc.true_positives.assign(hvd.allreduce(…))`."""
        syntax, asked = self.facts.module.syntax, reason.where
        if (
            not isinstance(asked, ast.Call)
            or not isinstance(asked.func, ast.Attribute)
            or asked.func.attr != "result"
        ):
            return False
        metric, function = ast.unparse(asked.func.value), syntax.function(asked)
        return any(
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and ast.unparse(node.value.value) == metric
            and syntax.function(node) is function
            and isinstance(call := syntax.parent.get(node), ast.Call)
            and any(self.facts.horovod.depends_on(given, *AGREEING, limit=60) for given in call.args)
            for node in self.facts.module.loads.get("assign")
        )

    def _comes_of_a_sampler(self, e: ast.expr, reasons: Collection[object]) -> bool:
        """Whether a value surely comes of the rows that PyTorch's sampler takes by the rank. How many these are is the same on
        all ranks: where it is asked for, nothing is said."""
        use, names = self.facts.horovod, self.facts.module.names
        if use.depends_on(e, *AGREEING, limit=_BEHIND) or self.asks_how_many(e):
            return False
        return any(
            isinstance(n, ast.Call)
            and names.last(n.func) == _SAMPLER
            and any(map(self._is_of_rank, all_given(n)))
            for r in reasons
            if isinstance(r, Unknown) and isinstance(r.where, ast.Call)
            for n in self.facts.module.values.depends(all_given(r.where), _BEHIND)
        )

    def asks_how_many(self, e: ast.expr, depth: int = 0) -> bool:
        """Whether a value, or one that it is made of, is a length."""
        if depth > _LENGTHS:
            return True
        divided = {n.right for n in ast.walk(e) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)}
        called = {n.func for n in ast.walk(e) if isinstance(n, ast.Call)}
        for n in ast.walk(e):
            if any(self.facts.module.syntax.inside(n, d) for d in divided):
                continue
            if isinstance(n, ast.Attribute) and n.attr in _SIZES:
                if (self.facts.module.names.of(n) or "").startswith("horovod."):
                    continue
                return True
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "len":
                return True
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in called:
                bound = self.facts.module.scopes.reaching(n)
                values = [
                    b.value
                    for b in bound
                    if b.kind in ("assign", "augment") and b.value is not None and not divides(b.statement)
                ]
                if any(
                    v is not e and self.asks_how_many(v, depth + 1) for v in values if not self._is_in(e, v)
                ):
                    return True
        return False

    def _is_in(self, e: ast.expr, value: ast.AST) -> bool:
        return self.facts.module.syntax.inside(e, value)

    def _is_own_file(self, reason: Varies) -> bool:
        """Whether the answer depends on a file that each rank has a name of its own for."""
        return reason.kind is Source.FILES and self.facts.horovod.depends_on(reason.where, *_RANKS, limit=60)

    def _goes_through_own_folder(self, e: ast.expr) -> bool:
        """Whether a loop goes through what is found in a folder of the rank: how much that is is its own."""
        calls = self.facts.module.values.calls(e)
        return any(
            self.facts.module.names.of(c.func) in _LISTING and any(map(self._is_of_rank, c.args))
            for c in calls
        )

    def _is_of_rank(self, e: ast.expr) -> bool:
        return self.facts.horovod.depends_on(e, *_RANKS, limit=60)

    def _comes_of_own_rows(self, e: ast.expr, varies: Collection[Varies]) -> bool:
        """Whether a value surely comes of the rows that a rank takes by its number."""
        computed = [r.where for r in varies if r.kind is Source.ROWS]
        if computed and self.facts.sites.graph.all_runs and self._is_fetched_of_own(e):
            return True
        if any(map(self._is_given_own, computed)):
            return True
        # A model's weights are those of all ranks: what it is asked about counts.
        if computed and all(map(asks_model, computed)):
            given = [e for c in computed if isinstance(c, ast.Call) for e in given_to_model(c)]
            return any(self.facts.horovod.depends_on(e, *_RANKS, limit=200) for e in given)
        # A value that is set by such tests, as how often a loss got no better, isn't made of them: so each is asked by itself.
        eager = not self.facts.sites.builds_graph or not any(self._fetched_for(e))
        asked = [e, *(c for c in computed if isinstance(c, ast.Call)), *given_here(self.facts, e, computed)]
        if eager and computed and any(self._is_dealt_apart(c) for c in asked):
            return True
        # How many rows there were decides how often something was counted, but that may be the same: values alone count.
        return any(
            isinstance(r, Varies) and self._divides(r)
            for part in made_of_numbers(self.facts, e)
            for r in self.facts.uniform.of_values.reasons(part)
        )

    def _is_dealt_apart(self, e: ast.expr) -> bool:
        """Whether the rows that a value is computed from are taken by the rank, or come in an order that each rank draws."""
        if self.facts.horovod.depends_on(e, *_RANKS, limit=_BEHIND):
            return True
        behind = self.facts.module.values.depends([e], _BEHIND)
        return any(isinstance(n, ast.Call) and draws_an_order(self.facts, n) for n in behind)

    def _is_given_own(self, computed: ast.AST) -> bool:
        """Whether what trains is given what the rank draws for itself."""
        if not isinstance(computed, ast.Call) or computed in self.facts.sites.graph.all_runs:
            return False
        begin = 0 if self._is_given_rows_first(computed) else 1
        given = (*computed.args[begin:], *(k.value for k in computed.keywords))
        return any(self.is_drawn(e) for e in given)

    def _is_given_rows_first(self, computed: ast.Call) -> bool:
        """Whether the first that a call is given are rows: of a model, `model(rows)`, and of Keras' own steps."""
        if self.facts.module.names.last(computed.func) in ("train_on_batch", "test_on_batch"):
            return True
        made = self.facts.module.values.calls(computed.func)
        return bool(made) and all(MODEL in self.facts.module.values.made_by(c) for c in made)

    def _is_fetched_of_own(self, e: ast.expr) -> bool:
        """Whether a value is made of what a session computes from the rows that it is fed, and these are one rank's. A counter
        is fetched as losses are: so it is asked which placeholders a part is made of, and what this run feeds them."""
        use, values = self.facts.horovod, self.facts.module.values
        for run, part in self._fetched_for(e):
            made = set(values.depends([part], _BEHIND))
            if any(use.is_call(n, *AGREEING) for n in made):
                continue
            given = argument(run, "feed_dict", 1)
            for o in values.origins(given) if given is not None else ():
                for key, rows in (
                    zip(o.node.keys, o.node.values, strict=True) if isinstance(o.node, ast.Dict) else ()
                ):
                    if key is not None and made & set(values.calls(key)):
                        if self.is_drawn(rows) or use.depends_on(rows, *_RANKS, limit=_BEHIND):
                            return True
        return False

    def _fetched_for(self, e: ast.expr) -> Iterator[tuple[ast.Call, ast.expr]]:
        """The runs of a session whose parts an expression is computed from, with the parts."""
        graph, fetched, scopes = self.facts.sites.graph, self.facts.counters.fetched, self.facts.module.scopes
        todo, seen = list[ast.AST]([e]), set[ast.AST]()
        while todo and len(seen) < _BEHIND:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, (ast.Name, ast.Subscript)) and (found := fetched.run_of(node)) is not None:
                yield found
            elif isinstance(node, ast.Name):
                for b in scopes.reaching(node):
                    if b.kind == "assign" and isinstance(b.value, ast.Call) and b.value in graph.all_runs:
                        yield b.value, taken_of(graph.fetches(b.value), b.path)
                    elif b.kind in ("assign", "augment") and b.value is not None:
                        todo.append(b.value)
            elif isinstance(node, ast.Call) and node in graph.all_runs:
                yield node, graph.fetches(node)
            else:
                todo += ast.iter_child_nodes(node)

    def _divides(self, reason: Varies) -> bool:
        """Whether something differs because a rank takes rows, or draws, by its number."""
        if reason.kind is not Source.HOST:
            return False
        syntax, child = self.facts.module.syntax, reason.where
        for a in syntax.ancestors(reason.where):
            if isinstance(a, ast.Subscript) and child is a.slice:
                return True
            if (
                isinstance(a, ast.Call)
                and child is not a.func
                and self.facts.module.names.last(a.func) in _DIVIDING
            ):
                return True
            if isinstance(a, ast.stmt):
                return False
            child = a
        return False

    def _asks(self, e: ast.expr) -> bool:
        """Whether a test asks for the rank, or may."""
        found = self.facts.uniform.of_values.reasons(e)
        return self.facts.rank_tests.may_decide(e) or any(
            isinstance(r, Varies) and r.kind is Source.HOST for r in found
        )
