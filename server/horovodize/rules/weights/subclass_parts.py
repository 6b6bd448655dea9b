"""What only some subclasses keep, where a method of their base sends variables: part of G2 and K6.

A loop in a base class takes the steps of whichever subclass an object is of. The models of the other ones are no attributes of
it.
"""

from __future__ import annotations

import ast
import re

from horovodize.rules.drafting.draft import Draft


def guarded(draft: Draft, place: ast.AST, expression: str, line: str) -> list[str]:
    """A line that uses an expression in a method, under a test that the object has it where some subclasses don't."""
    function = draft.syntax.function(place)
    owner = draft.syntax.method_class(function)
    found = re.match(r"(\w+)\.(\w+)", expression)
    if owner is None or found is None or not isinstance(function, ast.FunctionDef) or not function.args.args:
        return [line]
    self, name = found.groups()
    if self != function.args.args[0].arg or not _is_of_some(draft, owner, name):
        return [line]
    return [f"if hasattr({self}, {draft.quoted(name)}):", f"    {line}"]


def _is_of_some(draft: Draft, owner: ast.ClassDef, name: str) -> bool:
    """Whether some subclasses of a class set an attribute, and others don't."""
    syntax, values = draft.syntax, draft.values
    stored = (b.anchor for b in draft.module.scopes.attributes.get(name, ()))
    setting = {syntax.method_class(syntax.function(a)) for a in stored if isinstance(a, ast.Attribute)}
    families = [values.family(c) for c in syntax.every(ast.ClassDef)]
    own = [f & setting for f in families if owner in f and f != values.family(owner)]
    return not values.family(owner) & setting and any(own) and not all(own)
