"""Optimizers that are made with the settings of another: part of K1 and C5.

    second = tf.keras.optimizers.Adam.from_config(first.get_config())

Where the first trains, its rate is multiplied where it is made, and the copy's with it: multiplied once more, it would grow by
size() ** 2. Made by the first one's class, `type(first).from_config(…)`, Keras 2 gives a copy in Horovod's wrapper."""

from __future__ import annotations

import ast
from enum import Enum

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.scaling import strong
from horovodize.rules.wrapping.optimizers import Trained, trained_optimizers


class Copied(Enum):
    """What a copy has of an optimizer that trains: its rate, or also its wrapper."""

    RATE = "rate"
    WRAPPER = "wrapper"


def copied(draft: Draft, trained: Trained) -> Copied | None:
    """What an optimizer has of another that trains, whose settings it is made with; None where it is no copy of such a one, or
    its rate may be set in between."""
    match trained.origin:
        case ast.Call(func=ast.Attribute(attr="from_config", value=cls), args=[config], keywords=[]):
            pass
        case ast.Call(func=cls, args=[], keywords=[ast.keyword(arg=None, value=config)]):
            pass
        case _:
            return None
    asked = draft.values.calls(config)
    others = [_asked_of(call) for call in asked]
    if not others or None in others or _is_changed(draft, config):
        return None
    grows = strong.grows(draft, trained.used_at)
    known = (t for t in trained_optimizers(draft) if t.call is not None or t.string is not None)
    trains = {t.origin for t in known if strong.grows(draft, t.used_at) == grows}
    meant = [_meant(draft, other) for other in others if other is not None]
    if not all(made and trains.issuperset(made) for made in meant):
        return None
    own = _class_of(cls)
    if own is None or draft.keras_3 or trained.sink != "compile":
        return Copied.RATE
    is_same = {ast.unparse(other) for other in others if other is not None} == {ast.unparse(own)}
    return Copied.WRAPPER if is_same else None


def _asked_of(call: ast.Call) -> ast.expr | None:
    """`first` of `first.get_config()`"""
    func = call.func
    return func.value if isinstance(func, ast.Attribute) and func.attr == "get_config" else None


def _class_of(cls: ast.expr) -> ast.expr | None:
    """`first` of `type(first)` and `first.__class__`"""
    match cls:
        case ast.Call(func=ast.Name(id="type"), args=[first], keywords=[]):
            return first
        case ast.Attribute(attr="__class__", value=first):
            return first
        case _:
            return None


def _meant(draft: Draft, optimizer: ast.expr) -> list[ast.AST]:
    """What makes an optimizer; `model.optimizer` is what that model was compiled with."""
    used = [optimizer]
    if isinstance(optimizer, ast.Attribute) and optimizer.attr == "optimizer":
        text, made = ast.unparse(optimizer.value), set(draft.values.calls(optimizer.value))
        used = [
            o
            for site in draft.sites.compiles
            if ast.unparse(site.model) == text or made & set(draft.values.calls(site.model))
            for o in site.optimizers
        ] or used
    return [arrival.node for o in used for arrival in draft.facts.optimizers.arrivals(o)]


def _is_changed(draft: Draft, config: ast.expr) -> bool:
    """Whether settings are set after they are asked for: `config["learning_rate"] = 0.01`"""
    if not isinstance(config, (ast.Name, ast.Attribute)):
        return False
    text = ast.unparse(config)
    items = draft.syntax.every(ast.Subscript)
    if any(not isinstance(n.ctx, ast.Load) and ast.unparse(n.value) == text for n in items):
        return True
    calls = draft.sites.method_calls("update", "pop", "setdefault", "__setitem__")
    return any(isinstance(c.func, ast.Attribute) and ast.unparse(c.func.value) == text for c in calls)


__all__ = ["Copied", "copied"]
