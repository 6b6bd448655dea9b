"""What a rank gathers of its own steps, put beside something of all rows: part of G4.

    for i in range(0, len(x), 32):
        answers.extend(train(x[i : i + 32], y[i : i + 32]))
    print(accuracy_score(y, answers))

The list has 1/size() of the rows, and in the order in which the rank took them. Compared with all labels it fails, or says
something else. A list of labels that is gathered beside it is as long, and right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.augmented import added
from horovodize.python.syntax import arguments, end, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.rows.selected_arrays import arrays, names_of_body
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver

_GROWING = ("append", "extend")
_SAME_ROWS = (  # what gives as many rows as it is given, of which there is one argument
    *(
        "array",
        "asarray",
        "concatenate",
        "vstack",
        "hstack",
        "stack",
        "list",
        "squeeze",
        "ravel",
        "flatten",
        "reshape",
    ),
    *(
        "argmax",
        "round",
        "around",
        "rint",
        "astype",
        "tolist",
        "column_stack",
        "row_stack",
        "Series",
        "DataFrame",
    ),
)
_WITH = ("append", "extend", "save", "savez", "dump", "print", "format", "isinstance", "info", "write")
_WHAT = "Gather the rows of all ranks"
_WHY = "A rank takes 1/size() of the steps, so it gathers what belongs to 1/size() of the rows."
_DOUBT = (
    "`{}` has what belongs to a rank's own rows, 1/size() of them, and `{}` is of all rows: gather in each step what it is put "
    "beside, too (`labels.extend(…)`), or measure all rows after the loop"
)


def ask(draft: Draft, driver: Driver, rule: str) -> None:
    """Asks where what a divided loop gathers is put beside something of all rows."""
    gathered = _gathered(driver)
    whole = arrays(draft, driver) - gathered if gathered else set[str]()
    if not whole:
        return
    function = draft.syntax.function(driver.loop)
    for n in draft.syntax.every(ast.Call, ast.BinOp, ast.Compare):
        if draft.syntax.function(n) is not function or position(n) < end(driver.loop):
            continue
        parts = list(_beside(draft, n))
        own = next((p for p in parts if _written(draft, driver, p) in gathered), None)
        all_rows = next((p for p in parts if _written(draft, driver, p) in whole), None)
        if own is not None and all_rows is not None and draft.once("gathered beside all", n):
            draft.ask(
                rule, n, _WHAT, _WHY, _DOUBT.format(draft.module.text(own), draft.module.text(all_rows))
            )


def _gathered(driver: Driver) -> set[str]:
    """The lists that a loop's steps add to, as they are written."""
    found = set[str]()
    for n in (n for s in driver.loop.body for n in walk(s)):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _GROWING:
            if isinstance(n.func.value, (ast.Name, ast.Attribute)):
                found.add(ast.unparse(n.func.value))
        sum_ = added(n)
        if sum_ is not None and isinstance(sum_.target, (ast.Name, ast.Attribute)) and _is_list(sum_.value):
            found.add(ast.unparse(sum_.target))
    return found - names_of_body(driver)


def _is_list(e: ast.expr) -> bool:
    """`[p]`, `list(p)`, `p.tolist()`"""
    if isinstance(e, ast.Call):
        called = e.func.id if isinstance(e.func, ast.Name) else getattr(e.func, "attr", "")
        return called in ("list", "tolist")
    return isinstance(e, (ast.List, ast.ListComp))


def _beside(draft: Draft, n: ast.Call | ast.BinOp | ast.Compare) -> Iterator[ast.expr]:
    """The expressions that one puts beside each other: of as many rows, then."""
    if isinstance(n, ast.BinOp):
        yield from (n.left, n.right)
    elif isinstance(n, ast.Compare):
        yield from (n.left, *n.comparators)
    elif draft.names.last(n.func) not in _WITH:
        yield from arguments(n)


def _written(draft: Draft, driver: Driver, e: ast.expr, depth: int = 4) -> str:
    """What an expression has the rows of, as it is written: `answers` of `np.concatenate(answers)`, also by another name."""
    while isinstance(e, ast.Call):
        of_method = (
            e.func.value if isinstance(e.func, ast.Attribute) and draft.names.of(e.func) is None else None
        )
        called = e.func.attr if isinstance(e.func, ast.Attribute) else getattr(e.func, "id", "")
        if called not in _SAME_ROWS or not (of_method is not None or e.args):
            return ""
        e = of_method if of_method is not None else e.args[0]
    if isinstance(e, ast.Name) and depth:
        made = [b for b in draft.module.scopes.reaching(e) if b.value is not None and not b.path]
        after = [
            b for b in made if isinstance(b.statement, ast.stmt) and position(b.statement) > end(driver.loop)
        ]
        if len(after) == 1 and after[0].value is not None:
            return _written(draft, driver, after[0].value, depth - 1)
    return ast.unparse(e) if isinstance(e, (ast.Name, ast.Attribute)) else ""
