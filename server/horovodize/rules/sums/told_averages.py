"""What is read after a divided loop together with how many steps it has: a sum, by a function that divides the one by the other
(`self.show(epoch, total, steps)`), or a list with an entry a step. Part of G4, G5 and S5."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.python.syntax import end, position
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import names_in

_KEPT = (
    "this counts the steps of all ranks together, and what is kept of each step here has 1/size() of them: divide it by "
    "`hvd.size()`"
)


def divisors(
    draft: Draft, loop: ast.stmt, sums: set[str], is_count: Callable[[ast.expr], bool]
) -> Iterator[ast.expr]:
    """The numbers of steps that functions are told after a loop, together with a sum over it, and do nothing with but divide
    that by them."""
    function = draft.syntax.function(loop)
    for call in draft.syntax.calls:
        after = position(call) > position(loop) and not draft.syntax.inside(call, loop)
        callee = draft.values.callee(call) if after and draft.syntax.function(call) is function else None
        if not isinstance(callee, ast.FunctionDef):
            continue
        given = _given(draft, call, callee)
        told = {name for name, e in given.items() if ast.unparse(e) in sums}
        for name, e in given.items() if told else ():
            if is_count(e) and _only_divides(callee, name, told):
                yield e


def note_kept(draft: Draft, loop: ast.stmt, steps: ast.expr, rule: str) -> None:
    """Says where a list with an entry for each step of a rank is cut up by how many steps there were: `kept[i * n : (i + 1) *
    n]`, `len(kept) / n`."""
    kept = {name for s in getattr(loop, "body", []) if (name := _appended(s)) is not None}
    if not kept or not isinstance(steps, ast.Name) or draft.was(steps, Divided):
        return
    bound = set(draft.module.scopes.reaching(steps))
    for n in draft.syntax.every(ast.Name):
        assert isinstance(n, ast.Name)
        if n.id != steps.id or not isinstance(n.ctx, ast.Load) or draft.was(n, Divided):
            continue
        if position(n) < end(loop) or not bound & set(draft.module.scopes.reaching(n)):
            continue
        read = [m for m in ast.walk(draft.syntax.statement(n)) if isinstance(m, ast.Name)]
        if any(_is_one_of(draft, m, kept) for m in read) and _cuts(draft, n):
            draft.note(rule, n, _KEPT)
            return


def _appended(statement: ast.stmt) -> str | None:
    """The list that a statement puts one thing into."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_append = (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    )
    held = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    return held.id if is_append and isinstance(held, ast.Name) else None


def _is_one_of(draft: Draft, name: ast.Name, kept: set[str]) -> bool:
    """Whether a name is one of some lists, or made of it: `batch_loss1 = [i for i in batch_loss]`."""
    made = (b.value for b in draft.module.scopes.reaching(name) if b.value is not None)
    return name.id in kept or any(kept & names_in(value) for value in made)


def _cuts(draft: Draft, steps: ast.Name) -> bool:
    """Whether a number of steps tells where a list is cut, or how many pieces it has."""
    for a in draft.syntax.ancestors(steps):
        if isinstance(a, ast.Slice) or (
            isinstance(a, ast.BinOp) and isinstance(a.op, (ast.Div, ast.FloorDiv))
        ):
            return True
        if isinstance(a, ast.stmt):
            break
    return False


def _given(draft: Draft, call: ast.Call, callee: ast.FunctionDef) -> dict[str, ast.expr]:
    """What a call gives to the parameters of a function, but for a method's own object."""
    names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)]
    bound = isinstance(call.func, ast.Attribute) and draft.syntax.method_class(callee) is not None
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in callee.decorator_list)
    if any(isinstance(a, ast.Starred) for a in call.args):
        return {}
    positional = dict(zip(names[1 if bound and not static else 0 :], call.args, strict=False))
    return positional | {k.arg: k.value for k in call.keywords if k.arg is not None}


def _only_divides(callee: ast.FunctionDef, name: str, told: set[str]) -> bool:
    """Whether all that a function does with a parameter is to divide by it what it is told beside."""
    by = [n for n in ast.walk(callee) if isinstance(n, ast.Name) and n.id == name]
    ratios = [n for n in ast.walk(callee) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    divided = [n for n in ratios if any(isinstance(m, ast.Name) and m.id in told for m in ast.walk(n.left))]
    return bool(by) and all(any(n is _number(d.right) for d in divided) for n in by)


def _number(e: ast.expr) -> ast.expr:
    """`n` of `float(n)`."""
    is_made = isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "float"
    return e.args[0] if isinstance(e, ast.Call) and is_made and len(e.args) == 1 else e
