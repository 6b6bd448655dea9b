"""Objects that a loop takes its batches from, part of G4: those that can be asked for a rank's own batches alone.

`for x, y in sequence:`, where that is a Keras `Sequence` of the program's own, or any object with `__getitem__` that ends
where its `__len__` says
    → `for x, y in (sequence[number] for number in shard(range(len(sequence)))):`
`for x, y in loader:`, whose `__iter__` yields what each number of a `range` selects
    → `for i in shard(range(len(self))):` there, where nothing else goes through such a loader

Each rank then makes 1/size() of the batches; dealt out by `shard_batches`, they would all be made on each rank.
"""

from __future__ import annotations

import ast

from horovodize.facts.differences.exits import exits
from horovodize.facts.differences.known_calls import is_known
from horovodize.plan import Decision
from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import WHY
from horovodize.rules.rows import alike_shuffles
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver
from horovodize.summary.kinds import SEQUENCE

_WHAT = "Give every rank its own batches"
_WHY_INSIDE = "It yields the same batches on every rank; divided where it counts them, it prepares none of another rank's."

# What the ranks draw alike, so that all of them would select the same by it.
_DRAWN_ALIKE = {
    "shuffle",
    "permutation",
    "permuted",
    "choice",
    "choices",
    "sample",
    "randint",
    "randrange",
    "integers",
}


def divide(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """Asks an object for a rank's own batches only. Whether that could be done."""
    cls = _class_of(draft, e)
    if cls is None or draft.was(e, Shared) or exits(driver.loop):
        return False
    return _ask_by_number(draft, e, cls) or _divide_inside(draft, e, cls)


def _class_of(draft: Draft, e: ast.expr) -> ast.ClassDef | None:
    """The class of the program of which what a loop goes through is an object."""
    if not isinstance(e, (ast.Name, ast.Attribute)):
        return None
    origins = draft.values.origins(e)
    made = [o.node for o in origins if isinstance(o.node, ast.Call) and not o.path]
    classes = {draft.values.callee(c) for c in made}
    cls = classes.pop() if len(classes) == 1 and len(made) == len(origins) else None
    return cls if isinstance(cls, ast.ClassDef) else None


def _method(draft: Draft, cls: ast.ClassDef, name: str) -> Function | None:
    return next((s for s in cls.body if isinstance(s, FUNCTIONS) and s.name == name), None)


# ---------------------------------------------------------------------- by number


def _ask_by_number(draft: Draft, e: ast.expr, cls: ast.ClassDef) -> bool:
    rows, length = _method(draft, cls, "__getitem__"), _method(draft, cls, "__len__")
    is_sequence = any(
        a == SEQUENCE or ("keras" in a and a.endswith((".Sequence", ".PyDataset")))
        for a in draft.values.ancestors(cls)
    )
    if rows is None or length is None or _method(draft, cls, "__iter__") is not None:
        return False
    is_plain = len(cls.bases) == 1 if is_sequence else _has_no_base(draft, cls) and _ends_at(rows, length)
    if not is_plain or not _goes_by_number(draft, rows):
        return False
    draft.decide(e, Shared(draft.loop_rule))
    draft.divided = True
    text = draft.module.text(e)
    number = draft.fresh("number")
    own = f"{text}[{number}] for {number} in {draft.helper('shard')}(range(len({text})))"
    around = draft.syntax.parent[e]
    is_only_argument = isinstance(around, ast.Call) and around.args == [e] and not around.keywords
    own = own if is_only_argument else f"({own})"
    edits = draft.decided(Decision.SHARED, (Edit(draft.module.span(e), own),))
    draft.change(draft.loop_rule, e, _WHAT, WHY, edits)
    alike_shuffles.shuffle_alike(draft, e)
    return True


def _has_no_base(draft: Draft, cls: ast.ClassDef) -> bool:
    are_object = (isinstance(b, ast.Name) and b.id == "object" for b in cls.bases)
    return all(are_object) and not cls.keywords and not cls.decorator_list


def _ends_at(rows: Function, length: Function) -> bool:
    """Whether an object without `__iter__` ends where its length says: Python asks it for 0, 1, 2, … until an `IndexError`.

    `if k >= len(self): raise IndexError`, or `self.batches[k]` where the length is `len(self.batches)`."""
    number = next((a.arg for a in (*rows.args.posonlyargs, *rows.args.args)[1:2]), None)
    returned = [n.value for n in walk(length) if isinstance(n, ast.Return) and n.value is not None]
    if number is None or len(returned) != 1 or number in _set_in(rows):
        return False
    lengths = {ast.unparse(returned[0]), "len(self)", "self.__len__()"}
    body = [s for s in rows.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    first = body[0] if body else None
    if isinstance(first, ast.If) and len(first.body) == 1 and isinstance(first.body[0], ast.Raise):
        raised = first.body[0].exc
        raised = raised.func if isinstance(raised, ast.Call) else raised
        tests = {f"{number} >= {n}" for n in lengths} | {f"{n} <= {number}" for n in lengths}
        return isinstance(raised, ast.Name) and raised.id == "IndexError" and ast.unparse(first.test) in tests
    whole = returned[0].args[0] if isinstance(returned[0], ast.Call) and returned[0].args else None
    if whole is None or ast.unparse(returned[0]) != f"len({ast.unparse(whole)})":
        return False
    is_simple = isinstance(first, (ast.Assign, ast.Return))
    taken = (
        [n for n in walk(first) if isinstance(n, ast.Subscript)] if is_simple and first is not None else []
    )
    return any(ast.unparse(n) == f"{ast.unparse(whole)}[{number}]" for n in taken)


def _set_in(function: Function) -> set[str]:
    return {n.id for n in walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _goes_by_number(draft: Draft, method: Function) -> bool:
    """Whether a batch is made from its number, whichever others were made before: no state is kept, and what is drawn beside is
    fixed by no seed, nor alike on all ranks."""
    number = [a.arg for a in (*method.args.posonlyargs, *method.args.args)][1:2]
    reads = {n.id for n in walk(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if not number or number[0] not in reads:
        return False
    draws = draft.uniform.draws
    is_seeded = draws.is_seeded("numpy.random.shuffle") or draws.is_seeded("random.shuffle")
    todo, seen = [method], set[ast.AST]()
    while todo:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        nodes = list(walk(function))
        if any(isinstance(n, (ast.Global, ast.Nonlocal)) or _is_kept(n, function) for n in nodes):
            return False
        for call in (n for n in nodes if isinstance(n, ast.Call)):
            callee, name = draft.values.callee(call), draft.names.of(call.func) or ""
            if isinstance(callee, FUNCTIONS):
                todo.append(callee)
            elif draws.draws(call):
                maker = draws.maker(call)
                fixed = draws.gives_seed(maker) if maker is not None else draws.is_seeded(name, call)
                if fixed or draft.names.last(call.func) in _DRAWN_ALIKE:
                    return False
            elif draft.facts.generators.effects.moves_state(call, function):
                return False
            elif is_seeded and name and not is_known(name):
                return False  # it may draw from what is seeded
    return True


def _is_kept(n: ast.AST, function: Function) -> bool:
    """Whether a place sets a field, or an item of what a function hasn't made: `self.last = rows`, `self.seen[k] = 1`."""
    if isinstance(n, ast.Attribute):
        return not isinstance(n.ctx, ast.Load)
    if not isinstance(n, ast.Subscript) or isinstance(n.ctx, ast.Load):
        return False
    base = n.value
    while isinstance(base, ast.Subscript):
        base = base.value
    own = {m.id for m in walk(function) if isinstance(m, ast.Name) and isinstance(m.ctx, ast.Store)}
    return not isinstance(base, ast.Name) or base.id not in own


# ---------------------------------------------------------------------- where it counts


def _divide_inside(draft: Draft, e: ast.expr, cls: ast.ClassDef) -> bool:
    function = _method(draft, cls, "__iter__")
    numbers = draft.facts.generators.numbers(function) if function is not None else None
    if numbers is None or not _is_gone_through_once(draft, e, cls):
        return False
    draft.decide(e, Shared(draft.loop_rule))
    draft.divided = True
    edits = Edit.around(draft.module.span(numbers), f"{draft.helper('shard')}(", ")")
    draft.change(draft.loop_rule, e, _WHAT, _WHY_INSIDE, draft.decided(Decision.SHARED, edits))
    alike_shuffles.shuffle_alike(draft, e)
    return True


def _is_gone_through_once(draft: Draft, e: ast.expr, cls: ast.ClassDef) -> bool:
    """Whether a class has one object, which nothing but one loop goes through: else others would get a rank's share, too."""
    names = [n for n in draft.syntax.every(ast.Name) if isinstance(n, ast.Name) and n.id == cls.name]
    if len(names) != 1 or not isinstance(e, ast.Name) or draft.syntax.method_class(cls) is not None:
        return False
    scope = draft.module.scopes.lookup(e.id, e)
    for n in draft.syntax.every(ast.Name):
        if not isinstance(n, ast.Name) or n.id != e.id or n is e or not isinstance(n.ctx, ast.Load):
            continue
        if draft.module.scopes.lookup(n.id, n) is not scope:
            continue
        parent = draft.syntax.parent[n]
        is_length = isinstance(parent, ast.Call) and draft.names.last(parent.func) == "len"
        is_field = isinstance(parent, ast.Attribute) and not parent.attr.startswith("__")
        if not is_length and not is_field:
            return False
    return not draft.module.calls_called("__iter__")


__all__ = ["divide"]
