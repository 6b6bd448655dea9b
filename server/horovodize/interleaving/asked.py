"""What decisions ask for, as it is written: a metric of validation, whether a file is there, a model's answer."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import WHETHER_THERE, Source
from horovodize.facts.facts import Facts
from horovodize.python.syntax import argument

_ASKING = ("predict", "predict_on_batch", "evaluate", "test_on_batch")
_ORDERS = (".permutation", ".shuffle", ".sample", ".choices", ".choice")
_LATEST = ("latest_checkpoint", "get_checkpoint_state")


def is_of_validation(e: ast.expr) -> bool:
    """Whether a metric is named that ranks with the same weights and the same rows for validation have alike."""
    texts = [n.value for n in ast.walk(e) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return any(text.startswith("val") for text in texts)


def says_whether_there(reason: object) -> bool:
    return isinstance(reason, Varies) and reason.kind is Source.FILES and asks_whether_there(reason.where)


def asks_whether_there(node: ast.AST) -> bool:
    """`os.path.exists(path)`, `tf.train.latest_checkpoint(folder)`."""
    if isinstance(node, ast.Attribute):
        return node.attr == _LATEST[0]
    asked = node.func if isinstance(node, ast.Call) else None
    last = asked.attr if isinstance(asked, ast.Attribute) else asked.id if isinstance(asked, ast.Name) else ""
    return last in WHETHER_THERE or last in _LATEST


def is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def divides(statement: ast.AST) -> bool:
    """`total /= len(rows)`: what is divided by a number of rows is none."""
    return isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div)


def taken_of(fetches: ast.expr, path: tuple[int | str, ...]) -> ast.expr:
    """What is taken of the things that are fetched together: `_, value = session.run([train, loss])`."""
    for at in path:
        if not isinstance(fetches, (ast.List, ast.Tuple)) or not isinstance(at, int):
            break
        if not 0 <= at < len(fetches.elts) or any(isinstance(e, ast.Starred) for e in fetches.elts):
            break
        fetches = fetches.elts[at]
    return fetches


def asks_model(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ASKING


def asks_layer(call: ast.Call) -> bool:
    """`model.layers[0](rows)`, `model.get_layer("dense")(rows)`: a layer gives what it makes of the rows."""
    match call.func:
        case (
            ast.Subscript(value=ast.Attribute(attr="layers")) | ast.Call(func=ast.Attribute(attr="get_layer"))
        ):
            return True
    return False


def all_given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def given_to_model(call: ast.Call) -> list[ast.expr]:
    """What a model is asked with, but for how much it prints meanwhile."""
    return [*call.args, *(k.value for k in call.keywords if k.arg != "verbose")]


def draws_an_order(facts: Facts, call: ast.Call) -> bool:
    """`np.random.permutation(n)`, `data.shuffle(1000)`, without a seed that all ranks have."""
    draws, name = facts.uniform.draws, facts.module.names.of(call.func) or ""
    if name:
        return name.endswith(_ORDERS) and draws.is_drawn(name) and not draws.is_fixed(call, name)
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "shuffle":
        return False
    return (
        bool(call.args)
        and argument(call, "seed", 1) is None
        and not draws.is_seeded("tensorflow.random.shuffle")
    )


def given_here(facts: Facts, e: ast.expr, computed: Iterable[ast.AST]) -> list[ast.Name]:
    """The names, of what is computed from rows, that a list or a metric was given beside an expression that asks for it. Not
    what the function around is passed itself: other calls may pass other rows."""
    function, reaching = facts.module.syntax.function, facts.module.scopes.reaching
    return [
        c
        for c in computed
        if isinstance(c, ast.Name)
        and function(c) is function(e)
        and not any(b.kind == "parameter" for b in reaching(c))
    ]
