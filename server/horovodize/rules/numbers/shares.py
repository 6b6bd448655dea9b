"""What the data rules share: dividing a count by the number of ranks, wrapping data in a rank's share of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from horovodize.facts.differences import command_line
from horovodize.facts.feeds.refilled import gives_again
from horovodize.plan import Decision
from horovodize.python.augmented import added
from horovodize.python.syntax import FUNCTIONS, argument, end, position, says_none
from horovodize.rules.beginning import head
from horovodize.rules.drafting.decisions import Divided, Shared, Unit
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import ends_after_starts, quotients, steps_or_none, turns_without_steps
from horovodize.source import Edit, Span
from horovodize.summary.feeding import Feeding

_LIMIT = 200  # nodes that are looked at behind a formula

WHY = "Every step averages size() batches, so 1/size() of the steps makes an epoch."
DIVIDE_STEPS = "Divide the steps among the ranks"
PLENTY = 100  # a count that large stays above zero on any number of ranks that a script is likely to meet

_begun: WeakKeyDictionary[Draft, set[str]] = WeakKeyDictionary()

# One process alone shuffles as it always did.
SEED = f"0 if {SIZE} > 1 else None"


def begins(draft: Draft, rule: str) -> bool:
    """Whether a rule runs for the first time in a draft. Rules that build on others run those first, in whatever order
    the patterns name them."""
    begun = _begun.setdefault(draft, set())
    first = rule not in begun
    begun.add(rule)
    return first and draft.options.split_data


def feeding(draft: Draft) -> Feeding:
    """What feeds training in a draft's module; read once."""
    return draft.facts.feeding


def change_count(draft: Draft, rule: str, count: ast.expr, what: str = DIVIDE_STEPS, why: str = WHY) -> bool:
    """Divides a number of steps where it stands. Returns whether that changes the text here."""
    edits = divide(draft, count, rule)
    if edits:
        draft.change(rule, count, what, why, edits)
    return bool(edits)


def divide(draft: Draft, count: ast.expr, rule: str) -> tuple[Edit, ...]:
    """`n` → `n // hvd.size()`, never 0 unless it was: a count that may be small gets `max(1, …)`, one that may be None, or 0 in
    some turns of a loop around, is kept if it is."""
    if draft.options.keeps_batch or not draft.decide(count, Divided(rule)):
        return ()
    draft.divided = True
    added = ends_after_starts.added_steps(draft, count)
    if added is not None:
        return divide(draft, added, rule)
    quotient = quotients.over_ranks(draft, count)
    if quotient is not None:
        return draft.decided(Decision.DIVIDED, quotient)
    count = where_made(draft, count)
    draft.decide(count, Divided(rule))
    if not draft.was(count, Divided):
        return ()
    known = feeding(draft).kinds.constant(count)
    span = draft.module.span(count)
    before, after, opening_of_one = "", f" // {SIZE}", ""
    if needs_parentheses(count):
        outer = enclosed(draft, count, span)
        if outer is not None:
            span = outer
        else:
            before, after = "(", ")" + after
    if _is_left(draft, count):
        pass  # what a stored count of all ranks' steps leaves: none where training was over
    elif known is None or known < PLENTY:
        opening_of_one, closing = _at_least_one(draft, count)
        before, after = opening_of_one + before, after + closing
    may_be_nothing = may_be_none(draft, count) or (
        opening_of_one and turns_without_steps.may_be(draft, count)
    )
    if may_be_nothing and isinstance(count, (ast.Name, ast.Attribute)):
        before = f"{draft.module.text(count)} and {before}"
    elif opening_of_one == "max(1, " and steps_or_none.is_none_by_default(draft, count):
        opening, closing = steps_or_none.kept(draft, count)
        before, after = opening + before, after + closing
    return draft.decided(Decision.DIVIDED, Edit.around(span, before, after))


def _is_left(draft: Draft, count: ast.expr) -> bool:
    """Whether a count is what a stored count leaves, there or by a name: `left = max(1000 - int(checkpoint.step), 0)`."""
    made = [count, *(o.node for o in draft.values.origins(count))]
    return any(draft.facts.counters.stored_in(e) is not None for e in made)


def _at_least_one(draft: Draft, count: ast.expr) -> tuple[str, str]:
    """What stands around a share of a count: `max(1, …)`, but of one that may be a tensor (`tf.range(steps)`) TensorFlow's."""
    call = draft.syntax.parent[count]
    if isinstance(call, ast.Call) and draft.names.of(call.func) == "tensorflow.range":
        called = draft.module.text(call.func)
        if isinstance(call.func, ast.Attribute):
            return f"{called.removesuffix('range')}maximum(1, ", ")"
    return quotients.at_least(draft, count)


def where_made(draft: Draft, count: ast.expr) -> ast.expr:
    """Where a count is divided: where its name is given to it, if it is also what a sum over the steps is divided by
    (`average += loss / steps`), so that the average stays one, or what tells the last step (`if step == steps - 1`); else
    where it is used. Also there, if a rate is computed from it and from a counter: the counter is multiplied then."""
    if not isinstance(count, ast.Name):
        return count
    bindings = draft.module.scopes.reaching(count)
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
        return count
    made = bindings[0].value
    uses = [
        n
        for n in draft.syntax.nodes
        if isinstance(n, ast.Name) and n.id == count.id and isinstance(n.ctx, ast.Load) and n is not count
        and any(b is bindings[0] for b in draft.module.scopes.reaching(n))
    ]  # fmt: skip
    if any(_is_taken_with_a_counter(draft, n) for n in uses):
        return count  # the counter is told there that it counts the steps of one rank
    divisors = [n for n in uses if _divides(draft, n)]
    tested = [n for n in uses if _is_compared_with_the_turn(draft, n, count)]
    counts = [n for n in uses if n not in (*divisors, *tested) and not _is_printed(draft, n)]
    if (
        not (divisors or tested)
        or not all(draft.was(n, Divided) for n in counts)
        or _is_before_horovod(draft, made)
    ):
        return count
    return made


def divisors_in(draft: Draft, loop: ast.stmt) -> Iterator[tuple[ast.expr, ast.AST]]:
    """(what something is divided by, the sum that it belongs to), in a loop and after it, in its function."""
    function = draft.syntax.function(loop)
    for n in draft.syntax.nodes:
        inside = draft.syntax.inside(n, loop)
        if draft.syntax.function(n) is not function or not (inside or getattr(n, "lineno", 0) > loop.lineno):
            continue
        if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Div):
            yield n.value, n.target
        elif isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div):
            statement = draft.syntax.statement(n)
            sum_ = added(statement) if inside else None
            is_term = sum_ is not None and draft.syntax.inside(n, sum_.value)
            yield n.right, (sum_.target if sum_ is not None and is_term else n.left)


def _divides(draft: Draft, n: ast.Name) -> bool:
    """Whether a name is what something is divided by."""
    node: ast.AST = n
    parent = draft.syntax.parent[node]
    while isinstance(parent, ast.Call) and draft.names.last(parent.func) in ("float", "float32", "int"):
        node, parent = parent, draft.syntax.parent[parent]
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Div) and parent.right is node
    return isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Div) and parent.value is node


def _is_taken_with_a_counter(draft: Draft, n: ast.Name) -> bool:
    """`step / steps`, `tf.minimum(step, steps)`: how far training has come. Of a graph also what sessions feed as the step."""
    counters = draft.facts.counters
    child: ast.AST = n
    for a in draft.syntax.ancestors(n):
        if not isinstance(a, ast.expr):
            return False
        others: list[ast.expr] = []
        if isinstance(a, ast.BinOp):
            others = [a.left, a.right]
        elif isinstance(a, ast.Call) and draft.names.last(a.func) in ("min", "max", "minimum", "maximum"):
            others = a.args
        others = [o for o in others if o is not child]
        if draft.in_graph:
            others += counters.fetched.fed(draft.values.depends(others, _LIMIT))
        if any(next(counters.reads(o), None) is not None for o in others):
            return True
        child = a
    return False


def _is_compared_with_the_turn(draft: Draft, n: ast.Name, count: ast.expr) -> bool:
    """`if step == n - 1:` in `for step in range(n)`."""
    loop = draft.syntax.statement(count)
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not draft.syntax.inside(count, loop.iter):
        return False
    test = next((a for a in draft.syntax.ancestors(n) if not isinstance(a, (ast.BinOp, ast.UnaryOp))), None)
    turn = {t.id for t in ast.walk(loop.target) if isinstance(t, ast.Name)}
    return (
        isinstance(test, ast.Compare)
        and draft.syntax.inside(test, loop)
        and any(isinstance(t, ast.Name) and t.id in turn for t in ast.walk(test))
    )


def _is_printed(draft: Draft, n: ast.Name) -> bool:
    statement = draft.syntax.statement(n)
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"


def _is_before_horovod(draft: Draft, node: ast.expr) -> bool:
    """Whether module code runs before `hvd.init()`."""
    place = head.head_place(draft, draft.module.scopes.root(node))
    if draft.syntax.function(node) is not None or place is None or place.last is None:
        return False
    return position(node) < end(place.last)


def may_be_none(draft: Draft, e: ast.expr) -> bool:
    """Whether a value is None where it is not set: a default, an option of the command line without one."""
    for o in draft.values.origins(e):
        if says_none(o.node) and not o.path:
            return True
        if isinstance(o.node, ast.Attribute) and command_line.may_be_unset(draft.module, o.node.attr):
            return True
    return False


def is_none(e: ast.expr | None) -> bool:
    return e is None or says_none(e)


def enclosed(draft: Draft, e: ast.expr, span: Span) -> Span | None:
    """The span of an expression with the parentheses that it stands in, if they are its own."""
    if not draft.parenthesized(e):
        return None
    text = draft.document.text
    return Span(text.rindex("(", 0, span.start), text.index(")", span.end) + 1)


def wrap(draft: Draft, e: ast.expr, helper: str, rule: str, unit: Unit = Unit.STEPS) -> tuple[Edit, ...]:
    """`e` → `helper(e)`, once; what `fit` may do without stays None where it is: `helper(e) if e is not None else None`."""
    if not draft.decide(e, Shared(rule, unit)):
        return ()
    draft.divided = True
    closing = f") if {draft.module.text(e)} is not None else None" if _may_be_left_out(draft, e) else ")"
    opening = f"{draft.helper(helper)}("
    if helper == "shard_batches" and are_refilled(draft, e):
        opening, closing = f"{opening}map({_copying(draft)}, ", f"){closing}"
    edits = Edit.around(draft.module.span(e), opening, closing)
    return draft.decided(Decision.SHARED, edits)


def are_refilled(draft: Draft, e: ast.expr) -> bool:
    """Whether the batches of a generator, or of the calls of a function, are the same arrays again and again: of several that
    are taken at once, each would hold the rows of the last."""
    function = (feeding(draft).kinds.generated(e) or (None, None))[1]
    if function is None and isinstance(e, ast.Call):
        is_next = isinstance(e.func, ast.Name) and e.func.id == "next" and e.args
        if is_next:
            return are_refilled(draft, e.args[0])
        called = draft.values.callee(e)
        function = called if isinstance(called, FUNCTIONS) else None
    return function is not None and gives_again(draft.syntax, function)


def copied(draft: Draft, call: ast.Call) -> tuple[str, str]:
    """What goes around a call that gives a batch which is kept while others are asked for."""
    return (f"{_copying(draft)}(", ")") if are_refilled(draft, call) else ("", "")


def _copying(draft: Draft) -> str:
    name = draft.same_name("copy")
    line = "import copy" if name == "copy" else f"import copy as {name}"
    if line not in draft.extra_imports:
        draft.extra_imports.append(line)
    return f"{name}.deepcopy"


def select(draft: Draft, e: ast.expr, share: str, rule: str) -> tuple[Edit, ...]:
    """`e` → `e[share]`, once; what `fit` may do without stays None where it is."""
    if not draft.decide(e, Shared(rule)):
        return ()
    closing = f" if {draft.module.text(e)} is not None else None" if _may_be_left_out(draft, e) else ""
    return Edit.around(draft.module.span(e), "", f"[{share}]{closing}")


def _may_be_left_out(draft: Draft, e: ast.expr) -> bool:
    """Whether an argument of `fit`, the rows themselves aside, may be None."""
    call = draft.syntax.parent[e]
    if isinstance(call, ast.keyword):
        call = draft.syntax.parent[call]
    fed = feeding(draft).fit_of(call)
    return (
        fed is not None
        and fed.x is not e
        and isinstance(e, (ast.Name, ast.Attribute))
        and may_be_none(draft, e)
    )


def counts_a_share(draft: Draft, count: ast.expr) -> bool:
    """Whether a count is already that of one rank: the length of something that was divided where it is made."""
    pipelines = feeding(draft).pipelines
    for n in draft.values.depends([count], 600):
        measured: ast.expr | None = None
        if isinstance(n, ast.Call) and draft.names.last(n.func) in ("len", "cardinality"):
            measured = n.args[0] if n.args else n.func.value if isinstance(n.func, ast.Attribute) else None
        elif isinstance(n, ast.Attribute) and n.attr in ("n", "samples"):
            measured = n.value
        elif is_told_by_fit(n):
            return True
        if measured is not None and any(
            is_touched(draft, e) or flows_from_share(draft, e) for e in pipelines.trail(measured)
        ):
            return True
    return False


def is_touched(draft: Draft, e: ast.AST) -> bool:
    """Whether data are divided at an expression. What is only drawn alike on all ranks is still all of it."""
    return draft.was(e, Shared, Divided)


def draws_for_all(draft: Draft, node: ast.AST) -> bool:
    """Whether a call draws a batch for each rank there, of which a rank takes its own."""
    decision = draft.decision(node, Shared)
    return decision is not None and decision.unit is Unit.DRAWS


def draws_for_itself(draft: Draft, feed: ast.expr) -> bool:
    """Whether what a loop or a `fit` goes through, or a part of it, draws other batches on each rank."""
    parts = [n for n in ast.walk(feed) if isinstance(n, ast.expr)]
    made = (draft.decision(e, Shared) for e in (*parts, *feeding(draft).pipelines.trail(feed)))
    return any(d is not None and d.unit is Unit.OWN for d in made)


def is_told_by_fit(n: ast.AST) -> bool:
    """`self.params["steps"]` of a callback: how many batches `fit` takes."""
    return (
        isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Attribute)
        and n.value.attr == "params"
        and isinstance(n.slice, ast.Constant)
        and n.slice.value in ("steps", "samples")
    )


def flows_from_share(draft: Draft, e: ast.expr) -> bool:
    """Whether a generator's arrays were divided inside the call that makes it."""
    return any(
        draft.names.last(c.func) == "flow" and (x := argument(c, "x", 0)) is not None and draft.was(x, Shared)
        for c in draft.values.calls(e)
    )
