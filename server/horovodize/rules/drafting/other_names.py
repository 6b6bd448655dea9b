"""What something is under another name: `optimizer = self.model.optimizer`, then `optimizer.learning_rate = 0.001`; and what is
read or set by its name: `getattr(optimizer, "lr")`, `setattr(optimizer, "lr", 0.001)`."""

from __future__ import annotations

import ast

from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.draft import Draft

RATES = ("learning_rate", "lr", "_learning_rate", "_lr")  # what optimizers call their rates
_BY_NAME = ("__getattribute__", "_get_hyper")  # methods that are given the name
_SET_BY_NAME = ("__setattr__", "_set_hyper")
_HELD = ("_hyper", "__dict__")  # tables of an optimizer
_DECAYED = "_decayed_lr"
# Functions that set a variable, which they take first, to what comes next.
_SETTING = {
    "tensorflow.keras.backend.set_value",
    "tensorflow.keras.backend.update",
    "tensorflow.compat.v1.assign",
}
_SET_VALUE = "set_value"


def attributes_meant(draft: Draft, e: ast.expr) -> list[ast.Attribute]:
    """The attributes that an expression may be: itself, and what a name, a field or a parameter was given."""
    meant: list[ast.AST] = [by_name(draft, e) or e]
    if isinstance(e, (ast.Name, ast.Attribute)) and e in draft.syntax.parent:
        meant += [by_name(draft, o.node) or o.node for o in draft.values.origins(e) if not o.path]
    return [n for n in dict.fromkeys(meant) if isinstance(n, ast.Attribute)]


def by_name(draft: Draft, e: ast.AST) -> ast.Attribute | None:
    """The rate that a call or an item gives: `o.lr` of `getattr(o, "lr")`, `o._hyper["lr"]`, `o.get_config()["lr"]`."""
    match e:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]):
            return _attribute(draft, owner, name, e)
        case ast.Call(func=ast.Attribute(attr=method, value=owner), args=[name, *_]) if method in _BY_NAME:
            return _attribute(draft, owner, name, e)
        case ast.Call(func=ast.Attribute(attr=method, value=owner)) if method == _DECAYED:
            return _made(owner, "learning_rate", e)
        case ast.Subscript(value=ast.Attribute(attr=held, value=owner), slice=name) if held in _HELD:
            return _attribute(draft, owner, name, e)
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), slice=name):
            return _attribute(draft, owner, name, e)
        case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="get_config", value=owner)), slice=name):
            return _attribute(draft, owner, name, e)
    return None


def set_by_call(draft: Draft, call: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """What a call sets, and to what: of `K.set_value(rate, 0.1)`, where it can't be seen whose `K` that is, too; of
    `setattr(o, "lr", 0.1)` `o.lr`; of `rate.assign(0.1)`; of a pair of `K.batch_set_value([(rate, 0.1)])`.
    The same of `o.__dict__["lr"] = 0.1`."""
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, name, value]):
            kept: ast.expr | None = _attribute(draft, owner, name, call, ast.Store())
        case ast.Call(func=ast.Attribute(attr=method, value=owner), args=[name, value]) if (
            method in _SET_BY_NAME
        ):
            kept = _attribute(draft, owner, name, call, ast.Store())
        case ast.Call(args=[ast.expr() as kept, ast.expr() as value]) if sets_value(draft, call):
            pass
        case ast.Call(func=ast.Attribute(attr="assign", value=kept), args=[ast.expr() as value]):
            pass
        case ast.Assign(targets=[ast.Subscript() as kept], value=value) if by_name(draft, kept) is not None:
            pass
        case ast.Tuple(elts=[kept, value]) if set_together.is_pair(draft, call):
            pass
        case _:
            return None
    return (by_name(draft, kept) or kept, value) if kept is not None else None


def sets_value(draft: Draft, call: ast.Call) -> bool:
    """Whether a call sets a variable as `K.set_value(rate, 0.1)` does, where it can't be seen whose `K` that is, too."""
    name = draft.names.of(call.func)
    if name in _SETTING:
        return not (draft.in_graph and draft.names.last(call.func) != _SET_VALUE)
    known = (name or "").startswith("tensorflow.")
    return draft.names.last(call.func) == _SET_VALUE and len(call.args) == 2 and not known


def _attribute(
    draft: Draft, owner: ast.expr, name: ast.expr, place: ast.expr, context: ast.expr_context | None = None
) -> ast.Attribute | None:
    """The attribute of that name, if it is one of a rate in all cases."""
    names = [
        o.node.value if isinstance(o.node, ast.Constant) and not o.path else None
        for o in draft.values.origins(name)
    ]
    known = [n for n in names if n in RATES]
    return _made(owner, str(known[0]), place, context) if known and len(known) == len(names) else None


def _made(
    owner: ast.expr, name: str, place: ast.expr, context: ast.expr_context | None = None
) -> ast.Attribute:
    """An attribute that isn't in the text, for what asks about such; at a place that is."""
    return ast.copy_location(ast.Attribute(owner, name, context or ast.Load()), place)
