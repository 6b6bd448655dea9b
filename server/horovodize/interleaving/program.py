"""Reads a script as a program of steps (`actions.py`): what it does that other ranks notice, and what decides it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from horovodize.facts.counting.callback_items import CallbackItem
from horovodize.facts.differences.exits import ends_program, ends_well
from horovodize.facts.facts import Facts
from horovodize.facts.horovod.collectives import Collective, process_set
from horovodize.facts.rates.fed_rates import FedRates
from horovodize.interleaving.actions import (
    Action,
    Attempt,
    Batches,
    Block,
    Called,
    Change,
    Choice,
    Deed,
    Epochs,
    Exit,
    Holds,
    Leave,
    Risk,
    Stop,
    Together,
    Touch,
    Turns,
    everything,
    held,
    leaves,
)
from horovodize.interleaving.applied_steps import WEIGHTS_BY_STEP, AppliedSteps
from horovodize.interleaving.around_blocks import Part, around_block
from horovodize.interleaving.callback_logs import own_logs
from horovodize.interleaving.changes import Changes
from horovodize.interleaving.deeds import Deeds
from horovodize.interleaving.failures import Failures, failing_step, suppressing
from horovodize.interleaving.handed import handed, is_of_a_trial, run_at_once
from horovodize.interleaving.meetings import members_of, named
from horovodize.interleaving.own_answers import OwnAnswers
from horovodize.interleaving.own_weights import OwnWeights
from horovodize.interleaving.skipped_turns import joined
from horovodize.interleaving.stopping import raises_well, stops, stops_by_name
from horovodize.interleaving.unsent import Unsent
from horovodize.interleaving.waits import Waits
from horovodize.interleaving.wrappers import wrapper_of
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, is_main_guard, position
from horovodize.source.nodes import children

_DEPTH = 10  # calls down
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_CONDITIONS = ("tensorflow.cond", "tensorflow.compat.v1.cond")  # (test, function, function)


class Program:
    """One script's steps."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module
        self.syntax, self.names = facts.module.syntax, facts.module.names
        self.deeds, self.changes = Deeds(facts), Changes(facts)
        self.answers = OwnAnswers(facts, self.own_logs)
        self.waits, self.rates = Waits(facts), FedRates(facts.module, facts.sites)
        self._applied = AppliedSteps(facts, self.waits)
        self._own_weights = OwnWeights(facts, self.changes, self.answers)
        self.failures, self.unsent = Failures(facts, self.deeds, self.answers), Unsent(facts, self.changes)
        self._risks: set[ast.expr] = set()
        self._bodies: dict[ast.AST, Block] = {}
        self._wrapped: dict[ast.AST, Function] = {}  # what decorators that are gone into are given, just now
        self._open: list[ast.AST] = []

    @cached_property
    def whole(self) -> Block:
        """All of it, from its first statement."""
        return self._block(self.syntax.tree.body)

    @cached_property
    def parts(self) -> list[Block]:
        """What every rank runs: the script, or functions that it doesn't call itself, if they begin Horovod. Where none does,
        ranks begin elsewhere (in a function that Spark or Ray is given), or a function runs on some of them alone."""
        starts: set[ast.AST] = set(self.facts.horovod.starts)
        own = not self.facts.horovod.ranks_begin_elsewhere
        if own and any(
            self._reaches(s, starts) for s in self.syntax.tree.body if not isinstance(s, _DEFINITIONS)
        ):
            own_steps = sorted(self.facts.sites.own_steps, key=position)  # which `fit` calls with each batch
            batches = ((Batches(body),) for body in map(self._body, own_steps))
            return [self.whole, *map(self._body, handed(self.facts, self._trains)), *batches]
        begin = [f for f in self.syntax.functions if self._reaches(f, starts)]
        if own:
            begin += [f for f in self._training if f not in begin]
        return [
            self._body(f)
            for f in begin
            if not any(self.syntax.inside(call, g) for call in self.module.values.callers(f) for g in begin)
        ]

    @cached_property
    def _training(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions of a module for others that train: whoever calls one, all ranks do."""
        return [f for f in self.syntax.functions if self._trains(f)]

    def _trains(self, function: ast.AST) -> bool:
        return any(isinstance(a, Together) and a.trains for a in everything(self._body(function)))

    def _reaches(self, place: ast.AST, starts: set[ast.AST]) -> bool:
        return self.facts.drive.reaches(place, starts)

    def _body(self, function: ast.AST) -> Block:
        if function in self._open or len(self._open) >= _DEPTH:
            return ()
        skipped = self.facts.rank_tests.may_be_skipped(function)
        around = wrapper_of(self.module, function) if skipped else None
        if skipped and around is None:
            return ()  # which ranks run it isn't seen
        if function not in self._bodies:
            self._open.append(function)
            try:
                if around is not None and isinstance(function, FUNCTIONS):
                    self._wrapped[around.given] = function
                    self._bodies[function] = self._block(around.inner.body)
                elif isinstance(function, ast.Lambda):
                    self._bodies[function] = tuple(self._of(function.body))
                elif isinstance(function, FUNCTIONS):
                    self._bodies[function] = self._block(function.body)
                else:
                    self._bodies[function] = ()
            finally:
                self._open.pop()
        return self._bodies[function]

    # ------------------------------------------------------------------ statements

    def _block(self, statements: Sequence[ast.stmt]) -> Block:
        return joined(self.deeds, statements, [tuple(self._statement(s)) for s in statements])

    def _statement(self, s: ast.stmt) -> Iterator[Action]:
        match s:
            case (
                ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom()
            ):
                return
            case ast.If() if is_main_guard(s):
                yield from self._block(s.body)
            case ast.If():
                yield from self._choice(s.test, self._block(s.body), self._block(s.orelse))
            case ast.For() | ast.AsyncFor():
                yield from self._of(s.iter)
                yield from self._turns(s)
            case ast.While():
                yield from self._of(s.test)
                yield from self._turns(s)
            case ast.Try():
                yield from self._attempt(s)
            case ast.With() if suppressed := suppressing(self.names, s):
                yield from self._attempt(suppressed)
            case ast.With() | ast.AsyncWith():
                yield from self._with([item.context_expr for item in s.items], s.body)
            case ast.Return():
                yield from self._of(s.value)
                yield Leave(s, Exit.RETURN)
            case ast.Raise():
                ends = Exit.END if raises_well(s.exc) else Exit.RAISE
                yield Leave(s, Exit.RETURN if is_of_a_trial(self.facts, s.exc) else ends)
            case ast.Break():
                yield Leave(s, Exit.BREAK)
            case ast.Continue():
                yield Leave(s, Exit.CONTINUE)
            case ast.Assign() | ast.AugAssign():
                yield from self._of(s.value)
                if what := self.changes.of_assignment(s):
                    yield Change(s, what, self._own_among([s.value]))
                if isinstance(s, ast.Assign) and stops(s):
                    yield from self._stop(s, s.value)
            case ast.Match():
                return  # which case is met isn't followed
            case _:
                for child in ast.iter_child_nodes(s):
                    yield from self._of(child)

    def _stop(self, node: ast.AST, value: ast.expr) -> Iterator[Action]:
        stop = Stop(node)
        yield stop if isinstance(value, ast.Constant) else Choice(value, (stop,), ())

    def _choice(self, test: ast.expr, yes: Block, no: Block) -> Iterator[Action]:
        """`a and b` is one test after the other: each side may be another kind of answer."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                yield from self._choice(test.operand, no, yes)
            case ast.BoolOp(op=ast.And(), values=[first, *rest]):
                yield from self._choice(first, tuple(self._choice(_rest(test, rest), yes, no)), no)
            case ast.BoolOp(op=ast.Or(), values=[first, *rest]):
                yield from self._choice(first, yes, tuple(self._choice(_rest(test, rest), yes, no)))
            case _:
                matters = Holds.COLLECTIVE in held((*yes, *no))
                for action in self._of(test):
                    # Whether a file is there is nothing to others, unless they then wait.
                    if matters or not (isinstance(action, Touch) and action.deed is Deed.LOOK):
                        yield action
                if yes or no:
                    sends = Holds.EQUALS in held(yes)
                    free = sends != (Holds.EQUALS in held(no)) and self.unsent.may_be(test, sends)
                    yield Choice(test, yes, no, free)

    def _turns(self, loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[Action]:
        body, after = self._block(loop.body), self._block(loop.orelse)
        if body or after:
            if Holds.COLLECTIVE in held(body):
                self.answers.ask_again(
                    loop, (a.test for a in everything(body) if isinstance(a, Choice) and leaves(a))
                )
            yield Turns(loop, body, after)

    def _with(self, entered: Sequence[ast.expr], body: list[ast.stmt]) -> Iterator[Action]:
        """What context managers run, around what is run in their block."""
        if not entered:
            yield from self._block(body)
            return
        around = around_block(self.module, entered[0])
        yield from self._within(entered[0]) if around and around.of_generator else self._of(entered[0])
        if around is not None:
            yield from self._part(around.made, around.before)
        yield from self._with(entered[1:], body)
        if around is not None:
            yield from self._part(around.made, around.after)

    def _part(self, made: ast.Call, part: Part | None) -> Iterator[Action]:
        function = part.function if part is not None else None
        if part is None or function in self._open or len(self._open) >= _DEPTH:
            return
        self._open.append(part.function)
        try:
            yield Called(made, self._block(part.statements))
        finally:
            self._open.pop()

    def _within(self, call: ast.expr) -> Iterator[Action]:
        """What a call is given, but not what it runs."""
        for child in children(call):
            yield from self._of(child)

    def _attempt(self, s: ast.Try) -> Iterator[Action]:
        handler = next((h for h in s.handlers if self._goes_on(h)), None)
        risk = self.failures.risk(s.body, handler) if handler is not None else None
        if risk is not None:
            self._risks.add(risk)
        body, after, last = self._block(s.body), self._block(s.orelse), self._block(s.finalbody)
        caught = self._block(handler.body) if handler is not None else ()
        again = (
            self.syntax.loops(s.body[0])
            or any(isinstance(a, Together) and a.trains for a in everything(caught))
            or self.failures.waits_later(s)
        )
        if risk is None and handler is not None and again and self.failures.takes_a_step(handler):
            risk, body = failing_step(body)
        if body or caught or after or last:
            yield Attempt(risk, handler, body, caught, after, last)
        for ending in s.handlers if handler is None else ():
            # All ranks have come to the end of their rows: what each does then.
            done = self._block(ending.body) if self.failures.ends_rows(ending) else ()
            if ending.type is not None and Holds.COLLECTIVE in held(done):
                yield Choice(ending.type, done, ())

    def _goes_on(self, handler: ast.ExceptHandler) -> bool:
        """Whether a handler takes what may befall one rank alone, and the script goes on after it."""
        if self.failures.is_of_all(handler):
            return False
        ends = self._block(handler.body[-1:])
        return not any(isinstance(a, Leave) and a.how in (Exit.RAISE, Exit.END) for a in ends)

    # ------------------------------------------------------------------ expressions

    def _calls(self, node: ast.AST) -> Iterator[ast.Call]:
        return (n for n in ast.walk(node) if isinstance(n, ast.Call))

    def _of(self, node: ast.AST | None) -> Iterator[Action]:
        """What evaluating an expression does, in its order."""
        if node is None or isinstance(node, CALLABLES):
            return
        if isinstance(node, ast.IfExp):
            yield from self._choice(node.test, tuple(self._of(node.body)), tuple(self._of(node.orelse)))
            return
        if isinstance(node, ast.BoolOp):
            first, *rest = node.values
            inner = tuple(self._of(_rest(node, rest)))
            both = isinstance(node.op, ast.And)
            yield from self._choice(first, inner if both else (), () if both else inner)
            return
        agreed = self.facts.horovod.is_call(node, "broadcast_object")
        for child in children(node):
            for action in self._of(child):
                # What the others see is thrown away where rank 0's is sent to them.
                if not (agreed and isinstance(action, Touch) and action.deed is Deed.LOOK):
                    yield action
        if isinstance(node, ast.Call):
            yield from self._call(node)
        if (
            isinstance(node, ast.expr)
            and node in self._risks
            and not any(self.deeds.of(node) if isinstance(node, ast.Call) else ())
        ):
            yield Risk(node)

    def _call(self, call: ast.Call) -> Iterator[Action]:
        collective = self.facts.collectives.all.get(call)
        if (own := next(filter(self.answers.is_own_choice, self.rates.of(call)), None)) is not None:
            yield Change(call, "rate", own)
        if call in self.waits.asked:  # a tape waits where its gradients are asked for
            return
        if (tape := self.waits.asking.get(call.func)) is not None:
            yield from self._together(tape, self.facts.collectives.all[tape])
            return
        if collective is not None and (collective.trains or self.waits.is_at_once(call)):
            yield from self._together(call, collective)
            yield from self._epochs(call, collective)
            return
        if fetched := self.waits.runs.get(call):
            yield from self._together(call, fetched[0])
            return
        if (trained_if := self.waits.sometimes.get(call)) is not None:
            test, answer = trained_if
            step: Block = (Together(call, "training", trains=True),)
            yield from self._choice(test, step if answer else (), () if answer else step)
            return
        if self.facts.horovod.is_call(call, "join"):
            yield Together(call, "join")
            return
        if ends_program(call, self.names):
            yield Leave(call, Exit.END if ends_well(call) else Exit.RAISE)
            return
        if (value := stops_by_name(self.module.scopes, call)) is not None:
            yield from self._stop(call, value)
            return
        if call in self._applied.all:
            yield Change(call, WEIGHTS_BY_STEP)
        if own is None and (what := self.changes.of(call)):
            given = self._own_among(call.args) if what == "rate" else self._own_weights.of(call)
            yield Change(call, what, given)
        if (either := self.deeds.fetched_or_read(call)) is not None:
            asked, fetch, read = either
            yield from self._choice(asked, (fetch,), (read,))
        else:
            yield from self.deeds.of(call)
        if self.names.of(call.func) in _CONDITIONS and len(call.args) == 3:
            test, *arms = call.args
            yes, no = (self._run_by(call, arm) for arm in arms)
            yield from self._choice(test, yes, no)
            return
        if (wrapped := self._wrapped_by(call)) is not None:
            yield Called(call, self._block(wrapped.body))
            return
        graph = self.module.values.graph
        called = graph.runs(call)
        for run in (*called, *graph.run_last(call), *run_at_once(self.facts, call)):
            function = run
            if isinstance(run, ast.ClassDef):
                function = next(
                    (s for s in run.body if isinstance(s, FUNCTIONS) and s.name == "__init__"), run
                )
            body = self._body(function)
            if body:
                yield Called(call, body, function if run in called else None)

    def _run_by(self, call: ast.Call, function: ast.expr) -> Block:
        """What a call runs of a function that it is given, without arguments."""
        made = [o.node for o in self.module.values.origins(function) if not o.path]
        bodies = [self._body(f) for f in made if isinstance(f, CALLABLES)]
        return tuple(Called(call, body) for body in bodies if body)

    def _wrapped_by(self, call: ast.Call) -> Function | None:
        """The function that a decorator's own function runs: `function(*args)` of `def rank_0_only(function):`."""
        bound = self.module.scopes.reaching(call.func) if isinstance(call.func, ast.Name) else []
        if not self._wrapped or len(bound) != 1 or bound[0].kind != "parameter":
            return None
        return self._wrapped.get(bound[0].anchor)

    # ------------------------------------------------------------------ callbacks

    def own_logs(self) -> Collection[ast.AST]:
        """The parameters by which callbacks are told metrics of one rank."""
        return self._own_logs

    @cached_property
    def _own_logs(self) -> Collection[ast.AST]:
        return own_logs(self.facts)

    def _epochs(self, fit: ast.Call, collective: Collective) -> Iterator[Action]:
        """What the script's own callbacks do in a `fit`, between its epochs and after them."""
        if collective.call is not fit or not any(fit is f.call for f in self.facts.sites.fits):
            return
        between, after = list[Action](), list[Action]()
        for item in self.facts.callback_items.of(fit):
            if item.unsure or len(item.made) != 1:
                continue
            if item.by is not None:  # what all ranks write is HVD314
                after += self._on_some(item, tuple(self.deeds.kept_by_callback(item.made[0])))
            for hook in self.facts.hooks.given_by(item.made[0]):
                body = self._body(hook.function)
                called = (Called(item.made[0], body),) if body else ()
                done = between if hook.name != "on_train_end" else after
                done += called if item.by is None else self._on_some(item, called)
        if between:
            yield Epochs(Together(fit, collective.name, trains=True), tuple(between))
        yield from after

    def _on_some(self, item: CallbackItem, called: Block) -> Block:
        """What a callback does that some ranks have, where the test that gives it to them is around it."""
        around = self.syntax.parent.get(item.by.test) if item.by is not None else None
        if item.by is None or not isinstance(around, ast.If | ast.IfExp):
            return ()
        body, orelse = around.body, around.orelse
        for arm, yes in ((body, True), (orelse, False)):
            nodes: list[ast.AST] = [*arm] if isinstance(arm, list) else [arm]
            if any(self.syntax.inside(item.node, node) for node in nodes):
                return tuple(self._choice(item.by.test, called if yes else (), () if yes else called))
        return ()

    def _together(self, call: ast.Call, collective: Collective) -> Iterator[Action]:
        made = collective.call
        given = process_set(made, collective.name)
        members = members_of(self.facts, given) if given is not None else None
        if given is None or members:
            name = named(made, collective.name)
            if (
                made is not call
                and self.facts.sites.builds_graph
                and self.facts.rank_tests.deciding(made) is None
            ):
                name += f" {ast.unparse(made)}"  # in a graph, the tensor gives the name
            equals = self.changes.equals(made) and not members
            done = Together(call, name, collective.trains, equals, members)
            if (sent_if := self.changes.equals_if(made)) is not None:
                test, answer = sent_if
                other = Together(call, name, collective.trains)
                done, other = (done, other) if answer else (other, done)
                yield Choice(test, (done,), (other,), free=True)
            else:
                yield done

    def _own_among(self, given: Iterable[ast.expr]) -> ast.expr | None:
        """What of the values that something is set to is surely another one on each rank."""
        own = (e for e in given if self.answers.is_own_value(e) or self.answers.is_chosen_alone(e))
        return next(own, None)


def _rest(whole: ast.BoolOp, values: list[ast.expr]) -> ast.expr:
    """The other sides of `and` or `or`."""
    return values[0] if len(values) == 1 else ast.copy_location(ast.BoolOp(whole.op, values), whole)
