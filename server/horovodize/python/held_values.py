"""What dictionaries, lists and plain objects hold: where their items are begun, set and put in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from horovodize.python.binding import Binding
from horovodize.python.scopes import KEYED, PUT, item_name
from horovodize.python.syntax import CALLABLES

if TYPE_CHECKING:
    from horovodize.python.values import Origin, Values

# What has what it is made with as attributes.
_KEEPING = (
    "tensorflow.train.Checkpoint",
    "tensorflow.compat.v1.train.Checkpoint",
    "types.SimpleNamespace",
    "argparse.Namespace",
)
_COPIES = 3  # dictionaries that are copied one from another


class HeldValues:
    """What the containers of one module hold."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def items_of(self, e: ast.Subscript) -> list[ast.expr]:
        """What an item of a dictionary is given, where that is made and where it is set: `options["callbacks"]`."""
        key = e.slice.value if isinstance(e.slice, ast.Constant) else None
        if not isinstance(key, str):
            return []
        bound = [b.value for b in self._items_bound(e.value, key) if b.value is not None and not b.path]
        return [*self.begun_items(e, key), *bound]

    def begun_items(self, e: ast.Subscript, key: str) -> Iterator[ast.expr]:
        """What an item is given where its dictionary is made: `{"rate": 0.1}`, `dict(rate=0.1)`, also where that is a copy of
        another, `dict(inputs)`, `{**inputs}`, `inputs.copy()`."""
        return self._begun(e.value, key, _COPIES)

    def _begun(self, table: ast.expr, key: str, copies: int) -> Iterator[ast.expr]:
        for o in self.values.origins(table):
            copied = list[ast.expr]()
            match o.node:
                case ast.Dict(keys=keys, values=values):
                    for k, v in zip(keys, values, strict=True):
                        if isinstance(k, ast.Constant) and k.value == key:
                            yield v
                    copied = [v for k, v in zip(keys, values, strict=True) if k is None]
                case ast.Call(func=ast.Name(id="dict"), args=args, keywords=given) if not o.path:
                    yield from (k.value for k in given if k.arg == key)
                    copied = [*args[:1], *(k.value for k in given if k.arg is None)]
                case ast.Call(func=ast.Attribute(value=copied_from, attr="copy"), args=[]) if not o.path:
                    copied = [copied_from]
            for original in copied if copies else ():
                yield from self._begun(original, key, copies - 1)
                yield from (
                    b.value for b in self._items_bound(original, key) if b.value is not None and not b.path
                )

    def set_items(self, e: ast.Subscript, key: str) -> list[Binding]:
        """Where an item of the same dictionary is set: `table["rate"] = 0.1`."""
        return [b for b in self._items_bound(e.value, key) if b.kind == "assign"]

    def item_bindings(self, e: ast.Subscript) -> list[Binding]:
        """Where an item of a dictionary is set or added to: `state["bad"] += 1`."""
        key = e.slice.value if isinstance(e.slice, ast.Constant) else None
        return self._items_bound(e.value, key) if isinstance(key, str) else []

    def _items_bound(self, table: ast.expr, key: str) -> list[Binding]:
        name = item_name(key)
        self.values.reads.note("attribute", name)
        bound = self.values.scopes.attributes.get(name, ())
        tables = {o.node for o in self.values.origins(table) if not o.path} if bound else set()
        return [
            b
            for b in bound
            if isinstance(b.anchor, ast.Subscript)
            and tables & {o.node for o in self.values.origins(b.anchor.value) if not o.path}
        ]

    def put_into(self, listed: ast.AST) -> Iterator[ast.expr]:
        """The functions and objects of this module that are put into a list one by one: `hooks = []`, `hooks.append(save)`."""
        self.values.reads.note("attribute", PUT)
        for b in self.values.scopes.attributes.get(PUT, ()):
            if b.value is None or not isinstance(b.anchor, ast.expr):
                continue
            # which list it is first: what is put into others would be followed as well, each time deeper
            if any(o.node is listed and not o.path for o in self.values.origins(b.anchor)):
                if any(self._is_defined_here(o) for o in self.values.origins(b.value)):
                    yield b.value

    def objects_in(self, listed: ast.expr) -> list[ast.expr]:
        """The objects of this module that a list holds, whichever of them is taken: `[Worker() for _ in range(4)]`."""
        while True:  # the same ones, in another order or fewer of them
            match listed:
                case ast.Subscript(value=whole, slice=ast.Slice()):
                    listed = whole
                case ast.Call(func=ast.Name(id="sorted" | "reversed"), args=[whole]):
                    listed = whole
                case _:
                    break
        found, todo = list[ast.expr](), list(self.values.origins(listed))
        while todo:
            o = todo.pop(0)
            match o.node:
                case ast.BinOp(op=ast.Add(), left=left, right=right) if not o.path:  # of lists
                    todo += [*self.values.origins(left), *self.values.origins(right)]
                case ast.List() | ast.ListComp() if not o.path:
                    found += [o.node.elt] if isinstance(o.node, ast.ListComp) else o.node.elts
                    found += self.put_into(o.node)
        return [e for e in found if any(self._is_defined_here(o) for o in self.values.origins(e))]

    def _is_defined_here(self, o: Origin) -> bool:
        """Whether a value is a function of this module, or an object of one of its classes."""
        if o.path:
            return False
        made = isinstance(o.node, ast.Call) and bool(self.values.classes_made(o.node))
        return made or isinstance(o.node, CALLABLES)

    def classes_in(self, looked_up: ast.expr) -> list[ast.ClassDef]:
        """The classes of this module that a table gives for a key that isn't seen: `HOOKS[name]`, `HOOKS.get(name)`."""
        found = dict[ast.ClassDef, None]()
        for table in self._tables(looked_up):
            for o in self.values.origins(table):
                if isinstance(o.node, ast.Dict) and not o.path:
                    given = [*o.node.values, *self._put_by_keys(o.node)]
                    found.update(dict.fromkeys(cls for e in given for cls in self._classes(e)))
        return list(found)

    def _tables(self, looked_up: ast.expr) -> Iterator[ast.expr]:
        """The tables that something is looked up in."""
        is_name = isinstance(looked_up, (ast.Name, ast.Attribute))
        for n in [o.node for o in self.values.origins(looked_up)] if is_name else [looked_up]:
            match n:
                case ast.Subscript(value=table):
                    yield table
                case ast.Call(func=ast.Attribute(attr="get", value=table)):
                    yield table

    def _put_by_keys(self, table: ast.Dict) -> Iterator[ast.expr]:
        """What is put into a table by keys that are computed: `HOOKS[cls.__name__] = cls`."""
        self.values.reads.note("attribute", KEYED)
        for b in self.values.scopes.attributes.get(KEYED, ()):
            if b.value is not None and isinstance(b.anchor, ast.expr):
                if any(o.node is table and not o.path for o in self.values.origins(b.anchor)):
                    yield b.value

    def _classes(self, e: ast.expr) -> Iterator[ast.ClassDef]:
        """The classes that an expression may be, also those that a function is handed which decorates them."""
        for o in self.values.origins(e):
            if isinstance(o.node, ast.ClassDef) and not o.path:
                yield o.node
            elif isinstance(o.node, ast.arg) and not o.path:
                arguments = self.values.syntax.parent.get(o.node)
                function = self.values.syntax.parent.get(arguments) if arguments is not None else None
                if function is not None:
                    yield from (c for c in self.values.definitions.classes() if self._decorates(function, c))

    def _decorates(self, function: ast.AST, cls: ast.ClassDef) -> bool:
        """`@register` above a class, `@register("log")` of a function that gives the decorator, `@HOOKS.register`."""
        return any(
            o.node is function and not o.path for d in cls.decorator_list for o in self.values.origins(d)
        )

    def kept_by(self, e: ast.Attribute) -> list[ast.expr]:
        """What a checkpoint or a plain object was made with: `checkpoint.optimizer` of
        `tf.train.Checkpoint(optimizer=Adam(0.1))`, `where.rank` of `SimpleNamespace(rank=hvd.rank())`."""
        if self.values.names.of(e) is not None:
            return []
        made = [call for call in self.values.calls(e.value) if self.values.names.of(call.func) in _KEEPING]
        return [k.value for call in made for k in call.keywords if k.arg == e.attr]


__all__ = ["HeldValues"]
