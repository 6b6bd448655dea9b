"""Parameters that functions of the program get, so that each call says what is divided for it."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit


def can_get_a_parameter(draft: Draft, function: ast.FunctionDef) -> bool:
    """Whether a parameter can be put in last that calls give by its name."""
    a = function.args
    last = [d for d in (*a.defaults, *a.kw_defaults) if d is not None]
    in_parentheses = any(draft.document.text[draft.module.span(d).start - 1] == "(" for d in last)
    return not in_parentheses and (bool(a.args) or not a.posonlyargs)


def new_parameter(draft: Draft, function: ast.FunctionDef, parameter: str) -> Edit:
    """The edit that gives a function a last parameter, with its default: "share=lambda rows: rows"."""
    a, text = function.args, draft.document.text
    if a.kwarg is not None:
        return Edit.insert(text.rindex("**", 0, draft.module.span(a.kwarg).start), f"{parameter}, ")
    given = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, *a.defaults, *a.kw_defaults]
    ends = [draft.module.span(g).end for g in given if g is not None]
    if not ends:
        start = draft.module.span(function).start
        return Edit.insert(text.index("(", text.index(function.name, start)) + 1, parameter)
    return Edit.insert(max(ends), f", {parameter}")
