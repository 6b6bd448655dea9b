"""What the placeholders of a graph take: rows, one number, anything."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import argument


class Placeholders:
    """The placeholders of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def all(self) -> list[ast.Call]:
        """The calls that make them."""
        return [
            c for c in self.module.syntax.calls if self.module.names.last(c.func).startswith("placeholder")
        ]

    def shape(self, placeholder: ast.Call) -> list[ast.expr] | None:
        """The dimensions of a placeholder, where they are written out."""
        shape = argument(placeholder, "shape", 1)
        for o in self.module.values.origins(shape) if shape is not None else ():
            if isinstance(o.node, (ast.List, ast.Tuple)) and not o.path:
                return o.node.elts
        return None

    def takes_rows(self, placeholder: ast.Call) -> bool:
        """Whether a placeholder takes more than a number, and nothing is its default."""
        shape = self.shape(placeholder)
        return (shape is None or bool(shape)) and not self.module.names.last(placeholder.func).endswith(
            "default"
        )

    def is_single(self, key: ast.expr) -> bool:
        """Whether a placeholder takes one number: a rate, a flag."""
        made = self.module.values.calls(key)
        shapes = [self.shape(c) for c in made if c in self.all]
        if shapes and all(s is not None and not s for s in shapes):
            return True
        types = {
            ast.unparse(a).rsplit(".", 1)[-1] for c in made if (a := argument(c, "dtype", 0)) is not None
        }
        return bool(types) and types <= {"bool", "bool_"}

    def takes_several(self, key: ast.expr) -> bool:
        """Whether a placeholder takes several rows: what is fed to it holds rows, whatever it was made by."""
        shape = self.shape_of(key)
        one = shape and isinstance(shape[0], ast.Constant) and shape[0].value == 1
        return bool(shape) and not one

    def shape_of(self, key: ast.expr) -> list[ast.expr] | None:
        """The dimensions of what is fed to, where they are written out."""
        made = [c for c in self.module.values.calls(key) if c in self.all]
        shapes = [self.shape(c) for c in made]
        return shapes[0] if len(shapes) == 1 else None
